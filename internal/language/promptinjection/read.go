package promptinjection

import "strings"

// Reading is a statement as it is judged.
type Reading struct {
	// Words is the statement in NFKC and lower case, with look-alike letters, accents of Latin letters, invisible characters
	// and letters set apart undone, and single blanks between words.
	Words string
	// Features are what the word lists find in it, in order. They are numbers whose meaning may change with every version.
	Features []uint8
	// Pleasantries: nothing but greetings, thanks and answers to such.
	Pleasantries bool
	// SmallTalk: it is a question, or has nothing but greetings, thanks and answers to such.
	SmallTalk bool
	// Wish: it says how its speaker wishes to be answered, see IsWish.
	Wish bool
	// Directive is what the statement would have its reader do.
	Directive Directive
}

// Read reads a statement.
func Read(statement string) Reading {
	folded := fold(statement)
	r := newReading(folded)
	out := Reading{
		Words: strings.Join(joinLetters(strings.Fields(folded)), " "), Pleasantries: r.pleasantries, SmallTalk: r.has[asks] || r.pleasantries,
		Wish: isWish(&r.has), Directive: directiveOf(folded, r),
	}
	for f, has := range r.has {
		// A list of what may stand beside a greeting means nothing alone, nor does how whom a statement is about is called.
		if has && feature(f) != pleasant && feature(f) != theUser {
			out.Features = append(out.Features, uint8(f))
		}
	}
	return out
}
