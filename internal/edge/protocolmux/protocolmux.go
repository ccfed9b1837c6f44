// Package protocolmux serves two protocols on one port: it reads the beginning of each connection and hands those of gRPC to one
// listener and all others to another.
//
// HTTP/1.1 is known by its first bytes. Over HTTP/2 gRPC is known by the content type of the first request, and most gRPC clients
// send none before they have the server's SETTINGS frame (RFC 9113, 3.4). So an empty one is sent to them, and its acknowledgement
// is taken out of what they send: the server that gets the connection sends its own, and must see one acknowledgement alone.
package protocolmux

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/stratamem/strata/internal/memory/safegroup"
)

// maxBeginning bounds the bytes of a connection that are read before it is handed on: settings and the headers of a request.
const maxBeginning = 64 << 10

// Mux divides the connections of a listener.
type Mux struct {
	from     net.Listener
	patience time.Duration
	grpc     *queue
	http     *queue
}

// New divides the connections that l accepts. A client that does not begin a request within patience is cut off.
func New(l net.Listener, patience time.Duration) *Mux {
	closed := make(chan struct{})
	once := &sync.Once{}
	q := func() *queue { return &queue{from: l, conns: make(chan net.Conn), closed: closed, once: once} }
	return &Mux{from: l, patience: patience, grpc: q(), http: q()}
}

// GRPC is the listener of gRPC's connections. Closing it closes both, and the divided one.
func (m *Mux) GRPC() net.Listener { return m.grpc }

// HTTP is the listener of all other connections. Closing it closes both, and the divided one.
func (m *Mux) HTTP() net.Listener { return m.http }

// Serve divides connections until the listener is closed, and returns net.ErrClosed then, or why it failed.
func (m *Mux) Serve() error {
	defer m.grpc.Close() //nolint:errcheck // the listener is closed, or its error is returned
	for {
		c, err := m.from.Accept()
		if err != nil {
			return err
		}
		safegroup.Go(func() error { return m.divide(c) }, func(error) {})
	}
}

// divide hands one connection on.
func (m *Mux) divide(c net.Conn) error {
	began, isGRPC, err := begin(c, m.patience)
	if err != nil {
		refusePlainHTTP(err)
		_ = c.Close()
		return err
	}
	to := m.http
	if isGRPC {
		to = m.grpc
	}
	select {
	case to.conns <- began:
		return nil
	case <-to.closed:
		return c.Close()
	}
}

// refusePlainHTTP replies to a client that speaks plain HTTP/1.1 where the listener's connections speak TLS, in the words of net/http,
// whose server never sees the connection. Other errors have no reply.
func refusePlainHTTP(err error) {
	notTLS, ok := errors.AsType[tls.RecordHeaderError](err)
	if !ok || notTLS.Conn == nil || !beginsAsHTTP1(notTLS.RecordHeader) {
		return
	}
	_, _ = io.WriteString(notTLS.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
}

// beginsAsHTTP1 reports whether the first bytes of a connection are those of a request of HTTP/1.1.
func beginsAsHTTP1(first [5]byte) bool {
	switch string(first[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELET", "OPTIO":
		return true
	}
	return false
}

// begin reads the beginning of a connection, within patience. One that begins as HTTP/2 and sends no request in that time is a
// gRPC client that keeps a connection for later.
func begin(c net.Conn, patience time.Duration) (began net.Conn, isGRPC bool, err error) {
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, false, err
	}
	read := &beginning{from: c}
	is2, err := read.preface()
	if err != nil {
		return nil, false, err
	}
	if is2 {
		if _, err := c.Write(emptySettings()); err != nil {
			return nil, false, err
		}
		isGRPC, err = read.request()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			isGRPC, err = true, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		return nil, false, err
	}
	b := &begun{Conn: c, read: read.bytes}
	if is2 {
		b.frames = &frames{skip: len(http2.ClientPreface)}
	}
	return b, isGRPC, nil
}

// emptySettings is a SETTINGS frame that sets nothing.
func emptySettings() []byte { return []byte{0, 0, 0, byte(http2.FrameSettings), 0, 0, 0, 0, 0} }

// beginning keeps what is read of a connection.
type beginning struct {
	from  io.Reader
	bytes []byte
}

// Read keeps what it reads.
func (b *beginning) Read(p []byte) (int, error) {
	if len(b.bytes)+len(p) > maxBeginning {
		return 0, errors.New("a connection begins with more than is read before its first request")
	}
	n, err := b.from.Read(p)
	b.bytes = append(b.bytes, p[:n]...)
	return n, err
}

// preface reports whether the connection begins as HTTP/2 does. It reads no byte after the first that differs, so that it waits for
// none that never comes.
func (b *beginning) preface() (bool, error) {
	var one [1]byte
	for i := range len(http2.ClientPreface) {
		if _, err := io.ReadFull(b, one[:]); err != nil {
			return false, err
		}
		if one[0] != http2.ClientPreface[i] {
			return false, nil
		}
	}
	return true, nil
}

// request reads frames until the headers of the first request are whole, and reports whether it is gRPC's.
func (b *beginning) request() (isGRPC bool, err error) {
	framer := http2.NewFramer(io.Discard, b)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	framer.MaxHeaderListSize = maxBeginning
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return false, err
		}
		if headers, ok := frame.(*http2.MetaHeadersFrame); ok {
			for _, h := range headers.RegularFields() {
				if h.Name == "content-type" {
					isGRPC = isGRPCType(h.Value)
				}
			}
			return isGRPC, nil
		}
	}
}

