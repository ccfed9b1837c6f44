package compaction_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// mended is what a conversation becomes when a policy does something: here it hides a message at its end.
func mended(t *testing.T, messages ...memory.Message) compaction.Result {
	t.Helper()
	for i := range messages {
		messages[i].Seq = 0
	}
	messages = append(messages, memory.Message{ID: "hidden", Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart("x")}})
	got, err := apply(compaction.History{Messages: messages, Tokens: tens(messages), Counter: counterOf(t, tokens.Chars4)},
		compaction.Policy{Hide: compaction.Hide{Exclude: []string{"hidden"}}}, scripted)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAListThatChangesIsMended(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"a result without a call goes":                                 {"u r:x a u", "u0 a2 u3"},
		"a call without a result goes when words follow it":            {"u c:x u a", "u0 u2 a3"},
		"results come right behind their calls":                        {"u c:x u r:x a", "u0 c1 r3 u2 a4"},
		"results before their calls come behind them":                  {"u r:x c:x a", "u0 c2 r1 a3"},
		"a message that answers two calling messages is divided":       {"u c:x c:y r:x,y a", "u0 c1 r3/1 c2 r3 a4"},
		"twelve parallel calls and their results stay as they are":     {"u c:1,2,3,4,5,6,7,8,9,10,11,12 r:2 r:1 r:3 r:4 r:5 r:6 r:7 r:8 r:9 r:10 r:11 r:12 a", "u0 c1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 r13 a14"},
		"results as a message of a user stay as they are":              {"u c:x,y U:x,y a", "u0 c1 U2 a3"},
		"a system message that is sent before every turn stands once":  {"s u a s u a s u a", "s0 u1 a2 u4 a5 u7 a8"},
		"a call whose id comes again is answered by its own result":    {"u c:x r:x u c:x r:x a", "u0 c1 r2 u3 c4 r5 a6"},
		"the first of two results of one call stays and the other not": {"u c:x r:x r:x a", "u0 c1 r2 a4"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := shape(mended(t, talk(c.script)...)); got != c.want {
				t.Errorf("%s, not %s", got, c.want)
			}
		})
	}
	t.Run("a list that no policy changes stays as it is", func(t *testing.T) {
		if got := run(t, "u r:x a u", compaction.Policy{Trim: compaction.Trim{Messages: 10}}); got.Changed {
			t.Errorf("%s", shape(got))
		}
	})
}

