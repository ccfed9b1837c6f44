package summary

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// koreanPairs are fifty short dialogues with a good summary of each, written for this test: relative dates are
// resolved, numerals change between words and digits, lists are counted, particles vary.
func koreanPairs(t testing.TB) []pair {
	t.Helper()
	data, err := os.ReadFile("testdata/korean.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []pair
	for block := range strings.SplitSeq(strings.TrimPrefix(string(data), "@ "), "\n@ ") {
		out = append(out, koreanPair(t, block))
	}
	return out
}

func koreanPair(t testing.TB, block string) pair {
	t.Helper()
	dialogue, answer, _ := strings.Cut(block, "\n= ")
	day, dialogue, _ := strings.Cut(dialogue, "\n")
	zone := time.FixedZone("KST", 9*60*60)
	said, err := time.ParseInLocation("2006-01-02 15", day+" 10", zone)
	if err != nil {
		t.Fatal(err)
	}
	p := pair{name: "korean/" + day, answer: strings.TrimSpace(answer)}
	p.task = Task{Kind: memory.SummarySession, MaxTokens: 500, Location: zone}
	for line := range strings.SplitSeq(dialogue, "\n") {
		speaker, text, _ := strings.Cut(line, ": ")
		p.task.Lines = append(p.task.Lines, SourceText{Speaker: speaker, Role: memory.RoleUser, Time: said, Text: text})
	}
	return p
}
