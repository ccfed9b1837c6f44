package assembly

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
)

var update = flag.Bool("update", false, "write the golden files anew")

// moments are told by one clock: the same instants in every zone, over changes of clocks, the end of a year and ISO week 53.
func moments(t *testing.T) []time.Time {
	t.Helper()
	var out []time.Time
	for _, s := range []string{
		"2020-12-31T14:59:59Z", "2020-12-31T15:00:00Z", "2021-01-01T07:59:59Z", "2021-01-01T08:00:00Z", "2021-01-04T07:59:59Z", // W53 and W01
		"2025-03-09T07:59:59Z", "2025-03-10T06:59:59Z", "2025-03-10T07:00:00Z", // clocks go forward in Los Angeles
		"2025-03-29T23:00:00Z", "2025-03-30T21:59:59Z", "2025-03-30T22:00:00Z", // and in Berlin
		"2025-10-25T21:59:59Z", "2025-10-26T22:59:59Z", "2025-10-26T23:00:00Z", // back in Berlin
		"2025-11-01T03:00:00Z", "2025-11-03T07:59:59Z", "2025-11-03T08:00:00Z", // and in Los Angeles
		"2025-12-31T23:30:00Z",
	} {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, at)
	}
	return out
}

func TestDaysOfAZone(t *testing.T) {
	for _, zone := range []string{"America/Los_Angeles", "Asia/Seoul", "Europe/Berlin"} {
		t.Run("every day in a context is one of "+zone, func(t *testing.T) {
			in, err := time.LoadLocation(zone)
			if err != nil {
				t.Fatal(err)
			}
			got := contextOfDays(t, in)
			golden := filepath.Join("testdata", "days", strings.ReplaceAll(zone, "/", "-")+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the context is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// contextOfDays is a context of recalled messages, facts, notes and summaries of each moment. Each says what day it is.
func contextOfDays(t *testing.T, zone *time.Location) string {
	t.Helper()
	in := input(t, RenderText)
	in.Available, in.Location = 100_000, zone
	in.Policy.Sections.Notes = true
	var found []Recalled
	for i, at := range moments(t) {
		day := at.In(zone).Format("Monday 2 January 2006, 15:04")
		r := recalled(i+1, "", "Today is "+day+".")
		r.Message.CreateTime, r.Message.RecordTime = at, at.Add(time.Second)
		found = append(found, r)
		in.Facts = append(in.Facts, memory.Fact{ID: day, Text: "Learnt on " + day + ".", ValidFrom: at})
		in.Notes = append(in.Notes, Note{Note: memory.Note{Name: at.UTC().Format("060102150405"), Value: []byte(`"Written on ` + day + `."`), Time: at}})
		week := summary.WeekOf(at, zone)
		if n := len(in.Periods); n == 0 || in.Periods[n-1].Name != week.Name {
			in.Periods = append(in.Periods, Summary{Name: week.Name, Start: week.Start.UTC(), End: week.End.UTC(), Text: "The week of " + day + "."})
		}
		if i > 0 {
			before := moments(t)[i-1]
			in.Previous = append(in.Previous, Summary{
				SessionID: day, Name: "session", From: 1, To: 2, Start: before, End: at, Text: "From " + before.In(zone).Format("2 January 2006") + " to " + day + ".",
			})
		}
	}
	in.Recall = func(int64) ([]Recalled, error) {
		out := found
		found = nil
		return out, nil
	}
	out, err := assembled(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out.Rendering
}
