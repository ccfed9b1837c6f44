package config

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/contexts/settingschema"
)

// numbersOf are the numbers of a group by their keys, without those of named groups.
func numbersOf(group reflect.Value, prefix string) map[string]reflect.Value {
	out := map[string]reflect.Value{}
	for _, f := range fieldsOf(group.Type()) {
		v, key := group.FieldByIndex(f.Index), join(prefix, f.Tag.Get("name"))
		switch {
		case isGroup(f.Type):
			for k, n := range numbersOf(v, key) {
				out[k] = n
			}
		case v.CanInt() && f.Tag.Get("enum") == "", v.CanFloat():
			out[key] = v
		}
	}
	return out
}

// checkFields checks that every number of a group is in its list of fields, and that each field is where its key says.
func checkFields[T any](t *testing.T, fields []settingschema.Field[T]) {
	t.Helper()
	var group T
	numbers := numbersOf(reflect.ValueOf(&group).Elem(), "")
	for _, f := range fields {
		_, high := f.Limits()
		n, ok := numbers[f.Key]
		if !ok || high == nil {
			continue
		}
		delete(numbers, f.Key)
		if !f.Set(&group, high) || !n.Equal(reflect.ValueOf(high).Convert(n.Type())) {
			t.Errorf("the field %s is not the setting of that key", f.Key)
		}
	}
	for key := range numbers {
		if !strings.HasPrefix(key, contextprofile.History+".") {
			t.Errorf("%s has no limits: add it to the list of fields", key)
		}
	}
}

func TestEveryNumberOfAProfileHasItsLimits(t *testing.T) {
	t.Run("in contextprofile.Fields", func(t *testing.T) { checkFields(t, contextprofile.Fields()) })
	t.Run("in history.Fields", func(t *testing.T) { checkFields(t, compaction.Fields()) })
	t.Run("its help names them", func(t *testing.T) {
		for _, place := range []string{"{limits}", "{high}", "{low}"} {
			if strings.Contains(Reference(), place) {
				t.Errorf("a help has %s, and its setting no limits", place)
			}
		}
	})
	t.Run("the default profile is within them", func(t *testing.T) {
		if fs := defaultProfile().Faults(); len(fs) > 0 {
			t.Errorf("%+v", fs)
		}
	})
}
