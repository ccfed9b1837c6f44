package milvusstore_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/milvusindex"
	"github.com/stratamem/strata/internal/store/milvusstore"
)

// The data of BenchmarkIndex.
const (
	indexDimension = 384
	indexPerUser   = 100 // facts of a user, on average
	indexTopics    = 400
	indexOwnTopics = 12  // of a user
	indexLatent    = 48  // directions in which vectors differ: those of real texts lie near few of the directions that their numbers allow
	indexSpread    = .6  // of the facts of a topic, beside the distance between topics
	indexNoise     = .08 // in every direction, beside the length of a vector
	indexQueries   = 200
	indexLimit     = 200 // facts that BuildContext asks a view for
	indexFirst     = 10  // the first of these
)

// indexRows is STRATA_BENCH_FACTS, or 100,000.
func indexRows(b *testing.B) int {
	text := os.Getenv("STRATA_BENCH_FACTS")
	if text == "" {
		return 100_000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 10_000 {
		b.Fatalf("STRATA_BENCH_FACTS is %q: write a number from 10000", text)
	}
	return n
}

// indexData makes the facts of users: how many a user has follows Zipf's law with an exponent of 1, and a user's facts are about a
// dozen topics that many share.
type indexData struct {
	random     *rand.Rand
	projection [][]float32 // a direction for each latent number
	topics     [][]float64 // latent
	upTo       []float64   // the share of the facts that a user and all before it have
}

func newIndexData(facts int) *indexData {
	d := &indexData{random: rand.New(rand.NewPCG(7, 8)), upTo: make([]float64, facts/indexPerUser)}
	for range indexLatent {
		d.projection = append(d.projection, numbers(d.random, indexDimension))
	}
	for range indexTopics {
		d.topics = append(d.topics, d.latent())
	}
	var sum float64
	for i := range d.upTo {
		sum += 1 / float64(1+i)
		d.upTo[i] = sum
	}
	for i := range d.upTo {
		d.upTo[i] /= sum
	}
	return d
}

// latent is a point whose numbers differ less and less, as the principal components of real vectors do.
func (d *indexData) latent() []float64 {
	out := make([]float64, indexLatent)
	for i := range out {
		out[i] = d.random.NormFloat64() / math.Sqrt(1+float64(i)/4)
	}
	return out
}

// user draws whose the next fact, or search, is.
func (d *indexData) user() int {
	n, _ := slices.BinarySearch(d.upTo, d.random.Float64())
	return min(n, len(d.upTo)-1)
}

// vector is of one of the user's topics.
func (d *indexData) vector(user int) []float32 {
	topic, within := d.topics[(user*31+d.random.IntN(indexOwnTopics)*37)%indexTopics], d.latent()
	out := make([]float32, indexDimension)
	for i, direction := range d.projection {
		at := float32(topic[i] + indexSpread*within[i])
		for j, x := range direction {
			out[j] += at * x
		}
	}
	var square float64
	for _, x := range out {
		square += float64(x) * float64(x)
	}
	length := float32(math.Sqrt(square / indexDimension))
	for j := range out {
		out[j] = out[j]/length + indexNoise*float32(d.random.NormFloat64())
	}
	return out
}

func indexScope(user int) memory.ScopeKey { return memory.ScopeKey(fmt.Sprintf("user%d", user)) }

// indexQuery is a search with the exact result.
type indexQuery struct {
	store.VectorSearch
	nearest []store.VectorHit
}

// BenchmarkIndex compares the types of indexes with the exact result, by the same rows and searches: run it with -benchtime=200x,
// and with -bench 'Index/(FLAT|HNSW)/' for some of the types. It reports which share of the nearest 10 and of the nearest 200 facts
// are found, how long a search takes, and how long the index was built and loaded. The rows are put once, for all types.
func BenchmarkIndex(b *testing.B) {
	prefix, n := newPrefix(), indexRows(b)
	space := store.VectorSpace{View: memory.ViewVectors, Build: 1, Version: 1, Dimension: indexDimension}
	name, c := prefix+"_facts_s1_v1_b1", bare(b)
	filled, _ := openWith(b, prefix, milvusindex.Index{}, 0)
	if err := filled.Prepare(b.Context(), space); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { filled.Drop(context.Background(), space) })
	if err := unindex(b.Context(), c, name); err != nil {
		b.Fatal(err)
	}
	data := newIndexData(n)
	facts := fillIndex(b, filled, space, data, n)
	if err := c.Flush(b.Context(), name, false); err != nil {
		b.Fatal(err)
	}
	all := map[int][]indexQuery{1: {}, 8: {}} // by the least significance
	for range indexQueries {
		user := data.user()
		q := store.VectorSearch{Space: space, Scope: indexScope(user), Vector: data.vector(user), Limit: indexLimit}
		for q.MinSignificance = range all {
			all[q.MinSignificance] = append(all[q.MinSignificance], indexQuery{q, nearest(facts[q.Scope], q)})
		}
	}
	for _, kind := range []string{milvusindex.Flat, milvusindex.HNSW, milvusindex.IVFFlat, milvusindex.SCANN} {
		b.Run(kind, func(b *testing.B) { benchIndexAs(b, c, prefix, space, milvusindex.Default(kind), all) })
	}
}

