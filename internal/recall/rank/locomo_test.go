package rank_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/language/text/synonyms"
	"github.com/stratamem/strata/internal/language/text/when"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/embed/static"
	"github.com/stratamem/strata/internal/recall/factrank"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/recall/segment"
)

// dialogue is one conversation of LoCoMo as a user's indexes. Its observations, which a language model made, are the
// facts.
type dialogue struct {
	index     *rank.Index
	facts     *factrank.Index
	questions []question
	places    map[string]memory.Place // by the file's names for turns
}

type question struct {
	text     string
	asked    time.Time
	vector   []float32
	evidence map[memory.Place]bool
}

// setting says what takes part in a search beside the words themselves.
type setting struct {
	named, near, times, facts, vectors bool
}

// TestLoCoMo keeps the quality of the ranking on real conversations, which are not part of the repository.
func TestLoCoMo(t *testing.T) {
	dir := os.Getenv("STRATA_LOCOMO_DIR")
	if dir == "" {
		t.Skip("STRATA_LOCOMO_DIR is not set: it names the directory with 26.json, 30.json and 41.json of LoCoMo")
	}
	l := newLoader(t)
	var dialogues []dialogue
	for _, name := range []string{"26", "30", "41"} {
		dialogues = append(dialogues, l.dialogue(filepath.Join(dir, name+".json")))
	}
	for _, step := range []struct {
		name  string
		with  setting
		least float64 // recall@10
	}{
		{"words alone", setting{}, .77},
		{"with the named speaker", setting{named: true}, .80},
		{"with near words", setting{named: true, near: true}, .81},
		{"with times", setting{named: true, times: true}, .80},
		{"with near words and times", setting{named: true, near: true, times: true}, .825},
		{"and with the built-in vectors", setting{named: true, near: true, times: true, vectors: true}, .82},
		{"and with facts, without vectors", setting{named: true, near: true, times: true, facts: true}, .84},
		{"and with both", setting{named: true, near: true, times: true, facts: true, vectors: true}, .84},
	} {
		got := l.recall(dialogues, step.with)
		t.Logf("%-32s recall@5 %.3f, @10 %.3f, @20 %.3f", step.name, got[0], got[1], got[2])
		if got[1] < step.least {
			t.Errorf("%s: recall@10 is %.3f; the bar is %.3f", step.name, got[1], step.least)
		}
	}
}

// recall is the mean share of a question's evidence among its first 5, 10 and 20 hits.
func (l *loader) recall(dialogues []dialogue, with setting) [3]float64 {
	var sums [3]float64
	n := 0.0
	for _, d := range dialogues {
		d.index.WeighNamedPeople(1)
		if with.named {
			d.index.WeighNamedPeople(rank.DefaultWeights().Person.Named)
		}
		for _, q := range d.questions {
			hits := l.find(&d, q, with)
			for i, k := range []int{5, 10, 20} {
				sums[i] += q.share(hits[:min(k, len(hits))])
			}
			n++
		}
	}
	return [3]float64{sums[0] / n, sums[1] / n, sums[2] / n}
}

func (l *loader) find(d *dialogue, q question, with setting) []rank.Hit {
	ask := rank.Query{Terms: text.Terms(q.text), Limit: 20 + rank.FuseDepth}
	if with.near {
		ask.Near = l.near.Of
	}
	if with.times {
		ask.AsksWhen, ask.Times = when.Asks(q.text), when.Find(q.text, q.asked)
	}
	if with.facts {
		ask.Attached = d.facts.Sources(ask.AttachedTerms())
	}
	own := d.index.Search(ask).Hits
	if !with.vectors {
		return own
	}
	retrievers := []rank.RetrieverHits{rank.DenseRetriever(d.index.SearchVectors(rank.QueryVector{Version: 1, Values: q.vector}, ask))}
	if with.facts {
		_, sources := d.facts.SearchWithSources(factrank.Query{Vector: q.vector})
		retrievers = append(retrievers, rank.DenseFactsRetriever(d.index.Weigh(ask, sources)))
	}
	return rank.Fuse(own, retrievers...)
}

// share is how much of the evidence is among the hits.
func (q question) share(hits []rank.Hit) float64 {
	found := 0
	for _, h := range hits {
		if q.evidence[h.Place] {
			found++
		}
	}
	return float64(found) / float64(len(q.evidence))
}

// loader reads dialogues with the tables that are built in.
type loader struct {
	*testing.T
	near   *synonyms.Table
	static *static.Embedder
}

func newLoader(t *testing.T) *loader {
	t.Helper()
	words, err := synonyms.Open()
	if err != nil {
		t.Fatal(err)
	}
	sentences, err := static.Open()
	if err != nil {
		t.Fatal(err)
	}
	return &loader{t, words, sentences}
}

func (l *loader) vector(words string) []float32 {
	l.Helper()
	v, err := l.static.Embed(l.Context(), []string{words})
	if err != nil {
		l.Fatal(err)
	}
	return v[0]
}

var evidenceID = regexp.MustCompile(`D:?(\d+):0*(\d+)`)

