package recall

import (
	"slices"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/language/secretscan"
	"github.com/stratamem/strata/internal/memory"
)

// Shown is a message as recall shows it: with masks in the place of the secrets that were noted when it was recorded, and of
// those in its tags and metadata.
func Shown(m memory.Message, mask contextprofile.MaskSecrets) memory.Message {
	parts := slices.Clone(m.Parts)
	for i := range parts {
		parts[i] = parts[i].Masked()
	}
	m.Parts = parts
	if mask != contextprofile.MaskNowhere && (len(m.Tags) > 0 || len(m.Metadata) > 0) {
		besides := secretscan.RemoveFrom(memory.Message{Tags: m.Tags, Metadata: m.Metadata})
		m.Tags, m.Metadata = besides.Tags, besides.Metadata
	}
	return m
}
