package summary

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// pair is a conversation with a good summary of it.
type pair struct {
	name   string
	task   Task
	answer string
}

// locomoPairs are the sessions of the LoCoMo files in LOCOMO_DIR with the summaries that the data set has of them.
// The text of the data set is not part of the project: its licence forbids commercial use.
func locomoPairs(t testing.TB) []pair {
	t.Helper()
	dir := os.Getenv("LOCOMO_DIR")
	if dir == "" {
		t.Skip("LOCOMO_DIR is not set: no conversations to measure on")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations in %s: %v", dir, err)
	}
	var out []pair
	for _, f := range files {
		out = append(out, sessionsOf(t, f)...)
	}
	return out
}

func sessionsOf(t testing.TB, file string) []pair {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	var out []pair
	for n := 1; n <= 40; n++ {
		key := fmt.Sprintf("session_%d", n)
		if doc[key] == nil || doc[key+"_summary"] == nil {
			continue
		}
		out = append(out, pair{
			name:   filepath.Base(file) + "/" + key,
			task:   Task{Kind: memory.SummarySession, MaxTokens: 500, Location: time.UTC, Lines: linesOf(t, doc[key], decode[string](t, doc[key+"_date_time"]))},
			answer: decode[string](t, doc[key+"_summary"]),
		})
	}
	return out
}

func linesOf(t testing.TB, raw json.RawMessage, date string) []SourceText {
	t.Helper()
	said, err := time.Parse("3:04 pm on 2 January, 2006", date)
	if err != nil {
		t.Fatal(err)
	}
	type turn struct {
		Speaker string `json:"speaker"`
		Text    string `json:"text"`
		Caption string `json:"blip_caption"`
	}
	var out []SourceText
	for _, turn := range decode[[]turn](t, raw) {
		text := turn.Text
		if turn.Caption != "" {
			text += " [shares a picture of " + turn.Caption + "]"
		}
		out = append(out, SourceText{Speaker: turn.Speaker, Role: memory.RoleUser, Time: said, Text: text})
	}
	return out
}

func decode[T any](t testing.TB, raw json.RawMessage) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
