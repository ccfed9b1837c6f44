package httpapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
)

// bounded bounds what a request may hold and how slowly it may come.
func bounded(o Options, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isGRPC(r) && r.ProtoMajor < 2 {
			unknown(w, r)
			return
		}
		r.Body = &patientBody{ReadCloser: r.Body, w: http.NewResponseController(w), patience: o.Patience}
		if isStream(r) { // its messages are admitted one by one
			next.ServeHTTP(w, undecoded(r))
			return
		}
		release, err := admit(o, r)
		if err != nil {
			w.Header().Set("Retry-After", "1")
			refuse(w, codes.ResourceExhausted, err.Error())
			return
		}
		defer release()
		if !readWhole(w, r) {
			return
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

// isStream reports whether a request may be a stream: of Connect and of gRPC-Web by their types, and of the import of a file.
func isStream(r *http.Request) bool {
	kind := r.Header.Get("Content-Type")
	return r.URL.Path == importPath || strings.HasPrefix(kind, "application/connect+") || strings.HasPrefix(kind, "application/grpc")
}

// admit waits for the memory of a request that is large, or may be.
func admit(o Options, r *http.Request) (release func(), err error) {
	bytes := r.ContentLength
	if bytes < 0 {
		bytes = maxMessageBytes
	}
	if bytes <= smallBytes {
		return func() {}, nil
	}
	return o.Admit(r.Context(), heldPerByte*min(bytes, maxBodyBytes))
}

// readWhole reads the body, which the translation would hold all the same. Where it does not come whole the client is told why, and
// the connection is closed: what comes on it later would be taken for a request.
func readWhole(w http.ResponseWriter, r *http.Request) bool {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err == nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
		return true
	}
	w.Header().Set("Connection", "close")
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		refuse(w, codes.ResourceExhausted, "the body is larger than 16 MiB: split the call")
	} else {
		refuse(w, codes.InvalidArgument, "the body did not come whole in time")
	}
	return false
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

// patientBody is a body whose client may pause for patience, not longer.
type patientBody struct {
	io.ReadCloser
	w        *http.ResponseController
	patience time.Duration
}

// Read fails when nothing comes for too long.
func (b *patientBody) Read(p []byte) (int, error) {
	if err := b.w.SetReadDeadline(time.Now().Add(b.patience)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return b.ReadCloser.Read(p)
}
