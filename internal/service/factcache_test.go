package service

import (
	"context"
	"fmt"
	"testing"

	"github.com/stratamem/strata/internal/extract"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// factsFixed is a store whose facts never change.
type factsFixed struct{ store.FactState }

func (f factsFixed) FactsSince(_ context.Context, _ memory.UserRef, revision int64) (store.FactState, error) {
	state := f.FactState
	if revision >= state.Revision {
		state.Facts = nil
	}
	return state, nil
}

func (factsFixed) FactVectors(context.Context, memory.UserRef, int, int64) ([]store.FactVector, error) {
	return nil, nil
}

func TestAStateIsOfOneRevision(t *testing.T) {
	t.Parallel()
	changed := func(f memory.Fact, revision int64) memory.Fact {
		f.Change = revision
		return f
	}
	tea, rome := learnt("tea", "Likes tea", ""), learnt("rome", "Lives in Rome", "home_city")
	s := &factsFixed{store.FactState{Scope: "scope", Revision: 1, Facts: []memory.Fact{changed(tea, 1)}}}
	c, err := NewFactCache(s, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	state := func() (extract.State, int64) {
		state, revision, err := c.State(t.Context(), memory.UserRef{UserID: "u"})
		if err != nil {
			t.Fatal(err)
		}
		return state, revision
	}
	first, before := state()
	s.FactState = store.FactState{
		Scope: "scope", Revision: 2, Facts: []memory.Fact{changed(rome, 2)},
		Forgotten: []store.Forgotten{{FactID: "tea", Key: memory.KeyedHash{1}, Change: 2}},
	}
	second, after := state()
	t.Run("one that was read stays as it was", func(t *testing.T) {
		if _, ok := first.Facts.Get("tea"); !ok || first.Facts.Len() != 1 || len(first.Forgotten) != 0 || before != 1 {
			t.Errorf("revision %d holds %v and forgot %v", before, first.Facts.All(), first.Forgotten)
		}
	})
	t.Run("the next one has what was written in between", func(t *testing.T) {
		if _, ok := second.Facts.Get("rome"); !ok || second.Facts.Len() != 1 || !second.Forgotten[memory.KeyedHash{1}] || after != 2 {
			t.Errorf("revision %d holds %v and forgot %v", after, second.Facts.All(), second.Forgotten)
		}
	})
	t.Run("another life of the user begins without facts", func(t *testing.T) {
		s.FactState = store.FactState{Scope: "another", Revision: 1}
		if third, _ := state(); third.Facts.Len() != 0 || len(third.Forgotten) != 0 || third.Scope != "another" {
			t.Errorf("it is %+v", third)
		}
	})
}

func BenchmarkFactCacheState(b *testing.B) {
	for _, n := range []int{10_000, 50_000} {
		b.Run(fmt.Sprintf("facts=%d", n), func(b *testing.B) {
			s := factsFixed{store.FactState{Scope: "scope", Revision: 1}}
			for i := range n {
				f := learnt(fmt.Sprint(i), fmt.Sprintf("Likes the song number %d of the band called %d.", i, i*7), "")
				f.Change = 1
				s.Facts = append(s.Facts, f)
			}
			c, err := NewFactCache(s, 1<<30)
			if err != nil {
				b.Fatal(err)
			}
			if _, _, err := c.State(b.Context(), memory.UserRef{UserID: "u"}); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, _, err := c.State(b.Context(), memory.UserRef{UserID: "u"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
