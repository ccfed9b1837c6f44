package builder_test

import (
	"math"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/language/text/synonyms"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/sessions"
	"github.com/stratamem/strata/internal/store"
)

// factorsOf are the factors of the hit in a session.
func factorsOf(t *testing.T, s services, query, session string) map[string]float64 {
	t.Helper()
	out, err := s.SearchMessages(t.Context(), recall.SearchParams{User: ada, Query: query, Limit: 10, MaxBytes: 1 << 20, Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range out.Hits {
		if h.SessionID == session {
			factors := map[string]float64{}
			for _, f := range h.Hit.Why.Factors {
				factors[f.Name] = f.Value
			}
			return factors
		}
	}
	t.Fatalf("%q found nothing in session %s", query, session)
	return nil
}

func TestWhatSearchesTakeFromTheirWords(t *testing.T) {
	r := newRig(t)
	r.says(ada, "noon", "We planted tulips.")
	s := r.service(wiring{})
	r.now = noon.Add(8 * time.Hour) // five in the morning of the next day in Seoul
	t.Run("today is today in UTC, and follows yesterday", func(t *testing.T) {
		for query, want := range map[string]float64{"What did we say about tulips today?": 1.3, "What did we say about tulips yesterday?": 1.15} {
			if got := factorsOf(t, s, query, "noon")[rank.FactorInTime]; math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: %v, want %v", query, got, want)
			}
		}
	})
	t.Run("for a user in Seoul it was yesterday", func(t *testing.T) {
		seoul := "Asia/Seoul"
		_, err := s.UpdateUser(t.Context(), store.UserUpdate{Ref: ada, Timezone: &seoul, Time: r.now})
		r.must(err)
		if got := factorsOf(t, s, "What did we say about tulips yesterday?", "noon")[rank.FactorInTime]; math.Abs(got-1.3) > 1e-9 {
			t.Errorf("got %v, want 1.3", got)
		}
	})
	t.Run("a question about when prefers messages that tell a time", func(t *testing.T) {
		_, err := s.Record(t.Context(), sessions.RecordParams{Ref: ada.Session("people"), Messages: []memory.Message{
			{Role: memory.RoleUser, Name: "Ann", Parts: []memory.Part{memory.TextPart("The physician came last week.")}, CreateTime: r.now},
		}})
		r.must(err)
		if got := factorsOf(t, s, "When did the physician come?", "people"); got[rank.FactorMentionsTime] == 0 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("words near to those of the query find messages", func(t *testing.T) {
		thesaurus := func(term string) []synonyms.Word {
			if term == "doctor" {
				return []synonyms.Word{{Term: "physician", Cosine: .8}}
			}
			return nil
		}
		factorsOf(t, r.service(wiring{near: thesaurus}), "doctor", "people")
	})
	t.Run("a user who is not known has no timezone, and no messages", func(t *testing.T) {
		eve := memory.UserRef{Tenant: ada.Tenant, UserID: "nobody"}
		out, err := s.SearchMessages(t.Context(), recall.SearchParams{User: eve, Query: "tulips yesterday", Limit: 1})
		if err != nil || len(out.Hits) != 0 {
			t.Errorf("%v, %v", out, err)
		}
	})
}
