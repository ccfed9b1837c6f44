package access_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// BenchmarkForeign compares the time in which a session is not found that another tenant, or another user than the bound one, has with
// that of one that nobody has: medians of as many calls of each, in turn. Run it with -benchtime 1000x.
func BenchmarkForeign(b *testing.B) {
	h := e2e.StartOn(b, filepath.Join(b.TempDir(), "strata.db"), func(c *config.Config) { c.Auth, c.BootstrapKey = config.AuthRequired, true })
	door := e2e.GRPCDoor{Conn: h.Conn}
	key := func(req *memoryv1.CreateKeyRequest) string {
		replies, err := door.Call(b.Context(), "KeyService/CreateKey", h.App.FirstKey(), req)
		if err != nil {
			b.Fatal(err)
		}
		return replies[0].(*memoryv1.CreateKeyResponse).GetToken()
	}
	record := &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: []*memoryv1.Message{e2e.User("m", "I keep a parrot")}}
	if _, err := door.Call(b.Context(), "MemoryService/Record", h.App.FirstKey(), record); err != nil {
		b.Fatal(err)
	}
	for name, token := range map[string]string{
		"tenant": key(&memoryv1.CreateKeyRequest{Tenant: "other", Role: memoryv1.KeyRole_KEY_ROLE_AGENT}),
		"user":   key(&memoryv1.CreateKeyRequest{Role: memoryv1.KeyRole_KEY_ROLE_USER, UserId: "bob"}),
	} {
		b.Run(name, func(b *testing.B) {
			var times [2][]time.Duration
			for b.Loop() {
				for i, id := range []string{"ada", "eve"} {
					began := time.Now()
					_, err := door.Call(b.Context(), "MemoryService/GetSession", token, &memoryv1.GetSessionRequest{UserId: id, SessionId: "s"})
					times[i] = append(times[i], time.Since(began))
					if status.Code(err) != codes.NotFound {
						b.Fatal(err)
					}
				}
			}
			for i := range times {
				slices.Sort(times[i])
			}
			n := len(times[0]) / 2
			b.ReportMetric(float64(times[0][n])/float64(times[1][n]), "foreign/missing")
			b.ReportMetric(float64(times[1][n].Microseconds()), "µs-missing")
		})
	}
}
