package synonyms

import (
	"iter"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stratamem/strata/internal/language/languagedata"
	"github.com/stratamem/strata/internal/language/text"
)

func open(t testing.TB) *Table {
	t.Helper()
	table, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestTable(t *testing.T) {
	table := open(t)
	t.Run("words of one meaning are near, both ways", func(t *testing.T) {
		for a, b := range map[string]string{"doctor": "physician", "car": "automobile", "dog": "puppy", "job": "occupation", "movie": "film", "happy": "joyful", "kids": "children", "bought": "purchased"} {
			if !isNear(table, a, b) || !isNear(table, b, a) {
				t.Errorf("%s and %s are not", a, b)
			}
		}
	})
	t.Run("other words are not", func(t *testing.T) {
		for a, b := range map[string]string{"doctor": "guitar", "car": "physician", "dog": "movie"} {
			if isNear(table, a, b) {
				t.Errorf("%s and %s are", a, b)
			}
		}
	})
	t.Run("an unknown word has none", func(t *testing.T) {
		for _, term := range []string{"", "xyzzyqw", "2024", "the", "커피"} {
			if near := table.Of(term); near != nil {
				t.Errorf("%q: %v", term, near)
			}
		}
	})
	t.Run("every term is one that the analyzer makes of a word of the vocabulary", func(t *testing.T) {
		made := vocabularyTerms(t)
		for term, near := range table.all() {
			if !made[term] || slices.ContainsFunc(near, func(w Word) bool { return !made[w.Term] }) {
				t.Errorf("%q or a neighbour of it is of another analyzer: run tools/semantics", term)
			}
		}
	})
	t.Run("no term is a stop word or a number", func(t *testing.T) {
		for term := range table.all() {
			if _, number := languagedata.Cardinal(term); number || len(text.Terms(term)) == 0 || strings.ContainsFunc(term, unicode.IsNumber) {
				t.Errorf("%q", term)
			}
		}
	})
	t.Run("neighbours stand best first, at most 30, of cosines from .4 to 1, none twice, none the term itself", func(t *testing.T) {
		for term, near := range table.all() {
			seen := map[string]bool{term: true}
			for i, w := range near {
				if w.Cosine < .4 || w.Cosine > 1 || i > 0 && w.Cosine > near[i-1].Cosine || i >= 30 || seen[w.Term] {
					t.Fatalf("%q: %v", term, near)
				}
				seen[w.Term] = true
			}
		}
	})
	t.Run("two terms that are each other's neighbours are equally near", func(t *testing.T) {
		for term, near := range table.all() {
			for _, w := range near {
				if back := table.cosine(w.Term, term); back != 0 && back != w.Cosine {
					t.Fatalf("%q to %q %.2f, back %.2f", term, w.Term, w.Cosine, back)
				}
			}
		}
	})
	t.Run("to look a term up allocates its words at once, and nothing for an unknown one", func(t *testing.T) {
		for term, want := range map[string]float64{"doctor": 1, "xyzzyqw": 0} {
			if n := testing.AllocsPerRun(100, func() { table.Of(term) }); n > want {
				t.Errorf("%s: %v allocations", term, n)
			}
		}
	})
	t.Run("the table takes at most 1.2 MB of the binary", func(t *testing.T) {
		if len(tableFile) > 1_200_000 {
			t.Errorf("%d bytes", len(tableFile))
		}
	})
}

func TestDamagedTable(t *testing.T) {
	t.Run("a table with any byte cut off or changed is refused", func(t *testing.T) {
		for _, at := range []int{0, 1, 100, len(tableFile) / 2, len(tableFile) - 5, len(tableFile) - 1} {
			changed := []byte(tableFile)
			changed[at] ^= 0x55
			if _, err := read(string(changed)); err == nil {
				t.Errorf("byte %d changed: it was read", at)
			}
			if _, err := read(tableFile[:at]); err == nil {
				t.Errorf("cut at byte %d: it was read", at)
			}
		}
	})
	t.Run("numbers that do not fit the terms are refused", func(t *testing.T) {
		for name, c := range map[string]struct{ counts, pairs string }{
			"too few pairs":      {"\x01\x01", "\x01\x00\x50"},
			"too many pairs":     {"\x01\x00", "\x01\x00\x00\x00\x50\x50"},
			"a row past the end": {"\x01\x00", "\x02\x00\x50"},
		} {
			if _, err := parse([]string{"doctor", "physician"}, c.counts, c.pairs); err == nil {
				t.Errorf("%s: it was read", name)
			}
		}
	})
	t.Run("terms that are not sorted are refused", func(t *testing.T) {
		if _, err := parse([]string{"physician", "doctor"}, "\x00\x00", ""); err == nil {
			t.Error("they were read")
		}
	})
}

func (t *Table) all() iter.Seq2[string, []Word] {
	return func(yield func(string, []Word) bool) {
		for _, term := range t.terms {
			if !yield(term, t.Of(term)) {
				return
			}
		}
	}
}

// isNear asks as a ranker does, with the terms of both words.
func isNear(table *Table, a, b string) bool {
	return table.cosine(text.Terms(a)[0], text.Terms(b)[0]) > 0
}

func (t *Table) cosine(from, to string) float32 {
	for _, w := range t.Of(from) {
		if w.Term == to {
			return w.Cosine
		}
	}
	return 0
}

// vocabularyTerms are the terms of the words that the table was made of.
func vocabularyTerms(t *testing.T) map[string]bool {
	t.Helper()
	list, err := os.ReadFile("../../../recall/embed/static/vocabulary.txt")
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]bool{}
	for word := range strings.FieldsSeq(string(list)) {
		for _, term := range text.Terms(word) {
			made[term] = true
		}
	}
	return made
}

func BenchmarkOf(b *testing.B) {
	table := open(b)
	b.ReportAllocs()
	for b.Loop() {
		table.Of("doctor")
	}
}

func BenchmarkOpen(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		open(b)
	}
}
