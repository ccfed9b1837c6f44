package httpapi

import (
	"bytes"
	"errors"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
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

// refuse writes an error that this package finds itself.
func refuse(w http.ResponseWriter, code codes.Code, message string) {
	writeStatus(w, httpStatus(connect.Code(code)), code, message)
}

// What a request that is too large fails with: (*gunzip).Read has the first, and gRPC's library the second. See recvAndDecompress in
// google.golang.org/grpc.
const (
	largeWhenDecompressed = "body: it is larger than 16 MiB when decompressed, the most that a request may have"
	largeForGRPC          = "grpc: received message larger than max"
)

// tooLarge is what to write for a call that failed because its request is too large; "" for other failures.
func tooLarge(st *spb.Status) string {
	message := st.GetMessage()
	switch {
	case codes.Code(st.GetCode()) != codes.ResourceExhausted: //nolint:gosec // below 17
		return ""
	case strings.HasPrefix(message, largeWhenDecompressed):
		return message
	case strings.HasPrefix(message, largeForGRPC):
		return "body: what it holds is larger than 8 MiB in gRPC's encoding, the most that a call may have: split it into several calls"
	}
	return ""
}

// writeTooLarge refuses a request that is too large, with 413; the message begins with the field. RESOURCE_EXHAUSTED, which it is over
// gRPC, would be 429: to come again.
func writeTooLarge(w http.ResponseWriter, message string) {
	st := &spb.Status{Code: int32(codes.InvalidArgument), Message: message}
	field, description, _ := strings.Cut(message, ": ")
	bad := &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field, Description: description}}}
	for _, m := range []proto.Message{fieldInvalid(field), bad} {
		if detail, err := anypb.New(m); err == nil {
			st.Details = append(st.Details, detail)
		}
	}
	writeErrorAs(w, http.StatusRequestEntityTooLarge, st)
}

// lateForGRPC is what gRPC's library says of a call whose deadline passed before its request was read.
const lateForGRPC = "context deadline exceeded"

// timeoutHeader bounds a call of REST, in seconds.
const timeoutHeader = "X-Server-Timeout"

// lateInREST is what a client of REST reads in its place.
const lateInREST = timeoutHeader + ": the deadline passed before the request was read: allow the call more time"

