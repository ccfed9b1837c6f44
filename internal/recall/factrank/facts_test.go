package factrank_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/dot"
	"github.com/stratamem/strata/internal/recall/factrank"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/testing/conversations"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

var factDay = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)

func fact(id, words string, significance int, session string, daysAgo int) memory.Fact {
	f := memory.Fact{
		ID: id, Text: words, Category: memory.CategoryPreference, Significance: significance,
		ValidFrom: factDay.AddDate(0, 0, -daysAgo), Revision: 1,
	}
	if session != "" {
		f.Evidence = []memory.Evidence{{Session: memory.SessionKey(session), SessionID: session, Seq: 1, MessageID: "m", Quote: words}}
	}
	return f
}

func factIndex(facts ...memory.Fact) *factrank.Index {
	x := factrank.NewIndex()
	for _, f := range facts {
		x.Put(f)
	}
	return x
}

func factIDs(hits []factrank.Hit) []string {
	var out []string
	for _, h := range hits {
		out = append(out, h.Fact.ID)
	}
	return out
}

var plain = factrank.Formula{Relevance: 1, Significance: 1, Recency: 1, HalfLife: 30 * 24 * time.Hour}

func TestFacts(t *testing.T) {
	tea := fact("tea", "Drinks green tea in the morning", 4, "s1", 0)
	job := fact("job", "Works at a bakery", 8, "s1", 0)
	cat := fact("cat", "Has a cat named Miso", 6, "s2", 30)

	t.Run("the score is relevance times significance times recency", func(t *testing.T) {
		hits := factIndex(tea, job, cat).Search(factrank.Query{Terms: text.Terms("a cat"), AsOf: factDay, Formula: plain, MinScore: .01})
		if len(hits) != 1 || hits[0].Fact.ID != "cat" {
			t.Fatalf("hits %v", factIDs(hits))
		}
		h := hits[0]
		if h.Relevance != 1 || h.Significance != .6 || math.Abs(h.Recency-.5) > 1e-9 || math.Abs(h.Score-.3) > 1e-9 {
			t.Errorf("got %+v", h)
		}
		if want := []rank.RetrieverScore{{Name: rank.RetrieverLexical, Rank: 1, Score: h.Retrievers[0].Score}}; !cmp.Equal(h.Retrievers, want) {
			t.Errorf("retrievers %v", h.Retrievers)
		}
	})
	t.Run("a pinned fact does not age", func(t *testing.T) {
		pinned := cat
		pinned.Pinned = true
		hits := factIndex(pinned).Search(factrank.Query{Terms: text.Terms("cat"), AsOf: factDay, Formula: plain})
		if hits[0].Recency != 1 {
			t.Errorf("recency %v", hits[0].Recency)
		}
	})
	t.Run("a fact keeps its vector until its text changes", func(t *testing.T) {
		q := factrank.Query{Vector: []float32{.8, .6}, AsOf: factDay, Formula: plain, MinScore: .01}
		x := factIndex(tea, cat)
		x.SetVector("tea", []float32{1, 0})
		elsewhere, named, reworded := tea, tea, tea
		elsewhere.Evidence = []memory.Evidence{{Session: "s0"}} // of an earlier session, which was learnt later
		named.Subject = "Ada"
		reworded.Text = "Drinks coffee"
		for _, f := range []memory.Fact{elsewhere, named} {
			x.Put(f)
			if hits := x.Search(q); len(hits) != 1 || math.Abs(hits[0].Relevance-.8) > 1e-6 {
				t.Errorf("after %+v: %+v", f, hits)
			}
		}
		x.Put(reworded)
		if hits := x.Search(q); len(hits) != 0 {
			t.Errorf("the old text's vector finds the new one: %+v", hits)
		}
	})
	t.Run("what matters too little or is left out takes nobody's place", func(t *testing.T) {
		x := factrank.NewIndex()
		for i := range 300 { // more than a retriever hands to the score
			x.Put(fact(fmt.Sprint("near", i), "likes tea", 2, "", i))
			x.SetVector(fmt.Sprint("near", i), []float32{1, 0})
		}
		x.Put(fact("far", "drinks coffee", 6, "", 0))
		x.SetVector("far", []float32{.8, .6})
		pinned := fact("pinned", "likes tea", 1, "", 0)
		pinned.Pinned = true
		x.Put(pinned)
		q := factrank.Query{Terms: text.Terms("tea"), Vector: []float32{1, 0}, AsOf: factDay, Formula: plain, Limit: 10, Fill: 10}
		least, omitting := q, q
		least.MinSignificance = 5
		omitting.Omits = func(f *memory.Fact) bool { return strings.HasPrefix(f.ID, "near") }
		for name, q := range map[string]factrank.Query{"too little": least, "left out": omitting} {
			got := factIDs(x.Search(q))
			if slices.Sort(got); !slices.Equal(got, []string{"far", "pinned"}) {
				t.Errorf("%s: got %v", name, got)
			}
		}
	})
	t.Run("what is essential and significant, and pinned facts, stand without being asked for, up to a number", func(t *testing.T) {
		job := job
		job.Text = "Is allergic to nuts"
		pinned := cat
		pinned.Pinned = true
		q := factrank.Query{Terms: text.Terms("dinner"), AsOf: factDay, Formula: plain, MinScore: .01, Core: 2, CoreSignificance: 8}
		if got := factIDs(factIndex(tea, job, pinned).Search(q)); !slices.Equal(got, []string{"cat", "job"}) {
			t.Errorf("got %v", got)
		}
		q.Core = 1
		if got := factIDs(factIndex(tea, job, pinned).Search(q)); !slices.Equal(got, []string{"cat"}) {
			t.Errorf("one of the core: got %v", got)
		}
	})
	t.Run("of what was not found only names, health and diet are of the core, however significant the others are", func(t *testing.T) {
		nuts, gold := fact("nuts", "Is allergic to nuts", 8, "", 1), fact("gold", "Cancelled the Gold membership", 10, "", 0)
		q := factrank.Query{Terms: text.Terms("dinner"), AsOf: factDay, Formula: plain, Core: 5, CoreSignificance: 7}
		if got := factIDs(factIndex(nuts, gold).Search(q)); !slices.Equal(got, []string{"nuts"}) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("the core keeps up to half of the places, and fill takes what is left", func(t *testing.T) {
		x := factrank.NewIndex()
		for i := range 5 {
			x.Put(fact(fmt.Sprint("tea", i), "likes tea", 5, "", i))
			x.Put(fact(fmt.Sprint("nuts", i), "is allergic to nuts", 8, "", i))
			x.Put(fact(fmt.Sprint("car", i), "drives a car", 5, "", i))
		}
		for _, c := range []struct {
			limit int
			want  string
		}{{4, "tea0 tea1 nuts0 nuts1"}, {8, "tea0 tea1 tea2 tea3 nuts0 nuts1 nuts2 nuts3"}, {11, "tea0 tea1 tea2 tea3 tea4 nuts0 nuts1 nuts2 nuts3 nuts4 car0"}} {
			q := factrank.Query{Terms: text.Terms("tea"), AsOf: factDay, Formula: plain, Limit: c.limit, Core: 5, CoreSignificance: 7, Fill: 20}
			hits := x.Search(q)
			if got := strings.Join(factIDs(hits), " "); got != c.want {
				t.Errorf("%d: got %v, want %v", c.limit, got, c.want)
			}
			for _, h := range hits {
				if want := map[byte]factrank.Use{'t': factrank.Found, 'n': factrank.Core, 'c': factrank.Fill}[h.Fact.ID[0]]; h.Use != want {
					t.Errorf("%s is used as %d", h.Fact.ID, h.Use)
				}
			}
		}
	})
	t.Run("without the query's words a fact must be nearer to it than what is unrelated", func(t *testing.T) {
		x := factIndex(tea, cat)
		x.SetVector("tea", []float32{1, 0})
		x.SetVector("cat", []float32{0, 1})
		q := factrank.Query{Vector: []float32{.96, .28}, AsOf: factDay, Formula: plain, Unrelated: .3}
		if got := factIDs(x.Search(q)); !slices.Equal(got, []string{"tea"}) {
			t.Errorf("got %v", got)
		}
		q.Terms = text.Terms("cat")
		if got := factIDs(x.Search(q)); len(got) != 2 {
			t.Errorf("with its word: got %v", got)
		}
	})
	t.Run("wishes about how to answer stand by their label, beside the core and up to a number of their own", func(t *testing.T) {
		job := job
		job.Text = "Is diabetic"
		x := factIndex(tea, job)
		for i := range 5 {
			wish := fact(fmt.Sprint("wish", i), "prefers short answers", 2+i, "", i)
			wish.Tags = []string{memory.TagWish}
			x.Put(wish)
		}
		q := factrank.Query{Terms: text.Terms("dinner"), AsOf: factDay, Formula: plain, MinScore: .01, Core: 1, CoreSignificance: 8, Wishes: 3}
		if got := factIDs(x.Search(q)); !slices.Equal(got, []string{"job", "wish4", "wish3", "wish2"}) {
			t.Errorf("got %v", got)
		}
		q.Wishes = 0
		if got := factIDs(x.Search(q)); !slices.Equal(got, []string{"job"}) {
			t.Errorf("without places for wishes: got %v", got)
		}
	})
	t.Run("of many in the core the most significant and latest stand, whatever the order in which they were learnt", func(t *testing.T) {
		x := factrank.NewIndex()
		for i := range 100 {
			x.Put(fact(fmt.Sprintf("%02d", i), "is allergic to something", 1+i*7%10, "", i*3%100))
		}
		q := factrank.Query{Terms: text.Terms("dinner"), AsOf: factDay, Formula: plain, MinScore: .01, CoreSignificance: 8}
		q.Core = 100
		all := factIDs(x.Search(q))
		for q.Core = range 31 {
			if got := factIDs(x.Search(q)); !slices.Equal(got, all[:q.Core]) {
				t.Errorf("%d of the core: got %v, want %v", q.Core, got, all[:q.Core])
			}
		}
	})
	t.Run("a threshold leaves out what says nothing about the query", func(t *testing.T) {
		if hits := factIndex(tea, job).Search(factrank.Query{Terms: text.Terms("dinner"), AsOf: factDay, Formula: plain, MinScore: .01}); len(hits) != 0 {
			t.Errorf("got %v", factIDs(hits))
		}
	})
	t.Run("meaning finds what no word does, and the cosine is the relevance", func(t *testing.T) {
		x := factIndex(tea, job, cat)
		x.SetVector("tea", []float32{1, 0})
		x.SetVector("job", []float32{0, 1})
		hits := x.Search(factrank.Query{Terms: text.Terms("beverage"), Vector: []float32{.8, .6}, AsOf: factDay, Formula: plain, MinScore: .01})
		if got := factIDs(hits); !slices.Equal(got, []string{"job", "tea"}) {
			t.Fatalf("got %v", got)
		}
		if math.Abs(hits[1].Relevance-.8) > 1e-6 || hits[1].Retrievers[0].Name != rank.RetrieverDense {
			t.Errorf("got %+v", hits[1])
		}
	})
	t.Run("where words count beside vectors, a fact needs both, or the words alone", func(t *testing.T) {
		x := factIndex(tea, job, fact("차", "매일 녹차를 마신다", 4, "s1", 0))
		x.SetVector("tea", []float32{1, 0})
		x.SetVector("job", []float32{.6, .8})
		x.SetVector("차", []float32{0, 1})
		for _, c := range []struct {
			words, id string
			vector    []float32
			want      float64
		}{
			{"green tea", "tea", []float32{1, 0}, 1},
			{"beverage", "tea", []float32{1, 0}, 2. / 3},
			{"beverage", "job", []float32{1, 0}, .4},
			{"녹차", "차", []float32{1, 0}, 1},
		} {
			hits := x.Search(factrank.Query{Terms: text.Terms(c.words), Vector: c.vector, WithWords: true, AsOf: factDay, Formula: plain})
			i := slices.IndexFunc(hits, func(h factrank.Hit) bool { return h.Fact.ID == c.id })
			if i < 0 || math.Abs(hits[i].Relevance-c.want) > 1e-6 {
				t.Errorf("%s for %q: hit %d of %+v, want relevance %.2f", c.id, c.words, i, hits, c.want)
			}
		}
	})
	t.Run("superseded facts, other categories and the session's own facts are left out", func(t *testing.T) {
		old := fact("old", "Has a dog named Miso", 9, "s3", 0)
		old.ValidTo = factDay
		goal := fact("goal", "Wants a second cat", 9, "s3", 0)
		goal.Category = memory.CategoryGoal
		hits := factIndex(old, goal, cat, tea).Search(factrank.Query{
			Terms: text.Terms("miso cat tea"), Exclude: "s1", Categories: []memory.Category{memory.CategoryPreference}, AsOf: factDay, Formula: plain,
		})
		if got := factIDs(hits); !slices.Equal(got, []string{"cat"}) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a session's own facts come the latest first", func(t *testing.T) {
		later := fact("later", "Sold the bakery", 3, "s1", -1)
		got := factIndex(tea, later, cat).LearntIn("s1")
		if len(got) != 2 || got[0].ID != "later" || got[1].ID != "tea" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a fact whose words changed is found by the new ones only and lost its vector", func(t *testing.T) {
		x := factIndex(tea)
		x.SetVector("tea", []float32{1, 0})
		changed := tea
		changed.Text = "Drinks coffee"
		x.Put(changed)
		if hits := x.Search(factrank.Query{Terms: text.Terms("green"), Vector: []float32{1, 0}, AsOf: factDay, Formula: plain, MinScore: .01}); len(hits) != 0 {
			t.Errorf("got %v", factIDs(hits))
		}
		if hits := x.Search(factrank.Query{Terms: text.Terms("coffee"), AsOf: factDay, Formula: plain, MinScore: .01}); len(hits) != 1 {
			t.Errorf("got %v", factIDs(hits))
		}
	})
	t.Run("a forgotten fact is gone", func(t *testing.T) {
		x := factIndex(tea, job)
		x.Forget("tea")
		if got := x.All(); len(got) != 1 || got[0].ID != "job" || x.Len() != 1 {
			t.Errorf("got %v", got)
		}
	})
}

// Of more equal facts than a retriever hands on, those with the lowest ids are found, however long their ids are the same.
func TestOfEqualFactsTheLowestIDsAreFound(t *testing.T) {
	const n, handed = 260, 200
	for _, start := range []string{"", "f", "0197f0a2", "0197f0a2-0000-7000", "기억"} {
		for _, vector := range [][]float32{nil, {1, 0}} {
			x, ids := factrank.NewIndex(), []string{start}
			for i := range n - 1 {
				ids = append(ids, start+strings.Repeat("x", i%9)+string(rune(i)))
			}
			for _, i := range rand.New(rand.NewPCG(uint64(len(start)), 1)).Perm(n) {
				x.Put(fact(ids[i], "Drinks green tea", 5, "", 0))
				if vector != nil {
					x.SetVector(ids[i], vector)
				}
			}
			slices.Sort(ids)
			hits := x.Search(factrank.Query{Terms: text.Terms("tea"), Vector: vector, AsOf: factDay, Formula: plain})
			if got := factIDs(hits); !slices.Equal(got, ids[:handed]) {
				t.Errorf("ids that begin with %q: got %q, want %q", start, got, ids[:handed])
			}
		}
	}
}

// Equal facts give equal hits, in whatever order they came.
func TestALimitKeepsTheFirstOfAllHits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		words := []string{"tea", "oslo", "cat", "bakery", "piano"}
		x := factrank.NewIndex()
		for i := range rapid.IntRange(1, 700).Draw(t, "facts") { // more than a retriever keeps
			f := fact(fmt.Sprint(i), words[r.IntN(5)]+" "+words[r.IntN(5)], 1+r.IntN(3), "s", r.IntN(4))
			f.Pinned = r.IntN(50) == 0
			x.Put(f)
			x.SetVector(f.ID, randomDirection(r, 96))
		}
		q := factrank.Query{
			Terms: words[:rapid.IntRange(0, 3).Draw(t, "terms")], Vector: randomDirection(r, 96), AsOf: factDay, Formula: plain,
		}
		all := x.Search(q)
		q.Limit = rapid.IntRange(1, 500).Draw(t, "limit")
		if d := cmp.Diff(all[:min(len(all), q.Limit)], x.Search(q)); d != "" {
			t.Fatal(d)
		}
	})
}

