package console

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// Counters are noted each trendEvery, and the latest trendNotes of them are kept: ten minutes.
const (
	trendEvery = 10 * time.Second
	trendNotes = 61
)

// Trend keeps what the server counted of its calls over the last minutes. Its methods may be called concurrently.
type Trend struct {
	measured func() ([]Measure, error)
	now      func() time.Time
	mu       sync.Mutex
	notes    []note // the oldest first
}

// note is what was counted up to a time, of all methods together.
type note struct {
	At            time.Time
	Calls, Failed uint64
	Took          []Bucket // of the methods that take no longer than their work
}

// NewTrend makes a Trend of what measured returns.
func NewTrend(measured func() ([]Measure, error), now func() time.Time) *Trend {
	return &Trend{measured: measured, now: now}
}

// Note notes what was counted so far, and returns how long to rest before the next note: the work of a workloop.Loop.
func (t *Trend) Note(context.Context) (rest time.Duration, err error) {
	measured, err := t.measured()
	if err != nil {
		return 0, fmt.Errorf("note what calls took: %w", err)
	}
	n := noteOf(t.now(), measured)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notes = append(t.notes, n)
	if over := len(t.notes) - trendNotes; over > 0 {
		t.notes = slices.Delete(t.notes, 0, over)
	}
	return trendEvery, nil
}

// curves are those of the notes that are kept.
func (t *Trend) curves() []curve {
	t.mu.Lock()
	notes := slices.Clone(t.notes)
	t.mu.Unlock()
	return curvesOf(notes)
}

// noteOf adds up the methods. A call that waits takes what its caller asks for, which says nothing of the server.
func noteOf(at time.Time, measured []Measure) note {
	n := note{At: at}
	for _, m := range measured {
		if m.Name != callSeconds || len(m.Buckets) == 0 {
			continue
		}
		n.Calls += uint64(m.Value)
		if m.Labels["code"] != "OK" {
			n.Failed += uint64(m.Value)
		}
		if m.Labels["method"] == memoryv1.WorkService_WaitForWatermark_FullMethodName {
			continue
		}
		if n.Took == nil {
			n.Took = make([]Bucket, len(m.Buckets))
		}
		for i, b := range m.Buckets {
			n.Took[i].UpTo = b.UpTo
			n.Took[i].Count += b.Count
		}
	}
	return n
}

// A curve is drawn in curveWide by curveHigh, and reaches back by trendWindow.
const (
	curveWide   = 600
	curveHigh   = 80
	trendWindow = (trendNotes - 1) * trendEvery
)

// curve is one picture of the last minutes: what is usual, and what is not.
type curve struct {
	Name              string // of its text
	Usual, Worst      []string
	LastUsual, Usuals string // the last value, and the greatest
	LastWorst, Worsts string
	Top               string // the value at the top of the picture
}

// curvesOf are calls and failures each second, and what half and 99 of 100 calls took; none of fewer than two notes.
func curvesOf(notes []note) []curve {
	if len(notes) < 2 {
		return nil
	}
	var calls, failed, half, most []step
	end := notes[len(notes)-1].At
	x := func(at time.Time) int { return curveWide - int(curveWide*end.Sub(at)/trendWindow) }
	for i, n := range notes[1:] {
		before := notes[i]
		seconds := n.At.Sub(before.At).Seconds()
		if seconds <= 0 || n.Calls < before.Calls {
			continue
		}
		from, to := x(before.At), x(n.At)
		calls = append(calls, step{from, to, float64(n.Calls-before.Calls) / seconds})
		failed = append(failed, step{from, to, float64(n.Failed-before.Failed) / seconds})
		took := between(before.Took, n.Took)
		half, most = append(half, step{from, to, bucketOf(took, .5)}), append(most, step{from, to, bucketOf(took, .99)})
	}
	rate := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
	last := notes[len(notes)-1].Took
	duration := func(v float64) string {
		if v < 0 {
			return "–"
		}
		return bound(last[int(v)].UpTo, last)
	}
	return []curve{
		newCurve("metrics.rate", calls, failed, rate), newCurve("metrics.took", half, most, duration),
	}
}

// step is a value between two times. Below 0 there is no value.
type step struct {
	from, to int
	value    float64
}

func newCurve(name string, usual, worst []step, text func(float64) string) curve {
	top := max(greatest(usual), greatest(worst))
	return curve{
		Name: name, Usual: polylines(usual, top), Worst: polylines(worst, top),
		LastUsual: text(usual[len(usual)-1].value), Usuals: text(greatest(usual)),
		LastWorst: text(worst[len(worst)-1].value), Worsts: text(greatest(worst)), Top: text(top),
	}
}

func greatest(steps []step) float64 {
	out := -1.0
	for _, s := range steps {
		out = max(out, s.value)
	}
	return out
}

// polylines are the points of the lines through the steps, with a gap where there is no value. The greatest value touches the top.
func polylines(steps []step, top float64) (lines []string) {
	var points []string
	flush := func() {
		if len(points) > 0 {
			lines = append(lines, strings.Join(points, " "))
		}
		points = nil
	}
	for _, s := range steps {
		if s.value < 0 {
			flush()
			continue
		}
		y := curveHigh - 1
		if top > 0 {
			y -= int(math.Round(s.value / top * (curveHigh - 2)))
		}
		points = append(points, fmt.Sprintf("%d,%d %d,%d", s.from, y, s.to, y))
	}
	flush()
	return lines
}

// between are the observations that came between two notes.
func between(before, after []Bucket) []Bucket {
	out := slices.Clone(after)
	for i := range out {
		if i < len(before) {
			out[i].Count -= before[i].Count
		}
	}
	return out
}

// bucketOf is the place of the first bucket that has at least a share of the observations; -1 where there are none. Buckets grow by
// factors, so that places are durations on a scale of factors.
func bucketOf(buckets []Bucket, share float64) float64 {
	if len(buckets) == 0 || buckets[len(buckets)-1].Count == 0 {
		return -1
	}
	all := float64(buckets[len(buckets)-1].Count)
	return float64(slices.IndexFunc(buckets, func(b Bucket) bool { return b.Count > 0 && float64(b.Count) >= share*all }))
}
