package rank

import (
	"time"

	"github.com/stratamem/strata/internal/language/text/when"
)

// What a message's time counts that lies in, or after, a time that the query names. Source: measured on LoCoMo with
// months and years as names.
const (
	shareWithin = 1
	shareSoon   = .5 // as long after it as it lasts, at most a month: people speak of what happened a while ago
	shareYear   = .3 // within a year or longer, which says little
)

const (
	maxSoon  = 31 * 24 * time.Hour
	yearLong = 360 * 24 * time.Hour
	// maxYears is how many years back a stretch without a year may be meant.
	maxYears = 100
	// perYear is a mean year of the Gregorian calendar, in milliseconds.
	perYear = 31_556_952_000
)

// stretch is a time that a query names, in milliseconds since 1970.
type stretch struct {
	from, to, soon int64 // to and soon excluded
	year           bool  // it is as long as a year
}

// NamedTime is the same stretch of one or several years, one for each year, the latest first.
type NamedTime []stretch

// NamedTimes returns, for each mention, the stretches of time that it may mean.
func NamedTimes(mentions []when.Mention) []NamedTime {
	out := make([]NamedTime, len(mentions))
	for i, m := range mentions {
		years := 1
		if m.Yearless {
			years = maxYears
		}
		for back := range years {
			out[i] = append(out[i], yearsBefore(m.From, m.To, back))
		}
	}
	return out
}

// yearsBefore is the same stretch so many years earlier: whole months with all of their days, else the same days of the
// month. It is the zero stretch, in which nothing lies, where that year has no 29 February to begin it.
func yearsBefore(from, to time.Time, years int) stretch {
	first, end := from.AddDate(-years, 0, 0), to.AddDate(-years, 0, 0)
	if first.Day() != from.Day() {
		return stretch{}
	}
	if from.Day() > 1 {
		end = to.AddDate(0, 0, -1).AddDate(-years, 0, 0).AddDate(0, 0, 1)
	}
	return newStretch(first, end)
}

func newStretch(from, to time.Time) stretch {
	length := to.Sub(from)
	s := stretch{from: ceilMillis(from), to: ceilMillis(to), year: length >= yearLong}
	s.soon = s.to
	if !s.year {
		s.soon = ceilMillis(to.Add(min(length, maxSoon)))
	}
	return s
}

// share is how well a time fits, 0 to 1. Of several years only those about it are looked at.
func (n NamedTime) share(millis int64) float64 {
	at := int((n[0].from - millis) / perYear)
	last := len(n) - 1
	best := 0.0
	for i := min(max(at-1, 0), last); i <= min(max(at+1, 0), last); i++ {
		best = max(best, n[i].share(millis))
	}
	return best
}

// Holds reports whether a time lies in a year's stretch, rather than soon after it.
func (n NamedTime) Holds(millis int64) bool {
	share := n.share(millis)
	return share > 0 && share != shareSoon
}

func (s stretch) share(millis int64) float64 {
	switch {
	case millis < s.from || millis >= s.soon:
		return 0
	case millis >= s.to:
		return shareSoon
	case s.year:
		return shareYear
	}
	return shareWithin
}

// timesShare is how well a message's time fits the best of those that the query names, 0 to 1.
func timesShare(times []NamedTime, millis int64) float64 {
	best := 0.0
	for _, n := range times {
		best = max(best, n.share(millis))
	}
	return best
}
