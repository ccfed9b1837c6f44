package summary

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Skipf("no timezone data: %v", err)
	}
	return loc
}

func at(t testing.TB, loc *time.Location, s string) time.Time {
	t.Helper()
	v, err := time.ParseInLocation("2006-01-02 15:04", s, loc)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWeekOf(t *testing.T) {
	seoul, berlin, cairo := zone(t, "Asia/Seoul"), zone(t, "Europe/Berlin"), zone(t, "Africa/Cairo")
	t.Run("begins on Monday in the user's timezone", func(t *testing.T) {
		sundayInUTC := time.Date(2026, 11, 15, 16, 0, 0, 0, time.UTC)
		if got := WeekOf(sundayInUTC, seoul); got.Name != "2026-W47" || !got.Start.Equal(at(t, seoul, "2026-11-16 00:00")) || !got.End.Equal(at(t, seoul, "2026-11-23 00:00")) {
			t.Errorf("got %v", got)
		}
		if got := WeekOf(sundayInUTC, time.UTC).Name; got != "2026-W46" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("has the ISO year: a New Year's Day may belong to the old one", func(t *testing.T) {
		if got := WeekOf(at(t, time.UTC, "2027-01-01 10:00"), time.UTC).Name; got != "2026-W53" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("has 169 hours when clocks go back, and 167 when they go forward", func(t *testing.T) {
		autumn, spring := WeekOf(at(t, berlin, "2026-10-22 10:00"), berlin), WeekOf(at(t, berlin, "2026-03-25 10:00"), berlin)
		if autumn.End.Sub(autumn.Start) != 169*time.Hour || spring.End.Sub(spring.Start) != 167*time.Hour {
			t.Errorf("got %v and %v", autumn.End.Sub(autumn.Start), spring.End.Sub(spring.Start))
		}
	})
	t.Run("a day that starts at one o'clock starts there", func(t *testing.T) {
		// Cairo's clocks went from 0:00 to 1:00 on Friday, 2024-04-26.
		if got := startOfDay(2024, time.April, 26, cairo); got.Hour() != 1 || DayNumber(got.Add(-time.Second)) != DayNumber(got)-1 {
			t.Errorf("got %v", got)
		}
	})
}

func TestMonthOf(t *testing.T) {
	seoul := zone(t, "Asia/Seoul")
	for _, c := range []struct{ day, month, start, end string }{
		{"2026-11-01 10:00", "2026-10", "2026-09-28", "2026-11-02"}, // a Sunday: its Thursday is October 29
		{"2026-11-02 10:00", "2026-11", "2026-11-02", "2026-11-30"},
		{"2026-12-31 10:00", "2026-12", "2026-11-30", "2027-01-04"},
		{"2027-01-03 10:00", "2026-12", "2026-11-30", "2027-01-04"},
	} {
		t.Run("the week of "+c.day+" belongs to the month of its Thursday", func(t *testing.T) {
			got := MonthOf(WeekOf(at(t, seoul, c.day), seoul))
			if got.Name != c.month || got.Start.Format("2006-01-02") != c.start || got.End.Format("2006-01-02") != c.end {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestParsePeriod(t *testing.T) {
	t.Run("reads what WeekOf and MonthOf name, in any timezone", func(t *testing.T) {
		locations := []*time.Location{time.UTC, zone(t, "Asia/Seoul"), zone(t, "America/Sao_Paulo"), zone(t, "Australia/Lord_Howe")}
		rapid.Check(t, func(t *rapid.T) {
			loc := rapid.SampledFrom(locations).Draw(t, "location")
			now := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "second"), 0)
			week := WeekOf(now, loc)
			month := MonthOf(week)
			if now.Before(week.Start) || !now.Before(week.End) || week.Start.Before(month.Start) || week.End.After(month.End) {
				t.Fatalf("%v is not in %v of %v", now, week, month)
			}
			for kind, want := range map[memory.SummaryKind]memory.Period{memory.SummaryWeek: week, memory.SummaryMonth: month} {
				got, err := ParsePeriod(kind, want.Name, loc)
				if err != nil || got.Name != want.Name || !got.Start.Equal(want.Start) || !got.End.Equal(want.End) {
					t.Fatalf("%s is read as %v, %v; want %v", want.Name, got, err, want)
				}
			}
		})
	})
	for _, name := range []string{"", "2026", "2026-W00", "2026-W54", "2025-W53", "2026-w47", "2026-W4", "26-W47", "2026-11", "2026-W47x", "-026-W47"} {
		t.Run(fmt.Sprintf("%q is no week, and the error says how to write one", name), func(t *testing.T) {
			_, err := ParsePeriod(memory.SummaryWeek, name, time.UTC)
			if e := new(memory.Error); !errors.As(err, &e) || e.Kind != memory.KindInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, name := range []string{"", "2026-13", "2026-00", "2026-W47", "2026-1", "2026-11-01"} {
		t.Run(fmt.Sprintf("%q is no month", name), func(t *testing.T) {
			if _, err := ParsePeriod(memory.SummaryMonth, name, time.UTC); err == nil {
				t.Error("it was read")
			}
		})
	}
}

func TestDayNumber(t *testing.T) {
	seoul := zone(t, "Asia/Seoul")
	if got := DayNumber(time.Date(1970, 1, 2, 0, 30, 0, 0, seoul)); got != 1 {
		t.Errorf("got %d for the local date 1970-01-02", got)
	}
	if got := DayNumber(time.Date(1969, 12, 31, 23, 0, 0, 0, time.UTC)); got != -1 {
		t.Errorf("got %d for 1969-12-31", got)
	}
}

func TestPeriodsDue(t *testing.T) {
	monday := time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)
	leaf := func(id string, day int) memory.SummaryNode {
		from := monday.AddDate(0, 0, day)
		return memory.SummaryNode{ID: id, Kind: memory.SummarySession, Range: memory.SeqRange{From: 1, To: int64(10 + day)}, FromTime: from, ToTime: from.Add(time.Hour)}
	}
	week := func(id, name string, generation int, children ...string) memory.SummaryNode {
		return memory.SummaryNode{ID: id, Kind: memory.SummaryWeek, Period: memory.Period{Name: name}, Generation: generation, Children: children}
	}
	due := func(in PeriodInput) []string {
		if in.Location == nil {
			in.Location = time.UTC
		}
		var out []string
		for _, p := range PeriodsDue(in) {
			out = append(out, fmt.Sprintf("%s g%d %v", p.Period.Name, p.Generation, ids(p.Sources)))
		}
		return out
	}
	nextMonday := monday.AddDate(0, 0, 7)
	leaves := []memory.SummaryNode{leaf("b", 2), leaf("a", 0)}
	monthNode := memory.SummaryNode{ID: "m", Kind: memory.SummaryMonth, Period: memory.Period{Name: "2026-11"}, Generation: 1, Children: []string{"w"}}
	december := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name string
		in   PeriodInput
		want []string
	}{
		{"a week is not due before it is over", PeriodInput{Leaves: leaves, Now: nextMonday.Add(-time.Second)}, nil},
		{"a week is due once it is over, its leaves oldest first", PeriodInput{Leaves: leaves, Now: nextMonday}, []string{"2026-W47 g1 [a b]"}},
		{"a week that is done is not due again", PeriodInput{Leaves: leaves, Weeks: []memory.SummaryNode{week("w", "2026-W47", 1, "a", "b")}, Now: nextMonday}, nil},
		{
			"a late leaf makes it stale",
			PeriodInput{Leaves: append(leaves, leaf("late", 1)), Weeks: []memory.SummaryNode{week("w", "2026-W47", 1, "a", "b")}, Now: nextMonday},
			[]string{"2026-W47 g2 [a late b]"},
		},
		{"the latest generation counts", PeriodInput{Leaves: leaves, Weeks: []memory.SummaryNode{week("w2", "2026-W47", 2, "a", "b"), week("w", "2026-W47", 1, "a")}, Now: nextMonday}, nil},
		{"a month waits for its weeks", PeriodInput{Leaves: leaves, Weeks: []memory.SummaryNode{week("v", "2026-W46", 1, "x")}, Now: december}, []string{"2026-W47 g1 [a b]"}},
		{"a month is not due before its last week is over", PeriodInput{Leaves: leaves, Weeks: []memory.SummaryNode{week("w", "2026-W47", 1, "a", "b")}, Now: december.Add(-time.Second)}, nil},
		{"a month is due once it is over and its weeks are done", PeriodInput{Leaves: leaves, Weeks: []memory.SummaryNode{week("w", "2026-W47", 1, "a", "b")}, Now: december}, []string{"2026-11 g1 [w]"}},
		{
			"a rebuilt week makes its month stale",
			PeriodInput{Leaves: leaves, Weeks: []memory.SummaryNode{week("w", "2026-W47", 1, "a"), week("w2", "2026-W47", 2, "a", "b")}, Months: []memory.SummaryNode{monthNode}, Now: december},
			[]string{"2026-11 g2 [w2]"},
		},
		{"a user without conversations has none", PeriodInput{Now: december}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := due(c.in); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	t.Run("of a chain, only the last summary of a session counts: it stands for the others", func(t *testing.T) {
		first, second := leaf("a", 0), leaf("b", 2)
		first.Cumulative, second.Cumulative = true, true
		if got := due(PeriodInput{Leaves: []memory.SummaryNode{first, second}, Now: nextMonday}); fmt.Sprint(got) != "[2026-W47 g1 [b]]" {
			t.Errorf("got %v", got)
		}
	})
}
