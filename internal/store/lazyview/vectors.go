package lazyview

import (
	"context"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

type vectors struct{ *late[store.VectorView] }

// Vectors opens a VectorView, now or later: see the package. Only a view of a newer schema is an error.
func Vectors(ctx context.Context, o Options[store.VectorView]) (store.VectorView, error) {
	l, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	return vectors{l}, nil
}

// Prepare implements store.VectorView.
func (l vectors) Prepare(ctx context.Context, space store.VectorSpace) error {
	v, err := l.get()
	if err != nil {
		return err
	}
	return v.Prepare(ctx, space)
}

// Put implements store.VectorView.
func (l vectors) Put(ctx context.Context, space store.VectorSpace, rows []store.VectorRow) error {
	v, err := l.get()
	if err != nil {
		return err
	}
	return v.Put(ctx, space, rows)
}

// Remove implements store.VectorView.
func (l vectors) Remove(ctx context.Context, space store.VectorSpace, scope memory.ScopeKey, rows []store.RowState) error {
	v, err := l.get()
	if err != nil {
		return err
	}
	return v.Remove(ctx, space, scope, rows)
}

// Search implements store.VectorView.
func (l vectors) Search(ctx context.Context, q store.VectorSearch) ([]store.VectorHit, error) {
	v, err := l.get()
	if err != nil {
		return nil, err
	}
	return v.Search(ctx, q)
}

// Rows implements store.VectorView.
func (l vectors) Rows(ctx context.Context, q store.RowQuery[store.VectorSpace]) ([]store.RowState, error) {
	v, err := l.get()
	if err != nil {
		return nil, err
	}
	return v.Rows(ctx, q)
}

// EraseScope implements store.VectorView.
func (l vectors) EraseScope(ctx context.Context, scope memory.ScopeKey) (int64, error) {
	v, err := l.get()
	if err != nil {
		return 0, err
	}
	return v.EraseScope(ctx, scope)
}

// Drop implements store.VectorView.
func (l vectors) Drop(ctx context.Context, space store.VectorSpace) error {
	v, err := l.get()
	if err != nil {
		return err
	}
	return v.Drop(ctx, space)
}

// Spaces implements store.VectorView.
func (l vectors) Spaces(ctx context.Context) ([]store.VectorSpace, error) {
	v, err := l.get()
	if err != nil {
		return nil, err
	}
	return v.Spaces(ctx)
}
