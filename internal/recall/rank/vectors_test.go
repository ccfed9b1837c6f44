package rank

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/language/text/when"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/segment"
)

// placedVector is the vector of one message.
type placedVector struct {
	memory.Place
	segment.Vector
}

// setVectors gives messages their vectors, as segments do.
func (x *Index) setVectors(vectors ...placedVector) {
	touched := map[*session]struct{}{}
	for _, v := range vectors {
		x.addVector(v.Place, v.Vector, touched)
	}
	x.refresh(touched)
}

func turnVector(session string, seq int, values ...int8) placedVector {
	return placedVector{memory.Place{Session: memory.SessionKey(session), Seq: int64(seq)}, segment.Vector{Version: 1, Values: values}}
}

// asked is a query's vector of the first version.
func asked(values ...float32) QueryVector { return QueryVector{Version: 1, Values: values} }

func hasVector(x *Index, session string, seq int64) bool {
	s := x.sessions[memory.SessionKey(session)]
	if s == nil {
		return false
	}
	at, ok := x.position(s, seq)
	return ok && x.vectors.rows[s.messages[at]] != none
}

// turnScores are what a search by vector returns, by place.
func turnScores(found []Match) map[string]float64 {
	out := map[string]float64{}
	for _, m := range found {
		out[fmt.Sprintf("%s%d", m.Session, m.Seq)] = m.Score
	}
	return out
}

// roughly compares cosines: integers and four bytes of float cost some accuracy.
var roughly = cmpopts.EquateApprox(0, 1e-3)

