package edge_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/hostilerequests"
)

// hostileRequests is how many are sent at each way in; strata-bench hostile sends more.
const hostileRequests = 1500

func TestHostileRequests(t *testing.T) {
	t.Parallel()
	requests := hostileRequests
	if testing.Short() {
		requests /= 5
	}
	for _, p := range hostilerequests.Protocols() {
		t.Run(string(p), func(t *testing.T) {
			h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) { c.RequestTimeout = time.Second })
			got, err := hostilerequests.Run(t.Context(), hostilerequests.Options{
				Address: h.Conn.Target(), Protocol: p, Seed: 1, Requests: requests, Clients: 8, Stalled: 10,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, fault := range got.Faults {
				t.Error(fault)
			}
			if got.Faulty > len(got.Faults) {
				t.Errorf("and %d more", got.Faulty-len(got.Faults))
			}
			if _, after, found := strings.Cut(h.Log.String(), "panic"); found {
				t.Errorf("something panicked: %s", after[:min(len(after), 3000)])
			}
			e2e.InTime(h.Ctx, t, time.Minute, func(ctx context.Context) (*memoryv1.RecordResponse, error) { // the server gives a call a second
				return h.Record(ctx, &memoryv1.RecordRequest{
					UserId: "ada", SessionId: "after", Messages: []*memoryv1.Message{e2e.User("m1", "I live in Porto.")},
				})
			})
			for _, e := range h.Entrances() {
				session := e2e.InTime(h.Ctx, t, time.Minute, func(ctx context.Context) (*memoryv1.GetSessionResponse, error) {
					reply := &memoryv1.GetSessionResponse{}
					asked := &memoryv1.GetSessionRequest{UserId: "ada", SessionId: "after"}
					return reply, e.Call(ctx, methodNamed(t, "MemoryService.GetSession"), asked, reply)
				}).GetSession()
				if session.GetSessionId() != "after" {
					t.Errorf("a right call by %s after them is answered with %v", e.Name, session)
				}
			}
		})
	}
}
