package compaction_test

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func counterOf(t rapid.TB, name string) tokens.Counter {
	c, err := tokens.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// generator makes histories of the shapes that agents hold: parallel calls, calls that nobody answers, calls without
// ids, reasoning tied to calls, results as messages of a user, a system prompt sent before every turn, a summary as the
// first message of a user; and what crashes and merges leave: results without calls, before them or long after them.
type generator struct {
	t        *rapid.T
	next     int
	messages []memory.Message
}

func (g *generator) chance(of int, name string) bool {
	return rapid.IntRange(1, of).Draw(g.t, name) == of
}

func (g *generator) words() string {
	n := rapid.IntRange(1, 60).Draw(g.t, "words")
	if g.chance(300, "giant") {
		n = 2000
	}
	g.next++
	return fmt.Sprintf("%s no. %d", strings.Repeat("the lemon tree of order K-7 ", n/6+1)[:n*4], g.next)
}

func (g *generator) add(role memory.Role, parts ...memory.Part) {
	m := memory.Message{Role: role, Parts: parts}
	if !g.chance(3, "no id") {
		m.ID = fmt.Sprintf("m%d", len(g.messages))
	}
	m.Pinned = g.chance(30, "pinned")
	if g.chance(25, "tagged") {
		m.Tags = []string{rapid.SampledFrom([]string{"preference", "other"}).Draw(g.t, "tag")}
	}
	if g.chance(20, "recalled") {
		m.Origin = memory.OriginRecalled
	}
	if !g.chance(4, "no time") {
		m.CreateTime = noon.Add(time.Duration(len(g.messages)) * time.Minute)
	}
	m.Seq = int64(len(g.messages) + 1)
	if g.chance(10, "named") {
		m.Name = "Ann"
	}
	g.messages = append(g.messages, m)
}

// step is one or more calls with their results.
func (g *generator) step() {
	var calls, results []memory.Part
	for range rapid.SampledFrom([]int{1, 1, 1, 2, 3, 12}).Draw(g.t, "parallel") {
		g.next++
		id := fmt.Sprintf("call_%d", g.next)
		if g.chance(6, "without id") {
			id = ""
		}
		tool := rapid.SampledFrom([]string{"search", "read"}).Draw(g.t, "tool")
		calls = append(calls, memory.Part{Kind: memory.PartToolCall, CallID: id, Name: tool, Arguments: `{"q":"` + g.words() + `"}`})
		if !g.chance(12, "unanswered") {
			results = append(results, memory.Part{Kind: memory.PartToolResult, CallID: id, Parts: []memory.Part{memory.TextPart(g.words())}})
		}
	}
	g.call(calls)
	if g.chance(25, "between") {
		g.add(memory.RoleUser, memory.TextPart(g.words()))
	}
	g.answer(results)
}

func (g *generator) call(calls []memory.Part) {
	reasoning := memory.Part{Kind: memory.PartReasoning, Text: "let me think", Signature: "sig"}
	switch rapid.IntRange(0, 5).Draw(g.t, "call") {
	case 0:
		g.add(memory.RoleAssistant, append([]memory.Part{reasoning}, calls...)...)
	case 1:
		g.add(memory.RoleAssistant, append([]memory.Part{memory.TextPart(g.words())}, calls...)...)
	case 2:
		g.add(memory.RoleAssistant, reasoning)
		g.add(memory.RoleAssistant, calls...)
	default:
		g.add(memory.RoleAssistant, calls...)
	}
}

func (g *generator) answer(results []memory.Part) {
	if len(results) == 0 {
		return
	}
	switch rapid.IntRange(0, 3).Draw(g.t, "answer") {
	case 0:
		g.add(memory.RoleUser, results...)
	case 1:
		g.add(memory.RoleUser, append(results, memory.TextPart(g.words()))...)
	case 2:
		g.add(memory.RoleTool, results...)
	default:
		for _, r := range results {
			g.add(memory.RoleTool, r)
		}
	}
}

func (g *generator) turn(system string) {
	if system != "" {
		g.add(memory.RoleSystem, memory.TextPart(system))
	}
	g.add(memory.RoleUser, memory.TextPart(g.words()))
	for range rapid.IntRange(0, 3).Draw(g.t, "steps") {
		g.step()
	}
	if g.chance(30, "orphan") {
		g.add(memory.RoleTool, memory.Part{Kind: memory.PartToolResult, CallID: "nobody", Parts: []memory.Part{memory.TextPart("x")}})
	}
	if !g.chance(8, "silent") {
		g.add(memory.RoleAssistant, memory.TextPart(g.words()))
	}
}

func messagesGen() *rapid.Generator[[]memory.Message] {
	return rapid.Custom(func(t *rapid.T) []memory.Message {
		g := &generator{t: t}
		resent := ""
		switch rapid.IntRange(0, 3).Draw(t, "system") {
		case 0:
			resent = "You are a careful assistant."
		case 1, 2:
			g.add(memory.RoleSystem, memory.TextPart("You are a careful assistant."))
		}
		if g.chance(5, "summary first") {
			g.add(memory.RoleUser, memory.TextPart(compaction.DefaultPrefix+"Ann planted a lemon tree."))
		}
		if g.chance(8, "greeting") {
			g.add(memory.RoleAssistant, memory.TextPart("Hello!"))
		}
		for range rapid.IntRange(0, 12).Draw(t, "turns") {
			g.turn(resent)
		}
		if g.chance(4, "open") {
			g.step()
		}
		if g.chance(12, "late") && len(g.messages) > 3 { // a result stands before its call, or far behind it
			i, j := rapid.IntRange(0, len(g.messages)-1).Draw(t, "i"), rapid.IntRange(0, len(g.messages)-1).Draw(t, "j")
			g.messages[i], g.messages[j] = g.messages[j], g.messages[i]
			g.messages[i].Seq, g.messages[j].Seq = g.messages[j].Seq, g.messages[i].Seq
		}
		return g.messages
	})
}

func triggersGen(t *rapid.T) []toolcalls.Trigger {
	var out []toolcalls.Trigger
	for range rapid.IntRange(0, 2).Draw(t, "triggers") {
		tr := toolcalls.Trigger{Messages: rapid.IntRange(0, 20).Draw(t, "messages"), Tokens: int64(rapid.IntRange(0, 600).Draw(t, "tokens"))}
		if rapid.Bool().Draw(t, "of window") {
			tr.Fraction = rapid.Float64Range(0.01, 1).Draw(t, "fraction")
		}
		if tr != (toolcalls.Trigger{}) {
			out = append(out, tr)
		}
	}
	return out
}

func policyGen() *rapid.Generator[compaction.Policy] {
	return rapid.Custom(func(t *rapid.T) compaction.Policy {
		p := compaction.Policy{
			Head:           rapid.SampledFrom([]compaction.Head{compaction.HeadSystemAndFirst, compaction.HeadSystemOrFirst, compaction.HeadSystem}).Draw(t, "head"),
			PreserveMemory: rapid.Bool().Draw(t, "preserve"),
		}
		if rapid.Bool().Draw(t, "keep tags") {
			p.KeepTags = []string{"preference"}
		}
		if rapid.IntRange(0, 4).Draw(t, "hide") == 0 {
			p.Hide = compaction.Hide{StartSeq: int64(rapid.IntRange(0, 20).Draw(t, "start")), StartID: rapid.SampledFrom([]string{"", "m5", "m12"}).Draw(t, "from"), Exclude: []string{"m3", "m8", "m13"}}
		}
		if rapid.Bool().Draw(t, "clear") {
			p.Clear = compaction.Clear{
				Enabled: true, Triggers: triggersGen(t), Keep: rapid.IntRange(0, 5).Draw(t, "keep uses"), ClearAtLeast: int64(rapid.SampledFrom([]int{0, 0, 200}).Draw(t, "at least")),
				ClearInputs: rapid.Bool().Draw(t, "inputs"), ExcludeTools: rapid.SampledFrom([][]string{nil, {"read"}}).Draw(t, "excluded"),
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "compress") > 0 {
			p.Compress = compressGen(t)
		}
		if rapid.IntRange(0, 3).Draw(t, "trim") > 0 {
			p.Trim = compaction.Trim{Messages: rapid.SampledFrom([]int{0, 3, 10}).Draw(t, "most"), Tokens: int64(rapid.SampledFrom([]int{150, 500, 1000, 3000, 8000}).Draw(t, "limit"))}
			if rapid.IntRange(0, 4).Draw(t, "window") == 0 {
				p.Trim.Fraction = .2
			}
		}
		return p
	})
}

func compressGen(t *rapid.T) compaction.Compress {
	c := compaction.Compress{
		Triggers: triggersGen(t), Keep: toolcalls.Keep{Messages: rapid.SampledFrom([]int{0, 0, 1, 4, 10}).Draw(t, "keep"), Tokens: int64(rapid.SampledFrom([]int{0, 0, 300}).Draw(t, "keep tokens"))},
		Strategy: rapid.SampledFrom([]compaction.Strategy{
			compaction.StrategyWhole, compaction.StrategyLastN, compaction.StrategyChunked, compaction.StrategySince, compaction.StrategyFacts, compaction.Custom("own"),
		}).Draw(t, "strategy"),
		LastN: rapid.IntRange(1, 8).Draw(t, "last n"), ChunkMessages: rapid.IntRange(1, 8).Draw(t, "chunk"),
		Since:    noon.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "since")) * time.Minute),
		Concepts: []compaction.Concept{{Keyword: "orders"}, {Keyword: "solved", Description: "Was it solved?", Single: true}},
		Writing:  compaction.Writing{ChunkTokens: int64(rapid.SampledFrom([]int{0, 0, 50, 400}).Draw(t, "chunk tokens")), Prompt: rapid.SampledFrom([]string{"", "Sum this up:\n{messages}"}).Draw(t, "prompt"), Fallback: rapid.SampledFrom([]compaction.Fallback{compaction.FallbackKeep, compaction.FallbackDrop, compaction.FallbackWhole, compaction.FallbackExtract}).Draw(t, "fallback"), Role: rapid.SampledFrom([]memory.Role{0, memory.RoleAssistant, memory.RoleSystem}).Draw(t, "role"), MaxTokens: int64(rapid.SampledFrom([]int{0, 40}).Draw(t, "max"))},
	}
	c.Lossy = c.ChunkTokens > 0 && rapid.Bool().Draw(t, "lossy")
	if rapid.Bool().Draw(t, "filtered") {
		c.Filter = compaction.Filter{Contains: []string{"no. 1", "no. 2"}}
	}
	return c
}

// model returns like a model, well or badly, and equally on equal requests.
func model(t *rapid.T) func(compaction.Request) compaction.Answer {
	bad := rapid.SampledFrom([]compaction.Answer{
		{}, {}, {}, {Failure: "timeout"}, {Text: "Half of", Cut: true}, {Refused: true}, {Text: " "}, {Text: "NONE"},
	}).Draw(t, "model")
	return func(q compaction.Request) compaction.Answer {
		if bad.Failure != "" || bad.Cut || bad.Refused || bad.Text != "" {
			return bad
		}
		if q.Kind == compaction.RequestFacts {
			return compaction.Answer{Text: "- the lemon tree of order K-7 is there\n- the tree stands.", Model: "m"}
		}
		return compaction.Answer{Text: "They spoke of the lemon tree of order K-7. It goes on.", Model: "m"}
	}
}