func TestFactsHaveNoHistory(t *testing.T) {
	words := []string{"tea", "cat", "bakery", "morning", "Seoul", "guitar", "rain", "allergy"}
	rapid.Check(t, func(t *rapid.T) {
		var facts []memory.Fact
		for i := range rapid.IntRange(1, 30).Draw(t, "facts") {
			said := rapid.SliceOfN(rapid.SampledFrom(words), 1, 5).Draw(t, "words")
			facts = append(facts, fact(fmt.Sprintf("f%02d", i), fmt.Sprint(said), rapid.IntRange(1, 10).Draw(t, "significance"), "s", i%4))
		}
		q := factrank.Query{Terms: rapid.SliceOf(rapid.SampledFrom(words)).Draw(t, "query"), AsOf: factDay, Formula: plain, Limit: 10, Core: 5, CoreSignificance: 7, Fill: 5}
		once := factIndex(facts...).Search(q)
		again := factrank.NewIndex()
		for _, f := range rapid.Permutation(facts).Draw(t, "order") {
			other := f
			other.Text = "something else"
			again.Put(other)
			again.Put(f)
		}
		if diff := cmp.Diff(once, again.Search(q)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// The bare scan in plain Go is what the search of 10,000 facts is compared with. Vectors of random directions leave the most facts near the
// bound of the first pass; those of words are as bench-facts has them, beside its words.
func BenchmarkFacts(b *testing.B) {
	w := conversations.W()
	for _, dim := range []int{384, 1536} {
		r := rand.New(rand.NewPCG(1, 1))
		for kind, vector := range map[string]func(string) []float32{
			"random": func(string) []float32 { return randomDirection(r, dim) },
			"words":  func(words string) []float32 { return llmtest.Vector(words, dim) },
		} {
			b.Run(fmt.Sprintf("dim=%d/%s", dim, kind), func(b *testing.B) { benchmarkFacts(b, w, vector) })
		}
	}
}

func randomDirection(r *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(r.NormFloat64() / math.Sqrt(float64(dim)))
	}
	return v
}

func benchmarkFacts(b *testing.B, shape conversations.Shape, vector func(string) []float32) {
	const n = 10_000
	x := factrank.NewIndex()
	var rows [][]float32
	for i, words := range (conversations.Shape{Seed: shape.Seed + 7}).Queries(n) {
		f := fact(fmt.Sprint(i), words, 1+i%10, fmt.Sprint(i%200), i%300)
		x.Put(f)
		rows = append(rows, vector(words))
		x.SetVector(f.ID, rows[i])
	}
	var queries []factrank.Query
	for _, words := range shape.Queries(100) {
		queries = append(queries, factrank.Query{
			Terms: text.Terms(words), Vector: vector(words), AsOf: factDay, Formula: plain, MinScore: .05, Limit: 20,
		})
	}
	b.Run("search", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			x.Search(queries[i%len(queries)])
		}
	})
	b.Run("dot products alone", func(b *testing.B) {
		var sum float32
		for b.Loop() {
			for _, row := range rows {
				sum += dot.Float32(queries[0].Vector, row)
			}
		}
		_ = sum
	})
}

func TestFactsWithViews(t *testing.T) {
	tea, job := fact("tea", "Drinks green tea in the morning", 4, "s1", 0), fact("job", "Works at a bakery", 8, "s1", 0)
	cat := fact("cat", "Has a cat named Miso", 6, "s2", 30)
	ask := func(words string) factrank.Query {
		return factrank.Query{Terms: text.Terms(words), Vector: []float32{.8, .6}, AsOf: factDay, Formula: plain, MinScore: .01}
	}
	find := func(hits []factrank.Hit, id string) factrank.Hit {
		for _, h := range hits {
			if h.Fact.ID == id {
				return h
			}
		}
		return factrank.Hit{}
	}
	t.Run("a view's cosines rank as the index's own would", func(t *testing.T) {
		own, viewed := factIndex(tea, job, cat), factIndex(tea, job, cat)
		own.SetVector("tea", []float32{1, 0})
		own.SetVector("job", []float32{0, 1})
		q := ask("beverage")
		want := own.Search(q)
		q.Similar = map[string]float64{"tea": float64(float32(.8)), "job": float64(float32(.6))}
		if d := cmp.Diff(want, viewed.Search(q)); d != "" {
			t.Error(d)
		}
	})
	t.Run("a vector of the index goes before what the view says", func(t *testing.T) {
		x := factIndex(tea, job)
		x.SetVector("tea", []float32{1, 0})
		q := ask("beverage")
		q.Similar = map[string]float64{"tea": .1, "job": .5}
		hits := x.Search(q)
		if got := find(hits, "tea").Relevance; math.Abs(got-.8) > 1e-6 {
			t.Errorf("relevance %v", got)
		}
		if got := find(hits, "job").Relevance; math.Abs(got-.5) > 1e-6 {
			t.Errorf("relevance %v", got)
		}
	})
	t.Run("what the view left out for being too far is no nearer for its words", func(t *testing.T) {
		q := ask("bakery")
		q.Similar, q.Farther = map[string]float64{"tea": .4}, .4
		if got := find(factIndex(tea, job).Search(q), "job").Relevance; got != .4 {
			t.Errorf("relevance %v", got)
		}
		q.Farther = 1
		if got := find(factIndex(tea, job).Search(q), "job").Relevance; got != 1 {
			t.Errorf("relevance %v where the view left nothing out", got)
		}
	})
	t.Run("where words count beside vectors, what the view left out is as near as its words", func(t *testing.T) {
		q := ask("bakery")
		q.Similar, q.Farther, q.WithWords = map[string]float64{"tea": .4}, .4, true
		hits := factIndex(tea, job).Search(q)
		if job, tea := find(hits, "job").Relevance, find(hits, "tea").Relevance; job != 1 || math.Abs(tea-.4*2/3) > 1e-6 {
			t.Errorf("relevance %v and %v", job, tea)
		}
	})
	t.Run("ids that are not the user's change nothing", func(t *testing.T) {
		q := ask("bakery")
		want := factIndex(tea, job).Search(q)
		q.Matched = []factrank.Match{{ID: "foreign", Score: 9}}
		q.Similar, q.Farther = map[string]float64{"foreign": 1}, 1
		if d := cmp.Diff(want, factIndex(tea, job).Search(q)); d != "" {
			t.Error(d)
		}
	})
	t.Run("a full-text view adds candidates, and shows", func(t *testing.T) {
		q := ask("bakery")
		q.Vector, q.Matched = nil, []factrank.Match{{ID: "tea", Score: 3}, {ID: "job", Score: 2}}
		hits := factIndex(tea, job).Search(q)
		if got := find(hits, "job").Retrievers; len(got) != 2 || got[1] != (rank.RetrieverScore{Name: rank.RetrieverElasticsearch, Rank: 2, Score: 2}) {
			t.Errorf("retrievers %v", got)
		}
		if got := factIDs(hits); !slices.Equal(got, []string{"job"}) {
			t.Errorf("got %v: what matches nothing of the query is no hit", got)
		}
	})
	t.Run("what a view finds passes the same filters", func(t *testing.T) {
		q := ask("beverage")
		q.Categories = []memory.Category{memory.CategoryGoal}
		q.Similar, q.Farther, q.Matched = map[string]float64{"tea": 1}, 1, []factrank.Match{{ID: "job", Score: 2}}
		if hits := factIndex(tea, job).Search(q); len(hits) != 0 {
			t.Errorf("got %v", factIDs(hits))
		}
	})
	t.Run("memory follows the vectors, not the facts", func(t *testing.T) {
		x := factrank.NewIndex()
		for i := range 1000 {
			x.Put(fact(fmt.Sprint(i), "likes something", 5, "", 0))
		}
		bare := x.Bytes()
		for range 3 {
			for i := range 10 {
				x.SetVector(fmt.Sprint(i), make([]float32, 384))
				x.Forget(fmt.Sprint(i))
				x.Put(fact(fmt.Sprint(i), "likes something", 5, "", 0))
				x.SetVector(fmt.Sprint(i), make([]float32, 384))
			}
		}
		if got := x.Bytes() - bare; got > 10*384*4+100_000 {
			t.Errorf("10 vectors take %d bytes", got)
		}
		x.DropVectors()
		if got := x.Bytes() - bare; got > 100_000 {
			t.Errorf("dropped vectors take %d bytes", got)
		}
	})
}

func TestSourcesByMeaning(t *testing.T) {
	x := factIndex(fact("tea", "Drinks green tea", 4, "s1", 0), fact("job", "Works at a bakery", 8, "s2", 0), fact("cat", "Has a cat", 6, "s1", 0), fact("dog", "Has a dog", 6, "s3", 0))
	for id, v := range map[string][]float32{"tea": {.6, .8}, "job": {.8, .6}, "cat": {1, 0}, "dog": {-1, 0}} {
		x.SetVector(id, v)
	}
	sources := func(q factrank.Query) string {
		out := ""
		_, sources := x.SearchWithSources(q)
		for _, m := range sources {
			out += fmt.Sprintf("%s%d %.1f ", m.Session, m.Seq, m.Score)
		}
		return out
	}
	t.Run("a message is as near as its nearest fact", func(t *testing.T) {
		if got := sources(factrank.Query{Vector: []float32{1, 0}}); got != "s11 1.0 s21 0.8 " {
			t.Errorf("got %q", got)
		}
	})
	t.Run("facts of an excluded session have none", func(t *testing.T) {
		if got := sources(factrank.Query{Vector: []float32{1, 0}, Exclude: "s1"}); got != "s21 0.8 " {
			t.Errorf("got %q", got)
		}
	})
	t.Run("cosines of a view count where the index has no vector", func(t *testing.T) {
		x := factIndex(fact("tea", "Drinks green tea", 4, "s1", 0))
		_, got := x.SearchWithSources(factrank.Query{Vector: []float32{1, 0}, Similar: map[string]float64{"tea": .5}})
		if len(got) != 1 || got[0].Score != .5 {
			t.Errorf("got %+v", got)
		}
	})
}
