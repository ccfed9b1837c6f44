package rank_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/recall/segment"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/storetest"
)

// byScope has an index for each scope, as a server has one for each user.
type byScope map[memory.ScopeKey]*rank.Index

func (b byScope) Put(_ context.Context, _ store.TextSpace, rows []store.TextRow) error {
	for _, r := range rows {
		if b[r.Scope] == nil {
			b[r.Scope] = rank.NewIndex()
		}
		counts := map[string]int{}
		for _, t := range r.Terms {
			counts[t]++
		}
		var passage segment.Passage
		for term, n := range counts {
			passage.Terms = append(passage.Terms, segment.TermCount{Term: term, Count: n})
		}
		slices.SortFunc(passage.Terms, func(a, b segment.TermCount) int { return cmp.Compare(a.Term, b.Term) })
		b[r.Scope].Add(segment.Doc{Place: r.Place, Role: r.Role, CreateMillis: r.Time.UnixMilli(), Passages: []segment.Passage{passage}})
	}
	return nil
}

func (b byScope) Search(_ context.Context, q store.TextSearch) (hits []store.TextHit, err error) {
	ask := rank.CountQuery{
		Terms: q.Terms, Unmatched: q.Unmatched, Required: q.Required, Roles: q.Roles, From: q.From, To: q.To, Limit: q.Limit,
	}
	if q.Sessions != nil {
		ask.Sessions = map[memory.SessionKey]bool{}
		for _, s := range q.Sessions {
			ask.Sessions[s] = true
		}
	}
	if p := q.After; p != nil {
		ask.After = &rank.CountHit{Place: p.Place, Count: p.Count, Time: p.Time}
	}
	for _, h := range b[q.Scope].SearchCount(ask) {
		hits = append(hits, store.TextHit{Scope: q.Scope, Place: h.Place, Score: float64(h.Count), Time: h.Time})
	}
	return hits, nil
}

func TestAnIndexCountsAsAFullTextViewDoes(t *testing.T) {
	scopes := 0
	storetest.RunTextCount(t, byScope{}, storetest.TextCountOptions{
		Space: store.TextSpace{View: memory.ViewTranscript, Build: 1},
		Scope: func() memory.ScopeKey { scopes++; return memory.ScopeKey(fmt.Sprintf("%032x", scopes)) },
	})
}

func TestTheBestByCountAreThoseOfAllInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := byScope{}
		words := []string{"a", "b", "c", "d"}
		var rows []store.TextRow
		for i := range rapid.IntRange(1, 60).Draw(t, "messages") {
			rows = append(rows, store.TextRow{
				Scope: "x", Place: memory.Place{Session: memory.SessionKey(rapid.SampledFrom(words).Draw(t, "session")), Seq: int64(i + 1)},
				Role: memory.RoleUser, Time: time.Unix(1_700_000_000, 0),
				Terms: rapid.SliceOfN(rapid.SampledFrom(words), 1, 4).Draw(t, "terms"),
			})
		}
		if err := x.Put(context.Background(), store.TextSpace{}, rows); err != nil {
			t.Fatal(err)
		}
		q := store.TextSearch{Scope: "x", Terms: []string{"a", "c"}, Unmatched: rapid.Bool().Draw(t, "unmatched"), Limit: 1000}
		all, _ := x.Search(context.Background(), q)
		q.Limit = rapid.IntRange(1, 9).Draw(t, "limit")
		some, _ := x.Search(context.Background(), q)
		if !slices.Equal(some, all[:min(len(all), q.Limit)]) {
			t.Fatalf("the best %d are %v, of %v", q.Limit, some, all)
		}
	})
}
