package edge_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// slowTruth is the real store, in which reading a large page of messages waits, or panics.
type slowTruth struct {
	store.PrimaryStore
	reading chan struct{} // is sent to when such a read begins
	goOn    chan error    // lets it go on; an error makes it panic
}

// largePage is above what a call may read that was not admitted as a heavy one.
const largePage = 1 << 20

func (s *slowTruth) Messages(ctx context.Context, q store.MessageQuery) ([]memory.Message, error) {
	if _, isCall := ctx.Deadline(); isCall && q.MaxBytes > largePage { // background work reads on
		s.reading <- struct{}{}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case err := <-s.goOn:
			if err != nil {
				panic(err)
			}
		}
	}
	return s.PrimaryStore.Messages(ctx, q)
}

// overload is a server in which one heavy call may run, beside a session whose page is heavy to read.
type overload struct {
	*e2e.Server
	truth *slowTruth
}

func newOverload(t *testing.T, change func(*config.Config)) *overload {
	t.Helper()
	o := &overload{truth: &slowTruth{reading: make(chan struct{}, 64), goOn: make(chan error)}}
	o.Server = e2e.StartWith(t, filepath.Join(t.TempDir(), "strata.db"), app.Options{Hooks: app.Hooks{Wrap: func(truth store.PrimaryStore) store.PrimaryStore {
		o.truth.PrimaryStore = truth
		return o.truth
	}}}, func(c *config.Config) {
		c.HeavyCalls, c.MetricsListen = 1, "127.0.0.1:0"
		change(c)
	})
	for range 3 {
		o.RecordTurn(t, "large", e2e.User("", strings.Repeat("word ", 100<<10)))
	}
	return o
}

// list asks for the large page.
func (o *overload) list(ctx context.Context) error {
	_, err := o.ListMessages(ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "large", PageSize: 100})
	return err
}

// begin asks for the large page and returns when the call runs as the one heavy call.
func (o *overload) begin(ctx context.Context) (ended chan error) {
	ended = make(chan error, 1)
	go func() { ended <- o.list(ctx) }()
	<-o.truth.reading
	return ended
}

