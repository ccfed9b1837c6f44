package rank

import (
	"testing"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/segment"
	shape "github.com/stratamem/strata/internal/testing/conversations"
)

// BenchmarkWords searches chats of 10,000 messages by their words as a context does. Beside it stands a baseline of the same run: every
// term spread alone, with nothing scored or chosen.
func BenchmarkWords(b *testing.B) {
	for _, c := range []struct {
		name string
		of   shape.Shape
	}{{"people", shape.W()}, {"assistant", shape.W2()}} {
		x := NewIndex()
		for _, session := range c.of.Conversations() {
			var docs []segment.Doc
			for i, m := range session.Messages {
				place := memory.Place{Session: memory.SessionKey(session.ID), Seq: int64(i + 1)}
				docs = append(docs, segment.Analyze(memory.PlacedMessage{Place: place, Message: m}))
			}
			x.Add(docs...)
		}
		var queries []Query
		for _, words := range c.of.Queries(64) {
			queries = append(queries, Query{
				Terms: text.Terms(words), Limit: 410, UserPrior: 1, Exclude: func(memory.Place) bool { return false },
			})
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var searches, spreads []time.Duration
			for i := 0; b.Loop(); i++ {
				q := queries[i%len(queries)]
				start := time.Now()
				x.Search(q)
				searches = append(searches, time.Since(start))
				start = time.Now()
				x.spreadAlone(q)
				spreads = append(spreads, time.Since(start))
			}
			reportTimes(b, "", searches)
			b.ReportMetric(share(searches, .5)/share(spreads, .5), "p50-ratio")
		})
	}
}

// spreadAlone is the baseline.
func (x *Index) spreadAlone(q Query) {
	s := x.scratch.Get().(*scratch)
	s.grow(len(x.passages.message), len(x.messages))
	for _, t := range x.expand(&q) {
		spreader{x, &s.accumulators, nil}.term(&t)
		s.clearTerm()
	}
	x.scratch.Put(s)
}
