package history

import (
	"slices"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/toolcalls"
)

// unit is kept or dropped whole: a message, or a calling message with all that is tied to it. The items of a mended
// list are such units, one after the other.
type unit struct {
	from, to int // items, to not included
	tokens   int64
	pinned   bool
	summary  bool
	open     bool // has calls that may still be answered
	system   bool // of the system messages that the list begins with
	first    bool // what Policy.Head keeps beside them
	turn     bool // a turn begins with it: words of a user, or a system message sent right before them
	user     bool // it is words of a user
}

// standing reports whether a unit stays whatever is compressed or trimmed.
func (u unit) standing() bool { return u.system || u.pinned || u.open }

// units are the units of the list.
func (r *run) units() []unit {
	ends, answered := r.ends()
	var units []unit
	from := 0
	for i := range r.items {
		if !ends[i] {
			continue
		}
		u := unit{from: from, to: i + 1}
		for j := from; j <= i; j++ {
			it := r.items[j]
			u.tokens += it.tokens
			u.pinned = u.pinned || it.pinned
			u.summary = u.summary || it.summary
			u.open = u.open || !answered[j]
		}
		units = append(units, u)
		from = i + 1
	}
	r.markHead(units)
	r.markTurns(units)
	return units
}

// ends reports behind which items a cut may follow, and which items have no call without a result.
func (r *run) ends() (ends, answered []bool) {
	p := toolcalls.Pair(len(r.items), func(i int) *memory.Message { return &r.items[i].msg }, r.ended)
	reach := p.Reach(len(r.items))
	answered = slices.Repeat([]bool{true}, len(r.items))
	for _, c := range p.Calls {
		answered[c.At.Message] = answered[c.At.Message] && c.Answered
	}
	for i := range len(r.items) - 1 {
		if onlyReasons(&r.items[i].msg) && r.items[i+1].msg.Role == memory.RoleAssistant {
			reach[i] = max(reach[i], i+1)
		}
	}
	return toolcalls.Ends(reach), answered
}

// onlyReasons reports whether a message is nothing but reasoning, which belongs to the model's next message.
func onlyReasons(m *memory.Message) bool {
	return m.Role == memory.RoleAssistant && len(m.Parts) > 0 &&
		!slices.ContainsFunc(m.Parts, func(p memory.Part) bool { return p.Kind != memory.PartReasoning })
}

// markHead finds the system messages that the list begins with, and what else of its beginning stays.
func (r *run) markHead(units []unit) {
	n := 0
	for n < len(units) && r.isSystem(units[n]) {
		units[n].system = true
		n++
	}
	switch {
	case r.policy.Head == HeadSystem:
	case r.policy.Head == HeadSystemOrFirst && n > 0:
	case r.policy.Head == HeadSystemOrFirst:
		if len(units) > 0 {
			units[0].first = true
		}
	default:
		if i := slices.IndexFunc(units, r.isUser); i >= 0 {
			units[i].first = true
		}
	}
}

// markTurns finds words of users and where their turns begin.
func (r *run) markTurns(units []unit) {
	for i := range units {
		if !r.isUser(units[i]) {
			continue
		}
		units[i].user = true
		begin := i
		for begin > 0 && !units[begin-1].system && r.isSystem(units[begin-1]) {
			begin--
		}
		units[begin].turn = true
	}
}

// isSystem reports whether a unit is a message of the system or the developer, and no summary.
func (r *run) isSystem(u unit) bool {
	role := r.items[u.from].msg.Role
	return (role == memory.RoleSystem || role == memory.RoleDeveloper) && !u.summary && r.items[u.from].msg.Origin != memory.OriginRecalled
}

// isUser reports whether a unit begins with a user's own words.
func (r *run) isUser(u unit) bool {
	it := r.items[u.from]
	return !it.summary && it.msg.Origin != memory.OriginRecalled && toolcalls.SpeaksForUser(&it.msg)
}

// led makes sure that what is kept of the units does not begin with the model's words where a user's stood before
// them: then the latest of these is kept too. Summaries, pinned messages and what was recalled may begin a list.
func (r *run) led(units []unit, keep []bool) {
	for i, u := range units {
		if !keep[i] || u.system {
			continue
		}
		if u.turn || u.user || u.summary || u.pinned || r.items[u.from].msg.Role != memory.RoleAssistant {
			return
		}
		for j := i - 1; j >= 0; j-- {
			if units[j].user {
				keep[j] = true
				return
			}
		}
		return
	}
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
