package extract

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/testing/conversations"
	"github.com/stratamem/strata/internal/testing/heaptest"
)

// drawStatement draws a fact out of few words, so that many are the same, similar or of one property.
func drawStatement(t *rapid.T, id string) memory.Fact {
	draw := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(t, what) }
	words := []string{
		draw("polarity", "Likes", "Does not like", "the user likes"), draw("number", "two", "2", "three"),
		draw("kind", "old", "green", "green old"), draw("thing", "songs", "song", "cups of tea", "꽃"),
		draw("end", "from Boseong in the morning", "in the morning from Boseong", "of the band called Halo at home", ""),
	}
	at := time.Date(2024, 1, 1, 0, rapid.IntRange(0, 9).Draw(t, "minute"), 0, 0, time.UTC)
	f := memory.Fact{
		ID: id, Text: strings.Join(words, " "), Category: memory.Category(rapid.IntRange(1, 2).Draw(t, "category")),
		Subject: draw("subject", "", "Mina"), Attribute: draw("attribute", "", "", "likes"), ValidFrom: at, Revision: 1,
		Evidence: []memory.Evidence{{Session: "s", Seq: int64(at.Minute()), Time: at}},
	}
	f.Protected = rapid.IntRange(0, 9).Draw(t, "protected") == 0
	return f
}

// drawHistory draws facts that came and went one write after another, and what of them there is in the end.
func drawHistory(t *rapid.T) (Facts, map[string]memory.Fact) {
	var x Facts
	all := map[string]memory.Fact{}
	for range rapid.IntRange(0, 12).Draw(t, "writes") {
		written := map[string]memory.Fact{}
		for range rapid.IntRange(0, 12).Draw(t, "facts") {
			f := drawStatement(t, fmt.Sprintf("fact%02d", rapid.IntRange(0, 40).Draw(t, "id")))
			if rapid.IntRange(0, 3).Draw(t, "past") == 0 {
				f.ValidTo, f.SupersededBy = f.ValidFrom, fmt.Sprintf("fact%02d", rapid.IntRange(0, 40).Draw(t, "by"))
			}
			written[f.ID] = f
		}
		var changed []memory.Fact
		for id, f := range written {
			changed, all[id] = append(changed, f), f
		}
		gone := fmt.Sprintf("fact%02d", rapid.IntRange(0, 40).Draw(t, "gone"))
		delete(all, gone)
		x = x.With(changed, gone)
	}
	return x, all
}

func ids(list []*traits) []string {
	out := make([]string, 0, len(list))
	for _, t := range list {
		out = append(out, t.fact.ID)
	}
	slices.Sort(out)
	return out
}

// matching is the ids that a walk over all facts finds.
func matching(all map[string]memory.Fact, match func(*traits) bool) []string {
	out := []string{}
	for id, f := range all {
		if match(newTraits(f)) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

func TestFactsFindsWhatAWalkOverAllFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, all := drawHistory(t)
		said := newTraits(drawStatement(t, "said"))
		for name, found := range map[string]struct {
			got   []*traits
			match func(*traits) bool
		}{
			"of the property": {x.holders(said), func(o *traits) bool { return o.fact.IsCurrent() && o.sameProperty(said) }},
			"of the words":    {x.sayers(said), func(o *traits) bool { return o.likeness(said) == equal }},
			"alike":           {x.alike(said), func(o *traits) bool { return o.likeness(said) != unlike }},
		} {
			if diff := cmp.Diff(matching(all, found.match), ids(found.got)); diff != "" {
				t.Fatalf("%s %q (-walk +found):\n%s", name, said.fact.Text, diff)
			}
		}
		if n := x.Len(); n != len(all) || len(x.All()) != n {
			t.Fatalf("it counts %d facts and lists %d of %d", n, len(x.All()), len(all))
		}
		for i := range 41 {
			id := fmt.Sprintf("fact%02d", i)
			want, there := all[id]
			if f, ok := x.Get(id); ok != there || !cmp.Equal(f, want) {
				t.Fatalf("fact %s is %+v, want %+v", id, f, want)
			}
		}
	})
}

