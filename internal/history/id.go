package history

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/stratamem/strata/internal/memory"
)

// EnsureIDs answers the messages with an id each. A missing one is derived from role, name and parts, and from how many
// messages without an id before it say the same: so it is the same on every call, also when messages follow, and two
// that say the same differ. The messages given are not changed.
func EnsureIDs(messages []memory.Message) []memory.Message {
	out := make([]memory.Message, len(messages))
	copy(out, messages)
	taken := map[string]bool{}
	for _, m := range messages {
		taken[m.ID] = true
	}
	seen := map[memory.Digest]int{}
	for i := range out {
		if out[i].ID != "" {
			continue
		}
		body := bodyOf(out[i])
		for out[i].ID == "" || taken[out[i].ID] {
			out[i].ID = derivedID("message", body, seen[body])
			seen[body]++
		}
		taken[out[i].ID] = true
	}
	return out
}

// bodyOf is the digest of what a message says.
func bodyOf(m memory.Message) memory.Digest {
	body, _ := memory.BodyDigest(m) // parts always encode: they hold strings, bytes and parts
	return body
}

// derivedID is an id of 128 bits of a body and its place among equal ones.
func derivedID(kind string, body memory.Digest, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %x %d", kind, body, n))
	return kind + "-" + hex.EncodeToString(sum[:16])
}
