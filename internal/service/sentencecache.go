package service

import (
	"context"

	"github.com/maypok86/otter/v2"

	"github.com/stratamem/strata/internal/summary"
)

// sentenceCacheBytes is about how much memory the summaries take that were shortened lately.
const sentenceCacheBytes = 16 << 20

// sentenceCache keeps the summaries that were shortened lately as they were taken apart: contexts shorten the same ones again
// and again, and finding what deserves a place in one of 2,000 tokens takes milliseconds.
type sentenceCache struct {
	texts *otter.Cache[sentenceKey, *summary.Apart]
}

type sentenceKey struct{ counter, text string }

func newSentenceCache() sentenceCache {
	return sentenceCache{otter.Must(&otter.Options[sentenceKey, *summary.Apart]{
		MaximumWeight: sentenceCacheBytes,
		// The sentences of a text take about as much as the text.
		Weigher: func(k sentenceKey, _ *summary.Apart) uint32 { return uint32(2*len(k.text) + 512) },
	})}
}

// by returns assembly.Input.TakeApart for a counter. What is taken apart once ctx has ended is not kept: see tokens.Within.
func (c sentenceCache) by(ctx context.Context, counter string) func(string, func(string) int64) *summary.Apart {
	return func(text string, count func(string) int64) *summary.Apart {
		key := sentenceKey{counter, text}
		if known, ok := c.texts.GetIfPresent(key); ok {
			return known
		}
		a := summary.TakeApart(text, count)
		if ctx.Err() == nil {
			c.texts.Set(key, a)
		}
		return a
	}
}
