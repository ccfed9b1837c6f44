package backendtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"
)

// Fault is what goes wrong on the way to a server.
type Fault string

// The faults of a Proxy.
const (
	Refused   Fault = "refused"   // nobody listens
	Hanging   Fault = "hanging"   // what is sent arrives nowhere, and nothing comes back
	Slow      Fault = "slow"      // every answer takes two seconds longer
	Resetting Fault = "resetting" // connections are torn down as soon as something is sent
)

// Faults are all of them.
func Faults() []Fault { return []Fault{Refused, Hanging, Slow, Resetting} }

const (
	slowBy  = 2 * time.Second // how much later an answer arrives under Slow
	queued  = 256             // pieces of an answer that are on their way at once
	pieceOf = 32 << 10        // bytes of a piece
)

// Proxy stands between clients and a server, and disturbs their connections as a test wants.
type Proxy struct {
	server, addr string
	running      sync.WaitGroup // goroutines that accept and copy

	mu       sync.Mutex
	listener net.Listener // nil while it refuses
	links    map[*link]struct{}
	fault    Fault         // "" while there is none
	healed   chan struct{} // closed when the fault ends
}

// link is a client's connection and the one to the server that belongs to it.
type link struct {
	client, server *net.TCPConn
	lossy          bool // something that was sent did not arrive; guarded by the proxy's mutex
}

// close ends both connections.
func (l *link) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}

// NewProxy stands before the server at HOST:PORT, at an address of its own, without a fault. The caller must call Close.
func NewProxy(server string) (*Proxy, error) {
	p := &Proxy{server: server, addr: "127.0.0.1:0", links: map[*link]struct{}{}, healed: make(chan struct{})}
	if err := p.listen(); err != nil {
		return nil, err
	}
	p.addr = p.listener.Addr().String()
	return p, nil
}

// Addr is where clients reach the server through the proxy.
func (p *Proxy) Addr() string { return p.addr }

// In returns an address or URL of the server with the proxy's address in it.
func (p *Proxy) In(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return p.Addr()
	}
	u.Host = p.Addr()
	return u.String()
}

// HostOf is the HOST:PORT of an address or URL.
func HostOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return address
}

// Break does the fault to all connections, those that are open too, until Heal.
func (p *Proxy) Break(f Fault) error {
	p.mu.Lock()
	p.fault = f
	p.mu.Unlock()
	if f != Refused {
		return nil
	}
	return p.refuse()
}

// Heal ends the fault. A connection on which something was lost is closed: what came after it would be read as its end.
func (p *Proxy) Heal() error {
	p.mu.Lock()
	refused := p.listener == nil
	p.fault = ""
	close(p.healed)
	p.healed = make(chan struct{})
	for l := range p.links {
		if l.lossy {
			l.close()
		}
	}
	p.mu.Unlock()
	if refused {
		return p.listen()
	}
	return nil
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() {
	p.refuse() //nolint:errcheck // a listener that is closed already is what is wanted
	p.running.Wait()
}

// listen accepts connections at the proxy's address from now on.
func (p *Proxy) listen() error {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", p.addr)
	if err != nil {
		return fmt.Errorf("start a proxy before %s: %w", p.server, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener = l
	p.running.Go(func() { p.accept(l) })
	return nil
}

// refuse closes the listener and all connections.
func (p *Proxy) refuse() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	if p.listener != nil {
		err = p.listener.Close()
		p.listener = nil
	}
	for l := range p.links {
		l.close()
	}
	return err
}

func (p *Proxy) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		p.running.Go(func() { p.connect(listener, client.(*net.TCPConn)) })
	}
}

// connect joins a client to the server. A server that cannot be reached ends the client's connection.
func (p *Proxy) connect(listener net.Listener, client *net.TCPConn) {
	server, err := (&net.Dialer{}).Dial("tcp", p.server)
	if err != nil {
		_ = client.Close()
		return
	}
	l := &link{client: client, server: server.(*net.TCPConn)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != listener { // it was closed while the connection was made
		l.close()
		return
	}
	p.links[l] = struct{}{}
	p.running.Go(func() { p.request(l) })
	p.running.Go(func() { p.respond(l) })
}

// request copies what the client sends.
func (p *Proxy) request(l *link) {
	defer func() { _ = l.server.Close() }()
	piece := make([]byte, pieceOf)
	for {
		n, err := l.client.Read(piece)
		if n > 0 && p.passes(l) {
			if _, err := l.server.Write(piece[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// passes reports whether what a client sends is to arrive, and tears the connection down where that is the fault.
func (p *Proxy) passes(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.fault {
	case Hanging:
		l.lossy = true
	case Resetting:
		l.lossy = true
		l.client.SetLinger(0) //nolint:errcheck // a connection that is gone already cannot be reset
		l.server.SetLinger(0) //nolint:errcheck // the same
		l.close()
	}
	return !l.lossy
}

// delayed is a piece of an answer and when the client may see it.
type delayed struct {
	bytes []byte
	due   time.Time
	early <-chan struct{} // closed when it may come before that
}

// respond copies what the server sends, each piece after its delay.
func (p *Proxy) respond(l *link) {
	pieces := make(chan delayed, queued)
	p.running.Go(func() {
		defer p.forget(l)
		for piece := range pieces {
			piece.wait()
			l.client.Write(piece.bytes) //nolint:errcheck // a client that is gone needs nothing
		}
	})
	defer close(pieces)
	for {
		bytes := make([]byte, pieceOf)
		n, err := l.server.Read(bytes)
		if n > 0 {
			pieces <- p.delay(bytes[:n])
		}
		if err != nil {
			return
		}
	}
}

func (p *Proxy) delay(bytes []byte) delayed {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := delayed{bytes: bytes, due: time.Now(), early: p.healed}
	if p.fault == Slow {
		d.due = d.due.Add(slowBy)
	}
	return d
}

func (d delayed) wait() {
	left := time.Until(d.due)
	if left <= 0 {
		return
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-t.C:
	case <-d.early:
	}
}

// forget closes a link whose answers have ended.
func (p *Proxy) forget(l *link) {
	l.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}
