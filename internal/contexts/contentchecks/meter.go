package contentchecks

import "github.com/stratamem/strata/internal/memory"

// Meter counts what checks find. It must not block.
type Meter interface {
	// WordsChecked counts a rule that found something in a call: CallCheck or CallRecord.
	WordsChecked(call string, done memory.CheckAction)
}

// The calls that a Meter counts apart.
const (
	CallCheck  = "check"
	CallRecord = "record"
)

// Count counts what checks found in a call.
func Count(m Meter, call string, found []Finding) {
	for _, f := range found {
		m.WordsChecked(call, f.Action)
	}
}
