package extract_test

import (
	"testing"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
)

func TestAFactReplacesOnlyWhatIsAboutTheSameThing(t *testing.T) {
	said := func(subject, quote string) memory.Fact {
		return memory.Fact{Subject: subject, Text: quote, Evidence: []memory.Evidence{{Quote: quote}}}
	}
	for _, tc := range []struct {
		name, older, newer string
		want               bool
	}{
		{"another time of one meeting", "our standup is at 9:30", "the standup moved to 10", true},
		{"a time of another meeting", "our standup is at 9:30", "the retro moved to 10", false},
		{"another date of one wedding", "my sister's wedding is on the 5th of June", "my sister's wedding is now on the 12th of June", true},
		{"a date of somebody else's wedding", "my sister's wedding is on the 5th of June", "my cousin's wedding is now on the 12th of June", false},
		{"what takes the place of something by name", "I write my code in Vim", "I switched from Vim to Helix", true},
		{"part of another name", "I maintain a Vim plugin", "I switched from Vim to Helix", false},
		{"somebody else's tool", "my brother uses Vim", "I switched from Vim to Helix", false},
		{"what was done once", "I wrote a book in Vim in 2019", "I switched from Vim to Helix", false},
		{"one more of a kind", "I have two cats", "I also have three dogs now", false},
		{"another number without a word of change", "I have two cats", "I have three cats", false},
		{"another number by now", "I have two cats", "I have three cats now", true},
		{"what is asked", "our standup is at 9:30", "did the standup move to 10?", false},
		{"what is supposed", "our standup is at 9:30", "maybe the standup moved to 10", false},
		{"what is moved by its name", "i fire the kiln on Tuesdays and Fridays", "i moved the firing days to Mondays and Thursdays", true},
		{"another thing moved at the same place", "I volunteer at the food bank on Saturdays", "the food bank moved its delivery to Tuesdays", false},
		{"another time of one verb in Korean", "아침 6시에 일어나는 사람이야", "안그래도 이제 8시에 일어나", true},
		{"another time of one verb on some days", "아침 6시에 일어나는 사람이야", "이제 주말엔 8시에 일어나", false},
		{"what adds to it", "I teach piano on Tuesdays", "I also teach piano on Fridays now", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := extract.Replaces(said("", tc.newer), said("", tc.older)); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
	t.Run("of another person it replaces nothing", func(t *testing.T) {
		if extract.Replaces(said("Dana", "I switched from Vim to Helix"), said("Priya", "I write my code in Vim")) {
			t.Error("it does")
		}
	})
}
