// Package sessionguards finds what guards the contents of a session: the ids of its user's fences, and where its secrets are masked. It
// reads the primary store for that, which package contextprofile must not.
package sessionguards

import (
	"context"
	"fmt"

	"github.com/stratamem/strata/internal/language/prompttags"
	"github.com/stratamem/strata/internal/memory"
)

// Fences knows the ids of users' fences. Its methods may be called concurrently.
type Fences struct {
	users  Users
	secret []byte
}

// Users is the part of the primary store that Fences reads.
type Users interface {
	User(ctx context.Context, ref memory.UserRef) (memory.User, error)
}

// NewFences makes Fences. Ids are derived from the secret (see store.Secrets), which must be the same in every server on a primary store.
func NewFences(users Users, secret []byte) Fences { return Fences{users: users, secret: secret} }

// Of returns the ids of a user's fences, the one for new contexts first. The scope is read where it is not known: "" for a user of
// whom nothing was read.
func (f Fences) Of(ctx context.Context, ref memory.UserRef, scope memory.ScopeKey) ([]prompttags.ID, error) {
	if scope == "" {
		user, err := f.users.User(ctx, ref)
		if err != nil && !memory.IsGone(err) {
			return nil, fmt.Errorf("read the user: %w", err)
		}
		if err == nil {
			scope = user.Scope
		}
	}
	return prompttags.IDsOf(f.secret, ref, scope), nil
}
