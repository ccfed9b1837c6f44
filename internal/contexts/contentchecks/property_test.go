package contentchecks

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// drawRules are up to four rules that Compile takes.
func drawRules(t *rapid.T) *Set {
	tests := []Test{
		StopWords{"bad", "나쁜", "very bad"},
		StopWords{"b", "ad"},
		Patterns{`a.?a`},
		Patterns{`\d+`, `[<>]`},
		Patterns{`\b`},
		MaxLength{Characters: 12},
		MaxLength{Tokens: 4},
		JSON{},
		JSON{`{"type":"object"}`},
		Markup{HTML},
		Markup{Markdown, Control},
	}
	var rules []Rule
	for i := range rapid.IntRange(0, 4).Draw(t, "rules") {
		r := Rule{
			Name: string(rune('a' + i)), Test: rapid.SampledFrom(tests).Draw(t, "test"),
			Action: rapid.SampledFrom([]memory.CheckAction{memory.CheckRemove, memory.CheckReplace, memory.CheckStrip, memory.CheckRetry}).Draw(t, "action"),
			Roles:  rapid.SampledFrom([][]memory.Role{nil, {memory.RoleAssistant}, {memory.RoleTool, memory.RoleUser}}).Draw(t, "roles"),
		}
		switch r.Action {
		case memory.CheckReplace:
			r.Text = rapid.SampledFrom([]string{"{}", "gone"}).Draw(t, "text")
		case memory.CheckRetry:
			r.Hint = "Again."
		}
		rules = append(rules, r)
	}
	c, _ := tokens.ByName(tokens.O200K)
	s, err := Compile(rules, c)
	if err != nil {
		t.Skip("rules that are refused")
	}
	return s
}

func drawMessages(t *rapid.T) []memory.Message {
	words := rapid.Custom(func(t *rapid.T) string {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
			"bad", "BA\u200bD", "very  bad", "나쁜", "나", "쁜", "a", "b", "<b>", "<", "script>", "**", "*", "`", "# ", "\n", " ", "1", "{}", "\x1b[1m", "\x00", "한", "e\u0301", "👩\u200d🚀",
		}), 0, 14).Draw(t, "pieces")
		var s string
		for _, p := range pieces {
			s += p
		}
		return s
	})
	part := rapid.Custom(func(t *rapid.T) memory.Part {
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return memory.Part{Kind: memory.PartToolCall, CallID: "c", Name: "f"}
		case 1:
			return memory.Part{Kind: memory.PartToolResult, CallID: "c", Parts: []memory.Part{memory.TextPart(words.Draw(t, "result"))}}
		case 2:
			return memory.Part{Kind: memory.PartReasoning, Text: "bad"}
		}
		return memory.TextPart(words.Draw(t, "words"))
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) memory.Message {
		return memory.Message{
			ID:   rapid.StringMatching(`[a-z]{1,3}`).Draw(t, "id"),
			Role: rapid.SampledFrom([]memory.Role{memory.RoleUser, memory.RoleAssistant, memory.RoleTool}).Draw(t, "role"), Parts: rapid.SliceOfN(part, 1, 4).Draw(t, "parts"),
		}
	}), 0, 5).Draw(t, "messages")
}

func TestCheckingTwiceChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, messages := drawRules(t), drawMessages(t)
		once := all(t, s, messages)
		again := all(t, s, once.Messages)
		if again.Changed {
			t.Fatalf("the second check changed something: %+v", again.Findings)
		}
		if d := cmp.Diff(once.Messages, again.Messages); d != "" {
			t.Fatalf("the second check changed messages (-first +second):\n%s", d)
		}
		if !once.Retry && len(again.Findings) > 0 {
			t.Fatalf("what was mended does not pass: %+v", again.Findings)
		}
		if once.Retry != again.Retry {
			t.Fatal("only one of the checks asks for a retry")
		}
	})
}

func TestNoCallOrResultIsEverLost(t *testing.T) {
	count := func(messages []memory.Message) (calls, results int) {
		for _, m := range messages {
			calls, results = calls+len(m.ToolCalls()), results+len(m.ToolResults())
		}
		return calls, results
	}
	rapid.Check(t, func(t *rapid.T) {
		s, messages := drawRules(t), drawMessages(t)
		calls, results := count(messages)
		left := all(t, s, messages)
		if c, r := count(left.Messages); c != calls || r != results {
			t.Fatalf("%d calls and %d results became %d and %d", calls, results, c, r)
		}
		removed := 0
		for _, f := range left.Findings {
			if f.Removed {
				removed++
			}
		}
		if removed != len(messages)-len(left.Messages) {
			t.Fatalf("%d messages are said to be removed, %d are gone", removed, len(messages)-len(left.Messages))
		}
	})
}

func TestStrippingOnlyTakesAway(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, messages := drawRules(t), drawMessages(t)
		for _, m := range messages {
			out := one(t, s, m)
			replaced := false
			for _, f := range out.Findings {
				replaced = replaced || f.Action == memory.CheckReplace
			}
			if len(out.Messages) > 0 && !replaced && len(out.Messages[0].PlainText()) > len(m.PlainText()) {
				t.Fatalf("%q became %q", m.PlainText(), out.Messages[0].PlainText())
			}
		}
	})
}
