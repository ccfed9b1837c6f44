package elasticstore

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/elastic/go-elasticsearch/v7/esapi"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// rowsPage is how many rows one request asks for; a request may not ask for more than 10,000
// (index.max_result_window).
const rowsPage = 5000

var errCursor = errors.New("a cursor was not made by this view")

// Rows makes all rows visible and walks them by scope, then session and number, or fact.
func (v *View) Rows(ctx context.Context, q store.RowQuery[store.TextSpace]) ([]store.RowState, error) {
	if err := q.Space.Check(); err != nil {
		return nil, err
	}
	if q.Scope != "" && !store.MintedKey(string(q.Scope)) {
		return nil, store.ErrTextKey
	}
	rows, err := v.rows(ctx, v.names.whole(q.Space), q)
	if isMissing(err) {
		var left []string
		if left, err = v.left(ctx, q.Space); err == nil && len(left) > 0 {
			rows, err = v.rows(ctx, left, q)
		}
	}
	return rows, v.failed("list the rows of", q.Space, err)
}

func (v *View) rows(ctx context.Context, indices []string, q store.RowQuery[store.TextSpace]) ([]store.RowState, error) {
	if err := v.refresh(ctx, indices); err != nil {
		return nil, err
	}
	var rows []store.RowState
	for len(rows) < q.Limit {
		want := min(q.Limit-len(rows), rowsPage)
		page, err := v.page(ctx, indices, q, want)
		if err != nil {
			return nil, err
		}
		rows = append(rows, page...)
		if len(page) < want {
			break
		}
		q.After = page[len(page)-1].Cursor
	}
	return rows, nil
}

func (v *View) page(ctx context.Context, indices []string, q store.RowQuery[store.TextSpace], size int) ([]store.RowState, error) {
	fields, sort := named(q.Space.View)
	s := searchBody{Size: size, Stored: noStored, Fields: append(fields, "revision"), Sort: sort, Query: query{Bool: &boolean{}}}
	if q.Scope != "" {
		s.Query.Bool.Filter = []query{term("scope", q.Scope)}
	}
	after, err := parseCursor(q.Space.View, q.After)
	if err != nil {
		return nil, err
	}
	s.After = after
	answer, err := v.search(ctx, indices, q.Scope, s)
	if err != nil {
		return nil, err
	}
	rows := make([]store.RowState, len(answer.Hits.Hits))
	for i, h := range answer.Hits.Hits {
		rows[i] = h.row()
	}
	return rows, nil
}

func (h hit) row() store.RowState {
	r := store.RowState{
		Scope: first(h.Fields.Scope), FactID: first(h.Fields.Fact), Place: h.place(), Revision: first(h.Fields.Revision),
	}
	r.Cursor = documentID(store.TextRow{Scope: r.Scope, FactID: r.FactID, Place: r.Place})
	return r
}

// parseCursor returns what a page starts after, in the order of the fields that name a row; nil for the first page.
func parseCursor(view memory.View, cursor string) ([]any, error) {
	if cursor == "" {
		return nil, nil
	}
	parts := strings.Split(cursor, "/")
	if view == memory.ViewFacts && len(parts) == 2 && store.MintedKey(parts[0]) && store.MintedKey(parts[1]) {
		return []any{parts[0], parts[1]}, nil
	}
	if view == memory.ViewFacts || len(parts) != 3 || !store.MintedKey(parts[0]) || !store.MintedKey(parts[1]) {
		return nil, errCursor
	}
	seq, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return nil, errCursor
	}
	return []any{parts[0], parts[1], seq}, nil
}

// refresh makes every row that was put visible in the indices. A closed one is an error: its rows would be missed.
func (v *View) refresh(ctx context.Context, indices []string) error {
	return v.call(ctx, esapi.IndicesRefreshRequest{Index: indices, ExpandWildcards: "all"}, nil)
}
