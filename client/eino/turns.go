package eino

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// mark is the key of Message.Extra by which a message of memory is known, so that none is recorded, or stays in the state of an agent.
const mark = "strata"

// marked returns the messages with the mark.
func marked(messages []*schema.Message) []*schema.Message {
	for _, m := range messages {
		m.Extra = maps.Clone(m.Extra)
		if m.Extra == nil {
			m.Extra = map[string]any{}
		}
		m.Extra[mark] = "memory"
	}
	return messages
}

// withoutMemory returns the messages that are none of memory.
func withoutMemory(messages []*schema.Message) []*schema.Message {
	return slices.DeleteFunc(slices.Clone(messages), func(m *schema.Message) bool { return m == nil || m.Extra[mark] != nil })
}

// instructions returns how many system messages the list begins with.
func instructions(messages []*schema.Message) int {
	for n, m := range messages {
		if m.Role != schema.System {
			return n
		}
	}
	return len(messages)
}

// question returns where the user's last words stand, and what they are; the end and "" where the user says nothing.
func question(messages []*schema.Message) (at int, words string) {
	for n, m := range slices.Backward(messages) {
		if m.Role == schema.User && !isOfAgents(m) {
			return n, textOf(m)
		}
	}
	return len(messages), ""
}

// isOfAgents reports whether it is a message by which the ADK has one agent know what another one said or did: it speaks in the user's
// place, and says nothing of the user.
func isOfAgents(m *schema.Message) bool {
	return m.Role == schema.User && strings.HasPrefix(m.Content, "For context: [")
}

// turnStart returns where the turn begins that the list ends with: behind the answer before it, which is the last message of the
// assistant, but for that at the end, that calls no tool.
func turnStart(messages []*schema.Message) int {
	for n := len(messages) - 2; n >= 0; n-- {
		if m := messages[n]; m.Role == schema.System || m.Role == schema.Assistant && len(m.ToolCalls) == 0 {
			return n + 1
		}
	}
	return 0
}

// idsOf returns an id for each message, by all that is said up to it.
func idsOf(messages []*schema.Message) ([]string, error) {
	said := sha256.New()
	ids := make([]string, len(messages))
	for n, m := range messages {
		if m.Role == schema.System {
			continue // instructions may change between runs
		}
		plain := *m
		plain.ResponseMeta, plain.Extra = nil, nil // what some programs do not keep
		data, err := json.Marshal(plain)
		if err != nil {
			return nil, fmt.Errorf("write a message as JSON: %w", err)
		}
		said.Write(data)
		ids[n] = "eino-" + hex.EncodeToString(said.Sum(nil)[:16])
	}
	return ids, nil
}

// What one call of Record holds; the service takes 1,000 messages of 2 MiB in all.
const (
	callMessages = 500
	callBytes    = 1 << 20
)

// calls divides a turn into what calls of Record hold. As a rule it is one.
func calls(turn []*memoryv1.Message) iter.Seq[[]*memoryv1.Message] {
	return func(yield func([]*memoryv1.Message) bool) {
		from, size := 0, 0
		for n, m := range turn {
			size += proto.Size(m)
			if n > from && (n-from >= callMessages || size > callBytes) {
				if !yield(turn[from:n]) {
					return
				}
				from, size = n, proto.Size(m)
			}
		}
		yield(turn[from:])
	}
}
