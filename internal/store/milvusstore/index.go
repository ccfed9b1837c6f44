package milvusstore

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"sync"

	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/stratamem/strata/internal/store/milvusindex"
)

// indexes remembers which index collections have. The zero value is ready.
type indexes struct {
	mu    sync.Mutex
	known map[string]milvusindex.Index // by collection
}

func (x *indexes) get(name string) (milvusindex.Index, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	index, ok := x.known[name]
	return index, ok
}

func (x *indexes) set(name string, index milvusindex.Index) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.known == nil {
		x.known = map[string]milvusindex.Index{}
	}
	x.known[name] = index
}

func (x *indexes) forget(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.known, name)
}

// errNoIndex is of a collection whose creator stopped before it made one.
var errNoIndex = errors.New("no index of vectors yet")

// indexOf returns the index that a collection has, with the parameters by which it is to be searched: those of the settings, or
// the usual ones where it is of another type than settings name.
func (v *View) indexOf(ctx context.Context, name string) (milvusindex.Index, error) {
	if index, ok := v.indexes.get(name); ok {
		return index, nil
	}
	described, err := v.client.DescribeIndex(ctx, name, v.schema.Index.Field)
	if err == nil && len(described) == 0 {
		err = errNoIndex
	}
	if err != nil {
		return milvusindex.Index{}, fault(ctx, "describe index", err)
	}
	index := readIndex(described[0]).SearchedAs(v.index)
	v.indexes.set(name, index)
	return index, nil
}

// readIndex understands a server's description. What it does not say is as usual.
func readIndex(described entity.Index) milvusindex.Index {
	said := described.Params()
	index := milvusindex.Default(string(described.IndexType()))
	inner := map[string]any{}
	_ = json.Unmarshal([]byte(said["params"]), &inner) // "" where a server says all at once
	for name := range index.Build {
		text := said[name]
		switch value := inner[name].(type) {
		case string:
			text = value
		case float64:
			text = strconv.Itoa(int(value))
		}
		if n, err := strconv.Atoi(text); err == nil {
			index.Build[name] = n
		}
	}
	return index
}

// makeIndex returns the index of a collection, and makes it where there is none. That making fails is no error when there is one
// afterwards: another replica was faster.
func (v *View) makeIndex(ctx context.Context, name string) (milvusindex.Index, error) {
	index, err := v.indexOf(ctx, name)
	if !errors.Is(err, errNoIndex) {
		return index, err
	}
	failed := v.client.CreateIndex(ctx, name, v.schema.Index.Field, v.definition(), true)
	index, err = v.indexOf(ctx, name)
	if failed != nil && err != nil {
		return index, fault(ctx, "create index "+v.index.String(), failed)
	}
	return index, err
}

// definition is the index of a new collection, as the client wants it.
func (v *View) definition() entity.Index {
	params := map[string]string{"metric_type": v.schema.Index.Metric}
	if len(v.index.Build) > 0 {
		inner := map[string]string{}
		for name, n := range v.index.Build {
			inner[name] = strconv.Itoa(n)
		}
		text, _ := json.Marshal(inner) // of strings, which cannot fail
		params["params"] = string(text)
	}
	return entity.NewGenericIndex("", entity.IndexType(v.index.Type), params)
}

// searchParam has an index searched for so many rows: what it compares is no less than these. On disk it is no more than ten times
// these either, or 200: servers of 2.3 refuse a search that is to keep more candidates.
func searchParam(x milvusindex.Index, topK int) (entity.SearchParam, error) {
	switch n := x.Search; x.Type {
	case milvusindex.HNSW:
		return entity.NewIndexHNSWSearchParam(max(n[milvusindex.EF], topK))
	case milvusindex.IVFFlat:
		return entity.NewIndexIvfFlatSearchParam(n[milvusindex.NProbe])
	case milvusindex.SCANN:
		return entity.NewIndexSCANNSearchParam(n[milvusindex.NProbe], max(n[milvusindex.ReorderK], topK))
	case milvusindex.DiskANN:
		return entity.NewIndexDISKANNSearchParam(max(topK, min(n[milvusindex.SearchList], max(200, 10*topK))))
	}
	return entity.NewIndexFlatSearchParam() // no parameters: also right for an index that somebody else made
}

// compare logs which collections were made with other settings than those of now. They serve as they are.
func (v *View) compare(ctx context.Context, log *slog.Logger) error {
	if log == nil {
		return nil
	}
	spaces, err := v.Spaces(ctx)
	if err != nil {
		return err
	}
	for _, space := range spaces {
		name := v.name(space)
		index, err := v.indexOf(ctx, name)
		if errors.Is(err, errNoIndex) || errors.Is(err, ErrNoSpace) {
			continue // it is being made, or was dropped meanwhile
		}
		if err != nil {
			return err
		}
		if !index.Equal(v.index) {
			log.WarnContext(ctx, "the collection keeps the index that it was made with: run strata reindex to have it made anew as settings say",
				"collection", name, "view", space.View.String(), "index", index.String(), "milvus-index", v.index.String())
		}
		partitions, err := v.client.ShowPartitions(ctx, name)
		if err != nil {
			return fault(ctx, "list partitions", err)
		}
		if int64(len(partitions)) != v.schema.Partitions {
			log.WarnContext(ctx, "the collection keeps its partitions: run strata reindex to have it made anew as settings say",
				"collection", name, "view", space.View.String(), "partitions", len(partitions), "milvus-partitions", v.schema.Partitions)
		}
	}
	return nil
}
