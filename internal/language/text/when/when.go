// Package when reads the times that words name, in English, Spanish, German, Korean, Japanese and Chinese, without a
// model. It is pure: equal words at an equal time have equal results.
//
// A language is a list of forms, such as "{count} {unit} {ago}", over lists of words. All languages share one meaning of
// their fields, so that a language can be added, and read, without knowing calendars.
package when

import (
	"cmp"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/language/text"
)

// Mention is a stretch of time that words name, such as "last week" or "in May".
type Mention struct {
	From, To   time.Time // From to before To, in the zone that was asked in
	Start, End int       // bytes of the words that name it
	// Yearless says that the words leave the year open, as "in May" does: From and To are of the latest year that has
	// begun, and the same stretch of any other year is meant as well.
	Yearless bool
	// NextFrom and NextTo are what the words mean when they are of a time to come, of words that leave that open: "on
	// Friday", "the 8th", "in May". Zero elsewhere.
	NextFrom, NextTo time.Time
	// Bounds says that the words only say where something begins or ends, as in "since May" and "before March 8".
	// Of a part of a day they never do: "yesterday before noon" is a time of its own.
	Bounds bool
}

// MaxBytes is how much of a query is looked through.
const MaxBytes = 4000

// Find returns the stretches of time that the beginning of a query names, MaxBytes of it, in the order in which they
// stand there. Of mentions that overlap the longest stands. Times to come, such as "next week", are mentions too.
//
// Days, ISO weeks (which begin on Monday), months and years are those of now's zone. "Last Tuesday" is the latest one
// before today, "next Tuesday" the first one after it; a weekday alone ("on Tuesday") is the latest one before today; on
// a weekend, "last weekend" is the one before. "Two weeks ago" is the whole week, "three months ago" the whole month, and
// "the past two weeks" are the fourteen days before today, and today. "A couple" is two or three, "a few" three to seven.
// Seasons are those of the northern half of the world. The beginning of a month is its first two fifths, and "around" a day
// takes four more on either side. "The 8th" is the latest one that has begun. A part of a day counts beside its day only.
//
// Where words may mean something else nothing is found: "may" and "march" need a preposition, a day or a year beside
// them, other English months that are names of people need one too; 5/8/2023 may be of May or of August; "in two weeks"
// may be a duration; "recently" is too vague.
func Find(query string, now time.Time) []Mention { return Read(query).At(now) }

// Expressions are what the words of a query say of times, whenever they are said.
type Expressions struct {
	words folded
	found []expression
}

// Read looks for the expressions that Find returns. It costs nearly nothing where there are none, so that a caller may
// look up the zone and the time for At afterwards.
func Read(query string) Expressions { return readIn(inQuery, query) }

// kindOfText says what the words are of.
type kindOfText int

const (
	inQuery kindOfText = iota
	inMessage
)

func readIn(in kindOfText, query string) Expressions {
	e := Expressions{words: fold(text.Clip(query, MaxBytes))}
	places := keyPlaces(e.words.text)
	for no, l := range languages() {
		if own := spotsOf(places, no); len(own) > 0 {
			known := len(e.found)
			e.found = l.find(e.found, e.words.text, own, in)
			for i := range e.found[known:] {
				e.found[known+i].language = no
			}
		}
	}
	return e
}

// None reports whether At returns nothing at any time.
func (e Expressions) None() bool { return len(e.found) == 0 }

// At returns which stretches of time the expressions mean at a time: see Find.
func (e Expressions) At(now time.Time) []Mention {
	if e.None() {
		return nil
	}
	var out []Mention
	for _, m := range longest(e.candidates(calendarAt(now))) {
		if !m.decoy {
			out = append(out, Mention{
				From:     m.from,
				To:       m.to,
				Yearless: m.yearless,
				NextFrom: m.nextFrom,
				NextTo:   m.nextTo,
				Start: e.words.starts(
					m.start,
				),
				End:    e.words.ends(m.end),
				Bounds: m.to.Sub(m.from) >= 20*time.Hour && bounds(e.words.text, m.start, m.end),
			})
		}
	}
	return out
}

// candidates are the expressions that mean something in a calendar.
func (e Expressions) candidates(c calendar) []candidate {
	var out []candidate
	for i := range e.found {
		x := &e.found[i]
		meant, ok := stretch{}, x.decoy
		if !ok {
			meant, ok = c.read(x.reading)
		}
		if ok {
			out = append(out, candidate{stretch: meant, start: x.start, end: x.end, decoy: x.decoy, no: i})
		}
	}
	return out
}

// expression is what one form matches, in bytes of the folded text. A decoy is one that only looks like a time, such as
// "2000 people".
type expression struct {
	reading
	start, end int
	decoy      bool
	language   int // its place among the languages
}

// candidate is an expression and what it means.
type candidate struct {
	stretch
	start, end int
	decoy      bool
	no         int // of the expression
}

// longest drops what overlaps a longer candidate, and orders what is left by place. Of equally long ones the earlier
// form stands.
func longest(all []candidate) []candidate {
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.end-b.start, a.end-a.start) })
	var out []candidate
	for _, c := range all {
		if !slices.ContainsFunc(out, func(o candidate) bool { return c.start < o.end && o.start < c.end }) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b candidate) int { return cmp.Compare(a.start, b.start) })
	return out
}
