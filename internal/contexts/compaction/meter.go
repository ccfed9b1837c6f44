package compaction

// Meter counts what context policies do. It must not block.
type Meter interface {
	// HistoryShrunk counts what a context policy did in a call: CallCompact or CallContext.
	HistoryShrunk(call string, r Result)
}

// The calls that a Meter counts apart.
const (
	CallCompact = "compact"
	CallContext = "context"
)
