package summary

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// WeekOf is the ISO week of an instant in a timezone: from the first moment of its Monday to that of the next one. It
// has 167 or 169 hours when clocks change.
func WeekOf(t time.Time, loc *time.Location) memory.Period {
	local := t.In(loc)
	y, m, d := local.Date()
	return weekFrom(y, m, d-(int(local.Weekday())+6)%7, loc)
}

// weekFrom is the week that begins on a Monday.
func weekFrom(y int, m time.Month, monday int, loc *time.Location) memory.Period {
	year, week := time.Date(y, m, monday, 12, 0, 0, 0, time.UTC).ISOWeek()
	return memory.Period{
		Name:  fmt.Sprintf("%04d-W%02d", year, week),
		Start: startOfDay(y, m, monday, loc),
		End:   startOfDay(y, m, monday+7, loc),
	}
}

// MonthOf is the month that a week belongs to, which is that of its Thursday. Months are made of whole weeks, so that
// they neither overlap nor leave out a day: a month starts on the Monday of its first week, in the location of the
// week's Start. It is zero when the week's name is none.
func MonthOf(week memory.Period) memory.Period {
	monday, ok := mondayOf(week.Name)
	if !ok {
		return memory.Period{}
	}
	thursday := monday.AddDate(0, 0, 3)
	return monthFrom(thursday.Year(), thursday.Month(), week.Start.Location())
}

func monthFrom(y int, m time.Month, loc *time.Location) memory.Period {
	return memory.Period{
		Name:  fmt.Sprintf("%04d-%02d", y, int(m)),
		Start: firstMonday(y, m, loc),
		End:   firstMonday(y, m+1, loc),
	}
}

// firstMonday begins the first week whose Thursday is in the month.
func firstMonday(y int, m time.Month, loc *time.Location) time.Time {
	first := time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
	thursday := 1 + (int(time.Thursday)-int(first.Weekday())+7)%7
	return startOfDay(y, m, thursday-3, loc)
}

// startOfDay is the first moment of a local day: where clocks skip midnight, the moment after the gap; where they pass
// it twice, the first time. Clocks change by multiples of half an hour.
func startOfDay(y int, m time.Month, d int, loc *time.Location) time.Time {
	const step = 30 * time.Minute
	want := time.Date(y, m, d, 12, 0, 0, 0, time.UTC)
	isDay := func(t time.Time) bool { return DayNumber(t) == DayNumber(want) }
	t := time.Date(y, m, d, 0, 0, 0, 0, loc)
	for range 4 {
		if !isDay(t) {
			t = t.Add(step)
		}
	}
	for range 4 {
		if before := t.Add(-step); isDay(before) {
			t = before
		}
	}
	return t
}

// DayNumber is the days from 1970-01-01 to the date that t shows in its own location.
func DayNumber(t time.Time) int64 {
	y, m, d := t.Date()
	const day = 24 * 60 * 60
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / day
}

// ParsePeriod reads the name of a week, such as 2026-W47, or of a month, such as 2026-11. Another name is a
// memory.Error.
func ParsePeriod(kind memory.SummaryKind, name string, loc *time.Location) (memory.Period, error) {
	switch kind {
	case memory.SummaryWeek:
		if monday, ok := mondayOf(name); ok {
			y, m, d := monday.Date()
			return weekFrom(y, m, d, loc), nil
		}
		return memory.Period{}, memory.InvalidField("period", "%q is no ISO week; write it like 2026-W47", name)
	case memory.SummaryMonth:
		if t, err := time.Parse("2006-01", name); err == nil {
			return monthFrom(t.Year(), t.Month(), loc), nil
		}
		return memory.Period{}, memory.InvalidField("period", "%q is no month; write it like 2026-11", name)
	}
	return memory.Period{}, memory.InvalidField("kind", "only weeks and months have periods; ask for one of them")
}

// mondayOf reads a week's name. The week of January 4th is always the first.
func mondayOf(name string) (time.Time, bool) {
	var year, week int
	if n, err := fmt.Sscanf(name, "%4d-W%2d", &year, &week); n != 2 || err != nil || len(name) != len("2026-W47") {
		return time.Time{}, false
	}
	fourth := time.Date(year, time.January, 4, 0, 0, 0, 0, time.UTC)
	monday := fourth.AddDate(0, 0, 7*(week-1)-(int(fourth.Weekday())+6)%7)
	gotYear, gotWeek := monday.ISOWeek()
	return monday, year > 0 && gotYear == year && gotWeek == week && !strings.HasPrefix(name, "+")
}

// PeriodInput is what the weeks and months of a user are planned from.
type PeriodInput struct {
	Leaves        []memory.SummaryNode // of all sessions, of level 0
	Weeks, Months []memory.SummaryNode // as stored
	// Checkpoint are the names of the weeks that leaves belong to: nothing is left that any other stored week may contain. Nil
	// where every stored week has some.
	Checkpoint map[string]bool
	// Corrected are Marks.Corrected, Rebuilds are Marks.Rebuilds.
	Corrected map[string]memory.SummaryNode
	Rebuilds  map[string]int
	Now       time.Time
	Location  *time.Location // the user's
}

