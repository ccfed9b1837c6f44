// Package milvusindex knows the indexes of vectors that Milvus can be asked for: their types, what each takes when it is built
// and when it is searched, within which limits, and what is right where nothing is said.
package milvusindex

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The types of indexes, as Milvus names them.
const (
	Flat    = "FLAT"     // none: every vector of the partition that passes the filters is compared
	HNSW    = "HNSW"     // a graph in memory
	IVFFlat = "IVF_FLAT" // clusters, of which the nearest are compared
	SCANN   = "SCANN"    // the same by quantised vectors, the best of which are compared exactly
	DiskANN = "DISKANN"  // a graph on the disks of the query nodes
)

// The names of parameters, as Milvus names them.
const (
	M              = "M"              // links of a node of the graph
	EFConstruction = "efConstruction" // candidates for the links of a new node
	EF             = "ef"             // candidates of a search in the graph
	NList          = "nlist"          // clusters of a segment
	NProbe         = "nprobe"         // clusters that a search compares
	ReorderK       = "reorder_k"      // vectors that a search compares exactly
	SearchList     = "search_list"    // candidates of a search on disk
)

// parameter is a whole number that a type takes.
type parameter struct {
	name                   string
	least, most, byDefault int
}

// kind is what a type takes. The limits are those that servers from 2.3 on and the client share.
type kind struct {
	build, search []parameter
}

var kinds = map[string]kind{
	Flat: {},
	HNSW: {
		build:  []parameter{{M, 4, 64, 16}, {EFConstruction, 8, 512, 200}},
		search: []parameter{{EF, 1, 32_768, 256}},
	},
	IVFFlat: {
		build:  []parameter{{NList, 1, 65_536, 128}},
		search: []parameter{{NProbe, 1, 65_536, 32}},
	},
	SCANN: {
		build:  []parameter{{NList, 1, 65_536, 128}},
		search: []parameter{{NProbe, 1, 65_536, 32}, {ReorderK, 1, 16_384, 512}},
	},
	DiskANN: {search: []parameter{{SearchList, 1, 65_535, 256}}},
}

// Index is an index with all of its parameters.
type Index struct {
	Type   string
	Build  map[string]int // a change takes a new index
	Search map[string]int
}

// Default is the index of that type with its usual parameters; one of a type that is not known has none.
func Default(kind string) Index {
	k := kinds[kind]
	return Index{Type: kind, Build: defaults(k.build), Search: defaults(k.search)}
}

// Types lists the types of indexes that may be asked for, by name.
func Types() []string { return slices.Sorted(maps.Keys(kinds)) }

// WithBuild returns the index with the parameters of building that the text names, such as M=16,efConstruction=200. Its error
// names what is wrong, the limit and the fix.
func (x Index) WithBuild(text string) (Index, error) {
	var err error
	x.Build, err = x.read(kinds[x.Type].build, "is built", text)
	return x, err
}

// WithSearch does so with those of searching, such as ef=128.
func (x Index) WithSearch(text string) (Index, error) {
	var err error
	x.Search, err = x.read(kinds[x.Type].search, "is searched", text)
	if err != nil {
		return x, err
	}
	if probed, clusters := x.Search[NProbe], x.Build[NList]; probed > clusters && strings.Contains(text, NProbe) {
		return x, fmt.Errorf("nprobe=%d is above nlist, which is %d: write %[2]d at most, or raise nlist", probed, clusters)
	}
	return x.probed(), nil
}

// SearchedAs returns the index of a collection with the parameters of searching that were asked for, which count for an index of
// the same type whatever it was built with. One of another type is searched as it is.
func (x Index) SearchedAs(asked Index) Index {
	if x.Type == asked.Type {
		x.Search = maps.Clone(asked.Search)
	}
	return x.probed()
}

// probed has a search compare no more clusters than there are, which servers refuse.
func (x Index) probed() Index {
	if clusters, ok := x.Build[NList]; ok && x.Search[NProbe] > clusters {
		x.Search = maps.Clone(x.Search)
		x.Search[NProbe] = clusters
	}
	return x
}

// Equal reports whether a collection with one index has what the other asks for: searching may differ.
func (x Index) Equal(other Index) bool {
	return x.Type == other.Type && maps.Equal(x.Build, other.Build)
}

// String is the index as settings name it, without the parameters of searching.
func (x Index) String() string {
	names := slices.Sorted(maps.Keys(x.Build))
	for i, name := range names {
		names[i] = name + "=" + strconv.Itoa(x.Build[name])
	}
	if len(names) == 0 {
		return x.Type
	}
	return x.Type + " " + strings.Join(names, ",")
}

func defaults(of []parameter) map[string]int {
	all := make(map[string]int, len(of))
	for _, p := range of {
		all[p.name] = p.byDefault
	}
	return all
}

func (x Index) read(of []parameter, when, text string) (map[string]int, error) {
	all, said := defaults(of), map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok {
			return nil, fmt.Errorf("%q is no parameter: write name=number, divided by commas", part)
		}
		at := slices.IndexFunc(of, func(p parameter) bool { return p.name == name })
		if at < 0 {
			return nil, x.unknown(of, when, name)
		}
		if said[name] {
			return nil, fmt.Errorf("%s is there twice: leave one out", name)
		}
		n, err := strconv.Atoi(value)
		if p := of[at]; err != nil || n < p.least || n > p.most {
			return nil, fmt.Errorf("%s=%s is out of its limits: write a whole number from %d to %d", name, value, p.least, p.most)
		}
		all[name], said[name] = n, true
	}
	return all, nil
}

func (x Index) unknown(of []parameter, when, name string) error {
	if len(of) == 0 {
		return fmt.Errorf("%s %s without parameters: leave %s out", x.Type, when, name)
	}
	known := make([]string, len(of))
	for i, p := range of {
		known[i] = p.name
	}
	return fmt.Errorf("%s %s without %q: it takes %s", x.Type, when, name, strings.Join(known, " and "))
}
