package milvusstore

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strconv"

	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/migrations"
)

// schema is a file of migrations.Milvus.
type schema struct {
	Version    int     `json:"schema"`
	Shards     int32   `json:"shards"`
	Partitions int64   `json:"partitions"` // of the partition key
	Fields     []field `json:"fields"`
	Index      struct {
		Field  string `json:"field"`
		Type   string `json:"type"`
		Metric string `json:"metric"`
	} `json:"index"`
}

type field struct {
	Name         string `json:"name"`
	Type         string `json:"type"`
	MaxLength    int64  `json:"max_length"` // of a varchar, in bytes
	PrimaryKey   bool   `json:"primary_key"`
	PartitionKey bool   `json:"partition_key"`
}

// readSchema returns the newest schema that this version knows.
func readSchema() (schema, error) {
	files, err := migrations.Milvus.ReadDir("milvus")
	if err != nil {
		return schema{}, fmt.Errorf("milvus: schemas: %w", err)
	}
	newest := files[len(files)-1].Name() // ReadDir sorts by name
	data, err := migrations.Milvus.ReadFile(path.Join("milvus", newest))
	if err != nil {
		return schema{}, fmt.Errorf("milvus: schema %s: %w", newest, err)
	}
	var s schema
	if err := json.Unmarshal(data, &s); err != nil {
		return schema{}, fmt.Errorf("milvus: schema %s: %w", newest, err)
	}
	return s, nil
}

// collection is the definition of a space's collection, which the description ties to the schema.
func (s schema) collection(name string, dimension int) (*entity.Schema, error) {
	c := entity.NewSchema().WithName(name).WithDescription(fmt.Sprintf("Strata: vectors, schema %d", s.Version))
	for _, f := range s.Fields {
		e := entity.NewField().WithName(f.Name).WithIsPrimaryKey(f.PrimaryKey).WithIsPartitionKey(f.PartitionKey)
		switch f.Type {
		case "varchar":
			e.WithDataType(entity.FieldTypeVarChar).WithMaxLength(f.MaxLength)
		case "float_vector":
			e.WithDataType(entity.FieldTypeFloatVector).WithDim(int64(dimension))
		case "int64":
			e.WithDataType(entity.FieldTypeInt64)
		case "int8":
			e.WithDataType(entity.FieldTypeInt8)
		default:
			return nil, fmt.Errorf("milvus: schema %d: field %s has a type that is not known", s.Version, f.Name)
		}
		c.WithField(e)
	}
	return c, nil
}

// name is that of a space's collection.
func (v *View) name(space store.VectorSpace) string {
	return fmt.Sprintf("%s_%s_s%d_v%d_b%d", v.prefix, kinds[space.View], v.schema.Version, space.Version, space.Build)
}

// kinds are what the rows of a view are called in the names of collections.
var kinds = map[memory.View]string{memory.ViewVectors: "facts", memory.ViewMessageVectors: "turns"}

// parsed is what a collection's name encodes.
type parsed struct {
	view            memory.View
	schema, version int
	build           int64
}

// parse reports whether a collection is one of this prefix, and of what.
func (v *View) parse(name string) (parsed, bool) {
	m := regexp.MustCompile(`^` + v.prefix + `_(facts|turns)_s([0-9]{1,9})_v([0-9]{1,9})_b([0-9]{1,18})$`).FindStringSubmatch(name)
	if m == nil {
		return parsed{}, false
	}
	p := parsed{view: memory.ViewVectors}
	if m[1] == kinds[memory.ViewMessageVectors] {
		p.view = memory.ViewMessageVectors
	}
	p.schema, _ = strconv.Atoi(m[2]) // the pattern lets nothing through that is not a number
	p.version, _ = strconv.Atoi(m[3])
	p.build, _ = strconv.ParseInt(m[4], 10, 64)
	return p, true
}

// refuseNewer fails when a newer version of the program has been at work under this prefix: it may hold rows that erasing
// through this one would leave behind.
func (v *View) refuseNewer(ctx context.Context) error {
	names, err := v.collections(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if p, ok := v.parse(name); ok && p.schema > v.schema.Version {
			return fmt.Errorf("milvus: collection %s has schema %d and this version of strata knows %d: run the newer version, "+
				"or drop the collection and rebuild the view with strata reindex: %w", name, p.schema, v.schema.Version, store.ErrNewerSchema)
		}
	}
	return nil
}

// collections returns the names of all collections of the server's database.
func (v *View) collections(ctx context.Context) ([]string, error) {
	listed, err := v.client.ListCollections(ctx)
	if err != nil {
		return nil, fault(ctx, "list collections", err)
	}
	names := make([]string, len(listed))
	for i, c := range listed {
		names[i] = c.Name
	}
	return names, nil
}
