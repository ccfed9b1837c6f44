package contextprofile

import (
	"slices"

	"github.com/stratamem/strata/internal/language/secretscan"
	"github.com/stratamem/strata/internal/memory"
)

// Words returns words with masks in the place of secrets: of a query, since an endpoint may embed it and what is searched has
// masks there too, and of what a caller writes that memory returns later.
func (m MaskSecrets) Words(words string) string {
	if m == MaskNowhere {
		return words
	}
	return memory.Masked(words, secretscan.Find(words))
}

// Noted returns messages with their secrets noted, as they would be stored.
func (m MaskSecrets) Noted(messages []memory.Message) []memory.Message {
	if m == MaskNowhere || len(messages) == 0 {
		return messages
	}
	out := slices.Clone(messages)
	secretscan.MarkEach(len(out), func(i int) *memory.Message { return &out[i] })
	return out
}
