package memory_test

import (
	"reflect"
	"testing"

	"github.com/stratamem/strata/internal/memory"
)

func TestPlainTextIsOneTextAndNothingElse(t *testing.T) {
	t.Run("one text is plain", func(t *testing.T) {
		if !memory.IsPlainText([]memory.Part{memory.TextPart("hello")}) || !memory.IsPlainText([]memory.Part{memory.TextPart("")}) {
			t.Error("a text is not taken for one")
		}
	})
	t.Run("none, two, and parts of another kind are not", func(t *testing.T) {
		two := []memory.Part{memory.TextPart("a"), memory.TextPart("b")}
		if memory.IsPlainText(nil) || memory.IsPlainText(two) || memory.IsPlainText([]memory.Part{{Kind: memory.PartURI}}) {
			t.Error("taken for one text")
		}
	})
	t.Run("a text with any other field is not: a store would lose the field", func(t *testing.T) {
		for i := range reflect.TypeFor[memory.Part]().NumField() {
			name := reflect.TypeFor[memory.Part]().Field(i).Name
			if name == "Kind" || name == "Text" {
				continue
			}
			p := memory.TextPart("hello")
			setAny(reflect.ValueOf(&p).Elem().Field(i))
			if memory.IsPlainText([]memory.Part{p}) {
				t.Errorf("a part with %s is taken for plain text", name)
			}
		}
	})
}

// setAny gives a field a value that is not its zero value.
func setAny(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("x")
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	default:
		panic("a field of a kind that this test does not know: " + v.Kind().String())
	}
}
