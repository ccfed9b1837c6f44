package rank_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/recall/segment"
)

// line is what a user or, where it begins with a >, an assistant said, a minute after the line before.
func lines(session string, day int, said ...string) []segment.Doc {
	var out []segment.Doc
	for i, words := range said {
		m := memory.Message{Role: memory.RoleUser, CreateTime: time.Date(2026, 5, day, 12, i, 0, 0, time.UTC)}
		if strings.HasPrefix(words, ">") {
			m.Role = memory.RoleAssistant
		}
		m.Parts = []memory.Part{memory.TextPart(strings.TrimPrefix(words, ">"))}
		out = append(out, segment.Analyze(memory.PlacedMessage{Place: memory.Place{Session: memory.SessionKey(session), Seq: int64(i + 1)}, Message: m}))
	}
	return out
}

func fillOf(x *rank.Index, query string, limit int) []string {
	var out []string
	for _, h := range x.Fill(rank.FillQuery{Found: x.Search(rank.Query{Terms: text.Terms(query)}).Hits, Limit: limit}) {
		out = append(out, fmt.Sprint(h.Fill, h.Session, h.Seq))
	}
	return out
}

func TestFill(t *testing.T) {
	docs := slices.Concat(
		lines("a", 1, "I am allergic to nuts", ">Noted.", "The train leaves at nine.", ">At nine."),
		lines("b", 2, "The museum opens on Monday", ">It opens at ten on Monday.", "Shall we go there?", ">Gladly.", "A ticket costs twelve euros", "I like paintings"),
		lines("c", 3, "Rain is expected", ">haha", "ok", "I live in Porto"),
	)
	x := rank.NewIndex()
	x.Add(docs...)
	t.Run("neighbours come first, then the user's own statements, then the rest of the best sessions, then the newest; no small talk", func(t *testing.T) {
		want := []string{
			"1b6", "1b4", // beside the ticket
			"2a1", "2c4", // health first, then the latest
			"3b3", "3b2", "3b1",
			"4c1", "4a4", "4a3",
		}
		if diff := cmp.Diff(want, fillOf(x, "ticket", 99)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("no more come than are asked for", func(t *testing.T) {
		if got := fillOf(x, "ticket", 3); !slices.Equal(got, []string{"1b6", "1b4", "2a1"}) {
			t.Error(got)
		}
	})
	t.Run("a query that finds nothing, or none, begins with what the user says of himself", func(t *testing.T) {
		for _, query := range []string{"dinner", ""} {
			if got := fillOf(x, query, 2); !slices.Equal(got, []string{"2a1", "2c4"}) {
				t.Errorf("%q: %v", query, got)
			}
		}
	})
	t.Run("what is excluded takes no place", func(t *testing.T) {
		hits := x.Fill(rank.FillQuery{Limit: 1, Exclude: func(p memory.Place) bool { return p.Session != "c" }})
		if len(hits) != 1 || hits[0].Session != "c" || hits[0].Seq != 4 {
			t.Error(hits)
		}
	})
	t.Run("it is the same by way of segments, and in whatever order messages came", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			y := rank.NewIndex()
			mixed := rapid.Permutation(docs).Draw(t, "order")
			cut := rapid.IntRange(0, len(docs)).Draw(t, "cut")
			y.Add(mixed[:cut]...)
			if err := y.AddSegment(segment.Encode(mixed[cut:])); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(fillOf(x, "ticket", 99), fillOf(y, "ticket", 99)); diff != "" {
				t.Fatal(diff)
			}
		})
	})
}
