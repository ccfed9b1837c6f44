package builtin_test

import "testing"

// A place of several names parted by commas ends before what says when.
func TestAPlaceEndsBeforeWhatSaysWhen(t *testing.T) {
	for said, want := range map[string]string{
		"We live in Portland, Maine, now.":                 "Lives in Portland, Maine.",
		"I live in Busan, South Korea, these days.":        "Lives in Busan, South Korea.",
		"I'm based in Denver, Colorado, at the moment.":    "Lives in Denver, Colorado.",
		"I live in Portland now, by the way.":              "Lives in Portland.",
		"I live in Portland, Maine.":                       "Lives in Portland, Maine.",
		"I moved to Portland, Maine, now.":                 "Moved to Portland, Maine.",
		"I moved to Lisbon, Portugal, last week.":          "Moved to Lisbon, Portugal in the week of 27 April 2026.",
		"We moved to Austin, Texas, in March.":             "Moved to Austin, Texas in March.",
		"We moved to Portland, Maine, yesterday.":          "Moved to Portland, Maine on 5 May 2026.",
		"We relocated to Boston, Massachusetts, for work.": "Moved to Boston, Massachusetts.",
	} {
		t.Run(said, func(t *testing.T) {
			if facts := learntOf(t, said); len(facts) != 1 || facts[0].Text != want || facts[0].Attribute != "home_city" {
				t.Errorf("got %+v, want %q", facts, want)
			}
		})
	}
}