// benchIndexAs gives the collection that index and searches it.
func benchIndexAs(
	b *testing.B, c client.Client, prefix string, space store.VectorSpace, index milvusindex.Index, queries map[int][]indexQuery,
) {
	name := prefix + "_facts_s1_v1_b1"
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
	defer cancel()
	start := time.Now()
	if err := buildIndex(ctx, c, name, index); err != nil {
		b.Fatal(err)
	}
	isBuilt(b, c, name, time.Hour)
	built := time.Since(start)
	v, _ := openWith(b, prefix, index, 0)
	if err := v.Prepare(ctx, space); err != nil {
		b.Fatal(err)
	}
	loaded := time.Since(start) - built
	for _, least := range slices.Sorted(maps.Keys(queries)) {
		b.Run(fmt.Sprintf("significance-%d", least), func(b *testing.B) {
			benchIndex(b, v, queries[least])
			b.ReportMetric(built.Seconds(), "build-s")
			b.ReportMetric(loaded.Seconds(), "load-s")
		})
	}
	if err := unindex(ctx, c, name); err != nil {
		b.Fatal(err)
	}
}

// unindex takes a collection from the query node and its index from it: what is put then is indexed once, by the next index.
func unindex(ctx context.Context, c client.Client, name string) error {
	if err := c.ReleaseCollection(ctx, name); err != nil {
		return err
	}
	return c.DropIndex(ctx, name, "vector")
}

// buildIndex has the server begin an index of a collection that is not loaded. Prepare would load it at once, and until the index is
// there the server would search, and build first, one of its own making, which finds less (queryNode.segcore.interimIndex).
func buildIndex(ctx context.Context, c client.Client, name string, index milvusindex.Index) error {
	params := map[string]string{"metric_type": "COSINE"}
	if len(index.Build) > 0 {
		text, err := json.Marshal(index.Build)
		if err != nil {
			return err
		}
		params["params"] = string(text)
	}
	return c.CreateIndex(ctx, name, "vector", entity.NewGenericIndex("", entity.IndexType(index.Type), params), true)
}

// fillIndex puts facts and returns them by their users.
func fillIndex(b *testing.B, v *milvusstore.View, space store.VectorSpace, data *indexData, n int) map[memory.ScopeKey][]store.VectorRow {
	b.Helper()
	facts := map[memory.ScopeKey][]store.VectorRow{}
	var rows []store.VectorRow
	for i := range n {
		user := data.user()
		r := store.VectorRow{
			Scope: indexScope(user), FactID: fmt.Sprintf("%032x", i), Revision: 1, Vector: data.vector(user), Significance: 1 + i%10,
			Category: memory.Category(1 + i%6),
		}
		facts[r.Scope] = append(facts[r.Scope], r)
		if rows = append(rows, r); len(rows) == 5000 || i == n-1 {
			if err := v.Put(b.Context(), space, rows); err != nil {
				b.Fatal(err)
			}
			rows = nil
		}
	}
	return facts
}

func benchIndex(b *testing.B, v store.VectorView, queries []indexQuery) {
	var first, all ratio
	var took []time.Duration
	for b.Loop() {
		q := queries[len(took)%len(queries)]
		start := time.Now()
		hits, err := v.Search(b.Context(), q.VectorSearch)
		took = append(took, time.Since(start))
		if err != nil {
			b.Fatal(err)
		}
		first.add(q.nearest[:min(len(q.nearest), indexFirst)], hits[:min(len(hits), indexFirst)])
		all.add(q.nearest, hits)
	}
	slices.Sort(took)
	b.ReportMetric(first.share(), "recall-10")
	b.ReportMetric(all.share(), "recall-200")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// ratio is how many of all wanted facts were found.
type ratio struct{ found, all int }

func (r *ratio) add(want, got []store.VectorHit) {
	r.found, r.all = r.found+common(want, got), r.all+len(want)
}

func (r *ratio) share() float64 { return float64(r.found) / float64(max(r.all, 1)) }

// nearest is the exact result.
func nearest(rows []store.VectorRow, q store.VectorSearch) []store.VectorHit {
	var hits []store.VectorHit
	for _, r := range rows {
		if r.Significance >= q.MinSignificance {
			hits = append(hits, store.VectorHit{FactID: r.FactID, Score: cosine(r.Vector, q.Vector)})
		}
	}
	slices.SortFunc(hits, func(a, b store.VectorHit) int { return cmp.Compare(b.Score, a.Score) })
	return hits[:min(len(hits), q.Limit)]
}

func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	return dot / math.Sqrt(aa*bb)
}
