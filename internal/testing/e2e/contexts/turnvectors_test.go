package contexts_test

import (
	"fmt"
	"slices"
	"testing"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// found is the explanation of a message among hits, nil where it is not.
func found(r *memoryv1.SearchMessagesResponse, id string) *memoryv1.Explanation {
	i := slices.IndexFunc(r.GetHits(), func(h *memoryv1.MessageHit) bool { return h.GetMessage().GetId() == id })
	if i < 0 {
		return nil
	}
	return r.GetHits()[i].GetExplanation()
}

func arms(e *memoryv1.Explanation) (names []string) {
	for _, a := range e.GetArms() {
		names = append(names, a.GetArm())
	}
	return names
}

// addsUp reports whether the terms and factors make the score of the arm lexical, and the arms the final one.
func addsUp(e *memoryv1.Explanation) bool {
	terms, factor, arms := 0.0, 1.0, 0.0
	for _, t := range e.GetTerms() {
		terms += t.GetScore()
	}
	for _, f := range e.GetFactors() {
		factor *= f.GetValue()
	}
	lexical := 0.0
	for _, a := range e.GetArms() {
		arms += a.GetWeight() / float64(10+a.GetRank())
		if a.GetArm() == "lexical" {
			lexical = a.GetScore()
		}
	}
	if arms == 0 { // words alone ranked
		arms = lexical
	}
	return len(e.GetArms()) > 0 && abs(terms*factor-lexical) <= 1e-9*lexical && abs(arms-e.GetScore()) <= 1e-9*arms
}

func TestMessagesAreFoundByMeaning(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	h.RecordTurn(t, "old", e2e.User("nurse", "I work as a nurse at the clinic downtown."), e2e.User("bike", "My bicycle needs a new chain."), e2e.User("soup", "Tomato soup is what I cook on Sundays."))
	h.Indexed(t, &memoryv1.BuildContextRequest{SessionId: "old", Query: "x"})
	search := func(query string) *memoryv1.SearchMessagesResponse {
		t.Helper()
		return e2e.Must(h.SearchMessages(h.Ctx, &memoryv1.SearchMessagesRequest{UserId: "ada", Query: query, Explain: true}))(t)
	}
	const asked = "Which profession does she have in the hospital?"

	t.Run("without a word of the query, the nearest first, and the embedder is named", func(t *testing.T) {
		r := search(asked)
		if len(r.GetHits()) == 0 || r.GetHits()[0].GetMessage().GetId() != "nurse" || r.GetEmbedder() != builtinEmbedder || len(r.GetDegraded()) != 0 {
			t.Errorf("found %v", r)
		}
	})
	t.Run("by a context in the same order", func(t *testing.T) {
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "new", Query: asked, Explain: true})
		var want []string
		for _, hit := range search(asked).GetHits() {
			want = append(want, hit.GetMessage().GetId())
		}
		if got := e2e.IDs(&memoryv1.Section{Items: foundIn(e2e.Section(r, e2e.Recalled))}); !slices.Equal(got, want) || r.GetEmbedder() != builtinEmbedder {
			t.Errorf("recalled %v by %q, a search finds %v", got, r.GetEmbedder(), want)
		}
	})
	t.Run("and what explains them adds up: each arm's weight over ten and its rank", func(t *testing.T) {
		r := search("my bicycle chain at the clinic")
		for _, hit := range r.GetHits() {
			if !addsUp(hit.GetExplanation()) || hit.GetExplanation().GetScore() != hit.GetScore() {
				t.Errorf("%s: %v", hit.GetMessage().GetId(), hit)
			}
		}
		if got := arms(found(r, "bike")); !slices.Equal(got, []string{"lexical", "dense"}) {
			t.Errorf("arms %v", got)
		}
	})
	t.Run("not in another language than the built-in vectors know, and nothing is degraded by that", func(t *testing.T) {
		r := search("그녀는 병원에서 무슨 일을 해?")
		if len(r.GetHits()) != 0 || r.GetEmbedder() != "" || len(r.GetDegraded()) != 0 {
			t.Errorf("found %v", r)
		}
	})
	t.Run("and by what facts say that were learnt from them, in a search as in a context", func(t *testing.T) {
		h.Learn(t, "home", "I live in Lisbon.")
		h.Indexed(t, &memoryv1.BuildContextRequest{SessionId: "home", Query: "x"})
		e2e.Eventually(t, "the fact's vector", func() bool {
			r := search("Which city is her home?")
			i := slices.IndexFunc(r.GetHits(), func(h *memoryv1.MessageHit) bool { return h.GetSessionId() == "home" })
			return i >= 0 && slices.Contains(arms(r.GetHits()[i].GetExplanation()), "dense_facts")
		})
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "new", Query: "Which city is her home?", Explain: true})
		if !slices.ContainsFunc(e2e.Section(r, e2e.Recalled).GetItems(), func(i *memoryv1.ContextItem) bool {
			return i.GetSessionId() == "home" && slices.Contains(arms(i.GetExplanation()), "dense_facts")
		}) {
			t.Errorf("recalled %v", e2e.Section(r, e2e.Recalled))
		}
	})
}

// TestOneIndexRanksForSearchAndContext: what a search answers is what a context recalls, as far as both have room.
func TestOneIndexRanksForSearchAndContext(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	for i := range 30 {
		h.RecordTurn(t, "old", e2e.User(fmt.Sprint("m", i), fmt.Sprintf("Entry %d: we talked about %s and a trip to the mountains.", i, []string{"roses", "soup", "trains"}[i%3])))
	}
	h.Indexed(t, &memoryv1.BuildContextRequest{SessionId: "old", Query: "x"})
	const query = "Did we plan roses for the mountain trip?"
	r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "new", Query: query, Explain: true})
	s := e2e.Must(h.SearchMessages(h.Ctx, &memoryv1.SearchMessagesRequest{UserId: "ada", Query: query, PageSize: 30, Explain: true}))(t)
	if len(e2e.Section(r, e2e.Recalled).GetItems()) == 0 {
		t.Error("nothing is recalled")
	}
	for _, item := range e2e.Section(r, e2e.Recalled).GetItems() {
		if e := found(s, item.GetMessageId()); e == nil || e.GetRank() != item.GetExplanation().GetRank() || e.GetScore() != item.GetExplanation().GetScore() {
			t.Errorf("%s: a context says %v, a search %v", item.GetMessage().GetId(), item.GetExplanation(), e)
		}
	}
}
