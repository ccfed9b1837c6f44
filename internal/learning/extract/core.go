package extract

import (
	"github.com/stratamem/strata/internal/language/promptinjection"
	"github.com/stratamem/strata/internal/memory"
)

// DefaultCoreSignificance is the default profile's core-significance.
const DefaultCoreSignificance = 7

// coreLimit is the significance with which a fact is learnt. A model is asked for a number, and whoever writes a message
// can make it answer 10. So one statement makes a fact as significant as those that stand in every context only when it
// is about a name, health or family; any other one when it is said in a second message, see sayAgain.
func (t Task) coreLimit(f memory.Fact) int {
	if promptinjection.IsVital(f.Text) {
		return f.Significance
	}
	return min(f.Significance, max(1, t.CoreSignificance-1))
}
