package viewfeed

import (
	"context"
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// FactLister lists facts.
type FactLister interface {
	FactsSince(ctx context.Context, user memory.UserRef, revision int64) (store.FactState, error)
}

// Erased is what an erasure wants gone from views.
type Erased struct {
	memory.Erasure
	User memory.UserRef // who lives the life; zero when nobody does any more
}

// ErasedRows are rows of a view that an erasure wants gone, as they were found.
type ErasedRows struct {
	target Target
	of     Erased
	spaces []erasedSpace
}

type erasedSpace struct {
	at   space
	rows []store.RowState
}

// Len returns how many rows there are.
func (r ErasedRows) Len() (n int64) {
	for _, s := range r.spaces {
		n += int64(len(s.rows))
	}
	return n
}

// erasedPage is how many rows are listed or removed at once.
const erasedPage = 1000

// FindErased returns the rows that the view holds of what was erased, in all its spaces: of messages those of their places, of facts
// those that the primary store has no more. Facts must have been taken away before.
func (t Target) FindErased(ctx context.Context, s FactLister, e Erased) (ErasedRows, error) {
	spaces, err := t.place.spaces(ctx)
	if err != nil {
		return ErasedRows{}, fmt.Errorf("list the view's spaces: %w", err)
	}
	found := ErasedRows{target: t, of: e}
	for _, at := range spaces {
		rows, err := t.rowsOf(ctx, at, e.Scope)
		if err != nil {
			return ErasedRows{}, err
		}
		found.spaces = append(found.spaces, erasedSpace{at, rows})
	}
	isErased, err := t.erased(ctx, s, e)
	if err != nil {
		return ErasedRows{}, err
	}
	for i, s := range found.spaces {
		found.spaces[i].rows = slices.DeleteFunc(s.rows, func(r store.RowState) bool { return !isErased(r) })
	}
	return found, nil
}

// rowsOf lists the rows of a scope.
func (t Target) rowsOf(ctx context.Context, at space, scope memory.ScopeKey) ([]store.RowState, error) {
	q := store.RowQuery[space]{Space: at, Scope: scope, Limit: erasedPage}
	var all []store.RowState
	for {
		page, err := t.place.rows(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("list the view's rows: %w", err)
		}
		all = append(all, page...)
		if len(page) < q.Limit {
			return all, nil
		}
		q.After = page[len(page)-1].Cursor
	}
}

// erased returns which rows are to go. Facts are read after the rows: one that is stored meanwhile has no row among them.
func (t Target) erased(ctx context.Context, s FactLister, e Erased) (func(store.RowState) bool, error) {
	if e.Kind == memory.EraseUser {
		return func(store.RowState) bool { return true }, nil
	}
	if t.view == memory.ViewTranscript || t.view == memory.ViewMessageVectors {
		return func(r store.RowState) bool { return e.Covers(r.Place) }, nil
	}
	if e.User == (memory.UserRef{}) { // the end of the life takes all of them
		return func(store.RowState) bool { return false }, nil
	}
	state, err := s.FactsSince(ctx, e.User, 0)
	if err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	if state.Scope != e.Scope {
		return func(store.RowState) bool { return false }, nil
	}
	facts := factsByID(state.Facts)
	return func(r store.RowState) bool { _, known := facts[r.FactID]; return !known }, nil
}

// Delete deletes the rows, and with a user's life all that the view and others of its server hold of it.
func (r ErasedRows) Delete(ctx context.Context) error {
	place, scope := r.target.place, r.of.Scope
	if r.of.Kind == memory.EraseUser {
		if err := place.eraseScope(ctx, scope); err != nil {
			return fmt.Errorf("erase a life from the view: %w", err)
		}
		return nil
	}
	for _, s := range r.spaces {
		for page := range slices.Chunk(s.rows, erasedPage) {
			if err := place.remove(ctx, s.at, scope, page); err != nil {
				return fmt.Errorf("remove %d rows from the view: %w", len(page), err)
			}
		}
	}
	return nil
}
