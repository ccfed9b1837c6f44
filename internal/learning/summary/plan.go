package summary

import (
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// Backlog is what no leaf covers yet.
type Backlog struct {
	Messages []PlanMessage // oldest first, contiguous; the newest is the session's head
	Said     time.Time     // time of the newest message by its sender's clock; zero when unknown
	Recorded time.Time     // when it was recorded
	Now      time.Time
}

// importPause is how long after the last Record a session counts as idle at the earliest, however old its messages are: a
// history is often imported in several calls.
const importPause = 30 * time.Second

// idleAt returns when the session has been idle for that long, counted from the time of its newest message.
func (b Backlog) idleAt(idle time.Duration) time.Time {
	said := b.Recorded
	if !b.Said.IsZero() && b.Said.Before(said) {
		said = b.Said
	}
	at, earliest := said.Add(idle), b.Recorded.Add(min(idle, importPause))
	if at.Before(earliest) {
		return earliest
	}
	return at
}

// MakePlan returns what is due. When a trigger fires, all but the kept messages are; once the session is idle, the kept
// ones too. What idleness adds is a range of its own, so that the kept messages can stay raw beside the summary of what
// came before them. Idleness counts from when the newest message was said, so that an imported history does not wait as a
// conversation does, but begins importPause after the last Record at the earliest. A call that may still be answered is
// left for later, with all that follows it.
func MakePlan(p Policy, b Backlog) Plan {
	ends := p.groupEnds(b.Messages)
	open := b.Messages[:answered(b.Messages, ends)]
	kept := 0
	if p.triggered(b.Messages) {
		kept = min(toolcalls.Back(ends, p.keepFrom(b.Messages)), len(open))
	}
	plan := Plan{Ranges: p.chunks(open[:kept], ends)}
	switch rest, idle := open[kept:], b.idleAt(p.Idle); {
	case p.Idle <= 0 || len(rest) == 0:
	case b.Now.Before(idle):
		plan.Next = idle
	default:
		plan.Ranges = append(plan.Ranges, p.chunks(rest, ends[kept:])...)
	}
	return plan
}

// PlanAll covers all units, whatever the triggers say, in chunks that fit the summariser: for sessions that somebody
// asks to be summarised now. A call that may still be answered is left for later, with all that follows it.
func PlanAll(p Policy, units []PlanMessage) []memory.SeqRange {
	ends := p.groupEnds(units)
	return p.chunks(units[:answered(units, ends)], ends)
}

// triggered reports whether units reach a trigger: those that no leaf covers, or those of one turn.
func (p Policy) triggered(units []PlanMessage) bool {
	return toolcalls.AnyReached([]toolcalls.Trigger{
		{Messages: p.TriggerMessages}, {Tokens: p.TriggerTokens}, {Fraction: p.TriggerFraction},
	}, toolcalls.Size{Messages: len(units), Tokens: tokensOf(units)}, p.Window)
}

// keepFrom is the index from which units stay raw.
func (p Policy) keepFrom(units []PlanMessage) int {
	sizes := make([]int64, len(units))
	for i, u := range units {
		sizes[i] = u.Tokens
	}
	return toolcalls.Keep{Messages: p.KeepMessages, Tokens: p.KeepTokens, Fraction: p.KeepFraction}.From(sizes, p.Window)
}

// groupEnds reports, for each unit, whether a cut may follow it: not between a call and its results, nor within a turn, unless
// that reaches a trigger all alone: so long a turn is an imported history, or an agent's hours of work, and would never be
// summarised but as one.
func (p Policy) groupEnds(units []PlanMessage) []bool {
	var pairs toolcalls.Pairing
	for i, u := range units {
		for j, id := range u.Calls {
			pairs.AddCall(toolcalls.Ref{Message: i, Part: j}, id)
		}
		for j, id := range u.Results {
			pairs.AddResult(toolcalls.Ref{Message: i, Part: len(u.Calls) + j}, id)
		}
	}
	pairs.Close()
	reach := pairs.Reach(len(units))
	for from := 0; from < len(units); {
		to := from + 1
		for to < len(units) && units[to].TurnNo == units[from].TurnNo {
			to++
		}
		if !p.triggered(units[from:to]) {
			for i := from; i < to-1; i++ {
				reach[i] = max(reach[i], i+1)
			}
		}
		from = to
	}
	return toolcalls.Ends(reach)
}

// answered returns the index up to which no call waits for its results. A call that a user's message follows has been given
// up: providers refuse a history in which results come after that.
func answered(units []PlanMessage, ends []bool) int {
	waiting := map[string]int{}
	for i, u := range units {
		for _, id := range u.Results {
			delete(waiting, id)
		}
		if u.Role == memory.RoleUser {
			clear(waiting)
		}
		for _, id := range u.Calls {
			waiting[id] = i
		}
	}
	first := len(units)
	for _, at := range waiting {
		first = min(first, at)
	}
	return toolcalls.Back(ends, first)
}

// chunks cuts units into contiguous ranges of at most ChunkTokens, or of one group where a group alone has more; 0 is no
// limit. ends are their groupEnds.
func (p Policy) chunks(units []PlanMessage, ends []bool) []memory.SeqRange {
	var out []memory.SeqRange
	limit := p.ChunkTokens
	var size int64 // of the open chunk
	start := 0     // of the open group
	for i := range units {
		if !ends[i] && i+1 < len(units) {
			continue
		}
		group := units[start : i+1]
		added := tokensOf(group)
		if len(out) > 0 && (limit <= 0 || size+added <= limit) {
			out[len(out)-1].To = group[len(group)-1].Seq
			size += added
		} else {
			out = append(out, memory.SeqRange{From: group[0].Seq, To: group[len(group)-1].Seq})
			size = added
		}
		start = i + 1
	}
	return out
}

func tokensOf(units []PlanMessage) int64 {
	var n int64
	for _, u := range units {
		n += u.Tokens
	}
	return n
}
