package recall

import (
	"fmt"

	"github.com/stratamem/strata/internal/memory"
)

// Degradations are what the search lacked of the index: messages that it left out, or found by their words alone.
func (f Found) Degradations() []memory.Degradation {
	waiting := waitingVectors(memory.TierEmbedding, f.Waiting, "messages")
	if f.Degraded == "" {
		return waiting
	}
	return append([]memory.Degradation{{Tier: memory.TierLexical, Reason: f.Degraded}}, waiting...)
}

// waitingVectors says how many facts or messages have no vector yet.
func waitingVectors(tier string, n int, what string) []memory.Degradation {
	if n == 0 {
		return nil
	}
	return []memory.Degradation{
		{Tier: tier, Reason: fmt.Sprintf("%d %s wait for their vectors and are found by their words alone", n, what)},
	}
}

// CountDegraded counts the tiers that a reply lacks.
func CountDegraded(m Meter, all []memory.Degradation) {
	for _, d := range all {
		m.Degraded(d.Tier)
	}
}
