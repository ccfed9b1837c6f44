package compaction

import (
	"context"
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// trim drops the oldest messages until nothing more is to be dropped: where the head gives way to newer messages, the
// first of these is the head.
func (r *run) trim(ctx context.Context, e *Effect) error {
	for {
		if err := stopped(ctx); err != nil {
			return err
		}
		before := len(r.items)
		if err := r.trimOnce(e); err != nil {
			return err
		}
		if len(r.items) == before {
			return nil
		}
	}
}

// trimOnce trims by the limit of messages, then by the limit of tokens.
func (r *run) trimOnce(e *Effect) error {
	t := r.policy.Trim
	if t.Messages > 0 && r.size().Messages > t.Messages {
		e.Triggered = true
		r.trimMessages(t.Messages)
	}
	limit := t.Limit(r.history.Window)
	if limit == 0 || r.size().Tokens <= limit {
		return nil
	}
	e.Triggered = true
	r.acted = r.acted || r.slack != toolcalls.Size{}
	return r.trimTokens(limit)
}

// trimMessages keeps the head, summaries, what must stay and the last n messages. These begin with their turn, or, where
// the head holds the beginning of that turn, with their unit: a long turn must not stay whole for ever.
func (r *run) trimMessages(n int) {
	units := r.units()
	from := slices.IndexFunc(units, func(u unit) bool { return u.to > max(0, len(r.items)-n) })
	if from < 0 {
		return
	}
	border := from
	for border > 0 && !units[border].turn {
		border--
	}
	if !units[border].turn || units[border].first {
		border = from
	}
	stays := func(u unit) bool { return u.standing() || u.first || u.summary }
	keep := make([]bool, len(units))
	for i, u := range units {
		keep[i] = i >= border || stays(u)
	}
	r.keepUnits(units, keep, StageTrim, ReasonMessages)
}

// trimTokens keeps what must stay and, as far as there is room, summaries, the head and the newest units. Where not
// even the newest unit finds room, the results in it are cleared first.
func (r *run) trimTokens(limit int64) error {
	if r.actual().Tokens <= limit {
		return nil
	}
	for range 2 {
		units := r.units()
		if must := tokensOf(units, unit.standing); must > limit {
			return r.policy.Trim.tooSmall("what must stay (system messages, pinned and tagged messages, open tool calls)", must, limit)
		}
		if keep := fit(units, limit); keep != nil {
			r.keepUnits(units, keep, StageTrim, ReasonBudget)
			return nil
		}
		if !r.clearNewest(units) {
			break
		}
	}
	return r.trimToNewest(limit)
}

// trimToNewest keeps what must stay and the newest units, although no words of a user find room.
func (r *run) trimToNewest(limit int64) error {
	units := r.units()
	keep := make([]bool, len(units))
	for i, u := range units {
		keep[i] = u.standing()
	}
	must := tokensOf(units, unit.standing)
	keepFrom(keep, earliest(units, keep, limit-must))
	if newest := len(units) - 1; !keep[newest] {
		return r.policy.Trim.tooSmall("the newest message with what must stay", must+units[newest].tokens, limit)
	}
	r.keepUnits(units, keep, StageTrim, ReasonBudget)
	return nil
}

func tokensOf(units []unit, counts func(unit) bool) int64 {
	var n int64
	for _, u := range units {
		if counts(u) {
			n += u.tokens
		}
	}
	return n
}

// fit returns which units to keep, nil where no choice has room for the newest one. The head and summaries give way before
// that does, the head first.
func fit(units []unit, limit int64) []bool {
	heads := []func(unit) bool{
		func(u unit) bool { return u.standing() || u.summary || u.first },
		func(u unit) bool { return u.standing() || u.summary },
		unit.standing,
	}
	for _, head := range heads {
		keep := make([]bool, len(units))
		for i, u := range units {
			keep[i] = head(u)
		}
		if fill(units, keep, limit-tokensOf(units, head)) {
			return keep
		}
	}
	return nil
}

// fill keeps the newest units beside those that are kept already, from the beginning of a turn. Where no turn begins in
// what finds room, it keeps the words of the user that the newest units follow. It reports whether the newest is kept.
func fill(units []unit, keep []bool, room int64) bool {
	from := earliest(units, keep, room)
	if room < 0 || from == len(units) && !keep[len(units)-1] {
		return false
	}
	if turn := nextTurn(units, from); turn < len(units) {
		keepFrom(keep, turn)
		return true
	}
	asked := len(units) - 1
	for asked >= 0 && !units[asked].user {
		asked--
	}
	if asked >= 0 && !keep[asked] {
		if room -= units[asked].tokens; room < 0 {
			return false
		}
		keep[asked] = true
		from = earliest(units, keep, room)
	}
	keepFrom(keep, from)
	return keep[len(units)-1]
}

// earliest is the first unit from which on all that are not kept find room.
func earliest(units []unit, keep []bool, room int64) int {
	sizes := make([]int64, len(units))
	for i, u := range units {
		if !keep[i] {
			sizes[i] = u.tokens
		}
	}
	return toolcalls.Within(sizes, room)
}

// nextTurn is the first unit with which a turn, or the words of its user, begin.
func nextTurn(units []unit, from int) int {
	for from < len(units) && !units[from].turn && !units[from].user {
		from++
	}
	return from
}

func keepFrom(keep []bool, from int) {
	for i := from; i < len(keep); i++ {
		keep[i] = true
	}
}

// clearNewest clears the results of the newest unit, and reports whether that won anything.
func (r *run) clearNewest(units []unit) bool {
	var c Clear
	if r.policy.Clear.Enabled {
		c.Placeholder = r.policy.Clear.Placeholder
	}
	from := units[len(units)-1].from
	uses := slices.DeleteFunc(r.clearable(c), func(u use) bool { return u.call.At.Message < from })
	if len(uses) == 0 {
		return false
	}
	r.clearUses(uses, c)
	return true
}

func (t Trim) tooSmall(what string, takes, limit int64) error {
	field := "policy.trim.tokens"
	if t.Tokens != limit {
		field = "policy.trim.fraction"
	}
	d := fmt.Sprintf("%s takes %d tokens and the limit is %d; raise the limit, or shorten or unpin messages", what, takes, limit)
	return &memory.Error{
		Kind: memory.KindInvalid, Reason: memory.ReasonBudgetTooSmall, Message: field + ": " + d,
		Fields:   []memory.FieldError{{Field: field, Description: d}},
		Metadata: map[string]string{"field": field, "takes": fmt.Sprint(takes), "limit": fmt.Sprint(limit)},
	}
}
