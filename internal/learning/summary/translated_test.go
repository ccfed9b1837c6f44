package summary

import (
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

func TestASummaryInAnotherLanguageThanItsSource(t *testing.T) {
	day := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	task := func(language string) Task {
		task := Task{Kind: memory.SummarySession, MaxTokens: 300, Style: Style{Language: language}}
		for i, said := range []string{
			"I moved to Lisbon in March with my two dogs.", "We agreed to pay the landlord a deposit of 1,200 euros.",
			"My sister Grace visits us on 7 May, and the order is K-4711.",
		} {
			task.Lines = append(task.Lines, SourceText{Role: memory.RoleUser, Text: said, Time: day.AddDate(0, 0, i)})
		}
		return task
	}
	const (
		german = "Der Nutzer ist im März mit zwei Hunden nach Lissabon gezogen. Der Vermieter bekommt eine Kaution von 1.200 Euro. " +
			"Seine Schwester Grace kommt am 7. Mai zu Besuch, die Bestellung ist K-4711."
		korean = "사용자는 3월에 개 두 마리와 리스본으로 이사했다. 집주인에게 보증금 1,200유로를 내기로 했다. 여동생 그레이스가 5월 7일에 온다. 주문은 K-4711이다."
	)
	for language, answer := range map[string]string{"de": german, "ko": korean} {
		t.Run("stands as the model wrote it: "+language, func(t *testing.T) {
			if got, reason := Check(task(language), Answer{Text: answer}); reason != "" || got.Text != answer {
				t.Errorf("%q %s", got.Text, reason)
			}
		})
	}
	t.Run("with a number that nobody said is refused", func(t *testing.T) {
		if _, reason := Check(task("de"), Answer{Text: strings.Replace(german, "1.200", "3.450", 1)}); reason != RefusalInvented {
			t.Errorf("reason %q", reason)
		}
	})
	t.Run("gets back what it lost of numbers and identifiers", func(t *testing.T) {
		got, reason := Check(task("de"), Answer{Text: strings.Replace(german, " Der Vermieter bekommt eine Kaution von 1.200 Euro.", "", 1)})
		if reason != "" || !strings.Contains(got.Text, "1,200 euros") {
			t.Errorf("%q %s", got.Text, reason)
		}
	})
	t.Run("in the language of its source is checked as ever", func(t *testing.T) {
		answer := "The user moved to Lisbon in March with two dogs. The landlord gets a deposit of 1,200 euros. The sister Walter visits on 7 May; the order is K-4711."
		if _, reason := Check(task("en"), Answer{Text: answer}); reason != RefusalInvented {
			t.Errorf("reason %q", reason)
		}
	})
}
