package compaction_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// apply decides and runs, however long that takes.
func apply(h compaction.History, p compaction.Policy, ask func(compaction.Request) compaction.Answer) (compaction.Result, error) {
	plan, err := compaction.Decide(context.Background(), h, p)
	if err != nil {
		return compaction.Result{}, err
	}
	return plan.Run(context.Background(), ask)
}

// talk makes a conversation from a script of words, each a message: s system, d developer, u user, a assistant, c:x,y
// calls, r:x results of a tool, U:x results as a message of a user. ! pins, ~ says that it was recalled, #x tags. A
// message's id is its letter and its index, and its text says that id; but all system messages say the same.
func talk(script string) []memory.Message {
	roles := map[byte]memory.Role{
		's': memory.RoleSystem, 'd': memory.RoleDeveloper, 'u': memory.RoleUser, 'a': memory.RoleAssistant, 'c': memory.RoleAssistant, 'r': memory.RoleTool, 'U': memory.RoleUser,
	}
	var out []memory.Message
	for i, word := range strings.Fields(script) {
		word, tag, _ := strings.Cut(word, "#")
		m := memory.Message{ID: fmt.Sprintf("%c%d", word[0], i), Role: roles[word[0]], Seq: int64(i + 1), CreateTime: noon.Add(time.Duration(i) * time.Minute)}
		if tag != "" {
			m.Tags = []string{tag}
		}
		m.Pinned = strings.Contains(word, "!")
		if strings.Contains(word, "~") {
			m.Origin = memory.OriginRecalled
		}
		_, ids, _ := strings.Cut(strings.TrimRight(word, "!~"), ":")
		m.Parts = partsOf(word[0], m.ID, ids)
		out = append(out, m)
	}
	return out
}

func partsOf(kind byte, id, calls string) []memory.Part {
	if kind == 's' {
		return []memory.Part{memory.TextPart("You are a careful assistant.")}
	}
	if kind != 'c' && kind != 'r' && kind != 'U' {
		return []memory.Part{memory.TextPart("words of " + id)}
	}
	var out []memory.Part
	for _, call := range strings.Split(calls, ",") {
		p := memory.Part{Kind: memory.PartToolResult, CallID: call, Parts: []memory.Part{memory.TextPart("result for " + call + strings.Repeat(" and more", 30))}}
		if kind == 'c' {
			p = memory.Part{Kind: memory.PartToolCall, CallID: call, Name: "search", Arguments: `{"q":"` + call + `"}`}
		}
		out = append(out, p)
	}
	return out
}

// tens gives every message ten tokens.
func tens(messages []memory.Message) []int64 {
	out := make([]int64, len(messages))
	for i := range out {
		out[i] = 10
	}
	return out
}

// scripted returns with what was asked about, so that a test can read it from the result.
func scripted(q compaction.Request) compaction.Answer {
	return compaction.Answer{Text: fmt.Sprintf("Summary of %d messages.", len(q.Messages)), Model: "scripted"}
}

// run applies a policy to a script whose messages have ten tokens each, in a window of 1,000.
func run(t *testing.T, script string, p compaction.Policy) compaction.Result {
	t.Helper()
	return runWith(t, script, p, scripted)
}

func runWith(t *testing.T, script string, p compaction.Policy, ask func(compaction.Request) compaction.Answer) compaction.Result {
	t.Helper()
	messages := talk(script)
	got, err := apply(compaction.History{Messages: messages, Tokens: tens(messages), Counter: counterOf(t, tokens.Chars4), Window: 1000}, p, ask)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// shape is the ids of a result's messages; what was written is S, and an unchanged history is "unchanged".
func shape(r compaction.Result) string {
	if !r.Changed {
		return "unchanged"
	}
	var out []string
	for i, m := range r.Messages {
		if r.Sources[i] < 0 {
			m.ID = "S"
		}
		out = append(out, m.ID)
	}
	return strings.Join(out, " ")
}

// omissions are the ids of what a result leaves out, by reason.
func omissions(r compaction.Result) map[compaction.Reason]string {
	out := map[compaction.Reason]string{}
	for _, o := range r.Omitted {
		out[o.Reason] = strings.TrimSpace(out[o.Reason] + " " + o.ID)
	}
	return out
}

// shapeCase is a script, a policy and what it comes to.
type shapeCase struct {
	script string
	policy compaction.Policy
	want   string
}

func checkShapes(t *testing.T, cases map[string]shapeCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := shape(run(t, c.script, c.policy)); got != c.want {
				t.Errorf("%s became\n%s, not\n%s", c.script, got, c.want)
			}
		})
	}
}
