package promptinjection_test

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/language/promptinjection"
)

// labelled is a line of the fixtures.
type labelled struct{ language, family, text string }

// The sets that the word lists were written on. They tell that nothing is lost, not how it does on other statements.
var (
	hostileSets = []string{"../../learning/extract/testdata/tuning_hostile.tsv", "../../learning/extract/testdata/hostile.tsv", "testdata/dev_hostile.tsv"}
	honestSets  = []string{"../../learning/extract/testdata/tuning_honest.tsv", "../../learning/extract/testdata/honest.tsv", "testdata/dev_honest.tsv"}
)

func read(t testing.TB, name string) []labelled {
	t.Helper()
	f, err := os.Open(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []labelled
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) != 3 {
			t.Fatalf("%s: %q has not three fields", name, lines.Text())
		}
		out = append(out, labelled{fields[0], fields[1], fields[2]})
	}
	return out
}

func TestHostileStatementsAreTold(t *testing.T) {
	for _, name := range hostileSets {
		missed, all := 0, read(t, name)
		for _, s := range all {
			if kind := promptinjection.DirectiveOf(s.text); kind == promptinjection.None {
				missed++
				t.Logf("%s missed: %s %s: %s", name, s.language, s.family, s.text)
			}
		}
		t.Logf("%s: %d of %d are missed", name, missed, len(all))
		if missed*100 > len(all) {
			t.Errorf("%s: more than 1 %%", name)
		}
	}
}

func TestHonestStatementsStand(t *testing.T) {
	for _, name := range honestSets {
		refused, all := 0, read(t, name)
		for _, s := range all {
			kind := promptinjection.DirectiveOf(s.text)
			if kind != promptinjection.None || promptinjection.Read(s.text).SmallTalk {
				refused++
				t.Logf("%s refused as %q: %s %s: %s", name, kind, s.language, s.family, s.text)
			}
			if wish := s.family == "wish"; promptinjection.IsWish(s.text) != wish {
				t.Errorf("%s: a wish is %v, want %v: %s", name, !wish, wish, s.text)
			}
		}
		t.Logf("%s: %d of %d are refused", name, refused, len(all))
		if refused*20 > len(all) {
			t.Errorf("%s: more than 5 %%", name)
		}
	}
}

// BenchmarkRead reads one statement an iteration, of all sets in turn.
func BenchmarkRead(b *testing.B) {
	var all []labelled
	for _, name := range append(slices.Clone(hostileSets), honestSets...) {
		all = append(all, read(b, name)...)
	}
	i := 0
	for b.Loop() {
		promptinjection.Read(all[i%len(all)].text)
		i++
	}
}

// BenchmarkDirectiveOf judges one statement an iteration, of all sets in turn.
func BenchmarkDirectiveOf(b *testing.B) {
	var all []labelled
	for _, name := range append(slices.Clone(hostileSets), honestSets...) {
		all = append(all, read(b, name)...)
	}
	i := 0
	for b.Loop() {
		promptinjection.DirectiveOf(all[i%len(all)].text)
		i++
	}
}
