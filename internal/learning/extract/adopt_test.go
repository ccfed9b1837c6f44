package extract_test

import (
	"testing"
	"time"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
)

func TestAdopt(t *testing.T) {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	at := func(hours int) time.Time { return noon.Add(time.Duration(hours) * time.Hour) }
	fact := func(id, text string, hours int) memory.Fact {
		return memory.Fact{
			ID: id, Text: text, Category: memory.CategoryPersonalInfo, Significance: 5, Revision: 3, Origin: memory.FactExtracted,
			CreateTime: at(hours), UpdateTime: at(hours), ValidFrom: at(hours),
		}
	}
	city := func(id, text string, hours int) memory.Fact {
		f := fact(id, text, hours)
		f.Attribute = "city"
		return f
	}
	protected := func(f memory.Fact) memory.Fact { f.Protected = true; return f }
	const key = memory.HashKey("k")
	forgotten := func(text string, hours int) map[memory.KeyedHash]time.Time {
		return map[memory.KeyedHash]time.Time{key.Keyed(extract.KeyDigest("", text)): at(hours)}
	}
	for name, c := range map[string]struct {
		is        []memory.Fact
		forgotten map[memory.KeyedHash]time.Time
		comes     memory.Fact
		rule      memory.OnConflict
		want      map[string]string // text by id of what changes, "" for one that is past
		purges    int
	}{
		"a new fact comes as it is, at its first revision": {comes: fact("a", "Has two cats.", 1), want: map[string]string{"a": "Has two cats."}},
		"a known one is left out":                          {is: []memory.Fact{fact("a", "Has a dog.", 0)}, comes: fact("a", "Has two cats.", 1)},
		"a known one is overwritten where the rule says so, without what it was": {
			is: []memory.Fact{fact("a", "Has a dog.", 0)}, comes: fact("a", "Has two cats.", 1), rule: memory.ConflictOverwritten,
			want: map[string]string{"a": "Has two cats."}, purges: 1,
		},
		"a known one is not overwritten once it was changed after the import came": {
			is: []memory.Fact{fact("a", "Has a dog.", 50)}, comes: fact("a", "Has two cats.", 1), rule: memory.ConflictOverwritten,
		},
		"one that was overwritten before is not again": {
			is: []memory.Fact{fact("a", "Has two cats.", 1)}, comes: fact("a", "Has two cats.", 1), rule: memory.ConflictOverwritten,
		},
		"one in the words of another is left out": {is: []memory.Fact{fact("b", "Has two cats.", 0)}, comes: fact("a", "Has two cats.", 1)},
		"one that was deleted since is left out":  {forgotten: forgotten("Has two cats.", 2), comes: fact("a", "Has two cats.", 1)},
		"one that was changed after the words were deleted comes": {
			forgotten: forgotten("Has two cats.", 2), comes: fact("a", "Has two cats.", 3), want: map[string]string{"a": "Has two cats."},
		},
		"of two values of one property the later one holds": {
			is: []memory.Fact{city("b", "Lives in Porto.", 0)}, comes: city("a", "Lives in Lisbon.", 1), want: map[string]string{"a": "Lives in Lisbon.", "b": ""},
		},
		"one that is out of date comes as a past one": {
			is: []memory.Fact{city("b", "Lives in Porto.", 2)}, comes: city("a", "Lives in Lisbon.", 1), want: map[string]string{"a": ""},
		},
		"one that speaks against what a person wrote is left out": {
			is: []memory.Fact{protected(city("b", "Lives in Porto.", 0))}, comes: city("a", "Lives in Lisbon.", 1),
		},
	} {
		t.Run(name, func(t *testing.T) {
			state := extract.State{HashKey: key, Facts: extract.NewFacts(c.is...), Forgotten: c.forgotten}
			d := extract.Adopt(state, []memory.Fact{c.comes}, c.rule, at(10), at(99))
			if len(d.Changes) != len(c.want) || len(d.DropEarlier) != c.purges {
				t.Fatalf("%d changes and %d purges: %+v", len(d.Changes), len(d.DropEarlier), d)
			}
			for _, change := range d.Changes {
				want, ok := c.want[change.Fact.ID]
				if !ok || change.Fact.IsCurrent() != (want != "") || want != "" && change.Fact.Text != want {
					t.Errorf("%s is %+v, want %q", change.Fact.ID, change.Fact, want)
				}
				was, _ := state.Facts.Get(change.Fact.ID)
				if change.Fact.Revision != was.Revision+1 {
					t.Errorf("%s has revision %d", change.Fact.ID, change.Fact.Revision)
				}
			}
			again := extract.State{HashKey: key, Facts: state.Facts.With(factsOf(d.Changes)), Forgotten: c.forgotten}
			if d := extract.Adopt(again, []memory.Fact{c.comes}, c.rule, at(10), at(99)); len(d.Changes) > 0 {
				t.Errorf("adopting again changes %+v", d.Changes)
			}
		})
	}
}

func factsOf(changes []extract.Change) (facts []memory.Fact) {
	for _, c := range changes {
		facts = append(facts, c.Fact)
	}
	return facts
}
