package eval_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/bench/internal/eval"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
)

const chat = `language: en
timezone: Asia/Seoul

== 2025-03-07 23:50
u#cat: We got a cat.
! has a cat
? Which animal?
a: What a joy!
-- 2025-03-08 00:40
Mina#two: Two cats now.
! #cat has two cats
?t 2025-03-09 10:00 #cat #two | What did we write that night?
?t 2025-03-08 09:00 | What did Mina say in the small hours?
`

func chats(content string) (eval.Set, error) {
	return eval.Chats(fstest.MapFS{"dir/mina.txt": {Data: []byte(content)}}, "dir")
}

func TestChats(t *testing.T) {
	set, err := chats(chat)
	if err != nil {
		t.Fatal(err)
	}
	seoul, err := time.LoadLocation("Asia/Seoul")
	if err != nil {
		t.Fatal(err)
	}
	at := func(day, hour, minute int) time.Time { return time.Date(2025, 3, day, hour, minute, 0, 0, seoul) }
	want := eval.Set{Dialogues: []eval.Dialogue{{
		Name: "mina", Language: "en", Timezone: "Asia/Seoul", Asked: at(8, 23, 50),
		Sessions: []eval.Session{{ID: "s1", Begin: at(7, 23, 50), Turns: []eval.Turn{
			{ID: "cat", Label: "cat", Role: memory.RoleUser, Text: "We got a cat.", At: at(7, 23, 50), States: []eval.Stated{{Label: "has a cat"}}},
			{ID: "s1.2", Label: "s1.2", Role: memory.RoleAssistant, Text: "What a joy!", At: at(7, 23, 51)},
			{
				ID: "two", Label: "two", Role: memory.RoleUser, Name: "Mina", Text: "Two cats now.", At: at(8, 0, 40),
				States: []eval.Stated{{Label: "has two cats", Ends: []string{"cat"}}},
			},
		}}},
		Questions: []eval.Question{
			{ID: "mina/1", Type: eval.TypeOverlap, Text: "Which animal?", Evidence: []string{"cat"}, Sessions: []string{"s1"}},
			{
				ID: "mina/2", Type: eval.TypeTime, Text: "What did we write that night?", AsOf: at(9, 10, 0),
				Evidence: []string{"cat", "two"}, Sessions: []string{"s1"},
			},
			{
				ID: "mina/3", Type: eval.TypeTime, Text: "What did Mina say in the small hours?", AsOf: at(8, 9, 0),
				Evidence: []string{"two"}, Sessions: []string{"s1"},
			},
		},
	}}}
	if diff := cmp.Diff(want, set); diff != "" {
		t.Error(diff)
	}
	t.Run("questions are chosen by type", func(t *testing.T) {
		chosen, err := set.OfTypes([]string{eval.TypeTime})
		if err != nil || len(chosen.Dialogues[0].Questions) != 2 || len(set.Dialogues[0].Questions) != 3 {
			t.Errorf("got %+v and %v", chosen, err)
		}
		if _, err := set.OfTypes([]string{"times"}); err == nil {
			t.Error("a type that no question has is taken")
		}
	})
	for promise, c := range map[string][2]string{
		"a line of no kind":                     {"a: What a joy!", "What a joy!"},
		"a message without words":               {"a: What a joy!", "a: "},
		"a name that another message has":       {"Mina#two", "Mina#cat"},
		"a question about a message that is no": {"#cat #two |", "#dog |"},
		"a fact that ends none":                 {"! #cat has", "! #dog has"},
		"a fact without words":                  {"! has a cat", "!"},
		"a question without words":              {"? Which animal?", "?"},
		"a question by time without one":        {"?t 2025-03-08 09:00 |", "?t"},
		"a time of another form":                {"?t 2025-03-08 09:00 |", "?t 2025-03-08 |"},
		"time that goes back":                   {"-- 2025-03-08", "-- 2025-03-07"},
		"a timezone that is none":               {"Asia/Seoul", "Asia/Soul"},
		"a header of no kind":                   {"language:", "tongue:"},
		"a question before any message":         {"u#cat: We got a cat.", ""},
	} {
		t.Run("refused: "+promise, func(t *testing.T) {
			if got, err := chats(strings.Replace(chat, c[0], c[1], 1)); err == nil {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestThisProjectsChatsAreHard holds testdata/chats to what its figures stand for.
func TestThisProjectsChatsAreHard(t *testing.T) {
	const (
		maxShare = .6 // of a question's terms that its evidence may have
		messages = 120
		overlap  = 60 // questions
		times    = 30 // questions
	)
	set, err := eval.Chats(os.DirFS("testdata/chats"), ".")
	if err != nil {
		t.Fatal(err)
	}
	var languages []string
	for _, d := range set.Dialogues {
		t.Run(d.Name, func(t *testing.T) {
			languages = append(languages, d.Language)
			said, count := map[string][]string{}, map[string]int{}
			for _, s := range d.Sessions {
				count["message"] += len(s.Turns)
				for _, turn := range s.Turns {
					said[turn.Label] = text.Terms(turn.Text)
				}
			}
			var shares float64
			for _, q := range d.Questions {
				count[q.Type]++
				if q.Type != eval.TypeOverlap {
					continue
				}
				share := sharedTerms(q, said)
				shares += share
				if share > maxShare {
					t.Errorf("%.2f of the terms of %q stand in its evidence", share, q.Text)
				}
			}
			if count["message"] < messages || count[eval.TypeOverlap] < overlap || count[eval.TypeTime] < times {
				t.Errorf("got %v", count)
			}
			t.Logf("%v; %.2f of a question's terms stand in its evidence, in the mean", count, shares/float64(count[eval.TypeOverlap]))
		})
	}
	slices.Sort(languages)
	if diff := cmp.Diff([]string{"en", "es", "ja", "ko", "zh"}, slices.Compact(languages)); diff != "" {
		t.Error(diff)
	}
}

// TestParaphrasesAreHard holds testdata/paraphrases to what its figures stand for.
func TestParaphrasesAreHard(t *testing.T) {
	set, err := eval.Chats(os.DirFS("testdata/paraphrases"), ".")
	if err != nil {
		t.Fatal(err)
	}
	const (
		maxShare  = .6 // of a question's terms that its evidence may have
		messages  = 70
		questions = 39
	)
	for _, d := range set.Dialogues {
		t.Run(d.Name, func(t *testing.T) {
			said := map[string][]string{}
			for _, s := range d.Sessions {
				for _, turn := range s.Turns {
					said[turn.Label] = text.Terms(turn.Text)
				}
			}
			for _, q := range d.Questions {
				if share := sharedTerms(q, said); share > maxShare {
					t.Errorf("%.2f of the terms of %q stand in its evidence", share, q.Text)
				}
			}
			if len(said) < messages || len(d.Questions) < questions {
				t.Errorf("%d messages, %d questions", len(said), len(d.Questions))
			}
		})
	}
}

// sharedTerms is which share of the question's different terms stands in its evidence.
func sharedTerms(q eval.Question, said map[string][]string) float64 {
	evidence := map[string]bool{}
	for _, label := range q.Evidence {
		for _, term := range said[label] {
			evidence[term] = true
		}
	}
	terms := text.Terms(q.Text)
	slices.Sort(terms)
	terms = slices.Compact(terms)
	shared := 0
	for _, term := range terms {
		if evidence[term] {
			shared++
		}
	}
	return float64(shared) / float64(max(1, len(terms)))
}
