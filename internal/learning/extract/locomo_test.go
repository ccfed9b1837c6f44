package extract_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
)

// maxRefusedGood is the most of a dialogue set's own observations that verification may refuse: they are good facts,
// written by people and a model who read the whole session, with the turn they come from.
const maxRefusedGood = 0.05

func TestGoodFactsAreNotRefused(t *testing.T) {
	dir := os.Getenv("LOCOMO_DIR")
	if dir == "" {
		t.Skip("LOCOMO_DIR is not set: it names a folder with LoCoMo dialogues as JSON files")
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no dialogues in LOCOMO_DIR: %v", err)
	}
	good, refused := 0, map[extract.RejectReason]int{}
	for _, path := range paths {
		for _, s := range observed(t, path) {
			for _, o := range s.ops {
				good++
				_, rejected := extract.Verify(s.task, []extract.Op{o})
				for _, r := range rejected {
					refused[r.Reason]++
					if testing.Verbose() {
						t.Logf("%s: %s", r.Reason, r.Op.Text)
					}
				}
			}
		}
	}
	total := 0
	for _, n := range refused {
		total += n
	}
	share := float64(total) / float64(good)
	t.Logf("%d of %d observations are refused (%.1f %%): %v", total, good, 100*share, refused)
	if share > maxRefusedGood {
		t.Errorf("%.1f %% of good facts are refused, want at most %.1f %%", 100*share, 100*maxRefusedGood)
	}
}

// session is a session's task with the observations that were made in it as operations.
type session struct {
	task extract.Task
	ops  []extract.Op
}

func observed(t *testing.T, path string) []session {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var dialogue map[string]json.RawMessage
	if err := json.Unmarshal(raw, &dialogue); err != nil {
		t.Fatal(err)
	}
	var out []session
	for n := 1; dialogue[fmt.Sprintf("session_%d", n)] != nil; n++ {
		out = append(out, observedIn(t, dialogue, n))
	}
	return out
}

type turn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
}

func observedIn(t *testing.T, dialogue map[string]json.RawMessage, n int) session {
	t.Helper()
	var turns []turn
	var date string
	var observations map[string][][]any
	if json.Unmarshal(dialogue[fmt.Sprintf("session_%d", n)], &turns) != nil ||
		json.Unmarshal(dialogue[fmt.Sprintf("session_%d_date_time", n)], &date) != nil ||
		json.Unmarshal(dialogue[fmt.Sprintf("session_%d_observation", n)], &observations) != nil {
		t.Fatalf("session %d cannot be read", n)
	}
	begin, err := time.Parse("3:04 pm on 2 January, 2006", date)
	if err != nil {
		t.Fatal(err)
	}
	var messages []memory.Message
	places := map[string]int{}
	for i, said := range turns {
		m := named(said.Speaker, said.Text)
		m.CreateTime, m.Seq = begin, int64(i+1)
		messages, places[said.ID] = append(messages, m), i+1
	}
	s := session{task: extract.NewTask(extract.Input{Messages: messages})}
	for speaker, list := range observations {
		for _, o := range list {
			text, _ := o[0].(string)
			id, _ := o[1].(string)
			if i := places[id]; i > 0 { // else it cites several turns
				s.ops = append(s.ops, extract.Op{
					Op: "add", Text: text, Category: "other", Significance: 5, Confidence: 1, Subject: speaker,
					Message: fmt.Sprintf("m%d", i), Quote: turns[i-1].Text,
				})
			}
		}
	}
	return s
}
