package summary

import (
	"strings"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/text"
	"github.com/stratamem/strata/internal/tokens"
)

// LineLimits says how much of a tool call's arguments and of its result a summariser sees, in bytes; 0 is no limit.
type LineLimits struct{ Arguments, Result int }

// Lines are the messages as a summariser sees them, without those that say nothing. What a memory service had put into
// the prompt was said elsewhere.
func Lines(messages []memory.Message, limits LineLimits) []Line {
	var out []Line
	for _, m := range messages {
		said := limits.spoken(m.Parts)
		if m.Origin == memory.OriginRecalled || said == "" {
			continue
		}
		out = append(out, Line{Speaker: m.Name, Role: m.Role, Time: m.CreateTime, Text: said})
	}
	return out
}

// spoken is what parts say: words, and calls, results and attachments as one line each.
func (l LineLimits) spoken(parts []memory.Part) string {
	var said []string
	for _, p := range parts {
		if s := strings.TrimSpace(l.spokenPart(p)); s != "" {
			said = append(said, s)
		}
	}
	return strings.Join(said, "\n")
}

func (l LineLimits) spokenPart(p memory.Part) string {
	switch p.Kind {
	case memory.PartText:
		return p.Text
	case memory.PartToolCall:
		return "[calls " + p.Name + " " + oneLine(p.Arguments, l.Arguments) + "]"
	case memory.PartToolResult:
		return "[result: " + oneLine(l.spoken(p.Parts), l.Result) + "]"
	case memory.PartBlob, memory.PartURI:
		return tokens.Placeholder(p)
	}
	return ""
}

func oneLine(s string, limit int) string {
	line := strings.Join(strings.Fields(s), " ")
	if limit <= 0 || len(line) <= limit {
		return line
	}
	return text.Clip(line, limit) + " …"
}
