package languagedata_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/language/languagedata"
)

func TestCardinal(t *testing.T) {
	for word, want := range map[string]int{"zero": 0, "one": 1, "nineteen": 19, "ninety": 90, "twenty-five": 25} {
		if n, ok := languagedata.Cardinal(word); !ok || n != want {
			t.Errorf("%s is %d (%v)", word, n, ok)
		}
	}
	for _, word := range []string{"", "-", "Two", "hundred", "twenty-", "five-twenty", "second"} {
		if n, ok := languagedata.Cardinal(word); ok {
			t.Errorf("%q is %d", word, n)
		}
	}
}

func TestLettersOfScriptsWithoutBlanksCling(t *testing.T) {
	for r, want := range map[rune]bool{'한': true, '漢': true, 'か': true, 'カ': true, 'a': false, 'ñ': false, 'ж': false, '7': false, ' ': false} {
		if got := languagedata.Clings(r); got != want {
			t.Errorf("%q: %v", r, got)
		}
	}
}

func TestAListIsReadFromItsFile(t *testing.T) {
	t.Run("comments and the lists beside it are no part of it", func(t *testing.T) {
		if got := languagedata.English.Words(languagedata.This); !slices.Equal(got, []string{"this"}) {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a language without the list has no entries", func(t *testing.T) {
		if got := languagedata.Spanish.Words(languagedata.HollowRoots); len(got) != 0 {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a line that is an expression and begins with a bracket begins no list", func(t *testing.T) {
		if got := languagedata.Chinese.Lines(languagedata.AsksTime); len(got) < 2 || got[1][0] != '[' {
			t.Errorf("got %q", got)
		}
	})
	t.Run("the name of another list in an expression stands for its words", func(t *testing.T) {
		re := regexp.MustCompile(languagedata.English.Pattern(languagedata.Replies))
		if !re.MatchString("did you point out the exit") || re.MatchString("did you sleep") {
			t.Errorf("%s", re)
		}
	})
	t.Run("the lists of several languages are joined in their order", func(t *testing.T) {
		if got := languagedata.AllWords(languagedata.This); !slices.Equal(got, []string{"this", "este", "diesen"}) {
			t.Errorf("got %q", got)
		}
	})
	t.Run("the first spelling of each value is what it is written as", func(t *testing.T) {
		if got := languagedata.Korean.Spellings(languagedata.TimesSeasons); !slices.Equal(got, []string{"봄", "여름", "가을", "겨울"}) {
			t.Errorf("got %q", got)
		}
	})
}

func TestAParticleIsTakenOffAWord(t *testing.T) {
	particles := languagedata.NewParticles(languagedata.ParticlesOfQuotes)
	for word, want := range map[string]string{"고양이를": "고양이", "학교에서는": "학교", "서울": "서울", "는": "는", "나는": "나", "": "", "cat": "cat"} {
		if got := particles.Off(word, 1); got != want {
			t.Errorf("%q without its particle is %q, want %q", word, got, want)
		}
	}
	t.Run("as many characters as must stay do", func(t *testing.T) {
		if got := particles.Off("나는", 2); got != "나는" {
			t.Errorf("got %q", got)
		}
	})
}

func TestTheEntriesOfAList(t *testing.T) {
	var heads []string
	for _, e := range languagedata.Japanese.Entries(languagedata.Clauses + "/properties") {
		heads = append(heads, e.Head)
	}
	if want := []string{"home_city", "employer", "job_title", "diet"}; len(heads) < len(want) || !slices.Equal(heads[:len(want)], want) {
		t.Errorf("got %q", heads)
	}
	t.Run("an expression that goes on in the next line is one", func(t *testing.T) {
		for _, e := range languagedata.Japanese.Entries(languagedata.Clauses + "/properties") {
			if _, err := regexp.Compile(e.Pattern); err != nil || strings.Contains(e.Pattern, "\n") {
				t.Errorf("%s: %q", e.Head, e.Pattern)
			}
		}
	})
	t.Run("a list named in a list that is named is filled too", func(t *testing.T) {
		re := regexp.MustCompile(languagedata.Korean.Pattern(languagedata.Facts + "/dated"))
		if !re.MatchString("그래서 작년에 ") || re.MatchString("작년에 갔다") {
			t.Errorf("%s", re)
		}
		for _, e := range languagedata.Korean.Entries(languagedata.Facts + "/inversions") {
			if strings.Contains(e.Pattern, "{done}") || strings.Contains(e.Pattern, "{let-go}") {
				t.Errorf("%s: %s", e.Head, e.Pattern)
			}
		}
	})
	t.Run("a language that does not have the list has no entries", func(t *testing.T) {
		if got := languagedata.Spanish.Entries(languagedata.Facts + "/rules"); len(got) != 0 {
			t.Errorf("got %q", got)
		}
	})
}
