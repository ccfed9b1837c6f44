package indexing_test

import (
	"testing"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/segment"
	"github.com/stratamem/strata/internal/store"
)

func TestSegmentsOfAnotherAnalyzer(t *testing.T) {
	t.Run("are made again, and then hold the terms of this one", func(t *testing.T) {
		s := open(t)
		say(t, s, memory.RoleUser, "a", "고양이를 키워요")
		turns, err := s.PendingTurns(t.Context(), store.PendingQuery{User: ada, MaxMessages: 10})
		if err != nil {
			t.Fatal(err)
		}
		doc := segment.Analyze(memory.PlacedMessage{Place: memory.Place{Session: turns[0].Session, Seq: turns[0].Messages[0].Seq}, Message: turns[0].Messages[0]})
		doc.Passages[0].Terms = []segment.TermCount{{Term: "이를", Count: 1}}
		_, err = s.PutSegment(t.Context(), store.SegmentWrite{
			User: ada, Scope: turns[0].Scope, Analyzer: "strata-1", Messages: 1, Data: segment.Encode([]segment.Doc{doc}), Turns: []store.TurnRef{turns[0].TurnRef},
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := found(t, s, "고양이"); n != 0 {
			t.Fatalf("the old segment has %d", n)
		}
		if _, err := s.RetireSegments(t.Context(), store.RetireQuery{Analyzer: text.AnalyzerID}); err != nil {
			t.Fatal(err)
		}
		if _, err := newIndexer(s).Index(t.Context(), ada); err != nil {
			t.Fatal(err)
		}
		if n := found(t, s, "고양이"); n != 1 {
			t.Errorf("found %d", n)
		}
	})
}