func TestTurnsAreFoundByTheirVectors(t *testing.T) {
	const user, assistant = memory.RoleUser, memory.RoleAssistant
	people := func() *Index {
		x := index(doc("s", 1, user, "Ann", "a"), doc("s", 2, user, "Bob", "b"), doc("s", 3, user, "Ann", "c"), doc("t", 1, user, "Bob", "d"))
		x.setVectors(turnVector("s", 1, 100, 0), turnVector("s", 2, 0, 50), turnVector("t", 1, 0, 3))
		return x
	}
	right, up := asked(1, 0), asked(0, 1)
	of := func(x, y float64) float64 { return x / math.Hypot(x, y) }
	for _, c := range []struct {
		promise string
		x       *Index
		vector  QueryVector
		q       Query
		want    map[string]float64
	}{
		{
			"between people a key is the message's own vector with the one before by half and the one after by .3", people(), right,
			Query{},
			map[string]float64{"s1": of(1, .3), "s2": of(.5, 1)},
		},
		{"a message without a vector is not found, and keys end with the session", people(), up, Query{}, map[string]float64{"s1": of(.3, 1), "s2": of(1, .5), "t1": 1}},
		{
			"the length of a query does not matter", people(),
			asked(0, 7),
			Query{Sessions: map[memory.SessionKey]bool{"t": true}},
			map[string]float64{"t1": 1},
		},
		{"filters restrict", people(), up, Query{Exclude: func(p memory.Place) bool { return p.Seq == 1 }}, map[string]float64{"s2": of(1, .5)}},
		{"so do times", people(), up, Query{From: may8.Add(time.Hour)}, map[string]float64{}},
		{
			"factors multiply the cosine", people(), up,
			Query{Terms: []string{"ann"}, Times: []when.Mention{mention(date(2023, 5, 1), date(2023, 6, 1))}},
			map[string]float64{"s1": of(.3, 1) * 1.4 * 1.3, "s2": of(1, .5) * 1.3, "t1": 1.3},
		},
		{"a query of another dimension finds nothing", people(), asked(1, 0, 0), Query{}, map[string]float64{}},
		{"nor does one of another version", people(), QueryVector{Version: 2, Values: []float32{1, 0}}, Query{}, map[string]float64{}},
		{"nor one that is all zero", people(), asked(0, 0), Query{}, map[string]float64{}},
		{"what is no nearer than unrelated is not found", people(), QueryVector{Version: 1, Values: []float32{0, 1}, Unrelated: .5}, Query{}, map[string]float64{"s2": of(1, .5), "t1": 1}},
		{"nor none", people(), QueryVector{}, Query{}, map[string]float64{}},
	} {
		t.Run(c.promise, func(t *testing.T) {
			if diff := cmp.Diff(c.want, turnScores(c.x.SearchVectors(c.vector, c.q)), roughly); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("with an assistant the neighbours count by half", func(t *testing.T) {
		x := people()
		x.Add(doc("s", 4, assistant, "", "reply"))
		want := map[string]float64{"s1": of(1, .15), "s2": of(.25, 1)}
		if diff := cmp.Diff(want, turnScores(x.SearchVectors(right, Query{})), roughly); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a message that comes late moves its neighbours apart", func(t *testing.T) {
		x := index(doc("s", 1, user, "Ann", "a"), doc("s", 5, user, "Bob", "b"))
		x.setVectors(turnVector("s", 1, 1, 0), turnVector("s", 5, 0, 1))
		x.Add(doc("s", 2, user, "Ann", "c"), doc("s", 3, user, "Ann", "d"))
		if diff := cmp.Diff(map[string]float64{"s1": 1}, turnScores(x.SearchVectors(right, Query{})), roughly); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a new vector takes the place of the old", func(t *testing.T) {
		x := people()
		x.setVectors(turnVector("t", 1, 9, 0))
		if got := turnScores(x.SearchVectors(right, Query{}))["t1"]; math.Abs(got-1) > 1e-3 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("vectors of a higher version drop those before", func(t *testing.T) {
		x := people()
		x.setVectors(placedVector{memory.Place{Session: "t", Seq: 1}, segment.Vector{Version: 2, Values: []int8{1, 0, 0}}})
		if hasVector(x, "s", 1) || !hasVector(x, "t", 1) {
			t.Error("vectors of two models stand beside each other")
		}
		if got := turnScores(x.SearchVectors(QueryVector{Version: 2, Values: []float32{1, 0, 0}}, Query{})); len(got) != 1 {
			t.Errorf("got %v", got)
		}
		x.setVectors(turnVector("s", 1, 100, 0))
		if hasVector(x, "s", 1) {
			t.Error("a vector of a lower version was taken")
		}
	})
	t.Run("a vector without a direction, of another dimension or of an unknown message is passed over", func(t *testing.T) {
		x := people()
		x.setVectors(turnVector("s", 3, 0, 0), turnVector("s", 3, 1, 0, 0), turnVector("s", 9, 1, 0), turnVector("z", 1, 1, 0))
		if hasVector(x, "s", 3) || hasVector(x, "s", 9) || hasVector(x, "z", 1) {
			t.Error("it was kept")
		}
	})
	t.Run("documents bring their vectors, also for messages that are there", func(t *testing.T) {
		d := doc("s", 1, user, "Ann", "a")
		d.Vector = segment.NewVector(1, []float32{0, -.3})
		for promise, x := range map[string]*Index{"alone": NewIndex(), "after it": index(doc("s", 1, user, "Ann", "a"))} {
			x.Add(d)
			y := NewIndex()
			if err := y.AddSegment(segment.Encode([]segment.Doc{d})); err != nil {
				t.Fatal(err)
			}
			for _, x := range []*Index{x, y} {
				if diff := cmp.Diff(map[string]float64{"s1": 1}, turnScores(x.SearchVectors(asked(0, -1), Query{})), roughly); diff != "" {
					t.Error(promise, diff)
				}
			}
		}
	})
	t.Run("an explanation shows the factors and the kind", func(t *testing.T) {
		got := people().SearchVectors(up, Query{Terms: []string{"bob"}, Explain: true})[0]
		if diff := cmp.Diff([]Factor{{FactorNamedSpeaker, 1.4}}, got.Factors); diff != "" || got.Kind != KindPerson {
			t.Errorf("%+v", got)
		}
	})
	t.Run("vectors count as memory", func(t *testing.T) {
		x := index(doc("s", 1, user, "Ann", "a"))
		before := x.Bytes()
		x.setVectors(turnVector("s", 1, slices.Repeat([]int8{1}, 4096)...))
		if x.Bytes() < before+4096 {
			t.Errorf("%d bytes, %d before", x.Bytes(), before)
		}
	})
}

func TestWeigh(t *testing.T) {
	x := index(doc("s", 1, memory.RoleUser, "Ann", "a"), doc("s", 2, memory.RoleUser, "Bob", "b"), doc("a", 1, memory.RoleAssistant, "", "c"))
	at := func(session string, seq int64, score float64) Match {
		return Match{Place: memory.Place{Session: memory.SessionKey(session), Seq: seq}, Score: score}
	}
	found := []Match{at("a", 1, .9), at("s", 1, .8), at("s", 2, .7), at("s", 7, .6), at("z", 1, .5)}
	t.Run("puts what another index found under the factors of this one", func(t *testing.T) {
		want := map[string]float64{"s2": .7 * 1.4, "a1": .9, "s1": .8}
		got := x.Weigh(Query{Terms: []string{"bob"}}, found)
		if diff := cmp.Diff(want, turnScores(got), roughly); diff != "" || got[0].Seq != 2 || got[0].Kind != KindPerson {
			t.Errorf("%s: %+v", diff, got)
		}
	})
	t.Run("and under the filters of the query", func(t *testing.T) {
		if got := turnScores(x.Weigh(Query{Sessions: map[memory.SessionKey]bool{"a": true}}, found)); len(got) != 1 || got["a1"] != .9 {
			t.Errorf("got %v", got)
		}
	})
}

// turnVectorsOf draws vectors for some of the documents, and for places without one.
func turnVectorsOf(docs []segment.Doc) *rapid.Generator[[]placedVector] {
	return rapid.Custom(func(t *rapid.T) []placedVector {
		var out []placedVector
		for _, d := range docs {
			if rapid.IntRange(0, 4).Draw(t, "has") > 0 {
				out = append(out, placedVector{d.Place, segment.Vector{Version: 1, Values: rapid.SliceOfN(rapid.Int8Range(-127, 127), 3, 3).Draw(t, "values")}})
			}
		}
		return append(out, turnVector("x", rapid.IntRange(1, 9).Draw(t, "unknown"), 1, 2, 3))
	})
}

func TestVectorsMayComeInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs, q := chats().Draw(t, "docs"), queries().Draw(t, "query")
		vectors := turnVectorsOf(docs).Draw(t, "vectors")
		query := asked(.3, -.5, .8)
		want := index(docs...)
		want.setVectors(vectors...)
		got := NewIndex()
		n := rapid.IntRange(0, len(docs)).Draw(t, "first")
		order := rapid.Permutation(docs).Draw(t, "order")
		got.Add(order[:n]...)
		got.setVectors(rapid.Permutation(vectors).Draw(t, "order of vectors")...)
		got.Add(order[n:]...)
		for _, v := range vectors {
			got.setVectors(v)
		}
		if diff := cmp.Diff(want.SearchVectors(query, q), got.SearchVectors(query, q), cmpopts.EquateEmpty(), cmpopts.EquateApprox(1e-6, 0)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestKeysAreWhatTheirDefinitionSays compares with a key that is built whole.
func TestKeysAreWhatTheirDefinitionSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs := chats().Draw(t, "docs")
		vectors := turnVectorsOf(docs).Draw(t, "vectors")
		x := index(docs...)
		x.setVectors(vectors...)
		of := map[memory.Place][]float64{}
		for _, v := range vectors {
			of[v.Place] = directed(v.Values)
		}
		query := []float64{.6, 0, .8}
		for _, m := range x.SearchVectors(asked(.6, 0, .8), Query{}) {
			if want := cosine(query, wholeKey(docs, of, m)); math.Abs(want-m.Score) > 4e-3 && want > .01 {
				t.Fatalf("%v: %v, want %v", m.Place, m.Score, want)
			}
		}
	})
}

// wholeKey is L2(own + .5 before + .3 after + .5 two before + .3 two after), the neighbours halved with an assistant.
func wholeKey(docs []segment.Doc, of map[memory.Place][]float64, m Match) []float64 {
	var session []memory.Place
	for _, d := range docs {
		if d.Session == m.Session {
			session = append(session, d.Place)
		}
	}
	slices.SortFunc(session, func(a, b memory.Place) int { return int(a.Seq - b.Seq) })
	at := slices.Index(session, m.Place)
	key := make([]float64, 3)
	for step, weight := range map[int]float64{-2: .5, -1: .5, 0: 1, 1: .3, 2: .3} {
		if m.Kind == KindAssistantChat && step != 0 {
			weight /= 2
		}
		if to := at + step; to >= 0 && to < len(session) {
			for i, v := range of[session[to]] {
				key[i] += weight * v
			}
		}
	}
	return key
}

func directed(values []int8) []float64 {
	out := make([]float64, len(values))
	length := math.Sqrt(float64(squares(values)))
	for i, v := range values {
		out[i] = float64(v) / max(length, 1)
	}
	return out
}

func cosine(a, b []float64) float64 {
	dot, aa, bb := 0.0, 0.0, 0.0
	for i := range a {
		dot, aa, bb = dot+a[i]*b[i], aa+a[i]*a[i], bb+b[i]*b[i]
	}
	return dot / max(math.Sqrt(aa*bb), 1e-9)
}
