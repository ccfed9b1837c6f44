package edge_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/client"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// tappedConn is a connection of a client that keeps what is sent by it.
type tappedConn struct {
	net.Conn
	received, sent *tape
}

// tape is what was sent in a direction.
type tape struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (t *tape) keep(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all.Write(b)
}

// frames are those on the tape, behind a number of bytes; the last one may not have come whole, and is left out.
func (t *tape) frames(behind int) (all []http2.Frame) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for frames := http2.NewFramer(nil, bytes.NewReader(t.all.Bytes()[min(behind, t.all.Len()):])); ; {
		f, err := frames.ReadFrame()
		if err != nil {
			return all
		}
		all = append(all, f)
	}
}

func (c tappedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.keep(b[:n])
	return n, err
}

func (c tappedConn) Write(b []byte) (int, error) {
	c.sent.keep(b)
	return c.Conn.Write(b)
}

// What the transport sends beside a call and its reply is written, read and acknowledged while a small call runs.
func TestNothingIsSentBesideSmallCallsAndTheirReplies(t *testing.T) {
	h := e2e.Start(t)
	var received, sent tape
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		return tappedConn{conn, &received, &sent}, err
	}
	c := e2e.Must(client.New(h.Conn.Target(), client.Options{Dial: []grpc.DialOption{grpc.WithContextDialer(dial)}}))(t)
	defer c.Close()
	for i := range 20 {
		e2e.Must(c.Memory.Record(h.Ctx, &memoryv1.RecordRequest{
			UserId: "ada", SessionId: "s", Messages: []*memoryv1.Message{e2e.User(fmt.Sprint(i), strings.Repeat("plums ", 200))},
		}))(t)
	}
	calls := 0
	for side, frames := range map[string][]http2.Frame{"server": received.frames(0), "client": sent.frames(len(http2.ClientPreface))} {
		for _, f := range frames {
			switch f := f.(type) {
			case *http2.HeadersFrame:
				calls++
			case *http2.WindowUpdateFrame:
				if calls > 0 || f.StreamID != 0 {
					t.Errorf("the %s widens the window of stream %d by %d bytes", side, f.StreamID, f.Increment)
				}
			case *http2.PingFrame:
				if !f.IsAck() {
					t.Errorf("the %s sends a PING", side)
				}
			}
		}
		if calls == 0 {
			t.Errorf("nothing that the %s sent was seen", side)
		}
		calls = 0
	}
}

// Requests that are larger than the windows of their stream and connection come whole, side by side.
func TestRequestsLargerThanTheirWindowsComeWhole(t *testing.T) {
	h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) {
		c.HeavyCalls, c.CallMemory = 4, 1<<30 // else one waits for the others, and is refused where they take long
	})
	words := strings.Repeat("a plum in spring ", 60_000) // a megabyte
	var calls sync.WaitGroup
	for i := range 4 {
		calls.Go(func() {
			_, err := h.Record(h.Ctx, &memoryv1.RecordRequest{
				UserId: "ada", SessionId: fmt.Sprint(i), Messages: []*memoryv1.Message{e2e.User("a", words), e2e.User("b", words)},
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
}