// PeriodPlan is a week or month to summarise.
type PeriodPlan struct {
	Kind       memory.SummaryKind
	Period     memory.Period
	Generation int // one above the stored node's
	Rebuild    int // memory.SummaryNode.Rebuild
	Sources    []memory.SummaryNode
}

// WeekNames are the names of the weeks that leaves belong to.
func (in PeriodInput) WeekNames() []string { return slices.Sorted(maps.Keys(in.weekSources())) }

// PeriodsDue returns which periods are to be summarised, weeks first, oldest first. A leaf belongs to the week of the last
// message it covers. A week is due when it is over and its stored node was made of other leaves than it has: it has more
// after late messages, others when messages are hidden or a session's summary is corrected, and in another timezone. A
// month is due when it is over, none of its weeks is due, and its node was made of other weeks than it has: a corrected
// week is its correction. What is corrected itself is not due for that. Whatever a person asked to be rebuilt is due. A
// period that has nothing left is not due: its stored node is passed over by whoever reads it.
func PeriodsDue(in PeriodInput) []PeriodPlan {
	weeks := in.due(memory.SummaryWeek, in.weekSources(), in.Weeks)
	waiting := map[string]bool{}
	for _, w := range weeks {
		waiting[MonthOf(w.Period).Name] = true
	}
	months := in.due(memory.SummaryMonth, in.monthSources(), in.Months)
	months = slices.DeleteFunc(months, func(m PeriodPlan) bool { return waiting[m.Period.Name] })
	return append(weeks, months...)
}

// sources are the nodes of one period.
type sources struct {
	period memory.Period
	nodes  []memory.SummaryNode
}

func (in PeriodInput) weekSources() map[string]sources {
	out := map[string]sources{}
	for _, leaf := range lastCumulative(in.Leaves, in.Location) {
		gather(out, WeekOf(leaf.ToTime, in.Location), leaf)
	}
	return out
}

func (in PeriodInput) monthSources() map[string]sources {
	out := map[string]sources{}
	for name, week := range latest(in.Weeks) {
		if corrected, ok := in.Corrected[name]; ok {
			week = corrected
			if week.Text == "" { // deleted
				continue
			}
		}
		if period, err := ParsePeriod(memory.SummaryWeek, name, in.Location); err == nil && (in.Checkpoint == nil || in.Checkpoint[name]) {
			gather(out, MonthOf(period), week)
		}
	}
	return out
}

func gather(to map[string]sources, period memory.Period, n memory.SummaryNode) {
	s := to[period.Name]
	// A correction, in place of one more leaf
	if i := slices.IndexFunc(s.nodes, func(o memory.SummaryNode) bool { return o.ID == n.ID }); i >= 0 {
		s.nodes[i].FromTime, s.nodes[i].ToTime = earlier(s.nodes[i].FromTime, n.FromTime), later(s.nodes[i].ToTime, n.ToTime)
		return
	}
	to[period.Name] = sources{period: period, nodes: append(s.nodes, n)}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// lastCumulative leaves out, of the cumulative nodes of a session in a week, all but the last: its text covers the others.
func lastCumulative(leaves []memory.SummaryNode, loc *time.Location) []memory.SummaryNode {
	type place struct {
		session memory.SessionKey
		week    string
	}
	last := map[place]int64{}
	at := func(n memory.SummaryNode) place { return place{n.Session, WeekOf(n.ToTime, loc).Name} }
	for _, n := range leaves {
		if n.Cumulative {
			last[at(n)] = max(last[at(n)], n.Range.To)
		}
	}
	return slices.DeleteFunc(slices.Clone(leaves), func(n memory.SummaryNode) bool {
		return n.Cumulative && n.Range.To < last[at(n)]
	})
}

// latest are the nodes of the latest generation by period.
func latest(nodes []memory.SummaryNode) map[string]memory.SummaryNode {
	out := map[string]memory.SummaryNode{}
	for _, n := range nodes {
		if old, ok := out[n.Period.Name]; !ok || n.Generation > old.Generation {
			out[n.Period.Name] = n
		}
	}
	return out
}

func (in PeriodInput) due(kind memory.SummaryKind, found map[string]sources, stored []memory.SummaryNode) []PeriodPlan {
	newest := latest(stored)
	var out []PeriodPlan
	for name, s := range found {
		node := newest[name]
		isNew := func(n memory.SummaryNode) bool { return !slices.Contains(node.Children, n.ID) }
		stays := len(node.Children) == len(s.nodes) && !slices.ContainsFunc(s.nodes, isNew)
		if c, corrected := in.Corrected[name]; corrected {
			if c.Text == "" { // deleted
				continue
			}
			stays = true
		}
		if in.Now.Before(s.period.End) || stays && node.Rebuild >= in.Rebuilds[name] {
			continue
		}
		slices.SortFunc(s.nodes, func(a, b memory.SummaryNode) int {
			return cmp.Or(a.FromTime.Compare(b.FromTime), cmp.Compare(a.ID, b.ID))
		})
		out = append(out, PeriodPlan{Kind: kind, Period: s.period, Generation: node.Generation + 1, Rebuild: in.Rebuilds[name], Sources: s.nodes})
	}
	slices.SortFunc(out, func(a, b PeriodPlan) int { return a.Period.Start.Compare(b.Period.Start) })
	return out
}
