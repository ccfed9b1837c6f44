package rank_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/recall/segment"
)

func TestStandingWishes(t *testing.T) {
	const first, second = "Always name the director when I ask about films.", "From now on, keep it short."
	docs := slices.Concat(
		lines("a", 1, first, ">Noted.", "We watched one about bees", ">Nice, bees are fine."),
		lines("b", 2, second, ">Sure.", "Bees again in the garden", ">Always feed the bees when I ask about them."),
	)
	x := rank.NewIndex()
	x.Add(docs...)
	find := func(x *rank.Index, q rank.Query) []string {
		var out []string
		for _, h := range rank.Fuse(x.Search(q).Hits, rank.StandingRetriever(x.Standing(q))) {
			out = append(out, fmt.Sprint(h.Session, h.Seq))
		}
		return out
	}
	ask := rank.Query{Terms: text.Terms("Which bees were they?")}
	t.Run("what the user asks for in every answer is found without a shared word, the latest first; what an assistant says so is not", func(t *testing.T) {
		got := find(x, ask)
		if a, b := slices.Index(got, "a1"), slices.Index(got, "b1"); b < 0 || a < b || slices.Index(got, "b4") < 0 || len(got) != 6 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("the one with the query's words comes before the latest", func(t *testing.T) {
		if got := find(x, rank.Query{Terms: text.Terms("a director with bees")}); slices.Index(got, "a1") > slices.Index(got, "b1") {
			t.Errorf("got %v", got)
		}
	})
	t.Run("none stands beside nothing", func(t *testing.T) {
		if got := find(x, rank.Query{Terms: text.Terms("xyzzy")}); len(got) > 0 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("filters hold for them", func(t *testing.T) {
		q := ask
		q.Sessions = map[memory.SessionKey]bool{"b": true}
		if got := find(x, q); slices.Contains(got, "a1") || !slices.Contains(got, "b1") {
			t.Errorf("of a session: %v", got)
		}
		q = ask
		q.Exclude = func(p memory.Place) bool { return p.Session == "b" && p.Seq == 1 }
		if got := find(x, q); slices.Contains(got, "b1") || !slices.Contains(got, "a1") {
			t.Errorf("without a hidden one: %v", got)
		}
	})
	t.Run("a segment keeps them", func(t *testing.T) {
		y := rank.NewIndex()
		if err := y.AddSegment(segment.Encode(docs)); err != nil {
			t.Fatal(err)
		}
		if got, want := find(y, ask), find(x, ask); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
	t.Run("between people nobody asks an assistant", func(t *testing.T) {
		var people []segment.Doc
		for _, d := range lines("a", 1, first, "We watched one about bees") {
			d.Name = "Ada"
			people = append(people, d)
		}
		z := rank.NewIndex()
		z.Add(people...)
		if got := z.Standing(ask); len(got) > 0 {
			t.Errorf("got %v", got)
		}
	})
}
