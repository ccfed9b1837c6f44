package milvusstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/stratamem/strata/internal/store"
)

// Prepare makes the space's collection and its index and waits until it is loaded. Each step is passed over when it is
// done already, by this replica or another; an index of another type stays.
func (v *View) Prepare(ctx context.Context, space store.VectorSpace) error {
	if err := space.Check(); err != nil {
		return fmt.Errorf("milvus: %w", err)
	}
	ctx, cancel := within(ctx, prepareWithin)
	defer cancel()
	name := v.name(space)
	if err := v.create(ctx, name, space); err != nil {
		return err
	}
	if err := v.checkListed(ctx, name); err != nil {
		return err
	}
	if _, err := v.makeIndex(ctx, name); err != nil {
		return err
	}
	return v.load(ctx, name)
}

// checkListed fails when the server does not list a collection that is there: what is erased is looked for in all that it lists, so
// that of such a server nothing would ever be erased. milvus-lite is one.
func (v *View) checkListed(ctx context.Context, name string) error {
	names, err := v.collections(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(names, name) {
		return fmt.Errorf("milvus: the server does not list collection %s, which it has, so that nothing could be erased: a Milvus of 2.3 or 2.4 does", name)
	}
	return nil
}

// load waits until the collection is loaded. A server that has just started reports that it is healthy before its query
// node has replaced the one that was killed, and refuses to load until then.
func (v *View) load(ctx context.Context, name string) error {
	again := time.NewTicker(loadAgain)
	defer again.Stop()
	for {
		failed := v.client.LoadCollection(ctx, name, false)
		if failed == nil {
			return nil
		}
		failed = fault(ctx, "load collection", failed)
		if !errors.Is(failed, errNoNode) {
			return failed
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", failed, ctx.Err())
		case <-again.C:
		}
	}
}

// create makes the collection, unless it is there. That creating fails is no error when it is there afterwards: another
// replica was faster.
func (v *View) create(ctx context.Context, name string, space store.VectorSpace) error {
	dimension, err := v.dimension(ctx, name)
	if errors.Is(err, ErrNoSpace) {
		dimension, err = v.createNew(ctx, name, space.Dimension)
	}
	if err != nil {
		return err
	}
	if dimension != space.Dimension {
		return fmt.Errorf("milvus: collection %s holds vectors of %d numbers, not %d", name, dimension, space.Dimension)
	}
	return nil
}

func (v *View) createNew(ctx context.Context, name string, dimension int) (int, error) {
	definition, err := v.schema.collection(name, dimension)
	if err != nil {
		return 0, err
	}
	failed := v.client.CreateCollection(ctx, definition, v.schema.Shards,
		client.WithPartitionNum(v.schema.Partitions), client.WithConsistencyLevel(entity.ClBounded))
	stored, err := v.dimension(ctx, name)
	if failed != nil && err != nil {
		return 0, fault(ctx, "create collection", failed)
	}
	return stored, err
}

// dimension returns that of a collection's vectors, or ErrNoSpace.
func (v *View) dimension(ctx context.Context, name string) (int, error) {
	exists, err := v.client.HasCollection(ctx, name)
	if err != nil {
		return 0, fault(ctx, "look for collection", err)
	}
	if !exists {
		return 0, fault(ctx, "look for collection", ErrNoSpace)
	}
	c, err := v.client.DescribeCollection(ctx, name)
	if err != nil {
		return 0, fault(ctx, "describe collection", err)
	}
	for _, f := range c.Schema.Fields {
		if f.Name == v.schema.Index.Field {
			return strconv.Atoi(f.TypeParams[entity.TypeParamDim])
		}
	}
	return 0, fmt.Errorf("milvus: collection %s has no vectors", name)
}

// absent reports whether a call's error only means that the space does not exist.
func (v *View) absent(ctx context.Context, name string) bool {
	exists, err := v.client.HasCollection(ctx, name)
	return err == nil && !exists
}

// Spaces returns the spaces of this schema.
func (v *View) Spaces(ctx context.Context) ([]store.VectorSpace, error) {
	ctx, cancel := within(ctx, searchWithin)
	defer cancel()
	names, err := v.collections(ctx)
	if err != nil {
		return nil, err
	}
	spaces := []store.VectorSpace{}
	for _, name := range names {
		p, ok := v.parse(name)
		if !ok || p.schema != v.schema.Version {
			continue
		}
		dimension, err := v.dimension(ctx, name)
		if errors.Is(err, ErrNoSpace) {
			continue // dropped meanwhile
		}
		if err != nil {
			return nil, err
		}
		spaces = append(spaces, store.VectorSpace{View: p.view, Build: p.build, Version: p.version, Dimension: dimension})
	}
	slices.SortFunc(spaces, func(a, b store.VectorSpace) int {
		return cmp.Or(cmp.Compare(a.View, b.View), cmp.Compare(a.Build, b.Build), cmp.Compare(a.Version, b.Version))
	})
	return spaces, nil
}

// Drop deletes the space's collection.
func (v *View) Drop(ctx context.Context, space store.VectorSpace) error {
	if err := space.Check(); err != nil {
		return fmt.Errorf("milvus: %w", err)
	}
	ctx, cancel := within(ctx, writeWithin)
	defer cancel()
	name := v.name(space)
	v.indexes.forget(name)
	if err := v.client.DropCollection(ctx, name); err != nil && !v.absent(ctx, name) {
		return fault(ctx, "drop collection", err)
	}
	return nil
}
