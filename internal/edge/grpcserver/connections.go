package grpcserver

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/peer"

	"github.com/stratamem/strata/internal/edge/admission"
)

// connections are the open connections of a server: at most so many, and what each holds of replies that its client has
// not read. A client that does not read keeps its replies in this process, whatever its deadlines; its connection is
// closed.
type connections struct {
	net.Listener
	most     int
	patience time.Duration // how long a reply, or a write, may go without being read
	gate     *admission.Gate
	log      *slog.Logger

	undecoded undecoded

	mu   sync.Mutex
	open map[*connection]struct{}
}

// Accept returns the next connection. One above the cap is closed at once, so that its client learns of it and comes
// again later, which it would not while it stood in the kernel's queue.
func (l *connections) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c, ok := l.add(raw); ok {
			return c, nil
		}
		l.gate.Refused(admission.CauseConnections)
		l.log.Warn("a connection is refused: as many are open as max-connections allows", "open", l.most)
		_ = raw.Close()
	}
}

func (l *connections) add(raw net.Conn) (*connection, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.most {
		return nil, false
	}
	c := &connection{Conn: raw, all: l, unread: map[*reply]struct{}{}, requests: newRequestBytes()}
	l.open[c] = struct{}{}
	return c, true
}

func (l *connections) remove(c *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, c)
}

// all are the open connections.
func (l *connections) all() []*connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.open))
}

// cutSlowest closes the connection that holds most of the replies that went unread for a while. It makes room when other
// replies wait for it; where no client is slow it closes none.
func (l *connections) cutSlowest() {
	var slowest *connection
	most := int64(0)
	for _, c := range l.all() {
		if held := c.unreadSince(time.Now().Add(-slowReply)); held > most {
			slowest, most = c, held
		}
	}
	if slowest != nil {
		slowest.cut(admission.CauseSlowReader)
	}
}

// slowReply is how long a reply may go unread while others wait for the memory that it holds.
const slowReply = time.Second

// newConnections bounds a listener.
func newConnections(l net.Listener, limits connectionLimits, gate *admission.Gate, log *slog.Logger) *connections {
	return &connections{
		Listener: l, most: limits.most, patience: limits.patience, gate: gate, log: log, open: map[*connection]struct{}{},
		undecoded: undecoded{most: gate.RequestMemory(), one: oneBytes, less: make(chan struct{})},
	}
}

// connection is one that knows what its client has not read, and what its requests hold.
type connection struct {
	net.Conn
	all *connections

	mu     sync.Mutex
	closed bool
	unread map[*reply]struct{}

	reading  sync.Mutex
	requests requestBytes
}

// reply is one that was not sent whole yet.
type reply struct {
	bytes   int64
	since   time.Time
	release func() // of the memory that it was admitted for
	late    *time.Timer
}

// RemoteAddr returns an address from which the connection is found again.
func (c *connection) RemoteAddr() net.Addr { return connectionAddr{c.Conn.RemoteAddr(), c} }

type connectionAddr struct {
	net.Addr
	connection *connection
}

// connectionOf is the connection that a call came by; nil where it is none of a server's listener.
func connectionOf(ctx context.Context) *connection {
	if p, ok := peer.FromContext(ctx); ok {
		if a, ok := p.Addr.(connectionAddr); ok {
			return a.connection
		}
	}
	c, _ := ctx.Value(connectionKey{}).(*connection) // over HTTP
	return c
}

// Write fails when the client takes nothing for too long, so that the connection is closed.
func (c *connection) Write(b []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.all.patience)); err != nil {
		return 0, fmt.Errorf("set write deadline: %w", err)
	}
	return c.Conn.Write(b)
}

// Close gives back what the replies held that cannot be sent any more.
func (c *connection) Close() error {
	c.mu.Lock()
	c.closed = true
	left := c.unread
	c.unread = nil
	c.mu.Unlock()
	for r := range left {
		r.end()
	}
	c.forget()
	c.all.remove(c)
	return c.Conn.Close()
}

// sending notes a reply that is handed to the transport. The answer must be called when it was sent.
func (c *connection) sending(bytes int64, release func()) (sent func()) {
	r := &reply{bytes: bytes, since: time.Now(), release: release}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		release()
		return func() {}
	}
	r.late = time.AfterFunc(c.all.patience, func() { c.cut(admission.CauseSlowReader) })
	c.unread[r] = struct{}{}
	return func() {
		c.mu.Lock()
		delete(c.unread, r)
		c.mu.Unlock()
		r.end()
	}
}

func (r *reply) end() {
	r.late.Stop()
	r.release()
}

// unreadSince is how much the connection holds, 0 where none of it is older than the time.
func (c *connection) unreadSince(t time.Time) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	held, old := int64(0), false
	for r := range c.unread {
		held += r.bytes
		old = old || r.since.Before(t)
	}
	if !old {
		return 0
	}
	return held
}

// cut closes the connection. The transport notices and ends its calls; a client that reads again connects again.
func (c *connection) cut(cause admission.Cause) {
	c.all.gate.Refused(cause)
	c.all.log.Warn(
		"a connection is closed: its client does not read its replies or send its requests",
		"cause",
		string(cause),
		"peer",
		c.Conn.RemoteAddr().String(),
	)
	_ = c.Close()
}
