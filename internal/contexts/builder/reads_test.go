package builder_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/contexts/assembly"
	"github.com/stratamem/strata/internal/contexts/builder"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// together holds each read back until all others that it waits for have begun: reads that wait for each other never end then.
type together struct {
	truth
	mu      sync.Mutex
	missing int // reads that have not begun; 0 or less holds nothing back
	all     chan struct{}
}

func (s *together) begin(ctx context.Context) error {
	s.mu.Lock()
	s.missing--
	missing, all := s.missing, s.all
	s.mu.Unlock()
	if missing == 0 {
		close(all)
	}
	if missing <= 0 {
		return nil
	}
	select {
	case <-all:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *together) FactsSince(ctx context.Context, user memory.UserRef, revision int64) (store.FactState, error) {
	if err := s.begin(ctx); err != nil {
		return store.FactState{}, err
	}
	return s.truth.FactsSince(ctx, user, revision)
}

func (s *together) SearchIndex(ctx context.Context, q store.SearchIndexQuery) (store.SearchIndexState, error) {
	if err := s.begin(ctx); err != nil {
		return store.SearchIndexState{}, err
	}
	return s.truth.SearchIndex(ctx, q)
}

func (s *together) Hidden(ctx context.Context, user memory.UserRef) (memory.Hidden, error) {
	if err := s.begin(ctx); err != nil {
		return memory.Hidden{}, err
	}
	return s.truth.Hidden(ctx, user)
}

func (s *together) CurrentSummaries(ctx context.Context, user memory.UserRef) ([]memory.SummaryRevision, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	return s.truth.CurrentSummaries(ctx, user)
}

func (s *together) TopNodes(ctx context.Context, ref memory.SessionRef, through int64) ([]memory.SummaryNode, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	return s.truth.TopNodes(ctx, ref, through)
}

func (s *together) RecentSessions(ctx context.Context, q store.RecentQuery) ([]store.SessionSummary, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	return s.truth.RecentSessions(ctx, q)
}

func (s *together) Periods(ctx context.Context, q store.PeriodQuery) ([]memory.SummaryNode, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	return s.truth.Periods(ctx, q)
}

func (s *together) SessionWork(ctx context.Context, ref memory.SessionRef) (store.SessionWork, error) {
	if err := s.begin(ctx); err != nil {
		return store.SessionWork{}, err
	}
	return s.truth.SessionWork(ctx, ref)
}

func TestAContextReadsSideBySideWhatDoesNotWaitForEachOther(t *testing.T) {
	r := newRig(t)
	r.says(ada, "s1", "I grow roses and zebra grass in the garden.")
	r.says(ada, "s2", "What should I do today?")
	r.knows(ada, "Grows roses")
	r.embeds()
	reads := &together{truth: r.truth}
	s := r.service(wiring{truth: reads})
	ask := builder.ContextParams{Ref: ada.Session("s2"), Query: "roses in the garden", AsOf: noon, Render: assembly.RenderOpenAI}
	if _, err := s.BuildContext(t.Context(), ask); err != nil { // what is kept in memory is read by the first call
		t.Fatal(err)
	}
	// Facts, the index, what is hidden, corrections, the session's summary, those of others, of weeks and of months, and how far the
	// session's work has come.
	reads.missing, reads.all = 9, make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := s.BuildContext(ctx, ask); err != nil {
		t.Errorf("%v, while %d reads had not begun", err, reads.missing)
	}
}
