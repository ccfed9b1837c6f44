package client_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/client"
)

// failure is what a call fails with; after is RetryInfo, none where it is negative.
type failure struct {
	code     codes.Code
	reason   string
	after    time.Duration
	metadata map[string]string
}

func (f failure) err() error {
	var details []protoadapt.MessageV1
	if f.reason != "" {
		details = append(details, &errdetails.ErrorInfo{Reason: f.reason, Domain: "strata", Metadata: f.metadata})
	}
	if f.after >= 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(f.after)})
	}
	s, err := status.New(f.code, "told to").WithDetails(details...)
	if err != nil {
		return err
	}
	return s.Err()
}

// failing is a server that fails as its list says, then does well. It keeps what it was asked.
type failing struct {
	memoryv1.UnimplementedMemoryServiceServer

	mu       sync.Mutex
	failures []failure
	ids      []string // of each call's request
	keys     []string
}

func (f *failing) take(ctx context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids = append(f.ids, id)
	md, _ := metadata.FromIncomingContext(ctx)
	f.keys = append(f.keys, md.Get("authorization")...)
	if len(f.failures) == 0 {
		return nil
	}
	next := f.failures[0]
	f.failures = f.failures[1:]
	return next.err()
}

func (f *failing) Record(ctx context.Context, r *memoryv1.RecordRequest) (*memoryv1.RecordResponse, error) {
	return &memoryv1.RecordResponse{LastSeq: 7}, f.take(ctx, r.GetRequestId())
}

func (f *failing) ListMessages(ctx context.Context, _ *memoryv1.ListMessagesRequest) (*memoryv1.ListMessagesResponse, error) {
	return &memoryv1.ListMessagesResponse{}, f.take(ctx, "")
}

func (f *failing) UpdateMessage(ctx context.Context, _ *memoryv1.UpdateMessageRequest) (*memoryv1.UpdateMessageResponse, error) {
	return &memoryv1.UpdateMessageResponse{}, f.take(ctx, "")
}

// fails starts a server with failures, and returns a client that comes back at once.
func fails(t *testing.T, opts client.Options, failures ...failure) (*failing, *client.Client) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f, s := &failing{failures: failures}, grpc.NewServer()
	memoryv1.RegisterMemoryServiceServer(s, f)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	if opts.Retry.Attempts == 0 {
		opts.Retry = client.Retry{Attempts: 4, First: time.Millisecond}
	}
	c, err := client.New(l.Addr().String(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return f, c
}

func TestAWriteIsRepeatedWithTheSameRequestID(t *testing.T) {
	t.Parallel()
	f, c := fails(t, client.Options{},
		failure{code: codes.Unavailable, reason: "STORE_UNAVAILABLE"},
		failure{code: codes.ResourceExhausted, reason: "OVERLOADED", metadata: map[string]string{"cause": "reply_bytes"}},
		failure{code: codes.Aborted, reason: "CONTENTION"},
	)
	turn := &memoryv1.RecordRequest{UserId: "u", SessionId: "s", Messages: []*memoryv1.Message{{Text: "a"}}}
	reply, err := c.Memory.Record(t.Context(), turn)
	if err != nil || reply.GetLastSeq() != 7 {
		t.Fatalf("Record: %v, %v", reply, err)
	}
	if len(f.ids) != 4 || f.ids[0] == "" || len(slices.Compact(slices.Clone(f.ids))) != 1 {
		t.Errorf("the request ids were %q: want one id four times", f.ids)
	}
	if turn.GetRequestId() != "" {
		t.Error("the caller's own request was changed")
	}
}

func TestTheCallersRequestIDIsSent(t *testing.T) {
	t.Parallel()
	f, c := fails(t, client.Options{Key: "st_secret"}, failure{code: codes.Unavailable, after: -1})
	if _, err := c.Memory.Record(t.Context(), &memoryv1.RecordRequest{RequestId: "turn-1"}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.ids, []string{"turn-1", "turn-1"}) {
		t.Errorf("the request ids were %q", f.ids)
	}
	if !slices.Equal(f.keys, []string{"Bearer st_secret", "Bearer st_secret"}) {
		t.Error("the key does not stand in the metadata of every attempt")
	}
}

func TestAfterTheLastAttemptTheErrorStands(t *testing.T) {
	t.Parallel()
	f, c := fails(t, client.Options{}, slices.Repeat([]failure{{code: codes.Unavailable, reason: "STORE_UNAVAILABLE"}}, 9)...)
	_, err := c.Memory.Record(t.Context(), &memoryv1.RecordRequest{})
	if len(f.ids) != 4 || client.Code(err) != codes.Unavailable || client.Reason(err) != "STORE_UNAVAILABLE" {
		t.Errorf("%d calls, %v", len(f.ids), err)
	}
	if status.Code(err) != codes.Unavailable {
		t.Errorf("status.Code is %v", status.Code(err))
	}
}

func TestAWaitThatTheDeadlineDoesNotHoldIsNotBegun(t *testing.T) {
	t.Parallel()
	f, c := fails(t, client.Options{Timeout: time.Minute}, failure{code: codes.Unavailable, reason: "STORE_UNAVAILABLE", after: time.Hour})
	_, err := c.Memory.Record(t.Context(), &memoryv1.RecordRequest{})
	var e *client.Error
	if !errors.As(err, &e) || e.RetryAfter == nil || *e.RetryAfter != time.Hour || len(f.ids) != 1 {
		t.Errorf("%d calls, %v", len(f.ids), err)
	}
}

func TestAChangeWithoutARequestIDIsRepeatedOnlyWhereNothingWasDone(t *testing.T) {
	t.Parallel()
	full := map[string]string{"cause": "reply_bytes"}
	for name, want := range map[string]struct {
		failure failure
		calls   int
	}{
		"the service says so":                         {failure{code: codes.Unavailable, reason: "STORE_UNAVAILABLE"}, 2},
		"the connection broke: it may have been done": {failure{code: codes.Unavailable, after: -1}, 1},
		"it was done, and the reply had no room":      {failure{code: codes.ResourceExhausted, metadata: full, reason: "OVERLOADED"}, 1},
		"overloaded before it was begun":              {failure{code: codes.ResourceExhausted, reason: "OVERLOADED"}, 2},
		"the disk is full, and nobody says how long":  {failure{code: codes.ResourceExhausted, reason: "STORE_FULL", after: -1}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, c := fails(t, client.Options{}, want.failure)
			_, err := c.Memory.UpdateMessage(t.Context(), &memoryv1.UpdateMessageRequest{})
			if len(f.ids) != want.calls || (err == nil) != (want.calls == 2) {
				t.Errorf("%d calls, %v", len(f.ids), err)
			}
		})
	}
}

