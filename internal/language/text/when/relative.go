package when

import "time"

// Grain is how exactly words name a time.
type Grain int

// The grains.
const (
	Day Grain = iota + 1
	Week
	Weekend
	Month
	Season
	Year
)

// Language is one whose words are read.
type Language int

// The languages. Japanese and Chinese share a grammar.
const (
	English Language = iota + 1
	Spanish
	Korean
	Han
)

// Relative is a time that words name by how far it is from when they are said, such as "yesterday", 지난주, 去年の夏 or "el
// viernes pasado".
type Relative struct {
	From, To   time.Time // as of a Mention; a part of a day begins on that day
	Grain      Grain
	Language   Language
	Start, End int // bytes of the words that name it
}

// RelativeAt returns those of the times that At returns which a reader could not place without knowing when the words were
// said, and which are as exact as their grain: neither "in May" nor "a few days ago", "the past two weeks" or "three hours ago".
func (e Expressions) RelativeAt(said time.Time) []Relative {
	if e.None() {
		return nil
	}
	var out []Relative
	for _, m := range longest(e.candidates(calendarAt(said))) {
		x := &e.found[m.no]
		grain, ok := x.relative()
		if !ok || m.decoy || x.language == numeric {
			continue
		}
		out = append(out, Relative{
			From: m.from, To: m.to, Grain: grain, Language: Language(x.language), Start: e.words.starts(m.start), End: e.words.ends(m.end),
		})
	}
	return out
}

// numeric is the place of the dates in digits among the languages, whose others are in the order of Language.
const numeric = 0

// grains are those of the units.
var grains = map[int]Grain{dayUnit: Day, weekUnit: Week, monthUnit: Month, yearUnit: Year}

// relative returns the grain of what the fields mean together, false where they are not relative or vague.
func (r *reading) relative() (Grain, bool) {
	stepped := r.has(step) || r.has(weekStep)
	switch {
	case r.has(rolling), r.has(edge), r.has(about):
		return 0, false
	case r.has(count):
		least, most := r.counts()
		grain, ok := grains[r.unit()]
		return grain, ok && least == most && (r.has(ago) || r.has(ahead))
	case r.has(weekday):
		return Day, stepped
	case r.has(weekend):
		return Weekend, stepped
	case r.has(season):
		return Season, r.has(step) || r.has(yearStep)
	case r.has(month) && r.has(day):
		return Day, r.has(step) || r.has(yearStep)
	case r.has(month):
		return Month, r.has(step) || r.has(yearStep)
	case r.has(day):
		return Day, r.has(monthStep)
	case r.has(unit):
		grain, ok := grains[r.values[unit]]
		return grain, ok
	case r.has(weekStep):
		return Week, true
	case r.has(monthStep):
		return Month, true
	case r.has(yearStep):
		return Year, true
	}
	return Day, r.has(offset) || r.has(part)
}
