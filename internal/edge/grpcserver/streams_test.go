package grpcserver

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/memory"
)

// changing is a Verifier whose verdict changes after its first one.
type changing struct {
	asked atomic.Int64
	later func() (auth.Principal, error)
}

func (c *changing) Verify(context.Context, auth.Credential) (auth.Principal, error) {
	if c.asked.Add(1) == 1 {
		return admin("acme"), nil
	}
	return c.later()
}

func admin(tenant string) auth.Principal { return auth.Principal{Tenant: tenant, Role: auth.RoleAdmin} }

type bareStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // that is how gRPC hands a stream its context
}

func (s bareStream) Context() context.Context { return s.ctx }

func (bareStream) SendMsg(any) error { return nil }

func TestTheCredentialOfAStreamIsVerifiedAgain(t *testing.T) {
	const work = 5 * time.Minute
	for name, c := range map[string]struct {
		later func() (auth.Principal, error)
		ends  bool
	}{
		"a stream ends soon after its credential is revoked":           {func() (auth.Principal, error) { return auth.Principal{}, auth.Refuse(auth.CauseRevoked) }, true},
		"a stream ends soon after its credential expired":              {func() (auth.Principal, error) { return auth.Principal{}, auth.Refuse(auth.CauseExpired) }, true},
		"a stream ends soon after its tenant is suspended":             {func() (auth.Principal, error) { return auth.Principal{}, auth.Refuse(auth.CauseSuspended) }, true},
		"a stream ends once its credential stands for somebody else":   {func() (auth.Principal, error) { return admin("other"), nil }, true},
		"a stream goes on while its credential is good":                {func() (auth.Principal, error) { return admin("acme"), nil }, false},
		"a stream goes on while nobody can be asked":                   {func() (auth.Principal, error) { return auth.Principal{}, errors.New("no store") }, false},
		"a stream goes on where who verifies panics, and reports that": {func() (auth.Principal, error) { panic("a fault") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := API{Calls: map[string]Rule{memoryv1.UserService_ExportUser_FullMethodName: {OfUser, []auth.Role{auth.RoleAdmin}, Always}}, Status: bareStatus}
				g := newGuard(Options{API: api, Access: Access{Verifier: &changing{later: c.later}}})
				served := (&admitted{}).streams(&atomic.Int64{}, g, &auditor{api: api, log: slog.New(slog.DiscardHandler)}, meterOf(Options{}))
				began, sent := time.Now(), 0
				info := &grpc.StreamServerInfo{FullMethod: memoryv1.UserService_ExportUser_FullMethodName}
				err := served(nil, bareStream{ctx: t.Context()}, info, func(_ any, s grpc.ServerStream) error {
					for time.Since(began) < work {
						time.Sleep(time.Second)
						if err := s.SendMsg(nil); err != nil {
							return err
						}
						sent++
					}
					return nil
				})
				took := time.Since(began)
				if c.ends && (status.Code(err) != codes.Unauthenticated || took > 2*reverifyEvery) {
					t.Errorf("it ended after %v with %v, want UNAUTHENTICATED within %v", took, err, 2*reverifyEvery)
				}
				if !c.ends && took < work {
					t.Errorf("it ended after %v with %v", took, err)
				}
			})
		})
	}
}

// bareStatus has the code of a refused credential alone.
func bareStatus(err error) (*status.Status, bool) {
	if memory.ReasonOf(err) == memory.ReasonUnauthenticated {
		return status.New(codes.Unauthenticated, err.Error()), true
	}
	return status.New(codes.Internal, "a fault"), false
}