func TestWhatDoesNotPassIsNotRepeated(t *testing.T) {
	t.Parallel()
	for code, reason := range map[codes.Code]string{
		codes.Aborted: "ETAG_MISMATCH", codes.InvalidArgument: "FIELD_INVALID", codes.Internal: "INTERNAL", codes.DeadlineExceeded: "",
	} {
		f, c := fails(t, client.Options{}, failure{code: code, reason: reason, after: -1})
		_, err := c.Memory.Record(t.Context(), &memoryv1.RecordRequest{})
		if len(f.ids) != 1 || client.Code(err) != code || client.Reason(err) != reason {
			t.Errorf("%v: %d calls, %v", code, len(f.ids), err)
		}
	}
}

func TestWaitsDoubleBelowTheirBoundAndHonourTheService(t *testing.T) {
	t.Parallel()
	retry := client.Retry{Attempts: 10, First: 100 * time.Millisecond, Most: time.Second, Draw: func() float64 { return 1 }}
	var waits []time.Duration
	for attempt := range 5 {
		wait, ok := client.WaitAfter(retry, &client.Error{Code: codes.Unavailable}, attempt+1, true)
		if !ok {
			t.Fatal("the error stands")
		}
		waits = append(waits, wait/time.Millisecond)
	}
	if !slices.Equal(waits, []time.Duration{100, 200, 400, 800, 1000}) {
		t.Errorf("the waits are %v ms", waits)
	}
	after := 3 * time.Second
	asked := &client.Error{Code: codes.Unavailable, Reason: "SHUTTING_DOWN", RetryAfter: &after}
	if wait, _ := client.WaitAfter(retry, asked, 1, false); wait != 3100*time.Millisecond {
		t.Errorf("the service asks for 3 s, the wait is %v", wait)
	}
	if _, ok := client.WaitAfter(retry, asked, 10, true); ok {
		t.Error("there is an attempt after the last")
	}
}

func TestACallThatIsGivenUpSaysSo(t *testing.T) {
	t.Parallel()
	_, c := fails(t, client.Options{}, failure{code: codes.Unavailable, reason: "STORE_UNAVAILABLE", after: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Memory.Record(ctx, &memoryv1.RecordRequest{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up: %v", err)
	}
	short, stop := context.WithTimeout(t.Context(), 0)
	defer stop()
	if _, err := c.Memory.Record(short, &memoryv1.RecordRequest{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call without time: %v", err)
	}
}

func TestAddressAndKeyComeFromTheEnvironment(t *testing.T) {
	f, c := fails(t, client.Options{})
	t.Setenv("STRATA_SERVER", client.Target(c))
	t.Setenv("STRATA_KEY", "of-the-environment")
	own, err := client.New("", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	for _, err := range own.Messages(t.Context(), &memoryv1.ListMessagesRequest{}) {
		t.Fatal(err)
	}
	if !slices.Equal(f.keys, []string{"Bearer of-the-environment"}) {
		t.Errorf("the server saw %q", f.keys)
	}
}
