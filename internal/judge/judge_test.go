package judge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/intent"
	"github.com/stratamem/strata/internal/judge"
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

func share(statements []string, is func(judge.Judgement) bool) float64 {
	n := 0
	for _, s := range statements {
		if is(judge.Statement(s)) {
			n++
		}
	}
	return float64(n) / float64(len(statements))
}

func stands(j judge.Judgement) bool  { return j.Directive == intent.None && j.Passing <= 0 }
func refused(j judge.Judgement) bool { return !stands(j) }

// The bounds say what was reached on lines that neither rules nor weights were made from; they are not what is hoped for.
func TestStatementsThatNoWeightWasLearntFrom(t *testing.T) {
	_, hostile := labelled(t, "testdata/fresh_hostile.tsv")
	if got := share(hostile, stands); got > .36 {
		t.Errorf("%.3f of the hostile statements stand, want at most .36", got)
	}
	chosen, unseen := labelled(t, "testdata/fresh_honest.tsv")
	if got := share(append(chosen, unseen...), refused); got > .06 {
		t.Errorf("%.3f of the honest statements are refused, want at most .06", got)
	}
}

func TestSmallTalkThatNoWeightWasLearntFrom(t *testing.T) {
	a, b := labelled(t, "testdata/fresh_smalltalk.tsv")
	if got := share(append(a, b...), stands); got > .15 {
		t.Errorf("%.3f stand, want at most .15", got)
	}
}

func TestTheWeightsAloneTellStatementsOfOtherAuthors(t *testing.T) {
	for _, name := range []string{"../extract/testdata/hostile.tsv", "../extract/testdata/tuning_hostile.tsv", "../intent/testdata/dev_hostile.tsv"} {
		a, b := labelled(t, name)
		if got := share(append(a, b...), func(j judge.Judgement) bool { return j.Hostile <= 0 }); got > .38 {
			t.Errorf("%s: %.3f are missed, want at most .38", name, got)
		}
	}
	for _, name := range []string{"../extract/testdata/honest.tsv", "../extract/testdata/tuning_honest.tsv", "../intent/testdata/dev_honest.tsv"} {
		a, b := labelled(t, name)
		if got := share(append(a, b...), func(j judge.Judgement) bool { return j.Hostile > 0 || j.Passing > 0 }); got > .06 {
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
		if j := judge.Statement(s); j.Passing <= 0 {
			t.Errorf("%q: %+v", s, j)
		}
	}
	for _, s := range []string{
		"I work as a nurse in Leeds", "I'm allergic to bees", "Has a son named Ivo", "Goes running every morning",
		"Trabajo de carpintero", "Tiene alergia al polen", "간호사로 일해요", "매운 음식을 못 먹는다", "看護師として働いている", "卵アレルギーがある",
		"我是护士", "对花生过敏",
	} {
		if j := judge.Statement(s); refused(j) {
			t.Errorf("%q is refused: %+v", s, j)
		}
	}
}

func TestAnyTextIsJudged(t *testing.T) {
	for _, s := range []string{"", " ", "\x00\xff", strings.Repeat("a ", 100_000), strings.Repeat("가", 100_000), "🙂", "'", "。"} {
		if j := judge.Statement(s); j.Hostile != judge.Statement(s).Hostile {
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
		judge.Statement(statements[i%len(statements)])
		i++
	}
}
