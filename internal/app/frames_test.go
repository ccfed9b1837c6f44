package app_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// tappedConn is a connection that keeps what the server sends by it.
type tappedConn struct {
	net.Conn
	mu  *sync.Mutex
	all *bytes.Buffer
}

func (h tappedConn) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all.Write(b[:n])
	return n, err
}

// What the transport sends beside a reply is written, read and acknowledged while a small call runs.
func TestTheServerSendsNothingBesideTheRepliesOfSmallCalls(t *testing.T) {
	h := start(t)
	var mu sync.Mutex
	var all bytes.Buffer
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		return tappedConn{conn, &mu, &all}, err
	}
	conn := must(grpc.NewClient("passthrough:///"+h.conn.Target(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial)))(t)
	defer conn.Close()
	c := memoryv1.NewMemoryServiceClient(conn)
	for i := range 20 {
		must(c.Record(h.ctx, &memoryv1.RecordRequest{
			UserId: "ada", SessionId: "s", Messages: []*memoryv1.Message{user(fmt.Sprint(i), strings.Repeat("plums ", 200))},
		}))(t)
	}
	mu.Lock()
	defer mu.Unlock()
	replied := false
	for frames := http2.NewFramer(nil, bytes.NewReader(all.Bytes())); ; {
		f, err := frames.ReadFrame()
		if err != nil { // the last one may not have come whole
			break
		}
		switch f := f.(type) {
		case *http2.HeadersFrame:
			replied = true
		case *http2.WindowUpdateFrame:
			if replied || f.StreamID != 0 {
				t.Errorf("the server widens the window of stream %d by %d bytes", f.StreamID, f.Increment)
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				t.Error("the server sends a PING")
			}
		}
	}
	if !replied {
		t.Error("no reply was seen")
	}
}

// Requests that are larger than the windows of their stream and connection come whole, side by side.
func TestRequestsLargerThanTheirWindowsComeWhole(t *testing.T) {
	h := start(t)
	words := strings.Repeat("a plum in spring ", 60_000) // a megabyte
	var calls sync.WaitGroup
	for i := range 4 {
		calls.Go(func() {
			_, err := h.Record(h.ctx, &memoryv1.RecordRequest{
				UserId: "ada", SessionId: fmt.Sprint(i), Messages: []*memoryv1.Message{user("a", words), user("b", words)},
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
}
