package assembly

import (
	"encoding/json"

	"github.com/stratamem/strata/internal/fence"
)

// FencedValue returns what writes a JSON value on one line in the fence of state, for use within instructions.
// The value can neither open nor close a fence.
func FencedValue(id fence.ID) func(value json.RawMessage) string {
	return func(value json.RawMessage) string {
		return id.Open(fence.State) + fence.DisarmJSON(string(value)) + id.Close(fence.State)
	}
}
