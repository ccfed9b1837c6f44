package hostilerequests

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

const (
	patience     = 20 * time.Second // for a reply
	writePause   = 3 * time.Millisecond
	maxReadBytes = 4 << 20 // of a reply's body; further ones are thrown away
)

// sender sends requests one after the other, over a connection as long as it lasts.
type sender struct {
	address string
	two     *http.Transport // HTTP/2 as it should be
	conn    net.Conn        // HTTP/1.1 as it should not; nil for none
	in      *bufio.Reader
}

func newSender(address string) *sender {
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	return &sender{address: address, two: &http.Transport{Protocols: protocols, DisableCompression: true, MaxResponseHeaderBytes: 1 << 20}}
}

func (s *sender) close() {
	s.two.CloseIdleConnections()
	s.hangUp()
}

func (s *sender) hangUp() {
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}

// send sends a request. It returns what came back, and what is wrong with it: "" for nothing.
func (s *sender) send(ctx context.Context, q Request) (kind, fault string) {
	switch {
	case q.Delivery == BadFrames:
		return badFrames(ctx, s.address, q)
	case q.HTTP2:
		return s.overHTTP2(ctx, q)
	}
	return s.overHTTP1(ctx, q)
}

// isWellFormed reports whether nothing about the head of a request lets a server end the connection before it replies.
func isWellFormed(q Request) bool {
	bytes := len(q.Path)
	for _, h := range q.Header {
		bytes += len(h[0]) + len(h[1]) + 4
		if !httpguts.ValidHeaderFieldName(h[0]) || !httpguts.ValidHeaderFieldValue(h[1]) ||
			slices.Contains([]string{"content-length", "transfer-encoding", "connection", "upgrade", "http2-settings", "te", "host"}, strings.ToLower(h[0])) {
			return false
		}
	}
	const most = 8 << 10 // of the head, and of what a server reads of a body that nothing reads
	return bytes < most && len(q.Body) <= 8*most && slices.Contains([]string{"GET", "PUT", "POST", "PATCH", "DELETE"}, q.Method) &&
		strings.HasPrefix(q.Path, "/") && !strings.ContainsFunc(q.Path, func(c rune) bool { return c <= ' ' || c == 0x7f })
}

// slowly is a body that comes in pieces.
type slowly struct {
	left   []byte
	piece  int
	paused bool
}

// Read returns the next piece after a pause.
func (b *slowly) Read(p []byte) (int, error) {
	if len(b.left) == 0 {
		return 0, io.EOF
	}
	if b.paused {
		time.Sleep(writePause)
	}
	b.paused = true
	n := copy(p, b.left[:min(b.piece, len(b.left))])
	b.left = b.left[n:]
	return n, nil
}

func bodyOf(q Request) io.Reader {
	if q.Pieces > 1 {
		return &slowly{left: q.Body, piece: len(q.Body)/q.Pieces + 1}
	}
	return bytes.NewReader(q.Body)
}

