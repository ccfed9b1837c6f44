package edge_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/grpcserver"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// Every user's data carries a token of its own. Seen in another user's reply, in an error or in the log, it is a leak.
func TestCanaries(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	users := []string{"ada", "Ada", "ada ", "ada'", `ada" OR 1=1`, "ada%", "ada/s", "ad", "$gt", "{}", "été", "e\u0301te\u0301", "한글", "\u1112\u1161\u11ab\u1100\u1173\u11af"}
	canary := func(user string) string { return fmt.Sprintf("canary%xcanary", user) }
	for _, u := range users {
		e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{
			UserId: u, SessionId: "s", Messages: []*memoryv1.Message{e2e.User("m", "the common words and "+canary(u))},
			StatePatch: e2e.Object("k", e2e.StructString(canary(u))),
		}))(t)
	}
	replies := func(u string) []proto.Message {
		return []proto.Message{
			e2e.Must(h.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{UserId: u, SessionId: "other", Query: "common words canary " + canary(users[0]), Explain: true}))(t),
			e2e.Must(h.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{UserId: u, SessionId: "s", Render: memoryv1.Render_RENDER_TEXT}))(t),
			e2e.Must(h.SearchMessages(h.Ctx, &memoryv1.SearchMessagesRequest{UserId: u, Query: "common words"}))(t),
			e2e.Must(h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: u, SessionId: "s"}))(t),
			e2e.Must(h.ListSessions(h.Ctx, &memoryv1.ListSessionsRequest{UserId: u}))(t),
			e2e.Must(h.GetSession(h.Ctx, &memoryv1.GetSessionRequest{UserId: u, SessionId: "s"}))(t),
		}
	}
	for _, u := range users {
		own := false
		for _, reply := range replies(u) {
			text := e2e.Encode(t, reply)
			own = own || strings.Contains(text, canary(u))
			for _, other := range users {
				if other != u && strings.Contains(text, canary(other)) {
					t.Errorf("%q sees the canary of %q in %T", u, other, reply)
				}
			}
		}
		if !own {
			t.Errorf("%q does not even see its own canary", u)
		}
	}
	_, err := h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: []*memoryv1.Message{e2e.User("m", "changed "+canary("error"))}})
	if strings.Contains(fmt.Sprint(err), "canary") {
		t.Errorf("an error holds content: %v", err)
	}
	if strings.Contains(h.Log.String(), "canary") {
		t.Error("the log holds content, at the level debug")
	}
}

func TestServerHabits(t *testing.T) {
	t.Parallel()
	t.Run("answers health, and its handler's time in a trailer", func(t *testing.T) {
		h := e2e.Start(t)
		e2e.Eventually(t, "SERVING", func() bool {
			r, err := healthv1.NewHealthClient(h.Conn).Check(h.Ctx, &healthv1.HealthCheckRequest{Service: "memory.v1.MemoryService"})
			return err == nil && r.GetStatus() == healthv1.HealthCheckResponse_SERVING
		})
		var trailer metadata.MD
		e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: []*memoryv1.Message{e2e.User("", "x")}}, grpc.Trailer(&trailer)))(t)
		if len(trailer.Get(grpcserver.HandlerTimeTrailer)) != 1 {
			t.Errorf("trailer %v", trailer)
		}
	})
	t.Run("drains when it stops: what was acknowledged is there afterwards", func(t *testing.T) {
		h := e2e.Start(t)
		var wg sync.WaitGroup
		var mu sync.Mutex
		acknowledged := map[string]bool{}
		enough := make(chan struct{})
		for w := range 8 {
			wg.Go(func() {
				for i := 0; ; i++ {
					id := fmt.Sprintf("%d-%d", w, i)
					_, err := h.Record(context.WithoutCancel(h.Ctx), &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: []*memoryv1.Message{e2e.User(id, "x")}})
					if err != nil {
						return
					}
					mu.Lock()
					if acknowledged[id] = true; len(acknowledged) == 100 {
						close(enough)
					}
					mu.Unlock()
				}
			})
		}
		over := make(chan struct{})
		go func() { wg.Wait(); close(over) }()
		select {
		case <-enough:
		case <-over:
			t.Fatalf("every writer failed before the server stopped, after %d messages", len(acknowledged))
		}
		h.Stop()
		<-over
		h = e2e.StartOn(t, h.Data, e2e.NoChange)
		stored := map[string]bool{}
		for token := ""; ; {
			r := e2e.Must(h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s", PageSize: 1000, PageToken: token}))(t)
			for _, m := range r.GetMessages() {
				stored[m.GetId()] = true
			}
			if token = r.GetNextPageToken(); token == "" {
				break
			}
		}
		for id := range acknowledged {
			if !stored[id] {
				t.Errorf("message %s was acknowledged and is gone", id)
			}
		}
	})
	t.Run("refuses a second server on the same file and names it", func(t *testing.T) {
		h := e2e.Start(t)
		err := newApp(t, h.Data, "127.0.0.1:0")
		if err == nil || !strings.Contains(err.Error(), h.Data) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("refuses a port that is taken and closes the file again", func(t *testing.T) {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		data := t.TempDir() + "/strata.db"
		if err := newApp(t, data, l.Addr().String()); err == nil {
			t.Fatal("two servers share a port")
		}
		e2e.StartOn(t, data, e2e.NoChange)
	})
	t.Run("refuses a file that is not a database", func(t *testing.T) {
		data := t.TempDir() + "/strata.db"
		if err := os.WriteFile(data, []byte(strings.Repeat("not a database\n", 100)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := newApp(t, data, "127.0.0.1:0"); err == nil || !strings.Contains(err.Error(), data) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("gives up on a call at the deadline", func(t *testing.T) {
		h := e2e.Start(t)
		ctx, cancel := context.WithTimeout(h.Ctx, time.Nanosecond)
		defer cancel()
		_, err := h.GetSession(ctx, &memoryv1.GetSessionRequest{UserId: "ada", SessionId: "s"})
		if status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("error %v", err)
		}
	})
	t.Run("answers a request above the receive limit with RESOURCE_EXHAUSTED", func(t *testing.T) {
		h := e2e.Start(t)
		_, err := h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: []*memoryv1.Message{e2e.User("", strings.Repeat("x", 9<<20))}})
		if status.Code(err) != codes.ResourceExhausted {
			t.Errorf("code %v", status.Code(err))
		}
	})
}

// newApp tries to start a program that should not start.
func newApp(t *testing.T, data, listen string) error {
	t.Helper()
	cfg := config.Default()
	cfg.Data, cfg.Listen = data, listen
	_, err := app.New(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler), Version: "test"})
	return err
}
