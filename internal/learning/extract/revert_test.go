package extract_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
)

// past is facts with all that they ever were.
type past struct {
	state     extract.State
	histories map[string][]memory.FactRevision // the latest first
}

// after is what a job's proposals lead to.
func (p past) after(job string, proposals ...extract.Proposal) past {
	d := extract.Decide(p.state, proposals, extract.Source{JobID: job, Now: revertDay})
	return p.with(job, d.Changes)
}

func (p past) with(job string, changes []extract.Change) past {
	out := past{state: p.state, histories: map[string][]memory.FactRevision{}}
	for id, h := range p.histories {
		out.histories[id] = h
	}
	var changed []memory.Fact
	for _, c := range changes {
		changed = append(changed, c.Fact)
		r := memory.FactRevision{Fact: c.Fact, Cause: c.Cause, JobID: job}
		out.histories[c.Fact.ID] = append([]memory.FactRevision{r}, out.histories[c.Fact.ID]...)
	}
	out.state.Facts = p.state.Facts.With(changed)
	return out
}

// revert takes back what a job did.
func (p past) revert(job string) (past, extract.Reversal) {
	of := map[string][]memory.FactRevision{}
	for id, history := range p.histories {
		for _, r := range history {
			if r.JobID == job {
				of[id] = history
			}
		}
	}
	r := extract.Revert(p.state, job, of, revertDay)
	out := p.with("", r.Changes)
	for _, f := range r.Forget {
		out.state.Facts = out.state.Facts.With(nil, f.FactID)
		delete(out.histories, f.FactID)
	}
	return out, r
}

var revertDay = time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC)

// proposal is what was said in a minute.
func proposal(minute int, text, attribute string) extract.Proposal {
	at := revertDay.Add(time.Duration(minute-100) * time.Minute)
	return extract.Proposal{Rated: 5, Fact: memory.Fact{
		Text: text, Attribute: attribute, Category: memory.CategoryOther, Significance: 5, ValidFrom: at,
		Evidence: []memory.Evidence{{Session: "s", Seq: int64(minute), Quote: text, Time: at}},
	}}
}

// held is the texts of all facts; those that are past in brackets.
func held(p past) map[string]bool {
	out := map[string]bool{}
	for _, f := range p.state.Facts.All() {
		out[f.Text] = f.IsCurrent()
	}
	return out
}

func TestRevert(t *testing.T) {
	rome := past{}.after("a", proposal(1, "Lives in Rome", "home_city"))
	t.Run("evidence and significance that a job added are taken back", func(t *testing.T) {
		again := proposal(2, "Lives in Rome", "home_city")
		again.Rated = 9
		said := rome.after("b", again)
		got, r := said.revert("b")
		f := got.state.Facts.All()[0]
		if len(said.state.Facts.All()[0].Evidence) != 2 || len(f.Evidence) != 1 || f.Significance != 5 || f.Revision != 3 || r.Facts[0].Outcome != extract.OutcomeRestored {
			t.Errorf("got %+v of %+v", f, r.Facts)
		}
	})
	t.Run("two jobs are taken back in any order, the one that was left aside first", func(t *testing.T) {
		said := rome.after("b", proposal(2, "Lives in Rome", "home_city"))
		first, _ := said.revert("b")
		got, r := first.revert("a")
		if len(got.state.Facts.All()) != 0 || r.Facts[0].Outcome != extract.OutcomeRemoved {
			t.Errorf("left %v, outcomes %v", held(got), r.Facts)
		}
	})
	t.Run("what a later job ended in favour of what is removed holds again", func(t *testing.T) {
		got, _ := past{}.after("a", proposal(5, "Lives in Bern", "home_city")).after("b", proposal(1, "Lives in Rome", "home_city")).revert("a")
		if diff := cmp.Diff(map[string]bool{"Lives in Rome": true}, held(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("words that another fact has are not forgotten, and the deletion is noted all the same", func(t *testing.T) {
		moved := rome.after("b", proposal(2, "Lives in Bern", "home_city")).after("c", proposal(3, "Lives in Rome", "home_city"))
		_, r := moved.revert("c")
		if len(r.Forget) != 1 || len(r.Forget[0].Keys) != 1 || r.Forget[0].Keys[0] == extract.KeyDigest("", "Lives in Rome") {
			t.Errorf("forgets %+v", r.Forget)
		}
		_, r = rome.revert("a")
		if r.Forget[0].Keys[0] != extract.KeyDigest("", "Lives in Rome") {
			t.Errorf("forgets %+v", r.Forget)
		}
	})
	t.Run("a job that changed nothing leaves everything", func(t *testing.T) {
		got, r := rome.revert("unknown")
		if len(r.Facts)+len(r.Changes)+len(r.Forget) != 0 || !held(got)["Lives in Rome"] {
			t.Errorf("got %+v", r)
		}
	})
}
