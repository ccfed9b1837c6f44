package rank

import (
	"encoding/binary"
	"slices"
)

// posting says that a term stands in a passage.
type posting struct {
	pass  int32
	count int32
}

// postings are a term's passages in ascending order, packed as they stand in a segment: for each the step from the
// passage before ·2 + (count > 1), then count - 2 where it is more than 1. That takes a byte or two, where a posting
// takes eight.
type postings struct {
	data []byte
	n    int32 // how many
	last int32 // the last passage
}

// add appends a posting, whose passage must be higher than those before.
func (l *postings) add(p posting) {
	l.data = appendPosting(l.data, p, l.last)
	l.n, l.last = l.n+1, p.pass
}

// join appends another list that is not empty, whose passages are counted from first on.
func (l *postings) join(other *postings, first int32) {
	head := cursor{data: other.data}
	head.next()
	l.data = slices.Grow(l.data, len(other.data)+binary.MaxVarintLen32)
	l.add(posting{first + head.pass, head.count})
	l.data = append(l.data, head.data...)
	l.n, l.last = l.n+other.n-1, first+other.last
}

func appendPosting(b []byte, p posting, before int32) []byte {
	step := uint64(p.pass-before) << 1
	if p.count == 1 {
		return binary.AppendUvarint(b, step)
	}
	return binary.AppendUvarint(binary.AppendUvarint(b, step|1), uint64(p.count-2))
}

// cursor walks over postings, which must be whole.
type cursor struct {
	data []byte // what is left
	posting
}

// next goes to the next posting and reports whether there is one.
func (c *cursor) next() bool { return c.short() || c.longer() }

// short goes to the next posting if it takes a byte, as most do, and reports whether it does.
func (c *cursor) short() bool {
	if len(c.data) == 0 || c.data[0]&0x81 != 0 {
		return false
	}
	c.pass += int32(c.data[0] >> 1)
	c.count = 1
	c.data = c.data[1:]
	return true
}

// longer goes to the next posting of any length, and reports whether there is one.
func (c *cursor) longer() bool {
	if len(c.data) == 0 {
		return false
	}
	step, n := binary.Uvarint(c.data)
	c.data = c.data[n:]
	c.pass, c.count = c.pass+int32(step>>1), 1
	if step&1 == 1 {
		more, n := binary.Uvarint(c.data)
		c.data = c.data[n:]
		c.count = int32(more) + 2
	}
	return true
}
