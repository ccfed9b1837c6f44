package extract_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
)

// storedFacts are facts that were learnt a year before what is said in these tests.
func storedFacts(texts ...string) []memory.Fact {
	var out []memory.Fact
	for i, text := range texts {
		out = append(out, memory.Fact{
			ID: fmt.Sprintf("old%02d", i), Text: text, Category: memory.CategoryPersonalInfo, Revision: 1,
			ValidFrom: time.Date(2022, 5, 10, 0, 0, 0, 0, time.UTC),
		})
	}
	return out
}

// answered is what becomes of an answer about the messages of a user who has the facts: the ids that end and the reasons
// of what is refused.
func answered(facts []memory.Fact, ops []extract.Op, messages ...string) (ended []string, reasons []extract.RejectReason) {
	var lines []memory.Message
	for _, m := range messages {
		lines = append(lines, said(memory.RoleUser, m))
	}
	task := extract.NewTask(extract.Input{Session: "s", Messages: numbered(lines...), Known: facts})
	proposals, refused := extract.Verify(task, ops)
	d := extract.Decide(extract.State{Facts: extract.NewFacts(facts...)}, proposals, extract.Source{JobID: "job"})
	for _, r := range append(refused, d.Rejected...) {
		reasons = append(reasons, r.Reason)
	}
	for _, c := range d.Changes {
		if c.Cause == memory.CauseSuperseded || c.Cause == memory.CauseRetracted {
			ended = append(ended, c.Fact.ID)
		}
	}
	return ended, reasons
}

func TestAnAnswerEndsLittle(t *testing.T) {
	supersede := func(alias, text, quote string) extract.Op {
		return extract.Op{Op: "supersede", Supersedes: alias, Text: text, Category: "personal_info", Significance: 9, Message: "m1", Quote: quote}
	}
	t.Run("a statement about nobody ends what it is about and nothing else", func(t *testing.T) {
		facts := storedFacts("Is allergic to peanuts", "Lives in Busan", "Has a mother called Soyeon", "Likes tea", "Has a dog")
		var ops []extract.Op
		for i := range facts {
			ops = append(ops, supersede(fmt.Sprintf("f%d", i+1), "Nobody has an allergy", "nobody has an allergy"))
		}
		ended, reasons := answered(facts, ops, "By the way, nobody has an allergy.")
		if !slices.Equal(ended, []string{"old00"}) || len(reasons) != 4 || reasons[0] != extract.RejectUnrelated {
			t.Errorf("ended %v, refused %v", ended, reasons)
		}
	})
	t.Run("one quote ends two facts at most, however it is cut", func(t *testing.T) {
		var texts []string
		var ops []extract.Op
		quotes := []string{"Busan is over", "My time in Busan is over", "in Busan is over for good", "Busan is over"}
		for i := range 20 {
			texts = append(texts, fmt.Sprintf("Has %d friends in Busan", i+2))
			ops = append(ops, supersede(fmt.Sprintf("f%d", i+1), "Has left Busan", quotes[i%len(quotes)]))
			ops[i].Text += []string{"", " for good", " behind"}[i%3]
		}
		ended, reasons := answered(storedFacts(texts...), ops, "My time in Busan is over for good.")
		if len(ended) != extract.MaxEndings || len(reasons) != 18 || reasons[0] != extract.RejectEndings {
			t.Errorf("ended %v, refused %v", ended, reasons)
		}
	})
	t.Run("attributes end no more than aliases do", func(t *testing.T) {
		facts := storedFacts("Lives in Busan", "Works at Acme", "Is single", "Drives a Kia")
		var ops []extract.Op
		for i, name := range []string{"home_city", "employer", "marital_status", "car"} {
			facts[i].Attribute = name
			ops = append(ops, extract.Op{
				Op: "add", Attribute: name, Text: fmt.Sprintf("Has none of these, number %d", i+2), Category: "personal_info",
				Message: "m1", Quote: "nothing of 2 3 4 5 is true",
			})
		}
		ended, reasons := answered(facts, ops, "nothing of 2 3 4 5 is true")
		if len(ended) != 2 || !slices.Equal(reasons, []extract.RejectReason{extract.RejectEndings, extract.RejectEndings}) {
			t.Errorf("ended %v, refused %v", ended, reasons)
		}
	})
	t.Run("many quotes of one sentence end three facts at most", func(t *testing.T) {
		var texts []string
		var ops []extract.Op
		for i, word := range []string{"rice", "tea", "jazz", "golf", "chess"} {
			texts = append(texts, "Likes "+word)
			ops = append(ops, supersede(fmt.Sprintf("f%d", i+1), "Does not like "+word, word))
		}
		ended, _ := answered(storedFacts(texts...), ops, "no rice no tea no jazz no golf no chess")
		if len(ended) != 3 {
			t.Errorf("ended %v", ended)
		}
	})
	t.Run("what each sentence says of its own ends what it is about", func(t *testing.T) {
		facts := storedFacts("Likes jazz", "Lives in Busan", "Owns a kayak", "Studies law")
		ended, reasons := answered(facts, []extract.Op{
			supersede("f1", "Does not like jazz", "I don't like jazz any more."), supersede("f2", "Lives in Seoul", "I live in Seoul."),
			supersede("f3", "Sold the kayak", "I sold the kayak."), supersede("f4", "Dropped out of law", "I dropped out of law."),
		}, "I don't like jazz any more. I live in Seoul. I sold the kayak. I dropped out of law.")
		if len(ended) != 4 || len(reasons) != 0 {
			t.Errorf("ended %v, refused %v", ended, reasons)
		}
	})
	for text, want := range map[string]extract.RejectReason{
		"Likes tea": extract.RejectUnrelated, "Mina has nobody": extract.RejectUnrelated, "Prefers jazz to opera": "",
	} {
		t.Run("a word that stands in any fact, or names who speaks, is nothing in common: "+text, func(t *testing.T) {
			facts := storedFacts("Mina likes jazz")
			facts[0].Category = memory.CategoryOther
			line := said(memory.RoleUser, text)
			line.Name = "Mina"
			task := extract.NewTask(extract.Input{Session: "s", Messages: numbered(line, said(memory.RoleAssistant, "ok")), Known: facts})
			_, rejected := extract.Verify(task, []extract.Op{supersede("f1", text, text)})
			var got extract.RejectReason
			if len(rejected) > 0 {
				got = rejected[0].Reason
			}
			if got != want {
				t.Errorf("reason %q, want %q", got, want)
			}
		})
	}
}
