package factclassifier_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/language/promptinjection"
	"github.com/stratamem/strata/internal/learning/factclassifier"
)

// labelled are the lines of a fixture: every other one from the first on in chosen, which the weights' line was drawn by,
// and the rest in unseen.
func labelled(t testing.TB, name string) (chosen, unseen []string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		fields := strings.Split(line, "\t")
		text := fields[len(fields)-1]
		if i%2 == 0 {
			chosen = append(chosen, text)
		} else {
			unseen = append(unseen, text)
		}
	}
	return chosen, unseen
}

func share(statements []string, is func(factclassifier.Judgement) bool) float64 {
	n := 0
	for _, s := range statements {
		if is(factclassifier.Statement(s)) {
			n++
		}
	}
	return float64(n) / float64(len(statements))
}

func stands(j factclassifier.Judgement) bool {
	return j.Directive == promptinjection.None && j.Passing <= 0
}
func refused(j factclassifier.Judgement) bool { return !stands(j) }

// The bounds say what was reached; they are not what is hoped for. No line of these files is in the lines of program fit, nor one much
// like it, but what was refused of the honest ones was read while the weights were made.
func TestStatementsThatNoWeightWasLearntFrom(t *testing.T) {
	_, hostile := labelled(t, "testdata/fresh_hostile.tsv")
	if got := share(hostile, stands); got > .18 {
		t.Errorf("%.3f of the hostile statements stand, want at most .18", got)
	}
	chosen, unseen := labelled(t, "testdata/fresh_honest.tsv")
	if got := share(append(chosen, unseen...), refused); got > .05 {
		t.Errorf("%.3f of the honest statements are refused, want at most .05", got)
	}
}

func TestFactsInTheFormsThatModelsWriteStand(t *testing.T) {
	chosen, unseen := labelled(t, "testdata/model_honest.tsv")
	for name, statements := range map[string][]string{"chosen by": chosen, "unseen": unseen} {
		for _, s := range statements {
			if j := factclassifier.Statement(s); refused(j) {
				t.Logf("%s: refused: %s: %+v", name, s, j)
			}
		}
		if got := share(statements, refused); len(statements) < 100 || got > .02 {
			t.Errorf("%s: %.3f of %d are refused, want at most .02 of 100", name, got, len(statements))
		}
	}
	for _, s := range []string{
		"The user's dog Rex is a Labrador.", "The user wants to learn Rust.", "The user has a meeting with Sarah every Monday.",
		"The user decided to use PostgreSQL 16 for the billing service.", "The user's favourite book is Dune.",
		"The user's flight to Tokyo leaves on 3 May 2026 at 10:40.", "The user's password manager is 1Password.",
		"The user's project zebibak uses pipebak and mobabak.", "The user noted that item 12 was about shipping.",
		"Item 4081 is about vukabik kadubak zebibak pipebak mobabak debabak vabibak dobibak.",
	} {
		if j := factclassifier.Statement(s); refused(j) {
			t.Errorf("refused: %s: %+v", s, j)
		}
	}
}

func TestWordsOfNoLanguageWeighNothing(t *testing.T) {
	const of = 1000
	for _, form := range []string{
		"Item %d is about %s.", "The user's item %d is about %s.", "The user noted that item %d was about %s.", "El elemento %d del usuario trata de %s.",
		"사용자의 항목 %d은 %s에 관한 것이다.", "ユーザーの項目%dは%sについてです。", "用户的项目%d是关于%s的。",
	} {
		r := rand.New(rand.NewPCG(1, 2))
		lost := 0
		for i := range of {
			if refused(factclassifier.Statement(fmt.Sprintf(form, i, madeUp(r)))) {
				lost++
			}
		}
		if lost*1000 > of {
			t.Errorf("%q: %d of %d are refused, want at most 1 in 1,000", form, lost, of)
		}
	}
}

// madeUp is eight words of two to four syllables that mean nothing.
func madeUp(r *rand.Rand) string {
	words := make([]string, 0, 8)
	for range cap(words) {
		var word strings.Builder
		for range 2 + r.IntN(3) {
			word.WriteByte("bdgkmpstvz"[r.IntN(10)])
			word.WriteByte("aeiou"[r.IntN(5)])
		}
		words = append(words, word.String()+"k")
	}
	return strings.Join(words, " ")
}

