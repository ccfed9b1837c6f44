package mixedload

import (
	"time"

	"github.com/stratamem/strata/bench/internal/measure"
)

// Progress is what came of a load in a part of its time, by the calls that returned in it.
type Progress struct {
	Rate     float64 // calls that succeeded, a second
	Failed   int
	P50, P99 time.Duration // of those that succeeded, from when each was to be sent
	Open     int           // calls that were to be sent by the end of the part and had not returned by then
}

// ProgressOf says what came of a load from one time on and before another. due is how many calls were to be sent before the second one.
func ProgressOf(all []Outcome, due int, from, to time.Duration) Progress {
	p := Progress{Open: due}
	var times measure.Samples
	for _, o := range all {
		switch returned := o.At + o.Took; {
		case returned >= to:
			continue
		case returned < from:
		case o.Failed:
			p.Failed++
		default:
			times = append(times, o.Took)
		}
		p.Open--
	}
	p.P50, p.P99 = times.P50(), times.P99()
	if to > from {
		p.Rate = float64(len(times)) / (to - from).Seconds()
	}
	return p
}

// Due is how many calls of a load are to be sent before a time: the n-th, from 0, at n / rate seconds, and none from its end on.
func Due(rate float64, before, end time.Duration) int {
	all := int(end.Seconds() * rate)
	due := 0
	for due < all && At(rate, due) < before {
		due++
	}
	return due
}

// At is when the n-th call of a load is to be sent, from its begin.
func At(rate float64, n int) time.Duration {
	return time.Duration(float64(n) / rate * float64(time.Second))
}
