package quota

import (
	"context"

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

// Unlimited is the Tenancy where nothing is decided.
type Unlimited struct{}

// Reserve implements Tenancy.
func (Unlimited) Reserve(context.Context, memory.UserRef, int) (*store.Room, func(int64), error) {
	return nil, func(int64) {}, nil
}

// Check implements Tenancy.
func (Unlimited) Check(context.Context, string) error { return nil }

// Profile implements Tenancy.
func (Unlimited) Profile(context.Context, string) (string, error) { return "", nil }

// ProfileOf returns the profile of the tenant's sessions that name none. A profile that this server does not have, or not any more, is
// as none: known must return an error for it.
func ProfileOf(ctx context.Context, t Tenancy, known func(name string) error, tenant string) (string, error) {
	profile, err := t.Profile(ctx, tenant)
	if err != nil || known(profile) != nil {
		return "", err
	}
	return profile, nil
}
