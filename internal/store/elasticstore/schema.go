package elasticstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/elastic/go-elasticsearch/v7/esapi"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/migrations"
)

// schema is what an index of a view is made of.
type schema struct {
	version  int
	settings map[string]any
	mappings mappings                  // without content
	content  map[string]map[string]any // the fields that content has
}

// with returns the mappings of an index that says this of itself.
func (s schema) with(m meta) mappings {
	out := s.mappings
	out.Meta = m
	if m.Content {
		out.Source.Enabled = true
		out.Properties = maps.Clone(out.Properties)
		maps.Copy(out.Properties, s.content)
	}
	return out
}

type mappings struct {
	Dynamic string `json:"dynamic"`
	Meta    meta   `json:"_meta"`
	Routing struct {
		Required bool `json:"required"`
	} `json:"_routing"`
	Source struct {
		Enabled bool `json:"enabled"`
	} `json:"_source"`
	Properties map[string]map[string]any `json:"properties"`
}

// meta is what an index says of itself.
type meta struct {
	Schema  int  `json:"strata_schema"`
	Content bool `json:"strata_content"` // documents may hold their content
}

// Schemas, by what their indices have.
const (
	schemaTermsOnly = 1 // one index for all of a space, no content, roles as numbers
	schemaMonthly   = 2 // an index for each month of a transcript, and content where it is wanted
)

// readSchemas returns the newest schema of each view.
func readSchemas(o Options) (map[memory.View]schema, error) {
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
		s, err := readSchema(file, version, o)
		if err != nil {
			return nil, err
		}
		schemas[viewOf(name)] = s
	}
	return schemas, nil
}

func readSchema(file string, version int, o Options) (schema, error) {
	b, err := migrations.Elasticsearch.ReadFile(file)
	if err != nil {
		return schema{}, fmt.Errorf("read %s: %w", file, err)
	}
	var read struct {
		Settings map[string]map[string]any `json:"settings"`
		Mappings mappings                  `json:"mappings"`
		Content  map[string]map[string]any `json:"content"`
	}
	if err := json.Unmarshal(b, &read); err != nil {
		return schema{}, fmt.Errorf("read %s: %w", file, err)
	}
	if read.Content == nil { // the first schema has none
		read.Content = map[string]map[string]any{}
	}
	if o.Shards > 0 {
		read.Settings["index"]["number_of_shards"] = o.Shards
	}
	read.Content["text"] = analyzed(o.analyzers())
	return schema{version, map[string]any{"index": read.Settings["index"]}, read.Mappings, read.Content}, nil
}

const (
	customSuffix = "-custom" // of the component template that belongs to the operators
	// templatePriority is that of an index template, with a length of the prefix of 0. A longer prefix may begin with a shorter
	// one; of two templates that match an index, the server then takes that of the longer prefix.
	templatePriority = 300
)

// putTemplates stores the view's index template: it is composed of our own settings and mappings, and of a component template that is
// made once, empty, and is the operators' from then on.
func (v *View) putTemplates(ctx context.Context, view memory.View) error {
	name, s, says := v.names.family(view), v.schemas[view], v.newest(view)
	if err := v.putCustom(ctx, name+customSuffix); err != nil {
		return fmt.Errorf("make the component template %s: %w", name+customSuffix, err)
	}
	own, err := body(map[string]any{
		"template": map[string]any{"settings": s.settings, "mappings": s.with(says)}, "_meta": says, "version": s.version,
	})
	if err != nil {
		return err
	}
	if err := v.call(ctx, esapi.ClusterPutComponentTemplateRequest{Name: name, Body: own}, nil); err != nil {
		return fmt.Errorf("store the component template %s: %w", name, err)
	}
	whole, err := body(map[string]any{
		"index_patterns": []string{name + "-*"}, "composed_of": []string{name, name + customSuffix},
		"priority": templatePriority + len(v.names), "_meta": says, "version": s.version,
	})
	if err != nil {
		return err
	}
	if err := v.call(ctx, esapi.IndicesPutIndexTemplateRequest{Name: name, Body: whole}, nil); err != nil {
		return fmt.Errorf("store the index template %s: %w", name, err)
	}
	return nil
}

func (v *View) putCustom(ctx context.Context, name string) error {
	err := v.call(ctx, esapi.ClusterExistsComponentTemplateRequest{Name: name}, nil)
	if r, refused := errors.AsType[*refusal](err); !refused || r.status != http.StatusNotFound {
		return err
	}
	empty, err := body(map[string]any{"template": struct{}{}})
	if err != nil {
		return err
	}
	create := true
	err = v.call(ctx, esapi.ClusterPutComponentTemplateRequest{Name: name, Create: &create, Body: empty}, nil)
	if r, refused := errors.AsType[*refusal](err); refused && r.status == http.StatusBadRequest {
		return nil // another replica was faster
	}
	return err
}

// newest is what a new space's index says of itself.
func (v *View) newest(view memory.View) meta { return meta{v.schemas[view].version, v.content} }

// templated reports whether the view's template says what a new index is like. A user of the server who may not make templates goes
// without.
func (v *View) templated(ctx context.Context, view memory.View) (bool, error) {
	err := v.putTemplates(ctx, view)
	if isForbidden(err) {
		return false, nil
	}
	return err == nil, err
}

// isForbidden reports whether the server does not allow this user a request.
func isForbidden(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && r.status == http.StatusForbidden && r.kind == "security_exception"
}
