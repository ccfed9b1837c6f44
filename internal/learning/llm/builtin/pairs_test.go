package builtin_test

import (
	_ "embed"
	"iter"
	"slices"
	"strings"
	"testing"
)

// pairs are what is said in turn, with what holds in the end: see the file.
//
//go:embed testdata/pairs.txt
var pairs string

func TestWhatIsTakenBackDoesNotHold(t *testing.T) {
	ends, stays := 0, 0
	for dialogue, want := range eachRow(t, pairs) {
		if strings.Contains(" "+want, " -") {
			ends++
		} else {
			stays++
		}
		t.Run(dialogue, func(t *testing.T) { wantHolding(t, linesOf(dialogue), want) })
	}
	t.Logf("%d pairs that end something, %d that end nothing", ends, stays)
	if ends < 80 || stays < 40 {
		t.Errorf("%d and %d pairs, want at least 80 and 40", ends, stays)
	}
}

// eachRow are the rows of a file with what is wanted of each; lines that begin with # say what rows are for.
func eachRow(t *testing.T, file string) iter.Seq2[string, string] {
	return func(yield func(dialogue, want string) bool) {
		for row := range strings.Lines(file) {
			row = strings.TrimSpace(row)
			if row == "" || strings.HasPrefix(row, "#") {
				continue
			}
			dialogue, want, ok := strings.Cut(row, "\t")
			if !ok {
				t.Fatalf("no tab in %q", row)
			}
			if !yield(dialogue, want) {
				return
			}
		}
	}
}

// linesOf are what is said in a row, one after the other.
func linesOf(dialogue string) []string { return strings.Split(dialogue, " / ") }

// signed are the parts of "+a -b", each with its sign.
func signed(want string) []string {
	return strings.Split(strings.ReplaceAll(strings.ReplaceAll(" "+want, " +", "\n+"), " -", "\n-"), "\n")[1:]
}

// has reports whether one of the facts has the words.
func has(facts []string, words string) bool {
	return slices.ContainsFunc(facts, func(f string) bool { return strings.Contains(f, words) })
}

// wantHolding checks what holds after the lines: of "+a -b" a fact with a, and none with b, though one had it before.
func wantHolding(t *testing.T, lines []string, want string) {
	t.Helper()
	holding := remembered(t, chat(lines))
	for _, part := range signed(want) {
		words := part[1:]
		switch {
		case part[0] == '+' && !has(holding, words):
			t.Errorf("%q does not hold: %q", words, holding)
		case part[0] == '-' && has(holding, words):
			t.Errorf("%q still holds: %q", words, holding)
		case part[0] == '-' && !slices.ContainsFunc(lines, func(l string) bool { return has(remembered(t, chat([]string{l})), words) }):
			t.Errorf("%q never held", words)
		}
	}
}
