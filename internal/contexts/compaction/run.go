package compaction

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// run is a policy at work on a history. Behind mending, its stages replace items and never change one: clones share them.
type run struct {
	history History
	policy  Policy
	items   list
	before  toolcalls.Size // of the history
	slack   toolcalls.Size // what mending took away: triggers and limits are those of the list that was given
	acted   bool           // a stage did something
	omitted []Omission
	cleared []Cleared
	written []Written // Index is found at the end, by ID
	effects []Effect
	ended   func() bool // whether nobody waits any more: then what the run comes to means nothing
}

// stopped is the error of a context that ended: then what a run has come to means nothing.
func stopped(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("apply a context policy: %w", err)
	}
	return nil
}

// newRun makes items of the messages.
func newRun(ctx context.Context, h History, p Policy) *run {
	r := &run{history: h, policy: p, items: make(list, len(h.Messages))}
	r.within(ctx)
	all := make([]item, len(h.Messages))
	for i, m := range EnsureIDs(h.Messages) {
		it := &all[i]
		r.items[i] = it
		if ctx.Err() != nil {
			continue
		}
		*it = item{msg: m, source: i, pinned: p.Survives(m), summary: p.isSummary(m)}
		if h.Tokens != nil {
			it.tokens = h.Tokens[i]
		} else {
			it.tokens = MessageTokens(m, r.history.Counter)
		}
	}
	r.before = r.actual()
	return r
}

// within lets the run stop soon after ctx has ended. Clones of a plan go on within the context of their own call.
func (r *run) within(ctx context.Context) {
	r.ended = func() bool { return ctx.Err() != nil }
	r.history.Counter = tokens.Within(ctx, r.history.Counter)
}

// clone is a run that goes on by itself.
func (r *run) clone() *run {
	c := *r
	c.items, c.omitted, c.cleared = slices.Clone(r.items), slices.Clone(r.omitted), slices.Clone(r.cleared)
	c.written, c.effects = slices.Clone(r.written), slices.Clone(r.effects)
	return &c
}

// Survives reports whether a message is pinned, tagged or preserved.
func (p Policy) Survives(m memory.Message) bool {
	return m.Pinned || p.PreserveMemory && m.Origin == memory.OriginRecalled ||
		slices.ContainsFunc(m.Tags, func(t string) bool { return slices.Contains(p.KeepTags, t) })
}

// isSummary reports whether a message replaces messages that are gone. A client may lose the tag, or trim the text.
func (p Policy) isSummary(m memory.Message) bool {
	if slices.Contains(m.Tags, SummaryTag) {
		return true
	}
	if m.Role == memory.RoleTool || m.Role == memory.RoleDeveloper || len(m.Parts) == 0 || m.Parts[0].Kind != memory.PartText {
		return false
	}
	said := m.Parts[0].Text
	own := strings.TrimSpace(p.prefix())
	return strings.HasPrefix(said, strings.TrimSpace(DefaultPrefix)) || own != "" && strings.HasPrefix(said, own)
}

// prefix is what the policy's summaries begin with.
func (p Policy) prefix() string {
	if !p.Compresses() {
		return DefaultPrefix
	}
	return cmp.Or(p.Compress.Prefix, DefaultPrefix)
}

// size is what triggers and limits look at: the list as it is, and what mending took from it.
func (r *run) size() toolcalls.Size {
	s := r.slack
	for i := range r.items {
		s.Messages++
		s.Tokens += r.items[i].tokens
	}
	return s
}

// actual is the size of the list as it is.
func (r *run) actual() toolcalls.Size {
	s := r.size()
	return toolcalls.Size{Messages: s.Messages - r.slack.Messages, Tokens: s.Tokens - r.slack.Tokens}
}

// do does what cannot fail and notes its effect.
func (r *run) do(name Stage, do func(*Effect)) {
	e := Effect{Stage: name, Before: r.actual()}
	do(&e)
	e.After = r.actual()
	r.effects = append(r.effects, e)
}

// omit notes what becomes of an item. A message that a policy wrote is of no interest to the caller.
func (r *run) omit(it *item, stage Stage, why Reason) {
	if it.source < 0 {
		return
	}
	r.omitted = append(r.omitted, Omission{Index: it.source, ID: it.msg.ID, Stage: stage, Reason: why})
}

// keep leaves only the items for which keep holds, and notes the others. The items are copied: a run never changes
// what its clones look at.
func (r *run) keep(stage Stage, why func(i int) Reason, keep func(i int) bool) {
	var kept list
	for i := range r.items {
		if keep(i) {
			kept = append(kept, r.items[i])
			continue
		}
		r.acted = true
		r.omit(r.items[i], stage, why(i))
	}
	r.items = kept
}

// keepUnits leaves only the units that are kept.
func (r *run) keepUnits(units []unit, keep []bool, stage Stage, why Reason) {
	kept := make([]bool, len(r.items))
	for i, u := range units {
		for j := u.from; j < u.to; j++ {
			kept[j] = keep[i]
		}
	}
	r.keep(stage, func(int) Reason { return why }, func(i int) bool { return kept[i] })
}

// units are the units of the list as it is.
func (r *run) units() []unit { return r.items.units(r.policy.Head, r.ended) }

// replaceParts gives an item other parts, and counts it anew.
func (r *run) replaceParts(it *item, parts []memory.Part) {
	it.msg.Parts = parts
	it.msg.Tokens = memory.TokenCounts{}
	it.tokens = MessageTokens(it.msg, r.history.Counter)
}

// result is what the run came to.
func (r *run) result() Result {
	out := Result{
		Effects: slices.DeleteFunc(r.effects, func(e Effect) bool { return e.Stage == StageMend && !r.acted }), Before: r.before, After: r.before,
		Window: r.history.Window, Counter: r.history.Counter.Name(),
	}
	if !r.acted {
		return out
	}
	out.Changed, out.After = true, r.actual()
	out.Omitted, out.Cleared, out.Written = r.omitted, r.cleared, r.written
	slices.SortStableFunc(out.Omitted, func(a, b Omission) int { return cmp.Compare(a.Index, b.Index) })
	at := make(map[string]int, len(r.written))
	for i, it := range r.items {
		out.Messages = append(out.Messages, it.msg)
		out.Sources = append(out.Sources, it.source)
		out.Tokens = append(out.Tokens, it.tokens)
		if it.source < 0 {
			at[it.msg.ID] = i
		}
	}
	out.Written = slices.DeleteFunc(slices.Clone(r.written), func(w Written) bool { _, stands := at[w.ID]; return !stands })
	for i := range out.Written {
		out.Written[i].Index = at[out.Written[i].ID]
	}
	return out
}
