package builtin_test

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

//go:embed testdata/smalltalk.txt
var smallTalk string

// statements are lines with the fact that a line states, after a tab; "-" for none.
//
//go:embed testdata/statements.txt
var statements string

// chat is each line as a message of a user to an assistant.
func chat(lines []string) []memory.Message {
	begin := time.Date(2026, 5, 6, 9, 0, 0, 0, time.UTC)
	var out []memory.Message
	for i, line := range lines {
		out = append(out, memory.Message{
			ID: fmt.Sprint(i), Seq: int64(i + 1), Role: memory.RoleUser, Origin: memory.OriginUser,
			Parts: []memory.Part{memory.TextPart(line)}, CreateTime: begin.Add(time.Duration(i) * time.Minute),
		})
	}
	return out
}

func TestSmallTalkTeachesNothing(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(smallTalk), "\n")
	found := learn(t, chat(lines))
	for _, f := range found {
		t.Logf("junk: %q of %q", f.text, line(lines, f.messageID))
	}
	per100 := 100 * float64(len(found)) / float64(len(lines))
	t.Logf("%d facts in %d lines of small talk", len(found), len(lines))
	if len(lines) < 200 || per100 > 1 {
		t.Errorf("%.2f facts in 100 of %d lines, want at most 1 in 100 of at least 200", per100, len(lines))
	}
}

func TestWhatIsStatedIsFound(t *testing.T) {
	var lines, want []string
	stated := 0
	for _, row := range strings.Split(strings.TrimSpace(statements), "\n") {
		said, fact, ok := strings.Cut(row, "\t")
		if !ok {
			t.Fatalf("no tab in %q", row)
		}
		lines, want = append(lines, said), append(want, fact)
		if fact != "-" {
			stated++
		}
	}
	found := learn(t, chat(lines))
	right := 0
	seen := map[string]bool{}
	for _, f := range found {
		seen[f.messageID] = true
		if expected := line(want, f.messageID); f.text == expected {
			right++
		} else {
			t.Logf("wrong: %q of %q, want %q", f.text, line(lines, f.messageID), expected)
		}
	}
	for i, w := range want {
		if w != "-" && !seen[fmt.Sprint(i)] {
			t.Logf("missed: %q", lines[i])
		}
	}
	precision, recall := float64(right)/float64(max(len(found), 1)), float64(right)/float64(stated)
	t.Logf("%d lines, %d with a fact: precision %.3f, recall %.3f", len(lines), stated, precision, recall)
	if len(lines) < 120 || precision < 0.9 || recall < 0.8 {
		t.Errorf("precision %.3f and recall %.3f on %d lines, want .9 and .8 on at least 120", precision, recall, len(lines))
	}
}

func line(lines []string, id string) string {
	var i int
	_, _ = fmt.Sscan(id, &i)
	return lines[i]
}
