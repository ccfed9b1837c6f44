package summary

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
	"github.com/stratamem/strata/internal/language/text"
	times "github.com/stratamem/strata/internal/language/text/when"
)

// evidence is what texts support: their words, quantities and dates, and what follows from them.
type evidence struct {
	translated bool            // an answer that is compared with it, or what it was made of, is in another language
	lower      strings.Builder // the texts in lower case
	words      map[string]bool // without possessive endings
	stems      map[string]bool
	capitals   []string // words that were capitalised, in lower case
	initials   strings.Builder
	values     []float64
	counts     map[int]bool // lengths of lists
	clocks     map[int]bool
	dates      map[when]bool
	years      map[int]bool // named ones
}

func newEvidence() *evidence {
	return &evidence{
		words: map[string]bool{}, stems: map[string]bool{}, counts: map[int]bool{1: true, 2: true},
		clocks: map[int]bool{}, dates: map[when]bool{}, years: map[int]bool{},
	}
}

// add adds a text of a time, in the location in which its days are meant; zero when unknown.
func (e *evidence) add(s string, said time.Time) {
	ws := wordsOf(s)
	e.lower.WriteString(strings.ToLower(s) + "\n")
	for _, w := range ws {
		e.addWord(w)
	}
	for _, t := range text.TermsKeepingStopWords(s) {
		e.stems[t] = true
	}
	for _, t := range text.Terms(s) { // decisions are looked for by these
		e.stems[t] = true
	}
	for _, n := range numbersIn(ws) {
		e.values = append(e.values, n.value)
	}
	for _, c := range clocksIn(s) {
		e.clocks[c.minute] = true
	}
	for _, sentence := range text.SentenceSpans(s) {
		e.addCount(sentence.Of(s))
	}
	e.addDates(s, said)
}

func (e *evidence) addWord(w word) {
	e.words[w.lower] = true
	for part := range strings.FieldsFuncSeq(w.lower, func(r rune) bool { return !languagedata.InWord(r) }) {
		e.words[part] = true
	}
	if isUpperFirst(w.text) {
		e.capitals = append(e.capitals, w.lower)
	}
	r, _ := utf8.DecodeRuneInString(w.lower)
	e.initials.WriteRune(r)
}

var listMark = regexp.MustCompile(`,|;|\band\b|\bor\b|&|와 |과 |랑 |하고 |、`)

// addCount takes up how many things a sentence may list: a summary counts what its source lists.
func (e *evidence) addCount(sentence string) {
	n := len(listMark.FindAllString(sentence, -1))
	if n > 0 && n < 10 {
		e.counts[n+1], e.counts[n] = true, true
	}
}

// addDates adds the dates that a text names, and those that it means if it was written on a day.
func (e *evidence) addDates(s string, said time.Time) {
	for _, d := range datesIn(s) {
		e.addDate(d.when, said)
	}
	if said.IsZero() {
		return
	}
	e.dates[dayOf(said)] = true
	e.addDays(s, when{year: said.Year(), month: int(said.Month())})
	e.clocks[said.Hour()%12*60+said.Minute()] = true
	lower := strings.ToLower(s)
	for _, r := range relativeDays() {
		if containsAny(lower, r.words) {
			e.addSpan(said.AddDate(0, 0, r.from), said.AddDate(0, 0, r.to))
		}
	}
	for _, r := range relativePeriods() {
		if containsAny(lower, r.words) {
			e.addDays(s, r.period(said))
		}
	}
	for _, w := range distances(s, said) {
		e.dates[w] = true
	}
	e.addRelative(s, said)
}

// addRelative takes up what relative dates of any language mean: package when reads more languages than the lists above, which
// allow for how loosely English and Korean ones are resolved.
func (e *evidence) addRelative(s string, said time.Time) {
	for _, m := range times.Read(s).RelativeAt(said) {
		first, last := m.From, m.To.Add(-time.Nanosecond)
		switch m.Grain {
		case times.Day, times.Week, times.Weekend:
			e.addSpan(first, last)
		case times.Month:
			e.addDays(s, when{year: first.Year(), month: int(first.Month())})
		case times.Season:
			e.dates[when{year: first.Year()}], e.dates[when{year: last.Year()}] = true, true
			for month := first; month.Before(last); month = month.AddDate(0, 1, 0) {
				e.dates[when{year: month.Year(), month: int(month.Month())}] = true
			}
		case times.Year:
			e.dates[when{year: first.Year()}] = true
		}
	}
}

// dayOfMonth is a day without its month, such as the 10th.
var dayOfMonth = regexp.MustCompile(`(\d{1,2})(?:st|nd|rd|th|[일日号號])`)

