package rank_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/recall/segment"
)

// parallel is one dialogue with its questions in several languages, written for this test. Each text and each name stands there once for each
// language, in the order of Languages.
type parallel struct {
	Languages []string   `json:"languages"`
	Speakers  [][]string `json:"speakers"`
	Sessions  []struct {
		Date  string `json:"date"`
		Turns []struct {
			By   int      `json:"by"` // index of Speakers
			Text []string `json:"text"`
		} `json:"turns"`
	} `json:"sessions"`
	Questions []struct {
		Evidence []string `json:"evidence"` // "2:7" is the seventh turn of the second session
		Text     []string `json:"text"`
	} `json:"questions"`
}

// TestQuestionsFindTheirEvidenceInEveryLanguage holds each language against English: the words alone, no near words,
// no vectors, no facts.
func TestQuestionsFindTheirEvidenceInEveryLanguage(t *testing.T) {
	const margin = .05
	p := loadParallel(t)
	english := p.recall(p.index(t, 0), 0, 10)
	for i, language := range p.Languages {
		x := p.index(t, i)
		at5, at10 := p.recall(x, i, 5), p.recall(x, i, 10)
		t.Logf("%s: recall@5 %.3f, @10 %.3f of %d questions", language, at5, at10, len(p.Questions))
		if at10 < english-margin {
			t.Errorf("%s: recall@10 is %.3f, more than %.2f below English (%.3f)", language, at10, margin, english)
		}
	}
}

func loadParallel(t *testing.T) parallel {
	t.Helper()
	data, err := os.ReadFile("testdata/parallel.json")
	if err != nil {
		t.Fatal(err)
	}
	var p parallel
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// index holds the dialogue in one language.
func (p parallel) index(t *testing.T, language int) *rank.Index {
	t.Helper()
	x := rank.NewIndex()
	for s, session := range p.Sessions {
		at, err := time.Parse(time.DateOnly, session.Date)
		if err != nil {
			t.Fatal(err)
		}
		for i, turn := range session.Turns {
			x.Add(segment.Analyze(memory.PlacedMessage{Place: parallelPlace(s+1, i+1), Message: memory.Message{
				Role: memory.RoleUser, Name: p.Speakers[turn.By][language], CreateTime: at,
				Parts: []memory.Part{memory.TextPart(turn.Text[language])},
			}}))
		}
	}
	return x
}

// recall is the mean share of a question's evidence among its first k hits.
func (p parallel) recall(x *rank.Index, language, k int) float64 {
	sum := 0.0
	for _, q := range p.Questions {
		found := 0
		for _, h := range x.Search(rank.Query{Terms: text.Terms(q.Text[language]), Limit: k}).Hits {
			for _, e := range q.Evidence {
				if h.Place == evidencePlace(e) {
					found++
				}
			}
		}
		sum += float64(found) / float64(len(q.Evidence))
	}
	return sum / float64(len(p.Questions))
}

func evidencePlace(id string) memory.Place {
	session, turn, _ := strings.Cut(id, ":")
	s, _ := strconv.Atoi(session)
	n, _ := strconv.Atoi(turn)
	return parallelPlace(s, n)
}

func parallelPlace(session, turn int) memory.Place {
	return memory.Place{Session: memory.SessionKey(fmt.Sprintf("session-%02d", session)), Seq: int64(turn)}
}

// TestOddQueriesFindTheirTerms asks what no list of words foresees. Each query must find the message that stands beside
// it, and no length of a query is an error.
func TestOddQueriesFindTheirTerms(t *testing.T) {
	messages := []string{
		"어제 한강에서 산책했어", "我昨天喝水了", "Solve for x, please", "We won 🎉🎉", "오늘 Docker 컨테이너를 再起動した", "La montaña es alta",
		"지하철 회의에서 나이 얘기가 나왔어", "ﾊﾟｿｺﾝでＷｉＦｉが切れた", "그 사과가 달아", "会議室の鍵", "Flat 7 has 👨‍👩‍👧 and 🇰🇷 on the door",
	}
	x := rank.NewIndex()
	for i, words := range messages {
		x.Add(segment.Analyze(memory.PlacedMessage{Place: parallelPlace(1, i+1), Message: memory.Message{
			Role: memory.RoleUser, Name: "Ada", Parts: []memory.Part{memory.TextPart(words)},
		}}))
	}
	for promise, queries := range map[string]map[string]int{
		"Korean nouns of two syllables, some of which end like particles": {
			"한강": 1, "산책": 1, "회의": 7, "나이": 7, "사과": 9, "회의에서요?": 7, "사과를": 9,
		},
		"scripts mixed in a query, a word or a message": {
			"docker": 5, "컨테이너는?": 5, "再起動": 5, "Docker를 再起動": 5, "WiFi와 パソコン": 8, "wifiが": 8, "パソコン": 8, "montaña 山": 6,
		},
		"emoji, alone, in a row, with a skin or as a part":    {"🎉": 4, "🎉🎉🎉": 4, "who 🎉?": 4, "👨": 11, "👨🏽": 11, "🇰🇷": 11},
		"one character of any script":                         {"강": 1, "水": 2, "x": 3, "X": 3, "ｘ": 3, "7": 11, "鍵": 10, "室": 10, "🎉": 4},
		"words whose accents and case are left out or differ": {"montaña": 6, "MONTANAS": 6, "¿montaña?": 6},
		"ten thousand characters and more, of one word, of many, of none that is known but one, without a blank": {
			strings.Repeat("산책 ", 3334): 1, strings.Repeat("水", 10_000): 2, strings.Repeat("zebra yak ", 1000) + "montaña": 6,
			strings.Repeat("🎉", 10_000): 4, strings.Repeat("가나다라마바사아자차 ", 1000) + "한강": 1, strings.Repeat("z", 10_000) + " docker": 5,
			longQuery() + " docker": 5,
		},
	} {
		t.Run(promise, func(t *testing.T) {
			for query, want := range queries {
				hits := x.Search(rank.Query{Terms: text.Terms(query), Limit: 1}).Hits
				if len(hits) != 1 || hits[0].Place != parallelPlace(1, want) {
					t.Errorf("%.40q finds %+v, want message %d", query, hits, want)
				}
			}
		})
	}
}

// longQuery is 2,500 different words, more than any search looks at.
func longQuery() string {
	var words []string
	for i := range 2500 {
		words = append(words, fmt.Sprintf("n%d", i))
	}
	return strings.Join(words, " ")
}
