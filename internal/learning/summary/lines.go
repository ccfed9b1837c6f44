package summary

import (
	"strings"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// SourceLimits is how much of a tool call's arguments and of its result a summariser sees, in bytes; 0 is no limit.
type SourceLimits struct{ Arguments, Result int }

// Lines returns the messages as a summariser sees them, without those without content. Words and the use of tools are lines
// of their own, in their order. What a memory service had put into the prompt is left out, and so are a message's echoes of
// a rendering: their sources are elsewhere.
func Lines(messages []memory.Message, limits SourceLimits) []SourceText {
	var out []SourceText
	for _, m := range messages {
		if m.Origin != memory.OriginRecalled {
			out = append(out, limits.linesOf(m)...)
		}
	}
	return out
}

func (l SourceLimits) linesOf(m memory.Message) []SourceText {
	var out []SourceText
	for _, p := range m.Parts {
		said := strings.TrimSpace(l.spoken(p))
		if said == "" {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Tool == p.Kind.IsTool() {
			out[n-1].Text += "\n" + said
			continue
		}
		out = append(out, SourceText{Speaker: m.Name, Role: m.Role, Time: m.SaidTime(), Text: said, Tool: p.Kind.IsTool()})
	}
	return out
}

// spoken returns the content of a part: words; a call, a result or an attachment as one line.
func (l SourceLimits) spoken(p memory.Part) string {
	switch p.Kind {
	case memory.PartText:
		return p.Said()
	case memory.PartToolCall:
		return "[calls " + p.Name + " " + oneLine(p.Said(), l.Arguments) + "]"
	case memory.PartToolResult:
		return "[result: " + oneLine(l.answered(p), l.Result) + "]"
	case memory.PartBlob, memory.PartURI:
		return tokens.Placeholder(p.Masked())
	}
	return ""
}

// answered returns the content of a tool's result.
func (l SourceLimits) answered(result memory.Part) string {
	said := make([]string, len(result.Parts))
	for i, p := range result.Parts {
		said[i] = l.spoken(p)
	}
	return strings.Join(said, "\n")
}

func oneLine(s string, limit int) string {
	line := strings.Join(strings.Fields(s), " ")
	if limit <= 0 || len(line) <= limit {
		return line
	}
	return text.Clip(line, limit) + " …"
}