// isGRPCType reports whether a content type is gRPC's own; gRPC-Web is another protocol.
func isGRPCType(contentType string) bool {
	rest, ok := strings.CutPrefix(contentType, "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// begun is a connection of which the beginning was read.
type begun struct {
	net.Conn
	read   []byte  // of what was read, what is to be read again
	frames *frames // nil where nothing is to be taken out, or was
	buffer []byte  // of what the frames gave, what did not fit
}

// NetConn is the connection that was begun, as tls.Conn has it.
func (c *begun) NetConn() net.Conn { return c.Conn }

// Read reads the beginning again, and then what comes.
func (c *begun) Read(p []byte) (int, error) {
	for {
		if len(c.buffer) > 0 {
			n := copy(p, c.buffer)
			c.buffer = c.buffer[n:]
			return n, nil
		}
		n, err := c.next(p)
		if c.frames == nil || n == 0 {
			return n, err
		}
		c.buffer = c.frames.withoutAcknowledgement(p[:n])
		if c.frames.done {
			c.frames = nil
		}
	}
}

// next reads what the client sent.
func (c *begun) next(p []byte) (int, error) {
	if len(c.read) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.read)
	if c.read = c.read[n:]; len(c.read) == 0 {
		c.read = nil
	}
	return n, nil
}

// frames takes the first acknowledgement of settings out of what a client sends.
type frames struct {
	skip   int     // bytes before the next header: of the preface, of a frame's payload
	header [9]byte // of the frame that comes
	have   int     // bytes of it
	done   bool
}

// withoutAcknowledgement returns the bytes without it. A frame's header is held back until it is whole.
func (f *frames) withoutAcknowledgement(in []byte) []byte {
	out := make([]byte, 0, len(in)+len(f.header))
	for len(in) > 0 && !f.done {
		if f.skip > 0 {
			n := min(f.skip, len(in))
			out, in, f.skip = append(out, in[:n]...), in[n:], f.skip-n
			continue
		}
		n := copy(f.header[f.have:], in)
		in, f.have = in[n:], f.have+n
		if f.have < len(f.header) {
			break
		}
		f.have = 0
		f.skip = int(f.header[0])<<16 | int(f.header[1])<<8 | int(f.header[2])
		f.done = http2.FrameType(f.header[3]) == http2.FrameSettings && http2.Flags(f.header[4]).Has(http2.FlagSettingsAck)
		if !f.done {
			out = append(out, f.header[:]...)
		}
	}
	return append(out, in...)
}
