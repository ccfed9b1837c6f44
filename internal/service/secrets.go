package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/contextprofile"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/secretscan"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/text"
)

// sessionSecrets knows where the secrets of sessions are masked.
type sessionSecrets struct {
	store    sessionReader
	profiles contextprofile.Set
}

func newSessionSecrets(o Options) sessionSecrets {
	return sessionSecrets{store: o.Store, profiles: o.Profiles}
}

// masksOf is where the secrets of a turn are masked: by the profile of its session, or by the one that a new session will
// have. The session is only read where profiles differ.
func (s sessionSecrets) masksOf(ctx context.Context, p RecordParams) (contextprofile.MaskSecrets, error) {
	if mask, ok := s.profiles.OneSecrets(); ok || len(p.Messages) == 0 && p.StatePatch == nil {
		return mask, nil
	}
	session, err := s.store.Session(ctx, p.Ref)
	if memory.IsGone(err) {
		return s.profiles.SecretsOf(p.Profile), nil
	}
	if err != nil {
		return "", fmt.Errorf("read the session's profile: %w", err)
	}
	return s.profiles.SecretsOf(session.Profile), nil
}

// masksOfSession is where the secrets of a session that exists are masked. The session is only read where profiles differ.
func (s sessionSecrets) masksOfSession(ctx context.Context, ref memory.SessionRef) (contextprofile.MaskSecrets, error) {
	if mask, ok := s.profiles.OneSecrets(); ok {
		return mask, nil
	}
	session, err := s.store.Session(ctx, ref)
	if err != nil {
		return "", fmt.Errorf("read the session's profile: %w", err)
	}
	return s.profiles.SecretsOf(session.Profile), nil
}

// masksOfSummary is the same of a summary; those of weeks and months follow the default profile.
func (s sessionSecrets) masksOfSummary(ctx context.Context, ref SummaryRef) (contextprofile.MaskSecrets, error) {
	if ref.Kind == memory.SummarySession {
		return s.masksOfSession(ctx, ref.User.Session(ref.SessionID))
	}
	return s.profiles.SecretsOf(""), nil
}

// maxTitleBytes is the longest title of a session.
const maxTitleBytes = 255

// maskHead masks secrets in what a caller writes about a session, before it is stored. Prompts and contexts name sessions by
// their titles: these are masked wherever memory is. Metadata stands in neither.
func maskHead(u *store.SessionUpdate, mask contextprofile.MaskSecrets) {
	if u.Title != nil && mask != contextprofile.MaskNowhere {
		title := text.Clip(recall.MaskedWords(*u.Title, mask), maxTitleBytes)
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
	mark(len(messages), func(i int) *memory.Message { return &messages[i].Message })
}

// mark notes where n messages say secrets.
func mark(n int, message func(int) *memory.Message) {
	turn := make([][]memory.Part, n)
	for i := range turn {
		turn[i] = message(i).Parts
	}
	for i, parts := range secretscan.Mark(turn) {
		message(i).Parts = parts
	}
}

// withSecrets are messages with their secrets noted, as they would be stored.
func withSecrets(messages []memory.Message, mask contextprofile.MaskSecrets) []memory.Message {
	if mask == contextprofile.MaskNowhere || len(messages) == 0 {
		return messages
	}
	out := slices.Clone(messages)
	mark(len(out), func(i int) *memory.Message { return &out[i] })
	return out
}

// asSent are messages without notes of secrets, as their caller sent them.
func asSent(messages []memory.Message) []memory.Message {
	out := slices.Clone(messages)
	for i := range out {
		out[i].Parts = secretscan.Unmarked(out[i].Parts)
	}
	return out
}
