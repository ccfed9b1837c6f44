package service

import (
	"slices"

	"github.com/stratamem/strata/internal/compaction"
	"github.com/stratamem/strata/internal/contextprofile"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
)

// Meter counts what was not as it should be, and what a context policy did. It must not block.
type Meter interface {
	recall.Meter
	compaction.Meter
}

// distinct keeps each degradation once: two parts of a call may lack the same.
func distinct(all []memory.Degradation) (out []memory.Degradation) {
	for _, d := range all {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// degradedConcepts is why a context has no sections of a profile's concepts.
const degradedConcepts = "the profile's history strategy is facts, which asks a model about each of its concepts, and BuildContext waits for no model: " +
	"the session's summary stands in place of the concepts' sections; call Compact with this profile and the session's messages to have them"

// unaskedDegradation says where a context has an ordinary summary in place of what its policy's strategy would have a model
// write: no context waits for a model.
func unaskedDegradation(r contextprofile.Resolved, d promise) []memory.Degradation {
	if !d.compresses {
		return nil
	}
	switch c := r.History.Compress; {
	case c.Strategy == compaction.StrategyFacts:
		return []memory.Degradation{{Tier: memory.TierSummariser, Reason: degradedConcepts}}
	case c.Prompt != "":
		return []memory.Degradation{{
			Tier:   memory.TierSummariser,
			Reason: "the policy's own prompt asks a model, and no context waits for a model: the session's summary stands in its place; Compact uses the prompt",
		}}
	}
	return nil
}
