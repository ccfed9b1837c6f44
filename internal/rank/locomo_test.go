package rank

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/text"
	"github.com/stratamem/strata/internal/text/near"
	"github.com/stratamem/strata/internal/text/when"
)

// dialogue is one conversation of LoCoMo as a user's index.
type dialogue struct {
	docs      []Doc
	questions []question
}

type question struct {
	text     string
	asked    time.Time
	evidence map[memory.Place]bool
}

// TestLoCoMo keeps the quality of the ranking on real conversations, which are not part of the repository.
func TestLoCoMo(t *testing.T) {
	dir := os.Getenv("STRATA_LOCOMO_DIR")
	if dir == "" {
		t.Skip("STRATA_LOCOMO_DIR is not set: it names the directory with 26.json, 30.json and 41.json of LoCoMo")
	}
	var dialogues []dialogue
	for _, name := range []string{"26", "30", "41"} {
		dialogues = append(dialogues, loadDialogue(t, filepath.Join(dir, name+".json")))
	}
	table, err := near.Open()
	if err != nil {
		t.Fatal(err)
	}
	bare := DefaultWeights()
	bare.Person.Named = 1
	for _, step := range []struct {
		name    string
		weights Weights
		ask     func(question) Query
		least   float64 // recall@10
	}{
		{"words alone", bare, wordsAlone, .77},
		{"with the named speaker", DefaultWeights(), wordsAlone, .80},
		{"with near words", DefaultWeights(), withNear(wordsAlone, table), .81},
		{"with times, without near words", DefaultWeights(), withTimes(wordsAlone), .80},
		{"with both", DefaultWeights(), withNear(withTimes(wordsAlone), table), .825},
	} {
		got := recallOf(dialogues, step.weights, step.ask)
		t.Logf("%-32s recall@5 %.3f, @10 %.3f, @20 %.3f", step.name, got[0], got[1], got[2])
		if got[1] < step.least {
			t.Errorf("%s: recall@10 is %.3f; the bar is %.3f", step.name, got[1], step.least)
		}
	}
}

func wordsAlone(q question) Query { return Query{Terms: text.Terms(q.text), Limit: 20} }

func withNear(ask func(question) Query, table *near.Table) func(question) Query {
	return func(q question) Query {
		out := ask(q)
		out.Near = table.Of
		return out
	}
}

func withTimes(ask func(question) Query) func(question) Query {
	return func(q question) Query {
		out := ask(q)
		out.AsksWhen, out.Times = when.Asks(q.text), when.Find(q.text, q.asked)
		return out
	}
}

// recallOf is the mean share of a question's evidence among its first 5, 10 and 20 hits.
func recallOf(dialogues []dialogue, w Weights, ask func(question) Query) [3]float64 {
	var sums [3]float64
	n := 0.0
	for _, d := range dialogues {
		x := NewIndexWith(w)
		x.Add(d.docs...)
		for _, q := range d.questions {
			hits := x.Search(ask(q)).Hits
			for i, k := range []int{5, 10, 20} {
				sums[i] += q.share(hits[:min(k, len(hits))])
			}
			n++
		}
	}
	return [3]float64{sums[0] / n, sums[1] / n, sums[2] / n}
}

// share is how much of the evidence is among the hits.
func (q question) share(hits []Hit) float64 {
	found := 0
	for _, h := range hits {
		if q.evidence[h.Place] {
			found++
		}
	}
	return float64(found) / float64(len(q.evidence))
}

var evidenceID = regexp.MustCompile(`D:?(\d+):0*(\d+)`)

func loadDialogue(t *testing.T, path string) dialogue {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string]json.RawMessage
	mustJSON(t, data, &raw)
	d := dialogue{}
	places := map[string]memory.Place{}
	for n := 1; n < 100; n++ {
		turns, ok := raw[fmt.Sprintf("session_%d", n)]
		if !ok {
			continue
		}
		var when string
		mustJSON(t, raw[fmt.Sprintf("session_%d_date_time", n)], &when)
		d.docs = append(d.docs, sessionDocs(t, n, when, turns, places)...)
	}
	d.questions = questions(t, raw["qa"], places)
	for i := range d.questions {
		d.questions[i].asked = time.UnixMilli(d.docs[len(d.docs)-1].CreateMillis).UTC().AddDate(0, 0, 1)
	}
	return d
}

func sessionDocs(t *testing.T, n int, when string, data []byte, places map[string]memory.Place) []Doc {
	var turns []struct {
		Speaker string `json:"speaker"`
		ID      string `json:"dia_id"`
		Text    string `json:"text"`
		Caption string `json:"blip_caption"`
	}
	mustJSON(t, data, &turns)
	at, err := time.Parse("3:04 pm on 2 January, 2006", when)
	if err != nil {
		t.Fatal(err)
	}
	var docs []Doc
	for i, turn := range turns {
		if turn.Caption != "" {
			turn.Text += " [shares a photo of " + turn.Caption + "]"
		}
		place := memory.Place{Session: memory.SessionKey(fmt.Sprintf("session-%02d", n)), Seq: int64(i + 1)}
		places[turn.ID] = place
		docs = append(docs, Analyze(memory.PlacedMessage{Place: place, Message: memory.Message{
			Role: memory.RoleUser, Name: turn.Speaker, CreateTime: at, Parts: []memory.Part{memory.TextPart(turn.Text)},
		}}))
	}
	return docs
}

func questions(t *testing.T, data []byte, places map[string]memory.Place) []question {
	var raw []struct {
		Question string   `json:"question"`
		Category int      `json:"category"`
		Evidence []string `json:"evidence"`
	}
	mustJSON(t, data, &raw)
	var out []question
	for _, r := range raw {
		q := question{text: r.Question, evidence: map[memory.Place]bool{}}
		for _, e := range r.Evidence {
			for _, id := range evidenceID.FindAllStringSubmatch(e, -1) {
				if p, ok := places["D"+id[1]+":"+id[2]]; ok {
					q.evidence[p] = true
				}
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
