package mixedload

import (
	"time"

	"github.com/stratamem/strata/bench/internal/measure"
)

// Outcome is what came of a call.
type Outcome struct {
	Kind   Kind
	At     time.Duration // when it was to be sent, from the begin of the load
	Took   time.Duration // from then until its reply, whatever held it up
	Failed bool
}

// Between are the outcomes of calls that were to be sent from one time on and before another.
func Between(all []Outcome, from, to time.Duration) []Outcome {
	var out []Outcome
	for _, o := range all {
		if o.At >= from && o.At < to {
			out = append(out, o)
		}
	}
	return out
}

// Times are how long the calls took that did not fail, of one of the kinds; of all where none is named.
func Times(all []Outcome, of ...Kind) measure.Samples {
	var out measure.Samples
	for _, o := range all {
		if !o.Failed && (len(of) == 0 || contains(of, o.Kind)) {
			out = append(out, o.Took)
		}
	}
	return out
}

func contains(all []Kind, k Kind) bool {
	for _, x := range all {
		if x == k {
			return true
		}
	}
	return false
}

// Failures count the calls that failed.
func Failures(all []Outcome) int {
	n := 0
	for _, o := range all {
		if o.Failed {
			n++
		}
	}
	return n
}

// Sample is how large things are at a time of the load. Sizes are in bytes.
type Sample struct {
	At        time.Duration
	Memory    int64   // of the server, resident; of the largest that is judged where there are several
	Each      []int64 // where there are several: the memory of each, 0 while it is dead
	File, Log int64   // of the data file, and of the log beside it
	Written   int64   // of the text of acknowledged messages, since the begin
}

// OfEach is the memory of each server.
func (s Sample) OfEach() []int64 {
	if len(s.Each) == 0 {
		return []int64{s.Memory}
	}
	return s.Each
}

// Last is the last sample before a time; the zero one where there is none.
func Last(all []Sample, before time.Duration) (last Sample) {
	for _, s := range all {
		if s.At < before {
			last = s
		}
	}
	return last
}

// MemoryGrowth is the slope of the straight line through the memory from a time on, by least squares, in MiB a minute.
func MemoryGrowth(all []Sample, from time.Duration) float64 {
	var n, x, y, xx, xy float64
	for _, s := range all {
		if s.At < from {
			continue
		}
		t, m := s.At.Minutes(), float64(s.Memory)/(1<<20)
		n, x, y, xx, xy = n+1, x+t, y+m, xx+t*t, xy+t*m
	}
	if d := n*xx - x*x; d > 0 {
		return (n*xy - x*y) / d
	}
	return 0
}

// FileGrowth is by how many bytes the file grew for each byte of text that was written between two times; 0 where nothing was. The log
// is left out: it is begun anew again and again.
func FileGrowth(all []Sample, from, to time.Duration) float64 {
	a, b := Last(all, from), Last(all, to)
	if b.Written <= a.Written {
		return 0
	}
	return float64(b.File-a.File) / float64(b.Written-a.Written)
}