func TestADecisionIsWhatAWalkOverAllFactsDecides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, all := drawHistory(t)
		l := newPendingFacts(State{Facts: x}, Source{JobID: "job", Now: time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC)})
		for i := range rapid.IntRange(1, 6).Draw(t, "proposals") {
			p := Proposal{Index: i, Fact: drawStatement(t, ""), Supersedes: fmt.Sprintf("fact%02d", rapid.IntRange(0, 50).Draw(t, "supersedes"))}
			said := newTraits(p.Fact)
			if diff := cmp.Diff(walkForRivals(l, all, p), l.rivals(said, p.Supersedes)); diff != "" {
				t.Fatalf("rivals of proposal %d (-walk +decided):\n%s", i, diff)
			}
			want, _ := walkForSame(all, said)
			if same, _ := l.same(said); !cmp.Equal(same, want) {
				t.Fatalf("proposal %d says the same as %+v, a walk finds %+v", i, same, want)
			}
			l.propose(p)
			for id, c := range l.changed {
				all[id] = c.fact
			}
		}
	})
}

// walkForRivals is rivals by a walk over all facts.
func walkForRivals(l *pendingFacts, all map[string]memory.Fact, p Proposal) []memory.Fact {
	named, _ := l.current(p.Supersedes)
	said := newTraits(p.Fact)
	var out []memory.Fact
	for _, id := range matching(all, func(o *traits) bool {
		return o.fact.ID == named.ID || o.fact.IsCurrent() && o.sameProperty(said)
	}) {
		out = append(out, all[id])
	}
	return out
}

// walkForSame is same by a walk over all facts.
func walkForSame(all map[string]memory.Fact, said *traits) (best memory.Fact, most int) {
	for _, id := range matching(all, func(o *traits) bool { return o.likeness(said) != unlike }) {
		f := all[id]
		rank := int(newTraits(f).likeness(said))
		if f.IsCurrent() {
			rank += int(equal)
		}
		if hasEvidence(f.Evidence, said.fact.Evidence) {
			rank += 2 * int(equal)
		}
		if rank > most || rank == most && later(f, best) {
			best, most = f, rank
		}
	}
	return best, most
}

func TestFactsNeverChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, all := drawHistory(t)
		before := x.All()
		for i := range 3 {
			x.With([]memory.Fact{drawStatement(t, fmt.Sprintf("fact%02d", i))}, fmt.Sprintf("fact%02d", i+10))
		}
		if diff := cmp.Diff(before, x.All()); diff != "" || len(before) != len(all) {
			t.Fatalf("they changed (-before +after):\n%s", diff)
		}
	})
}

func TestALayerIsAtLeastTwiceAsLargeAsTheNext(t *testing.T) {
	var x Facts
	for i := range 1000 {
		x = x.With([]memory.Fact{{ID: fmt.Sprint(i % 700), Text: fmt.Sprint("Likes song ", i)}}, fmt.Sprint(i/2))
		for k := range x.layers[1:] {
			if above, below := len(x.layers[k+1].byID), len(x.layers[k].byID); below < 2*above {
				t.Fatalf("after %d writes a layer of %d lies under one of %d", i+1, below, above)
			}
		}
	}
}

// TestBytesAreThoseOfTheHeap: a cache holds as many users' facts as have their bytes. Users with few weigh most: there are the most of them.
func TestBytesAreThoseOfTheHeap(t *testing.T) {
	for _, each := range []int{1, 10, 1000} {
		t.Run(fmt.Sprintf("%d facts", each), func(t *testing.T) {
			heaptest.Compare(t, max(4, 4000/each), func(user int) func() Facts {
				var given []memory.Fact
				for i, query := range (conversations.Shape{Seed: uint64(user)}).Queries(each) {
					id := fmt.Sprintf("%08d-%013d", user, i)
					given = append(given, memory.Fact{ID: id, Text: "Asks " + query, ValidFrom: time.Unix(int64(i), 0)})
				}
				return func() Facts { return NewFacts(given...) }
			})
		})
	}
}
