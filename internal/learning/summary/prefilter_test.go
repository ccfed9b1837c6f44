package summary

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWhatATextIsKnownByHidesNothingOfIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			"3", "12", "2026", "-", "/", ".", ":", " ", ",", "th", "st", "of", "MAY", "sept", "\u017fept", "Jan", "월", "년", "일", "월요일", "시", "반", "Mondays", "tue", "Sat",
			"pm", "A.m", "a.M.", "we'll ", "I will ", "Decided", "decision: ", " de ", " DEL ", "enero", "\u017fetiembre", "Sunday", "tueSDAYs", "cho\u017fe", "agreed on", "plans to", "DEADLINE", "prefers", "결정", "할게요", "opted", "settled on", "going with",
		}), 0, 8).Draw(t, "pieces"), rapid.SampledFrom([]string{"", " "}).Draw(t, "between"))
		for _, f := range dateForms {
			if f.form.MatchString(s) && !f.needs(lookAt(s)) {
				t.Errorf("%s is in %q", f.form, s)
			}
		}
		for _, f := range clockForms {
			if f.form.MatchString(s) && !containsAny(s, f.needs) {
				t.Errorf("%s is in %q", f.form, s)
			}
		}
		if decides.MatchString(s) && !mayDecide(s) {
			t.Errorf("%q decides", s)
		}
	})
}

// BenchmarkAnchors finds the anchors of plain sentences, and of those that hold some.
func BenchmarkAnchors(b *testing.B) {
	for name, s := range map[string]string{
		"plain": "The ferry leaves the harbour and comes back when it gets dark.",
		"dense": "On 3 May 2026 at 10:30 Anna decided to send order A-12 to Mr. Smith in Busan.",
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				Anchors(s)
			}
		})
	}
}
