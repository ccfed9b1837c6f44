package main

import (
	"slices"
	"testing"
)

func TestAPatternStandsForEveryChoice(t *testing.T) {
	got, err := expanded("{Likes|Loves} tea{ and milk|}")
	want := []string{"Likes tea and milk", "Loves tea and milk", "Likes tea", "Loves tea"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	for _, broken := range []string{"{a|b", "a}", "{a|{b}|c}"} {
		if got, err := expanded(broken); err == nil {
			t.Errorf("%q is expanded to %q, want an error", broken, got)
		}
	}
}

func TestOfALargePatternEqualLinesAreTakenEachTime(t *testing.T) {
	const large = "{a|b|c|d} {e|f|g|h} {i|j|k|l} {m|n|o|p}"
	one, _ := expanded(large)
	two, _ := expanded(large)
	if len(one) != maxExpansions || !slices.Equal(one, two) {
		t.Errorf("%d lines, then %d: want the same %d", len(one), len(two), maxExpansions)
	}
}

func TestWhatIsMuchLikeAStatementWrittenApartIsLeftOut(t *testing.T) {
	left := &apart{by: map[string][]int{}}
	left.add("Pays the rent by standing order on the first")
	left.add("每周去药房替母亲取药")
	for line, want := range map[string]bool{
		"Pays the rent by standing order on the last": true, "每周去药房替父亲取药": true,
		"Pays the nursery by card": false, "每周去公园遛狗": false, "": false,
	} {
		if got := left.has(line); got != want {
			t.Errorf("%q is much like one: %v, want %v", line, got, want)
		}
	}
}
