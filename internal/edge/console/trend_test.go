package console

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// counted is what a server has counted: calls within a millisecond, within a second, and slower ones, and how many of all failed.
func counted(method string, fast, slow, slowest, failed uint64) []Measure {
	of := func(code string, counts ...uint64) Measure {
		m := Measure{Name: callSeconds, Labels: map[string]string{"method": "/memory.v1." + method, "code": code}}
		for i, up := range []float64{.001, 1, math.Inf(1)} {
			m.Buckets = append(m.Buckets, Bucket{up, counts[i]})
		}
		m.Value = float64(counts[len(counts)-1])
		return m
	}
	return []Measure{of("OK", fast, fast+slow, fast+slow+slowest), of("Unavailable", failed, failed, failed)}
}

func TestTheCurvesOfTheLastMinutes(t *testing.T) {
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	at := func(n int) time.Time { return noon.Add(time.Duration(n) * trendEvery) }
	t.Run("each step is what came between two notes, and no call is a gap", func(t *testing.T) {
		got := curvesOf([]note{
			noteOf(at(0), counted("MemoryService/Record", 10, 0, 0, 0)),
			noteOf(at(1), counted("MemoryService/Record", 100, 8, 2, 0)),
			noteOf(at(2), counted("MemoryService/Record", 100, 8, 2, 0)),
			noteOf(at(3), counted("MemoryService/Record", 120, 8, 2, 30)),
		})
		want := []curve{
			{
				Name: "metrics.rate", Usual: []string{"570,1 580,1 580,79 590,79 590,40 600,40"}, Worst: []string{"570,79 580,79 580,79 590,79 590,56 600,56"},
				LastUsual: "5.0", Usuals: "10.0", LastWorst: "3.0", Worsts: "3.0", Top: "10.0",
			},
			{
				Name: "metrics.took", Usual: []string{"570,79 580,79", "590,79 600,79"}, Worst: []string{"570,1 580,1", "590,79 600,79"},
				LastUsual: "≤ 1ms", Usuals: "≤ 1ms", LastWorst: "≤ 1ms", Worsts: "> 1s", Top: "> 1s",
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("calls that wait count, and their time does not", func(t *testing.T) {
		n := noteOf(noon, counted("WorkService/WaitForWatermark", 0, 0, 3, 0))
		if n.Calls != 3 || n.Took != nil {
			t.Errorf("%+v", n)
		}
	})
	t.Run("a server without calls has flat curves, and one that has just started none", func(t *testing.T) {
		if got := curvesOf([]note{{At: at(0)}}); got != nil {
			t.Errorf("%+v", got)
		}
		got := curvesOf([]note{{At: at(0)}, {At: at(1)}})
		if len(got) != 2 || got[0].LastUsual != "0.0" || got[1].LastUsual != "–" || got[1].Usual != nil {
			t.Errorf("%+v", got)
		}
	})
	t.Run("ten minutes are kept, and what cannot be read is tried again", func(t *testing.T) {
		now, fault := noon, error(nil)
		trend := NewTrend(func() ([]Measure, error) { return nil, fault }, func() time.Time { return now })
		for range 2 * trendNotes {
			if rest, err := trend.Note(t.Context()); err != nil || rest != trendEvery {
				t.Fatalf("rests %s, %v", rest, err)
			}
			now = now.Add(trendEvery)
		}
		if n := len(trend.notes); n != trendNotes || now.Sub(trend.notes[0].At) != trendNotes*trendEvery {
			t.Errorf("%d notes from %s on", n, trend.notes[0].At)
		}
		fault = errors.New("broken")
		if _, err := trend.Note(t.Context()); !errors.Is(err, fault) {
			t.Errorf("%v", err)
		}
	})
}
