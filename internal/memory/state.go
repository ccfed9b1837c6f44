package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MaxStateBytes is the most that a session's state may take as JSON.
const MaxStateBytes = 64 << 10

// MergeState merges a patch into a session's state key by key, not deeply; null deletes a key. Both are JSON objects
// or nil. The result is compact with sorted keys, nil when empty. A state that outgrows MaxStateBytes is refused.
func MergeState(state, patch json.RawMessage) (json.RawMessage, error) {
	merged := map[string]json.RawMessage{}
	for _, src := range []json.RawMessage{state, patch} {
		if len(src) == 0 {
			continue
		}
		if err := json.Unmarshal(src, &merged); err != nil {
			return nil, fmt.Errorf("merge session state: %w", err)
		}
	}
	for k, v := range merged {
		if bytes.Equal(v, []byte("null")) {
			delete(merged, k)
		}
	}
	if len(merged) == 0 {
		return nil, nil
	}
	out, err := EncodeJSON(merged)
	if err != nil {
		return nil, fmt.Errorf("encode session state: %w", err)
	}
	if len(out) > MaxStateBytes {
		return nil, InvalidField("state_patch", "the session's state would take %d bytes as JSON; the limit is %d: delete keys with null", len(out), MaxStateBytes)
	}
	return out, nil
}

// EncodeJSON encodes v compactly with sorted keys, and leaves <, > and & as they are: the JSON is counted and shown to
// models, not to browsers.
func EncodeJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
