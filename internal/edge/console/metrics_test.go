package console

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheTableOfCalls(t *testing.T) {
	of := func(method, code string, counts ...uint64) Measure {
		m := Measure{Name: callSeconds, Labels: map[string]string{"method": "/memory.v1." + method, "code": code}}
		for i, up := range []float64{.001, .01, math.Inf(1)} {
			m.Buckets = append(m.Buckets, Bucket{up, counts[i]})
		}
		m.Value = float64(counts[len(counts)-1])
		return m
	}
	got := callRows([]Measure{
		of("FactService/GetFact", "OK", 0, 0, 1), of("MemoryService/Record", "OK", 98, 99, 99), of("MemoryService/Record", "Unavailable", 0, 1, 1),
		{Name: "strata_other", Value: 3},
	})
	want := []callRow{
		{
			Method: "MemoryService/Record", Calls: 100, Failed: 1, Half: "≤ 1ms", Most: "≤ 10ms", Width: 18,
			Bars: []timeBar{{X: 0, Y: 0, High: 24, Label: "≤ 1ms: 98"}, {X: 6, Y: 23, High: 1, Label: "≤ 10ms: 2"}},
		},
		{
			Method: "FactService/GetFact", Calls: 1, Half: "> 10ms", Most: "> 10ms", Width: 18,
			Bars: []timeBar{{X: 12, Y: 0, High: 24, Label: "> 10ms: 1"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheCountersThatCountSomething(t *testing.T) {
	got := counterGroups([]Measure{
		{Name: "a", Labels: map[string]string{"kind": "extract", "fate": "done"}, Value: 200},
		{Name: "a", Labels: map[string]string{"kind": "merge", "fate": "done"}, Value: 50},
		{Name: "b"},
		{Name: "c", Value: 1},
		{Name: "h", Value: 1, Buckets: []Bucket{{math.Inf(1), 1}}},
	})
	want := []counterGroup{
		{Name: "a", Rows: []counterRow{{"done · extract", 200, 100}, {"done · merge", 50, 25}}}, {Name: "c", Rows: []counterRow{{"", 1, 100}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
