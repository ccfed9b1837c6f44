package builtin_test

import (
	_ "embed"
	"strings"
	"testing"
)

// germanRows are what is said in German, with what holds in the end: see the file.
//
//go:embed testdata/german.txt
var germanRows string

func TestWhatIsSaidInGermanIsLearntInGerman(t *testing.T) {
	facts, nothing := 0, 0
	for dialogue, want := range eachRow(t, germanRows) {
		if want == "-" {
			want = ""
			nothing++
		} else {
			facts++
		}
		t.Run(dialogue, func(t *testing.T) {
			if got := strings.Join(remembered(t, chat(linesOf(dialogue))), "|"); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	t.Logf("%d rows with facts, %d without", facts, nothing)
	if facts < 140 || nothing < 140 {
		t.Errorf("%d rows with facts and %d without, want at least 140 and 140", facts, nothing)
	}
}

// Words that both languages have are read as those of the language around them.
func TestEnglishWithWordsThatGermanHasTooIsReadAsEnglish(t *testing.T) {
	for said, want := range map[string][]string{
		"I live in Berlin and my name is Hans.": {"Lives in Berlin.", "Name is Hans."},
		"I work at Siemens in Köln.":            {"Works at Siemens in Köln."},
		"Im allergic to nuts.":                  {"Is allergic to nuts."},
		"My favorite movie is Die Hard.":        {"Favorite movie is Die Hard."},
		"Ich wohne in Köln. I work at Siemens.": {"Wohnt in Köln.", "Works at Siemens."},
	} {
		t.Run(said, func(t *testing.T) {
			wantLearnt(t, said, want)
		})
	}
}

// The lists that say what ends a fact are joined with those of all languages.
func TestGermanWordsEndNothingElseInEnglish(t *testing.T) {
	for dialogue, want := range map[string]string{
		"I work at MIT. / I left MIT.":                         "",
		"I live in Essen. / I don't fast anymore.":             "Lives in Essen.",
		"Mein Hund heißt Bello. / My dog isn't called Rex.":    "Der Hund heißt Bello.",
		"Vivo en Bonn. / Ich wohne nicht mehr in Ulm. / Hola.": "Vive en Bonn.",
	} {
		t.Run(dialogue, func(t *testing.T) {
			if got := strings.Join(remembered(t, chat(linesOf(dialogue))), "|"); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
