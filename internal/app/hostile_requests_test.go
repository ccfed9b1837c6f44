package app_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/config"
	"github.com/stratamem/strata/internal/hostilerequests"
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
			h := startOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) { c.RequestTimeout = time.Second })
			got, err := hostilerequests.Run(t.Context(), hostilerequests.Options{
				Address: h.conn.Target(), Protocol: p, Seed: 1, Requests: requests, Clients: 8, Stalled: 10,
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
			if _, after, found := strings.Cut(h.log.String(), "panic"); found {
				t.Errorf("something panicked: %s", after[:min(len(after), 3000)])
			}
			h.record(t, "after", user("m1", "I live in Porto."))
			for _, e := range h.entrances() {
				if err := e.call(h.ctx, methodNamed(t, "MemoryService.GetSession"), &memoryv1.GetSessionRequest{UserId: "ada", SessionId: "after"}, &memoryv1.GetSessionResponse{}); err != nil {
					t.Errorf("a right call by %s after them: %v", e.name, err)
				}
			}
		})
	}
}
