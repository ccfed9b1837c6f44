package cli

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// unhurried is a server whose every call returns long before the caller's own wait is over, as at its request-timeout, and whose work
// is done with the last of calls.
type unhurried struct {
	memoryv1.UnimplementedMemoryServiceServer
	memoryv1.UnimplementedUserServiceServer
	memoryv1.UnimplementedWorkServiceServer
	memoryv1.UnimplementedTenantServiceServer
	calls atomic.Int64 // that are left
}

// job is the job as the next call returns it.
func (s *unhurried) job() *memoryv1.Job {
	j := &memoryv1.Job{UserId: "ada", JobId: "erase-1", State: memoryv1.JobState_JOB_STATE_OPEN, Erasure: &memoryv1.Erasure{}}
	if s.calls.Add(-1) == 0 {
		j.State = memoryv1.JobState_JOB_STATE_APPLIED
	}
	return j
}

func (s *unhurried) GetSession(_ context.Context, req *memoryv1.GetSessionRequest) (*memoryv1.GetSessionResponse, error) {
	return &memoryv1.GetSessionResponse{Session: &memoryv1.Session{SessionId: req.GetSessionId()}}, nil
}

func (s *unhurried) EraseUser(context.Context, *memoryv1.EraseUserRequest) (*memoryv1.EraseUserResponse, error) {
	return &memoryv1.EraseUserResponse{Job: s.job()}, nil
}

func (s *unhurried) GetJob(context.Context, *memoryv1.GetJobRequest) (*memoryv1.GetJobResponse, error) {
	return &memoryv1.GetJobResponse{Job: s.job()}, nil
}

func (s *unhurried) WaitForWatermark(context.Context, *memoryv1.WaitForWatermarkRequest) (*memoryv1.WaitForWatermarkResponse, error) {
	return &memoryv1.WaitForWatermarkResponse{Reached: s.job().GetState() == memoryv1.JobState_JOB_STATE_APPLIED}, nil
}

func (s *unhurried) EraseTenant(context.Context, *memoryv1.EraseTenantRequest) (*memoryv1.EraseTenantResponse, error) {
	e := &memoryv1.TenantErasure{}
	if s.job().GetState() == memoryv1.JobState_JOB_STATE_APPLIED {
		e.DoneTime = timestamppb.New(time.Unix(0, 0))
	}
	return &memoryv1.EraseTenantResponse{Tenant: &memoryv1.Tenant{Tenant: "acme", Erasure: e}}, nil
}

// serveCalls serves it until the test ends, and returns its address.
func (s *unhurried) serveCalls(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	memoryv1.RegisterMemoryServiceServer(server, s)
	memoryv1.RegisterUserServiceServer(server, s)
	memoryv1.RegisterWorkServiceServer(server, s)
	memoryv1.RegisterTenantServiceServer(server, s)
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-stopped; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func TestACommandWaitsItsOwnTimeNotTheServersRequestTimeout(t *testing.T) {
	for name, c := range map[string]struct{ args, says string }{
		"users erase":   {"users erase ada --yes --wait 1h", "applied"},
		"jobs show":     {"jobs show ada erase-1 --wait 1h", "applied"},
		"jobs wait":     {"jobs wait ada s1 --for 1h", "RECORDED"},
		"tenants erase": {"tenants erase acme --yes --wait 1h", "1970"},
	} {
		t.Run(name, func(t *testing.T) {
			server := &unhurried{}
			server.calls.Store(4)
			address := server.serveCalls(t)
			got := must(t, terminal.Env{}, append(strings.Fields(c.args), "--server", address, "--timeout", "2m")...)
			if left := server.calls.Load(); left != 0 || !strings.Contains(got, c.says) {
				t.Errorf("%d of the calls are left; it prints\n%s", left, got)
			}
		})
	}
	t.Run("and not at all where it was given none", func(t *testing.T) {
		server := &unhurried{}
		server.calls.Store(4)
		got := must(t, terminal.Env{}, "users", "erase", "ada", "--yes", "--wait", "0", "--server", server.serveCalls(t), "--timeout", "2m")
		if left := server.calls.Load(); left != 3 || !strings.Contains(got, "open") {
			t.Errorf("%d of the calls are left; it prints\n%s", left, got)
		}
	})
}
