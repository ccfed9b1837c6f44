package access_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// BenchmarkAudit prints how long a Record, a read and a change take until their reply has come, with the audit on and with agents' calls in
// it too, beside a server without one in the same run. In each round the servers take turns.
func BenchmarkAudit(b *testing.B) {
	settings := []string{config.AuditOff, "on", config.AuditAgents}
	servers := map[string]*grpcCaller{}
	for _, setting := range settings {
		h := e2e.StartOn(b, filepath.Join(b.TempDir(), "strata.db"), func(c *config.Config) {
			c.Audit, c.Auth, c.BootstrapKey = setting, config.AuthRequired, true
		})
		servers[setting] = newGRPCCaller(b, h)
	}
	calls := []struct {
		name, method, by string
		request          func(n int) proto.Message
	}{
		{"Record by an agent", "MemoryService/Record", "agent", func(n int) proto.Message {
			return &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: []*memoryv1.Message{e2e.User("", fmt.Sprintf("Turn %d.", n))}}
		}},
		{"ListMessages by an admin", "MemoryService/ListMessages", "admin", func(int) proto.Message {
			return &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s", PageSize: 10}
		}},
		{"UpdateUser by an agent", "UserService/UpdateUser", "agent", func(n int) proto.Message {
			return &memoryv1.UpdateUserRequest{User: &memoryv1.User{UserId: "ada", Timezone: []string{"Asia/Seoul", "Europe/Paris"}[n%2]}}
		}},
	}
	took := map[string][]time.Duration{}
	n := 0
	for b.Loop() {
		n++
		for _, c := range calls {
			for i := range settings {
				setting := settings[(i+n)%len(settings)]
				s, req := servers[setting], c.request(n)
				began := time.Now()
				if _, err := s.Call(b.Context(), c.method, s.tokens[c.by], req); err != nil {
					b.Fatalf("%s with audit %s: %v", c.name, setting, err)
				}
				took[c.name+setting] = append(took[c.name+setting], time.Since(began))
			}
		}
	}
	for _, times := range took {
		slices.Sort(times)
	}
	for _, c := range calls {
		of := e2e.Median(took[c.name+config.AuditOff])
		for _, setting := range settings {
			p50 := e2e.Median(took[c.name+setting])
			fmt.Printf("%-26s audit %-7s p50 %8v × %.2f\n", c.name, setting, p50.Round(time.Microsecond), float64(p50)/float64(of))
		}
	}
}

// grpcCaller is a server with a key of each role that calls it.
type grpcCaller struct {
	e2e.GRPCDoor
	tokens map[string]string
}

func newGRPCCaller(b *testing.B, h *e2e.Server) *grpcCaller {
	b.Helper()
	c := &grpcCaller{e2e.GRPCDoor{Conn: h.Conn}, map[string]string{"admin": h.App.FirstKey()}}
	replies, err := c.Call(b.Context(), "KeyService/CreateKey", c.tokens["admin"], &memoryv1.CreateKeyRequest{Role: keyRole("agent")})
	if err != nil {
		b.Fatal(err)
	}
	c.tokens["agent"] = replies[0].(*memoryv1.CreateKeyResponse).GetToken()
	return c
}