// addDays takes up a month or year that is meant, and the days of the month that a text names beside it.
func (e *evidence) addDays(s string, meant when) {
	e.dates[meant] = true
	for _, m := range dayOfMonth.FindAllStringSubmatch(s, -1) {
		if d := smallCount(m[1]); meant.month > 0 && d <= 31 {
			e.dates[when{year: meant.year, month: meant.month, day: d}.whole()] = true
		}
	}
}

// addDate takes up a named date. Without a year it may be the one before or after, too; a weekday may be that of the
// week before or of the two to come.
func (e *evidence) addDate(w when, said time.Time) {
	e.dates[w.whole()] = true
	if w.year > 0 {
		e.years[w.year] = true
	}
	if said.IsZero() {
		return
	}
	if w.weekday > 0 && w.day == 0 {
		for d := -7; d <= 13; d++ {
			if day := dayOf(said.AddDate(0, 0, d)); day.weekday == w.weekday {
				e.dates[day] = true
			}
		}
	}
	if w.year == 0 && w.month > 0 {
		delete(e.dates, w)
		for _, y := range []int{said.Year() - 1, said.Year(), said.Year() + 1} {
			e.dates[when{year: y, month: w.month, day: w.day}.whole()] = true
		}
	}
}

// maxSpanDays is the longest span of which each day is known.
const maxSpanDays = 62

func (e *evidence) addSpan(from, to time.Time) {
	for i := 0; i <= maxSpanDays && !to.Before(from); i++ {
		e.dates[dayOf(from)] = true
		from = from.AddDate(0, 0, 1)
	}
}

// hasDate reports whether a date is known or follows.
func (e *evidence) hasDate(asked when) bool {
	for known := range e.dates {
		if known.has(asked) {
			return true
		}
	}
	return false
}

// hasDay reports whether some known date is on that day of a month.
func (e *evidence) hasDay(day int) bool { return e.hasDate(when{day: day}) }

func (e *evidence) hasValue(v float64) bool { return slices.Contains(e.values, v) }

// isNear reports whether v rounds a known quantity: within a tenth of it.
func (e *evidence) isNear(v float64) bool {
	return slices.ContainsFunc(e.values, func(known float64) bool { return known >= 5 && math.Abs(v-known) <= known/10 })
}

// unitRatios turn minutes into hours, days into weeks and months into years.
var unitRatios = []float64{60, 7, 12, 24, 10}

func (e *evidence) isConverted(v float64) bool {
	return slices.ContainsFunc(unitRatios, func(by float64) bool { return e.hasValue(v*by) || e.hasValue(v/by) })
}

// isSpan reports whether v is the time between a named year and a known date.
func (e *evidence) isSpan(v float64) bool {
	for y := range e.years {
		for d := range e.dates {
			if d.year > 0 && float64(d.year-y) == v {
				return true
			}
		}
	}
	return false
}

// hasName reports whether the texts have a word that looks like a name: as it is, inflected, shortened, in parts, or as
// initials.
func (e *evidence) hasName(w word) bool {
	if e.words[w.lower] || e.hasParts(w.lower) {
		return true
	}
	for _, t := range text.TermsKeepingStopWords(w.lower) {
		if e.stems[t] {
			return true
		}
	}
	if n := utf8.RuneCountInString(w.text); n >= 3 && n <= 6 && strings.ToUpper(w.text) == w.text {
		return strings.Contains(e.initials.String(), w.lower)
	}
	return slices.ContainsFunc(e.capitals, func(known string) bool { return sameName(known, w.lower) })
}

// hasParts reports whether each part of a bound word such as LGBTQ-friendly is known.
func (e *evidence) hasParts(w string) bool {
	parts := strings.FieldsFunc(w, func(r rune) bool { return !languagedata.InWord(r) })
	if len(parts) < 2 {
		return false
	}
	return !slices.ContainsFunc(parts, func(p string) bool { return !e.words[p] })
}

// sameName reports whether two names are forms of one: Mel and Melanie, Sweden and Swedish.
func sameName(a, b string) bool {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	whole := n == min(len(a), len(b)) && n >= 3
	return whole || n >= 4 && n >= max(len(a), len(b))-4
}

// hasText reports whether the texts hold s, whatever the case.
func (e *evidence) hasText(s string) bool {
	return strings.Contains(e.lower.String(), strings.ToLower(s))
}

// isScript reports whether s has letters of a script.
func isScript(s string, script *unicode.RangeTable) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(script, r) })
}
