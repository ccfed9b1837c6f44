package sqlitestore

import (
	"encoding/json"

	"github.com/stratamem/strata/internal/memory"
)

// encodeEvidence returns what is stored; nil for none.
func encodeEvidence(evidence []memory.Evidence) (any, error) {
	if len(evidence) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(evidence)
	return string(b), err
}

// decodeEvidence reads what encodeEvidence wrote.
func decodeEvidence(s string) (evidence []memory.Evidence, err error) {
	if s == "" {
		return nil, nil
	}
	err = json.Unmarshal([]byte(s), &evidence)
	return evidence, err
}
