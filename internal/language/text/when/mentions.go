package when

import (
	"encoding/binary"
	"slices"
	"time"
)

// Mentions is what the words of a message say of times, packed. It leaves open when, and in which zone, the words were said, so
// that it can be kept with a message whose zone may change. It is stored: whoever changes what it consists of, or the order
// of fields, must change text.AnalyzerID too. The zero Mentions has none.
type Mentions []byte

// maxMentions is how many expressions of a message are kept: those after them are seldom what the message is about.
const maxMentions = 8

// MentionsIn returns what the beginning of a message, MaxBytes of it, says of days, weeks, months and seasons: neither of whole
// years nor of the hours before now.
func MentionsIn(message string) Mentions {
	e := readIn(inMessage, message)
	if e.None() {
		return nil
	}
	all := make([]candidate, len(e.found))
	for i := range e.found {
		all[i] = candidate{start: e.found[i].start, end: e.found[i].end, decoy: e.found[i].decoy, no: i}
	}
	var out Mentions
	kept := 0
	for _, c := range longest(all) {
		if r := &e.found[c.no].reading; !c.decoy && r.saysWhen() && kept < maxMentions {
			out = r.pack(out)
			kept++
		}
	}
	return out
}

// saysWhen reports whether a reading says of a message's time what other words could not.
func (r *reading) saysWhen() bool {
	switch {
	case r.has(rolling):
		return false
	case r.has(count), r.has(ago):
		return r.unit() != hourUnit && r.unit() != yearUnit
	case r.has(weekday), r.has(weekend), r.has(season), r.has(month), r.has(holiday), r.has(day), r.has(weekStep), r.has(monthStep):
		return true
	case r.has(unit):
		return r.values[unit] != hourUnit && r.values[unit] != yearUnit
	}
	return r.has(offset) || r.has(part)
}

// pack appends how many fields there are, and each with its value.
func (r *reading) pack(to Mentions) Mentions {
	n := 0
	for f := range fields {
		if r.has(f) {
			n++
		}
	}
	to = append(to, byte(n))
	for f := range fields {
		if r.has(f) {
			to = binary.AppendVarint(append(to, byte(f)), int64(r.values[f]))
		}
	}
	return to
}

// unpack takes the first reading; ok is false at the end, and where the data is damaged.
func (t Mentions) unpack() (r reading, rest Mentions, ok bool) {
	if len(t) == 0 {
		return r, nil, false
	}
	n, t := int(t[0]), t[1:]
	for range n {
		if len(t) == 0 || field(t[0]) >= fields {
			return r, nil, false
		}
		v, size := binary.Varint(t[1:])
		if size <= 0 || v > maxMentionValue || v < -maxMentionValue {
			return r, nil, false
		}
		r.is[t[0]], r.values[t[0]] = true, int(v)
		t = t[1+size:]
	}
	return r, t, r.sound()
}

// maxMentionValue is more than any field's value is.
const maxMentionValue = 10_000

// sound reports whether the values that choose from a list are of it.
func (r *reading) sound() bool {
	part, unit := r.values[part], r.values[unit]
	return part >= 0 && part < len(partHours) && unit >= hourUnit && unit <= yearUnit
}

// Stretch is a time from From to before To.
type Stretch struct{ From, To time.Time }

// At appends the stretches of time that are mentioned, when the words were said at a time, in its zone. Words that leave open
// whether they are of the past, as "on Friday", give both stretches. Near the time at which it was said the calendar is
// asked only for what may lie between from and to.
func (t Mentions) At(out []Stretch, said, from, to time.Time) []Stretch {
	var c calendar
	for r, rest, ok := t.unpack(); ok; r, rest, ok = rest.unpack() {
		if reach, bounded := r.reach(); bounded && (said.Add(reach).Before(from) || said.Add(-reach).After(to)) {
			continue
		}
		if c.now.IsZero() {
			c = calendarAt(said)
		}
		s, ok := c.read(r)
		if !ok {
			continue
		}
		out = append(out, Stretch{s.from, s.to})
		if !s.nextFrom.IsZero() {
			out = append(out, Stretch{s.nextFrom, s.nextTo})
		}
	}
	return out
}

// reach is how far at most what a reading means can begin or end from when it is said; bounded is false where it may be years.
func (r *reading) reach() (reach time.Duration, bounded bool) {
	const aDay = 24 * time.Hour
	steps := func(unit time.Duration, values ...int) time.Duration {
		return unit * time.Duration(2+max(slices.Max(values), -slices.Min(values)))
	}
	switch {
	case r.has(month), r.has(season), r.has(holiday), r.has(year), r.has(yearStep):
		return 0, false
	case r.has(count), r.has(ago):
		_, most := r.counts()
		return steps([...]time.Duration{time.Hour, aDay, 7 * aDay, 31 * aDay, 366 * aDay}[r.unit()], most), true
	case r.has(unit):
		return steps([...]time.Duration{time.Hour, aDay, 7 * aDay, 31 * aDay, 366 * aDay}[r.values[unit]], r.values[step]), true
	case r.has(day), r.has(monthStep):
		return steps(31*aDay, r.values[monthStep], 2), true
	case r.has(weekday), r.has(weekend), r.has(weekStep):
		return steps(7*aDay, r.values[weekStep], r.values[step]), true
	}
	return steps(aDay, r.values[offset], 1) + aboutDay, true
}
