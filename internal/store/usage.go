package store

import (
	"context"
	"time"
)

// Usage counts what tenants use of what costs something.
type Usage interface {
	// AddUsage must add the tokens and the cost to those of the tenant's day: of calls at once, on any server, none may be lost.
	AddUsage(ctx context.Context, tenant string, u UsageDay) error
	// UsageDays must return the days from one to another, both included, on which the tenant used something, in their order.
	UsageDays(ctx context.Context, tenant string, from, to int64) ([]UsageDay, error)
	// CountMessages must return how many messages there are in the sessions of the tenant, or of the one user of it where userID is not
	// empty. Neither an erased message counts nor what is being imported.
	CountMessages(ctx context.Context, tenant, userID string) (int64, error)
}

// UsageDay is what a tenant used on a day.
type UsageDay struct {
	Day    int64 // since 1970-01-01 in UTC
	Tokens int64 // that models read and wrote
	Cost   int64 // in billionths of the unit of the prices
}

// DayOf is the number of a time's day in UTC, as UsageDay has it.
func DayOf(t time.Time) int64 { return t.Unix() / (24 * 60 * 60) }

// Room is how many new messages a turn may have.
type Room struct {
	Messages int64
	Full     error // the error for a turn with more
}

// Check returns Full for more new messages than there is room for; a nil Room has room for any number.
func (r *Room) Check(stored int64) error {
	if r != nil && stored > max(r.Messages, 0) {
		return r.Full
	}
	return nil
}