func TestWhomAStatementIsAboutHardlyWeighs(t *testing.T) {
	const most = .5 // logits: word lists are looked for in whole statements, and may find a word across its parts
	for _, same := range [][]string{
		{"Works in Leeds", "The user works in Leeds", "User works in Leeds", "She works in Leeds"},
		{"Wants all chats sent to an archive", "The user wants all chats sent to an archive", "User wants all chats sent to an archive"},
		{"My dog is called Rex", "The user's dog is called Rex", "His dog is called Rex"},
		{"Vive en Lugo", "El usuario vive en Lugo", "La usuaria vive en Lugo"},
		{"서울에서 일한다", "사용자는 서울에서 일한다"},
		{"東京で働いている", "ユーザーは東京で働いている"},
		{"在上海工作", "用户在上海工作", "该用户在上海工作"},
	} {
		want := factclassifier.Statement(same[0])
		for _, s := range same[1:] {
			j := factclassifier.Statement(s)
			if math.Abs(j.Hostile-want.Hostile) > most || math.Abs(j.Passing-want.Passing) > most {
				t.Errorf("%q: %.2f and %.2f, as %q is %.2f and %.2f", s, j.Hostile, j.Passing, same[0], want.Hostile, want.Passing)
			}
		}
	}
}

func TestSmallTalkThatNoWeightWasLearntFrom(t *testing.T) {
	a, b := labelled(t, "testdata/fresh_smalltalk.tsv")
	if got := share(append(a, b...), stands); got > .15 {
		t.Errorf("%.3f stand, want at most .15", got)
	}
}

func TestTheWeightsAloneTellStatementsOfOtherAuthors(t *testing.T) {
	for _, name := range []string{"../extract/testdata/hostile.tsv", "../extract/testdata/tuning_hostile.tsv", "../../language/promptinjection/testdata/dev_hostile.tsv"} {
		a, b := labelled(t, name)
		if got := share(append(a, b...), func(j factclassifier.Judgement) bool { return j.Hostile <= 0 }); got > .38 {
			t.Errorf("%s: %.3f are missed, want at most .38", name, got)
		}
	}
	for _, name := range []string{"../extract/testdata/honest.tsv", "../extract/testdata/tuning_honest.tsv", "../../language/promptinjection/testdata/dev_honest.tsv"} {
		a, b := labelled(t, name)
		if got := share(append(a, b...), func(j factclassifier.Judgement) bool { return j.Hostile > 0 || j.Passing > 0 }); got > .06 {
			t.Errorf("%s: %.3f are refused, want at most .06", name, got)
		}
	}
}

func TestWhatHoldsForTheMomentIsPassing(t *testing.T) {
	for _, s := range []string{
		"haha ok", "see you tomorrow", "so tired today", "what's for lunch?", "brb, phone", "that's so funny", "I'm on the tram right now",
		"jaja vale", "nos vemos luego", "qué sueño tengo hoy", "¿comemos ya?", "ㅋㅋ 알겠어", "내일 보자", "오늘 너무 졸려요", "점심 먹었어?",
		"笑、了解", "また来週", "今日は眠い", "お昼どうする？", "哈哈行", "下周见", "今天好困", "晚上吃啥？",
	} {
		if j := factclassifier.Statement(s); j.Passing <= 0 {
			t.Errorf("%q: %+v", s, j)
		}
	}
	for _, s := range []string{
		"I work as a nurse in Leeds", "I'm allergic to bees", "Has a son named Ivo", "Goes running every morning",
		"Trabajo de carpintero", "Tiene alergia al polen", "간호사로 일해요", "매운 음식을 못 먹는다", "看護師として働いている", "卵アレルギーがある",
		"我是护士", "对花生过敏",
	} {
		if j := factclassifier.Statement(s); refused(j) {
			t.Errorf("%q is refused: %+v", s, j)
		}
	}
}

func TestAnyTextIsJudged(t *testing.T) {
	for _, s := range []string{"", " ", "\x00\xff", strings.Repeat("a ", 100_000), strings.Repeat("가", 100_000), "🙂", "'", "。"} {
		if j := factclassifier.Statement(s); j.Hostile != factclassifier.Statement(s).Hostile {
			t.Errorf("%.20q is judged in two ways", s)
		}
	}
}

// BenchmarkStatement judges one statement an iteration, of the fresh ones in turn.
func BenchmarkStatement(b *testing.B) {
	statements, more := labelled(b, "testdata/fresh_hostile.tsv")
	statements = append(statements, more...)
	i := 0
	for b.Loop() {
		factclassifier.Statement(statements[i%len(statements)])
		i++
	}
}
