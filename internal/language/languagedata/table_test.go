package languagedata_test

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// row is a list and how many words each language has of it, in the order of columns, with why some have none.
type row struct {
	list    languagedata.List
	words   [7]int
	without string // why the languages without words need none
}

// columns are the folders, in the order of row.words.
var columns = []languagedata.Language{languagedata.English, languagedata.Spanish, languagedata.Korean, languagedata.Japanese, languagedata.Chinese, languagedata.German, languagedata.Han}

// TestWhatEachLanguageHas is the table of all lists. A language that lacks one has its reason here.
func TestWhatEachLanguageHas(t *testing.T) {
	for _, file := range files(t) {
		if !slices.ContainsFunc(table, func(r row) bool { return strings.HasPrefix(string(r.list), file+"/") }) {
			t.Errorf("%s.txt is in no row", file)
		}
	}
	for _, l := range columns {
		for _, file := range files(t) {
			for name := range l.Lists(file) {
				if list := languagedata.List(file + "/" + name); !slices.ContainsFunc(table, func(r row) bool { return r.list == list }) {
					t.Errorf("%s has a list %s, which is in no row", l, list)
				}
			}
		}
	}
	for i, r := range table {
		if i > 0 && slices.ContainsFunc(table[:i], func(o row) bool { return o.list == r.list }) {
			t.Errorf("%s has two rows", r.list)
		}
		lacking := false
		for c, l := range columns {
			have := len(l.Words(r.list))
			if have != r.words[c] {
				t.Errorf("%s: %s has %d words, the table says %d", r.list, l, have, r.words[c])
			}
			lacking = lacking || have == 0 && l != languagedata.Han
		}
		if lacking != (r.without != "") {
			t.Errorf("%s: some language lacks it: %v; the reason: %q", r.list, lacking, r.without)
		}
	}
}

func TestEachFolderHasAColumn(t *testing.T) {
	for _, l := range languagedata.All() {
		if !slices.Contains(columns, l) {
			t.Errorf("%s has no column in the table", l)
		}
		if len(l.Words(languagedata.Name)) == 0 || !slices.Contains([]string{"latin", "hangul", "kana", "han"}, strings.Join(l.Words(languagedata.Script), " ")) {
			t.Errorf("%s: language.txt says neither what it is called nor in which script it is written", l)
		}
	}
}

func TestAWordStandsInOneGroupOfSynonymsAtMost(t *testing.T) {
	for _, l := range columns {
		seen := languagedata.Set{}
		for _, w := range l.Words(languagedata.Synonyms) {
			if seen.Has(w) {
				t.Errorf("%s: %s stands there twice", l, w)
			}
			seen[w] = struct{}{}
		}
	}
}

// files are the names of the files that any language has.
func files(t *testing.T) []string {
	t.Helper()
	all, err := fs.Glob(os.DirFS("."), "*/*.txt")
	if err != nil || len(all) == 0 {
		t.Fatalf("%d files: %v", len(all), err)
	}
	var names []string
	for _, f := range all {
		names = append(names, strings.TrimSuffix(path.Base(f), ".txt"))
	}
	slices.Sort(names)
	return slices.Compact(names)
}
