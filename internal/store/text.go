package store

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/memory"
)

// MaxTextTerm is how long a term of a TextRow or a TextSearch may be, in bytes: an analyzer that only splits at blanks
// leaves shorter ones whole (Lucene's whitespace tokenizer cuts at 255 characters).
const MaxTextTerm = 255

// MaxTextLimit is the most that a TextSearch may ask for.
const MaxTextLimit = 1000

// The errors of what must not reach a text view. None repeats what was given.
var (
	ErrTextKey   = errors.New("a key of a text view was not minted here")
	ErrTextTerm  = errors.New("a term of a text view is empty, too long, not UTF-8, or has a blank in it")
	ErrTextSpace = errors.New("a space of a text view is of the transcript or of facts, with a build of at least 1")
)

// Check refuses a space that cannot be.
func (s TextSpace) Check() error {
	if s.Build < 1 || s.View != memory.ViewTranscript && s.View != memory.ViewFacts {
		return ErrTextSpace
	}
	return nil
}

// Check refuses a row that does not fit the view: other keys than minted ones, a place or a fact that is missing or too
// much, a revision below 1, a term that would not stay one.
func (r TextRow) Check(view memory.View) error {
	if r.Revision < 1 {
		return fmt.Errorf("a row of a text view has revision %d, and 1 is the first", r.Revision)
	}
	if err := checkTextKeys(view, r.Scope, r.Place, r.FactID); err != nil {
		return err
	}
	if view == memory.ViewTranscript && r.Place.Seq < 1 {
		return ErrTextKey
	}
	return CheckTerms(r.Terms)
}

// CheckRemoved refuses what names no row of the view: of the transcript a place, or with Seq 0 a whole session; of facts
// a fact.
func (r RowState) CheckRemoved(view memory.View, scope memory.ScopeKey) error {
	if r.Place.Seq < 0 {
		return ErrTextKey
	}
	return checkTextKeys(view, scope, r.Place, r.FactID)
}

func checkTextKeys(view memory.View, scope memory.ScopeKey, place memory.Place, fact string) error {
	named, other := string(place.Session), fact
	if view == memory.ViewFacts {
		named, other = fact, string(place.Session)
	}
	if !MintedKey(string(scope)) || !MintedKey(named) || other != "" {
		return ErrTextKey
	}
	return nil
}

// Check refuses a search that names other keys than minted ones, has a limit outside of 1 to MaxTextLimit, terms that would not
// stay one, or asks facts for what messages have.
func (q TextSearch) Check() error {
	if err := q.Space.Check(); err != nil {
		return err
	}
	if q.Limit < 1 || q.Limit > MaxTextLimit {
		return fmt.Errorf("a search of a text view asks for %d rows, not 1 to %d", q.Limit, MaxTextLimit)
	}
	if !MintedKey(string(q.Scope)) {
		return ErrTextKey
	}
	for _, s := range q.Sessions {
		if !MintedKey(string(s)) {
			return ErrTextKey
		}
	}
	if err := q.checkOrder(); err != nil {
		return err
	}
	for _, group := range q.Required {
		if err := CheckTerms(group); err != nil {
			return err
		}
	}
	return CheckTerms(q.Terms)
}

// checkOrder refuses what the search's order does not have.
func (q TextSearch) checkOrder() error {
	byCount := q.Order == TextOrderByCount
	switch {
	case byCount && q.Space.View != memory.ViewTranscript:
		return errors.New("a search of a text view asks for facts in the order of messages")
	case !byCount && (q.Unmatched || q.After != nil):
		return errors.New("a search of a text view asks for what only the order by count has")
	case q.After != nil && !MintedKey(string(q.After.Place.Session)):
		return ErrTextKey
	}
	return nil
}

// CheckTerms refuses terms that would not stay one each when they are joined by blanks: it takes for a blank what either
// Go's unicode.IsSpace or Java's Character.isWhitespace does.
func CheckTerms(terms []string) error {
	for _, t := range terms {
		if t == "" || len(t) > MaxTextTerm || !utf8.ValidString(t) || strings.ContainsFunc(t, isBlank) {
			return ErrTextTerm
		}
	}
	return nil
}

// isBlank counts U+001C to U+001F, which are separators to Java only, and U+180E, which was a space before Unicode 6.3.
func isBlank(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f || r == 0x180e
}
