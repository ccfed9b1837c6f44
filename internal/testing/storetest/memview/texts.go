package memview

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Texts is a store.TextView. The score of a row is how many of the search's terms it has.
type Texts = View[store.TextSpace, store.TextRow, store.TextSearch, store.TextHit]

// NewTexts returns a view without spaces.
func NewTexts() *Texts {
	return newView(kind[store.TextSpace, store.TextRow, store.TextSearch, store.TextHit]{
		check:    store.TextSpace.Check,
		conflict: func(_, _ store.TextSpace) error { return nil },
		compare: func(a, b store.TextSpace) int {
			return cmp.Or(cmp.Compare(a.View, b.View), cmp.Compare(a.Build, b.Build))
		},
		state: func(space store.TextSpace, r store.TextRow) (string, store.RowState, error) {
			state := store.RowState{Scope: r.Scope, FactID: r.FactID, Place: r.Place, Revision: r.Revision}
			return fmt.Sprintf("%s %016x %s", r.Place.Session, r.Place.Seq, r.FactID), state, r.Check(space.View)
		},
		clone: func(r store.TextRow) store.TextRow {
			r.Terms = slices.Clone(r.Terms)
			return r
		},
		outdated: func(held, put store.RowState) bool { return put.Revision < held.Revision },
		removed: func(space store.TextSpace, scope memory.ScopeKey, r store.RowState) (func(store.RowState) bool, error) {
			return func(held store.RowState) bool {
				return held.FactID == r.FactID && held.Place.Session == r.Place.Session && (r.Place.Seq == 0 || held.Place.Seq == r.Place.Seq)
			}, r.CheckRemoved(space.View, scope)
		},
		query: func(s store.TextSearch) (query[store.TextSpace, store.TextRow], error) {
			q := query[store.TextSpace, store.TextRow]{
				space: s.Space, scope: s.Scope, limit: s.Limit,
				score: func(r store.TextRow) (float64, bool) {
					n := overlap(s.Terms, r.Terms)
					return float64(n), (n > 0 || s.Unmatched) && textPasses(s, r) && isBehind(s.After, n, r)
				},
			}
			if s.Order == store.TextOrderByCount {
				q.order = latestFirst
			}
			return q, s.Check()
		},
		hit: func(r store.RowState, row store.TextRow, score float64) store.TextHit {
			return store.TextHit{Scope: r.Scope, Place: r.Place, FactID: r.FactID, Score: score, Time: row.Time}
		},
	})
}

// overlap counts the different terms that both have.
func overlap(asked, held []string) int {
	asked = slices.Clone(asked)
	slices.Sort(asked)
	n := 0
	for _, t := range slices.Compact(asked) {
		if slices.Contains(held, t) {
			n++
		}
	}
	return n
}

// latestFirst is the order of rows with equal counts.
func latestFirst(a, b store.TextRow) int {
	return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Place.Session, b.Place.Session), cmp.Compare(b.Place.Seq, a.Place.Seq))
}

// isBehind reports whether a row with so many of the terms stands behind a position.
func isBehind(p *store.TextPosition, count int, r store.TextRow) bool {
	if p == nil {
		return true
	}
	return cmp.Or(cmp.Compare(p.Count, count), latestFirst(r, store.TextRow{Time: p.Time, Place: p.Place})) > 0
}

// textPasses reports whether a row passes all filters of a search.
func textPasses(q store.TextSearch, r store.TextRow) bool {
	return (q.Sessions == nil || slices.Contains(q.Sessions, r.Place.Session)) &&
		(q.MinSignificance <= 1 || r.Significance >= q.MinSignificance) &&
		(q.Categories == nil || slices.Contains(q.Categories, r.Category)) &&
		(q.Roles == nil || slices.Contains(q.Roles, r.Role)) &&
		!slices.ContainsFunc(q.Required, func(group []string) bool { return overlap(group, r.Terms) == 0 }) &&
		(!q.CurrentOnly || r.Current) &&
		(q.From.IsZero() || !r.Time.Before(q.From)) &&
		(q.To.IsZero() || r.Time.Before(q.To))
}
