package writeplan

import (
	"crypto/sha256"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// SegmentHash is how the data of a segment is known again.
func SegmentHash(w store.SegmentWrite) memory.KeyedHash {
	return memory.HashKey(w.Scope).Keyed(sha256.Sum256(w.Data))
}

// FoundForSegment is what a write of a segment finds.
type FoundForSegment struct {
	Replaced int   // how many of the segments to be replaced are there
	Pending  int   // how many of its turns are pending
	Same     int64 // the number of the user's segment with the same SegmentHash; 0 for none. Looked at where turns are not pending
}

// Segment is what a write of a segment does. It always replaces the segments and clears the marks of the turns that are pending,
// unless it was done before.
type Segment struct {
	Before int64 // the segment that an earlier, equal write stored: nothing is left to do; 0 for none
	Stores bool  // there is data to store; else only marks are cleared
}

// PutSegment decides a write of a segment. It is refused where a segment that it replaces is gone, and where other segments took
// some of its turns: to store it would index them twice.
func PutSegment(w store.SegmentWrite, found FoundForSegment) (Segment, error) {
	stores := len(w.Data) > 0
	switch {
	case found.Replaced < len(w.Replaces):
		return Segment{}, store.Contention("a segment to be replaced is gone")
	case found.Pending == len(w.Turns) || !stores:
		return Segment{Stores: stores}, nil
	case found.Pending > 0 || found.Same == 0:
		return Segment{}, store.Contention("a turn of the segment is not pending any more")
	}
	return Segment{Before: found.Same}, nil
}
