package facts

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func learnt(id, text, attribute string) memory.Fact {
	return memory.Fact{
		ID: id, Text: text, Attribute: attribute, Category: memory.CategoryPersonalInfo, Significance: 5, Confidence: .8,
		Origin: memory.FactExtracted, Model: "m", ValidFrom: noon, CreateTime: noon, UpdateTime: noon, Revision: 1,
	}
}

func ptr[T any](v T) *T { return &v }

func TestFactUpdate(t *testing.T) {
	t.Parallel()
	later := noon.Add(time.Hour)
	rome := learnt("rome", "Lives in Rome", "home_city")
	tea := learnt("tea", "Likes tea", "")
	state := extract.State{Scope: "scope", Facts: extract.NewFacts(rome, tea)}
	t.Run("protects the fact, raises its revision and keeps what it does not name", func(t *testing.T) {
		a, err := FactUpdate{FactRef: FactRef{ID: "rome"}, Text: ptr("Lives in Florence")}.decide(state, rome, later)
		got := a.fact("rome")
		if err != nil || len(a.changes) != 1 || a.changes[0].Cause != memory.CauseEdited {
			t.Fatalf("%v, %v", a, err)
		}
		if got.Text != "Lives in Florence" || !got.Protected || got.Revision != 2 || got.Confidence != 1 || !got.UpdateTime.Equal(later) || got.Attribute != "home_city" || !got.CreateTime.Equal(noon) {
			t.Errorf("fact %+v", got)
		}
	})
	t.Run("supersedes what holds of the same property", func(t *testing.T) {
		a, err := FactUpdate{FactRef: FactRef{ID: "tea"}, Text: ptr("Lives in Bern"), Attribute: ptr("home_city")}.decide(state, tea, later)
		if old := a.fact("rome"); err != nil || old.SupersededBy != "tea" || old.IsCurrent() || old.Revision != 2 {
			t.Errorf("%+v, %v", old, err)
		}
	})
	t.Run("makes a fact that ended a past one", func(t *testing.T) {
		a, err := FactUpdate{FactRef: FactRef{ID: "rome"}, ValidTo: &later}.decide(state, rome, later)
		if err != nil || len(a.changes) != 1 || a.changes[0].Cause != memory.CauseInvalidated || a.fact("rome").IsCurrent() {
			t.Errorf("%v, %v", a, err)
		}
	})
	t.Run("restores a past fact when valid_to is taken away, in place of what took its place", func(t *testing.T) {
		past, bern := rome, learnt("bern", "Lives in Bern", "home_city")
		past.ValidTo, past.SupersededBy = later, "bern"
		a, err := FactUpdate{FactRef: FactRef{ID: "rome"}, ValidTo: &time.Time{}}.decide(extract.State{Facts: extract.NewFacts(bern, past)}, past, later)
		if got, old := a.fact("rome"), a.fact("bern"); err != nil || !got.IsCurrent() || got.SupersededBy != "" || old.SupersededBy != "rome" {
			t.Errorf("restored %+v, superseded %+v, %v", got, old, err)
		}
	})
	t.Run("changes nothing when nothing is named", func(t *testing.T) {
		if a, err := (FactUpdate{FactRef: FactRef{ID: "rome"}, ETag: "1"}).decide(state, rome, later); err != nil || len(a.changes) != 0 {
			t.Errorf("%v, %v", a, err)
		}
	})
	t.Run("refuses a stale etag", func(t *testing.T) {
		_, err := FactUpdate{FactRef: FactRef{ID: "rome"}, ETag: "7", Text: ptr("x")}.decide(state, rome, later)
		if memory.ReasonOf(err) != memory.ReasonETagMismatch {
			t.Errorf("error %v", err)
		}
	})
	t.Run("refuses an end before the beginning, and one in the future", func(t *testing.T) {
		for _, end := range []time.Time{noon.Add(-time.Hour), later.Add(time.Hour)} {
			_, err := FactUpdate{FactRef: FactRef{ID: "rome"}, ValidTo: &end}.decide(state, rome, later)
			if memory.ReasonOf(err) != memory.ReasonFieldInvalid {
				t.Errorf("end %v: error %v", end, err)
			}
		}
	})
}

// factStore is a store in which somebody else is faster a number of times.
type factStore struct {
	FactEditorStore
	facts  []memory.Fact
	faster int
	writes []store.FactWrite
}

func (s *factStore) FactsSince(_ context.Context, _ memory.UserRef, revision int64) (store.FactState, error) {
	return store.FactState{Scope: "scope", Revision: int64(len(s.writes)), Facts: s.facts}, nil
}

func (s *factStore) FactVectors(context.Context, store.FactVectorQuery) ([]store.FactVector, error) {
	return nil, nil
}

func (s *factStore) ApplyFacts(_ context.Context, w store.FactWrite) (int64, error) {
	s.writes = append(s.writes, w)
	if len(s.writes) <= s.faster {
		return 0, &memory.Error{Kind: memory.KindConflict, Reason: memory.ReasonContention}
	}
	return w.Base + 1, nil
}

type woken struct{ n int }

func (w *woken) Wake() { w.n++ }

func factService(t *testing.T, s *factStore) (*FactEditor, *woken) {
	t.Helper()
	cache, err := recall.NewFactCache(s, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	w := &woken{}
	return NewFactEditor(FactEditorOptions{
		Store: s, Facts: cache, Vectors: w, Now: func() time.Time { return noon }, NewID: func() string { return "new" },
	}), w
}

func TestAmend(t *testing.T) {
	t.Parallel()
	create := FactCreation{User: memory.UserRef{UserID: "ada"}, Fact: memory.Fact{Text: "Likes tea"}}
	t.Run("decides again when somebody was faster", func(t *testing.T) {
		s := &factStore{faster: 3}
		svc, w := factService(t, s)
		got, err := svc.CreateFact(t.Context(), create)
		if err != nil || got.ID != "new" || len(s.writes) != 4 || w.n != 1 {
			t.Errorf("%+v after %d writes and %d wakes, %v", got, len(s.writes), w.n, err)
		}
		if s.writes[3].Base != 3 {
			t.Errorf("the last decision was made against revision %d, want 3", s.writes[3].Base)
		}
	})
	t.Run("leaves endless contention to the caller", func(t *testing.T) {
		s := &factStore{faster: 1000}
		svc, w := factService(t, s)
		_, err := svc.CreateFact(t.Context(), create)
		if memory.ReasonOf(err) != memory.ReasonContention || len(s.writes) != store.MaxDecisions || w.n != 0 {
			t.Errorf("%d writes, %d wakes, %v", len(s.writes), w.n, err)
		}
	})
}

func TestTurns(t *testing.T) {
	t.Parallel()
	t.Run("a call that ends while it waits changes nothing", func(t *testing.T) {
		s := &factStore{}
		svc, _ := factService(t, s)
		done, err := svc.locks.Take(t.Context(), memory.UserRef{UserID: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = svc.CreateFact(ctx, FactCreation{User: memory.UserRef{UserID: "ada"}, Fact: memory.Fact{Text: "Likes tea"}})
		if !errors.Is(err, context.Canceled) || len(s.writes) != 0 {
			t.Errorf("%d writes, %v", len(s.writes), err)
		}
	})
}
