package store_test

import (
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func TestWatermarks(t *testing.T) {
	job := func(kind memory.JobKind, state memory.JobState, from int64) memory.Job {
		return memory.Job{JobKey: memory.JobKey{Kind: kind, From: from}, State: state}
	}
	t.Run("facts are extracted up to the cursor, or to the first job that is not done", func(t *testing.T) {
		w := store.SessionWork{ExtractCursor: 20}
		if got := w.ExtractedThrough(); got != 20 {
			t.Errorf("got %d", got)
		}
		w.Jobs = []memory.Job{
			job(memory.JobExtract, memory.JobParked, 7), job(memory.JobExtract, memory.JobOpen, 11), job(memory.JobLeaf, memory.JobOpen, 1),
		}
		if got := w.ExtractedThrough(); got != 6 {
			t.Errorf("got %d", got)
		}
	})
	t.Run("messages are summarised up to the first leaf that is not stored", func(t *testing.T) {
		w := store.SessionWork{Session: memory.Session{LastSeq: 30}, LeafCursor: 20}
		if got := w.SummarisedThrough(); got != 20 {
			t.Errorf("got %d", got)
		}
		w.Jobs = []memory.Job{
			job(memory.JobExtract, memory.JobOpen, 1), job(memory.JobLeaf, memory.JobParked, 13),
			job(memory.JobLeaf, memory.JobOpen, 15), job(memory.JobMerge, memory.JobOpen, 1),
		}
		if got := w.SummarisedThrough(); got != 12 {
			t.Errorf("got %d", got)
		}
	})
}
