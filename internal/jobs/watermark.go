package jobs

import (
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/summary"
)

// ExtractedThrough is the last message up to which facts have been extracted from every message of the session, or
// skipped by a person; 0 before the first. A slot that is open, answered or parked holds it back.
func ExtractedThrough(w store.SessionWork) int64 {
	through := w.ExtractCursor
	for _, s := range w.Slots {
		if s.Kind == memory.SlotExtract && !s.State.IsFinal() {
			through = min(through, s.From-1)
		}
	}
	return through
}

// SummarisedThrough is the last message up to which summaries cover every message of the session; 0 before the first.
func SummarisedThrough(w store.SessionWork, nodes []memory.SummaryNode) int64 {
	return summary.Boundary(nodes, w.Session.LastSeq, 0)
}
