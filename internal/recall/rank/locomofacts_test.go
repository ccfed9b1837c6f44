package rank_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/factrank"
)

// TestFactsOfLoCoMo holds the default formula and least score to what facts they choose: those that state a question's
// evidence, and none of what other people talked about.
func TestFactsOfLoCoMo(t *testing.T) {
	dir := os.Getenv("STRATA_LOCOMO_DIR")
	if dir == "" {
		t.Skip("STRATA_LOCOMO_DIR is not set: it names the directory with 26.json, 30.json and 41.json of LoCoMo")
	}
	l := newLoader(t)
	var dialogues []dialogue
	for _, name := range []string{"26", "30", "41"} {
		dialogues = append(dialogues, l.dialogue(filepath.Join(dir, name+".json")))
	}
	for i := range dialogues {
		dialogues[i].makeFactsUsual()
	}
	for _, c := range []struct {
		name           string
		query          func(question) factrank.Query
		least, foreign float64
	}{
		{"words alone", func(q question) factrank.Query { return factrank.Query{} }, .36, .02},
		{"the cosine alone", func(q question) factrank.Query { return factrank.Query{Vector: q.vector} }, .47, .10},
		{"words and vectors", func(q question) factrank.Query { return factrank.Query{Vector: q.vector, WithWords: true} }, .57, .09},
	} {
		stated, foreign := chosenFacts(dialogues, c.query)
		t.Logf("%-17s %.3f of the facts that state evidence, %.3f facts of other dialogues", c.name, stated, foreign)
		if stated < c.least || foreign > c.foreign {
			t.Errorf("%s: the bars are %.2f and %.2f", c.name, c.least, c.foreign)
		}
	}
}

// usual is the default formula of profiles, at a time when facts are new.
var usual = factrank.Formula{Relevance: 1, Significance: .25, Recency: .1, HalfLife: 365 * 24 * time.Hour}

// makeFactsUsual gives the facts the significance of most that are learnt.
func (d *dialogue) makeFactsUsual() {
	for _, f := range d.facts.All() {
		f.Significance = 5
		d.facts.Put(f)
	}
}

// chosenFacts is the mean share of the facts that state a question's evidence, and how many of each other dialogue there
// are beside them.
func chosenFacts(dialogues []dialogue, query func(question) factrank.Query) (stated, foreign float64) {
	asked, others := 0.0, 0.0
	for i, own := range dialogues {
		for _, q := range own.questions {
			ask := query(q)
			ask.Terms, ask.Formula, ask.MinScore, ask.Limit = text.Terms(q.text), usual, .5, 20
			for j, d := range dialogues {
				hits := d.facts.Search(ask)
				if j != i {
					foreign, others = foreign+float64(len(hits)), others+1
				} else if telling := q.telling(d.facts.All()); telling > 0 {
					stated, asked = stated+float64(q.telling(factsOf(hits)))/float64(telling), asked+1
				}
			}
		}
	}
	return stated / asked, foreign / others
}

func factsOf(hits []factrank.Hit) []memory.Fact {
	var out []memory.Fact
	for _, h := range hits {
		out = append(out, h.Fact)
	}
	return out
}

// telling counts the facts learnt from the question's evidence.
func (q question) telling(facts []memory.Fact) int {
	n := 0
	for _, f := range facts {
		for _, e := range f.Evidence {
			if q.evidence[e.Place()] {
				n++
				break
			}
		}
	}
	return n
}
