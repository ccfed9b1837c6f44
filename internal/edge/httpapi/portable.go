package httpapi

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/vanguard"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// A user's file goes over HTTP as it is, and not as JSON of its pieces: GET /v1/users/{user_id}/export returns it, with its vectors where
// ?vectors=true says so, and POST /v1/users:import takes it, with ?user_id= for another id than that of the file, and ?on_conflict= for
// a user who is there.
const (
	exportSuffix = "/export"
	usersPrefix  = "/v1/users/"
	importPath   = "/v1/users:import"
	importType   = "application/x-ndjson"
	pieceBytes   = 512 << 10 // of a file in a message
	frameHeader  = 5         // of a message of gRPC: whether it is compressed, and its length
)

// files serves the two paths, and has next serve all others.
func files(o Options, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, isExport := exported(r)
		switch {
		case isExport:
			exportUser(o, w, r, user)
		case r.Method == http.MethodPost && r.URL.Path == importPath:
			importUser(o, w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// exported is the user of a request for an export. The id is one segment of the path as it was sent.
func exported(r *http.Request) (user string, ok bool) {
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), usersPrefix)
	if !ok || r.Method != http.MethodGet {
		return "", false
	}
	id, ok := strings.CutSuffix(path, exportSuffix)
	if !ok || strings.Contains(id, "/") {
		return "", false
	}
	user, err := url.PathUnescape(id)
	return user, err == nil
}

func exportUser(o Options, w http.ResponseWriter, r *http.Request, user string) {
	until, err := callersDeadline(r, time.Now())
	if err != nil {
		writeError(w, ofQuery(err.Error()))
		return
	}
	vectors, err := strconv.ParseBool(cmp.Or(r.URL.Query().Get("vectors"), "false"))
	if err != nil {
		refuse(w, codes.InvalidArgument, "vectors: must be true or false")
		return
	}
	request, err := framed(&memoryv1.ExportUserRequest{UserId: user, Vectors: vectors})
	if err != nil {
		refuse(w, codes.InvalidArgument, "user_id: is not valid UTF-8")
		return
	}
	out := &pieces{to: w, header: http.Header{}, kind: importType, until: until}
	call := asGRPC(r, memoryv1.UserService_ExportUser_FullMethodName, io.NopCloser(strings.NewReader(string(request))))
	endAt(call, until)
	o.GRPC.ServeHTTP(out, call)
	out.end()
}

func importUser(o Options, w http.ResponseWriter, r *http.Request) {
	until, err := callersDeadline(r, time.Now())
	if err != nil {
		writeError(w, ofQuery(err.Error()))
		return
	}
	rule, ok := memoryv1.OnConflict_value[cmp.Or(r.URL.Query().Get("on_conflict"), "ON_CONFLICT_UNSPECIFIED")]
	if !ok {
		refuse(w, codes.InvalidArgument, "on_conflict: must be ON_CONFLICT_SKIP, ON_CONFLICT_OVERWRITE or ON_CONFLICT_NEW_IDS")
		return
	}
	first := &memoryv1.ImportUserRequest{UserId: r.URL.Query().Get("user_id"), OnConflict: memoryv1.OnConflict(rule)}
	body := &framedFile{from: r.Body, first: first}
	out := &pieces{to: w, header: http.Header{}, kind: "application/json", reply: &memoryv1.ImportUserResponse{}, until: until}
	call := asGRPC(r, memoryv1.UserService_ImportUser_FullMethodName, body)
	endAt(call, until)
	o.GRPC.ServeHTTP(out, call)
	if errors.Is(body.err, errLateBody) {
		w.Header().Set("Connection", "close") // what comes later of the file would be taken for a request
		refuse(w, codes.DeadlineExceeded, lateInREST)
		return
	}
	out.end()
}

// callersDeadline is when a call ends by its X-Server-Timeout; zero where it has none. The error begins as that of the translation does,
// which reads the header of all other calls.
func callersDeadline(r *http.Request, now time.Time) (time.Time, error) {
	text := r.Header.Get(timeoutHeader)
	if text == "" {
		return time.Time{}, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(seconds) {
		return time.Time{}, errors.New(badTimeout + "of " + timeoutHeader)
	}
	seconds = min(max(seconds, 0), longestTimeout.Seconds())
	return now.Add(time.Duration(seconds * float64(time.Second))), nil
}

// longestTimeout is what a longer X-Server-Timeout is taken for: gRPC writes eight digits, here of milliseconds.
const longestTimeout = 24 * time.Hour

// endAt has a call of gRPC end at a time; zero is no time.
func endAt(call *http.Request, until time.Time) {
	if !until.IsZero() {
		left := max(0, time.Until(until))
		call.Header.Set("Grpc-Timeout", strconv.FormatInt(int64((left+time.Millisecond-1)/time.Millisecond), 10)+"m")
	}
}

// asGRPC is the request of a call of gRPC that does what r asks for.
func asGRPC(r *http.Request, method string, body io.ReadCloser) *http.Request {
	out := r.Clone(r.Context())
	out.Method, out.URL, out.Body, out.ContentLength = http.MethodPost, &url.URL{Path: method}, body, -1
	out.Proto, out.ProtoMajor, out.ProtoMinor = "HTTP/2.0", 2, 0
	out.Header.Set("Content-Type", "application/grpc")
	out.Header.Set("Te", "trailers")
	for _, name := range []string{"Content-Length", "Content-Encoding", "Accept-Encoding"} {
		out.Header.Del(name)
	}
	return out
}

// framed is a message as gRPC sends it.
func framed(m proto.Message) ([]byte, error) {
	out, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, frameHeader), m)
	if err != nil {
		return nil, err
	}
	binary.BigEndian.PutUint32(out[1:], uint32(len(out)-frameHeader)) //nolint:gosec // at most pieceBytes and an id
	return out, nil
}

