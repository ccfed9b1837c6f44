// Package memview has views in memory that compare a search with every row: the plainest implementation of store.VectorView and
// store.TextView. Tests use them where a view has to be right, slow, down or lying, and the conformance suites prove themselves
// on them.
package memview

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// ErrNoSpace is the error of Put and Search for a space that was not prepared.
var ErrNoSpace = errors.New("memview: no such space")

// View holds rows until Drop or the end of the process. It may be used by many goroutines at once.
type View[Space comparable, Row, Search, Hit any] struct {
	kind   kind[Space, Row, Search, Hit]
	mu     sync.RWMutex
	spaces map[Space]rows[Row]
}

var (
	_ store.VectorView = (*Vectors)(nil)
	_ store.TextView   = (*Texts)(nil)
)

// kind is what vectors and texts do differently.
type kind[Space comparable, Row, Search, Hit any] struct {
	check    func(Space) error
	conflict func(held, asked Space) error // why both spaces cannot be; nil for views where any two can
	compare  func(a, b Space) int
	state    func(Space, Row) (id string, state store.RowState, err error) // refuses a row that does not fit
	clone    func(Row) Row
	outdated func(held, put store.RowState) bool // whether a row must be passed over for the one that is held
	removed  func(Space, memory.ScopeKey, store.RowState) (func(held store.RowState) bool, error)
	query    func(Search) (query[Space, Row], error) // refuses a search that must not be
	hit      func(store.RowState, Row, float64) Hit
}

// query is a search with its filters and its ranking; score reports false for a row that does not pass.
type query[Space, Row any] struct {
	space Space
	scope memory.ScopeKey
	limit int
	score func(Row) (float64, bool)
	order func(a, b Row) int // of rows with equal scores; nil for the order by fact or place
}

// key orders rows: by scope, then by fact or place.
type key struct {
	scope memory.ScopeKey
	id    string
}

func (k key) cursor() string { return string(k.scope) + " " + k.id } // a blank sorts before every byte of a key

func compareKeys(a, b key) int { return strings.Compare(a.cursor(), b.cursor()) }

type held[Row any] struct {
	state store.RowState
	row   Row
}

type rows[Row any] map[key]held[Row]

func newView[Space comparable, Row, Search, Hit any](k kind[Space, Row, Search, Hit]) *View[Space, Row, Search, Hit] {
	return &View[Space, Row, Search, Hit]{kind: k, spaces: map[Space]rows[Row]{}}
}

// Lag is 0: a row is found as soon as Put returns.
func (v *View[Space, Row, Search, Hit]) Lag() time.Duration { return 0 }

// Check fails only when the context has ended.
func (v *View[Space, Row, Search, Hit]) Check(ctx context.Context) error { return ctx.Err() }

// Close does nothing.
func (v *View[Space, Row, Search, Hit]) Close() error { return nil }

// Prepare makes a space.
func (v *View[Space, Row, Search, Hit]) Prepare(ctx context.Context, space Space) error {
	if err := errors.Join(ctx.Err(), v.kind.check(space)); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for other := range v.spaces {
		if err := v.kind.conflict(other, space); err != nil {
			return err
		}
	}
	if v.spaces[space] == nil {
		v.spaces[space] = rows[Row]{}
	}
	return nil
}

