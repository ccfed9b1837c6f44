// Package exactview is a view of vectors in memory that compares the query with every row: the plainest answer that the
// contract of store.VectorView allows. Tests use it where a view has to be right, slow, down or lying, and the
// conformance suite uses it to prove itself.
package exactview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// The errors of every method that they fit. None repeats a key.
var (
	ErrNoSpace = errors.New("exactview: no such space")
	ErrKey     = store.ErrVectorKey
)

// View holds rows until Drop or the end of the process. It may be used by many goroutines at once.
type View struct {
	mu     sync.RWMutex
	spaces map[store.VectorSpace]rows
}

type key struct {
	scope memory.ScopeKey
	row   string // store.VectorSpace.RowID
}

type rows map[key]store.VectorRow

// New returns a view without spaces.
func New() *View { return &View{spaces: map[store.VectorSpace]rows{}} }

// Lag is 0: a row is found as soon as Put returns.
func (v *View) Lag() time.Duration { return 0 }

// Check fails only when the context has ended.
func (v *View) Check(ctx context.Context) error { return ctx.Err() }

// Close does nothing.
func (v *View) Close() error { return nil }

// Prepare makes a space. A build and version have one dimension; another one is refused.
func (v *View) Prepare(ctx context.Context, space store.VectorSpace) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := space.Check(); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for s := range v.spaces {
		if s.View == space.View && s.Build == space.Build && s.Version == space.Version && s.Dimension != space.Dimension {
			return fmt.Errorf("exactview: the space has %d dimensions, not %d", s.Dimension, space.Dimension)
		}
	}
	if v.spaces[space] == nil {
		v.spaces[space] = rows{}
	}
	return nil
}

// Put stores all rows or none.
func (v *View) Put(ctx context.Context, space store.VectorSpace, put []store.VectorRow) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	keys := make([]key, len(put))
	for i, r := range put {
		id, err := checkRow(space, r)
		if err != nil {
			return err
		}
		keys[i] = key{r.Scope, id}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	held := v.spaces[space]
	if held == nil {
		return ErrNoSpace
	}
	for i, r := range put {
		r.Vector = slices.Clone(r.Vector)
		held[keys[i]] = r
	}
	return nil
}

func checkRow(space store.VectorSpace, r store.VectorRow) (id string, err error) {
	if id, err = space.RowID(r.FactID, r.Place); err != nil {
		return "", err
	}
	if !store.MintedKey(string(r.Scope)) || r.Session != "" && !store.MintedKey(string(r.Session)) {
		return "", ErrKey
	}
	return id, checkVector(space, r.Vector)
}

func checkVector(space store.VectorSpace, vector []float32) error {
	if len(vector) != space.Dimension {
		return fmt.Errorf("exactview: a vector of %d numbers in a space of %d", len(vector), space.Dimension)
	}
	return nil
}

// Remove deletes rows.
func (v *View) Remove(ctx context.Context, space store.VectorSpace, scope memory.ScopeKey, rows []store.RowState) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !store.MintedKey(string(scope)) {
		return ErrKey
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		id, err := space.RowID(r.FactID, r.Place)
		if err != nil {
			return err
		}
		ids[i] = id
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, id := range ids {
		delete(v.spaces[space], key{scope, id})
	}
	return nil
}

// Search compares the vector with every row of the scope that passes the filters.
func (v *View) Search(ctx context.Context, q store.VectorSearch) ([]store.VectorHit, error) {
	return v.search(ctx, q, func(scope memory.ScopeKey) bool { return scope == q.Scope })
}

func (v *View) search(ctx context.Context, q store.VectorSearch, mine func(memory.ScopeKey) bool) ([]store.VectorHit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := checkSearch(q); err != nil {
		return nil, err
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	held, ok := v.spaces[q.Space]
	if !ok {
		return nil, ErrNoSpace
	}
	var hits []hit
	for k, r := range held {
		if mine(k.scope) && passes(q, r) {
			hits = append(hits, hit{k.row, store.VectorHit{Scope: k.scope, FactID: r.FactID, Place: r.Place, Score: cosine(q.Vector, r.Vector)}})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.row, b.row))
	})
	out := make([]store.VectorHit, min(q.Limit, len(hits)))
	for i := range out {
		out[i] = hits[i].VectorHit
	}
	return out, nil
}

// hit is a row that passed the filters.
type hit struct {
	row string
	store.VectorHit
}

func checkSearch(q store.VectorSearch) error {
	if !store.MintedKey(string(q.Scope)) || q.Exclude != "" && !store.MintedKey(string(q.Exclude)) {
		return ErrKey
	}
	for _, s := range q.Sessions {
		if !store.MintedKey(string(s)) {
			return ErrKey
		}
	}
	if q.Limit < 1 || q.Limit > 1000 {
		return fmt.Errorf("exactview: a limit of %d is not 1 to 1000", q.Limit)
	}
	return checkVector(q.Space, q.Vector)
}

// passes reports whether a row passes all filters of a search.
func passes(q store.VectorSearch, r store.VectorRow) bool {
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

// Rows are ordered by scope, then fact or message.
func (v *View) Rows(ctx context.Context, q store.RowQuery[store.VectorSpace]) ([]store.RowState, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if q.Scope != "" && !store.MintedKey(string(q.Scope)) {
		return nil, ErrKey
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	var out []store.RowState
	for k, r := range v.spaces[q.Space] {
		cursor := string(k.scope) + "/" + k.row
		if (q.Scope == "" || k.scope == q.Scope) && cursor > q.After {
			out = append(out, store.RowState{Cursor: cursor, Scope: k.scope, FactID: r.FactID, Place: r.Place, Revision: r.Revision})
		}
	}
	slices.SortFunc(out, func(a, b store.RowState) int { return strings.Compare(a.Cursor, b.Cursor) })
	return out[:min(q.Limit, len(out))], nil
}

// EraseScope deletes a scope's rows.
func (v *View) EraseScope(ctx context.Context, scope memory.ScopeKey) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if !store.MintedKey(string(scope)) {
		return 0, ErrKey
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	var n int64
	for _, held := range v.spaces {
		for k := range held {
			if k.scope == scope {
				delete(held, k)
				n++
			}
		}
	}
	return n, nil
}

// Spaces returns all spaces.
func (v *View) Spaces(ctx context.Context) ([]store.VectorSpace, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	out := make([]store.VectorSpace, 0, len(v.spaces))
	for s := range v.spaces {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b store.VectorSpace) int {
		return cmp.Or(cmp.Compare(a.View, b.View), cmp.Compare(a.Build, b.Build), cmp.Compare(a.Version, b.Version))
	})
	return out, nil
}

// Drop deletes a space.
func (v *View) Drop(ctx context.Context, space store.VectorSpace) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.spaces, space)
	return nil
}