// framedFile makes messages of a file as it comes.
type framedFile struct {
	from  io.ReadCloser
	first *memoryv1.ImportUserRequest // what the first message says beside its piece; nil once it was made
	next  []byte
	err   error
}

// Read reads bytes of messages.
func (f *framedFile) Read(p []byte) (int, error) {
	for len(f.next) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		piece := make([]byte, pieceBytes)
		n, err := io.ReadFull(f.from, piece)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF
		}
		f.err = err
		if n == 0 && f.first == nil {
			continue
		}
		m := cmp.Or(f.first, &memoryv1.ImportUserRequest{})
		m.Chunk, f.first = piece[:n], nil
		if f.next, err = framed(m); err != nil {
			return 0, err
		}
	}
	n := copy(p, f.next)
	f.next = f.next[n:]
	return n, nil
}

// Close closes the file.
func (f *framedFile) Close() error { return f.from.Close() }

// pieces is the reply of a call of gRPC: of an export each message's piece of the file is written on, of other calls the one message
// is written as JSON at the end.
type pieces struct {
	to     http.ResponseWriter
	header http.Header
	kind   string
	reply  proto.Message // nil where pieces are written on
	buffer []byte        // of a message that is not whole
	began  bool          // something was written
	until  time.Time     // the caller's deadline; zero for none
	failed error
}

// Header are the headers that gRPC sets, which the client is not sent.
func (p *pieces) Header() http.Header { return p.header }

// WriteHeader does nothing: whether the call fails is known at its end.
func (p *pieces) WriteHeader(int) {}

// Flush writes on what there is.
func (p *pieces) Flush() {
	if p.began {
		_ = http.NewResponseController(p.to).Flush()
	}
}

// Write takes bytes of messages.
func (p *pieces) Write(b []byte) (int, error) {
	if p.failed != nil {
		return 0, p.failed
	}
	p.buffer = append(p.buffer, b...)
	for len(p.buffer) >= frameHeader {
		n := frameHeader + int(binary.BigEndian.Uint32(p.buffer[1:]))
		if len(p.buffer) < n {
			break
		}
		if p.failed = p.message(p.buffer[frameHeader:n]); p.failed != nil {
			return 0, p.failed
		}
		p.buffer = p.buffer[n:]
	}
	return len(b), nil
}

