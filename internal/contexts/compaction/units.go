package compaction

import (
	"slices"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
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

// units are the units of a mended list.
func (l list) units(head Head, ended func() bool) []unit {
	ends, answered := l.ends(ended)
	var units []unit
	from := 0
	for i := range l {
		if !ends[i] {
			continue
		}
		u := unit{from: from, to: i + 1}
		for j := from; j <= i; j++ {
			it := l[j]
			u.tokens += it.tokens
			u.pinned = u.pinned || it.pinned
			u.summary = u.summary || it.summary
			u.open = u.open || !answered[j]
		}
		units = append(units, u)
		from = i + 1
	}
	l.markHead(units, head)
	l.markTurns(units)
	return units
}

// ends reports behind which items a cut may follow, and which items have no call without a result.
func (l list) ends(ended func() bool) (ends, answered []bool) {
	p := l.pair(ended)
	reach := p.Reach(len(l))
	answered = slices.Repeat([]bool{true}, len(l))
	for _, c := range p.Calls {
		answered[c.At.Message] = answered[c.At.Message] && c.Answered
	}
	for i := range len(l) - 1 {
		if onlyReasons(&l[i].msg) && l[i+1].msg.Role == memory.RoleAssistant {
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
func (l list) markHead(units []unit, head Head) {
	n := 0
	for n < len(units) && l.isSystem(units[n]) {
		units[n].system = true
		n++
	}
	switch {
	case head == HeadSystem:
	case head == HeadSystemOrFirst && n > 0:
	case head == HeadSystemOrFirst:
		if len(units) > 0 {
			units[0].first = true
		}
	default:
		if i := slices.IndexFunc(units, l.isUser); i >= 0 {
			units[i].first = true
		}
	}
}

// markTurns finds words of users and where their turns begin.
func (l list) markTurns(units []unit) {
	for i := range units {
		if !l.isUser(units[i]) {
			continue
		}
		units[i].user = true
		begin := i
		for begin > 0 && !units[begin-1].system && l.isSystem(units[begin-1]) {
			begin--
		}
		units[begin].turn = true
	}
}

// isSystem reports whether a unit is a message of the system or the developer, and no summary.
func (l list) isSystem(u unit) bool {
	role := l[u.from].msg.Role
	return (role == memory.RoleSystem || role == memory.RoleDeveloper) && !u.summary && l[u.from].msg.Origin != memory.OriginRecalled
}

// isUser reports whether a unit begins with a user's own words.
func (l list) isUser(u unit) bool {
	it := l[u.from]
	return !it.summary && it.msg.Origin != memory.OriginRecalled && toolcalls.SpeaksForUser(&it.msg)
}

// keepLead makes sure that what is kept of the units does not begin with the model's words where a user's stood before
// them: then the latest of these is kept too. Summaries, pinned messages and what was recalled may begin a list.
func (l list) keepLead(units []unit, keep []bool) {
	for i, u := range units {
		if !keep[i] || u.system {
			continue
		}
		if u.turn || u.user || u.summary || u.pinned || l[u.from].msg.Role != memory.RoleAssistant {
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
