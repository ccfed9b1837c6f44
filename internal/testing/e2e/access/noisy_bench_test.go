package access_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// The load of BenchmarkNoisyTenant: the quiet tenant calls every quietPause, by turns BuildContext and Record; the noisy one has
// noisyCallers who each would call as often.
const (
	quietPause   = 15 * time.Millisecond
	noisyCallers = 20
	quietCalls   = 150 // in a phase
	noisyPhases  = 5
)

// neighbour is a tenant that calls.
type neighbour struct {
	memoryv1.MemoryServiceClient
	ctx     context.Context
	refused atomic.Int64
	done    atomic.Int64
}

// Call makes one call, and returns how long it took.
func (n *neighbour) Call(user string, i int) time.Duration {
	began := time.Now()
	var err error
	if i%2 == 0 {
		_, err = n.BuildContext(n.ctx, &memoryv1.BuildContextRequest{UserId: user, SessionId: "s9", Query: fmt.Sprintf("How far did I walk on day %d?", i)})
	} else {
		_, err = n.Record(n.ctx, &memoryv1.RecordRequest{UserId: user, SessionId: "now", Messages: []*memoryv1.Message{
			toldOnly(fmt.Sprintf("Turn %d.", i)),
		}})
	}
	n.done.Add(1)
	if err != nil && n.ctx.Err() == nil {
		n.refused.Add(1)
	}
	return time.Since(began)
}

func toldOnly(text string) *memoryv1.Message {
	return &memoryv1.Message{Role: memoryv1.Role_ROLE_USER, Text: text, Extract: memoryv1.ExtractMode_EXTRACT_MODE_NONE}
}

// BenchmarkNoisyTenant prints the p99 of a quiet tenant's calls alone, and beside a tenant that would make twenty times as many: the
// median of five runs of each, by turns. Run it with -benchtime 1x.
func BenchmarkNoisyTenant(b *testing.B) {
	h := e2e.StartOn(b, filepath.Join(b.TempDir(), "strata.db"), func(c *config.Config) { c.Auth, c.BootstrapKey = config.AuthRequired, true })
	tenants := map[string]*neighbour{}
	for _, name := range []string{"quiet", "noisy"} {
		replies, err := (e2e.GRPCDoor{Conn: h.Conn}).Call(b.Context(), "KeyService/CreateKey", h.App.FirstKey(), &memoryv1.CreateKeyRequest{
			Tenant: name, Role: memoryv1.KeyRole_KEY_ROLE_AGENT,
		})
		if err != nil {
			b.Fatal(err)
		}
		conn, err := grpc.NewClient(h.Conn.Target(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		token := replies[0].(*memoryv1.CreateKeyResponse).GetToken()
		tenants[name] = &neighbour{MemoryServiceClient: memoryv1.NewMemoryServiceClient(conn), ctx: withBearer(b.Context(), token)}
		fillNeighbour(b, conn, tenants[name])
	}
	for b.Loop() {
		var alone, beside []time.Duration
		for range noisyPhases {
			alone = append(alone, quietPhase(tenants["quiet"]))
			beside = append(beside, beNoisy(tenants["noisy"], func() time.Duration { return quietPhase(tenants["quiet"]) }))
		}
		slices.Sort(alone)
		slices.Sort(beside)
		a, z := alone[noisyPhases/2], beside[noisyPhases/2]
		b.ReportMetric(float64(a.Microseconds())/1000, "ms-p99-alone")
		b.ReportMetric(float64(z.Microseconds())/1000, "ms-p99-beside")
		b.ReportMetric(float64(z)/float64(a), "beside/alone")
		b.ReportMetric(float64(tenants["quiet"].refused.Load()), "quiet-refused")
		b.ReportMetric(float64(tenants["noisy"].done.Load()), "noisy-calls")
		b.ReportMetric(float64(tenants["noisy"].refused.Load()), "noisy-refused")
	}
}

// fillNeighbour stores a thousand messages of ada and waits until they are indexed.
func fillNeighbour(b *testing.B, conn *grpc.ClientConn, n *neighbour) {
	b.Helper()
	for s := range 10 {
		req := &memoryv1.RecordRequest{UserId: "ada", SessionId: fmt.Sprintf("s%d", s)}
		for day := range 100 {
			req.Messages = append(req.Messages, toldOnly(fmt.Sprintf("On day %d I walked %d km along the river and met Mia at the harbour.", 100*s+day, day%9)))
		}
		if _, err := n.Record(n.ctx, req); err != nil {
			b.Fatal(err)
		}
	}
	wait := &memoryv1.WaitForWatermarkRequest{
		UserId: "ada", SessionId: "s9", Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_INDEXED}, Timeout: durationpb.New(20 * time.Second),
	}
	if _, err := memoryv1.NewWorkServiceClient(conn).WaitForWatermark(n.ctx, wait); err != nil {
		b.Fatal(err)
	}
}

// quietPhase calls at the quiet tenant's pace, and returns the p99.
func quietPhase(n *neighbour) time.Duration {
	var took []time.Duration
	next := time.Now()
	for i := range quietCalls {
		next = next.Add(quietPause)
		time.Sleep(time.Until(next))
		took = append(took, n.Call("ada", i))
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}

// beNoisy has the tenant call by all callers while f runs.
func beNoisy(n *neighbour, f func() time.Duration) time.Duration {
	var callers sync.WaitGroup
	var over atomic.Bool
	for c := range noisyCallers {
		callers.Go(func() {
			next := time.Now()
			for i := c; !over.Load(); i++ {
				next = next.Add(quietPause)
				time.Sleep(time.Until(next))
				n.Call("ada", i)
			}
		})
	}
	time.Sleep(200 * time.Millisecond)
	p99 := f()
	over.Store(true)
	callers.Wait()
	return p99
}

func withBearer(ctx context.Context, token string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}
