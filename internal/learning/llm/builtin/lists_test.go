package builtin

import (
	"testing"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// TestEveryListIsRead reads what would else be read when a text first needs it: a list that lacks, an expression that is none, or a
// rule that names what nothing decides panics.
func TestEveryListIsRead(t *testing.T) {
	for name, g := range map[string]*grammar{"English": &english, "Korean": &korean} {
		if len(g.rules()) < 40 || len(g.inversions()) < 10 || len(g.enders()) == 0 || len(g.corrections()) == 0 {
			t.Errorf("%s has %d rules, %d inversions, %d enders and %d corrections", name, len(g.rules()), len(g.inversions()), len(g.enders()), len(g.corrections()))
		}
		for _, f := range append(g.besides(), g.implied()...) {
			if f.text == "" || f.category == "" {
				t.Errorf("%s has a rule without a text or a category", name)
			}
		}
	}
	for _, r := range []*retelling{&englishRetelling, &spanishRetelling, &koreanRetelling, &japaneseRetelling, &chineseRetelling} {
		if len(r.attributes()) < 8 {
			t.Errorf("the clauses of a language that end with %q give %d properties", r.stop, len(r.attributes()))
		}
	}
	if len(enStarts()) == 0 || enStarts()[0].name != "Is" {
		t.Errorf("English statements begin with %v", enStarts())
	}
}

func TestAListThatIsNotThereIsNoExpression(t *testing.T) {
	for what, read := range map[string]func(list){
		"pattern":    func(l list) { l.pattern("nothing") },
		"words":      func(l list) { l.words("nothing")() },
		"pairs":      func(l list) { l.pairs("nothing")() },
		"named":      func(l list) { l.named("nothing")() },
		"inversions": func(l list) { l.inversions("nothing")() },
		"rules":      func(l list) { l.rules("nothing", nil)() },
	} {
		t.Run(what, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it is read as if it were there")
				}
			}()
			read(list{languagedata.English, languagedata.Facts})
		})
	}
}

func TestARuleIsRead(t *testing.T) {
	lasting := objects{"lasting": func(string) bool { return true }}
	got, err := readRule(languagedata.Entry{Head: "preference 6 likes_$1 lasting 2: Likes $1: a lot.", Pattern: "^i like (.+)$"}, lasting)
	if err != nil || got.category != "preference" || got.significance != 6 || got.attribute != "likes_$1" || got.value != 2 ||
		got.text != "Likes $1: a lot." || got.accepts == nil {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, head := range []string{
		"", "preference 6 likes_$1 lasting 2", "preference six - - 0: Likes $1.", "preference 6 - - none: Likes $1.",
		"preference 6 - passing 0: Likes $1.", "preference 6 - 0: Likes $1.",
	} {
		if _, err := readRule(languagedata.Entry{Head: head, Pattern: "x"}, lasting); err == nil {
			t.Errorf("%q is read as a rule", head)
		}
	}
}
