package elasticstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/elastic/go-elasticsearch/v7/esapi"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/migrations"
)

// putSuffix ends the name of an index's alias, through which rows are put: a request that requires an alias cannot make
// an index with guessed mappings when the space was dropped.
const putSuffix = "-put"

// schema is what an index of a view is made of.
type schema struct {
	Version  int                       `json:"-"`
	Settings map[string]map[string]any `json:"settings"`
	Mappings json.RawMessage           `json:"mappings"`
	Aliases  map[string]struct{}       `json:"aliases"`
}

// readSchemas returns the newest schema of each view.
func readSchemas(shards int) (map[memory.View]schema, error) {
	files, err := fs.Glob(migrations.Elasticsearch, "elasticsearch/*.json") // sorted, so that the newest is the last
	if err != nil {
		return nil, fmt.Errorf("list the schemas: %w", err)
	}
	schemas := map[memory.View]schema{}
	for _, file := range files {
		number, name, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".json"), "_")
		version, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("read the number of %s: %w", file, err)
		}
		s, err := readSchema(file, version, shards)
		if err != nil {
			return nil, err
		}
		schemas[viewOf(name)] = s
	}
	return schemas, nil
}

func readSchema(file string, version, shards int) (schema, error) {
	b, err := migrations.Elasticsearch.ReadFile(file)
	if err != nil {
		return schema{}, fmt.Errorf("read %s: %w", file, err)
	}
	s := schema{Version: version}
	if err := json.Unmarshal(b, &s); err != nil {
		return schema{}, fmt.Errorf("read %s: %w", file, err)
	}
	if shards > 0 {
		s.Settings["index"]["number_of_shards"] = shards
	}
	return s, nil
}

// viewOf returns the view of that name, 0 when it is not one of text.
func viewOf(name string) memory.View {
	for _, view := range []memory.View{memory.ViewFacts, memory.ViewTranscript} {
		if view.String() == name {
			return view
		}
	}
	return 0
}

// index is the name of a space's index.
func (v *View) index(s store.TextSpace) string {
	return fmt.Sprintf("%s-%s-%06d", v.prefix, s.View, s.Build)
}

// space returns the space of an index; ok is false when the index is not one of this view's.
func (v *View) space(index string) (s store.TextSpace, ok bool) {
	rest, _ := strings.CutPrefix(index, v.prefix+"-")
	name, number, _ := strings.Cut(rest, "-")
	build, err := strconv.ParseInt(number, 10, 64)
	s = store.TextSpace{View: viewOf(name), Build: build}
	return s, err == nil && s.Check() == nil && v.index(s) == index
}

// patterns name all of the view's indices, and may name others.
func (v *View) patterns() []string {
	return []string{
		v.prefix + "-" + memory.ViewFacts.String() + "-*",
		v.prefix + "-" + memory.ViewTranscript.String() + "-*",
	}
}

// versions returns the schema version of each space there is.
func (v *View) versions(ctx context.Context) (map[store.TextSpace]int, error) {
	var indices map[string]struct {
		Mappings struct {
			Meta struct {
				Schema int `json:"strata_schema"`
			} `json:"_meta"`
		} `json:"mappings"`
	}
	// A closed index counts too: it holds rows that an erasure must not miss.
	r := esapi.IndicesGetMappingRequest{Index: v.patterns(), ExpandWildcards: "all", FilterPath: []string{"*.mappings._meta"}}
	if err := v.call(ctx, r, &indices); err != nil {
		return nil, fmt.Errorf("list the indices: %w", err)
	}
	versions := map[store.TextSpace]int{}
	for name, index := range indices {
		if s, ok := v.space(name); ok {
			versions[s] = index.Mappings.Meta.Schema
		}
	}
	return versions, nil
}

// checkSchemas refuses to work beside a newer program's indices.
func (v *View) checkSchemas(ctx context.Context) error {
	versions, err := v.versions(ctx)
	if err != nil {
		return err
	}
	for s, version := range versions {
		if known := v.schemas[s.View].Version; version > known {
			return fmt.Errorf(
				"index %s has schema %d, and this program knows %d: run the newer version of strata, or delete the index and let this one build its own: %w",
				v.index(s),
				version,
				known,
				store.ErrNewerSchema,
			)
		}
	}
	return nil
}

// Prepare makes the space's index unless it is there.
func (v *View) Prepare(ctx context.Context, space store.TextSpace) error {
	if err := space.Check(); err != nil {
		return err
	}
	versions, err := v.versions(ctx)
	if err != nil {
		return v.failed("prepare", space, err)
	}
	if _, there := versions[space]; there {
		return nil
	}
	return v.failed("prepare", space, v.create(ctx, space))
}

func (v *View) create(ctx context.Context, space store.TextSpace) error {
	s := v.schemas[space.View]
	s.Aliases = map[string]struct{}{v.index(space) + putSuffix: {}}
	b, err := body(s)
	if err != nil {
		return err
	}
	err = v.call(ctx, esapi.IndicesCreateRequest{Index: v.index(space), Body: b}, nil)
	r, refused := errors.AsType[*refusal](err)
	if !refused || r.kind != "resource_already_exists_exception" {
		return err
	}
	versions, err := v.versions(ctx) // another replica was faster, or somebody's own index has the name
	if err != nil {
		return err
	}
	if _, ours := versions[space]; !ours {
		return errors.New("an index of this name was not made by strata: delete it or choose another prefix")
	}
	return nil
}

// Spaces returns the spaces that there are.
func (v *View) Spaces(ctx context.Context) ([]store.TextSpace, error) {
	versions, err := v.versions(ctx)
	if err != nil {
		return nil, fmt.Errorf("elasticstore: %w", err)
	}
	return slices.SortedFunc(maps.Keys(versions), func(a, b store.TextSpace) int {
		return cmp.Or(cmp.Compare(a.View, b.View), cmp.Compare(a.Build, b.Build))
	}), nil
}

// Drop deletes the space's index.
func (v *View) Drop(ctx context.Context, space store.TextSpace) error {
	if err := space.Check(); err != nil {
		return err
	}
	err := v.call(ctx, esapi.IndicesDeleteRequest{Index: []string{v.index(space)}}, nil)
	if isMissing(err) {
		return nil
	}
	return v.failed("drop", space, err)
}

// failed returns an error that names what was tried, without the server's text; nil stays nil.
func (v *View) failed(what string, s store.TextSpace, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("elasticstore: %s %s: %w", what, v.index(s), err)
}
