package httpapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/stratamem/strata/internal/memory"
)

// bounded bounds what a request may hold and how slowly it may come.
func bounded(o Options, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isGRPC(r) && r.ProtoMajor < 2 {
			unknown(w, r)
			return
		}
		body := &patientBody{ReadCloser: r.Body, w: http.NewResponseController(w), patience: o.Patience}
		if r.URL.Path == importPath { // whose call runs while its body comes
			body.until, _ = callersDeadline(r, time.Now()) // a bad one is refused by importUser
		}
		r.Body = body
		held := grown{admit: func(bytes int64) (func(), error) { return o.Admit(r.Context(), bytes) }}
		if isStream(r) {
			frames := &admittedFrames{ReadCloser: r.Body, memory: held}
			defer frames.memory.release()
			if r.URL.Path != importPath { // whose file is no stream of frames: its messages are made here, and are small
				r.Body = frames
			}
			next.ServeHTTP(w, undecoded(r))
			return
		}
		defer held.release()
		if !readWhole(w, r, &held) {
			return
		}
		if _, isExport := exported(r); !isExport {
			w = atOnce{w}
		}
		if !strings.HasPrefix(r.URL.Path, restPrefix) { // Connect's errors are as its clients read them
			next.ServeHTTP(w, r)
			return
		}
		out := &jsonErrors{ResponseWriter: w}
		defer out.end()
		next.ServeHTTP(out, undecoded(r))
	})
}

// atOnce sends a reply of one message with its end, and not each for itself, as the translation would.
type atOnce struct{ http.ResponseWriter }

// Flush implements http.Flusher.
func (atOnce) Flush() {}

// Unwrap is for http.ResponseController.
func (w atOnce) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// isStream reports whether a request may be a stream: of Connect and of gRPC-Web by their types, and of the import of a file.
func isStream(r *http.Request) bool {
	kind := r.Header.Get("Content-Type")
	return r.URL.Path == importPath || strings.HasPrefix(kind, "application/connect+") || strings.HasPrefix(kind, "application/grpc")
}

// readWhole reads the body, which the translation would hold all the same. Where it does not come whole the reply says why, and
// the connection is closed: what comes on it later would be taken for a request.
func readWhole(w http.ResponseWriter, r *http.Request, held *grown) bool {
	var body bytes.Buffer
	from := http.MaxBytesReader(w, r.Body, maxBodyBytes)
	for {
		_, err := io.CopyN(&body, from, smallBytes)
		if err == nil {
			err = held.to(int64(body.Len()))
		}
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) {
			break
		}
		w.Header().Set("Connection", "close")
		refuseBody(w, err)
		return false
	}
	if r.Header.Get("Content-Encoding") != "" && body.Len() > 0 { // it will be larger
		if err := held.to(max(int64(body.Len()), maxMessageBytes)); err != nil {
			refuseBody(w, err)
			return false
		}
	}
	if body.Len() == 0 && r.Method != http.MethodGet && strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		body.WriteString("{}") // nothing is said of the request, so that all of it is empty
		r.ContentLength = int64(body.Len())
	}
	r.Body = io.NopCloser(&body)
	return true
}

// refuseBody says why a body is not read.
func refuseBody(w http.ResponseWriter, err error) {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		writeTooLarge(w, "body: it is larger than 16 MiB, the most that a request may have: split it into several calls")
		return
	}
	if e, ok := errors.AsType[*memory.Error](err); ok && e.Kind == memory.KindExhausted {
		w.Header().Set("Retry-After", "1")
		refuse(w, codes.ResourceExhausted, e.Message)
		return
	}
	refuse(w, codes.InvalidArgument, "the body did not come whole in time")
}

// undecoded is the request with its path as it was sent: the translation finds the segments in it, and decodes each by itself, so
// that an id may hold what divides a path.
func undecoded(r *http.Request) *http.Request {
	path := r.URL.EscapedPath()
	if !strings.Contains(path, "%") {
		return r
	}
	out := r.WithContext(r.Context())
	u := *r.URL
	u.Path, u.RawPath = path, ""
	out.URL = &u
	return out
}

// patientBody is a body whose client may pause for patience, not longer, and not beyond until.
type patientBody struct {
	io.ReadCloser
	w        *http.ResponseController
	patience time.Duration
	until    time.Time // zero for no end
}

// errLateBody is what a body fails with that did not come whole until its end.
var errLateBody = errors.New("the call's deadline passed before its body had come")

// Read fails when nothing comes for too long. Once the body has ended its client may be silent as long as the call takes.
func (b *patientBody) Read(p []byte) (int, error) {
	late := time.Now().Add(b.patience)
	if !b.until.IsZero() && b.until.Before(late) {
		late = b.until
	}
	if err := b.w.SetReadDeadline(late); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		_ = b.w.SetReadDeadline(time.Time{})
	case errors.Is(err, os.ErrDeadlineExceeded) && late.Equal(b.until):
		err = errLateBody
	}
	return n, err
}
