package sessions

import (
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/language/secretscan"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// maxTitleBytes is the longest title of a session.
const maxTitleBytes = 255

// maskHead masks secrets in what a caller writes about a session, before it is stored. Prompts and contexts name sessions by
// their titles: these are masked wherever memory is. Metadata stands in neither.
func maskHead(u *store.SessionUpdate, mask contextprofile.MaskSecrets) {
	if u.Title != nil && mask != contextprofile.MaskNowhere {
		title := text.Clip(mask.Words(*u.Title), maxTitleBytes)
		u.Title = &title
	}
	if u.Metadata != nil && mask == contextprofile.MaskEverywhere {
		metadata := secretscan.RemoveFrom(memory.Message{Metadata: *u.Metadata}).Metadata
		u.Metadata = &metadata
	}
}

// maskLabels masks secrets in what a caller labels a message with, before it is stored, where they are masked in messages too.
// Recall masks them in any case.
func maskLabels(u *store.MessageUpdate, mask contextprofile.MaskSecrets) {
	if mask != contextprofile.MaskEverywhere {
		return
	}
	var m memory.Message
	if u.Tags != nil {
		m.Tags = *u.Tags
	}
	if u.Metadata != nil {
		m.Metadata = *u.Metadata
	}
	m = secretscan.RemoveFrom(m)
	if u.Tags != nil {
		u.Tags = &m.Tags
	}
	if u.Metadata != nil {
		u.Metadata = &m.Metadata
	}
}

// markSecrets notes where the messages of a turn say secrets.
func markSecrets(messages []store.NewMessage) {
	secretscan.MarkEach(len(messages), func(i int) *memory.Message { return &messages[i].Message })
}