func TestPartsOfMessagesAreMended(t *testing.T) {
	think := memory.Part{Kind: memory.PartReasoning, Text: "let me think", Signature: "sig"}
	call := func(id string) memory.Part {
		return memory.Part{Kind: memory.PartToolCall, CallID: id, Name: "search", Arguments: "{}"}
	}
	result := func(id string) memory.Message {
		return memory.Message{Role: memory.RoleTool, Parts: []memory.Part{{Kind: memory.PartToolResult, CallID: id, Parts: []memory.Part{memory.TextPart("found")}}}}
	}
	says := func(role memory.Role, parts ...memory.Part) memory.Message {
		return memory.Message{Role: role, Parts: parts}
	}
	words, ask := memory.TextPart("words"), says(memory.RoleUser, memory.TextPart("question"))
	kinds := func(m memory.Message) (out []memory.PartKind) {
		for _, p := range m.Parts {
			out = append(out, p.Kind)
		}
		return out
	}
	t.Run("with an unanswered call its reasoning goes and its words stay", func(t *testing.T) {
		got := mended(t, ask, says(memory.RoleAssistant, think, words, call("x")), ask)
		if diff := cmp.Diff([]memory.PartKind{memory.PartText}, kinds(got.Messages[1])); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("reasoning stays with the calls that are answered", func(t *testing.T) {
		got := mended(t, ask, says(memory.RoleAssistant, think, call("x"), call("y")), result("y"), ask)
		if diff := cmp.Diff([]memory.PartKind{memory.PartReasoning, memory.PartToolCall}, kinds(got.Messages[1])); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("reasoning of its own stays before what followed from it and goes without", func(t *testing.T) {
		got := mended(t, ask, says(memory.RoleAssistant, think), says(memory.RoleAssistant, call("x")), result("x"), says(memory.RoleAssistant, think), ask)
		if len(got.Messages) != 5 || !slices.Equal(kinds(got.Messages[1]), []memory.PartKind{memory.PartReasoning}) {
			t.Errorf("%d messages, %+v", len(got.Messages), got.Omitted)
		}
	})
	t.Run("a call that a user's words follow is given up, also where they stand beside a result", func(t *testing.T) {
		both := result("x")
		both.Role, both.Parts = memory.RoleUser, append(both.Parts, words)
		messages := []memory.Message{ask, says(memory.RoleAssistant, words), ask, says(memory.RoleAssistant, call("x"), call("y")), both}
		got, err := apply(compaction.History{Messages: messages, Counter: counterOf(t, tokens.Chars4)},
			compaction.Policy{Trim: compaction.Trim{Messages: 1}, Head: compaction.HeadSystem}, scripted)
		if err != nil || len(got.Messages) != 3 || !slices.Equal(got.Messages[1].ToolCalls(), []string{"x"}) {
			t.Errorf("%v, %+v", err, got.Messages)
		}
	})
	t.Run("no cut falls between reasoning of its own and the calls that followed from it", func(t *testing.T) {
		messages := []memory.Message{ask, says(memory.RoleAssistant, words), says(memory.RoleAssistant, think), says(memory.RoleAssistant, call("x")), result("x"), says(memory.RoleAssistant, words)}
		got, err := apply(compaction.History{Messages: messages, Counter: counterOf(t, tokens.Chars4)},
			compaction.Policy{Trim: compaction.Trim{Messages: 2}}, scripted)
		if want := []int{0, 2, 3, 4, 5}; err != nil || !slices.Equal(got.Sources, want) {
			t.Errorf("%v, kept %v", err, got.Sources)
		}
	})
	t.Run("calls without ids pair by order and are given ids that are the same on every call", func(t *testing.T) {
		history := []memory.Message{ask, says(memory.RoleAssistant, call(""), call("")), result(""), result(""), says(memory.RoleAssistant, call("")), result(""), ask}
		got := mended(t, slices.Clone(history)...)
		var ids []string
		for _, m := range got.Messages {
			ids = append(append(ids, m.ToolCalls()...), m.ToolResults()...)
		}
		if len(ids) != 6 || ids[0] == "" || ids[0] == ids[1] || ids[0] != ids[2] || ids[1] != ids[3] || ids[4] != ids[5] || ids[4] == ids[0] {
			t.Errorf("%q", ids)
		}
		if diff := cmp.Diff(got.Messages, mended(t, slices.Clone(history)...).Messages); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("empty messages go", func(t *testing.T) {
		if got := mended(t, ask, says(memory.RoleAssistant), says(memory.RoleAssistant, memory.TextPart(" \n")), ask); len(got.Messages) != 2 {
			t.Errorf("%+v", got.Messages)
		}
	})
	t.Run("calls that may still be answered stay at the end", func(t *testing.T) {
		messages := []memory.Message{ask, says(memory.RoleAssistant, words), says(memory.RoleUser, words), says(memory.RoleAssistant, think, call("x"), call("y")), result("x")}
		got, err := apply(compaction.History{Messages: messages, Counter: counterOf(t, tokens.Chars4)},
			compaction.Policy{Trim: compaction.Trim{Messages: 1}, Head: compaction.HeadSystem}, scripted)
		if err != nil || len(got.Messages) != 3 || len(got.Messages[1].Parts) != 3 {
			t.Errorf("%v, %+v", err, got.Messages)
		}
	})
}

func TestEnsureIDs(t *testing.T) {
	plain := func(said ...string) []memory.Message {
		var out []memory.Message
		for _, s := range said {
			out = append(out, memory.Message{Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart(s)}})
		}
		return out
	}
	ids := func(messages []memory.Message) (out []string) {
		for _, m := range compaction.EnsureIDs(messages) {
			out = append(out, m.ID)
		}
		return out
	}
	first := ids(plain("a", "b", "a"))
	t.Run("missing ids are the same on every call, also when messages follow", func(t *testing.T) {
		if diff := cmp.Diff(first, ids(plain("a", "b", "a", "c"))[:3]); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("messages that say the same have different ids", func(t *testing.T) {
		if first[0] == first[2] || first[0] == first[1] {
			t.Errorf("%q", first)
		}
	})
	t.Run("ids that are given stay, and no derived one takes theirs", func(t *testing.T) {
		taken := append(plain("a"), memory.Message{ID: first[0], Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart("b")}})
		if got := ids(taken); got[1] != first[0] || got[0] == first[0] {
			t.Errorf("%q", got)
		}
	})
	t.Run("times, tags and counts do not matter", func(t *testing.T) {
		other := plain("a")
		other[0].CreateTime, other[0].Tags, other[0].Tokens.O200K = noon, []string{"x"}, 7
		if got := ids(other); got[0] != first[0] {
			t.Errorf("%q", got)
		}
	})
}
