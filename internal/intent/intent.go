// Package intent tells statements about a person from what would make a reader of them do something: give a
// permission, pay, send words away, change what is remembered, use a tool, show another user's data, leave safety
// aside. It is pure, and judges by features: who acts, in what mood, on what, how far. The lists are in English, Spanish,
// Korean, Japanese and Chinese; in other languages only links, accounts, code and marks of prompts are seen.
package intent

// Directive is what a statement would have its reader do.
type Directive string

// The directives.
const (
	None       Directive = ""
	Override   Directive = "override"   // takes instructions, rules or all memory away, sets up a role, or rates itself
	Order      Directive = "order"      // tells an assistant what to do
	Permission Directive = "permission" // gives one ahead of time
	Payment    Directive = "payment"    // moves money, or names where to
	Credential Directive = "credential" // has a secret sent or typed
	Exfiltrate Directive = "exfiltrate" // sends what was said elsewhere
	Memory     Directive = "memory"     // says what is remembered or forgotten
	Tool       Directive = "tool"       // has a tool used
	OtherUsers Directive = "other_users"
	Safety     Directive = "safety" // leaves out warnings, refusals or limits
)

// DirectiveOf returns what a statement would have its reader do, None for an ordinary statement. A wish about how to be
// answered is an ordinary one.
func DirectiveOf(statement string) Directive {
	for _, r := range readings(statement) {
		for _, a := range accusations {
			if a.fits(r) {
				return a.kind
			}
		}
		if !isWish(r) && (you.in(r) || imperative.in(r) || plea.in(r) || tellsReader.in(r) || readerActs.in(r) && (wish.in(r) || must.in(r) || able.in(r) || pretend.in(r))) {
			return Order
		}
	}
	return None
}

// IsWish reports whether a statement says how its speaker wishes to be answered: how long, in what language, tone or form.
func IsWish(statement string) bool { return isWish(newReading(fold(statement))) }

func isWish(r reading) bool {
	return style.in(r) && (plea.in(r) || reply.in(r) && (wish.in(r) || must.in(r) || imperative.in(r)))
}

// IsVital reports whether a statement is about a name, somebody's health or family: what matters to every question.
func IsVital(statement string) bool {
	r := newReading(fold(statement))
	return name.in(r) || health.in(r) || family.in(r)
}

// IsSmallTalk reports whether a statement is a question, or has nothing but greetings, thanks and answers to such.
func IsSmallTalk(statement string) bool {
	r := newReading(fold(statement))
	return asks.in(r) || pleasant.only(r)
}

// accusation is a rule of what makes a statement one of a kind.
type accusation struct {
	kind Directive
	fits func(reading) bool
}

// accusations are looked at in order; the first that fits names the kind.
var accusations = []accusation{
	{Override, func(r reading) bool { return marks.in(r) || instructions.in(r) && drop.in(r) && overridden(r) }},
	{Override, func(r reading) bool { return mode.in(r) && (you.in(r) || reader.in(r) || wish.in(r) || must.in(r)) }},
	{Override, func(r reading) bool {
		return reader.in(r) && (instructions.in(r) && off.in(r) || maker.in(r) && theUser.in(r))
	}},
	{Override, func(r reading) bool { return blob.in(r) && obey.in(r) || pretend.in(r) && reader.in(r) }},
	{Override, func(r reading) bool { return rate.in(r) }},
	{Memory, func(r reading) bool { return memory.in(r) && permanent.in(r) }},
	{Memory, func(r reading) bool {
		return memory.in(r) && drop.in(r) && (wish.in(r) || must.in(r) || newest.in(r) || all.in(r) || you.in(r))
	}},
	{Memory, func(r reading) bool { return memory.in(r) && keep.in(r) && (must.in(r) || imperative.in(r)) }},
	{Credential, func(r reading) bool {
		return credential.in(r) && (send.in(r) || enter.in(r) || link.in(r) || talk.in(r))
	}},
	{Payment, func(r reading) bool { return account.in(r) || money.in(r) && (unasked.in(r) || moved(r)) }},
	{Exfiltrate, func(r reading) bool {
		return send.in(r) && talk.in(r) && (away.in(r) || all.in(r) && (wish.in(r) || must.in(r)))
	}},
	{Exfiltrate, func(r reading) bool {
		return link.in(r) && (talk.in(r) || all.in(r) || image.in(r) || must.in(r) || wish.in(r) || grant.in(r) || run.in(r) || reader.in(r))
	}},
	{OtherUsers, func(r reading) bool { return others.in(r) && private.in(r) && (look.in(r) || able.in(r) || wish.in(r)) }},
	{OtherUsers, func(r reading) bool { return others.in(r) && grant.in(r) }},
	{Safety, func(r reading) bool { return guards.in(r) && off.in(r) }},
	{Safety, func(r reading) bool {
		return warnings.in(r) && off.in(r) && (refusals.in(r) || must.in(r) || talk.in(r) || guards.in(r) || grant.in(r))
	}},
	{Tool, func(r reading) bool {
		return code.in(r) || database.in(r) && wipe.in(r) || open.in(r) && links.in(r) && all.in(r)
	}},
	{Tool, func(r reading) bool {
		return tool.in(r) && run.in(r) && (wish.in(r) || must.in(r) || all.in(r) || reader.in(r))
	}},
	{Tool, func(r reading) bool { return tool.in(r) && open.in(r) && (wish.in(r) || must.in(r)) && all.in(r) }},
	{Payment, func(r reading) bool { return purse.in(r) && (unchecked.in(r) || unasked.in(r) || reader.in(r)) }},
	{Permission, func(r reading) bool { return unchecked.in(r) && reader.in(r) }},
	{Permission, func(r reading) bool { return spared.in(r) || grant.in(r) && all.in(r) && requests.in(r) }},
	{Permission, func(r reading) bool {
		return unasked.in(r) && (grant.in(r) || wish.in(r) || must.in(r) || all.in(r) || reader.in(r))
	}},
	{Permission, func(r reading) bool {
		return grant.in(r) && (unchecked.in(r) || all.in(r) && (reader.in(r) || talk.in(r) || tool.in(r)))
	}},
	{Permission, func(r reading) bool {
		return admin.in(r) && (unchecked.in(r) || grant.in(r) || tool.in(r) || all.in(r))
	}},
}

// overridden: whose rules they are, so that who ignores traffic rules stands.
func overridden(r reading) bool {
	return r.disguised || newest.in(r) || all.in(r) || reader.in(r) || you.in(r) || system.in(r)
}

// moved: money is said to go somewhere by itself.
func moved(r reading) bool {
	asked := wish.in(r) || must.in(r) || grant.in(r)
	return asked && (unchecked.in(r) || all.in(r) || credential.in(r))
}
