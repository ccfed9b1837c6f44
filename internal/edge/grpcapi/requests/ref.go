package requests

import (
	"context"

	"github.com/stratamem/strata/internal/edge/grpcserver"
	"github.com/stratamem/strata/internal/memory"
)

// TenantOf returns the tenant of the principal. Without one nothing may be read: a missing scope is an error.
func TenantOf(ctx context.Context) string { return grpcserver.PrincipalOf(ctx).Tenant }

// SessionRef checks the two ids that name a session.
func (c *Checker) SessionRef(ctx context.Context, userID, sessionID string) memory.SessionRef {
	return c.UserRef(ctx, userID).Session(c.ID("session_id", sessionID))
}

// UserRef checks the id that names a user of the caller's tenant.
func (c *Checker) UserRef(ctx context.Context, userID string) memory.UserRef {
	return memory.UserRef{Tenant: TenantOf(ctx), UserID: c.ID("user_id", userID)}
}
