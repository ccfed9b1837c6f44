package service

import (
	"context"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// User returns a user.
func (s *Service) User(ctx context.Context, ref memory.UserRef) (memory.User, error) {
	out, err := s.store.User(ctx, ref)
	if err != nil {
		return out, fmt.Errorf("read user: %w", err)
	}
	return out, nil
}

// ListUsers returns a page of a tenant's users; more says whether others follow.
func (s *Service) ListUsers(ctx context.Context, q store.UserQuery) (page []memory.User, more bool, err error) {
	limit := q.Limit
	q.Limit++
	page, err = s.store.ListUsers(ctx, q)
	if err != nil {
		return nil, false, fmt.Errorf("list users: %w", err)
	}
	page, more = cutPage(page, limit)
	return page, more, nil
}

// UpdateUser changes what holds for all sessions of a user. Without an etag it creates a user that does not exist.
func (s *Service) UpdateUser(ctx context.Context, u store.UserUpdate) (memory.User, error) {
	u.Time = s.timeNow()
	out, err := s.store.UpdateUser(ctx, u)
	if err != nil {
		return out, fmt.Errorf("update user: %w", err)
	}
	return out, nil
}

// timeNow is the time as stores keep it.
func (s *Service) timeNow() time.Time { return s.now().UTC().Truncate(time.Microsecond) }
