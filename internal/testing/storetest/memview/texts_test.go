package memview_test

import (
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/storetest"
	"github.com/stratamem/strata/internal/testing/storetest/memview"
)

func TestTextsConform(t *testing.T) {
	storetest.RunTextView(t, func(*testing.T) store.TextView { return memview.NewTexts() }, storetest.TextViewOptions{})
}

func TestALyingTextViewReturnsEverybodysRows(t *testing.T) {
	v := memview.NewTexts()
	space := store.TextSpace{View: memory.ViewFacts, Build: 1}
	row := store.TextRow{Scope: "bob", FactID: "f", Revision: 1, Terms: []string{"secret"}}
	if err := v.Prepare(t.Context(), space); err != nil {
		t.Fatal(err)
	}
	if err := v.Put(t.Context(), space, []store.TextRow{row}); err != nil {
		t.Fatal(err)
	}
	lying := memview.Lying(v)
	hits, err := lying.Search(t.Context(), store.TextSearch{Space: space, Scope: "alice", Terms: row.Terms, Limit: 9})
	if err != nil || len(hits) != 1 || hits[0].Scope != "bob" {
		t.Errorf("Search returned %v, %v", hits, err)
	}
	rows, err := lying.Rows(t.Context(), store.RowQuery[store.TextSpace]{Space: space, Scope: "alice", Limit: 9})
	if err != nil || len(rows) != 1 || rows[0].Scope != "bob" {
		t.Errorf("Rows returned %v, %v", rows, err)
	}
}
