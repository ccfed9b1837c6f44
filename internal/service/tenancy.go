package service

import (
	"context"

	"github.com/stratamem/strata/internal/contextprofile"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Tenancy says what is decided about tenants.
type Tenancy interface {
	// Reserve must return how much room there is for n messages of the user, nil for any number. They count as stored until stored
	// is called with how many were.
	Reserve(ctx context.Context, user memory.UserRef, n int) (room *store.Room, stored func(int64), err error)
	// Check must refuse with LIMIT_EXCEEDED where the tenant may ask no model now.
	Check(ctx context.Context, tenant string) error
	// Profile must return the profile of the tenant's sessions that name none; "" for the server's.
	Profile(ctx context.Context, tenant string) (string, error)
}

// unlimited is the Tenancy where nothing is decided.
type unlimited struct{}

func (unlimited) Reserve(context.Context, memory.UserRef, int) (*store.Room, func(int64), error) {
	return nil, func(int64) {}, nil
}

func (unlimited) Check(context.Context, string) error { return nil }

func (unlimited) Profile(context.Context, string) (string, error) { return "", nil }

// profileOf is the profile of the tenant's sessions that name none. One that this server does not have, or not any more, is as none.
func profileOf(ctx context.Context, t Tenancy, p contextprofile.Set, tenant string) (string, error) {
	profile, err := t.Profile(ctx, tenant)
	if err != nil || p.Known(profile) != nil {
		return "", err
	}
	return profile, nil
}
