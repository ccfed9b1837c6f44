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

// next goes to the next posting and reports whether there is one. Most take a byte.
func (c *cursor) next() bool {
	if len(c.data) > 0 && c.data[0]&0x81 == 0 {
		c.pass += int32(c.data[0] >> 1)
		c.count = 1
		c.data = c.data[1:]
		return true
	}
	return c.longer()
}

// longer goes to a posting that takes more than a byte.
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

// addPostings marks the passages of a list, which must be whole, and their messages. It does what a cursor does, without
// its counts.
func (m *marks) addPostings(data []byte, passMessage []int32) {
	own, said := m.own, m.said
	pass := uint64(0)
	for i := 0; i < len(data); {
		step := uint64(data[i])
		i++
		if step >= 0x80 {
			more, n := binary.Uvarint(data[i-1:])
			step, i = more, i-1+n
		}
		if step&1 == 1 {
			for data[i] >= 0x80 {
				i++
			}
			i++
		}
		pass += step >> 1
		own[pass>>6] |= 1 << (pass & 63)
		no := uint32(passMessage[pass])
		said[no>>6] |= 1 << (no & 63)
	}
}

// nextIn goes to the next posting whose passage a set has, and reports whether there is one. Without a set it is next.
func (c *cursor) nextIn(set bitset) bool {
	if set == nil {
		return c.next()
	}
	data, pass := c.data, uint64(c.pass)
	for i := 0; i < len(data); {
		step := uint64(data[i])
		i++
		if step >= 0x80 {
			more, n := binary.Uvarint(data[i-1:])
			step, i = more, i-1+n
		}
		pass += step >> 1
		from := i
		if step&1 == 1 {
			for data[i] >= 0x80 {
				i++
			}
			i++
		}
		if set[pass>>6]>>(pass&63)&1 == 0 {
			continue
		}
		c.data, c.pass, c.count = data[i:], int32(pass), 1
		if step&1 == 1 {
			more, _ := binary.Uvarint(data[from:i])
			c.count = int32(more) + 2
		}
		return true
	}
	c.data = nil
	return false
}
