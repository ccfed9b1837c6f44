package milvusstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// batch is how many rows one call writes or deletes: 12 MB of 3,072 numbers each, where the server takes 64.
const batch = 1000

// keyed is a row with its primary key.
type keyed struct {
	store.VectorRow
	key string
}

// Put deletes the rows of the same facts or messages and inserts the new ones, batch by batch. If it fails in the middle,
// putting again repairs it. Two puts of one fact at the same time may leave two rows: Search and Rows then return either of
// them, once, because the server compares primary keys, and the next put or removal deletes both.
func (v *View) Put(ctx context.Context, space store.VectorSpace, rows []store.VectorRow) error {
	all := make([]keyed, len(rows))
	for i, r := range rows {
		key, err := rowKey(space, r.Scope, r.FactID, r.Place)
		if err != nil {
			return err
		}
		if err := checkRow(space, r); err != nil {
			return err
		}
		all[i] = keyed{r, key}
	}
	ctx, cancel := within(ctx, writeWithin)
	defer cancel()
	name := v.name(space)
	for part := range slices.Chunk(last(all), batch) {
		if err := v.deleteKeys(ctx, name, collect(part, func(r keyed) string { return r.key })); err != nil {
			return err
		}
		if _, err := v.client.Insert(ctx, name, "", columns(space, part)...); err != nil {
			return fault(ctx, "insert", err)
		}
	}
	return v.checkEmptyPut(ctx, name, rows)
}

// checkEmptyPut makes a put of nothing fail like any other when the space does not exist.
func (v *View) checkEmptyPut(ctx context.Context, name string, rows []store.VectorRow) error {
	if len(rows) > 0 {
		return nil
	}
	_, err := v.dimension(ctx, name)
	return err
}

func checkRow(space store.VectorSpace, r store.VectorRow) error {
	if r.Session != "" && !store.MintedKey(string(r.Session)) {
		return fmt.Errorf("milvus: %w", ErrKey)
	}
	if r.Significance < 0 || r.Significance > math.MaxInt8 || r.Category < 0 || r.Category > math.MaxInt8 {
		return errors.New("milvus: a significance or category beyond 127")
	}
	return checkVector(space, r.Vector)
}

func checkVector(space store.VectorSpace, vector []float32) error {
	if len(vector) != space.Dimension {
		return fmt.Errorf("milvus: a vector of %d numbers in a space of %d", len(vector), space.Dimension)
	}
	return nil
}

// last returns the last row of each key, in the order of their first ones: the server would store them all.
func last(rows []keyed) []keyed {
	out := make([]keyed, 0, len(rows))
	at := make(map[string]int, len(rows))
	for _, r := range rows {
		if i, ok := at[r.key]; ok {
			out[i] = r
			continue
		}
		at[r.key] = len(out)
		out = append(out, r)
	}
	return out
}

// columns are the rows as the schema names them: the server wants each field, and no other.
func columns(space store.VectorSpace, rows []keyed) []entity.Column {
	return []entity.Column{
		entity.NewColumnVarChar("key", collect(rows, func(r keyed) string { return r.key })),
		entity.NewColumnVarChar("scope", collect(rows, func(r keyed) string { return string(r.Scope) })),
		entity.NewColumnVarChar("fact_id", collect(rows, func(r keyed) string { return idIn(r.key) })),
		entity.NewColumnFloatVector("vector", space.Dimension, collect(rows, func(r keyed) []float32 { return r.Vector })),
		entity.NewColumnInt64("revision", collect(rows, func(r keyed) int64 { return r.Revision })),
		entity.NewColumnInt8("significance", collect(rows, func(r keyed) int8 { return int8(r.Significance) })),
		entity.NewColumnInt8("category", collect(rows, func(r keyed) int8 { return int8(r.Category) })),
		entity.NewColumnVarChar("session", collect(rows, func(r keyed) string { return string(r.Session) })),
		entity.NewColumnInt64("valid_from", collect(rows, func(r keyed) int64 { return microseconds(r.ValidFrom, always) })),
		entity.NewColumnInt64("valid_to", collect(rows, func(r keyed) int64 { return microseconds(r.ValidTo, holds) })),
	}
}

// idIn is the row's id within its scope.
func idIn(key string) string { return key[strings.Index(key, separator)+1:] }

func collect[T any](rows []keyed, of func(keyed) T) []T {
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = of(r)
	}
	return out
}

// Remove deletes by primary keys: the delete comes after every acknowledged insert, visible to searches or not.
func (v *View) Remove(ctx context.Context, space store.VectorSpace, scope memory.ScopeKey, rows []store.RowState) error {
	keys := make([]string, len(rows))
	for i, r := range rows {
		key, err := rowKey(space, scope, r.FactID, r.Place)
		if err != nil {
			return err
		}
		keys[i] = key
	}
	if err := checkKeys(string(scope)); err != nil {
		return err
	}
	ctx, cancel := within(ctx, writeWithin)
	defer cancel()
	name := v.name(space)
	for part := range slices.Chunk(keys, batch) {
		if err := v.deleteKeys(ctx, name, part); err != nil {
			if v.absent(ctx, name) {
				return nil
			}
			return err
		}
	}
	return nil
}

// deleteKeys deletes rows of at most batch primary keys that have been checked.
func (v *View) deleteKeys(ctx context.Context, name string, keys []string) error {
	if err := v.client.DeleteByPks(ctx, name, "", entity.NewColumnVarChar("key", keys)); err != nil {
		return fault(ctx, "delete", err)
	}
	return nil
}
