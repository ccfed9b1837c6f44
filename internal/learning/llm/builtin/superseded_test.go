package builtin_test

import (
	"slices"
	"testing"
)

// What a sentence itself says was so before something happened is not learnt as what is so.
func TestWhatASentenceSaysWasSoBeforeIsNotLearnt(t *testing.T) {
	for said, want := range map[string][]string{
		"I drink coffee, but since my surgery I only drink tea":       {"Only drinks tea."},
		"I live in Ghent, but since May I live in Bruges":             {"Lives in Bruges."},
		"I normally train on Mondays, but now I train on Fridays":     {"Trains on Fridays."},
		"I usually start at 3 am, but since the baby I start at 4:30": {"Starts at 4:30."},
		"I drink coffee, but since my trip to Assam I drink tea too":  {"Drinks coffee."},
		"I work at Lidl, but since May I live in Bruges":              {"Works at Lidl."},
		"I drink coffee, but since it is late I will stop now":        {"Drinks coffee."},
	} {
		holding, _ := holdingAfter(t, []string{said})
		slices.Sort(holding)
		if !slices.Equal(holding, want) {
			t.Errorf("%s\n\tgot %q, want %q", said, holding, want)
		}
	}
}
