package assembly

import (
	"encoding/json"

	"github.com/stratamem/strata/internal/language/prompttags"
)

// FencedValue returns what writes a JSON value on one line in the fence of state, for use within instructions.
// The value can neither open nor close a fence.
func FencedValue(id prompttags.ID) func(value json.RawMessage) string {
	return func(value json.RawMessage) string {
		return id.Open(prompttags.State) + prompttags.DisarmJSON(string(value)) + id.Close(prompttags.State)
	}
}