// inRESTsWords has a status that is in the words of gRPC's library say what a client of REST can do.
func inRESTsWords(st *spb.Status) {
	if codes.Code(st.GetCode()) == codes.DeadlineExceeded && st.GetMessage() == lateForGRPC { //nolint:gosec // below 17
		st.Message = lateInREST
	}
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

// invalid says what is wrong with the JSON of a message, without any of its words.
func invalid(err error, of protoreflect.MessageDescriptor) error {
	if err == nil {
		return nil
	}
	e := connect.NewError(connect.CodeInvalidArgument, errors.New("the body is no JSON of this request: "+withoutContent(err, of)))
	if detail, err := connect.NewErrorDetail(fieldInvalid("body")); err == nil {
		e.AddDetail(detail)
	}
	return e
}

func fieldInvalid(field string) *errdetails.ErrorInfo {
	return &errdetails.ErrorInfo{Reason: "FIELD_INVALID", Domain: "strata", Metadata: map[string]string{"field": field}}
}

// withoutContent is the text of an error of protojson: where it is, which field nobody knows and
// which values one takes, but none of the request's.
func withoutContent(err error, of protoreflect.MessageDescriptor) string {
	text := strings.ReplaceAll(strings.TrimPrefix(err.Error(), "proto:"), "\u00a0", " ")
	text = strings.TrimSpace(text)
	place, what, ok := strings.Cut(text, "): ")
	if !ok {
		return "it cannot be read"
	}
	switch {
	case strings.HasPrefix(what, "unknown field "):
		field := strings.Trim(strings.TrimPrefix(what, "unknown field "), `"`)
		if path := pathOf(of, field, map[protoreflect.FullName]bool{}); path != "" {
			what += "; the request has it as " + path
		} else {
			what += ": /openapi.yaml has the fields of each request, and of what it holds"
		}
		return place + "): " + what
	case strings.HasPrefix(what, "duplicate field "):
		return place + "): " + what
	case strings.HasPrefix(what, "invalid value for "):
		kind, _, _ := strings.Cut(strings.TrimPrefix(what, "invalid value for "), ":")
		if field, ok := strings.CutPrefix(kind, "enum field "); ok {
			return place + "): " + field + " takes " + orValues(of, field)
		}
		return place + "): a value is not of the type of its field: " + kind
	}
	return place + "): it cannot be read there"
}

// orValues are the values of the enum that a field of the request, or of what it holds, is of: "ROLE_USER or ROLE_TOOL".
func orValues(of protoreflect.MessageDescriptor, field string) string {
	enum := enumOf(of, field, map[protoreflect.FullName]bool{})
	if enum == nil || enum.Values().Len() < 3 {
		return "one of the values that /openapi.yaml has"
	}
	var names []string
	for i := 1; i < enum.Values().Len(); i++ { // 0 is what is not set
		names = append(names, string(enum.Values().Get(i).Name()))
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// pathOf is where a request has a field of the name, such as "overrides.budget_tokens"; "" where it has none, but for those of lists.
func pathOf(of protoreflect.MessageDescriptor, field string, seen map[protoreflect.FullName]bool) string {
	seen[of.FullName()] = true
	for i := range of.Fields().Len() {
		f := of.Fields().Get(i)
		switch {
		case f.TextName() == field, f.JSONName() == field:
			return f.TextName()
		case f.Message() != nil && !f.IsList() && !f.IsMap() && !seen[f.Message().FullName()]:
			if path := pathOf(f.Message(), field, seen); path != "" {
				return f.TextName() + "." + path
			}
		}
	}
	return ""
}

// enumOf finds the first field of the name that is of an enum; nil for none.
func enumOf(of protoreflect.MessageDescriptor, field string, seen map[protoreflect.FullName]bool) protoreflect.EnumDescriptor {
	seen[of.FullName()] = true
	for i := range of.Fields().Len() {
		f := of.Fields().Get(i)
		switch {
		case f.Enum() != nil && (f.TextName() == field || f.JSONName() == field):
			return f.Enum()
		case f.Message() != nil && !seen[f.Message().FullName()]:
			if found := enumOf(f.Message(), field, seen); found != nil {
				return found
			}
		}
	}
	return nil
}

// jsonErrors has what the translation refuses by itself written as all other errors are: it writes some in plain text, and those of
// paths and queries as unknown errors of the server.
type jsonErrors struct {
	http.ResponseWriter
	code int // of an error that is held back; 0 for none
	held bytes.Buffer
}

// WriteHeader holds an error back that the translation may have made, or that lacks a header.
func (w *jsonErrors) WriteHeader(code int) {
	plain := strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain")
	again := code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable // with the time to retry as a header
	ofRequest := code == http.StatusBadRequest || code == http.StatusInternalServerError
	late := code == http.StatusGatewayTimeout // which may be in the words of gRPC's library
	if code >= http.StatusBadRequest && plain || ofRequest || again || late {
		w.code = code
		return
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write holds an error back.
func (w *jsonErrors) Write(b []byte) (int, error) {
	if w.code != 0 {
		return w.held.Write(b)
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
	w.Header().Del("Content-Length")
	st := &spb.Status{}
	if protojson.Unmarshal(w.held.Bytes(), st) == nil && isOfCall(st, w.code) {
		if message := tooLarge(st); message != "" {
			writeTooLarge(w.ResponseWriter, message)
			return
		}
		inRESTsWords(st)
		writeError(w.ResponseWriter, st)
		return
	}
	switch w.code {
	case http.StatusMethodNotAllowed:
		writeStatus(w.ResponseWriter, w.code, codes.Unimplemented, "the path does not take this method: /openapi.yaml lists them")
	case http.StatusUnsupportedMediaType:
		writeStatus(w.ResponseWriter, w.code, codes.InvalidArgument, "content-type or content-encoding is none that is read here")
	case http.StatusHTTPVersionNotSupported:
		writeStatus(w.ResponseWriter, w.code, codes.Unimplemented, "this HTTP version does not carry the protocol of the content-type")
	default:
		message := st.GetMessage()
		if message == "" {
			message = w.held.String()
		}
		writeError(w.ResponseWriter, ofQuery(message))
	}
}

// isOfCall reports whether a status comes from a call. The translation makes others: it calls errors of some parameters unknown, and where
// a parameter is no text, code and HTTP status are not those of the same error.
func isOfCall(st *spb.Status, httpCode int) bool {
	code := connect.Code(st.GetCode()) //nolint:gosec // below 17
	return code != connect.CodeUnknown && httpStatus(code) == httpCode && !strings.HasPrefix(st.GetMessage(), badParameter)
}

// How the translation begins its errors of parameters. The value stands behind the name, and goes into no error.
const (
	badParameter     = "invalid parameter "
	unknownParameter = "unknown field in field path "
	badTimeout       = "invalid timeout "
)

// ofQuery says what is wrong with the parameters of a query, with a path or with the deadline, without their values.
func ofQuery(message string) *spb.Status {
	st := &spb.Status{Code: int32(codes.InvalidArgument)}
	field := ""
	switch {
	case strings.HasPrefix(message, unknownParameter):
		field = firstQuoted(message)
		st.Message = field + ": the request has no such field: /openapi.yaml lists the parameters of each path"
	case strings.HasPrefix(message, badParameter):
		field = firstQuoted(message)
		st.Message = field + ": the value is not of the type of the field: /openapi.yaml has the types"
	case strings.HasPrefix(message, badTimeout):
		field = timeoutHeader
		st.Message = field + ": it must be a number of seconds, such as 2.5"
	default:
		st.Message = "a parameter of the query, or an id in the path, is not of the type of its field: /openapi.yaml has them"
		return st
	}
	if detail, err := anypb.New(fieldInvalid(field)); err == nil {
		st.Details = append(st.Details, detail)
	}
	return st
}

// firstQuoted is what a text has between its first two quotation marks.
func firstQuoted(text string) string {
	_, rest, _ := strings.Cut(text, `"`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}
