package httpapi

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
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
		return 0, connect.NewError(connect.CodeResourceExhausted, errors.New("the body is larger than 16 MiB when decompressed: split the call"))
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
// defect is, and one whose body breaks off has no status at all.
func blameless(grpc http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &begunReply{ResponseWriter: w}
		grpc.ServeHTTP(out, r)
		h, prefix := w.Header(), ""
		if !out.began {
			if h.Get("Grpc-Status") != "" {
				return
			}
			h.Set("Content-Type", "application/grpc+proto")
		} else if h.Get(http.TrailerPrefix+"Grpc-Status") != "" {
			prefix = http.TrailerPrefix
		}
		if out.began && (h.Get(prefix+"Grpc-Status") != internalCode || !isUnreadable(h.Get(prefix+"Grpc-Message"))) {
			return
		}
		st := unreadableRequest()
		h.Set(prefix+"Grpc-Status", fmt.Sprint(st.GetCode()))
		h.Set(prefix+"Grpc-Message", st.GetMessage())
		if details, err := proto.Marshal(st); err == nil {
			h.Set(prefix+"Grpc-Status-Details-Bin", base64.RawStdEncoding.EncodeToString(details))
		}
	})
}

// internalCode is INTERNAL as gRPC writes it.
const internalCode = "13"

// unreadableRequest is the error of a request of which gRPC can make no message.
func unreadableRequest() *spb.Status {
	return &spb.Status{
		Code:    int32(codes.InvalidArgument),
		Message: "the request did not come whole, is not one message, or is not framed or compressed as its headers say",
	}
}

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

// begunReply knows whether a reply was begun.
type begunReply struct {
	http.ResponseWriter
	began bool
}

// WriteHeader begins the reply.
func (w *begunReply) WriteHeader(code int) {
	w.began = true
	w.ResponseWriter.WriteHeader(code)
}

// Write begins the reply.
func (w *begunReply) Write(b []byte) (int, error) {
	w.began = true
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher, which gRPC's handler asks for.
func (w *begunReply) Flush() {
	w.began = true
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (w *begunReply) Unwrap() http.ResponseWriter { return w.ResponseWriter }
