package memview

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Vectors is a store.VectorView.
type Vectors = View[store.VectorSpace, store.VectorRow, store.VectorSearch, store.VectorHit]

// NewVectors returns a view without spaces. A build and version have one dimension; another one is refused.
func NewVectors() *Vectors {
	return newView(kind[store.VectorSpace, store.VectorRow, store.VectorSearch, store.VectorHit]{
		check: store.VectorSpace.Check,
		conflict: func(held, asked store.VectorSpace) error {
			dimension := held.Dimension
			if held.Dimension = asked.Dimension; held == asked && dimension != asked.Dimension {
				return fmt.Errorf("memview: the space has %d dimensions, not %d", dimension, asked.Dimension)
			}
			return nil
		},
		compare: func(a, b store.VectorSpace) int {
			return cmp.Or(cmp.Compare(a.View, b.View), cmp.Compare(a.Build, b.Build), cmp.Compare(a.Version, b.Version))
		},
		state: vectorState,
		clone: func(r store.VectorRow) store.VectorRow {
			r.Vector = slices.Clone(r.Vector)
			return r
		},
		outdated: func(_, _ store.RowState) bool { return false },
		removed: func(space store.VectorSpace, scope memory.ScopeKey, r store.RowState) (func(store.RowState) bool, error) {
			if !store.MintedKey(string(scope)) {
				return nil, store.ErrVectorKey
			}
			_, err := space.RowID(r.FactID, r.Place)
			return func(held store.RowState) bool { return held.FactID == r.FactID && held.Place == r.Place }, err
		},
		query: vectorQuery,
		hit: func(r store.RowState, _ store.VectorRow, score float64) store.VectorHit {
			return store.VectorHit{Scope: r.Scope, FactID: r.FactID, Place: r.Place, Score: score}
		},
	})
}

func vectorState(space store.VectorSpace, r store.VectorRow) (id string, state store.RowState, err error) {
	if id, err = space.RowID(r.FactID, r.Place); err != nil {
		return "", state, err
	}
	if !store.MintedKey(string(r.Scope)) || r.Session != "" && !store.MintedKey(string(r.Session)) {
		return "", state, store.ErrVectorKey
	}
	state = store.RowState{Scope: r.Scope, FactID: r.FactID, Place: r.Place, Revision: r.Revision}
	return id, state, checkVector(space, r.Vector)
}

func checkVector(space store.VectorSpace, vector []float32) error {
	if len(vector) != space.Dimension {
		return fmt.Errorf("memview: a vector of %d numbers in a space of %d", len(vector), space.Dimension)
	}
	return nil
}

func vectorQuery(s store.VectorSearch) (query[store.VectorSpace, store.VectorRow], error) {
	q := query[store.VectorSpace, store.VectorRow]{space: s.Space, scope: s.Scope, limit: s.Limit}
	for _, k := range append(slices.Clone(s.Sessions), memory.SessionKey(s.Scope)) {
		if !store.MintedKey(string(k)) {
			return q, store.ErrVectorKey
		}
	}
	if s.Exclude != "" && !store.MintedKey(string(s.Exclude)) {
		return q, store.ErrVectorKey
	}
	if s.Limit < 1 || s.Limit > 1000 {
		return q, fmt.Errorf("memview: a limit of %d is not 1 to 1000", s.Limit)
	}
	q.score = func(r store.VectorRow) (float64, bool) { return cosine(s.Vector, r.Vector), vectorPasses(s, r) }
	return q, checkVector(s.Space, s.Vector)
}

// vectorPasses reports whether a row passes all filters of a search.
func vectorPasses(q store.VectorSearch, r store.VectorRow) bool {
	return r.Significance >= q.MinSignificance &&
		(len(q.Categories) == 0 || slices.Contains(q.Categories, r.Category)) &&
		(q.Exclude == "" || r.Session != q.Exclude) &&
		(q.Sessions == nil || slices.Contains(q.Sessions, r.Session)) &&
		(!q.CurrentOnly || r.ValidTo.IsZero()) &&
		(q.From.IsZero() || !r.ValidFrom.Before(q.From)) &&
		(q.To.IsZero() || r.ValidFrom.Before(q.To))
}

// cosine is 0 when either vector has no direction.
func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}
