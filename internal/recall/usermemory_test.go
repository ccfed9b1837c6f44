package recall

import (
	"fmt"
	"testing"

	"github.com/stratamem/strata/internal/memory"
)

// TestFactsAndDocumentsShareTheirMemory: both together stay within one budget, and each user's are held apart.
func TestFactsAndDocumentsShareTheirMemory(t *testing.T) {
	const budget = 20 << 10 // at a KiB each, a quarter of what is held below
	m, err := newUserMemory(budget)
	if err != nil {
		t.Fatal(err)
	}
	ada := memory.UserRef{UserID: "ada"}
	if facts, documents := m.facts(ada), m.documents(ada); facts != m.facts(ada) || documents != m.documents(ada) {
		t.Error("what is held of a user is not found again")
	}
	for i := range 40 {
		user := memory.UserRef{UserID: fmt.Sprint(i)}
		m.weighFacts(user, m.facts(user))
		m.weighDocuments(user, m.documents(user))
	}
	m.held.CleanUp()
	if got := m.held.WeightedSize(); got > budget {
		t.Errorf("%d bytes are held, more than %d", got, budget)
	}
}
