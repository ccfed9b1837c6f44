// Package retention finds what was kept for as long as its policy says, and has it erased.
package retention

import (
	"cmp"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/memory"
)

// Rule is why something is due.
type Rule string

// The rules.
const (
	RuleSessionAge  Rule = "session_age"  // nobody spoke in the session for longer than retention.sessions
	RuleMessageAge  Rule = "message_age"  // the messages are older than retention.messages
	RuleMaxMessages Rule = "max_messages" // the user has more messages than retention.max-messages
	RuleFactAge     Rule = "fact_age"     // the fact, or one of its category, is older than it may become
	RuleUnused      Rule = "unused"       // no context had the fact for longer than retention.unused
	RuleMaxFacts    Rule = "max_facts"    // the user has more facts than retention.max-facts
	RuleAuditAge    Rule = "audit_age"    // the entry of the audit is older than audit-retention
)

// isSessionDue reports whether nobody spoke in the session for too long. One without messages counts from its last change.
func isSessionDue(p contextprofile.Retention, s memory.Session, now time.Time) bool {
	last := s.LastMessageTime
	if last.IsZero() {
		last = s.UpdateTime
	}
	return isOver(p.Sessions, last, now)
}

// isOver reports whether a time was longer ago than the age, where there is one.
func isOver(age time.Duration, since, now time.Time) bool { return age > 0 && now.Sub(since) > age }

// oldMessages are those of a session's messages, in order, that are too old: from the oldest up to the first that is not, so that no hole
// is left in a conversation. Pinned ones stay.
func oldMessages(p contextprofile.Retention, messages []memory.Message, now time.Time) (due []memory.SeqRange, end bool) {
	for _, m := range messages {
		switch {
		case m.Deleted, m.Pinned:
		case isOver(p.Messages, m.SaidTime(), now):
			due = memory.WithSeq(due, m.Seq)
		default:
			return due, true
		}
	}
	return due, false
}

// firstMessages are the first n of a session's messages, in order, that are not deleted. Pinned ones stay.
func firstMessages(messages []memory.Message, n int64) (due []memory.SeqRange, taken int64) {
	for _, m := range messages {
		if taken == n {
			break
		}
		if m.Deleted || m.Pinned {
			continue
		}
		due = memory.WithSeq(due, m.Seq)
		taken++
	}
	return due, taken
}

// places are where messages are.
type places map[memory.Place]bool

// taughtPinned are the messages that pinned facts have as evidence: a fact goes with the last message that states it, so they stay.
func taughtPinned(facts []memory.Fact) places {
	taught := places{}
	for _, f := range facts {
		if !f.Pinned {
			continue
		}
		for _, e := range f.Evidence {
			taught[e.Place()] = true
		}
	}
	return taught
}

// pin returns messages of a session with those of the places as pinned ones.
func (p places) pin(session memory.SessionKey, messages []memory.Message) []memory.Message {
	for i := range messages {
		messages[i].Pinned = messages[i].Pinned || p[memory.Place{Session: session, Seq: messages[i].Seq}]
	}
	return messages
}

// dueFact is a fact that is due.
type dueFact struct {
	ID   string
	Rule Rule
}

// dueFacts are the user's facts that are due. Pinned ones stay, whatever the rules say, and so do those that a person wrote or edited, but
// for the rules of age.
func dueFacts(p contextprofile.Retention, facts []memory.Fact, now time.Time) []dueFact {
	var due []dueFact
	var left []memory.Fact
	for _, f := range facts {
		switch {
		case f.Pinned:
		case isOver(ageOf(p, f.Category), contextprofile.LastStated(f), now):
			due = append(due, dueFact{f.ID, RuleFactAge})
		case p.IsUnused(f, now):
			due = append(due, dueFact{f.ID, RuleUnused})
		default:
			left = append(left, f)
		}
	}
	return append(due, excess(p, len(facts)-len(due), left)...)
}

// ageOf is how old a fact of the category may become; 0 for any age.
func ageOf(p contextprofile.Retention, c memory.Category) time.Duration {
	var own time.Duration
	switch c {
	case memory.CategoryPreference:
		own = p.Categories.Preference
	case memory.CategoryPersonalInfo:
		own = p.Categories.PersonalInfo
	case memory.CategoryGoal:
		own = p.Categories.Goal
	case memory.CategoryPainPoint:
		own = p.Categories.PainPoint
	case memory.CategoryDecision:
		own = p.Categories.Decision
	case memory.CategoryOther:
		own = p.Categories.Other
	}
	return cmp.Or(own, p.Facts)
}

// excess are the facts above the greatest number: first those that hold no more, then the least significant, then the oldest. all counts
// pinned ones too.
func excess(p contextprofile.Retention, all int, facts []memory.Fact) []dueFact {
	over := all - p.MaxFacts
	if p.MaxFacts == 0 || over <= 0 {
		return nil
	}
	facts = slices.DeleteFunc(slices.Clone(facts), func(f memory.Fact) bool { return f.Protected })
	slices.SortFunc(facts, func(a, b memory.Fact) int {
		return cmp.Or(
			compareBool(a.IsCurrent(), b.IsCurrent()), cmp.Compare(a.Significance, b.Significance),
			contextprofile.LastStated(a).Compare(contextprofile.LastStated(b)), cmp.Compare(a.ID, b.ID),
		)
	})
	var due []dueFact
	for _, f := range facts[:min(over, len(facts))] {
		due = append(due, dueFact{f.ID, RuleMaxFacts})
	}
	return due
}

// compareBool puts false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
