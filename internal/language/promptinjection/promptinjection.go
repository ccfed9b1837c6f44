// Package promptinjection separates statements about a person from what would make a reader of them do something: give a
// permission, pay, send words away, change what is remembered, use a tool, show another user's data, leave safety
// aside. It is pure, and judges by features: who acts, in what mood, on what, how far. The lists are in English, Spanish,
// Korean, Japanese and Chinese; in other languages only links, accounts, code and marks of prompts are seen.
package promptinjection

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
	folded := fold(statement)
	return directiveOf(folded, newReading(folded))
}

// directiveOf judges a statement as it is written, and with digits read as the letters they look like where that makes a
// difference.
func directiveOf(folded string, written *reading) Directive {
	if d := written.directive(); d != None {
		return d
	}
	if plain := withoutDigits(folded); plain != folded {
		return newReading(plain).directive()
	}
	return None
}

func (r *reading) directive() Directive {
	for i := range rules {
		if rules[i].fits(&r.has) {
			return rules[i].kind
		}
	}
	if orders(&r.has) {
		return Order
	}
	return None
}

// orders reports whether a statement speaks to its reader or says what an assistant is to do, other than how to answer or
// how code is to be written.
func orders(f *features) bool {
	if isWish(f) || f[project] && !f.any(aimed) {
		return false
	}
	return f.any(spoken) || f[readerActs] && (f.any(told) || f[able] && f.any(powers))
}

// IsWish reports whether a statement says how its speaker wishes to be answered: how long, in what language, tone or form.
func IsWish(statement string) bool { return isWish(&newReading(fold(statement)).has) }

func isWish(f *features) bool {
	return f[style] && (f[plea] || f[reply] && f.any(asked))
}

// IsProject reports whether a statement is about code under development and how it is worked on.
func IsProject(statement string) bool { return newReading(fold(statement)).has[project] }

// IsSpoken reports whether a statement speaks to its reader, as "always answer in German" does, and "prefers short
// answers" does not.
func IsSpoken(statement string) bool {
	return newReading(fold(statement)).has.any(of(imperative, plea, you))
}

// IsVital reports whether a statement is about a name, somebody's health or family: what matters to every question.
func IsVital(statement string) bool {
	return readWords(fold(statement)).has.any(of(name, health, family))
}

// IsPleasantry reports whether a statement has nothing but greetings, thanks, laughter, acknowledgements and what answers
// such: nothing of it is worth keeping. A text without letters and digits is one.
func IsPleasantry(statement string) bool { return readWords(fold(statement)).pleasantries }
