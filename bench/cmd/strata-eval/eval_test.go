package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/bench/internal/eval"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// serve starts the real server in this process and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.MetricsListen = filepath.Join(t.TempDir(), "strata.db"), "127.0.0.1:0", ""
	a, err := app.New(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return a.Addr()
}

// write makes a file in a new folder and returns the folder.
func write(t *testing.T, name, content string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

const boats = `{"session_1_date_time":"1:56 pm on 8 May, 2023","session_2_date_time":"9:05 am on 1 June, 2023",
 "session_1":[{"speaker":"Ada","dia_id":"D1:1","text":"I painted my boat green."},{"speaker":"Grace","dia_id":"D1:2","text":"Lovely weather."}],
 "session_2":[{"speaker":"Grace","dia_id":"D2:1","text":"My sister bought a trumpet."}],
 "qa":[{"question":"Which instrument did the sister buy?","category":4,"evidence":["D2:1"]},{"question":"What colour is the boat?","category":1,"evidence":["D1:1","D2:1"]},
  {"question":"Who sold the boat?","category":5,"evidence":["D1:1"]},{"question":"Nothing?","category":2,"evidence":[]}]}`

func TestARunAgainstAServer(t *testing.T) {
	dir := write(t, "7.json", boats)
	file := filepath.Join(dir, "result.txt")
	var out strings.Builder
	args := []string{"locomo", "-data", dir, "-address", serve(t), "-sections", "-settle", "0s", "-json", file, "-bar", "recall_5=.5", "-bar", "evidence_4k=turns_500"}
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	t.Run("rows are in the order of the questions and have every figure; what is apart is not asked", func(t *testing.T) {
		got, err := readResult(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Rows) != 2 || got.Skipped != 1 {
			t.Fatalf("got %+v", got)
		}
		first, second := got.Rows[0], got.Rows[1]
		if first.Question != "7/1" || second.Question != "7/2" || second.Evidence != 2 || second.Type != "1 multi-hop" {
			t.Errorf("got %+v", got.Rows)
		}
		for _, m := range eval.Metrics() {
			if _, ok := first.Scores[m]; ok == (m == eval.RecallUser || m == eval.RecallAssistant) { // it has people alone
				t.Errorf("%s: %v", m, ok)
			}
		}
		if first.Scores["recall_5"] != 1 || first.Scores["evidence_500"] != 1 || first.Scores["session_all_5"] != 1 || second.Scores["recall_5"] < .5 {
			t.Errorf("got %+v", got.Rows)
		}
	})
	t.Run("bars are judged", func(t *testing.T) {
		if strings.Count(out.String(), "PASS") != 4 { // each is printed as it is added, and at the end
			t.Error(out.String())
		}
	})
	t.Run("a run compared with itself differs in nothing", func(t *testing.T) {
		var out strings.Builder
		if err := run(t.Context(), []string{"compare", file, file, "-type", "4 single-hop"}, &out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "0 questions stand in one run alone") || !strings.Contains(out.String(), "[+0.0000, +0.0000]") {
			t.Error(out.String())
		}
	})
}

func TestChatsWithAnAssistantAndHistoriesOfTheirOwn(t *testing.T) {
	beam := write(t, "1/chat.json", `[{"turns":[[{"role":"user","id":0,"time_anchor":"March-15-2024","content":"My boat is called Anna. ->-> 1,1"},
	 {"role":"assistant","id":1,"content":"Noted."}]]}]`)
	if err := os.Mkdir(filepath.Join(beam, "1", "probing_questions"), 0o700); err != nil {
		t.Fatal(err)
	}
	questions := `{"information_extraction":[{"question":"What is my boat called?","source_chat_ids":[0]}],"abstention":[{"question":"Why?"}]}`
	if err := os.WriteFile(filepath.Join(beam, "1", "probing_questions", "probing_questions.json"), []byte(questions), 0o600); err != nil {
		t.Fatal(err)
	}
	long := write(t, "s.json", `[{"question_id":"q","question_type":"single-session-user","question":"What is my boat called?","question_date":"2023/05/30 (Tue) 23:40",
	 "haystack_session_ids":["a"],"haystack_dates":["2023/05/20 (Sat) 02:21"],"answer_session_ids":["a"],
	 "haystack_sessions":[[{"role":"user","content":"My boat is called Anna.","has_answer":true},{"role":"assistant","content":"Noted."}]]}]`)
	address := serve(t)
	own := write(t, "ada.txt", `language: en
timezone: Asia/Seoul
== 2025-03-08 00:30
u: My boat is called Anna.
? What is the boat called?
?t 2025-03-09 10:00 | What did I say in the small hours of Saturday?
a: Noted.
`)
	for _, c := range []struct{ benchmark, data, facts string }{{"beam", beam, "none"}, {"longmemeval", long, "server"}, {"chats", own, "none"}} {
		t.Run(c.benchmark+" is replayed and found", func(t *testing.T) {
			var out strings.Builder
			args := []string{c.benchmark, "-data", c.data, "-facts", c.facts, "-address", address, "-settle", "0s", "-bar", "evidence_500=1", "-bar", "recall_10_user=1"}
			if err := run(t.Context(), args, &out); err != nil {
				t.Error(err, out.String())
			}
		})
	}
}

func TestWrongArgumentsAreRefused(t *testing.T) {
	dir := write(t, "7.json", boats)
	for name, args := range map[string][]string{
		"no command":                            {},
		"an unknown command":                    {"bench"},
		"no data":                               {"locomo"},
		"data that is not there":                {"locomo", "-data", filepath.Join(dir, "none")},
		"an unknown dialogue":                   {"locomo", "-data", dir, "-ids", "8"},
		"questions of no type":                  {"locomo", "-data", dir, "-types", "riddle"},
		"facts that BEAM does not have":         {"beam", "-data", dir, "-facts", "replayed"},
		"facts of no kind":                      {"locomo", "-data", dir, "-facts", "all"},
		"flags for a server that runs already":  {"locomo", "-data", dir, "-address", "127.0.0.1:1", "-embedding-model", "m"},
		"a bar that is none":                    {"locomo", "-data", dir, "-bar", "recall_5"},
		"one run to compare":                    {"compare", "a.json"},
		"a run to compare that is not there":    {"compare", filepath.Join(dir, "a"), filepath.Join(dir, "b")},
		"a benchmark's file as a run":           {"compare", filepath.Join(dir, "7.json"), filepath.Join(dir, "7.json")},
		"no client at all":                      {"locomo", "-data", dir, "-clients", "0"},
		"a program that does not exist started": {"locomo", "-data", dir, "-binary", filepath.Join(dir, "none")},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), args, &strings.Builder{}); err == nil {
				t.Error("no error")
			}
		})
	}
	t.Run("a bar on a figure that the run does not have is named", func(t *testing.T) {
		groups := []eval.Group{{Name: eval.All, Mean: eval.Scores{"recall_5": 1}}}
		for _, b := range []bar{{figure: "recall_7"}, {figure: "recall_5", other: "recall_7"}} {
			err := judge(&measure.Report{Out: &strings.Builder{}}, groups, []bar{b})
			if err == nil || !strings.Contains(err.Error(), "recall_7") {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestFlagsOfTheServerArePassedOn(t *testing.T) {
	o, err := parse("beam", []string{"-data", "x", "-embedding-base-url", "http://127.0.0.1:1/v1", "--", "--rerank-model", "m"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"--embedding-base-url=http://127.0.0.1:1/v1", "--rerank-model", "m"}, o.server); diff != "" {
		t.Error(diff)
	}
}

func TestBatches(t *testing.T) {
	turn := func(n int) eval.Turn { return eval.Turn{Text: strings.Repeat("x", n)} }
	many := make([]eval.Turn, maxPerRecord+1)
	for _, c := range []struct {
		name  string
		turns []eval.Turn
		want  []int
	}{
		{"nothing is no call", nil, nil},
		{"what fits is one call", []eval.Turn{turn(1), turn(2)}, []int{2}},
		{"too many turns are two", many, []int{maxPerRecord, 1}},
		{"too much text is two, and a long turn stands alone", []eval.Turn{turn(1), turn(maxRecord), turn(1), turn(1)}, []int{1, 1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []int
			for b := range batches(c.turns) {
				got = append(got, len(b))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheScriptedModel(t *testing.T) {
	s := newScript([]eval.Dialogue{{Sessions: []eval.Session{{
		Summary: "They met.",
		Turns:   []eval.Turn{{Label: "D1:1", Text: "I have a cat."}, {Label: "D1:2", Text: "Nice."}},
		Facts:   []eval.Fact{{Speaker: "Ada", Text: "Ada has a cat.", Turns: []string{"D1:1"}}},
	}}}})
	prompt := func(text string, learn bool) string {
		b, err := json.Marshal(map[string]any{"message": "m1", "text": text, "learn": learn})
		if err != nil {
			t.Fatal(err)
		}
		return "Learn:\n" + string(b)
	}
	for name, c := range map[string]struct {
		request llmtest.Request
		want    string
	}{
		"a turn to be learnt from gives its observations":   {llmtest.Request{Operation: llm.OpExtract, User: prompt("I have a cat.", true)}, "Ada has a cat."},
		"a turn for context gives none":                     {llmtest.Request{Operation: llm.OpExtract, User: prompt("I have a cat.", false)}, `{"operations":[]}`},
		"a session's first turn gives its summary":          {llmtest.Request{Operation: llm.OpSummarize, User: "Ada: I have a cat."}, "They met."},
		"a prompt without one gives the end of what it has": {llmtest.Request{Operation: llm.OpSummarize, User: "| They left.\n| (none)"}, "They left."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.answer(c.request).Text; !strings.Contains(got, c.want) {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestFigures(t *testing.T) {
	r := result{Rows: []eval.Row{{Degraded: []string{"milvus"}}, {Degraded: []string{"embedding", "milvus"}}, {}}}
	t.Run("degraded answers are counted by tier", func(t *testing.T) {
		if got := r.degraded(); got != "milvus 2 embedding 1" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a figure that a group does not have is a dash", func(t *testing.T) {
		if got := figure(eval.Scores{"a": .25}, "a") + " " + figure(nil, "a"); got != "0.250 -" {
			t.Errorf("got %q", got)
		}
	})
}

func TestFactsOfLabelledChats(t *testing.T) {
	dir := write(t, "ada.txt", `language: en
== 2025-03-08 10:30
u#old: I live in Lisbon.
! lives in Lisbon
a: Lovely.
u: What a day.
== 2025-05-08 10:30
u: I now live in Porto.
! #old lives in Porto
a: Noted.
u: lol
`)
	var out strings.Builder
	if err := run(t.Context(), []string{"facts", "-data", dir, "-address", serve(t), "-list"}, &out); err != nil {
		t.Fatal(err)
	}
	if want := "2 of    2    1.000          0 of    2        0.0        1      1      0"; strings.Count(out.String(), want) != 2 {
		t.Errorf("both are learnt, and the new one takes the old one's place:\n%s", out.String())
	}
}
