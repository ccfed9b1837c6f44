package contexts_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// TestATimeFindsWhatWasSaidThenOrTellsOfIt asks with words that stand in no message but as somebody else's time.
func TestATimeFindsWhatWasSaidThenOrTellsOfIt(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	setTimezone(t, h, "America/Los_Angeles")
	zone := location(t, "America/Los_Angeles")
	at := func(day, hour int) time.Time { return time.Date(2025, 3, day, hour, 0, 0, 0, zone) }
	h.RecordTurn(t, "one", saidAt(e2e.User("week", "Has this Tuesday lasted a whole week, or did I sleep through the last month?"), at(1, 9)),
		saidAt(e2e.Assistant("re", "It happens to the best of us, last week or any other."), at(1, 9)))
	h.RecordTurn(t, "two", saidAt(e2e.User("splint", "Saw Dr. Okafor, he put my wrist into a splint."), at(4, 20))) // the 5th in UTC
	h.RecordTurn(t, "three", saidAt(e2e.User("sleep", "Wide awake, the baby upstairs cries and I think of the lawsuit."), at(8, 3)),
		saidAt(e2e.User("ok", "ok"), at(8, 3)))
	h.RecordTurn(t, "four", saidAt(e2e.User("landlord", "The day before yesterday the landlord took the washing machine away."), at(12, 21)),
		saidAt(e2e.User("exam", "My exam is on 2 April in the big hall."), at(12, 21)))
	first := func(t *testing.T, query string, asOf time.Time) string {
		t.Helper()
		hits := e2e.Must(h.SearchMessages(h.Ctx, &memoryv1.SearchMessagesRequest{UserId: "ada", Query: query, AsOf: timestamppb.New(asOf)}))(t).GetHits()
		if len(hits) == 0 {
			return ""
		}
		return hits[0].GetMessage().GetId()
	}
	for promise, c := range map[string]struct {
		query string
		asked time.Time
		want  string
	}{
		"the user's yesterday, not that of UTC":                    {"What did I do yesterday?", at(5, 9), "splint"},
		"an expression's own words find no other's Tuesday":        {"Which physician did I visit last Tuesday?", at(8, 9), "splint"},
		"the part of a day":                                        {"What troubled me in the small hours of March 8?", at(20, 9), "sleep"},
		"what a message tells of, as seen from when it was said":   {"What happened on March 10?", at(20, 9), "landlord"},
		"what was told before of what is to come":                  {"What do I have tomorrow?", time.Date(2025, 4, 1, 9, 0, 0, 0, zone), "exam"},
		"the first talk":                                           {"What did I tell you when we first talked?", at(20, 9), "week"},
		"the same in Korean":                                       {"3월 8일 새벽에 무슨 일이 있었지?", at(20, 9), "sleep"},
		"the same in Chinese, of a time that has no words but its": {"3月8日凌晨", at(20, 9), "sleep"},
	} {
		t.Run(promise, func(t *testing.T) {
			if got := first(t, c.query, c.asked); got != c.want {
				t.Errorf("%q finds %q first, want %q", c.query, got, c.want)
			}
		})
	}
	t.Run("a context has it too, and says by which arm", func(t *testing.T) {
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "new", Query: "Which physician did I visit last week?", AsOf: timestamppb.New(at(11, 9)), Explain: true})
		for _, s := range r.GetSections() {
			for _, item := range s.GetItems() {
				if item.GetMessageId() == "splint" {
					return
				}
			}
		}
		t.Errorf("the context has %v", r.GetSections())
	})
	t.Run("facts that began to hold in the time are found", func(t *testing.T) {
		for text, from := range map[string]time.Time{"Moved to Lisbon.": at(4, 9), "Plays the cello.": at(4, 9).AddDate(-1, 0, 0)} {
			e2e.Must(h.Facts().CreateFact(h.Ctx, &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{UserId: "ada", Text: text, ValidFrom: timestamppb.New(from)}}))(t)
		}
		hits := e2e.Must(h.Facts().SearchFacts(h.Ctx, &memoryv1.SearchFactsRequest{
			UserId: "ada", Query: "What changed last week?", AsOf: timestamppb.New(at(11, 9)),
		}))(t).GetHits()
		if len(hits) == 0 || hits[0].GetFact().GetText() != "Moved to Lisbon." {
			t.Errorf("found %v", hits)
		}
	})
}
