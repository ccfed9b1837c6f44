package service

import (
	"github.com/maypok86/otter/v2"

	"github.com/stratamem/strata/internal/summary"
)

// apartBytes is about how much memory the summaries take that were shortened lately.
const apartBytes = 16 << 20

// apart keeps the summaries that were shortened lately as they were taken apart: contexts shorten the same ones again
// and again, and finding what deserves a place in one of 2,000 tokens takes milliseconds.
type apart struct {
	texts *otter.Cache[apartKey, *summary.Apart]
}

type apartKey struct{ counter, text string }

func newApart() apart {
	return apart{otter.Must(&otter.Options[apartKey, *summary.Apart]{
		MaximumWeight: apartBytes,
		// The sentences of a text take about as much as the text.
		Weigher: func(k apartKey, _ *summary.Apart) uint32 { return uint32(2*len(k.text) + 512) },
	})}
}

// by answers assembly.Input.TakeApart for a counter.
func (c apart) by(counter string) func(string, func(string) int64) *summary.Apart {
	return func(text string, count func(string) int64) *summary.Apart {
		key := apartKey{counter, text}
		if known, ok := c.texts.GetIfPresent(key); ok {
			return known
		}
		a := summary.TakeApart(text, count)
		c.texts.Set(key, a)
		return a
	}
}
