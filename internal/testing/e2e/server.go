// Package e2e starts the real server on a socket for tests, and has what tests of several themes share: a client, calls that
// may not fail, a scripted model, and real MongoDB, Milvus and Elasticsearch where they run. The folders below hold the
// tests, one for each theme.
package e2e

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/storetest/datafile"
)

// Server is the real server over a socket, with a client and everything it logged.
type Server struct {
	memoryv1.MemoryServiceClient
	History memoryv1.HistoryServiceClient
	Conn    *grpc.ClientConn
	Ctx     context.Context
	Log     *Lines
	Data    string
	Metrics string // the address of /metrics; "" where it is off
	Stop    func()
	App     *app.App
	Store   store.PrimaryStore // that the server is over
}

// Lines is a log that can be read while it is written.
type Lines struct {
	sync.Mutex
	b strings.Builder
}

func (l *Lines) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.b.Write(p)
}

func (l *Lines) String() string {
	l.Lock()
	defer l.Unlock()
	return l.b.String()
}

// Start serves a fresh data file.
func Start(t *testing.T) *Server {
	t.Helper()
	return StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(*config.Config) {})
}

func StartOn(t testing.TB, data string, change func(*config.Config)) *Server {
	t.Helper()
	return StartWith(t, data, app.Options{}, change)
}

// StartWith is startOn with something between the server and its stores.
func StartWith(t testing.TB, data string, o app.Options, change func(*config.Config)) *Server {
	t.Helper()
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.MetricsListen = data, "127.0.0.1:0", ""
	// A slow machine fails no test that is not about deadlines: the longest that the settings take.
	cfg.RequestTimeout = 5 * time.Minute
	cfg.EmbeddingDeadline, cfg.ViewDeadline, cfg.RerankDeadline = 10*time.Second, 10*time.Second, 10*time.Second
	for name, p := range cfg.Profiles {
		p.Summaries.Idle = 0 // nor has it a session summarised in the midst of a test because time went by
		cfg.Profiles[name] = p
	}
	change(&cfg)
	h := &Server{Ctx: t.Context(), Log: &Lines{}, Data: data}
	o.Log, o.Version = slog.New(slog.NewTextHandler(h.Log, &slog.HandlerOptions{Level: slog.LevelDebug})), "test"
	wrap := o.Hooks.Wrap
	o.Hooks.Wrap = func(s store.PrimaryStore) store.PrimaryStore {
		if wrap != nil {
			s = wrap(s)
		}
		h.Store = s
		return s
	}
	if !cfg.MongoDBURI.IsSet() {
		datafile.At(t, cfg.Data)
	}
	a, err := app.New(t.Context(), cfg, o)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	h.Stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	t.Cleanup(h.Stop)
	h.App, h.Metrics = a, a.MetricsAddr()
	h.Conn, err = grpc.NewClient(a.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { _ = h.Conn.Close() })
	h.MemoryServiceClient, h.History = memoryv1.NewMemoryServiceClient(h.Conn), memoryv1.NewHistoryServiceClient(h.Conn)
	return h
}

func User(id, words string) *memoryv1.Message {
	return &memoryv1.Message{Id: id, Role: memoryv1.Role_ROLE_USER, Text: words}
}

func Assistant(id, words string) *memoryv1.Message {
	return &memoryv1.Message{Id: id, Role: memoryv1.Role_ROLE_ASSISTANT, Text: words}
}

func (h *Server) RecordTurn(t *testing.T, session string, messages ...*memoryv1.Message) *memoryv1.RecordResponse {
	t.Helper()
	return Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: session, Messages: messages}))(t)
}

func (h *Server) Transcript(t *testing.T, session string) []*memoryv1.Message {
	t.Helper()
	return Must(h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: session, PageSize: 1000, IncludeOriginal: true}))(t).GetMessages()
}

// Must returns the reply of a call that may not fail.
func Must[T any](reply T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatalf("call: %v", err)
		}
		return reply
	}
}

// Refused checks the code and the reason of an error, and that it names the field where one is given.
func Refused(t *testing.T, err error, code codes.Code, reason, field string) {
	t.Helper()
	st := status.Convert(err)
	if st.Code() != code {
		t.Fatalf("code %v, want %v: %v", st.Code(), code, err)
	}
	gotReason, gotFields := "", []string(nil)
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			gotReason = d.GetReason()
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				gotFields = append(gotFields, v.GetField())
			}
		}
	}
	if gotReason != reason {
		t.Errorf("reason %q, want %q: %v", gotReason, reason, err)
	}
	if field != "" && (len(gotFields) == 0 || gotFields[0] != field) {
		t.Errorf("fields %v, want %q first: %v", gotFields, field, err)
	}
}

// InTime makes a call under a deadline of the client's until its reply comes in time. What the server leaves of the time for its reply
// is a quarter of a second, which a machine that does other work may lose many times, but not each time.
func InTime[T any](ctx context.Context, t *testing.T, deadline time.Duration, call func(context.Context) (T, error)) T {
	t.Helper()
	for began := time.Now(); ; {
		bounded, cancel := context.WithTimeout(ctx, deadline)
		reply, err := call(bounded)
		cancel()
		if status.Code(err) != codes.DeadlineExceeded || time.Since(began) > EventuallyWithin {
			return Must(reply, err)(t)
		}
	}
}

// EventuallyWithin is far above what anything takes: the tests run side by side, under the race detector too, on machines
// that do other work, and what failed in the background is tried again only after a pause.
const EventuallyWithin = 2 * time.Minute

// LongWait is how long a call waits for what must come: the few seconds that it waits where nothing is said may pass on such a machine.
var LongWait = durationpb.New(EventuallyWithin)

// Eventually waits for what the background does; it polls, since nothing announces it to a client.
func Eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(EventuallyWithin)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("%s did not happen within %s", what, EventuallyWithin)
		case <-tick.C:
		}
	}
}
