package portable_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/sessions/portable"
)

func TestThePageNamesEveryField(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operate/export.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	var look func(reflect.Type)
	look = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || seen[of] || of.PkgPath() != reflect.TypeFor[portable.Line]().PkgPath() {
			return
		}
		seen[of] = true
		_, section, _ := strings.Cut(string(page), "\n### "+of.Name()+"\n")
		section, _, _ = strings.Cut(section, "\n### ")
		for i := range of.NumField() {
			f := of.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" && of != reflect.TypeFor[portable.Line]() && !strings.Contains(section, "| `"+name+"` |") {
				t.Errorf("the page does not name %s.%s", of.Name(), name)
			}
			look(f.Type)
		}
	}
	look(reflect.TypeFor[portable.Line]())
	if len(seen) < 20 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}
