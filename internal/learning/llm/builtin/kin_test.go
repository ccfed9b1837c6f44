package builtin_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
)

func TestWhoIsOnlyNamedIsWhomTheContextIntroduced(t *testing.T) {
	for _, tc := range []struct {
		name, before, said, want string
	}{
		{"a daughter", "my daughter Mira starts school in May", "Mira is allergic to peanuts", "Daughter Mira is allergic to peanuts."},
		{"a brother with a fact in passing", "My brother Theo is visiting next week!", "Theo is a vegetarian.", "Brother Theo is a vegetarian."},
		{"a daughter in Spanish", "mi hija Vera empieza el cole en mayo", "Vera es alérgica a los cacahuetes", "Su hija Vera es alérgica a los cacahuetes."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			facts := learntAfter(t, tc.before, tc.said)
			if !slices.Contains(facts, tc.want) {
				t.Errorf("got %q", facts)
			}
		})
	}
	t.Run("nobody introduced: nothing is learnt", func(t *testing.T) {
		if facts := learntAfter(t, "what a week", "Mira is allergic to peanuts"); len(facts) > 0 {
			t.Errorf("got %q", facts)
		}
	})
	t.Run("two people of one name: nothing is learnt", func(t *testing.T) {
		if facts := learntAfter(t, "my daughter Mira and my cousin Mira are both here", "Mira is allergic to peanuts"); len(facts) > 0 {
			t.Errorf("got %q", facts)
		}
	})
	t.Run("what is asked is not learnt", func(t *testing.T) {
		if facts := learntAfter(t, "my daughter Mira starts school in May", "Mira is allergic to what again?"); len(facts) > 0 {
			t.Errorf("got %q", facts)
		}
	})
}

func TestContractionsWithoutTheirApostropheAreRead(t *testing.T) {
	for said, want := range map[string]string{
		"im allergic to cashews":                    "Is allergic to cashews.",
		"btw im vegetarian so no beef":              "Is vegetarian",
		"ive been learning the cello for two years": "learning the cello",
	} {
		t.Run(said, func(t *testing.T) {
			facts := learntAfter(t, "hi", said)
			if !slices.ContainsFunc(facts, func(f string) bool { return strings.Contains(f, want) }) {
				t.Errorf("got %q", facts)
			}
		})
	}
}

// learntAfter is what is learnt of a message, as facts, with another one before it as context only.
func learntAfter(t *testing.T, before, said string) []string {
	t.Helper()
	both := chat([]string{before, said})
	return textsOf(t, extract.NewTask(extract.Input{Session: "s", Context: both[:1], Messages: []memory.Message{both[1]}}))
}

// textsOf are the texts that are learnt in a task.
func textsOf(t *testing.T, task extract.Task) []string {
	t.Helper()
	proposals, refused := verified(t, task)
	for _, r := range refused {
		t.Errorf("refused as %s: %+v", r.Reason, r.Op)
	}
	var out []string
	for _, p := range proposals {
		out = append(out, p.Fact.Text)
	}
	return out
}
