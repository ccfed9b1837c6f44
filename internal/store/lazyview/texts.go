package lazyview

import (
	"context"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

type texts struct{ *late[store.TextView] }

// Texts opens a TextView, now or later: see the package. Only a view of a newer schema is an error.
func Texts(ctx context.Context, o Options[store.TextView]) (store.TextView, error) {
	l, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	return texts{l}, nil
}

// Prepare implements store.TextView.
func (l texts) Prepare(ctx context.Context, space store.TextSpace) error {
	v, err := l.get()
	if err != nil {
		return err
	}
	return v.Prepare(ctx, space)
}

// Put implements store.TextView.
func (l texts) Put(ctx context.Context, space store.TextSpace, rows []store.TextRow) error {
	v, err := l.get()
	if err != nil {
		return err
	}
	return v.Put(ctx, space, rows)
}

// Remove implements store.TextView.
func (l texts) Remove(ctx context.Context, space store.TextSpace, scope memory.ScopeKey, rows []store.RowState) error {
	v, err := l.get()
	if err != nil {
		return err
	}
	return v.Remove(ctx, space, scope, rows)
}

// Search implements store.TextView.
func (l texts) Search(ctx context.Context, q store.TextSearch) ([]store.TextHit, error) {
	v, err := l.get()
	if err != nil {
		return nil, err
	}
	return v.Search(ctx, q)
}

// Rows implements store.TextView.
func (l texts) Rows(ctx context.Context, q store.RowQuery[store.TextSpace]) ([]store.RowState, error) {
	v, err := l.get()
	if err != nil {
		return nil, err
	}
	return v.Rows(ctx, q)
}

// EraseScope implements store.TextView.
func (l texts) EraseScope(ctx context.Context, scope memory.ScopeKey) (int64, error) {
	v, err := l.get()
	if err != nil {
		return 0, err
	}
	return v.EraseScope(ctx, scope)
}

// Drop implements store.TextView.
func (l texts) Drop(ctx context.Context, space store.TextSpace) error {
	v, err := l.get()
	if err != nil {
		return err
	}
	return v.Drop(ctx, space)
}

// Spaces implements store.TextView.
func (l texts) Spaces(ctx context.Context) ([]store.TextSpace, error) {
	v, err := l.get()
	if err != nil {
		return nil, err
	}
	return v.Spaces(ctx)
}
