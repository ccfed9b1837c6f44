package extract_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
)

// erase erases the messages of session s that were said in the minutes.
func (p past) erase(minutes ...int64) (past, extract.Erasing) {
	gone := func(at memory.Place) bool { return at.Session == "s" && slices.Contains(minutes, at.Seq) }
	e := extract.Erase(p.state, gone, p.histories, revertDay)
	out := p.with("", e.Changes)
	for _, f := range e.Forget {
		out.state.Facts = out.state.Facts.With(nil, f.FactID)
		delete(out.histories, f.FactID)
	}
	for _, id := range e.DropEarlier {
		out.histories[id] = out.histories[id][:1]
	}
	return out, e
}

// quoted is a proposal that is taken from other words than its text.
func quoted(minute int, text, attribute, quote string) extract.Proposal {
	p := proposal(minute, text, attribute)
	p.Fact.Evidence[0].Quote = quote
	return p
}

// edited is the fact of the words as a person changed it.
func (p past) edited(text string, change func(*memory.Fact)) past {
	for _, f := range p.state.Facts.All() {
		if f.Text == text {
			change(&f)
			f.UpdateTime = revertDay
			return p.with("", extract.Insert(p.state, f).Changes)
		}
	}
	panic("no fact says " + text)
}

func TestErase(t *testing.T) {
	check := func(t *testing.T, got past, want map[string]bool) {
		t.Helper()
		if diff := cmp.Diff(want, held(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for id, history := range got.histories {
			for _, v := range history {
				if slices.ContainsFunc(v.Evidence, func(e memory.Evidence) bool { return e.Seq == 1 }) {
					t.Errorf("a revision of %s still quotes the erased message", id)
				}
			}
		}
		if _, again := got.erase(1); !again.IsEmpty() || len(again.DropEarlier) > 0 {
			t.Errorf("erased again it does %+v", again)
		}
	}
	rome := past{}.after("a", proposal(1, "Lives in Rome", "home_city"))
	t.Run("a fact that only erased messages state goes, and other messages may teach it again", func(t *testing.T) {
		got, e := rome.erase(1)
		check(t, got, map[string]bool{})
		if len(e.Forget) != 1 || len(e.Forget[0].Keys) != 0 {
			t.Errorf("forgets %+v", e.Forget)
		}
	})
	t.Run("one that another message states as well loses that evidence, with its earlier revisions", func(t *testing.T) {
		got, e := rome.after("b", proposal(2, "Lives in Rome", "home_city")).erase(1)
		check(t, got, map[string]bool{"Lives in Rome": true})
		if len(e.Changes) != 1 || e.Changes[0].Cause != memory.CauseErased || e.Changes[0].Fact.Revision != 3 || !slices.Equal(e.DropEarlier, []string{e.Changes[0].Fact.ID}) {
			t.Errorf("decided %+v", e)
		}
	})
	t.Run("one of which another message states a part goes", func(t *testing.T) {
		likes := past{}.after("a", quoted(1, "Prefers green tea from Uji in the morning at work", "", "I prefer green tea from Uji in the morning at work"))
		got, _ := likes.after("b", quoted(2, "Prefers green tea from Uji in the morning at work", "", "yes, green tea")).erase(1)
		check(t, got, map[string]bool{})
	})
	t.Run("the words of a person stay, without the evidence and what the fact said before", func(t *testing.T) {
		got, e := rome.edited("Lives in Rome", func(f *memory.Fact) { f.Text = "Lives in Ostia" }).erase(1)
		check(t, got, map[string]bool{"Lives in Ostia": true})
		if len(e.DropEarlier) != 1 || len(e.Changes[0].Fact.Evidence) != 0 {
			t.Errorf("decided %+v", e)
		}
	})
	t.Run("learnt words go, though a person pinned the fact", func(t *testing.T) {
		got, _ := rome.edited("Lives in Rome", func(f *memory.Fact) { f.Pinned = true }).erase(1)
		check(t, got, map[string]bool{})
	})
	t.Run("what it took the place of holds again", func(t *testing.T) {
		got, _ := past{}.after("a", proposal(0, "Lives in Bern", "home_city")).after("b", proposal(1, "Lives in Rome", "home_city")).erase(1)
		check(t, got, map[string]bool{"Lives in Bern": true})
	})
	t.Run("what it took the place of is past where something else took its own", func(t *testing.T) {
		said := past{}.after("a", proposal(0, "Lives in Bern", "home_city")).after("b", proposal(1, "Lives in Rome", "home_city"))
		got, _ := said.after("c", proposal(2, "Lives in Oslo", "home_city")).erase(1)
		check(t, got, map[string]bool{"Lives in Bern": false, "Lives in Oslo": true})
		for _, f := range got.state.Facts.All() {
			if next, ok := got.state.Facts.Get(f.SupersededBy); f.Text == "Lives in Bern" && (!ok || next.Text != "Lives in Oslo") {
				t.Errorf("%q is superseded by %q", f.Text, next.Text)
			}
		}
	})
	t.Run("what an erased message took back holds again", func(t *testing.T) {
		said := past{}.after("a", proposal(0, "Lives in Bern", "home_city"))
		for _, f := range said.state.Facts.All() {
			f.Evidence = append(f.Evidence, memory.Evidence{Session: "s", Seq: 1, Quote: "I do not live in Bern any more", Ends: true})
			f.ValidTo, f.Revision = revertDay, f.Revision+1
			said = said.with("b", []extract.Change{{Fact: f, Cause: memory.CauseRetracted}})
		}
		got, _ := said.erase(1)
		check(t, got, map[string]bool{"Lives in Bern": true})
	})
	t.Run("a quote that only an earlier revision has is purged", func(t *testing.T) {
		said := rome.after("b", proposal(2, "Lives in Rome", "home_city"))
		for _, f := range said.state.Facts.All() {
			f.Evidence, f.Revision = f.Evidence[1:], f.Revision+1
			said = said.with("", []extract.Change{{Fact: f, Cause: memory.CauseReverted}})
		}
		got, e := said.erase(1)
		check(t, got, map[string]bool{"Lives in Rome": true})
		if len(e.DropEarlier) != 1 {
			t.Errorf("decided %+v", e)
		}
	})
	t.Run("facts of other messages and of a person alone stay as they are", func(t *testing.T) {
		said := past{}.after("a", proposal(2, "Lives in Rome", "home_city"))
		said = said.with("", extract.Insert(said.state, memory.Fact{ID: "own", Text: "Is vegan", Category: memory.CategoryOther, UpdateTime: revertDay}).Changes)
		if got, e := said.erase(1); !e.IsEmpty() || len(held(got)) != 2 {
			t.Errorf("decided %+v, left %v", e, held(got))
		}
	})
}
