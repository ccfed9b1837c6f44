package static

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
)

// pieceTable finds the number of a piece by its text: a hash table with linear probing (Knuth, TAOCP 3, 6.4, algorithm L)
// that keeps no text of its own, so that it takes a fifth of a map's memory. A server holds one for as long as it runs.
type pieceTable struct {
	list   string   // a piece a line
	begins []uint32 // where each piece begins in it, and where one after the last would
	jobs   []int32  // 1 + a piece's number, or 0; a power of two, at most half of them in use
}

func newPieceTable(list string) (pieceTable, error) {
	t := pieceTable{list: list, begins: []uint32{0}, jobs: make([]int32, 2<<bits.Len(uint(strings.Count(list, "\n"))))}
	for line := range strings.Lines(list) {
		n := t.size()
		t.begins = append(t.begins, t.begins[n]+uint32(len(line)))
		job, twice := t.job("", []byte(t.text(n)))
		if twice || len(line) < 2 || !strings.HasSuffix(line, "\n") {
			return pieceTable{}, fmt.Errorf("line %d is empty, twice in the list, or cut off", n+1)
		}
		t.jobs[job] = n + 1
	}
	if t.size() == 0 {
		return pieceTable{}, errors.New("no pieces")
	}
	return t, nil
}

func (t pieceTable) size() int32 { return int32(len(t.begins) - 1) }

func (t pieceTable) text(n int32) string { return t.list[t.begins[n] : t.begins[n+1]-1] }

// find returns the number of the piece that is the mark and the word after it.
func (t pieceTable) find(mark string, word []byte) (n int32, ok bool) {
	job, ok := t.job(mark, word)
	return t.jobs[job] - 1, ok
}

// job returns where a piece stands, or else where it would.
func (t pieceTable) job(mark string, word []byte) (at uint32, ok bool) {
	last := uint32(len(t.jobs) - 1)
	for at = hash(mark, word) & last; t.jobs[at] != 0; at = (at + 1) & last {
		if rest, marked := strings.CutPrefix(t.text(t.jobs[at]-1), mark); marked && rest == string(word) {
			return at, true
		}
	}
	return at, false
}

// hash is FNV-1a of the mark and the word.
func hash(mark string, word []byte) uint32 {
	const offset, prime = 2166136261, 16777619
	h := uint32(offset)
	for i := range len(mark) {
		h = (h ^ uint32(mark[i])) * prime
	}
	for _, b := range word {
		h = (h ^ uint32(b)) * prime
	}
	return h
}
