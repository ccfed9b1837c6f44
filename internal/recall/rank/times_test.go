package rank

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/language/text/when"
	"github.com/stratamem/strata/internal/memory"
)

func date(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

func mention(from, to time.Time) when.Mention { return when.Mention{From: from, To: to} }

func yearless(from, to time.Time) when.Mention {
	return when.Mention{From: from, To: to, Yearless: true}
}

func TestTimesThatAQueryNames(t *testing.T) {
	may := mention(date(2023, 5, 1), date(2023, 6, 1))
	seoul := time.FixedZone("", 9*60*60)
	for _, c := range []struct {
		promise string
		times   []when.Mention
		at      time.Time
		want    float64
	}{
		{"a message counts in full from the first instant", []when.Mention{may}, date(2023, 5, 1), 1},
		{"up to the last", []when.Mention{may}, date(2023, 6, 1).Add(-time.Millisecond), 1},
		{"half as long after it as it lasts", []when.Mention{may}, date(2023, 6, 1), .5},
		{"but not longer", []when.Mention{may}, date(2023, 7, 2), 0},
		{"and not before it", []when.Mention{may}, date(2023, 5, 1).Add(-time.Millisecond), 0},
		{"not in another year", []when.Mention{may}, date(2022, 5, 8), 0},
		{"half for the day after a day", []when.Mention{mention(may8, may8.AddDate(0, 0, 1))}, may8.AddDate(0, 0, 1), .5},
		{"nothing two days after it", []when.Mention{mention(may8, may8.AddDate(0, 0, 1))}, may8.AddDate(0, 0, 2), 0},
		{"half for a month at most after a season", []when.Mention{mention(date(2023, 3, 1), date(2023, 6, 1))}, date(2023, 7, 1), .5},
		{"nothing after that", []when.Mention{mention(date(2023, 3, 1), date(2023, 6, 1))}, date(2023, 7, 3), 0},
		{"a little within a year", []when.Mention{mention(date(2023, 1, 1), date(2024, 1, 1))}, date(2023, 5, 1), .3},
		{"nothing after a year", []when.Mention{mention(date(2023, 1, 1), date(2024, 1, 1))}, date(2024, 1, 1), 0},
		{"a little in the ninth of ten years", []when.Mention{mention(date(2010, 1, 1), date(2020, 1, 1))}, date(2018, 5, 1), .3},
		{"where the year is open, any year is meant: the latest", []when.Mention{yearless(date(2026, 5, 1), date(2026, 6, 1))}, date(2026, 5, 8), 1},
		{"the one before", []when.Mention{yearless(date(2026, 5, 1), date(2026, 6, 1))}, date(2025, 5, 31), 1},
		{"one long ago", []when.Mention{yearless(date(2026, 5, 1), date(2026, 6, 1))}, date(1980, 5, 1), 1},
		{"the month after counts half in any year", []when.Mention{yearless(date(2026, 12, 1), date(2027, 1, 1))}, date(2024, 1, 8), .5},
		{"no other month does", []when.Mention{yearless(date(2026, 5, 1), date(2026, 6, 1))}, date(2023, 8, 8), 0},
		{"nor one after the latest", []when.Mention{yearless(date(2026, 5, 1), date(2026, 6, 1))}, date(2031, 5, 8), 0},
		{"a leap day is that of any leap year", []when.Mention{yearless(date(2024, 2, 29), date(2024, 3, 1))}, date(2016, 2, 29), 1},
		{"and counts half for the day after it", []when.Mention{yearless(date(2024, 2, 29), date(2024, 3, 1))}, date(2016, 3, 1), .5},
		{"no other year has it", []when.Mention{yearless(date(2024, 2, 29), date(2024, 3, 1))}, date(2015, 3, 1), 0},
		{"nor any of its days", []when.Mention{yearless(date(2024, 2, 29), date(2024, 3, 1))}, date(2015, 2, 28), 0},
		{"28 February is one day in a leap year too", []when.Mention{yearless(date(2023, 2, 28), date(2023, 3, 1))}, date(2020, 2, 29), .5},
		{"and was so in any year before", []when.Mention{yearless(date(2024, 2, 28), date(2024, 2, 29))}, date(2022, 2, 28), 1},
		{"February has all of its days in a leap year", []when.Mention{yearless(date(2023, 2, 1), date(2023, 3, 1))}, date(2020, 2, 29), 1},
		{"and as many as it has in another", []when.Mention{yearless(date(2024, 2, 1), date(2024, 3, 1))}, date(2023, 3, 1), .5},
		{"the last day of a year is that of any year", []when.Mention{yearless(date(2026, 12, 31), date(2027, 1, 1))}, date(2020, 12, 31), 1},
		{"the best of several times counts", []when.Mention{may, mention(date(2023, 6, 1), date(2023, 7, 1))}, date(2023, 6, 5), 1},
		{"days are those of the zone that was asked in", []when.Mention{mention(time.Date(2023, 5, 8, 0, 0, 0, 0, seoul), time.Date(2023, 5, 9, 0, 0, 0, 0, seoul))}, time.Date(2023, 5, 7, 15, 0, 0, 0, time.UTC), 1},
		{"a query without a time leaves all as it is", nil, may8, 0},
	} {
		t.Run(c.promise, func(t *testing.T) {
			if got := timesShare(NamedTimes(c.times), c.at.UnixMilli()); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestFactorsOfTime(t *testing.T) {
	mentions := doc("s", 1, memory.RoleUser, "Ann", "red fox")
	mentions.MentionsTime = true
	assistant := doc("a", 1, memory.RoleAssistant, "", "red fox")
	assistant.MentionsTime = true
	x := index(mentions, doc("t", 1, memory.RoleUser, "Bob", "red fox"), assistant)
	factors := func(q Query) map[memory.SessionKey][]Factor {
		q.Terms, q.Explain = []string{"fox"}, true
		out := map[memory.SessionKey][]Factor{}
		for _, h := range x.Search(q).Hits {
			out[h.Session] = h.Why.Factors
		}
		return out
	}
	for _, c := range []struct {
		promise string
		q       Query
		want    map[memory.SessionKey][]Factor
	}{
		{
			"asked when, a person's message that mentions a time counts more",
			Query{AsksWhen: true},
			map[memory.SessionKey][]Factor{"s": {{FactorMentionsTime, 1.2}}, "t": nil, "a": nil},
		},
		{"asked anything else, it does not", Query{}, map[memory.SessionKey][]Factor{"s": nil, "t": nil, "a": nil}},
		{
			"asked about a time, messages of that time count more, whoever wrote them",
			Query{Times: []when.Mention{mention(date(2023, 5, 8), date(2023, 5, 9))}},
			map[memory.SessionKey][]Factor{"s": {{FactorInTime, 1.3}}, "t": {{FactorInTime, 1.3}}, "a": {{FactorInTime, 1.3}}},
		},
		{
			"and those of the day after a little more",
			Query{AsksWhen: true, Times: []when.Mention{mention(date(2023, 5, 7), date(2023, 5, 8))}},
			map[memory.SessionKey][]Factor{"s": {{FactorMentionsTime, 1.2}, {FactorInTime, 1.15}}, "t": {{FactorInTime, 1.15}}, "a": {{FactorInTime, 1.15}}},
		},
	} {
		t.Run(c.promise, func(t *testing.T) {
			if diff := cmp.Diff(c.want, factors(c.q)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
