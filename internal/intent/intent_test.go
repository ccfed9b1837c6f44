package intent_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/intent"
)

// statement is a line of the fixtures of package extract.
type labelled struct{ language, family, text string }

func read(t *testing.T, name string) []labelled {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "extract", "testdata", name))
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
	for _, name := range []string{"tuning_hostile.tsv", "hostile.tsv"} {
		missed, all := 0, read(t, name)
		for _, s := range all {
			if kind := intent.DirectiveOf(s.text); kind == intent.None {
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
	for _, name := range []string{"tuning_honest.tsv", "honest.tsv"} {
		refused, all := 0, read(t, name)
		for _, s := range all {
			kind := intent.DirectiveOf(s.text)
			if kind != intent.None || intent.IsSmallTalk(s.text) {
				refused++
				t.Logf("%s refused as %q: %s %s: %s", name, kind, s.language, s.family, s.text)
			}
			if wish := s.family == "wish"; intent.IsWish(s.text) != wish {
				t.Errorf("%s: a wish is %v, want %v: %s", name, !wish, wish, s.text)
			}
		}
		t.Logf("%s: %d of %d are refused", name, refused, len(all))
		if refused*20 > len(all) {
			t.Errorf("%s: more than 5 %%", name)
		}
	}
}