func TestOverload(t *testing.T) {
	t.Run("a heavy call above the cap is refused with a time to retry, small ones are answered beside it, and its place is free again", func(t *testing.T) {
		o := newOverload(t, func(*config.Config) {})
		first := o.begin(o.Ctx)
		history := &memoryv1.CompactRequest{Messages: []*memoryv1.Message{e2e.User("m1", strings.Repeat("word ", 20<<10))}}
		_, err := o.History.Compact(o.Ctx, history)
		e2e.Overloaded(t, err)
		e2e.Overloaded(t, o.list(o.Ctx))
		o.RecordTurn(t, "small", e2e.User("", "I like figs"))
		e2e.Must(o.BuildContext(o.Ctx, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "small"}))(t)
		e2e.Must(o.History.Compact(o.Ctx, &memoryv1.CompactRequest{Messages: []*memoryv1.Message{e2e.User("m1", "I like figs")}}))(t)
		if got := o.Metric(t, "strata_calls_refused_total", "heavy_calls"); got != 2 {
			t.Errorf("%v refused heavy calls are counted, want 2", got)
		}
		o.truth.goOn <- nil
		if err := <-first; err != nil {
			t.Fatal(err)
		}
		e2e.Must(o.History.Compact(o.Ctx, history))(t)
	})
	t.Run("the place of a call whose caller goes, or that panics, is free again", func(t *testing.T) {
		o := newOverload(t, func(*config.Config) {})
		ctx, cancel := context.WithCancel(o.Ctx)
		gone := o.begin(ctx)
		cancel()
		<-gone
		panicked := o.begin(o.Ctx)
		o.truth.goOn <- errors.New("a fault")
		if err := <-panicked; status.Code(err) != codes.Internal {
			t.Errorf("error %v, want INTERNAL", err)
		}
		last := o.begin(o.Ctx)
		o.truth.goOn <- nil
		if err := <-last; err != nil {
			t.Fatal(err)
		}
		e2e.Eventually(t, "everything is given back", func() bool {
			return o.Metric(t, "strata_heavy_calls", "") == 0 && o.Metric(t, "strata_calls_held_bytes", "work") == 0
		})
	})
	t.Run("a context over large messages is a heavy call, though its request is small", func(t *testing.T) {
		o := newOverload(t, func(*config.Config) {})
		first := o.begin(o.Ctx)
		budget, recent := int64(10_000_000), int32(1000)
		_, err := o.BuildContext(o.Ctx, &memoryv1.BuildContextRequest{
			UserId: "ada", SessionId: "large", Overrides: &memoryv1.ContextOverrides{BudgetTokens: &budget, RecentN: &recent},
		})
		e2e.Overloaded(t, err)
		o.truth.goOn <- nil
		<-first
	})
	t.Run("large requests hold no more than their share of the memory, and give it back", func(t *testing.T) {
		o := newOverload(t, func(c *config.Config) { c.CallMemory = 64 << 20 })
		first := o.begin(o.Ctx)
		var calls sync.WaitGroup
		for range 16 {
			calls.Go(func() {
				m := e2e.User("", strings.Repeat("word ", 190_000))
				_, err := o.Record(o.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "more", Messages: []*memoryv1.Message{m, m}})
				e2e.Overloaded(t, err)
			})
		}
		calls.Wait()
		if got := o.Metric(t, "strata_calls_refused_total", "request_bytes"); got == 0 {
			t.Error("no request was refused before it was decoded")
		}
		o.truth.goOn <- nil
		<-first
		e2e.Eventually(t, "everything is given back", func() bool { return o.Metric(t, "strata_calls_held_bytes", "requests") == 0 })
	})
	t.Run("a request of millions of empty messages is refused before they are made", func(t *testing.T) {
		o := newOverload(t, func(*config.Config) {})
		empty := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), nil)
		body, reply := bytes.Repeat(empty, 2<<20), []byte(nil)
		err := o.Conn.Invoke(o.Ctx, memoryv1.HistoryService_Compact_FullMethodName, &body, &reply, grpc.ForceCodec(e2e.RawCodec{}))
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "request")
	})
	t.Run("a client that does not read is cut off, and its replies are given back", func(t *testing.T) {
		o := newOverload(t, func(c *config.Config) { c.ReplyTimeout = 2 * time.Second })
		stop := make(chan struct{})
		var answers sync.WaitGroup
		answers.Go(func() {
			for {
				select {
				case o.truth.goOn <- nil:
				case <-stop:
					return
				}
			}
		})
		defer answers.Wait()
		defer close(stop)
		ctx, cancel := context.WithCancel(o.Ctx)
		defer cancel()
		lazy := e2e.Must(grpc.NewClient(o.Conn.Target(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithStaticStreamWindowSize(64<<10)))(t)
		defer lazy.Close()
		for range 4 { // it asks and never takes what it asked for; its windows stay shut, its connection lives
			stream := e2e.Must(lazy.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, memoryv1.MemoryService_ListMessages_FullMethodName))(t)
			if err := stream.SendMsg(&memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "large", PageSize: 100}); err != nil {
				t.Fatal(err)
			}
			if err := stream.CloseSend(); err != nil {
				t.Fatal(err)
			}
		}
		cut := func() bool { return o.Metric(t, "strata_calls_refused_total", "slow_reader") > 0 }
		e2e.Eventually(t, "replies are held", func() bool { // or no longer, where the looks are far between
			return o.Metric(t, "strata_calls_held_bytes", "replies") > 1<<20 || cut()
		})
		e2e.Eventually(t, "the client is cut off", cut)
		e2e.Eventually(t, "its replies are given back", func() bool { return o.Metric(t, "strata_calls_held_bytes", "replies") == 0 })
		o.RecordTurn(t, "small", e2e.User("", "I like figs"))
	})
	t.Run("a connection above the cap is closed, and one may come where one has gone", func(t *testing.T) {
		o := newOverload(t, func(c *config.Config) { c.MaxConnections = 2 })
		second := dialRaw(t, o.Conn.Target())
		if third := dialRaw(t, o.Conn.Target()); !closedSoon(third) {
			t.Error("a third connection is open")
		}
		_ = second.Close()
		e2e.Eventually(t, "another connection is taken", func() bool { return !closedSoon(dialRaw(t, o.Conn.Target())) })
		if got := o.Metric(t, "strata_calls_refused_total", "connections"); got == 0 {
			t.Error("no refused connection is counted")
		}
	})
}

func dialRaw(t *testing.T, address string) net.Conn {
	t.Helper()
	c := e2e.Must((&net.Dialer{}).DialContext(t.Context(), "tcp", address))(t)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// closedSoon reports whether the server closes a connection; one that it keeps is greeted with settings.
func closedSoon(c net.Conn) bool {
	if _, err := c.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")); err != nil {
		return true
	}
	_, err := io.ReadFull(c, make([]byte, 9))
	return err != nil
}
