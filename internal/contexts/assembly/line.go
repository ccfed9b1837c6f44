package assembly

import (
	"strings"
	"time"

	"github.com/stratamem/strata/internal/language/prompttags"
	"github.com/stratamem/strata/internal/memory"
)

// line is one thing in memory. It begins with days in brackets and continues, after each line end within it, with two
// blanks: so it can pass neither for another line nor for a heading.
type line struct {
	text  string // as it is written, with its line end
	price space
	item  Item
}

// head is what a line begins with: its days, and a name with a colon or none. It ends in a blank.
func head(days, name string) string {
	if name != "" {
		name += ": "
	}
	return days + name
}

// newLine makes the line of a text behind its head. counted is what was counted of the text when it was stored, zero for
// nothing.
func (p *pricer) newLine(head, text string, counted memory.TokenCounts) line {
	safe := prompttags.Disarm(text)
	if safe != text {
		counted = memory.TokenCounts{}
	}
	l := line{text: prompttags.Entry(head, safe, "\n")}
	written := l.text[len(head) : len(l.text)-len("\n")]
	l.price = space{p.meter.Line(head, safe, written, counted), itemBytes + escapedBytes(l.text)}
	return l
}

// countedLine is newLine of a text whose cost is known, as it is written.
func (p *pricer) countedLine(head, text string, cost int64) line {
	l := line{text: prompttags.Entry(head, prompttags.Disarm(text), "\n")}
	written := l.text[len(head) : len(l.text)-len("\n")]
	l.price = space{p.meter.CountedLine(head, written, cost), itemBytes + escapedBytes(l.text)}
	return l
}

// isSaid reports whether a text has words to say.
func isSaid(text string) bool { return strings.TrimSpace(text) != "" }

const undated = "[undated] "

// dayOf names the day of a time in the user's timezone.
func dayOf(in *Input, t time.Time) string { return days(t, t, in.Location) }

// days names the days from start to end in a timezone, UTC for nil.
func days(start, end time.Time, in *time.Location) string {
	if start.IsZero() {
		start = end
	}
	if start.IsZero() {
		return undated
	}
	if end.IsZero() {
		end = start
	}
	if in == nil {
		in = time.UTC
	}
	start, end = start.In(in), end.In(in)
	if start.Year() == end.Year() && start.YearDay() == end.YearDay() {
		return start.Format("[2 Jan 2006] ")
	}
	return start.Format("[2 Jan 2006 to ") + end.Format("2 Jan 2006] ")
}
