package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"connectrpc.com/vanguard"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// writeStatus writes an error as the calls' own errors are written: google.rpc.Status as JSON.
func writeStatus(w http.ResponseWriter, status int, code codes.Code, message string) {
	body, err := protojson.Marshal(&spb.Status{Code: int32(code), Message: message}) //nolint:gosec // below 17
	if err != nil {
		body = []byte(`{}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// statuses are the HTTP statuses of codes that this package gives itself.
func refuse(w http.ResponseWriter, _ *http.Request, code codes.Code, message string) {
	status := http.StatusForbidden
	switch code { //nolint:exhaustive // those that are refused here
	case codes.ResourceExhausted:
		status = http.StatusTooManyRequests
	case codes.InvalidArgument:
		status = http.StatusBadRequest
	case codes.NotFound:
		status = http.StatusNotFound
	}
	writeStatus(w, status, code, message)
}

// unknown is the reply to a path or method that nothing serves.
func unknown(w http.ResponseWriter, r *http.Request) {
	if isGRPC(r) {
		writeStatus(w, http.StatusHTTPVersionNotSupported, codes.Unimplemented,
			"gRPC needs HTTP/2; over HTTP/1.1 there are REST, Connect and gRPC-Web: /openapi.yaml")
		return
	}
	writeStatus(w, http.StatusNotFound, codes.NotFound, "no such path: /openapi.yaml lists them")
}

func isGRPC(r *http.Request) bool {
	kind := r.Header.Get("Content-Type")
	return strings.HasPrefix(kind, "application/grpc") && !strings.HasPrefix(kind, "application/grpc-web")
}

// codec is JSON whose faults are the caller's.
type codec struct{ vanguard.JSONCodec }

// Unmarshal decodes what a client sent.
func (c codec) Unmarshal(data []byte, m proto.Message) error {
	return invalid(c.JSONCodec.Unmarshal(data, m))
}

// invalid says what is wrong with JSON, without any of its words.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	return connect.NewError(connect.CodeInvalidArgument, errors.New("the body is no JSON of this request: "+withoutContent(err)))
}

// withoutContent is the text of an error of protojson: where it is, and which field nobody knows, but no value.
func withoutContent(err error) string {
	text := strings.ReplaceAll(strings.TrimPrefix(err.Error(), "proto:"), "\u00a0", " ")
	text = strings.TrimSpace(text)
	place, what, ok := strings.Cut(text, "): ")
	if !ok {
		return "it cannot be read"
	}
	switch {
	case strings.HasPrefix(what, "unknown field "), strings.HasPrefix(what, "duplicate field "):
		return place + "): " + what
	case strings.HasPrefix(what, "invalid value for "):
		kind, _, _ := strings.Cut(strings.TrimPrefix(what, "invalid value for "), ":")
		return place + "): a value is not of the type of its field: " + kind
	}
	return place + "): it cannot be read there"
}

// jsonErrors has what the translation refuses by itself, in plain text, written as JSON.
type jsonErrors struct {
	http.ResponseWriter
	code  int // of a plain error; 0 for none
	plain bytes.Buffer
}

// WriteHeader holds a plain error back.
func (w *jsonErrors) WriteHeader(code int) {
	if code >= http.StatusBadRequest && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.code = code
		return
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write holds a plain error back.
func (w *jsonErrors) Write(b []byte) (int, error) {
	if w.code != 0 {
		return w.plain.Write(b[:min(len(b), 4<<10)])
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *jsonErrors) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher, which gRPC's handler asks for.
func (w *jsonErrors) Flush() {
	if w.code == 0 {
		_ = http.NewResponseController(w.ResponseWriter).Flush()
	}
}

// end writes the error that was held back.
func (w *jsonErrors) end() {
	if w.code == 0 {
		return
	}
	code := map[int]codes.Code{
		http.StatusBadRequest: codes.InvalidArgument, http.StatusNotFound: codes.NotFound, http.StatusMethodNotAllowed: codes.Unimplemented,
		http.StatusUnsupportedMediaType: codes.InvalidArgument, http.StatusRequestEntityTooLarge: codes.ResourceExhausted,
		http.StatusTooManyRequests: codes.ResourceExhausted, http.StatusHTTPVersionNotSupported: codes.Unimplemented,
	}[w.code]
	if code == codes.OK {
		code = codes.Unknown
	}
	message := strings.TrimSpace(w.plain.String())
	if w.code == http.StatusMethodNotAllowed {
		message = "the path does not take this method: /openapi.yaml lists them"
	}
	w.Header().Del("Content-Length")
	writeStatus(w.ResponseWriter, w.code, code, fmt.Sprint(message))
}
