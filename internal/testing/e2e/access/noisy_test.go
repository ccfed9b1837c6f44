package access_test

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// busyTruth is the real store, in which the sessions of the tenant noisy are read for as long as the test wants, as if that took the
// processor's time.
type busyTruth struct {
	store.PrimaryStore
	goOn chan struct{}
}

func (s *busyTruth) Session(ctx context.Context, ref memory.SessionRef) (memory.Session, error) {
	if ref.Tenant == "noisy" {
		select {
		case <-s.goOn:
		case <-ctx.Done():
		}
	}
	return s.PrimaryStore.Session(ctx, ref)
}

func TestNoisyTenant(t *testing.T) {
	truth := &busyTruth{goOn: make(chan struct{})}
	h := e2e.StartWith(t, filepath.Join(t.TempDir(), "strata.db"), app.Options{Hooks: app.Hooks{Wrap: func(s store.PrimaryStore) store.PrimaryStore {
		truth.PrimaryStore = s
		return truth
	}}}, func(c *config.Config) { c.Auth, c.BootstrapKey = config.AuthRequired, true })
	d := &desk{e2e.GRPCDoor{Conn: h.Conn}, t, h.App.FirstKey()}
	_, noisy := d.key(&memoryv1.CreateKeyRequest{Tenant: "noisy", Role: keyRole("agent")})
	_, quiet := d.key(&memoryv1.CreateKeyRequest{Tenant: "quiet", Role: keyRole("agent")})
	get := func(token string) error {
		_, err := d.Call(t.Context(), "MemoryService/GetSession", token, &memoryv1.GetSessionRequest{UserId: "ada", SessionId: "s"})
		if status.Code(err) == codes.NotFound {
			return nil
		}
		return err
	}
	call := func() {
		t.Helper()
		if err := get(quiet); err != nil {
			t.Fatalf("a call of the quiet tenant: %v", err)
		}
	}
	call()
	ended := make(chan error)
	calls := 4 * (runtime.GOMAXPROCS(0) + 1)
	for range calls {
		go func() { ended <- get(noisy) }()
	}
	for refused, released := 0, false; calls > 0; {
		select {
		case err := <-ended:
			calls--
			if err == nil {
				if !released {
					t.Error("a call of the noisy tenant was answered while its sessions were read")
				}
				continue
			}
			refused++
			e2e.Overloaded(t, err)
			for _, detail := range status.Convert(err).Details() {
				if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetMetadata()["cause"] != "tenant_share" {
					t.Errorf("the cause is %v", info)
				}
			}
			if !released {
				released = true
				close(truth.goOn)
			}
		case <-time.After(50 * time.Millisecond):
			call()
		}
	}
	call()
}
