package console

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// Measure is a value that the server counts.
type Measure struct {
	Name    string
	Labels  map[string]string
	Value   float64  // of a histogram the number of observations
	Buckets []Bucket // of a histogram
}

// Bucket counts the observations of a histogram up to a value.
type Bucket struct {
	UpTo  float64 // the last one's is infinite
	Count uint64
}

// callSeconds is the histogram of calls of the API, by method and code.
const callSeconds = "strata_rpc_seconds"

// metricsData is what the server counted since it started, and over the last minutes.
type metricsData struct {
	Live     bool
	Curves   []curve
	Calls    []callRow
	Counters []counterGroup
}

// callRow is what calls of a method took.
type callRow struct {
	Method        string
	Calls, Failed uint64
	Half, Most    string // the times within which half, and 99 of 100, ended
	Bars          []timeBar
	Width         int
}

// timeBar is how many calls took a time, among those of its method, in hundredths of the most frequent one.
type timeBar struct {
	X, Y, High int
	Label      string
}

// counterGroup has the values of a counter or gauge.
type counterGroup struct {
	Name string
	Rows []counterRow
}

// counterRow is a value, with its share of the greatest of its group in hundredths.
type counterRow struct {
	Labels string
	Value  float64
	Share  int
}

// refreshSeconds is how often a reader who asks for it sees new values.
const refreshSeconds = 10

// showMetrics shows what concerns all tenants: to those who may see to the whole server.
func (v *visit) showMetrics() error {
	if err := v.MayCall(v.requestWith(v.session.Token), memoryv1.MaintenanceService_Verify_FullMethodName); err != nil {
		return err
	}
	measured, err := v.Measured()
	if err != nil {
		return err
	}
	data := metricsData{Live: v.argument("live") != "", Curves: v.Trend.curves(), Calls: callRows(measured), Counters: counterGroups(measured)}
	p := page{Tab: "metrics", Title: v.words.of("metrics.title"), Data: data}
	if data.Live {
		p.Again = refreshSeconds
	}
	return v.show("metrics.html", p)
}

// callRows adds up the codes of each method, the most called first.
func callRows(measured []Measure) (rows []callRow) {
	buckets, failed := map[string][]Bucket{}, map[string]uint64{}
	for _, m := range measured {
		if m.Name != callSeconds || len(m.Buckets) == 0 {
			continue
		}
		method := m.Labels["method"]
		if code := m.Labels["code"]; code != "OK" {
			failed[method] += uint64(m.Value)
		}
		if buckets[method] == nil {
			buckets[method] = make([]Bucket, len(m.Buckets))
		}
		for i, b := range m.Buckets {
			buckets[method][i].UpTo = b.UpTo
			buckets[method][i].Count += b.Count
		}
	}
	for _, method := range slices.Sorted(maps.Keys(buckets)) {
		all := buckets[method]
		rows = append(rows, callRow{
			Method: strings.TrimPrefix(method, "/memory.v1."), Calls: all[len(all)-1].Count, Failed: failed[method],
			Half: within(all, .5), Most: within(all, .99), Bars: timeBars(all), Width: len(all) * barStep,
		})
	}
	slices.SortStableFunc(rows, func(a, b callRow) int { return cmp.Compare(b.Calls, a.Calls) })
	return rows
}

// within is the bound of the first bucket that has at least a share of the observations.
func within(buckets []Bucket, share float64) string {
	all := buckets[len(buckets)-1].Count
	for _, b := range buckets {
		if b.Count > 0 && float64(b.Count) >= share*float64(all) {
			return bound(b.UpTo, buckets)
		}
	}
	return ""
}

// bound is a bucket's bound as a duration.
func bound(seconds float64, of []Bucket) string {
	if math.IsInf(seconds, 1) {
		if len(of) < 2 {
			return ""
		}
		return "> " + strings.TrimPrefix(bound(of[len(of)-2].UpTo, of), "≤ ")
	}
	return "≤ " + time.Duration(seconds*float64(time.Second)).Round(time.Microsecond).String()
}

// Bars are barStep wide with their gap, and barHigh at most.
const (
	barStep = 6
	barHigh = 24
)

// timeBars are the observations between the bounds.
func timeBars(buckets []Bucket) (bars []timeBar) {
	var most, before uint64
	for _, b := range buckets {
		most, before = max(most, b.Count-before), b.Count
	}
	before = 0
	for i, b := range buckets {
		count := b.Count - before
		before = b.Count
		if count == 0 {
			continue
		}
		high := max(int(count*barHigh/most), 1) //nolint:gosec // at most barHigh
		bars = append(bars, timeBar{X: i * barStep, Y: barHigh - high, High: high, Label: fmt.Sprintf("%s: %d", bound(b.UpTo, buckets), count)})
	}
	return bars
}

// counterGroups are the counters and gauges that count something, by name.
func counterGroups(measured []Measure) (groups []counterGroup) {
	for _, m := range measured {
		if len(m.Buckets) > 0 || m.Value == 0 {
			continue
		}
		if len(groups) == 0 || groups[len(groups)-1].Name != m.Name {
			groups = append(groups, counterGroup{Name: m.Name})
		}
		last := &groups[len(groups)-1]
		last.Rows = append(last.Rows, counterRow{Labels: labelLine(m.Labels), Value: m.Value})
	}
	for _, g := range groups {
		most := slices.MaxFunc(g.Rows, func(a, b counterRow) int { return cmp.Compare(a.Value, b.Value) }).Value
		for i, r := range g.Rows {
			g.Rows[i].Share = int(min(max(r.Value/most*100, 1), 100))
		}
	}
	return groups
}

// labelLine is the values of labels in the order of their names.
func labelLine(labels map[string]string) string {
	var values []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		values = append(values, labels[name])
	}
	return strings.Join(values, " · ")
}
