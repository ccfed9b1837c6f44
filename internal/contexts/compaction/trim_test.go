package compaction_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

func byMessages(n int) compaction.Policy {
	return compaction.Policy{Trim: compaction.Trim{Messages: n}}
}

func byTokens(n int64) compaction.Policy { return compaction.Policy{Trim: compaction.Trim{Tokens: n}} }

func TestTrimByMessages(t *testing.T) {
	headed := func(p compaction.Policy, h compaction.Head) compaction.Policy { p.Head = h; return p }
	tagged := byMessages(3)
	tagged.KeepTags = []string{"preference"}
	checkShapes(t, map[string]shapeCase{
		"at the limit nothing changes":                                  {"u a u", byMessages(3), "unchanged"},
		"the first message and the last n stay":                         {"u a u a u a u", byMessages(3), "u0 u4 a5 u6"},
		"the last n are widened to the beginning of their turn":         {"u a u a u a", byMessages(3), "u0 u2 a3 u4 a5"},
		"the system message and the first words of a user stay":         {"s u a u a u a u", byMessages(3), "s0 u1 u5 a6 u7"},
		"with system_or_first a system message is enough":               {"s u a u a u a u", headed(byMessages(3), compaction.HeadSystemOrFirst), "s0 u5 a6 u7"},
		"with system_or_first a conversation without keeps its first":   {"a u a u a u a u", headed(byMessages(3), compaction.HeadSystemOrFirst), "a0 u5 a6 u7"},
		"with system nothing else stays":                                {"u a u a u a u", headed(byMessages(3), compaction.HeadSystem), "u4 a5 u6"},
		"all developer and system messages of the beginning stay":       {"s d u a u a u a u", headed(byMessages(1), compaction.HeadSystem), "s0 d1 u8"},
		"calls and results stay together":                               {"u a u c:x r:x a", byMessages(2), "u0 u2 c3 r4 a5"},
		"a long turn whose beginning is the head is cut between steps":  {"s u c:x r:x c:y r:y c:z r:z", byMessages(3), "s0 u1 c4 r5 c6 r7"},
		"pinned and tagged messages stay where they are":                {"u a! u a#preference u a u a u", tagged, "u0 a1 a3 u6 a7 u8"},
		"a pinned result keeps its call":                                {"u c:x r:x! a u a u", byMessages(1), "u0 c1 r2 u6"},
		"a user's message of results begins no turn":                    {"u a u c:x U:x c:y U:y a", byMessages(3), "u0 u2 c3 U4 c5 U6 a7"},
		"a system message sent before a turn goes with it":              {"u a d u a", byMessages(1), "u0 d2 u3 a4"},
		"a system message that is sent again stands once":               {"s u a s u a", headed(byMessages(1), compaction.HeadSystem), "s0 u4 a5"},
		"a list never begins with the model's words after those of a u": {"u a a a a", headed(byMessages(2), compaction.HeadSystem), "unchanged"},
	})
}

func TestTrimByTokens(t *testing.T) {
	pinned := byTokens(40)
	checkShapes(t, map[string]shapeCase{
		"at the limit nothing changes":                                   {"u a u a", byTokens(40), "unchanged"},
		"system and first stay and the newest begin with a user's turn":  {"s u a u a u a u", byTokens(55), "s0 u1 u5 a6 u7"},
		"the limit is used as far as whole turns go":                     {"s u a u a u a u", byTokens(70), "s0 u1 u3 a4 u5 a6 u7"},
		"the first gives way to the newest":                              {"s u a u", byTokens(20), "s0 u3"},
		"calls and any number of results stay together":                  {"s u c:a,b,c,d r:a r:b r:c r:d a u a", byTokens(70), "s0 u1 u8 a9"},
		"in a turn too long the words of its user and the newest steps":  {"s u a u c:x r:x c:y r:y c:z r:z", byTokens(50), "s0 u1 u3 c8 r9"},
		"pinned messages come before all that is not":                    {"u! a u a u a! u a u", pinned, "u0 a5 u8"},
		"a share of the window is a limit too":                           {"s u a u a u a u", compaction.Policy{Trim: compaction.Trim{Fraction: .055}}, "s0 u1 u5 a6 u7"},
		"of two limits the smaller counts":                               {"s u a u a u a u", compaction.Policy{Trim: compaction.Trim{Tokens: 500, Fraction: .055}}, "s0 u1 u5 a6 u7"},
		"calls that may still be answered stay":                          {"s u a u a u c:x", byTokens(30), "s0 u5 c6"},
		"calls that may still be answered stay with the results so far":  {"s u a u c:x,y r:x", byTokens(40), "s0 u3 c4 r5"},
		"words of a user that are all there is room for are not dropped": {"s u a a a u", byTokens(30), "s0 u1 u5"},
	})
}

func TestWhatNoLimitHasRoomFor(t *testing.T) {
	t.Run("what must stay above the limit is an error that says how much", func(t *testing.T) {
		messages := talk("s u! a! u")
		_, err := apply(compaction.History{Messages: messages, Tokens: tens(messages), Counter: counterOf(t, tokens.Chars4)}, byTokens(20), scripted)
		want := "policy.trim.tokens: what must stay (system messages, pinned and tagged messages, open tool calls) takes 30 tokens and the limit is 20; raise the limit, or shorten or unpin messages"
		if memory.ReasonOf(err) != memory.ReasonBudgetTooSmall || err.Error() != want {
			t.Errorf("%v", err)
		}
	})
	t.Run("a newest message above the limit is an error", func(t *testing.T) {
		messages := talk("s u a u")
		messages[3].Parts = []memory.Part{memory.TextPart(strings.Repeat("very long ", 100))}
		_, err := apply(compaction.History{Messages: messages, Counter: counterOf(t, tokens.Chars4)}, byTokens(100), scripted)
		if memory.ReasonOf(err) != memory.ReasonBudgetTooSmall {
			t.Errorf("%v", err)
		}
	})
	t.Run("a newest result above the limit becomes a placeholder and is reported", func(t *testing.T) {
		messages := talk("s u c:x r:x")
		messages[3].Parts[0].Parts = []memory.Part{memory.TextPart(strings.Repeat("very long ", 1000))}
		got, err := apply(compaction.History{Messages: messages, Counter: counterOf(t, tokens.Chars4)}, byTokens(100), scripted)
		if err != nil || shape(got) != "s0 u1 c2 r3" || got.After.Tokens > 100 {
			t.Fatalf("%v, %s of %+v", err, shape(got), got.After)
		}
		if len(got.Cleared) != 1 || got.Cleared[0].MessageID != "r3" || got.Messages[3].Parts[0].Parts[0].Text != compaction.DefaultPlaceholder {
			t.Errorf("cleared %+v", got.Cleared)
		}
	})
}

func TestTrimSaysWhatItLeftOut(t *testing.T) {
	got := run(t, "s u a u a u a u", compaction.Policy{Trim: compaction.Trim{Messages: 5, Tokens: 50}})
	if shape(got) != "s0 u1 u5 a6 u7" {
		t.Fatal(shape(got))
	}
	if diff := cmp.Diff(map[compaction.Reason]string{compaction.ReasonMessages: "a2", compaction.ReasonBudget: "u3 a4"}, omissions(got)); diff != "" {
		t.Error(diff)
	}
	e := got.Effects[0]
	if e.Stage != compaction.StageTrim || !e.Triggered || e.Before.Messages != 8 || e.After.Tokens != 50 || got.Share(got.After.Tokens) != .05 {
		t.Errorf("%+v, %g of the window", e, got.Share(got.After.Tokens))
	}
}
