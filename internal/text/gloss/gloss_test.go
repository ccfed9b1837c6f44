package gloss_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/text"
	"github.com/stratamem/strata/internal/text/gloss"
	"github.com/stratamem/strata/internal/text/near"
)

func TestDictionary(t *testing.T) {
	d := gloss.Open()
	t.Run("a Spanish text is told in English words, whatever their form", func(t *testing.T) {
		for said, want := range map[string]string{
			"¿Dónde trabajaba mi hermana?":           "work sister",
			"mis vecinas cocinaron lentejas":         "neighbor cook lentil",
			"el médico me mandó un jarabe":           "doctor send syrup",
			"nuestro vehículo no pasó la inspección": "vehicle inspection",
		} {
			english, ok := d.English(said)
			if !ok {
				t.Errorf("%q is not known", said)
			}
			for w := range strings.FieldsSeq(want) {
				if !slices.Contains(strings.Fields(english), w) {
					t.Errorf("%q is %q, without %q", said, english, w)
				}
			}
		}
	})
	t.Run("names, numbers and words that are not known stay, so that what differs in them differs", func(t *testing.T) {
		a, _ := d.English("mi color favorito es el granate")
		b, _ := d.English("mi color favorito es el turquesa")
		if a == b {
			t.Errorf("both are %q", a)
		}
		if c, _ := d.English("la casa de Maite costó 240 euros"); !strings.Contains(c, "Maite") || !strings.Contains(c, "240") {
			t.Errorf("got %q", c)
		}
	})
	t.Run("short words that share a stem keep apart", func(t *testing.T) {
		month, _ := d.English("este mes está en la casa")
		table, _ := d.English("esta mesa está en la casa")
		if strings.Contains(month, "table") || !strings.Contains(table, "table") {
			t.Errorf("got %q and %q", month, table)
		}
	})
	t.Run("what is not Spanish, or hardly known, is not told", func(t *testing.T) {
		for _, s := range []string{"", "...", "Where does my sister work?", "나는 커피를 좋아해", "el blandengue fue un carcamal y un zangolotino"} {
			if english, ok := d.English(s); ok {
				t.Errorf("%q is %q", s, english)
			}
		}
	})
}

func TestNear(t *testing.T) {
	table, err := near.Open()
	if err != nil {
		t.Fatal(err)
	}
	n := gloss.NewNear(table.Of)
	isNear := func(a, b string) bool {
		stem := text.SpanishStem(b)
		return slices.ContainsFunc(n.Of(text.SpanishStem(a)), func(w near.Word) bool { return w.Term == stem })
	}
	t.Run("Spanish words of one gloss are near, and those whose glosses are", func(t *testing.T) {
		for _, pair := range [][2]string{{"césped", "hierba"}, {"enfermera", "médico"}, {"fiebre", "gripe"}} {
			if !isNear(pair[0], pair[1]) {
				t.Errorf("%s is not near %s", pair[1], pair[0])
			}
		}
		if isNear("abogado", "garbanzo") {
			t.Error("a lawyer is near a chickpea")
		}
	})
	t.Run("the nearest come first, none is the word itself", func(t *testing.T) {
		for _, w := range []string{"matrimonio", "playa", "cocinar"} {
			stem := text.SpanishStem(w)
			of := n.Of(stem)
			if len(of) == 0 || !slices.IsSortedFunc(of, func(a, b near.Word) int { return int(b.Cosine*1000) - int(a.Cosine*1000) }) ||
				slices.ContainsFunc(of, func(w near.Word) bool { return w.Term == stem }) {
				t.Errorf("%s: %v", w, of)
			}
		}
	})
	t.Run("an English word that is no Spanish one is near to what it was", func(t *testing.T) {
		if got, want := n.Of("physician"), table.Of("physician"); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
