package grpcapi

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
)

// with returns overrides that set one number.
func with(t *testing.T, path string, value any) *memoryv1.ContextOverrides {
	t.Helper()
	o := &memoryv1.ContextOverrides{}
	m, names := o.ProtoReflect(), strings.Split(path, ".")
	for ; len(names) > 1; names = names[1:] {
		m = m.Mutable(m.Descriptor().Fields().ByName(protoreflect.Name(names[0]))).Message()
	}
	f := m.Descriptor().Fields().ByName(protoreflect.Name(names[0]))
	if f == nil {
		t.Fatalf("the API has no field %s", path)
	}
	n := 0.
	switch v := value.(type) {
	case int:
		n = float64(v)
	case int64:
		n = float64(v)
	case float64:
		n = v
	}
	switch f.Kind() {
	case protoreflect.Int32Kind:
		m.Set(f, protoreflect.ValueOfInt32(int32(n)))
	case protoreflect.Int64Kind:
		m.Set(f, protoreflect.ValueOfInt64(int64(n)))
	case protoreflect.DoubleKind:
		m.Set(f, protoreflect.ValueOfFloat64(n))
	default:
		t.Fatalf("%s is no number", path)
	}
	return o
}

// plus returns a number a little higher.
func plus(value any, by int) any {
	switch v := value.(type) {
	case int:
		return v + by
	case int64:
		return v + int64(by)
	case float64:
		return v + float64(by)
	}
	return value
}

func TestOverrides(t *testing.T) {
	named := map[string]bool{}
	for _, f := range contextprofile.Fields() {
		named[f.API] = true
	}
	t.Run("every field of ContextOverrides is a setting of a profile", func(t *testing.T) {
		for name := range fieldPaths(new(memoryv1.ContextOverrides).ProtoReflect().Descriptor(), "") {
			if !named[name] && name != "sections" {
				t.Errorf("contextprofile.Fields does not name %s", name)
			}
		}
	})
	t.Run("every setting that a call can override is in ContextOverrides", func(t *testing.T) {
		known := fieldPaths(new(memoryv1.ContextOverrides).ProtoReflect().Descriptor(), "")
		for n := range memoryv1.SectionKind_name {
			if name, ok := switchName(memoryv1.SectionKind(n)); ok {
				known[name] = true
			}
		}
		for name := range named {
			if name != "" && !known[name] {
				t.Errorf("the API has no %s", name)
			}
		}
	})
	for _, f := range contextprofile.Fields() {
		low, high := f.Limits()
		if f.API == "" || low == nil || f.API == "previous_sessions.max_age" {
			continue
		}
		t.Run(f.API+" is taken at its limits and refused beyond them by its path", func(t *testing.T) {
			for _, value := range []any{low, high} {
				c := &requests.Checker{}
				if o := overridesFrom(c, with(t, f.API, value)); c.Err() != nil || !o.Has(f.Key) {
					t.Errorf("%v: %v", value, c.Err())
				}
			}
			for _, value := range []any{plus(low, -1), plus(high, 1)} {
				c := &requests.Checker{}
				o := overridesFrom(c, with(t, f.API, value))
				want := fmt.Sprintf("overrides.%s: is %v; it must be from %v to %v", f.API, value, low, high)
				if err := c.Err(); err == nil || err.Error() != want || o.Has(f.Key) {
					t.Errorf("got %v, want %s", err, want)
				}
			}
		})
	}
}

// fieldPaths are the paths of fields, of previous_sessions those within.
func fieldPaths(m protoreflect.MessageDescriptor, prefix string) map[string]bool {
	out := map[string]bool{}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if f.Name() != "previous_sessions" {
			out[prefix+string(f.Name())] = true
			continue
		}
		for name := range fieldPaths(f.Message(), "previous_sessions.") {
			out[name] = true
		}
	}
	return out
}
