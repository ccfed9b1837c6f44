package history

import (
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/tokens"
)

// MessageTokens is what a message takes in a model's input: its content, from its stored counts where it has the
// counter's, its reasoning, and what providers add around messages, names, calls and results. It is an upper estimate:
// a provider that drops old reasoning takes less.
func MessageTokens(m memory.Message, c tokens.Counter) int64 {
	cost, ok := tokens.FromStored(m.Tokens, c)
	if !ok {
		cost = tokens.Content(m, c)
	}
	cost += c.Cost(m.Name)
	extra := int64(tokens.MessageOverhead)
	if m.Name != "" {
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
		}
	}
	return tokens.Tokens(c, cost) + extra
}
