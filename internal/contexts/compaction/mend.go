package compaction

import (
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// mend makes the list one that providers accept: every call is followed by its results, except calls at the end whose
// results may still come, and every result has its call. Other content of a message stays. A system message that is in the
// list already is dropped: some clients send it before every turn.
func (r *run) mend(tied map[int]bool) {
	before := r.actual()
	m := mender{run: r, pairing: r.items.pair(r.ended), tied: tied, open: r.items.openFrom()}
	m.dropParts()
	m.dropMessages()
	if m.changed {
		m.pairing = r.items.pair(r.ended)
	}
	m.order()
	after := r.actual()
	r.slack = toolcalls.Size{Messages: before.Messages - after.Messages, Tokens: before.Tokens - after.Tokens}
	if m.changed {
		r.effects = append(r.effects, Effect{Stage: StageMend, Triggered: true, Before: before, After: after})
	}
}

type mender struct {
	*run
	pairing *toolcalls.Pairing
	tied    map[int]bool // messages of the history that are tied to hidden ones
	open    int          // the calls of items from here on may still be answered
	changed bool
}

// openFrom is the index of the calling message that only results follow, the number of items without one.
func (l list) openFrom() int {
	for i := len(l) - 1; i >= 0; i-- {
		m := &l[i].msg
		switch {
		case m.Role == memory.RoleAssistant && len(m.ToolCalls()) > 0:
			return i
		case len(m.ToolResults()) == 0 || slices.ContainsFunc(m.Parts, toolcalls.Says):
			return len(l)
		}
	}
	return len(l)
}

// dropParts drops results without a call, calls without a result, and the reasoning of a message that loses its calls:
// providers refuse it without what followed from it.
func (m *mender) dropParts() {
	for i := range m.items {
		it := m.items[i]
		kept, why := m.keptParts(i)
		if why == "" {
			continue
		}
		if !slices.ContainsFunc(kept, func(p memory.Part) bool { return p.Kind == memory.PartToolCall }) {
			kept = slices.DeleteFunc(kept, func(p memory.Part) bool { return p.Kind == memory.PartReasoning })
		}
		m.changed = true
		m.replaceParts(it, kept)
		stage := StageMend
		if m.tied[it.source] {
			stage, why = StageHide, ReasonTied
		}
		m.omit(it, stage, why)
	}
}

// keptParts returns the parts of an item that stay, and why others do not, "" when all do.
func (m *mender) keptParts(i int) (kept []memory.Part, why Reason) {
	if !slices.ContainsFunc(m.items[i].msg.Parts, func(p memory.Part) bool { return p.Kind.IsTool() }) {
		return nil, ""
	}
	for j, p := range m.items[i].msg.Parts {
		switch {
		case p.Kind == memory.PartToolCall && !m.keepsCall(i, j):
			why = ReasonUnanswered
			continue
		case p.Kind == memory.PartToolResult:
			if _, answers := m.pairing.CallOf(toolcalls.Ref{Message: i, Part: j}); !answers {
				why = ReasonOrphan
				continue
			}
		}
		kept = append(kept, p)
	}
	return kept, why
}

// keepsCall reports whether a call stays: it is answered, or may still be. Nobody but an assistant calls.
func (m *mender) keepsCall(item, part int) bool {
	c, calls := m.pairing.CallAt(toolcalls.Ref{Message: item, Part: part})
	return calls && (c.Answered || item >= m.open)
}

// dropMessages drops messages that nothing is left of, reasoning that nothing followed from, and system messages that are
// in the list already.
func (m *mender) dropMessages() {
	said := map[string]bool{}
	gone := make([]Reason, len(m.items))
	for i := len(m.items) - 1; i >= 0; i-- {
		msg := &m.items[i].msg
		next := i + 1
		for next < len(m.items) && gone[next] != "" {
			next++
		}
		switch {
		case !carries(msg):
			gone[i] = ReasonEmpty
		case onlyReasons(msg) && (next == len(m.items) || m.items[next].msg.Role != memory.RoleAssistant):
			gone[i] = ReasonUnanswered
		}
	}
	for i := range m.items {
		it := m.items[i]
		if it.msg.Role != memory.RoleSystem && it.msg.Role != memory.RoleDeveloper || it.summary || gone[i] != "" {
			continue
		}
		words := it.msg.PlainText()
		if said[words] && !it.pinned {
			gone[i] = ReasonRepeated
		}
		said[words] = true
	}
	m.dropGone(gone)
}

// dropGone drops the messages with a reason. One whose parts were dropped is listed already.
func (m *mender) dropGone(gone []Reason) {
	if !slices.ContainsFunc(gone, func(why Reason) bool { return why != "" }) {
		return
	}
	listed := map[int]bool{}
	for _, o := range m.omitted {
		listed[o.Index] = true
	}
	var kept list
	for i := range m.items {
		it := m.items[i]
		if gone[i] == "" {
			kept = append(kept, it)
			continue
		}
		m.changed = true
		if !listed[it.source] {
			m.omit(it, StageMend, gone[i])
		}
	}
	m.items = kept
}

// carries reports whether anything in a message can be part of a model's input.
func carries(m *memory.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p memory.Part) bool { return p.Kind != memory.PartText || toolcalls.Says(p) })
}

// order puts results right behind their calls. A message with results of several calling messages is divided among them.
func (m *mender) order() {
	callers := map[int][]int{} // calling messages by the message with their results, both as indices
	results := make([][]int, len(m.items))
	for i := range m.items {
		results[i] = m.pairing.ResultsOf(i)
		for _, r := range results[i] {
			callers[r] = append(callers[r], i)
		}
	}
	ordered := make(list, 0, len(m.items))
	for i := range m.items {
		if len(callers[i]) > 0 {
			continue // comes with its caller
		}
		ordered = append(ordered, m.items[i])
		slices.Sort(results[i])
		for _, r := range results[i] {
			ordered = append(ordered, m.share(r, i, callers[r]))
		}
	}
	if !slices.EqualFunc(ordered, m.items, func(a, b *item) bool { return a.msg.ID == b.msg.ID }) {
		m.changed = true
	}
	m.items = ordered
}

// share returns the item with results that follows a calling message: all of it, or, where it has results for several of
// them, those for this one. The last of them gets the item's other content, and its id.
func (m *mender) share(r, caller int, callers []int) *item {
	if len(callers) < 2 {
		return m.items[r]
	}
	it := *m.items[r]
	last := slices.Max(callers) == caller
	var parts []memory.Part
	for j, p := range it.msg.Parts {
		c, answers := m.pairing.CallOf(toolcalls.Ref{Message: r, Part: j})
		if answers && c.At.Message == caller || !answers && last {
			parts = append(parts, p)
		}
	}
	if !last {
		it.msg.ID = fmt.Sprintf("%s/%d", it.msg.ID, slices.Index(callers, caller)+1)
	}
	m.replaceParts(&it, parts)
	return &it
}