func (s *sender) overHTTP2(ctx context.Context, q Request) (kind, fault string) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.address, nil)
	if err != nil {
		return "not sent", ""
	}
	r.Method, r.ContentLength = q.Method, -1
	r.URL.Path, r.URL.RawQuery, _ = strings.Cut(q.Path, "?")
	r.URL.Opaque = q.Path // as it is
	if strings.HasPrefix(q.Path, "//") || !strings.HasPrefix(q.Path, "/") {
		r.URL.Opaque = ""
	}
	for _, h := range q.Header {
		if strings.EqualFold(h[0], "host") {
			r.Host = h[1]
			continue
		}
		r.Header[http.CanonicalHeaderKey(h[0])] = append(r.Header[http.CanonicalHeaderKey(h[0])], h[1])
	}
	r.Body = io.NopCloser(bodyOf(q))
	if q.Delivery == Abandoned {
		time.AfterFunc(time.Duration(q.Seed%20)*time.Millisecond, cancel)
	}
	res, err := s.two.RoundTrip(r)
	if err != nil {
		return s.failed(ctx, q, err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(io.LimitReader(res.Body, maxReadBytes))
	if err == nil {
		_, err = io.Copy(io.Discard, res.Body)
	}
	if err != nil && ctx.Err() != nil && q.Delivery == Abandoned {
		return "abandoned", ""
	}
	return judge(res, body)
}

// failed says whether it is the server's fault that no reply came over HTTP/2.
func (s *sender) failed(ctx context.Context, q Request, err error) (kind, fault string) {
	switch {
	case q.Delivery == Abandoned:
		return "abandoned", ""
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "no reply in time", fmt.Sprintf("no reply within %v", patience)
	case q.Delivery.owed() && isWellFormed(q) && strings.Contains(err.Error(), "INTERNAL_ERROR"):
		return "reset", "the server reset the stream: " + err.Error()
	case strings.Contains(err.Error(), "invalid") || strings.Contains(err.Error(), "malformed") ||
		strings.Contains(err.Error(), "larger than peer"):
		return "not sent", "" // the client refuses to
	}
	return "no reply", "" // the server ends a connection that holds too much
}

func (s *sender) overHTTP1(ctx context.Context, q Request) (kind, fault string) {
	if s.conn == nil {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
		if err != nil {
			return "no connection", "the server takes no connection: " + err.Error()
		}
		s.conn, s.in = conn, bufio.NewReader(conn)
	}
	_ = s.conn.SetDeadline(time.Now().Add(patience))
	keep := false
	defer func() {
		if !keep {
			s.hangUp()
		}
	}()
	_, err := s.conn.Write(head(q, s.address))
	if err == nil {
		err = s.writeBody(q)
	}
	if q.Delivery == Abandoned {
		return "abandoned", ""
	}
	if !q.Delivery.owed() {
		if c, ok := s.conn.(*net.TCPConn); ok {
			_ = c.CloseWrite()
		}
	}
	res, readErr := s.readReply(q)
	if readErr != nil {
		if errors.Is(readErr, context.DeadlineExceeded) || isTimeout(readErr) {
			return "no reply in time", fmt.Sprintf("no reply within %v", patience)
		}
		if q.Delivery.owed() && err == nil && isWellFormed(q) {
			return "cut off", "the connection ended without a reply: " + readErr.Error()
		}
		return "cut off", ""
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(io.LimitReader(res.Body, maxReadBytes))
	if err == nil {
		_, err = io.Copy(io.Discard, res.Body)
	}
	keep = err == nil && q.Delivery.owed() && isWellFormed(q) && !res.Close
	return judge(res, body)
}

func isTimeout(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout()
}

// readReply reads the reply, after those that only say that there will be one.
func (s *sender) readReply(q Request) (*http.Response, error) {
	for {
		res, err := http.ReadResponse(s.in, &http.Request{Method: q.Method})
		if err != nil || res.StatusCode >= http.StatusOK || res.StatusCode == http.StatusSwitchingProtocols {
			return res, err
		}
	}
}

// head is the head of a request of HTTP/1.1.
func head(q Request, address string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\n", q.Method, q.Path)
	hosted := false
	for _, h := range q.Header {
		hosted = hosted || strings.EqualFold(h[0], "host")
		fmt.Fprintf(&out, "%s: %s\r\n", h[0], h[1])
	}
	if !hosted {
		fmt.Fprintf(&out, "Host: %s\r\n", address)
	}
	n := len(q.Body)
	switch q.Delivery {
	case Chunked, BadChunks:
		out.WriteString("Transfer-Encoding: chunked\r\n")
	case TooShort:
		fmt.Fprintf(&out, "Content-Length: %d\r\n", n+1+n/2)
	case TooLong:
		fmt.Fprintf(&out, "Content-Length: %d\r\n", n/2)
	case BothWays:
		fmt.Fprintf(&out, "Content-Length: %d\r\nTransfer-Encoding: chunked\r\n", n)
	case BadLength:
		fmt.Fprintf(&out, "Content-Length: %s\r\n", []string{"-1", "x", "99999999999999999999", "1, 2", ""}[q.Seed%5])
	default:
		fmt.Fprintf(&out, "Content-Length: %d\r\n", n)
	}
	out.WriteString("\r\n")
	return out.Bytes()
}

func (s *sender) writeBody(q Request) error {
	if q.Delivery != Chunked && q.Delivery != BadChunks && q.Delivery != BothWays {
		_, err := io.Copy(s.conn, bodyOf(q))
		return err
	}
	r := rand.New(rand.NewPCG(q.Seed, 0)) //nolint:gosec // the same for the same seed, on purpose
	var out bytes.Buffer
	for left := q.Body; len(left) > 0; {
		n := min(len(left), 1+r.IntN(16<<10))
		size := fmt.Sprintf("%x", n)
		if q.Delivery == BadChunks && one(r, 2) {
			size = pick(r, []string{"-1", "zz", "ffffffffffffffffff", fmt.Sprintf("%x", n+1), size + ";ext=" + strings.Repeat("x", r.IntN(3000)), ""})
		}
		fmt.Fprintf(&out, "%s\r\n%s\r\n", size, left[:n])
		left = left[n:]
	}
	if q.Delivery != BadChunks || one(r, 2) {
		out.WriteString("0\r\n\r\n")
	}
	q.Body = out.Bytes()
	_, err := io.Copy(s.conn, bodyOf(q))
	return err
}

// stall opens connections that send the beginning of a request and no more.
func stall(ctx context.Context, o Options) (open []net.Conn, err error) {
	for i := range o.Stalled {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", o.Address)
		if err != nil {
			return open, fmt.Errorf("connect to %s: %w", o.Address, err)
		}
		open = append(open, conn)
		q := Make(REST, o.Seed, -1-i)
		q.Delivery = TooShort
		whole := append(head(q, o.Address), q.Body...)
		r := random(o.Protocol, o.Seed, -1-i)
		_ = conn.SetWriteDeadline(time.Now().Add(patience))
		_, _ = conn.Write(whole[:r.IntN(len(whole))]) // one that the server has ended is no fault
	}
	return open, nil
}