func (l *loader) dialogue(path string) dialogue {
	l.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		l.Fatal(err)
	}
	var raw map[string]json.RawMessage
	mustJSON(l.T, data, &raw)
	d := dialogue{index: rank.NewIndex(), facts: factrank.NewIndex(), places: map[string]memory.Place{}}
	var last time.Time
	for n := 1; n < 100; n++ {
		turns, ok := raw[fmt.Sprintf("session_%d", n)]
		if !ok {
			continue
		}
		var date string
		mustJSON(l.T, raw[fmt.Sprintf("session_%d_date_time", n)], &date)
		if last, err = time.Parse("3:04 pm on 2 January, 2006", date); err != nil {
			l.Fatal(err)
		}
		l.addSession(&d, n, last, turns)
		l.addFacts(&d, raw[fmt.Sprintf("session_%d_observation", n)])
	}
	d.questions = l.questions(raw["qa"], d.places)
	for i := range d.questions {
		d.questions[i].asked = last.AddDate(0, 0, 1)
	}
	return d
}

func (l *loader) addSession(d *dialogue, n int, at time.Time, data []byte) {
	var turns []struct {
		Speaker string `json:"speaker"`
		ID      string `json:"dia_id"`
		Text    string `json:"text"`
		Caption string `json:"blip_caption"`
	}
	mustJSON(l.T, data, &turns)
	for i, turn := range turns {
		if turn.Caption != "" {
			turn.Text += " [shares a photo of " + turn.Caption + "]"
		}
		place := memory.Place{Session: memory.SessionKey(fmt.Sprintf("session-%02d", n)), Seq: int64(i + 1)}
		d.places[turn.ID] = place
		doc := segment.Analyze(memory.PlacedMessage{Place: place, Message: memory.Message{
			Role: memory.RoleUser, Name: turn.Speaker, CreateTime: at, Parts: []memory.Part{memory.TextPart(turn.Text)},
		}})
		doc.Vector = segment.NewVector(1, l.vector(turn.Speaker+": "+turn.Text))
		d.index.Add(doc)
	}
}

func (l *loader) addFacts(d *dialogue, data []byte) {
	var observations map[string][][2]any // by speaker: what was learnt, and the turns or the turn that say it
	if data != nil {
		mustJSON(l.T, data, &observations)
	}
	for _, speaker := range slices.Sorted(maps.Keys(observations)) {
		for _, o := range observations[speaker] {
			f := memory.Fact{ID: fmt.Sprintf("fact-%04d", d.facts.Len()), Text: fmt.Sprint(o[0])}
			for _, p := range placesIn(fmt.Sprint(o[1]), d.places) {
				f.Evidence = append(f.Evidence, memory.Evidence{Session: p.Session, Seq: p.Seq})
			}
			d.facts.Put(f)
			d.facts.SetVector(f.ID, l.vector(f.Text))
		}
	}
}

// placesIn are the turns that the file names in words.
func placesIn(words string, places map[string]memory.Place) []memory.Place {
	var out []memory.Place
	for _, id := range evidenceID.FindAllStringSubmatch(words, -1) {
		if p, ok := places["D"+id[1]+":"+id[2]]; ok {
			out = append(out, p)
		}
	}
	return out
}

func (l *loader) questions(data []byte, places map[string]memory.Place) []question {
	var raw []struct {
		Question string   `json:"question"`
		Category int      `json:"category"`
		Evidence []string `json:"evidence"`
	}
	mustJSON(l.T, data, &raw)
	var out []question
	for _, r := range raw {
		q := question{text: r.Question, vector: l.vector(r.Question), evidence: map[memory.Place]bool{}}
		for _, e := range r.Evidence {
			for _, p := range placesIn(e, places) {
				q.evidence[p] = true
			}
		}
		if r.Category <= 4 && len(q.evidence) > 0 {
			out = append(out, q)
		}
	}
	return out
}

func mustJSON(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// TestWhatSparesWorkFindsTheSameInLoCoMo: scoring all that match and scoring the best alone return the same hits.
func TestWhatSparesWorkFindsTheSameInLoCoMo(t *testing.T) {
	dir := os.Getenv("STRATA_LOCOMO_DIR")
	if dir == "" {
		t.Skip("STRATA_LOCOMO_DIR is not set: it names the directory with 26.json, 30.json and 41.json of LoCoMo")
	}
	l := newLoader(t)
	for _, name := range []string{"26", "30", "41"} {
		d := l.dialogue(filepath.Join(dir, name+".json"))
		for _, q := range d.questions {
			ask := rank.Query{Terms: text.Terms(q.text), Limit: 20, Near: l.near.Of, AsksWhen: when.Asks(q.text), Times: when.Find(q.text, q.asked)}
			ask.Attached = d.facts.Sources(ask.AttachedTerms())
			d.index.ScoreAll()
			all := d.index.Search(ask).Hits
			d.index.ScoreTheBest()
			if diff := cmp.Diff(all, d.index.Search(ask).Hits); diff != "" {
				t.Fatalf("%s, %q: %s", name, q.text, diff)
			}
		}
	}
}
