package grpcapi

import (
	"context"

	"github.com/stratamem/strata/internal/edge/grpcserver"
	"github.com/stratamem/strata/internal/memory"
)

// tenantOf returns the tenant of the principal. Without one nothing may be read: a missing scope is an error.
func tenantOf(ctx context.Context) string { return grpcserver.PrincipalOf(ctx).Tenant }

// sessionRef checks the two ids that name a session.
func (c *checker) sessionRef(ctx context.Context, userID, sessionID string) memory.SessionRef {
	return c.userRef(ctx, userID).Session(c.id("session_id", sessionID))
}

func (c *checker) userRef(ctx context.Context, userID string) memory.UserRef {
	return memory.UserRef{Tenant: tenantOf(ctx), UserID: c.id("user_id", userID)}
}
