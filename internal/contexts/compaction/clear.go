package compaction

import (
	"cmp"
	"slices"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// clear replaces old tool results by a placeholder.
func (r *run) clear(e *Effect) {
	c := r.policy.Clear
	if len(c.Triggers) > 0 && !toolcalls.AnyReached(c.Triggers, r.size(), r.history.Window) {
		return
	}
	e.Triggered = true
	uses := r.clearable(c)
	won := int64(0)
	for _, u := range uses {
		won += u.won
	}
	if len(uses) > 0 && won >= c.ClearAtLeast {
		r.clearUses(uses, c)
	}
}

// use is a tool use that can be cleared.
type use struct {
	call       toolcalls.Call
	won        int64
	body, args bool // what is cleared
}

// clearable are the tool uses that are old enough and not excluded, as far as clearing them wins tokens.
func (r *run) clearable(c Clear) []use {
	p := r.items.pair(r.ended)
	calls := slices.DeleteFunc(slices.Clone(p.Calls), func(c toolcalls.Call) bool { return !c.Answered })
	slices.SortStableFunc(calls, func(a, b toolcalls.Call) int { return cmp.Compare(a.At.Message, b.At.Message) })
	var uses []use
	for _, call := range calls[:max(0, len(calls)-c.Keep)] {
		if slices.Contains(c.ExcludeTools, r.items.part(call.At).Name) || r.items[call.Result.Message].pinned || r.items[call.At.Message].pinned {
			continue
		}
		if u := useOf(r.items, call, c, r.history.Counter); u.won > 0 {
			uses = append(uses, u)
		}
	}
	return uses
}

// useOf returns what clearing a tool use saves. A body or arguments no longer than their placeholder stay, so that nothing
// is cleared twice.
func useOf(items list, call toolcalls.Call, c Clear, counter tokens.Counter) use {
	u := use{call: call}
	if more := bodyWins(items, call.Result, c, counter); more > 0 {
		u.body, u.won = true, u.won+more
	}
	if more := countText(items.part(call.At).Arguments, counter) - countText(ClearedInput, counter); c.ClearInputs && more > 0 {
		u.args, u.won = true, u.won+more
	}
	return u
}

// bodyWins is how many tokens a result takes more than its placeholder. Where it is all of its message, that is known
// without counting it.
func bodyWins(items list, at toolcalls.Ref, c Clear, counter tokens.Counter) int64 {
	it, instead := items[at.Message], cleared(*items.part(at), c)
	if len(it.msg.Parts) == 1 {
		m := it.msg
		m.Parts, m.Tokens = []memory.Part{instead}, memory.TokenCounts{}
		return it.tokens - MessageTokens(m, counter)
	}
	return bodyTokens(*items.part(at), counter) - bodyTokens(instead, counter)
}

// cleared is a result with a placeholder for its body.
func cleared(p memory.Part, c Clear) memory.Part {
	p.Parts = []memory.Part{memory.TextPart(cmp.Or(c.Placeholder, DefaultPlaceholder))}
	return p
}

// clearUses clears on copies of the parts, and counts each message once.
func (r *run) clearUses(uses []use, c Clear) {
	r.acted = true
	altered := map[int][]memory.Part{}
	part := func(at toolcalls.Ref) *memory.Part {
		if altered[at.Message] == nil {
			altered[at.Message] = slices.Clone(r.items[at.Message].msg.Parts)
		}
		return &altered[at.Message][at.Part]
	}
	for _, u := range uses {
		if u.body {
			p := part(u.call.Result)
			*p = cleared(*p, c)
		}
		if u.args {
			p := part(u.call.At)
			p.Arguments, p.Echoes, p.Secrets = ClearedInput, nil, nil
		}
		with := r.items[u.call.Result.Message]
		r.cleared = append(r.cleared, Cleared{
			Index: with.source, MessageID: with.msg.ID, CallID: r.items.part(u.call.At).CallID, Tool: r.items.part(u.call.At).Name,
			Tokens: u.won, Input: u.args,
		})
	}
	for i, parts := range altered {
		it := *r.items[i]
		r.replaceParts(&it, parts)
		r.items[i] = &it
	}
}

// bodyTokens is what a result's body takes.
func bodyTokens(p memory.Part, c tokens.Counter) int64 {
	return tokens.Tokens(c, tokens.Content(memory.Message{Parts: []memory.Part{p}}, c))
}