// Put stores all rows or none.
func (v *View[Space, Row, Search, Hit]) Put(ctx context.Context, space Space, put []Row) error {
	if err := errors.Join(ctx.Err(), v.kind.check(space)); err != nil {
		return err
	}
	keys, states := make([]key, len(put)), make([]store.RowState, len(put))
	for i, r := range put {
		id, state, err := v.kind.state(space, r)
		if err != nil {
			return err
		}
		keys[i], states[i] = key{state.Scope, id}, state
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	in := v.spaces[space]
	if in == nil {
		return ErrNoSpace
	}
	for i, r := range put {
		if old, ok := in[keys[i]]; ok && v.kind.outdated(old.state, states[i]) {
			continue
		}
		states[i].Cursor = keys[i].cursor()
		in[keys[i]] = held[Row]{states[i], v.kind.clone(r)}
	}
	return nil
}

// Remove deletes rows.
func (v *View[Space, Row, Search, Hit]) Remove(ctx context.Context, space Space, scope memory.ScopeKey, gone []store.RowState) error {
	if err := errors.Join(ctx.Err(), v.kind.check(space)); err != nil {
		return err
	}
	matches := make([]func(store.RowState) bool, len(gone))
	for i, r := range gone {
		match, err := v.kind.removed(space, scope, r)
		if err != nil {
			return err
		}
		matches[i] = match
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.spaces[space], func(k key, h held[Row]) bool {
		return k.scope == scope && slices.ContainsFunc(matches, func(match func(store.RowState) bool) bool { return match(h.state) })
	})
	return nil
}

// Search compares the search with every row of the scope that passes the filters.
func (v *View[Space, Row, Search, Hit]) Search(ctx context.Context, s Search) ([]Hit, error) {
	return v.search(ctx, s, func(q query[Space, Row], scope memory.ScopeKey) bool { return scope == q.scope })
}

func (v *View[Space, Row, Search, Hit]) search(
	ctx context.Context, s Search, mine func(query[Space, Row], memory.ScopeKey) bool,
) ([]Hit, error) {
	q, err := v.kind.query(s)
	if err = errors.Join(ctx.Err(), err); err != nil {
		return nil, err
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	in, ok := v.spaces[q.space]
	if !ok {
		return nil, ErrNoSpace
	}
	type scored struct {
		key
		held[Row]
		score float64
	}
	var found []scored
	for k, h := range in {
		if score, passes := q.score(h.row); passes && mine(q, k.scope) {
			found = append(found, scored{k, h, score})
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		order := 0
		if q.order != nil {
			order = q.order(a.row, b.row)
		}
		return cmp.Or(cmp.Compare(b.score, a.score), order, strings.Compare(a.id, b.id), compareKeys(a.key, b.key))
	})
	hits := make([]Hit, min(q.limit, len(found)))
	for i := range hits {
		hits[i] = v.kind.hit(found[i].state, found[i].row, found[i].score)
	}
	return hits, nil
}

// Rows are ordered by scope, then by fact or place.
func (v *View[Space, Row, Search, Hit]) Rows(ctx context.Context, q store.RowQuery[Space]) ([]store.RowState, error) {
	if err := errors.Join(ctx.Err(), v.kind.check(q.Space)); err != nil {
		return nil, err
	}
	if q.Scope != "" && !store.MintedKey(string(q.Scope)) {
		return nil, store.ErrVectorKey
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	var out []store.RowState
	for _, k := range slices.SortedFunc(maps.Keys(v.spaces[q.Space]), compareKeys) {
		if (q.Scope == "" || k.scope == q.Scope) && k.cursor() > q.After && len(out) < q.Limit {
			out = append(out, v.spaces[q.Space][k].state)
		}
	}
	return out, nil
}

// EraseScope deletes a scope's rows.
func (v *View[Space, Row, Search, Hit]) EraseScope(ctx context.Context, scope memory.ScopeKey) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if !store.MintedKey(string(scope)) {
		return 0, store.ErrVectorKey
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	var n int64
	for _, in := range v.spaces {
		before := len(in)
		maps.DeleteFunc(in, func(k key, _ held[Row]) bool { return k.scope == scope })
		n += int64(before - len(in))
	}
	return n, nil
}

// Spaces returns the spaces.
func (v *View[Space, Row, Search, Hit]) Spaces(ctx context.Context) ([]Space, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	return slices.SortedFunc(maps.Keys(v.spaces), v.kind.compare), nil
}

// Drop deletes a space.
func (v *View[Space, Row, Search, Hit]) Drop(ctx context.Context, space Space) error {
	if err := errors.Join(ctx.Err(), v.kind.check(space)); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.spaces, space)
	return nil
}

// Lying returns a view over the same rows whose Search and Rows return those of all scopes: what a view does whose filter is
// broken. The filters other than the scope hold, and each hit names the scope that it belongs to.
func Lying[Space comparable, Row, Search, Hit any](v *View[Space, Row, Search, Hit]) store.View[Space, Row, Search, Hit] {
	return lying[Space, Row, Search, Hit]{v}
}

type lying[Space comparable, Row, Search, Hit any] struct {
	*View[Space, Row, Search, Hit]
}

func (l lying[Space, Row, Search, Hit]) Search(ctx context.Context, s Search) ([]Hit, error) {
	return l.search(ctx, s, func(query[Space, Row], memory.ScopeKey) bool { return true })
}

func (l lying[Space, Row, Search, Hit]) Rows(ctx context.Context, q store.RowQuery[Space]) ([]store.RowState, error) {
	q.Scope = ""
	return l.View.Rows(ctx, q)
}
