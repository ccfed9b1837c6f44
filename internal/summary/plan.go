package summary

import (
	"time"

	"github.com/stratamem/strata/internal/cut"
	"github.com/stratamem/strata/internal/memory"
)

// Backlog is what no leaf covers yet.
type Backlog struct {
	Units         []Unit    // oldest first, contiguous; the newest is the session's head
	LastTime, Now time.Time // record time of the newest message; now
}

// Default is the policy that sessions start from. Eleven and five are "more than ten messages, keep the last five" of
// the seed. MaxTokens and Merge are the sizes at which TestAnchorsSurviveFiftyRounds keeps its bar; at ChunkTokens a
// call still fits the smallest windows in use (8,192 tokens).
func Default() Policy {
	return Policy{
		Form: FormTree, TriggerMessages: 11, Idle: 5 * time.Minute, KeepMessages: 5,
		Merge: 4, MaxTokens: 500, ChunkTokens: 6000,
	}
}

// MakePlan says what is due. When a trigger fires, all but the kept messages are; once the session is idle, the kept
// ones too. What idleness adds is a range of its own, so that the kept messages can stay raw beside the summary of
// what came before them. A call that may still be answered is left for later, with all that follows it.
func MakePlan(p Policy, b Backlog) Plan {
	open := b.Units[:answered(b.Units)]
	kept := 0
	if p.triggered(b.Units) {
		kept = min(cut.Back(groupEnds(b.Units), p.keepFrom(b.Units)), len(open))
	}
	plan := Plan{Ranges: chunks(open[:kept], p.ChunkTokens)}
	switch rest := open[kept:]; {
	case p.Idle <= 0 || len(rest) == 0:
	case b.Now.Before(b.LastTime.Add(p.Idle)):
		plan.Next = b.LastTime.Add(p.Idle)
	default:
		plan.Ranges = append(plan.Ranges, chunks(rest, p.ChunkTokens)...)
	}
	return plan
}

// PlanAll covers all units, whatever the triggers say, in chunks that fit the summariser: for sessions that somebody
// asks to be summarised now. A call that may still be answered is left for later, with all that follows it.
func PlanAll(p Policy, units []Unit) []memory.SeqRange {
	return chunks(units[:answered(units)], p.ChunkTokens)
}

func (p Policy) triggered(units []Unit) bool {
	return cut.AnyReached([]cut.Trigger{
		{Messages: p.TriggerMessages}, {Tokens: p.TriggerTokens}, {Fraction: p.TriggerFraction},
	}, cut.Size{Messages: len(units), Tokens: tokensOf(units)}, p.Window)
}

// keepFrom is the index from which units stay raw.
func (p Policy) keepFrom(units []Unit) int {
	sizes := make([]int64, len(units))
	for i, u := range units {
		sizes[i] = u.Tokens
	}
	return cut.Keep{Messages: p.KeepMessages, Tokens: p.KeepTokens, Fraction: p.KeepFraction}.From(sizes, p.Window)
}

// groupEnds reports, for each unit, whether a cut may follow it: not within a turn, nor between a call and its results.
func groupEnds(units []Unit) []bool {
	var p cut.Pairing
	for i, u := range units {
		for j, id := range u.Calls {
			p.AddCall(cut.Ref{Message: i, Part: j}, id)
		}
		for j, id := range u.Results {
			p.AddResult(cut.Ref{Message: i, Part: len(u.Calls) + j}, id)
		}
	}
	p.Close()
	reach := p.Reach(len(units))
	for i := range units {
		if i+1 < len(units) && units[i+1].TurnNo == units[i].TurnNo {
			reach[i] = max(reach[i], i+1)
		}
	}
	return cut.Ends(reach)
}

// answered is the index up to which no call waits for its results. A call that a user's message follows has been
// given up: providers refuse a history in which results come after that.
func answered(units []Unit) int {
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
	return cut.Back(groupEnds(units), first)
}

// chunks cuts units into contiguous ranges of at most that many tokens, or of one group where a group alone has more;
// 0 is no limit.
func chunks(units []Unit, limit int64) []memory.SeqRange {
	var out []memory.SeqRange
	ends := groupEnds(units)
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

func tokensOf(units []Unit) int64 {
	var n int64
	for _, u := range units {
		n += u.Tokens
	}
	return n
}
