package httpapi

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/memory/safegroup"
)

// compressed is the flag of a frame whose message is compressed.
const compressed = 1

// grown is the memory that a body holds while it comes. It is taken as bytes come, not as they are announced: who announces much and
// sends nothing holds nothing.
type grown struct {
	admit func(bytes int64) (release func(), err error)
	taken int64
	held  []func()
}

// to waits until there is memory for a body of so many bytes: for twice as many as before each time, so that it asks seldom.
func (g *grown) to(bytes int64) error {
	if bytes <= smallBytes || heldPerByte*bytes <= g.taken {
		return nil
	}
	more := max(heldPerByte*bytes, min(2*g.taken, heldPerByte*maxBodyBytes)) - g.taken
	release, err := g.admit(more)
	if err != nil {
		return err
	}
	g.taken += more
	g.held = append(g.held, release)
	return nil
}

// release gives all of it back.
func (g *grown) release() {
	for _, release := range g.held {
		release()
	}
	g.taken, g.held = 0, nil
}

// admittedFrames is a body of frames, as gRPC-Web and the streams of Connect send it. The translation holds each message whole before
// anything else sees it: the memory of one is taken while it comes, and given back when the next begins.
type admittedFrames struct {
	io.ReadCloser
	memory grown
	header [frameHeader]byte
	have   int   // bytes of the header
	got    int64 // bytes of the message that have come
	left   int64 // bytes of it that are still to come
}

// Read reads on, and fails where there is no memory for it.
func (f *admittedFrames) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	for b := p[:n]; len(b) > 0; {
		if f.left > 0 {
			come := min(f.left, int64(len(b)))
			b, f.left, f.got = b[come:], f.left-come, f.got+come
			if err := f.grow(); err != nil {
				return 0, err
			}
			continue
		}
		taken := copy(f.header[f.have:], b)
		b, f.have = b[taken:], f.have+taken
		if f.have == frameHeader {
			f.memory.release()
			f.have, f.got, f.left = 0, 0, int64(binary.BigEndian.Uint32(f.header[1:]))
		}
	}
	return n, err
}

// grow takes the memory of what has come, and of what may become of it where it is compressed.
func (f *admittedFrames) grow() error {
	bytes := f.got
	if f.left == 0 && f.header[0]&compressed != 0 {
		bytes = max(bytes, maxMessageBytes)
	}
	return f.memory.to(bytes)
}

// gunzip decompresses what clients send, up to the most that a body may hold: a few bytes could become all memory. What it cannot read is
// the client's fault.
type gunzip struct {
	gzip.Reader
	left int64
}

func newGunzip() connect.Decompressor { return &gunzip{} }

func newGzip() connect.Compressor { return gzip.NewWriter(io.Discard) }

// Reset begins to read another body.
func (g *gunzip) Reset(r io.Reader) error {
	g.left = maxBodyBytes
	return notCompressed(g.Reader.Reset(r))
}

// Read decompresses.
func (g *gunzip) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	if g.left -= int64(n); g.left < 0 {
		return 0, connect.NewError(connect.CodeResourceExhausted, errors.New(largeWhenDecompressed+": split it into several calls"))
	}
	return n, notCompressed(err)
}

func notCompressed(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return connect.NewError(connect.CodeInvalidArgument, errors.New("the body is not compressed as its headers say"))
}

// blameless has gRPC call the client's what is the client's fault: a request of which it cannot make one message is INTERNAL to it, as a
// defect is, one whose headers it cannot read gets HTTP 400, which the translation takes for a defect, and one whose body breaks off gets
// no status at all.
func blameless(grpc http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &begunReply{ResponseWriter: w}
		oneAfterTheOther(grpc, out, r)
		h, prefix := w.Header(), ""
		switch {
		case !out.began && h.Get("Grpc-Status") == "":
			h.Set("Content-Type", "application/grpc+proto")
		case h.Get("Grpc-Status") == internalCode && isUnreadable(h.Get("Grpc-Message")):
		case h.Get(http.TrailerPrefix+"Grpc-Status") == internalCode && isUnreadable(h.Get(http.TrailerPrefix+"Grpc-Message")):
			prefix = http.TrailerPrefix
		default:
			return
		}
		setStatus(h, prefix, "the request did not come whole, is not one message, or is not framed or compressed as its headers say")
	})
}

