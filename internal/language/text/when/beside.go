package when

import (
	"regexp"
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// mostBetween is the most bytes between a day and what belongs to it.
const mostBetween = 14

// between is what may stand there.
var between = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:[ ,]|` + strings.Join(languagedata.AllWords(languagedata.BetweenTimes), "|") + `)*$`)
})

// joinBeside appends, of the expressions from a place on, those that what stands beside them makes more exact: the day of "in the
// small hours of March 8" with its part, and what "around" widens.
func joinBeside(out []expression, from int, beside []expression, s string) []expression {
	for _, b := range beside {
		for _, x := range out[from:] {
			start, end := min(b.start, x.start), max(b.end, x.end)
			gapFrom, gapTo := min(b.end, x.end), max(b.start, x.start)
			if gapTo < gapFrom || gapTo-gapFrom > mostBetween || !x.takes(&b.reading) || !between().MatchString(s[gapFrom:gapTo]) {
				continue
			}
			joined := x.reading
			for f := range fields {
				if b.has(f) {
					joined.is[f], joined.values[f] = true, b.values[f]
				}
			}
			out = append(out, expression{reading: joined, start: start, end: end})
		}
	}
	return out
}

// takes reports whether what stands beside a reading can be of it: a part of a day is of a day, and "around" is not said
// twice.
func (r *reading) takes(beside *reading) bool {
	switch {
	case beside.has(part):
		return r.isDay() && !r.has(part) && !r.has(about)
	case beside.has(about):
		return (r.isDay() || r.has(month) || r.has(holiday)) && !r.has(part) && !r.has(about)
	}
	return false
}

// isDay reports whether a reading names one day.
func (r *reading) isDay() bool {
	return !r.has(rolling) && !r.has(count) && (r.has(weekday) || r.has(day) || r.has(offset))
}
