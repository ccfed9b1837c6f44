package factrank_test

import (
	"testing"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/language/text/when"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/factrank"
	"github.com/stratamem/strata/internal/recall/rank"
)

func TestFactsOfATimeAreFound(t *testing.T) {
	seoul := time.FixedZone("Asia/Seoul", 9*60*60)
	x := factrank.NewIndex()
	for id, began := range map[string]time.Time{
		"moved": time.Date(2026, 3, 8, 10, 0, 0, 0, seoul), "married": time.Date(2025, 1, 1, 10, 0, 0, 0, seoul),
	} {
		x.Put(memory.Fact{ID: id, Text: "The user " + id + ".", Significance: 5, ValidFrom: began})
	}
	ask := factrank.Query{
		Terms: text.Terms("what changed last week?"), Formula: factrank.Formula{Relevance: 1}, AsOf: time.Date(2026, 3, 12, 10, 0, 0, 0, seoul),
	}
	if hits := x.Search(ask); len(hits) != 0 {
		t.Fatalf("the words alone find %v", hits)
	}
	ask.Times = when.Find("what changed last week?", ask.AsOf)
	hits := x.Search(ask)
	if len(hits) != 1 || hits[0].Fact.ID != "moved" || hits[0].Relevance < .5 || hits[0].Retrievers[0].Name != rank.RetrieverTime {
		t.Errorf("found %+v, want what began last week", hits)
	}
}
