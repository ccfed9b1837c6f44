package compaction

import (
	"slices"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// aroundResult is the most that is added to a result's words: that it is an error, or that there are none.
const aroundResult = "Error: (no output)"

// MessageTokens is what a message takes in a model's input: its content, from its stored counts where it has the
// counter's, its reasoning, and what providers add around messages, names, calls and results. It is an upper estimate:
// a provider that drops old reasoning takes less.
func MessageTokens(m memory.Message, c tokens.Counter) int64 {
	cost, ok := tokens.FromStored(m.Tokens, c)
	if !ok {
		cost = tokens.Content(m, c)
	}
	extra := int64(tokens.MessageOverhead)
	if m.Name != "" {
		cost += c.Cost(m.Name + ": ") // as words where a provider has no names
		extra += tokens.NameOverhead
	}
	for _, p := range m.Parts {
		switch p.Kind {
		case memory.PartReasoning:
			cost += c.Cost(p.Text)
			extra += tokens.MessageOverhead + int64(len(p.Data)+1)/2
		case memory.PartToolCall:
			extra += tokens.CallOverhead
		case memory.PartToolResult:
			extra += tokens.MessageOverhead
			if p.IsError || !slices.ContainsFunc(p.Parts, toolcalls.Says) {
				cost += c.Cost(aroundResult)
			}
		}
	}
	return tokens.Tokens(c, cost) + extra
}

// countText is what a text takes.
func countText(s string, c tokens.Counter) int64 { return tokens.Tokens(c, c.Cost(s)) }
