package jobrunner

import (
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// ExtractedThrough is the last message up to which facts have been extracted from every message of the session, or
// skipped by a person; 0 before the first. A job that is open, answered or parked holds it back.
func ExtractedThrough(w store.SessionWork) int64 {
	return doneThrough(w, memory.JobExtract, w.ExtractCursor)
}

// SummarisedThrough is the last message up to which summaries cover every message of the session; 0 before the first.
// No summary need be read for it: a job of a leaf is final with its node, in one write, and is never skipped.
func SummarisedThrough(w store.SessionWork) int64 {
	return doneThrough(w, memory.JobLeaf, w.LeafCursor)
}

// doneThrough is where the ranges of a kind end, but for those that are not final.
func doneThrough(w store.SessionWork, kind memory.JobKind, cursor int64) int64 {
	through := cursor
	for _, s := range w.Jobs {
		if s.Kind == kind && !s.State.IsFinal() {
			through = min(through, s.From-1)
		}
	}
	return through
}
