package httpapi

import (
	"errors"
	"io"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// bounded bounds what a request may hold and how slowly it may come.
func bounded(o Options, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isGRPC(r) && r.ProtoMajor < 2 {
			unknown(w, r)
			return
		}
		bytes := r.ContentLength
		if bytes > maxBodyBytes {
			refuse(w, r, codes.ResourceExhausted, "the body is larger than 16 MiB: split the call")
			return
		}
		if bytes < 0 {
			bytes = maxMessageBytes // of unknown length: as much as it may be
		}
		if bytes > smallBytes {
			release, err := o.Admit(r.Context(), heldPerByte*bytes)
			if err != nil {
				st := status.Convert(err)
				w.Header().Set("Retry-After", "1")
				refuse(w, r, codes.ResourceExhausted, st.Message())
				return
			}
			defer release()
		}
		r.Body = &patientBody{ReadCloser: http.MaxBytesReader(w, r.Body, maxBodyBytes), w: http.NewResponseController(w), patience: o.Patience}
		out := &jsonErrors{ResponseWriter: w}
		defer out.end()
		next.ServeHTTP(out, r)
	})
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
