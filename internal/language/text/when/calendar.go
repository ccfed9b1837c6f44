package when

import (
	"math"
	"time"
)

// calendar computes what fields mean at a time. A date in it is midnight UTC: dates are counted in days, whatever clocks
// do, and only at the end become moments of the zone.
type calendar struct {
	now   time.Time
	today time.Time
}

func calendarAt(now time.Time) calendar {
	y, m, d := now.Date()
	return calendar{now, date(y, m, d)}
}

func date(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

// stretch is what a form means.
type stretch struct {
	from, to         time.Time
	nextFrom, nextTo time.Time // of a Mention's Next
	yearless         bool
}

// read returns what the fields mean together; ok is false for what no calendar has, such as 30 February.
func (c calendar) read(r reading) (out stretch, ok bool) {
	out, ok = c.plain(r)
	if !ok || !out.from.Before(out.to) {
		return out, false
	}
	out.from, out.to = r.narrow(out.from, out.to)
	if !out.nextFrom.IsZero() {
		out.nextFrom, out.nextTo = r.narrow(out.nextFrom, out.nextTo)
	}
	return out, true
}

// plain reads all fields but for edge and about.
func (c calendar) plain(r reading) (out stretch, ok bool) {
	switch {
	case r.has(rolling):
		out, ok = c.past(r), true
	case r.has(count), r.has(ago):
		out, ok = c.counted(r), true
	case r.has(weekday):
		out, ok = c.part(c.weekday(r), r), true
		if !r.has(weekStep) && !r.has(step) {
			ahead := (r.values[weekday]-isoWeekday(c.today)+6)%7 + 1
			out.next(c.part(c.today.AddDate(0, 0, ahead), r))
		}
	case r.has(weekend):
		saturday := c.weekend(r)
		out, ok = c.days(saturday, saturday.AddDate(0, 0, 2)), true
	case r.has(season), r.has(month), r.has(holiday):
		out, ok = c.ofYear(r)
	case r.has(day):
		out, ok = c.dayOfMonth(r)
	default:
		out, ok = c.step(r), true
	}
	return out, ok
}

// next notes what the words mean when they are of a time to come.
func (s *stretch) next(n stretch) { s.nextFrom, s.nextTo = n.from, n.to }

// The share of a stretch that its beginning and its end are, and where its middle begins and ends.
const (
	edgeShare   = .4
	middleFrom  = .3
	middleUntil = .7
)

// aboutDay is how far from a day, or a holiday, "around" it reaches; around something longer it is a quarter of it.
const aboutDay = 4 * 24 * time.Hour

// narrow is the edge of a stretch that is named, and widens it where that is said.
func (r *reading) narrow(from, to time.Time) (time.Time, time.Time) {
	length := to.Sub(from)
	share := func(of float64) time.Time { return from.AddDate(0, 0, int(math.Round(of*length.Hours()/24))) }
	if r.has(edge) {
		switch r.values[edge] {
		case 0:
			to = share(edgeShare)
		case 1:
			from, to = share(middleFrom), share(middleUntil)
		default:
			from = share(1 - edgeShare)
		}
	}
	if r.has(about) {
		by := max(aboutDay, length/4)
		from, to = from.Add(-by), to.Add(by)
	}
	return from, to
}

// days are the dates from one to before another.
func (c calendar) days(from, to time.Time) stretch {
	return stretch{from: c.midnight(from), to: c.midnight(to)}
}

// part is the part of a day that r names, else the day.
func (c calendar) part(day time.Time, r reading) stretch {
	if !r.has(part) {
		return c.days(day, day.AddDate(0, 0, 1))
	}
	hours := partHours[r.values[part]]
	return stretch{from: c.hour(day, hours[0]), to: c.hour(day, hours[1])}
}

// The parts of a day, in hours from its midnight. They overlap, as they do for speakers.
const (
	dawn = iota
	morning
	forenoon
	afternoon
	evening
	night
	lastNight       // the night that ended today
	nightBeforeLast // the one before it
	midday
)

var partHours = [...][2]int{
	dawn: {0, 6}, morning: {5, 12}, forenoon: {0, 12}, afternoon: {12, 20}, evening: {17, 24}, night: {18, 29},
	lastNight: {-6, 5}, nightBeforeLast: {-30, -19}, midday: {11, 15},
}

// hour is so many hours of the clock after a date's midnight.
func (c calendar) hour(day time.Time, hours int) time.Time {
	y, m, d := day.Date()
	if hours%24 == 0 {
		return c.midnight(date(y, m, d+hours/24))
	}
	return time.Date(y, m, d, hours, 0, 0, 0, c.now.Location())
}

// midnight is the first moment of a date in the zone: where clocks skip midnight, the moment after the gap; where they
// pass it twice, the first time. Clocks change by multiples of half an hour, and by two hours at most. A date that a zone
// left out, as those on the date line did when they changed sides, begins and ends with the next one.
func (c calendar) midnight(day time.Time) time.Time {
	const step = 30 * time.Minute
	y, m, d := day.Date()
	shows := func(t time.Time) bool {
		ty, tm, td := t.Date()
		return ty == y && tm == m && td == d
	}
	t := time.Date(y, m, d, 0, 0, 0, 0, c.now.Location())
	for range 4 {
		if !shows(t) {
			t = t.Add(step)
		}
	}
	if !shows(t) {
		return c.midnight(day.AddDate(0, 0, 1))
	}
	for range 4 {
		if before := t.Add(-step); shows(before) {
			t = before
		}
	}
	return t
}

// The units of time.
const (
	hourUnit = iota
	dayUnit
	weekUnit
	monthUnit
	yearUnit
)

// units are the whole units from one to another, counted from the one that is now.
func (c calendar) units(unit, from, to int) stretch {
	switch unit {
	case hourUnit: // half an hour around: nobody names an hour more exactly
		const half = 30 * time.Minute
		return stretch{
			from: c.now.Add(time.Duration(from)*time.Hour - half), to: c.now.Add(time.Duration(to)*time.Hour + half),
		}
	case dayUnit:
		return c.days(c.today.AddDate(0, 0, from), c.today.AddDate(0, 0, to+1))
	case weekUnit:
		monday := c.monday()
		return c.days(monday.AddDate(0, 0, 7*from), monday.AddDate(0, 0, 7*(to+1)))
	case monthUnit:
		y, m, _ := c.today.Date()
		return c.days(date(y, m+time.Month(from), 1), date(y, m+time.Month(to+1), 1))
	}
	y := c.today.Year()
	return c.days(date(y+from, 1, 1), date(y+to+1, 1, 1))
}

// counted is "three weeks ago", or three weeks on.
func (c calendar) counted(r reading) stretch {
	low, high := r.counts()
	if r.has(ago) {
		low, high = -high, -low
	}
	return c.units(r.unit(), low, high)
}

// past is "the past three weeks": to the end of today.
func (c calendar) past(r reading) stretch {
	_, n := r.counts()
	end := c.midnight(c.today.AddDate(0, 0, 1))
	y, m, d := c.today.Date()
	switch r.unit() {
	case hourUnit:
		return stretch{from: c.now.Add(-time.Duration(n) * time.Hour), to: c.now}
	case dayUnit:
		return stretch{from: c.midnight(date(y, m, d-n)), to: end}
	case weekUnit:
		return stretch{from: c.midnight(date(y, m, d-7*n)), to: end}
	case monthUnit:
		last := date(y, m-time.Month(n)+1, 0).Day() // the day there may be none of in that month
		return stretch{from: c.midnight(date(y, m-time.Month(n), min(d, last))), to: end}
	}
	last := date(y-n, m+1, 0).Day()
	return stretch{from: c.midnight(date(y-n, m, min(d, last))), to: end}
}

// step is "last week", "yesterday" or "in 2022".
func (c calendar) step(r reading) stretch {
	n := r.values[step]
	switch {
	case r.has(unit):
		return c.units(r.values[unit], n, n)
	case r.has(weekStep):
		return c.units(weekUnit, r.values[weekStep], r.values[weekStep])
	case r.has(monthStep):
		return c.units(monthUnit, r.values[monthStep], r.values[monthStep])
	case r.has(yearStep), r.has(year):
		y := c.year(r)
		return c.days(date(y, 1, 1), date(y+1, 1, 1))
	}
	return c.part(c.today.AddDate(0, 0, r.values[offset]), r)
}

// year is the year that r names; it has one.
func (c calendar) year(r reading) int {
	if r.has(year) {
		return r.values[year]
	}
	return c.today.Year() + r.values[yearStep]
}

func (c calendar) monday() time.Time { return c.today.AddDate(0, 0, -isoWeekday(c.today)) }

// isoWeekday is 0 for Monday to 6 for Sunday.
func isoWeekday(t time.Time) int { return (int(t.Weekday()) + 6) % 7 }

func (c calendar) weekday(r reading) time.Time {
	day := r.values[weekday]
	ahead := (day - isoWeekday(c.today) + 7) % 7
	switch n := r.values[step]; {
	case r.has(weekStep):
		return c.monday().AddDate(0, 0, 7*r.values[weekStep]+day)
	case r.has(step) && n > 0 && ahead == 0:
		return c.today.AddDate(0, 0, 7)
	case r.has(step) && n > 0:
		return c.today.AddDate(0, 0, ahead)
	case r.has(step) && n == 0:
		return c.monday().AddDate(0, 0, day)
	}
	return c.today.AddDate(0, 0, ahead-7)
}

// weekend is the Saturday of a weekend. Without a step it is the latest that has begun.
func (c calendar) weekend(r reading) time.Time {
	saturday := c.monday().AddDate(0, 0, 5)
	switch {
	case r.has(step):
		return saturday.AddDate(0, 0, 7*r.values[step])
	case r.has(weekStep):
		return saturday.AddDate(0, 0, 7*r.values[weekStep])
	case saturday.After(c.today):
		return saturday.AddDate(0, 0, -7)
	}
	return saturday
}

// dayOfMonth is "the 3rd of last month", and "the 3rd", which is the latest that has begun.
func (c calendar) dayOfMonth(r reading) (stretch, bool) {
	of := func(months int) (stretch, bool) {
		first := date(c.today.Year(), c.today.Month()+time.Month(months), 1)
		return c.inYear(first.Year(), first.Month(), r)
	}
	if r.has(monthStep) {
		return of(r.values[monthStep])
	}
	var out stretch
	for back := 0; back >= -2 && out.from.IsZero(); back-- { // of two months in a row one has any day
		if s, ok := of(back); ok && !s.from.After(c.now) {
			out = s
		}
	}
	for on := 0; on <= 2 && out.nextFrom.IsZero(); on++ {
		if s, ok := of(on); ok && s.from.After(c.now) {
			out.next(s)
		}
	}
	return out, !out.from.IsZero()
}

// ofYear is a season, a month or a day of a month, of the year that r names. Without one it is yearless, and of the
// latest year in which it has begun.
func (c calendar) ofYear(r reading) (stretch, bool) {
	m := time.Month(r.values[month])
	if r.has(season) {
		m = time.Month(3 * (r.values[season] + 1))
	}
	if r.has(year) || r.has(yearStep) {
		return c.inYear(c.year(r), m, r)
	}
	if !r.has(step) {
		out, ok := c.latest(m, r, func(s stretch) bool { return !s.from.After(c.now) })
		out.yearless = true
		if n, is := c.first(m, r); is {
			out.next(n)
		}
		return out, ok
	}
	switch n := r.values[step]; {
	case n < 0:
		return c.latest(m, r, func(s stretch) bool { return !s.to.After(c.now) })
	case n > 0:
		return c.first(m, r)
	}
	return c.this(m, r)
}

// leapYears is how many years may lie between two that have a 29 February.
const leapYears = 8

func (c calendar) latest(m time.Month, r reading, is func(stretch) bool) (stretch, bool) {
	for y := c.today.Year(); y >= c.today.Year()-leapYears; y-- {
		if s, ok := c.inYear(y, m, r); ok && is(s) {
			return s, true
		}
	}
	return stretch{}, false
}

// first is the first one that begins after now.
func (c calendar) first(m time.Month, r reading) (stretch, bool) {
	for y := c.today.Year(); y <= c.today.Year()+leapYears; y++ {
		if s, ok := c.inYear(y, m, r); ok && s.from.After(c.now) {
			return s, true
		}
	}
	return stretch{}, false
}

// this is the one of this year; of a winter the one that is near, which may have begun last year.
func (c calendar) this(m time.Month, r reading) (stretch, bool) {
	y := c.today.Year()
	if r.has(season) && m == time.December && c.today.Month() < time.June {
		y--
	}
	return c.inYear(y, m, r)
}

// inYear is a season that begins with a month, that month, or a day of it. Winter is that which begins in the year.
func (c calendar) inYear(y int, m time.Month, r reading) (stretch, bool) {
	if r.has(season) {
		return c.days(date(y, m, 1), date(y, m+3, 1)), true
	}
	if r.has(holiday) {
		return c.holiday(y, r)
	}
	if m < time.January || m > time.December {
		return stretch{}, false
	}
	if !r.has(day) {
		return c.days(date(y, m, 1), date(y, m+1, 1)), true
	}
	at := date(y, m, r.values[day])
	return c.part(at, r), r.values[day] > 0 && at.Month() == m
}
