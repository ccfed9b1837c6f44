package chatformats

import (
	"encoding/json"
	"errors"
	"fmt"
)

var mem0Passing = []string{
	"id", "memory", "user_id", "created_at", "updated_at", "categories", "hash", "agent_id", "app_id", "run_id", "owner", "immutable", "expiration_date", "score",
	"type", "structured_attributes",
}

// mem0 reads what get_all returns: a list of memories, or an object with results.
// Source: https://docs.mem0.ai/api-reference/memory/get-memories.
func mem0(data []byte) (Export, error) {
	var wrapped struct{ Results, Relations []json.RawMessage }
	raws := []json.RawMessage{}
	if json.Unmarshal(data, &raws) != nil {
		if err := json.Unmarshal(data, &wrapped); err != nil || wrapped.Results == nil {
			return Export{}, errors.New("it must be a JSON list of memories, or an object with results")
		}
		raws = wrapped.Results
	}
	out := Export{Unused: map[string]int{}}
	if n := len(wrapped.Relations); n > 0 {
		out.Unused["relations"] = n
	}
	for i, raw := range raws {
		f, err := object(raw)
		if err != nil {
			return Export{}, fmt.Errorf("memory %d: %w", i+1, err)
		}
		fact := Fact{ID: f.text("id"), UserID: f.text("user_id"), Text: f.text("memory"), Time: timeOf(f.text("created_at"))}
		if fact.Text == "" {
			return Export{}, fmt.Errorf("memory %d: it has no memory", i+1)
		}
		if !f.isNull("categories") && json.Unmarshal(f["categories"], &fact.Tags) != nil {
			return Export{}, fmt.Errorf("memory %d: categories: it must be a list of texts", i+1)
		}
		out.note("", f.without("{}"), mem0Passing...)
		out.Facts = append(out.Facts, fact)
	}
	return out, nil
}
