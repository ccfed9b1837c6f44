package console

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// branch is a summary in the tree over time: a month with its weeks, a week with its sessions. Where a period has no summary of its
// own, only its name stands there.
type branch struct {
	Name    string // 2026-11, 2026-W47, or the session's
	Summary *memoryv1.Summary
	Under   []*branch
}

// summariesData is a user's summaries as a tree, the latest first.
type summariesData struct {
	Months []*branch
	Next   string
	Zone   string
}

func (v *visit) showSummaries() error {
	p := v.ofUser("summaries", "summaries.title")
	user, err := v.api.users.GetUser(v.ctx(), &memoryv1.GetUserRequest{UserId: p.User})
	if err != nil {
		return err
	}
	zone, err := time.LoadLocation(user.GetUser().GetTimezone())
	if err != nil {
		zone = time.UTC
	}
	read := map[memoryv1.SummaryKind][]*memoryv1.Summary{}
	next := ""
	for _, kind := range []memoryv1.SummaryKind{
		memoryv1.SummaryKind_SUMMARY_KIND_MONTH, memoryv1.SummaryKind_SUMMARY_KIND_WEEK, memoryv1.SummaryKind_SUMMARY_KIND_SESSION,
	} {
		in := &memoryv1.ListSummariesRequest{UserId: p.User, Kind: kind, PageSize: rowsOfList}
		if kind == memoryv1.SummaryKind_SUMMARY_KIND_SESSION {
			in.PageToken = v.argument("page")
		}
		reply, err := v.api.summaries.ListSummaries(v.ctx(), in)
		if err != nil {
			return err
		}
		read[kind], next = reply.GetSummaries(), reply.GetNextPageToken()
	}
	months, weeks := read[memoryv1.SummaryKind_SUMMARY_KIND_MONTH], read[memoryv1.SummaryKind_SUMMARY_KIND_WEEK]
	sessions := read[memoryv1.SummaryKind_SUMMARY_KIND_SESSION]
	p.Data = summariesData{Months: tree(months, weeks, sessions, zone), Next: next, Zone: zone.String()}
	return v.show("summaries.html", p)
}

// tree puts sessions below the week of their last message, and weeks below the month of their Thursday, by the user's clock; all the
// latest first.
func tree(months, weeks, sessions []*memoryv1.Summary, zone *time.Location) []*branch {
	t := grown{zone: zone, months: map[string]*branch{}, weeks: map[string]*branch{}}
	for _, s := range months {
		t.month(s.GetName()).Summary = s
	}
	for _, s := range weeks {
		t.week(s.GetName(), s.GetStartTime().AsTime()).Summary = s
	}
	for _, s := range sessions {
		said := s.GetEndTime().AsTime().In(zone)
		week := t.week(weekOf(said), said)
		week.Under = append(week.Under, &branch{Name: s.GetName(), Summary: s})
	}
	for _, m := range t.months {
		for _, w := range m.Under {
			slices.SortStableFunc(w.Under, func(a, b *branch) int {
				return b.Summary.GetEndTime().AsTime().Compare(a.Summary.GetEndTime().AsTime())
			})
		}
		slices.SortFunc(m.Under, latestName)
	}
	all := t.all
	slices.SortFunc(all, latestName)
	return all
}

func latestName(a, b *branch) int { return cmp.Compare(b.Name, a.Name) }

// grown is a tree while it is made.
type grown struct {
	zone          *time.Location
	all           []*branch
	months, weeks map[string]*branch
}

func (t *grown) month(name string) *branch {
	if t.months[name] == nil {
		t.months[name] = &branch{Name: name}
		t.all = append(t.all, t.months[name])
	}
	return t.months[name]
}

// week is the branch of the week that a time is in.
func (t *grown) week(name string, in time.Time) *branch {
	if t.weeks[name] == nil {
		in = in.In(t.zone)
		sinceMonday := (int(in.Weekday()) + 6) % 7
		thursday := in.AddDate(0, 0, 3-sinceMonday)
		month := t.month(thursday.Format("2006-01"))
		t.weeks[name] = &branch{Name: name}
		month.Under = append(month.Under, t.weeks[name])
	}
	return t.weeks[name]
}

// weekOf is the ISO week of a time, as periods are named.
func weekOf(t time.Time) string {
	year, week := t.ISOWeek()
	return fmt.Sprintf("%04d-W%02d", year, week)
}
