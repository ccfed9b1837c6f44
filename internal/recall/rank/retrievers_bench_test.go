package rank_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/language/text/synonyms"
	"github.com/stratamem/strata/internal/language/text/when"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/dot"
	"github.com/stratamem/strata/internal/recall/factrank"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/recall/segment"
	shape "github.com/stratamem/strata/internal/testing/conversations"
)

// retrievers is one user with workload W: 10,000 messages with a vector each, and 10,000 facts with one, each learnt from a
// message and made of its first words.
type retrievers struct {
	index   *rank.Index
	facts   *factrank.Index
	queries []rank.EmbeddedQuery
	matrix  []float32 // as many vectors as messages and facts have together, in a row
	dim     int
}

func newRetrievers(dim int) retrievers {
	r := rand.New(rand.NewPCG(uint64(dim), 1))
	a := retrievers{index: rank.NewIndex(), facts: factrank.NewIndex(), dim: dim, matrix: rank.RandomVector(r, dim*20_000)}
	for s, session := range shape.W().Conversations() {
		for i, m := range session.Messages {
			place := memory.Place{Session: memory.SessionKey(session.ID), Seq: int64(i + 1)}
			doc := segment.Analyze(memory.PlacedMessage{Place: place, Message: m})
			doc.Vector = segment.NewVector(1, rank.RandomVector(r, dim))
			a.index.Add(doc)
			a.addFact(fmt.Sprintf("fact-%d-%d", s, i), place, m, rank.RandomVector(r, dim))
		}
	}
	a.queries = a.ask(r)
	return a
}

func (a *retrievers) addFact(id string, place memory.Place, m memory.Message, vector []float32) {
	words := strings.Fields(m.PlainText())
	a.facts.Put(memory.Fact{
		ID: id, Subject: m.Name, Text: strings.Join(words[:min(8, len(words))], " "), Category: memory.CategoryPreference, Significance: 5,
		ValidFrom: m.CreateTime, Evidence: []memory.Evidence{{Session: place.Session, Seq: place.Seq}},
	})
	a.facts.SetVector(id, vector)
}

// ask makes questions of eight words that also name a speaker, a day and a month, so that every factor counts, with
// eight words near to each.
func (a *retrievers) ask(r *rand.Rand) []rank.EmbeddedQuery {
	var out []rank.EmbeddedQuery
	for _, words := range shape.W().Queries(64) {
		question := "When did Ada " + words + " last week or in January?"
		table := map[string][]synonyms.Word{}
		for _, t := range text.Terms(words) {
			for range 8 {
				table[t] = append(table[t], synonyms.Word{Term: shape.Word(r.IntN(shape.VocabularySize)), Cosine: .5})
			}
		}
		q := rank.Query{
			Terms: text.Terms(question), Near: func(term string) []synonyms.Word { return table[term] },
			AsksWhen: when.Asks(question), Times: when.Find(question, shape.W().End()),
			Limit: rank.FuseDepth, UserPrior: rank.WordsPrior,
		}
		out = append(out, rank.EmbeddedQuery{Query: q, Vector: rank.RandomVector(r, a.dim)})
	}
	return out
}

// search is all that a search of messages computes: words and vectors side by side.
func (a *retrievers) search(q rank.EmbeddedQuery) []rank.Hit {
	q.Attached = a.facts.Sources(q.AttachedTerms())
	var own rank.Result
	var words sync.WaitGroup
	words.Go(func() { own = a.index.Search(q.Query) })
	turns := a.index.SearchVectors(rank.QueryVector{Version: 1, Values: q.Vector}, q.Query)
	_, learnt := a.facts.SearchWithSources(factrank.Query{Vector: q.Vector})
	sources := a.index.Weigh(q.Query, learnt)
	words.Wait()
	return rank.Fuse(own.Hits, rank.DenseRetriever(turns), rank.DenseFactsRetriever(sources))
}

// products is the baseline: nothing but the inner products of the query and as many vectors as the retrievers compare.
func (a *retrievers) products(vector []float32) (sum float32) {
	for at := 0; at < len(a.matrix); at += a.dim {
		sum += dot.Float32(vector, a.matrix[at:at+a.dim])
	}
	return sum
}

// BenchmarkRetrieversOnW prints what a search takes, beside the baseline, which runs on one processor. The baseline is taken
// once after every round of the queries, so that both meet the same load, and the memory that it walks through leaves the
// searches warm. Beside other loads the best times tell more than the medians.
func BenchmarkRetrieversOnW(b *testing.B) {
	for _, dim := range []int{256, 384} {
		a := newRetrievers(dim)
		b.Run(fmt.Sprintf("dim=%d", dim), func(b *testing.B) {
			var searches, products []time.Duration
			for i := 0; b.Loop(); i++ {
				q := a.queries[i%len(a.queries)]
				start := time.Now()
				if hits := a.search(q); len(hits) < rank.FuseDepth {
					b.Fatalf("%d hits", len(hits))
				}
				searches = append(searches, time.Since(start))
				if i%len(a.queries) == 0 {
					start = time.Now()
					runtimeSink = a.products(q.Vector)
					products = append(products, time.Since(start))
				}
			}
			rank.ReportTimes(b, "", searches)
			rank.ReportTimes(b, "baseline-", products)
			b.ReportMetric(rank.Share(searches, .5)/rank.Share(products, .5), "p50-ratio")
		})
	}
}

// runtimeSink keeps the baseline from being optimised away.
var runtimeSink float32
