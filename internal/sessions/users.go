package sessions

import (
	"context"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Users reads and changes what holds for all sessions of a user. Its methods may be called concurrently.
type Users struct {
	store UserStore
	now   store.Now
}

// UserStore is what Users reads and writes of the primary store.
type UserStore interface {
	User(ctx context.Context, ref memory.UserRef) (memory.User, error)
	ListUsers(ctx context.Context, q store.UserQuery) ([]memory.User, error)
	UpdateUser(ctx context.Context, u store.UserUpdate) (memory.User, error)
}

// NewUsers makes Users.
func NewUsers(s UserStore, now func() time.Time) *Users { return &Users{store: s, now: now} }

// User returns a user.
func (s *Users) User(ctx context.Context, ref memory.UserRef) (memory.User, error) {
	out, err := s.store.User(ctx, ref)
	if err != nil {
		return out, fmt.Errorf("read user: %w", err)
	}
	return out, nil
}

// ListUsers returns a page of a tenant's users; more says whether others follow.
func (s *Users) ListUsers(ctx context.Context, q store.UserQuery) (page []memory.User, more bool, err error) {
	limit := q.Limit
	q.Limit++
	page, err = s.store.ListUsers(ctx, q)
	if err != nil {
		return nil, false, fmt.Errorf("list users: %w", err)
	}
	page, more = store.CutPage(page, limit)
	return page, more, nil
}

// UpdateUser changes what holds for all sessions of a user. Without an etag it creates a user that does not exist.
func (s *Users) UpdateUser(ctx context.Context, u store.UserUpdate) (memory.User, error) {
	u.Time = s.now.Stored()
	out, err := s.store.UpdateUser(ctx, u)
	if err != nil {
		return out, fmt.Errorf("update user: %w", err)
	}
	return out, nil
}
