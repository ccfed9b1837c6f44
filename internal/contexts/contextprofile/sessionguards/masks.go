package sessionguards

import (
	"context"
	"fmt"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/memory"
)

// Masks knows where the secrets of sessions are masked. Its methods may be called concurrently.
type Masks struct {
	sessions Sessions
	profiles contextprofile.Set
}

// Sessions is the part of the primary store that Masks reads.
type Sessions interface {
	Session(ctx context.Context, ref memory.SessionRef) (memory.Session, error)
}

// NewMasks makes Masks.
func NewMasks(s Sessions, p contextprofile.Set) Masks { return Masks{sessions: s, profiles: p} }

// Of returns where the secrets of a session are masked, or of a session that there is not yet and that will have the profile. The
// session is only read where profiles differ.
func (m Masks) Of(ctx context.Context, ref memory.SessionRef, profile string) (contextprofile.MaskSecrets, error) {
	mask, err := m.OfSession(ctx, ref)
	if memory.IsGone(err) {
		return m.profiles.SecretsOf(profile), nil
	}
	return mask, err
}

// OfSession returns where the secrets of a session that exists are masked. The session is only read where profiles differ.
func (m Masks) OfSession(ctx context.Context, ref memory.SessionRef) (contextprofile.MaskSecrets, error) {
	if mask, ok := m.profiles.OneSecrets(); ok {
		return mask, nil
	}
	session, err := m.sessions.Session(ctx, ref)
	if err != nil {
		return "", fmt.Errorf("read the session's profile: %w", err)
	}
	return m.profiles.SecretsOf(session.Profile), nil
}
