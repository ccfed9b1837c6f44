package segment

import (
	"encoding/binary"
	"slices"
)

// Posting says that a term stands in a passage.
type Posting struct {
	Pass  int32
	Count int32
}

// Postings are a term's passages in ascending order, packed as they stand in a segment: for each the step from the
// passage before ·2 + (count > 1), then count - 2 where it is more than 1. That takes a byte or two, where a posting
// takes eight.
type Postings struct {
	Data []byte
	N    int32 // how many
	last int32 // the last passage
}

// Add appends a posting, whose passage must be higher than those before.
func (l *Postings) Add(p Posting) {
	l.Data = appendPosting(l.Data, p, l.last)
	l.N, l.last = l.N+1, p.Pass
}

// Join appends another list that is not empty, whose passages are counted from first on.
func (l *Postings) Join(other *Postings, first int32) {
	head := Cursor{Data: other.Data}
	head.Next()
	l.Data = slices.Grow(l.Data, len(other.Data)+binary.MaxVarintLen32)
	l.Add(Posting{first + head.Pass, head.Count})
	l.Data = append(l.Data, head.Data...)
	l.N, l.last = l.N+other.N-1, first+other.last
}

func appendPosting(b []byte, p Posting, before int32) []byte {
	step := uint64(p.Pass-before) << 1
	if p.Count == 1 {
		return binary.AppendUvarint(b, step)
	}
	return binary.AppendUvarint(binary.AppendUvarint(b, step|1), uint64(p.Count-2))
}

// Cursor walks over postings, which must be whole.
type Cursor struct {
	Data []byte // what is left
	Posting
}

// Next goes to the next posting and reports whether there is one.
func (c *Cursor) Next() bool { return c.Short() || c.Longer() }

// Short goes to the next posting if it takes a byte, as most do, and reports whether it does.
func (c *Cursor) Short() bool {
	if len(c.Data) == 0 || c.Data[0]&0x81 != 0 {
		return false
	}
	c.Pass += int32(c.Data[0] >> 1)
	c.Count = 1
	c.Data = c.Data[1:]
	return true
}

// Longer goes to the next posting of any length, and reports whether there is one.
func (c *Cursor) Longer() bool {
	if len(c.Data) == 0 {
		return false
	}
	step, n := binary.Uvarint(c.Data)
	c.Data = c.Data[n:]
	c.Pass, c.Count = c.Pass+int32(step>>1), 1
	if step&1 == 1 {
		more, n := binary.Uvarint(c.Data)
		c.Data = c.Data[n:]
		c.Count = int32(more) + 2
	}
	return true
}
