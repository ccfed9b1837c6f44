package milvusstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Rows are ordered by primary key: by scope, then fact or message. It asks for the freshest state, which costs 200 ms a page.
func (v *View) Rows(ctx context.Context, q store.RowQuery[store.VectorSpace]) ([]store.RowState, error) {
	if err := checkRows(q); err != nil {
		return nil, err
	}
	ctx, cancel := within(ctx, writeWithin)
	defer cancel()
	cursor := q.After
	var out []store.RowState
	for len(out) < q.Limit {
		page, err := v.page(ctx, q.Space, after(q.Scope, cursor), min(q.Limit-len(out), maxRows))
		if err != nil {
			if v.absent(ctx, v.name(q.Space)) {
				return nil, nil
			}
			return nil, err
		}
		if len(page) == 0 {
			return out, nil
		}
		out, cursor = append(out, page...), page[len(page)-1].Cursor
	}
	return out, nil
}

func checkRows(q store.RowQuery[store.VectorSpace]) error {
	if q.Scope != "" {
		if err := checkKeys(string(q.Scope)); err != nil {
			return err
		}
	}
	if q.After != "" {
		return checkCursor(q.After)
	}
	return nil
}

// page returns the rows with the lowest primary keys that the expression of after selects, each once. It may return fewer than there are, should
// the server count a row that is there twice as two, but none only when there is none.
func (v *View) page(ctx context.Context, space store.VectorSpace, expression string, limit int) ([]store.RowState, error) {
	fields, err := v.client.Query(ctx, v.name(space), nil, expression, []string{"scope", "fact_id", "revision"},
		client.WithSearchQueryConsistencyLevel(entity.ClStrong), client.WithLimit(int64(limit)))
	if err != nil {
		return nil, fault(ctx, "query", err)
	}
	rows, err := identities(space, fields)
	if err != nil {
		return nil, fault(ctx, "query", err)
	}
	return each(rows), nil
}

// each orders rows by cursor and keeps of those with the same one the last revision.
func each(rows []store.RowState) []store.RowState {
	slices.SortFunc(rows, func(a, b store.RowState) int {
		return cmp.Or(strings.Compare(a.Cursor, b.Cursor), cmp.Compare(b.Revision, a.Revision))
	})
	return slices.CompactFunc(rows, func(a, b store.RowState) bool { return a.Cursor == b.Cursor })
}

// EraseScope asks for the scope's primary keys in the freshest state and deletes them, until a query finds none.
func (v *View) EraseScope(ctx context.Context, scope memory.ScopeKey) (int64, error) {
	if err := checkKeys(string(scope)); err != nil {
		return 0, err
	}
	ctx, cancel := within(ctx, eraseWithin)
	defer cancel()
	spaces, err := v.Spaces(ctx)
	if err != nil {
		return 0, err
	}
	var erased int64
	for _, space := range spaces {
		n, err := v.eraseFrom(ctx, space, scope)
		erased += n
		if err != nil {
			return erased, err
		}
	}
	return erased, nil
}

func (v *View) eraseFrom(ctx context.Context, space store.VectorSpace, scope memory.ScopeKey) (int64, error) {
	name := v.name(space)
	if err := v.finish(ctx, name, space); err != nil {
		return 0, err
	}
	var erased int64
	for {
		rows, err := v.page(ctx, space, after(scope, ""), maxRows)
		if err != nil {
			if v.absent(ctx, name) {
				return erased, nil
			}
			return erased, err
		}
		if len(rows) == 0 {
			return erased, nil
		}
		if err := v.deleteRows(ctx, name, rows); err != nil {
			return erased, err
		}
		erased += int64(len(rows))
	}
}

// finish completes a collection whose creator stopped before it was ready, so that its rows become visible.
func (v *View) finish(ctx context.Context, name string, space store.VectorSpace) error {
	state, err := v.client.GetLoadState(ctx, name, nil)
	if err != nil {
		return fault(ctx, "ask for the load state", err)
	}
	if state == entity.LoadStateNotLoad {
		return v.Prepare(ctx, space)
	}
	return nil
}

func (v *View) deleteRows(ctx context.Context, name string, rows []store.RowState) error {
	for part := range slices.Chunk(rows, batch) {
		keys := make([]string, len(part))
		for i, r := range part {
			keys[i] = r.Cursor
		}
		if err := v.deleteKeys(ctx, name, keys); err != nil {
			return err
		}
	}
	return nil
}
