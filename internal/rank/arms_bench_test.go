package rank

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/text"
	"github.com/stratamem/strata/internal/text/near"
	"github.com/stratamem/strata/internal/text/when"
	shape "github.com/stratamem/strata/internal/workload"
)

// arms is one user with workload W: 10,000 messages with a vector each, and 10,000 facts with one, each learnt from a
// message and made of its first words.
type arms struct {
	index   *Index
	facts   *FactIndex
	queries []armsQuery
	matrix  []float32 // as many vectors as messages and facts have together, in a row
	dim     int
}

type armsQuery struct {
	Query
	vector []float32
}

func newArms(dim int) arms {
	r := rand.New(rand.NewPCG(uint64(dim), 1))
	a := arms{index: NewIndex(), facts: NewFactIndex(), dim: dim, matrix: randomVector(r, dim*20_000)}
	var vectors []TurnVector
	for s, session := range shape.W().Conversations() {
		for i, m := range session.Messages {
			place := memory.Place{Session: memory.SessionKey(session.ID), Seq: int64(i + 1)}
			a.index.Add(Analyze(memory.PlacedMessage{Place: place, Message: m}))
			vectors = append(vectors, TurnVector{place, NewVector(1, randomVector(r, dim))})
			a.addFact(fmt.Sprintf("fact-%d-%d", s, i), place, m, randomVector(r, dim))
		}
	}
	a.index.SetVectors(vectors...)
	a.queries = a.ask(r)
	return a
}

func (a *arms) addFact(id string, place memory.Place, m memory.Message, vector []float32) {
	words := strings.Fields(m.PlainText())
	a.facts.Put(memory.Fact{
		ID: id, Subject: m.Name, Text: strings.Join(words[:min(8, len(words))], " "), Category: memory.CategoryPreference, Significance: 5,
		ValidFrom: m.CreateTime, Evidence: []memory.Evidence{{Session: place.Session, Seq: place.Seq}},
	})
	a.facts.SetVector(id, vector)
}

// ask makes questions of eight words that also name a speaker, a day and a month, so that every factor counts, with
// eight words near to each.
func (a *arms) ask(r *rand.Rand) []armsQuery {
	var out []armsQuery
	for _, words := range shape.W().Queries(64) {
		question := "When did Ada " + words + " last week or in January?"
		table := nearTable{}
		for _, t := range text.Terms(words) {
			for range 8 {
				table[t] = append(table[t], near.Word{Term: shape.Word(r.IntN(shape.VocabularySize)), Cosine: .5})
			}
		}
		q := Query{
			Terms: text.Terms(question), Near: table.of, AsksWhen: when.Asks(question), Times: when.Find(question, shape.W().End()),
			Limit: FuseDepth, UserPrior: DefaultUserPrior,
		}
		out = append(out, armsQuery{q, randomVector(r, a.dim)})
	}
	return out
}

// search is all that a search of messages computes: words and vectors side by side.
func (a *arms) search(q armsQuery) []Hit {
	q.Attached = a.facts.Sources(q.AttachedTerms())
	var own Result
	var words sync.WaitGroup
	words.Go(func() { own = a.index.Search(q.Query) })
	turns := a.index.SearchTurns(QueryVector{1, q.vector}, q.Query)
	sources := a.index.Weigh(q.Query, a.facts.SearchSources(FactQuery{Vector: q.vector}))
	words.Wait()
	return Fuse(own.Hits, DenseArm(turns), DenseFactsArm(sources))
}

// products is the baseline: nothing but the inner products of the query and as many vectors as the arms compare.
func (a *arms) products(vector []float32) (sum float32) {
	for at := 0; at < len(a.matrix); at += a.dim {
		sum += Dot(vector, a.matrix[at:at+a.dim])
	}
	return sum
}

// BenchmarkArmsOnW takes the baseline after every search, so that both meet the same load, and prints what the first
// takes of the second. The baseline runs on one processor.
func BenchmarkArmsOnW(b *testing.B) {
	for _, dim := range []int{256, 384} {
		a := newArms(dim)
		b.Run(fmt.Sprintf("dim=%d", dim), func(b *testing.B) {
			var searches, products []time.Duration
			for i := 0; b.Loop(); i++ {
				q := a.queries[i%len(a.queries)]
				start := time.Now()
				hits := a.search(q)
				searched := time.Now()
				sum := a.products(q.vector)
				searches, products = append(searches, searched.Sub(start)), append(products, time.Since(searched))
				if len(hits) < FuseDepth || sum != sum {
					b.Fatalf("%d hits", len(hits))
				}
			}
			ms := func(took []time.Duration, share float64) float64 {
				slices.Sort(took)
				return float64(took[int(share*float64(len(took)-1))]) / float64(time.Millisecond)
			}
			b.ReportMetric(ms(searches, .5), "p50-ms")
			b.ReportMetric(ms(searches, .99), "p99-ms")
			b.ReportMetric(ms(products, .5), "baseline-ms")
			b.ReportMetric(ms(searches, .5)/ms(products, .5), "ratio")
		})
	}
}
