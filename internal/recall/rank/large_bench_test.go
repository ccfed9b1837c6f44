package rank

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/segment"
	shape "github.com/stratamem/strata/internal/testing/conversations"
)

// largeIndex is a user of so many messages, with a random vector each.
func largeIndex(messages int) (*Index, []embeddedQuery) {
	r := rand.New(rand.NewPCG(7, 1))
	of := shape.Large(messages)
	x := NewIndex()
	var docs []segment.Doc
	for s := range of.All() {
		docs = docs[:0]
		for i, m := range s.Messages {
			d := segment.Analyze(memory.PlacedMessage{Place: memory.Place{Session: memory.SessionKey(s.ID), Seq: int64(i + 1)}, Message: m})
			d.Vector = segment.NewVector(1, randomVector(r, 256))
			docs = append(docs, d)
		}
		if err := x.AddSegment(segment.Encode(docs)); err != nil {
			panic(err)
		}
	}
	var queries []embeddedQuery
	for _, q := range of.Queries(64) {
		queries = append(queries, embeddedQuery{Query{Terms: text.Terms(q), Limit: 610}, randomVector(r, 256)})
	}
	return x, queries
}

// BenchmarkLarge searches 500,000 messages by words and by vectors, all that match scored and the best alone.
func BenchmarkLarge(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	x, queries := largeIndex(500_000)
	runtime.GC()
	runtime.ReadMemStats(&after)
	for _, c := range []struct {
		name string
		of   limits
	}{{"all", limits{passages: 1 << 30, rows: 1 << 30}}, {"best", defaultLimits()}} {
		x.limits = c.of
		b.Run("words/"+c.name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				x.Search(queries[i%len(queries)].Query)
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
			b.ReportMetric(float64(x.Bytes())/(1<<20), "MiB-reported")
		})
		b.Run("vectors/"+c.name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				q := queries[i%len(queries)]
				x.SearchVectors(QueryVector{Version: 1, Values: q.Vector}, q.Query)
			}
		})
	}
}

// BenchmarkRead reads 100,000 messages from segments, the newest first as the service does: one session costs what many
// cost.
func BenchmarkRead(b *testing.B) {
	const messages, segment = 100_000, 8000
	many, one := segments(shape.Large(messages), segment), segments(shape.Long(messages), segment)
	var took [2]time.Duration
	for b.Loop() {
		for i, of := range [][][]byte{many, one} {
			begin := time.Now()
			x := NewIndex()
			for _, data := range slices.Backward(of) {
				if err := x.AddSegment(data); err != nil {
					b.Fatal(err)
				}
			}
			took[i] += time.Since(begin)
		}
	}
	b.ReportMetric(float64(took[1])/float64(took[0]), "one/many")
}

// segments holds so many messages of a shape each.
func segments(of shape.Shape, messages int) (out [][]byte) {
	var docs []segment.Doc
	for s := range of.All() {
		for i, m := range s.Messages {
			docs = append(docs, segment.Analyze(memory.PlacedMessage{Place: memory.Place{Session: memory.SessionKey(s.ID), Seq: int64(i + 1)}, Message: m}))
			if len(docs) == messages {
				out, docs = append(out, segment.Encode(docs)), nil
			}
		}
	}
	return append(out, segment.Encode(docs))
}
