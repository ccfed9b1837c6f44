package service

// Degradation names a tier that could not do its part, so that less never looks like nothing.
type Degradation struct {
	Tier   string // one of the tiers below
	Reason string // for people and logs, without content
}

// The tiers that a reply may lack.
const (
	TierLexical   = "lexical"
	TierEmbedding = "embedding"
	TierFreshness = "freshness"
)

// Meter counts degraded replies. It must not block.
type Meter interface {
	Degraded(tier string)
}
