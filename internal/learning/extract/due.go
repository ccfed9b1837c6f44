package extract

import (
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
)

// Schedule says what is due, and when the rest will be.
type Schedule struct {
	Range memory.SeqRange // the first chunk that is due; zero From for none
	Next  time.Time       // when idleness makes the rest due; zero for never
}

// Due returns which of a session's unextracted messages, oldest first, are due. Whatever triggers, all messages up to
// the one that triggered are taken, in chunks: call again for the next one.
func Due(t Triggers, messages []memory.Message, now time.Time) Schedule {
	if len(messages) == 0 {
		return Schedule{}
	}
	last := len(messages) - 1
	idleAt := messages[last].RecordTime.Add(t.Idle)
	end := -1
	switch {
	case t.Messages > 0 && len(messages) >= t.Messages, t.Idle > 0 && !now.Before(idleAt):
		end = last
	case t.AtReply:
		end = lastReply(messages)
	}
	var s Schedule
	if end >= 0 {
		s.Range = chunk(t, messages[:end+1])
	}
	if end < last && t.Idle > 0 {
		s.Next = idleAt
	}
	return s
}

// All is the first chunk of the messages, whatever the triggers say; zero without messages.
func All(t Triggers, messages []memory.Message) memory.SeqRange {
	if len(messages) == 0 {
		return memory.SeqRange{}
	}
	return chunk(t, messages)
}

// lastReply is the place of the last assistant message that waits for no tool, -1 for none.
func lastReply(messages []memory.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if m := messages[i]; m.Role == memory.RoleAssistant && len(m.ToolCalls()) == 0 {
			return i
		}
	}
	return -1
}

// chunk is as many messages as one call takes, at least one.
func chunk(t Triggers, messages []memory.Message) memory.SeqRange {
	n := len(messages)
	if t.MaxMessages > 0 {
		n = min(n, t.MaxMessages)
	}
	if t.MaxTokens > 0 {
		n = max(1, fitting(messages[:n], t.MaxTokens))
	}
	return memory.SeqRange{From: messages[0].Seq, To: messages[n-1].Seq}
}

// fitting is how many of the messages fit into so many tokens.
func fitting(messages []memory.Message, tokens int64) int {
	for i, m := range messages {
		cost := m.Tokens.O200K
		if cost == 0 {
			cost = int64(text.EstimateTokens(m.SaidText()))
		}
		if tokens -= cost; tokens < 0 {
			return i
		}
	}
	return len(messages)
}
