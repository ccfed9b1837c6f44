package rank

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/embed/static"
	"github.com/stratamem/strata/internal/recall/segment"
)

// englishWords are those of the built-in embedder's vocabulary.
func englishWords(t testing.TB) []string {
	t.Helper()
	data, err := os.ReadFile("../embed/static/vocabulary.txt")
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for line := range strings.Lines(string(data)) {
		w := strings.TrimSpace(line)
		if len(w) > 3 && strings.IndexFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) < 0 {
			words = append(words, w)
		}
	}
	return words
}

// said makes sentences of English words: a few topics a session, whose words come again and again.
type said struct {
	r      *rand.Rand
	words  []string
	common int // of the words, the first so many are in all sentences
}

func (s said) topic() []string {
	var t []string
	for range 40 {
		t = append(t, s.words[s.r.IntN(len(s.words))])
	}
	return t
}

func (s said) sentence(topic []string) string {
	var out []string
	for range 5 + s.r.IntN(20) {
		if s.r.IntN(2) == 0 {
			out = append(out, topic[int(float64(len(topic))*s.r.Float64()*s.r.Float64())])
		} else {
			out = append(out, s.words[int(float64(s.common)*s.r.Float64()*s.r.Float64())])
		}
	}
	return strings.Join(out, " ")
}

// likelyKept is the share of the nearest 200 messages of so many that SearchVectors finds when it compares only likely ones.
func likelyKept(t testing.TB, messages, likely int) float64 {
	t.Helper()
	embedder, err := static.Open()
	if err != nil {
		t.Fatal(err)
	}
	embed := func(text string) []float32 {
		v, err := embedder.Embed(t.Context(), []string{text})
		if err != nil {
			t.Fatal(err)
		}
		return v[0]
	}
	s := said{rand.New(rand.NewPCG(1, 2)), englishWords(t), 2000}
	x := NewIndex()
	var queries []QueryVector
	for session := 0; x.Messages() < messages; session++ {
		topic := s.topic()
		if session%10 == 0 && len(queries) < 50 {
			queries = append(queries, QueryVector{Version: 1, Values: embed(s.sentence(topic))})
		}
		var docs []segment.Doc
		for i := range 100 {
			d := segment.Doc{Place: memory.Place{Session: memory.SessionKey(fmt.Sprint(session)), Seq: int64(i + 1)}, Role: memory.RoleUser, Name: []string{"Ann", "Bob"}[i%2]}
			if session%3 == 0 {
				d.Name, d.Role = "", []memory.Role{memory.RoleUser, memory.RoleAssistant}[i%2]
			}
			d.Vector = segment.NewVector(1, embed(s.sentence(topic)))
			docs = append(docs, d)
		}
		x.Add(docs...)
	}
	kept, all := 0, 0
	for _, v := range queries {
		q := Query{UserPrior: .5}
		x.limits.rows = messages + 100
		nearest := map[memory.Place]bool{}
		for _, m := range x.SearchVectors(v, q) {
			nearest[m.Place] = true
		}
		x.limits.rows, x.limits.likely = 0, likely
		for _, m := range x.SearchVectors(v, q) {
			if nearest[m.Place] {
				kept++
			}
		}
		all += len(nearest)
	}
	return float64(kept) / float64(all)
}

func TestTheLikelyTurnsHoldTheNearest(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes on one goroutine: make test runs it")
	}
	const messages = 30_000
	// As many of all as the default is of 400,000.
	kept := likelyKept(t, messages, defaultLimits().likely*messages/400_000)
	t.Logf("%.4f of the nearest 200 are found", kept)
	if kept < .98 {
		t.Error("that is too little")
	}
}

func TestLikelyTurnsPassTheFilters(t *testing.T) {
	docs := longHistory(9, 3000)
	r := rand.New(rand.NewPCG(9, 3))
	all, some := NewIndex(), least()
	some.limits.likely = 300
	for i := range docs {
		docs[i].Vector = segment.NewVector(1, randomVector(r, 64))
	}
	all.Add(docs...)
	some.Add(docs...)
	v := QueryVector{Version: 1, Values: randomVector(r, 64), Unrelated: -1}
	t.Run("and all are compared where too few of them do", func(t *testing.T) {
		q := Query{Exclude: func(p memory.Place) bool { return p.Session != "s1" }}
		if got, want := len(some.SearchVectors(v, q)), len(all.SearchVectors(v, q)); got != want || want == 0 {
			t.Errorf("%d found, want %d", got, want)
		}
	})
	t.Run("those of sessions and times are chosen among themselves", func(t *testing.T) {
		v.Unrelated = 0
		for _, q := range []Query{
			{Sessions: map[memory.SessionKey]bool{"s1": true, "s2": true}},
			{From: may8.AddDate(0, 0, 2), To: may8.AddDate(0, 0, 4)},
		} {
			want := turnScores(all.SearchVectors(v, q))
			got := turnScores(some.SearchVectors(v, q))
			for place, score := range got {
				if want[place] != score {
					t.Errorf("%s scores %v, want %v", place, score, want[place])
				}
			}
			if len(got) == 0 || len(got) < len(want)*9/10 {
				t.Errorf("%d found of %d", len(got), len(want))
			}
		}
	})
}
