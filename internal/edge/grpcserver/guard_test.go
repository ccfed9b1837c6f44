package grpcserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/memory"
)

func TestAMethodWithoutARowIsRefused(t *testing.T) {
	if _, err := newGuard(Options{}).admit(t.Context(), "/memory.v1.UserService/New"); memory.ReasonOf(err) != memory.ReasonRoleDenied {
		t.Error(err)
	}
}

func TestConfine(t *testing.T) {
	g := newGuard(Options{API: API{CheckUser: func(string) error { return nil }}})
	by := func(p auth.Principal, req proto.Message) error {
		return g.confine(auth.With(t.Context(), p), req)
	}
	ada := auth.Principal{Tenant: "acme", UserID: "ada", Role: auth.RoleUser}
	t.Run("who is bound to a user reaches that one, named or not", func(t *testing.T) {
		for _, id := range []string{"", "ada"} {
			top := &memoryv1.GetSessionRequest{UserId: id, SessionId: "s"}
			nested := &memoryv1.UpdateSessionRequest{Session: &memoryv1.Session{UserId: id}}
			if err := by(ada, top); err != nil || top.GetUserId() != "ada" {
				t.Error(err, top)
			}
			if err := by(ada, nested); err != nil || nested.GetSession().GetUserId() != "ada" {
				t.Error(err, nested)
			}
		}
	})
	t.Run("no other one is found, in a resource or beside it", func(t *testing.T) {
		for _, req := range []proto.Message{
			&memoryv1.GetSessionRequest{UserId: "bob"}, &memoryv1.ListJobsRequest{UserId: "Ada"},
			&memoryv1.UpdateSessionRequest{Session: &memoryv1.Session{UserId: "bob"}}, &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{UserId: "ada "}},
		} {
			if got := memory.ReasonOf(by(ada, req)); got != memory.ReasonUserNotFound {
				t.Errorf("%T: %q", req, got)
			}
		}
	})
	t.Run("operators name nobody", func(t *testing.T) {
		operator := auth.Principal{Tenant: "acme", Role: auth.RoleOperator}
		if err := by(operator, &memoryv1.ListJobsRequest{UserId: "ada"}); memory.ReasonOf(err) != memory.ReasonRoleDenied {
			t.Error(err)
		}
		if err := by(operator, &memoryv1.ListJobsRequest{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("what operators read names nobody either", func(t *testing.T) {
		reply := &memoryv1.ListJobsResponse{Jobs: []*memoryv1.Job{{JobId: "j", UserId: "ada", SessionId: "s"}}, NextPageToken: "x"}
		withoutIDs(reply)
		if want := (&memoryv1.ListJobsResponse{Jobs: []*memoryv1.Job{{JobId: "j"}}, NextPageToken: "x"}); !proto.Equal(reply, want) {
			t.Error(reply)
		}
	})
}

func TestAPassedDeadlineSaysWhoseItIs(t *testing.T) {
	long, soon := time.Hour, time.Nanosecond
	for name, c := range map[string]struct{ caller, server, want time.Duration }{
		"the caller's": {soon, long, 0},
		"the server's": {long, soon, soon},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.caller)
			defer cancel()
			_, err := withDeadline(c.server)(ctx, nil, nil, func(ctx context.Context, _ any) (any, error) {
				<-ctx.Done()
				return nil, fmt.Errorf("read: %w", ctx.Err())
			})
			late, ok := errors.AsType[*LateError](err)
			if !ok || late.RequestTimeout != c.want || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestPanicsAreContainedAndTellNothing(t *testing.T) {
	_, err := contained(t.Context(), nil, func(context.Context, any) (any, error) { panic("secret words") })
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}
