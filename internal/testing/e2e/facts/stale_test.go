package facts_test

import (
	"slices"
	"strings"
	"testing"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// TestWhatIsTakenBackIsNotCurrent says things to a server without a model, each in a session of its own where nothing else is
// said, and lists what holds.
func TestWhatIsTakenBackIsNotCurrent(t *testing.T) {
	t.Parallel()
	for _, pair := range []struct {
		said, then string
		session    bool // both in one session
		holds      string
		not        string
	}{
		{said: "I am vegan", then: "I'm not vegan anymore", not: "vegan"},
		{said: "I am allergic to nuts", then: "Turns out I'm not allergic to nuts after all", not: "nuts"},
		{said: "I live in Porto", then: "I moved to Lisbon last week, by the way.", holds: "Lisbon", not: "Porto"},
		{said: "I live in London", then: "Sorry, I meant Lyon", session: true, holds: "Lyon", not: "London"},
		{said: "I'm married", then: "I got divorced", holds: "divorced", not: "married"},
		{said: "I have two kids", then: "I have three kids now", holds: "three", not: "two"},
		{said: "I am 34 years old", then: "I turned 35 yesterday", holds: "35", not: "34"},
		{said: "저는 커피를 좋아해요", then: "이제 커피 안 좋아해요", holds: "좋아하지 않는다", not: "커피를 좋아한다"},
		{said: "저는 네이버에서 일해요", then: "카카오로 이직했어요", holds: "카카오", not: "네이버"},
		{said: "We chose PostgreSQL for the backend", then: "We switched to MySQL", holds: "MySQL", not: "PostgreSQL"},
		{said: "데이터베이스로 PostgreSQL을 선택했어요", then: "MySQL로 바꿨어요", holds: "MySQL", not: "PostgreSQL"},
		{said: "My favorite color is green", then: "Actually my favourite colour is blue", holds: "blue", not: "green"},
		{said: "My manager's name is Karen", then: "No, it's Carol", session: true, holds: "Carol", not: "Karen"},
		{said: "I live in Paris", then: "I don't live in Paris anymore", not: "Paris"},
		{said: "I'm learning Rust", then: "I gave up learning Rust", not: "Rust"},
		{said: "I am vegan", then: "I'm not vegan enough for that party", holds: "vegan"},
		{said: "I am vegan", then: "my sister isn't vegan anymore", holds: "Is vegan"},
		{said: "I live in Porto", then: "I used to think I'd move to Lisbon", holds: "Porto"},
	} {
		t.Run(pair.said+" / "+pair.then, func(t *testing.T) {
			h := e2e.Start(t)
			holding := func() string { return strings.Join(e2e.Texts(h.ListFacts(t, false)), "\n") }
			first, second := "first", "second"
			if pair.session {
				second = first
			}
			h.Learn(t, first, pair.said)
			if pair.not != "" && !strings.Contains(holding(), pair.not) {
				t.Fatalf("%q was not learnt: %q", pair.not, holding())
			}
			h.Learn(t, second, pair.then)
			if got := holding(); !strings.Contains(got, pair.holds) || pair.not != "" && strings.Contains(got, pair.not) {
				t.Errorf("%q holds, want %q and not %q", got, pair.holds, pair.not)
			}
			if reasons := quarantinedReasons(t, h); len(reasons) != 0 {
				t.Errorf("refused as %q", reasons)
			}
		})
	}
}

func TestARetractedFact(t *testing.T) {
	t.Parallel()
	const denied = "By the way, I'm not vegan anymore."
	retracted := func(t *testing.T) (*e2e.Server, *memoryv1.Fact) {
		h := e2e.Start(t)
		h.Learn(t, "known", "I am vegan.")
		h.Learn(t, "later", denied)
		if now := h.ListFacts(t, false); len(now) != 0 {
			t.Fatalf("still holds: %v", now)
		}
		return h, e2e.About(h.ListFacts(t, true), "vegan")
	}
	t.Run("its history says who took it back and by which words", func(t *testing.T) {
		h, f := retracted(t)
		revisions := e2e.Must(h.Facts().ListFactRevisions(h.Ctx, &memoryv1.ListFactRevisionsRequest{UserId: "ada", FactId: f.GetFactId()}))(t).GetRevisions()
		last := revisions[0]
		words := last.GetFact().GetEvidence()
		if last.GetCause() != memoryv1.FactCause_FACT_CAUSE_RETRACTED || last.GetJobId() != extraction(t, h, "later") || last.GetFact().GetValidTo() == nil ||
			len(words) != 2 || words[0].GetEnds() || !words[1].GetEnds() || words[1].GetSessionId() != "later" || !strings.Contains(denied, words[1].GetQuote()) {
			t.Errorf("last revision %v", last)
		}
	})
	t.Run("a person restores it", func(t *testing.T) {
		h, f := retracted(t)
		r := e2e.Must(h.Facts().RestoreFact(h.Ctx, &memoryv1.RestoreFactRequest{UserId: "ada", FactId: f.GetFactId()}))(t).GetFact()
		if r.GetValidTo() != nil || len(r.GetEvidence()) != 1 || !slices.Equal(e2e.Texts(h.ListFacts(t, false)), []string{"Is vegan."}) {
			t.Errorf("restored %v", r)
		}
		h.Learn(t, "again", "I'm not vegan anymore.")
		if !slices.Equal(e2e.Texts(h.ListFacts(t, false)), []string{"Is vegan."}) {
			t.Error("what a person restored was taken back")
		}
	})
	t.Run("it holds again when the job is reverted", func(t *testing.T) {
		h, f := retracted(t)
		revert(t, h, extraction(t, h, "later"))
		got := h.ListFacts(t, false)
		if len(got) != 1 || got[0].GetFactId() != f.GetFactId() || len(got[0].GetEvidence()) != 1 {
			t.Errorf("holds %v", got)
		}
	})
	t.Run("it is learnt again when it is said again", func(t *testing.T) {
		h, _ := retracted(t)
		h.Learn(t, "again", "I'm vegan.")
		if got := e2e.Texts(h.ListFacts(t, false)); !slices.Equal(got, []string{"Is vegan."}) {
			t.Errorf("holds %q", got)
		}
	})
	t.Run("a model takes back what the user denies, and nothing else", func(t *testing.T) {
		m := &e2e.Moody{}
		h := e2e.OnModel(t, m, e2e.NoChange)
		h.Learn(t, "known", "I live in Rome and I like tea.")
		m.Turn(func(a e2e.Asked) llmtest.Reply {
			tea, rome := a.Replace("Likes tea", "", "I don't like tea anymore"), a.Replace("Lives in Rome", "", "I don't like tea anymore")
			tea.Op, rome.Op = "retract", "retract"
			return e2e.Say([]extract.Op{tea, rome})
		})
		h.Learn(t, "later", "I don't like tea anymore. Rome is lovely, and so is Roman tea.")
		m.Turn(nil)
		if got := e2e.Texts(h.ListFacts(t, false)); !slices.Equal(got, []string{"Lives in Rome"}) {
			t.Errorf("holds %q", got)
		}
		if reasons := quarantinedReasons(t, h); !slices.Equal(reasons, []string{"no_ending"}) {
			t.Errorf("refused as %q", reasons)
		}
	})
}

func TestADeletedFactSaidAnew(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	h.Learn(t, "known", "I am vegan.")
	f := e2e.About(h.ListFacts(t, false), "vegan")
	e2e.Must(h.Facts().DeleteFact(h.Ctx, &memoryv1.DeleteFactRequest{UserId: "ada", FactId: f.GetFactId()}))(t)
	t.Run("an old message that comes late does not bring it back", func(t *testing.T) {
		old := e2e.User("", "I am vegan.")
		old.CreateTime = f.GetCreateTime()
		h.RecordTurn(t, "late", old, e2e.Assistant("", "I see."))
		h.CatchUp(t, "late")
		if got := e2e.Texts(h.ListFacts(t, true)); len(got) != 0 {
			t.Errorf("known is %q", got)
		}
	})
	t.Run("a new message does", func(t *testing.T) {
		h.Learn(t, "anew", "I am vegan.")
		if got := e2e.Texts(h.ListFacts(t, false)); !slices.Equal(got, []string{"Is vegan."}) {
			t.Errorf("known is %q", got)
		}
	})
}

func TestAFactIsFoundByItsProperty(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	h.Learn(t, "s", "I am vegan. My sister is nice.")
	found := e2e.Must(h.Facts().SearchFacts(h.Ctx, &memoryv1.SearchFactsRequest{UserId: "ada", Query: "diet"}))(t).GetHits()
	if len(found) == 0 || found[0].GetFact().GetText() != "Is vegan." {
		t.Errorf("found %v", found)
	}
}

func TestAFactStatedTwiceIsOne(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	first := h.States(t, "Likes tea", "")
	req := &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{UserId: "ada", Text: "likes tea.", Significance: 8}}
	again := e2e.Must(h.Facts().CreateFact(h.Ctx, req))(t).GetFact()
	all := h.ListFacts(t, true)
	if again.GetFactId() != first.GetFactId() || again.GetSignificance() != 8 || again.GetText() != "Likes tea" || len(all) != 1 {
		t.Errorf("first %v, again %v, all %v", first, again, all)
	}
}
