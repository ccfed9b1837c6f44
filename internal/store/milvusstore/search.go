package milvusstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// The server's bound on the rows of one response, and how many more than the limit are asked for, so that duplicate rows
// and equal scores at the end do not shorten or reorder the result.
const (
	maxRows = 16_384
	spare   = 16
)

// Search asks with bounded staleness: about 5 ms where the freshest state costs 200.
func (v *View) Search(ctx context.Context, q store.VectorSearch) ([]store.VectorHit, error) {
	if err := checkSearch(q); err != nil {
		return nil, err
	}
	ctx, cancel := within(ctx, searchWithin)
	defer cancel()
	for topK := q.Limit + spare; ; topK *= 4 {
		topK = min(topK, maxRows)
		found, err := v.nearest(ctx, q, topK)
		if err != nil {
			return nil, err
		}
		hits := collapse(found)
		if len(found) < topK || topK == maxRows || settled(hits, q.Limit) {
			return firstHits(hits, q.Limit), nil
		}
	}
}

func checkSearch(q store.VectorSearch) error {
	if err := checkKeys(string(q.Scope)); err != nil {
		return err
	}
	if q.Exclude != "" && !store.MintedKey(string(q.Exclude)) {
		return fmt.Errorf("milvus: %w", ErrKey)
	}
	for _, s := range q.Sessions {
		if !store.MintedKey(string(s)) {
			return fmt.Errorf("milvus: %w", ErrKey)
		}
	}
	if q.Limit < 1 || q.Limit > 1000 {
		return fmt.Errorf("milvus: a limit of %d is not 1 to 1000", q.Limit)
	}
	return checkVector(q.Space, q.Vector)
}

// hit is a row that the server found.
type hit struct {
	store.RowState
	score float64
}

func (v *View) nearest(ctx context.Context, q store.VectorSearch, topK int) ([]hit, error) {
	name := v.name(q.Space)
	index, err := v.indexOf(ctx, name)
	if err != nil {
		return nil, err
	}
	how, err := searchParam(index, topK)
	if err != nil {
		return nil, fmt.Errorf("milvus: search parameters: %w", err)
	}
	// A primary key, which comes with each hit, names scope and row: what is asked for beside it is read row by row.
	results, err := v.client.Search(ctx, name, nil, filter(q), []string{"revision"},
		[]entity.Vector{entity.FloatVector(q.Vector)}, v.schema.Index.Field, entity.MetricType(v.schema.Index.Metric), topK, how,
		client.WithSearchQueryConsistencyLevel(entity.ClBounded))
	if err != nil {
		err = fault(ctx, "search", err)
		if errors.Is(err, ErrRefused) || errors.Is(err, ErrNoSpace) {
			v.indexes.forget(name) // the collection may have been made anew with another one
		}
		return nil, err
	}
	hits, err := read(q.Space, results)
	if err != nil {
		return nil, fault(ctx, "search", err)
	}
	return hits, nil
}

// read takes the hits out of the response to one query. For a query without hits the client returns no result, or one with
// an error: both mean that nothing was found.
func read(space store.VectorSpace, results []client.SearchResult) ([]hit, error) {
	if len(results) == 0 || results[0].ResultCount == 0 {
		return nil, nil
	}
	r := results[0]
	if r.Err != nil {
		return nil, r.Err
	}
	keys, okK := r.IDs.(*entity.ColumnVarChar)
	revisions, okR := r.Fields.GetColumn("revision").(*entity.ColumnInt64)
	if !okK || !okR || keys.Len() != revisions.Len() || keys.Len() != len(r.Scores) {
		return nil, fmt.Errorf("%w: a column is missing, or shorter than another", errMalformed)
	}
	hits := make([]hit, keys.Len())
	for i, key := range keys.Data() {
		scope, id, _ := strings.Cut(key, separator)
		row, err := identity(space, memory.ScopeKey(scope), id)
		if err != nil {
			return nil, err
		}
		row.Cursor, row.Revision = key, revisions.Data()[i]
		hits[i] = hit{row, float64(r.Scores[i])}
	}
	return hits, nil
}

// identity is what a row of the space is about.
func identity(space store.VectorSpace, scope memory.ScopeKey, id string) (row store.RowState, err error) {
	row.Scope = scope
	var ok bool
	if row.FactID, row.Place, ok = space.ParseRowID(id); !ok {
		err = fmt.Errorf("%w: a row that no put wrote", errMalformed)
	}
	return row, err
}

// identities returns which rows of the space a response holds.
func identities(space store.VectorSpace, fields client.ResultSet) ([]store.RowState, error) {
	s, okS := fields.GetColumn("scope").(*entity.ColumnVarChar)
	ids, okI := fields.GetColumn("fact_id").(*entity.ColumnVarChar)
	r, okR := fields.GetColumn("revision").(*entity.ColumnInt64)
	if !okS || !okI || !okR || s.Len() != ids.Len() || s.Len() != r.Len() {
		return nil, fmt.Errorf("%w: a column is missing", errMalformed)
	}
	rows := make([]store.RowState, s.Len())
	for i, id := range ids.Data() {
		row, err := identity(space, memory.ScopeKey(s.Data()[i]), id)
		if err != nil {
			return nil, err
		}
		row.Cursor, row.Revision = primaryKey(row.Scope, id), r.Data()[i]
		rows[i] = row
	}
	return rows, nil
}

// collapse keeps of the rows with one primary key the one of the highest revision, and orders the hits by score, then id. It takes
// the place of what was found.
func collapse(found []hit) []hit {
	hits, at := found[:0], make(map[string]int, len(found))
	for _, h := range found {
		i, ok := at[h.Cursor]
		if !ok {
			at[h.Cursor] = len(hits)
			hits = append(hits, h)
			continue
		}
		if h.Revision > hits[i].Revision {
			hits[i] = h
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(idIn(a.Cursor), idIn(b.Cursor)), strings.Compare(a.Cursor, b.Cursor))
	})
	return hits
}

// settled reports whether asking for more rows could not change the first ones: there are enough, and the last one asked
// for is worse than the last one wanted. Otherwise rows of an equal score may have been cut off.
func settled(hits []hit, limit int) bool {
	return len(hits) > limit && hits[len(hits)-1].score < hits[limit-1].score
}

func firstHits(hits []hit, limit int) []store.VectorHit {
	out := make([]store.VectorHit, min(limit, len(hits)))
	for i := range out {
		h := hits[i]
		out[i] = store.VectorHit{Scope: h.Scope, FactID: h.FactID, Place: h.Place, Score: h.score}
	}
	return out
}
