package builtin_test

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
)

// learnt is the facts of a chat by the message they were said in.
type learnt struct {
	messageID string
	subject   string
	text      string
	attribute string
}

// learn runs the extractor on messages the way background work does, a few at a time, and returns what verification
// lets pass.
func learn(t *testing.T, messages []memory.Message) []learnt {
	t.Helper()
	var out []learnt
	for from := 0; from < len(messages); from += 10 {
		task := extract.NewTask(extract.Input{
			Session: "s", SessionID: "s", Context: messages[max(0, from-3):from], Messages: messages[from:min(from+10, len(messages))],
		})
		proposals, rejected := verified(t, task)
		for _, r := range rejected {
			t.Logf("refused as %s: %q of %q", r.Reason, r.Op.Text, r.Op.Quote)
		}
		for _, p := range proposals {
			if p.Retracts {
				continue
			}
			out = append(out, learnt{p.Fact.Evidence[0].MessageID, p.Fact.Subject, p.Fact.Text, p.Fact.Attribute})
		}
	}
	return out
}

// locomoLabels are lines "dialogue turn verdicts", by hand, with a letter for each fact of the turn: y for a lasting
// fact that the turn states about its speaker, n for anything else.
//
//go:embed testdata/locomo_labels.txt
var locomoLabels []byte

func TestFactsFoundInLoCoMoAreFacts(t *testing.T) {
	dir := os.Getenv("LOCOMO_DIR")
	if dir == "" {
		t.Skip("LOCOMO_DIR is not set: it names a folder with LoCoMo dialogues as JSON files")
	}
	labels := readLabels(t)
	var found tally
	for _, name := range dialogues(t, dir) {
		byTurn := map[string][]string{}
		known := map[string]bool{}
		for _, session := range locomoSessions(t, filepath.Join(dir, name+".json")) {
			found.messages += len(session)
			for _, f := range learn(t, session) {
				byTurn[f.messageID] = append(byTurn[f.messageID], f.text)
				known[f.subject+f.text] = true
			}
		}
		found.unlike += len(known)
		for turn, texts := range byTurn {
			found.add(t, name+" "+turn, texts, labels[name+" "+turn])
		}
	}
	precision := float64(found.right) / float64(max(found.labelled, 1))
	t.Logf("%d facts, %d of them different, in %d messages (%.0f per 1,000), %d labelled, precision %.3f",
		found.facts, found.unlike, found.messages, 1000*float64(found.facts)/float64(found.messages), found.labelled, precision)
	if found.labelled < 100 || precision < 0.85 {
		t.Errorf("precision is %.3f of %d labelled facts, want at least .85 of at least 100", precision, found.labelled)
	}
}

// tally counts facts.
type tally struct{ messages, facts, unlike, labelled, right int }

// add counts the facts of a turn. Labels count while they are as many as the facts.
func (c *tally) add(t *testing.T, turn string, texts []string, verdicts string) {
	t.Helper()
	c.facts += len(texts)
	if len(verdicts) != len(texts) {
		t.Logf("not labelled: %s %q", turn, texts)
		return
	}
	c.labelled += len(texts)
	c.right += strings.Count(verdicts, "y")
	if strings.Contains(verdicts, "n") {
		t.Logf("labelled %s: %s %q", verdicts, turn, texts)
	}
}

func readLabels(t *testing.T) map[string]string {
	t.Helper()
	labels := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(locomoLabels))
	for lines.Scan() {
		if f := strings.Fields(lines.Text()); len(f) == 3 {
			labels[f[0]+" "+f[1]] = f[2]
		}
	}
	return labels
}

func dialogues(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no dialogues in LOCOMO_DIR: %v", err)
	}
	var names []string
	for _, p := range paths {
		names = append(names, strings.TrimSuffix(filepath.Base(p), ".json"))
	}
	slices.Sort(names)
	return names
}

// locomoSessions are a dialogue's sessions as chats between people.
func locomoSessions(t *testing.T, path string) [][]memory.Message {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var dialogue map[string]json.RawMessage
	if err := json.Unmarshal(raw, &dialogue); err != nil {
		t.Fatal(err)
	}
	var sessions [][]memory.Message
	for n := 1; ; n++ {
		turns, ok := dialogue[fmt.Sprintf("session_%d", n)]
		if !ok {
			return sessions
		}
		var date string
		_ = json.Unmarshal(dialogue[fmt.Sprintf("session_%d_date_time", n)], &date)
		begin, err := time.Parse("3:04 pm on 2 January, 2006", date)
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, locomoTurns(t, turns, begin))
	}
}

func locomoTurns(t *testing.T, raw json.RawMessage, begin time.Time) []memory.Message {
	t.Helper()
	var turns []struct {
		Speaker string `json:"speaker"`
		ID      string `json:"dia_id"`
		Text    string `json:"text"`
	}
	if err := json.Unmarshal(raw, &turns); err != nil {
		t.Fatal(err)
	}
	var out []memory.Message
	for i, turn := range turns {
		out = append(out, memory.Message{
			ID: turn.ID, Seq: int64(i + 1), Role: memory.RoleUser, Name: turn.Speaker, Origin: memory.OriginUser,
			Parts: []memory.Part{memory.TextPart(turn.Text)}, CreateTime: begin,
		})
	}
	return out
}