// oneAfterTheOther has gRPC read the request before it replies. Its handler reads in a goroutine of its own, and where the translation
// finds in that goroutine that a body is no JSON, it replies at once: beside a call that ends at that moment, of a deadline, both would
// write the same headers, which ends the process.
func oneAfterTheOther(grpc http.Handler, w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == memoryv1.UserService_ImportUser_FullMethodName {
		throughPipe(grpc, w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the translation has replied, or the client is gone
	}
	whole := r.WithContext(r.Context())
	whole.Body = io.NopCloser(bytes.NewReader(body))
	grpc.ServeHTTP(w, whole)
}

// throughPipe is oneAfterTheOther for a call that has a stream of requests and one reply, which is written when the last request was read.
func throughPipe(grpc http.Handler, w http.ResponseWriter, r *http.Request) {
	from, to := io.Pipe()
	piped := r.WithContext(r.Context())
	piped.Body = from
	reply := &keptReply{header: http.Header{}}
	var call safegroup.Group
	call.Go(func() error {
		defer from.Close() //nolint:errcheck // it returns none
		grpc.ServeHTTP(reply, piped)
		return nil
	})
	_, err := io.Copy(to, r.Body)
	_ = to.CloseWithError(err) // nil is the end
	safegroup.Must(call.Wait())
	if err != nil && !errors.Is(err, io.ErrClosedPipe) {
		return // the translation has replied, or the client is gone
	}
	reply.writeTo(w)
}

// keptReply is a reply that is written later.
type keptReply struct {
	header http.Header // with what is set after the reply is begun: trailers
	began  http.Header // what it was when the reply was begun
	code   int         // 0 before that
	body   bytes.Buffer
}

// Header returns the headers and trailers.
func (k *keptReply) Header() http.Header { return k.header }

// WriteHeader begins the reply.
func (k *keptReply) WriteHeader(code int) {
	if k.code == 0 {
		k.code, k.began = code, k.header.Clone()
	}
}

// Write keeps what is written.
func (k *keptReply) Write(b []byte) (int, error) {
	k.WriteHeader(http.StatusOK)
	return k.body.Write(b)
}

// Flush implements http.Flusher, which gRPC's handler asks for.
func (k *keptReply) Flush() { k.WriteHeader(http.StatusOK) }

func (k *keptReply) writeTo(w http.ResponseWriter) {
	if k.code != 0 {
		maps.Copy(w.Header(), k.began)
		w.WriteHeader(k.code)
		_, _ = w.Write(k.body.Bytes())
	}
	maps.Copy(w.Header(), k.header)
}

// setStatus has a reply of gRPC say that its request is invalid.
func setStatus(h http.Header, prefix, message string) {
	st := &spb.Status{Code: int32(codes.InvalidArgument), Message: message}
	h.Set(prefix+"Grpc-Status", strconv.Itoa(int(st.GetCode())))
	h.Set(prefix+"Grpc-Message", message)
	if details, err := proto.Marshal(st); err == nil {
		h.Set(prefix+"Grpc-Status-Details-Bin", base64.RawStdEncoding.EncodeToString(details))
	}
}

// internalCode is INTERNAL as gRPC writes it.
const internalCode = "13"

// isUnreadable reports whether INTERNAL with these words is gRPC's own for a request that it cannot read: those of this program have
// others. See (*serverStream).RecvMsg and its callees in google.golang.org/grpc.
func isUnreadable(message string) bool {
	for _, of := range []string{
		"unexpected EOF", "cardinality violation: received", "grpc: compressed flag set", "grpc: received unexpected payload format",
		"grpc: failed to decompress", "grpc: failed to read decompressed",
	} {
		if strings.HasPrefix(message, of) {
			return true
		}
	}
	return false
}

// begunReply knows whether a reply was begun, and makes one of gRPC of an error of HTTP.
type begunReply struct {
	http.ResponseWriter
	began   bool
	refused bool // its body is thrown away
}

// WriteHeader begins the reply.
func (w *begunReply) WriteHeader(code int) {
	w.began = true
	if code >= http.StatusBadRequest && code < http.StatusInternalServerError {
		w.refused, code = true, http.StatusOK
		w.Header().Del("Content-Length")
		w.Header().Set("Content-Type", "application/grpc+proto")
		setStatus(w.Header(), "", "a header cannot be read: those whose names end with -bin are in base64, grpc-timeout is digits and a unit")
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write begins the reply.
func (w *begunReply) Write(b []byte) (int, error) {
	w.began = true
	if w.refused {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher, which gRPC's handler asks for.
func (w *begunReply) Flush() {
	w.began = true
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (w *begunReply) Unwrap() http.ResponseWriter { return w.ResponseWriter }
