package memory

// Degradation names a tier that could not do its part, so that less never looks like nothing.
type Degradation struct {
	Tier   string // one of the tiers below
	Reason string // for people and logs, without content
}

// The tiers that a reply may lack. Those of views are named as View is.
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
