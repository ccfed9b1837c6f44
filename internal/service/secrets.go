package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/policy"
	"github.com/stratamem/strata/internal/secrets"
	"github.com/stratamem/strata/internal/store"
)

// masksOf is where the secrets of a turn are masked: by the profile of its session, or by the one that a new session will
// have. The session is only read where profiles differ.
func (s *Service) masksOf(ctx context.Context, p RecordParams) (policy.MaskSecrets, error) {
	if mask, ok := s.policies.OneSecrets(); ok || len(p.Messages) == 0 && p.StatePatch == nil {
		return mask, nil
	}
	session, err := s.store.Session(ctx, p.Ref)
	if isNotFound(err) {
		return s.policies.SecretsOf(p.Profile), nil
	}
	if err != nil {
		return "", fmt.Errorf("read the session's profile: %w", err)
	}
	return s.policies.SecretsOf(session.Profile), nil
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
	for i, parts := range secrets.Mark(turn) {
		message(i).Parts = parts
	}
}

// withSecrets are messages with their secrets noted, as they would be stored.
func withSecrets(messages []memory.Message, mask policy.MaskSecrets) []memory.Message {
	if mask == policy.MaskNowhere || len(messages) == 0 {
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
		out[i].Parts = secrets.Unmarked(out[i].Parts)
	}
	return out
}

// recalled is a message as recall shows it: with masks in the place of the secrets that were noted when it was recorded, and of
// those in its tags and metadata.
func recalled(m memory.Message, mask policy.MaskSecrets) memory.Message {
	parts := slices.Clone(m.Parts)
	for i := range parts {
		parts[i] = parts[i].Masked()
	}
	m.Parts = parts
	if mask != policy.MaskNowhere && (len(m.Tags) > 0 || len(m.Metadata) > 0) {
		besides, _ := secrets.Remove([]memory.Message{{Tags: m.Tags, Metadata: m.Metadata}}, nil)
		m.Tags, m.Metadata = besides[0].Tags, besides[0].Metadata
	}
	return m
}

// askedWords are the words of a query with masks in the place of secrets: an endpoint may embed them, and what is searched
// has masks there too.
func askedWords(query string, mask policy.MaskSecrets) string {
	if mask == policy.MaskNowhere {
		return query
	}
	return memory.Masked(query, secrets.Find(query))
}
