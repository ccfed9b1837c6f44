package rank

import (
	"testing"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/language/text/when"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/segment"
)

// remark is a message of a chat with an assistant.
type remark struct {
	session string
	at      string // in Seoul
	words   string
	reply   bool
}

var remarks = []remark{
	{"a", "2026-02-20 10:00", "has this Tuesday lasted a whole week?", false},
	{"a", "2026-02-20 10:01", "It may feel so.", true},
	{"b", "2026-03-07 23:30", "saw Dr. Okafor about my wrist, he wants a splint for six weeks", false},
	{"b", "2026-03-07 23:31", "A splint is the usual treatment for that.", true},
	{"c", "2026-03-08 03:10", "can't sleep, the baby upstairs cries and I keep thinking of the lawsuit", false},
	{"c", "2026-03-08 03:11", "ok", false},
	{"c", "2026-03-08 14:00", "bought oat milk and a lamp", false},
	{"d", "2026-03-12 09:00", "yesterday the landlord came and took the washing machine away", false},
	{"d", "2026-03-12 09:05", "my exam is on 2 April, in the big hall", false},
	{"e", "2026-03-20 18:00", "went running by the river, seven kilometres", false},
	{"f", "2026-04-05 18:00", "running again, this time ten kilometres", false},
}

func seoul(t *testing.T, at string) time.Time {
	t.Helper()
	zone, err := time.LoadLocation("Asia/Seoul")
	if err != nil {
		t.Fatal(err)
	}
	out, err := time.ParseInLocation("2006-01-02 15:04", at, zone)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// remarked holds the remarks, through a segment when that is asked for.
func remarked(t *testing.T, stored bool) *Index {
	t.Helper()
	var docs []segment.Doc
	for i, r := range remarks {
		role := memory.RoleUser
		if r.reply {
			role = memory.RoleAssistant
		}
		docs = append(docs, segment.Analyze(memory.PlacedMessage{
			Place:   memory.Place{Session: memory.SessionKey(r.session), Seq: int64(i + 1)},
			Message: memory.Message{Role: role, CreateTime: seoul(t, r.at), Parts: []memory.Part{memory.TextPart(r.words)}},
		}))
	}
	x := NewIndex()
	if !stored {
		x.Add(docs...)
		return x
	}
	if err := x.AddSegment(segment.Encode(docs)); err != nil {
		t.Fatal(err)
	}
	return x
}

func asking(words string, now time.Time) Query {
	return Query{Terms: text.Terms(words), Times: when.Find(words, now), Order: when.OrderIn(words).Order}
}

func TestTheRetrieverOfTimesFindsWhatWasSaidThenOrTellsOfIt(t *testing.T) {
	for _, stored := range []bool{false, true} {
		x := remarked(t, stored)
		for _, c := range []struct {
			promise, query, asked string
			want                  int64 // the first; 0 for none
		}{
			{"what was said in the time, whatever its words", "Which physician did I go to two days ago?", "2026-03-09 12:00", 3},
			{"the part of the day in the user's zone", "what troubled me in the small hours of March 8?", "2026-03-15 12:00", 5},
			{"what says most before what says little", "what did I say in the early hours of March 8?", "2026-03-15 12:00", 5},
			{"what mentions the time on another day", "what happened on March 11?", "2026-03-15 12:00", 8},
			{"what mentioned before what was to come", "what do I have tomorrow?", "2026-04-01 12:00", 9},
			{"the query's other words among what fits", "how far did I run this month?", "2026-03-31 12:00", 10},
			{"the latest of what fits the words", "when did I go running the last time?", "2026-04-10 12:00", 11},
			{"the first talk", "what did I ask when we first talked?", "2026-04-10 12:00", 1},
			{"nothing where no time is named", "how far did I run?", "2026-04-10 12:00", 0},
			{"nothing for a time that nothing mentions", "what did I do in May 2019?", "2026-04-10 12:00", 0},
		} {
			t.Run(c.promise, func(t *testing.T) {
				found := x.SearchTimes(asking(c.query, seoul(t, c.asked))).Matches
				got := int64(0)
				if len(found) > 0 {
					got = found[0].Seq
				}
				if got != c.want {
					t.Errorf("%q finds %d first of %v, want %d", c.query, got, found, c.want)
				}
			})
		}
	}
	x := remarked(t, false)
	t.Run("what the filters leave out is not found", func(t *testing.T) {
		q := asking("what did I say on March 8?", seoul(t, "2026-03-15 12:00"))
		q.Sessions = map[memory.SessionKey]bool{"d": true}
		if found := x.SearchTimes(q).Matches; len(found) > 0 {
			t.Errorf("found %v", found)
		}
	})
	t.Run("the talk that is held is not the latest", func(t *testing.T) {
		q := asking("what did I say the last time we talked?", seoul(t, "2026-04-10 12:00"))
		q.Current = "f"
		if found := x.SearchTimes(q).Matches; len(found) != 1 || found[0].Session != "e" {
			t.Errorf("found %v", found)
		}
	})
	t.Run("a time that nearly everything is of counts less", func(t *testing.T) {
		few, many := timeRetriever(nil, 5).Weights, timeRetriever(nil, 500).Weights
		if few.AssistantChat <= many.AssistantChat || many.AssistantChat <= 0 {
			t.Errorf("weights %v of few, %v of many", few, many)
		}
	})
}

func TestTheWordsOfATimeCountLittle(t *testing.T) {
	x := remarked(t, false)
	q := Query{Terms: text.Terms("Okafor Tuesday week"), Limit: 1}
	if hits := x.Search(q).Hits; hits[0].Seq != 1 {
		t.Fatalf("the words in full find %d", hits[0].Seq)
	}
	q.Faint = map[string]bool{}
	for _, term := range text.Terms("Tuesday week") {
		q.Faint[term] = true
	}
	if hits := x.Search(q).Hits; hits[0].Seq != 3 {
		t.Errorf("found %d first, want what has the other word", hits[0].Seq)
	}
}
