package rank

import (
	"math"
	"strings"

	"github.com/stratamem/strata/internal/recall/segment"
)

// dictionary holds the terms of the passages with their postings.
type dictionary struct {
	numbers  map[string]int32   // of the terms
	postings []segment.Postings // by number
	capacity int64              // of all lists of postings, in bytes
	chars    int64              // of all terms
}

// number returns the term's number, a new one where it is unknown.
func (d *dictionary) number(t string) int32 {
	no, ok := d.numbers[t]
	if !ok {
		no = int32(len(d.postings))
		d.numbers[strings.Clone(t)] = no // t may be part of a whole segment's terms
		d.postings = append(d.postings, segment.Postings{})
		d.chars += int64(len(t))
	}
	return no
}

// find returns the postings of a term, nil for one that no passage holds.
func (d *dictionary) find(t string) *segment.Postings {
	no, ok := d.numbers[t]
	if !ok {
		return nil
	}
	return &d.postings[no]
}

// add appends a posting to a term's list.
func (d *dictionary) add(no int32, p segment.Posting) {
	list := &d.postings[no]
	before := cap(list.Data)
	list.Add(p)
	d.capacity += int64(cap(list.Data) - before)
}

// join appends a list that is not empty, whose passages are counted from first on.
func (d *dictionary) join(no int32, other *segment.Postings, first int32) {
	list := &d.postings[no]
	before := cap(list.Data)
	list.Join(other, first)
	d.capacity += int64(cap(list.Data) - before)
}

// rarity is how often a term was said; one that never was cannot match and comes last.
func (d *dictionary) rarity(term string) int {
	list := d.find(term)
	if list == nil {
		return math.MaxInt
	}
	return int(list.N)
}
