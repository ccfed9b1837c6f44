package extract_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
)

// job is what one extraction proposes.
type job struct {
	id        string
	proposals []extract.Proposal
}

var (
	cities = []string{"Busan", "Seoul", "Jeonju", "Daegu"}
	drinks = []string{"coffee", "tea", "milk"}
)

// drawFact draws a text with the attribute that always goes with it.
func drawFact(t *rapid.T) memory.Fact {
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		return memory.Fact{Text: "Lives in " + rapid.SampledFrom(cities).Draw(t, "city") + ".", Attribute: "home_city", Category: memory.CategoryPersonalInfo}
	case 1:
		drink := rapid.SampledFrom(drinks).Draw(t, "drink")
		return memory.Fact{Text: rapid.SampledFrom([]string{"Likes ", "Does not like "}).Draw(t, "polarity") + drink + ".", Attribute: "likes_" + drink, Category: memory.CategoryPreference}
	case 2:
		return memory.Fact{Text: "Owns " + rapid.SampledFrom([]string{"a kayak", "a piano", "two cats"}).Draw(t, "thing") + ".", Category: memory.CategoryOther}
	}
	return memory.Fact{Text: "Drinks " + rapid.SampledFrom(drinks).Draw(t, "drink") + " daily.", Category: memory.CategoryPreference}
}

// drawJobs draws jobs whose statements were all made at different times.
func drawJobs(t *rapid.T, n int) []job {
	times := rapid.Permutation(intsTo(n*4)).Draw(t, "times")
	jobs := make([]job, n)
	for i := range jobs {
		jobs[i].id = fmt.Sprintf("job%d", i)
		for k := range rapid.IntRange(1, 4).Draw(t, "proposals") {
			f := drawFact(t)
			f.Subject = rapid.SampledFrom([]string{"", "Mina"}).Draw(t, "subject")
			at := time.Date(2024, 1, 1, 0, times[i*4+k], 0, 0, time.UTC)
			f.ValidFrom, f.Significance, f.Confidence = at, 5, 0.9
			f.Evidence = []memory.Evidence{{Session: "s", Seq: int64(times[i*4+k]), Quote: f.Text, Time: at}}
			p := extract.Proposal{Index: k, Fact: f}
			if f.Subject == "" && f.Attribute == "" && rapid.Bool().Draw(t, "supersedes") {
				p.Supersedes = known.ID
			}
			jobs[i].proposals = append(jobs[i].proposals, p)
		}
	}
	return jobs
}

// known is a fact that a model may supersede, learnt before all jobs.
var known = memory.Fact{ID: "known", Text: "Prefers mornings.", Revision: 1, ValidFrom: time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)}

func before() extract.State { return extract.State{Facts: extract.NewFacts(known)} }

func intsTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i + 1
	}
	return out
}

// applied is the state after the jobs' decisions.
func applied(s extract.State, jobs ...job) extract.State {
	for _, sl := range jobs {
		s = after(s, extract.Decide(s, sl.proposals, extract.Source{JobID: sl.id, Now: time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC)}))
	}
	return s
}

// after is the state with a decision's changes.
func after(s extract.State, d extract.Decision) extract.State {
	var changed []memory.Fact
	for _, c := range d.Changes {
		changed = append(changed, c.Fact)
	}
	s.Facts = s.Facts.With(changed)
	return s
}

// holding is the subjects and texts of the facts that hold, sorted.
func holding(s extract.State) []string {
	var out []string
	for _, f := range s.Facts.All() {
		if f.IsCurrent() {
			out = append(out, f.Subject+": "+f.Text)
		}
	}
	slices.Sort(out)
	return out
}

func TestJobsMayBeAppliedInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawJobs(t, 3)
		shuffled := rapid.Permutation(jobs).Draw(t, "order")
		one, other := applied(before(), jobs...), applied(before(), shuffled...)
		if diff := cmp.Diff(holding(one), holding(other)); diff != "" {
			t.Fatalf("another order leads to other facts (-one +other):\n%s", diff)
		}
	})
}

func TestOfOnePropertyOneValueHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := applied(before(), drawJobs(t, 3)...)
		seen := map[string]bool{}
		for _, f := range s.Facts.All() {
			if !f.IsCurrent() || f.Attribute == "" {
				continue
			}
			if key := f.Subject + "/" + f.Attribute; seen[key] {
				t.Fatalf("two values of %s hold", key)
			} else {
				seen[key] = true
			}
		}
		for _, text := range holding(s) {
			if n := len(slices.DeleteFunc(holding(s), func(o string) bool { return o != text })); n != 1 {
				t.Fatalf("%q holds %d times", text, n)
			}
		}
	})
}

func TestDecidingAgainChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawJobs(t, 3)
		s := applied(before(), jobs...)
		again := rapid.SampledFrom(jobs).Draw(t, "again")
		if d := extract.Decide(s, again.proposals, extract.Source{JobID: again.id}); len(d.Changes) > 0 {
			t.Fatalf("applied again, job %s changes %v", again.id, d.Changes)
		}
	})
}

func TestWhatAPersonWroteStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFact(t)
		f.ID, f.UpdateTime = "by-hand", time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
		s := after(extract.State{}, extract.Insert(extract.State{}, f))
		want := s.Facts.All()[0]
		s = applied(s, drawJobs(t, 3)...)
		is, _ := s.Facts.Get("by-hand")
		if diff := cmp.Diff(want, is); diff != "" {
			t.Fatalf("extraction changed it (-was +is):\n%s", diff)
		}
	})
}

func TestARevisionGrowsByOneWithEveryDecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s extract.State
		for _, sl := range drawJobs(t, 3) {
			before := map[string]int64{}
			for _, f := range s.Facts.All() {
				before[f.ID] = f.Revision
			}
			s = applied(s, sl)
			for _, f := range s.Facts.All() {
				if was := before[f.ID]; f.Revision != was && f.Revision != was+1 {
					t.Fatalf("revision %d follows %d", f.Revision, was)
				}
			}
		}
	})
}
