package memory_test

import (
	"slices"
	"testing"

	"github.com/stratamem/strata/internal/memory"
)

func TestAFactIsFoundBy(t *testing.T) {
	for want, f := range map[string]memory.Fact{
		" Is vegan. diet":           {Text: "Is vegan.", Attribute: "diet"},
		" Lives in Rome. home city": {Text: "Lives in Rome.", Attribute: "home_city"},
		"Mina Birthday is 3 March.": {Subject: "Mina", Text: "Birthday is 3 March.", Attribute: "birthday"},
		" Favorite color is green.": {Text: "Favorite color is green.", Attribute: "favorite_color"},
		" Owns a kayak":             {Text: "Owns a kayak"},
		" 커피를 좋아한다. likes 커피":       {Text: "커피를 좋아한다.", Attribute: "likes_커피"},
	} {
		if got := f.Words(); got != want {
			t.Errorf("found by %q, want %q", got, want)
		}
	}
}

func TestWhatEndedAFactDoesNotSayIt(t *testing.T) {
	said, ends := memory.Evidence{Quote: "I am vegan"}, memory.Evidence{Quote: "not anymore", Ends: true}
	f := memory.Fact{Evidence: []memory.Evidence{said, ends}}
	if words, ok := f.Ending(); !ok || words != ends || !slices.Equal(f.Said(), []memory.Evidence{said}) || len(f.Evidence) != 2 {
		t.Errorf("said %v, ended by %v", f.Said(), words)
	}
	if _, ok := (memory.Fact{Evidence: []memory.Evidence{said}}).Ending(); ok {
		t.Error("nobody took it back")
	}
}
