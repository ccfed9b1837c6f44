package openretry

import (
	"context"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

type view[Space, Row, Search, Hit any] struct {
	*late[store.View[Space, Row, Search, Hit]]
}

// Open opens a view, now or later: see the package. Only a view of a newer schema, and one whose server cannot serve the
// settings, is an error.
func Open[Space, Row, Search, Hit any](
	ctx context.Context, o Options[store.View[Space, Row, Search, Hit]],
) (store.View[Space, Row, Search, Hit], error) {
	l, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	return view[Space, Row, Search, Hit]{l}, nil
}

// Prepare implements store.View.
func (l view[Space, Row, Search, Hit]) Prepare(ctx context.Context, space Space) error {
	v, err := l.get()
	if err != nil {
		return err
	}
	return v.Prepare(ctx, space)
}

// Put implements store.View.
func (l view[Space, Row, Search, Hit]) Put(ctx context.Context, space Space, rows []Row) error {
	v, err := l.get()
	if err != nil {
		return err
	}
	return v.Put(ctx, space, rows)
}

// Remove implements store.View.
func (l view[Space, Row, Search, Hit]) Remove(ctx context.Context, space Space, scope memory.ScopeKey, rows []store.RowState) error {
	v, err := l.get()
	if err != nil {
		return err
	}
	return v.Remove(ctx, space, scope, rows)
}

// Search implements store.View.
func (l view[Space, Row, Search, Hit]) Search(ctx context.Context, q Search) ([]Hit, error) {
	v, err := l.get()
	if err != nil {
		return nil, err
	}
	return v.Search(ctx, q)
}

// Rows implements store.View.
func (l view[Space, Row, Search, Hit]) Rows(ctx context.Context, q store.RowQuery[Space]) ([]store.RowState, error) {
	v, err := l.get()
	if err != nil {
		return nil, err
	}
	return v.Rows(ctx, q)
}

// EraseScope implements store.View.
func (l view[Space, Row, Search, Hit]) EraseScope(ctx context.Context, scope memory.ScopeKey) (int64, error) {
	v, err := l.get()
	if err != nil {
		return 0, err
	}
	return v.EraseScope(ctx, scope)
}

// Drop implements store.View.
func (l view[Space, Row, Search, Hit]) Drop(ctx context.Context, space Space) error {
	v, err := l.get()
	if err != nil {
		return err
	}
	return v.Drop(ctx, space)
}

// Spaces implements store.View.
func (l view[Space, Row, Search, Hit]) Spaces(ctx context.Context) ([]Space, error) {
	v, err := l.get()
	if err != nil {
		return nil, err
	}
	return v.Spaces(ctx)
}
