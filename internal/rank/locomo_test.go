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
)

// dialogue is one conversation of LoCoMo as a user's index.
type dialogue struct {
	docs      []Doc
	questions []question
}

type question struct {
	text     string
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
	bare := DefaultWeights()
	bare.Person.Named = 1
	without := recall(dialogues, bare, 10)
	t.Logf("without the named-speaker factor: recall@5 %.3f, @10 %.3f, @20 %.3f", recall(dialogues, bare, 5), without, recall(dialogues, bare, 20))
	with := recall(dialogues, DefaultWeights(), 10)
	t.Logf("with it: recall@5 %.3f, @10 %.3f, @20 %.3f", recall(dialogues, DefaultWeights(), 5), with, recall(dialogues, DefaultWeights(), 20))
	if without < .77 || with < .77 {
		t.Errorf("recall@10 is %.3f without and %.3f with the named-speaker factor; the bar is .77", without, with)
	}
}

// recall is the mean share of a question's evidence among its first k hits.
func recall(dialogues []dialogue, w Weights, k int) float64 {
	sum, n := 0.0, 0
	for _, d := range dialogues {
		x := NewIndexWith(w)
		x.Add(d.docs...)
		for _, q := range d.questions {
			found := 0
			for _, h := range x.Search(Query{Terms: text.Terms(q.text), Limit: k}).Hits {
				if q.evidence[h.Place] {
					found++
				}
			}
			sum += float64(found) / float64(len(q.evidence))
			n++
		}
	}
	return sum / float64(n)
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
