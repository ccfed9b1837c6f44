package builtin_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsPutRightTakesThePlaceOfWhatWasWrong(t *testing.T) {
	for dialogue, want := range map[string][]string{
		"My dentist appointment is on Monday at 3. / Actually it's Tuesday.":   {"Dentist appointment is on Tuesday at 3."},
		"I have physio every Tuesday. / Sorry, I meant Thursday.":              {"Has physio every Thursday."},
		"My train to Bonn leaves at 6:40 am. / Oops, it's 7:10 am.":            {"Train to Bonn leaves at 7:10 am."},
		"I have an appointment with Dr Wu on 14 May. / No, not 14 May, 15 May": {"Has an appointment with Dr Wu on 15 May."},
		"I'm allergic to walnuts. / Scratch that, it's pecans.":                {"Is allergic to pecans."},
		"My sister Jo has yoga on Mondays. / Actually it's Wednesdays":         {"Sister Jo has yoga on Wednesdays."},
		// it is not said what was wrong, or nothing is
		"I work Mondays and Fridays at the zoo. / Actually it's Sunday.": {"Works Mondays and Fridays at the zoo."},
		"I have physio every Tuesday. / Actually, it's great.":           {"Has physio every Tuesday."},
		"I'm allergic to walnuts. / Actually, it's weird.":               {"Is allergic to walnuts."},
		"I have physio every Tuesday. / Is it true? / Actually it's May": {"Has physio every Tuesday."},
	} {
		t.Run(dialogue, func(t *testing.T) {
			if diff := cmp.Diff(want, remembered(t, chat(linesOf(dialogue)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