func (p *pieces) message(b []byte) error {
	if p.reply != nil {
		return proto.Unmarshal(b, p.reply)
	}
	if !p.began {
		p.to.Header().Set("Content-Type", p.kind)
		p.began = true
	}
	for len(b) > 0 { // the piece is written as it lies in the message
		no, kind, n := protowire.ConsumeTag(b)
		if n < 0 || kind != protowire.BytesType {
			return protowire.ParseError(n)
		}
		value, m := protowire.ConsumeBytes(b[n:])
		if m < 0 {
			return protowire.ParseError(m)
		}
		if no == 1 {
			if _, err := p.to.Write(value); err != nil {
				return err
			}
		}
		b = b[n+m:]
	}
	return nil
}

// end writes the reply of a call that is over, or why it failed. A file of which a part was written already is cut off, so that the
// client sees that it is not whole: it lacks its last line too.
func (p *pieces) end() {
	st := p.status()
	if codes.Code(st.GetCode()) == codes.Canceled && !p.until.IsZero() && !time.Now().Before(p.until) { //nolint:gosec // below 17
		st = &spb.Status{Code: int32(codes.DeadlineExceeded), Message: lateForGRPC} // a part of the call was stopped by it
	}
	switch {
	case st.GetCode() == 0 && p.reply == nil:
		return
	case st.GetCode() == 0:
		body, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(p.reply)
		if err == nil {
			p.to.Header().Set("Content-Type", p.kind)
			_, _ = p.to.Write(body)
			return
		}
		st = &spb.Status{Code: int32(codes.Internal), Message: "the reply cannot be written"}
	case p.began:
		panic(http.ErrAbortHandler)
	}
	inRESTsWords(st)
	writeError(p.to, st)
}

// status is how the call ended, by gRPC's trailers.
func (p *pieces) status() *spb.Status {
	trailer := func(name string) string { return p.header.Get(http.TrailerPrefix+name) + p.header.Get(name) }
	if details, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(trailer("Grpc-Status-Details-Bin"), "=")); err == nil && len(details) > 0 {
		st := &spb.Status{}
		if proto.Unmarshal(details, st) == nil {
			return st
		}
	}
	code, err := strconv.ParseInt(trailer("Grpc-Status"), 10, 32)
	if err != nil {
		return &spb.Status{Code: int32(codes.Internal), Message: "the call ended without a status"}
	}
	message, err := url.PathUnescape(trailer("Grpc-Message"))
	if err != nil {
		message = ""
	}
	return &spb.Status{Code: int32(code), Message: message}
}

// writeError writes the status of a call as all other errors are written.
func writeError(w http.ResponseWriter, st *spb.Status) {
	writeErrorAs(w, httpStatus(connect.Code(st.GetCode())), st) //nolint:gosec // below 17
}

// writeErrorAs is writeError with another HTTP status than that of the code.
func writeErrorAs(w http.ResponseWriter, status int, st *spb.Status) {
	body, err := vanguard.JSONCodec{MarshalOptions: protojson.MarshalOptions{UseProtoNames: true}}.MarshalAppend(nil, st)
	if err != nil {
		body = []byte(`{}`)
	}
	if seconds := retryAfter(st); seconds > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// retryAfter is the time to retry that the error says, in whole seconds upwards; 0 where it says none.
func retryAfter(st *spb.Status) int64 {
	for _, d := range st.GetDetails() {
		info := &errdetails.RetryInfo{}
		if d.MessageIs(info) && d.UnmarshalTo(info) == nil {
			return int64(math.Ceil(info.GetRetryDelay().AsDuration().Seconds()))
		}
	}
	return 0
}

// httpStatus is the HTTP status of a code, by https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto.
func httpStatus(code connect.Code) int {
	switch code {
	case connect.CodeInvalidArgument, connect.CodeFailedPrecondition, connect.CodeOutOfRange:
		return http.StatusBadRequest
	case connect.CodeUnauthenticated:
		return http.StatusUnauthorized
	case connect.CodePermissionDenied:
		return http.StatusForbidden
	case connect.CodeNotFound:
		return http.StatusNotFound
	case connect.CodeAborted, connect.CodeAlreadyExists:
		return http.StatusConflict
	case connect.CodeResourceExhausted:
		return http.StatusTooManyRequests
	case connect.CodeCanceled:
		return 499 // of nginx: the client is gone
	case connect.CodeUnimplemented:
		return http.StatusNotImplemented
	case connect.CodeUnavailable:
		return http.StatusServiceUnavailable
	case connect.CodeDeadlineExceeded:
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}
