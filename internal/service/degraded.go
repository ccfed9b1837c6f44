package service

import (
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/compaction"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/policy"
)

// Degradation names a tier that could not do its part, so that less never looks like nothing.
type Degradation struct {
	Tier   string // one of the tiers below
	Reason string // for people and logs, without content
}

// The tiers that a reply may lack. Those of views are named as memory.View is.
const (
	TierLexical    = "lexical"
	TierEmbedding  = "embedding"
	TierFreshness  = "freshness"
	TierVectors    = "vectors"    // facts are ranked by words alone
	TierTranscript = "transcript" // messages are found by the own index alone
	TierFacts      = "facts"      // facts are found by the own index alone
	TierRerank     = "rerank"     // messages stand in the order of those who found them
	TierNotes      = "notes"      // some notes had no room
	TierSummariser = "summariser" // a policy's fallback stands for what a model should have written
	TierModel      = "model"      // nothing is known of the model that was named
	TierBudget     = "budget"     // what is reserved leaves no room for memory
)

// Meter counts what was not as it should be. It must not block.
type Meter interface {
	// Degraded counts a reply that lacks a tier.
	Degraded(tier string)
	// ForeignHits counts hits of another scope than the asked one: a view whose filter does not hold.
	ForeignHits(view string, n int)
	// StaleHits counts hits that the primary store does not have, or not for the caller.
	StaleHits(view string, n int)
	// HistoryShrunk counts what a context policy did in a call: compact or context.
	HistoryShrunk(call string, r compaction.Result)
	// WordsChecked counts a rule that found something in a call: check or record.
	WordsChecked(call string, done memory.CheckAction)
}

// The calls that WordsChecked tells apart.
const (
	callCheck  = "check"
	callRecord = "record"
)

// The calls that HistoryShrunk tells apart.
const (
	callCompact = "compact"
	callContext = "context"
)

// modelDegradation says what a context lacks since its model is not known.
func modelDegradation(r policy.Resolved) []Degradation {
	var out []Degradation
	if r.Unknown {
		out = append(
			out,
			Degradation{
				TierModel,
				"the model is not known: its tokens are estimated and the profile's budget holds; add it under windows in the server's configuration",
			},
		)
	}
	if r.Reserved > 0 && r.Available == 0 && r.Most > 0 {
		out = append(
			out,
			Degradation{
				TierBudget,
				"as many tokens are reserved as the profile's budget has, which leaves none for memory: name a model whose window is known, or set overrides.budget_tokens",
			},
		)
	}
	return out
}

// waitingVectors says how many facts or messages have no vector yet.
func waitingVectors(tier string, n int, what string) []Degradation {
	if n == 0 {
		return nil
	}
	return []Degradation{{tier, fmt.Sprintf("%d %s wait for their vectors and are found by their words alone", n, what)}}
}

// noteDegraded counts the tiers that a reply lacks.
func noteDegraded(m Meter, all []Degradation) {
	for _, d := range all {
		m.Degraded(d.Tier)
	}
}

// distinct keeps each degradation once: two parts of a call may lack the same.
func distinct(all []Degradation) (out []Degradation) {
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
func unaskedDegradation(r policy.Resolved, d promise) []Degradation {
	if !d.compresses {
		return nil
	}
	switch c := r.History.Compress; {
	case c.Strategy == compaction.StrategyFacts:
		return []Degradation{{TierSummariser, degradedConcepts}}
	case c.Prompt != "":
		return []Degradation{
			{
				TierSummariser,
				"the policy's own prompt asks a model, and no context waits for a model: the session's summary stands in its place; Compact uses the prompt",
			},
		}
	}
	return nil
}
