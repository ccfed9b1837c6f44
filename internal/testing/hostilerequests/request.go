package hostilerequests

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// Request is one of them.
type Request struct {
	Method, Path string
	Header       [][2]string // in order; a name may come twice
	Body         []byte
	HTTP2        bool
	Delivery     Delivery
	Pieces       int    // the body is sent in so many, with a pause between them; 1 for at once
	Seed         uint64 // of what the sender decides
}

// Delivery is how the bytes of a request are sent.
type Delivery int

// Deliveries. A server owes a reply to the first two.
const (
	Whole      Delivery = iota // with its length
	Chunked                    // without its length
	TooShort                   // ends before the length that was named
	TooLong                    // has more bytes than were named
	BadChunks                  // in chunks whose sizes are no numbers, or not theirs
	BothWays                   // names a length and chunks too
	BadLength                  // names a length that is none
	Abandoned                  // is whole, but its client does not wait for the reply
	BadFrames                  // over HTTP/2: frames that no client sends
	deliveries                 // how many there are
)

// owed reports whether a reply must come.
func (d Delivery) owed() bool { return d == Whole || d == Chunked }

// String is the request, cut where it is long.
func (r Request) String() string {
	const most = 400
	cut := func(s string) string {
		if len(s) > most {
			return fmt.Sprintf("%s… (%d bytes)", s[:most], len(s))
		}
		return s
	}
	var head strings.Builder
	for _, h := range r.Header {
		fmt.Fprintf(&head, " %s=%q", h[0], cut(h[1]))
	}
	return fmt.Sprintf("%s %q HTTP2=%t delivery=%d pieces=%d%s body=%s",
		r.Method, cut(r.Path), r.HTTP2, r.Delivery, r.Pieces, head.String(), cut(fmt.Sprintf("%q", r.Body[:min(len(r.Body), most)])))
}

// calls are the methods of the API, always in the same order.
var calls = sync.OnceValue(func() (all []protoreflect.MethodDescriptor) {
	api := memoryv1.File_memory_v1_memory_service_proto.Package()
	protoregistry.GlobalFiles.RangeFilesByPackage(api, func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			for j := range f.Services().Get(i).Methods().Len() {
				all = append(all, f.Services().Get(i).Methods().Get(j))
			}
		}
		return true
	})
	slices.SortFunc(all, func(a, b protoreflect.MethodDescriptor) int {
		return strings.Compare(string(a.FullName()), string(b.FullName()))
	})
	return all
})

// Make makes the request of a number.
func Make(p Protocol, seed uint64, number int) Request {
	r := random(p, seed, number)
	all := calls()
	m := all[r.IntN(len(all))]
	var out Request
	switch p {
	case GRPC:
		out = grpcRequest(r, m)
	case GRPCWeb:
		out = grpcWebRequest(r, m)
	case Connect:
		out = connectRequest(r, m)
	case REST:
		out = restRequest(r, m)
	}
	out.Pieces = 1
	for range mutationsOf(r) {
		mutate(r, &out)
	}
	if one(r, 12) {
		out.Delivery = Delivery(r.IntN(int(deliveries)))
	} else if one(r, 8) {
		out.Delivery = Chunked
	}
	if one(r, 60) {
		out.Pieces = 2 + r.IntN(4)
	}
	if p == GRPC {
		out.HTTP2 = true
		if one(r, 12) {
			out.Delivery = BadFrames
		}
	} else {
		out.HTTP2 = one(r, 6)
	}
	if !out.HTTP2 && out.Delivery == BadFrames || out.HTTP2 && out.Delivery > TooShort && out.Delivery < Abandoned {
		out.Delivery = Whole
	}
	out.Seed = r.Uint64()
	return out
}

// one is true once in n.
func one(r *rand.Rand, n int) bool { return r.IntN(n) == 0 }

// pick is one of what there is.
func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// mutationsOf is how many there are: none in a quarter of all requests.
func mutationsOf(r *rand.Rand) int { return []int{0, 1, 1, 1, 2, 2, 3, 5}[r.IntN(8)] }

func grpcRequest(r *rand.Rand, m protoreflect.MethodDescriptor) Request {
	out := Request{Method: "POST", Path: methodPath(m), Body: messages(r, m, false)}
	out.Header = [][2]string{
		{"Content-Type", pick(r, []string{"application/grpc", "application/grpc+proto", "application/grpc", "application/grpc+json", "application/grpc; a=b"})},
		{"Te", "trailers"},
	}
	if !one(r, 10) {
		out.Header = append(out.Header, [2]string{"Grpc-Timeout", pick(r, []string{"300m", "1S", "50000u", "5m", "1n", "99999999H", "0S"})})
	}
	if one(r, 8) {
		out.Header = append(out.Header, [2]string{"Grpc-Encoding", pick(r, encodings())})
	}
	return out
}

func grpcWebRequest(r *rand.Rand, m protoreflect.MethodDescriptor) Request {
	asJSON := one(r, 4)
	out := Request{Method: "POST", Path: methodPath(m), Body: messages(r, m, asJSON)}
	kind := "application/grpc-web+proto"
	if asJSON {
		kind = "application/grpc-web+json"
	}
	switch r.IntN(8) {
	case 0:
		out.Body = []byte(base64.StdEncoding.EncodeToString(out.Body))
		kind = strings.Replace(kind, "-web", "-web-text", 1)
	case 1: // trailers, whole or not, which a request has none of
		trailer := frame(0x80, []byte("grpc-status: 0\r\ngrpc-message: x\r\n"))
		out.Body = append(out.Body, trailer[:1+r.IntN(len(trailer))]...)
	}
	out.Header = [][2]string{{"Content-Type", kind}, {"X-Grpc-Web", "1"}}
	if !one(r, 10) {
		out.Header = append(out.Header, [2]string{"Grpc-Timeout", pick(r, []string{"300m", "1S", "50000u", "5m"})})
	}
	if one(r, 8) {
		out.Header = append(out.Header, [2]string{"Grpc-Encoding", pick(r, encodings())})
	}
	return out
}

func connectRequest(r *rand.Rand, m protoreflect.MethodDescriptor) Request {
	asJSON := !one(r, 3)
	suffix := "proto"
	if asJSON {
		suffix = "json"
	}
	out := Request{Method: "POST", Path: methodPath(m)}
	timeout := [2]string{"Connect-Timeout-Ms", pick(r, []string{"300", "1000", "5", "1", "0", "9999999999"})}
	if m.IsStreamingClient() || m.IsStreamingServer() || one(r, 10) {
		out.Body = messages(r, m, asJSON)
		if one(r, 3) {
			out.Body = append(out.Body, frame(2, []byte(`{"metadata":{}}`))...) // an end, which a request has none of
		}
		out.Header = [][2]string{{"Content-Type", "application/connect+" + suffix}, {"Connect-Protocol-Version", "1"}, timeout}
		if one(r, 8) {
			out.Header = append(out.Header, [2]string{"Connect-Content-Encoding", pick(r, encodings())})
		}
		return out
	}
	body := message(r, m.Input(), asJSON)
	if one(r, 12) {
		query := url.Values{"encoding": {suffix}, "connect": {"v1"}}
		query.Set("message", string(body))
		if one(r, 2) {
			query.Set("message", base64.RawURLEncoding.EncodeToString(body))
			query.Set("base64", pick(r, []string{"1", "0", "x"}))
		}
		if one(r, 4) {
			query.Set("compression", pick(r, encodings()))
		}
		out.Method, out.Path = "GET", out.Path+"?"+query.Encode()
		return out
	}
	out.Body = body
	out.Header = [][2]string{{"Content-Type", "application/" + suffix}, {"Connect-Protocol-Version", "1"}, timeout}
	compress(r, &out)
	return out
}

func restRequest(r *rand.Rand, m protoreflect.MethodDescriptor) Request {
	out := Request{Header: [][2]string{{"X-Server-Timeout", pick(r, []string{"0.3", "1", "0.005", "0", "1e9", "NaN", "-1"})}}}
	rule, _ := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
	switch path := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		out.Method, out.Path = "GET", path.Get
	case *annotations.HttpRule_Post:
		out.Method, out.Path = "POST", path.Post
	case *annotations.HttpRule_Patch:
		out.Method, out.Path = "PATCH", path.Patch
	case *annotations.HttpRule_Delete:
		out.Method, out.Path = "DELETE", path.Delete
	default: // of files
		user := url.PathEscape(text(r))
		out.Method, out.Path = "GET", "/v1/users/"+user+"/export"
		if one(r, 2) {
			out.Method, out.Path = "POST", "/v1/users:import?user_id="+url.QueryEscape(text(r))
			out.Body = importedFile(r)
			out.Header = append(out.Header, [2]string{"Content-Type", "application/x-ndjson"})
		}
		return out
	}
	for {
		from, to := strings.Index(out.Path, "{"), strings.Index(out.Path, "}")
		if from < 0 || to < from {
			break
		}
		id := text(r)
		encoded := strings.ReplaceAll(url.PathEscape(id), ":", "%3A")
		if one(r, 8) {
			encoded = id // as it is, with all that must not stand in a path
		}
		out.Path = out.Path[:from] + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(encoded) + out.Path[to+1:]
	}
	if rule.GetBody() != "" {
		in := m.Input()
		if f := in.Fields().ByName(protoreflect.Name(rule.GetBody())); f != nil && f.Message() != nil {
			in = f.Message()
		}
		out.Body = message(r, in, true)
		out.Header = append(out.Header, [2]string{"Content-Type", "application/json"})
		compress(r, &out)
	}
	if rule.GetBody() != "*" || one(r, 10) {
		out.Path += "?" + query(r, m.Input())
	}
	return out
}

// importedFile is a file of a user, more or less.
func importedFile(r *rand.Rand) []byte {
	lines := []string{
		`{"header":{"format":"strata-user","version":1,"user_id":"ada"}}`, `{"user":{"user_id":"ada"}}`, `{"session":{"session_id":"s1"}}`,
		`{"turn":{}}`, `{"fact":{"text":"x"}}`, `{"trailer":{}}`, `{`, ``, `null`, `[]`, strings.Repeat("[", 200), `{"header":{"version":99}}`,
	}
	var out bytes.Buffer
	for range r.IntN(8) {
		out.WriteString(pick(r, lines))
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// query are parameters of a call.
func query(r *rand.Rand, in protoreflect.MessageDescriptor) string {
	var out []string
	for range r.IntN(5) {
		f := in.Fields().Get(r.IntN(in.Fields().Len()))
		name := string(f.Name())
		if f.Message() != nil && f.Message().Fields().Len() > 0 && one(r, 2) {
			name += "." + string(f.Message().Fields().Get(r.IntN(f.Message().Fields().Len())).Name())
		}
		value := url.QueryEscape(text(r))
		if one(r, 2) {
			value = pick(r, []string{"1", "-1", "0", "true", "1e400", "9223372036854775808", "3s", "2026-01-01T00:00:00Z", "NaN", "", "%zz", "a,b", "{}"})
		}
		out = append(out, name+"="+value)
	}
	return strings.Join(out, "&")
}

func methodPath(m protoreflect.MethodDescriptor) string {
	return "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
}

func encodings() []string {
	return []string{"gzip", "identity", "br", "deflate", "zstd", "", "gzip, gzip", "\xff"}
}

// compress compresses a body, or says so of one that is not.
func compress(r *rand.Rand, out *Request) {
	switch r.IntN(16) {
	case 0:
		out.Body = zipped(out.Body)
		out.Header = append(out.Header, [2]string{"Content-Encoding", "gzip"})
	case 1:
		out.Header = append(out.Header, [2]string{"Content-Encoding", pick(r, encodings())})
	case 2:
		if one(r, 40) { // a small body of which a large one becomes
			out.Body = bomb()
			out.Header = append(out.Header, [2]string{"Content-Encoding", "gzip"})
		}
	}
}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

// bomb is 64 MiB of spaces, compressed.
var bomb = sync.OnceValue(func() []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	spaces := bytes.Repeat([]byte(" "), 1<<20)
	for range 64 {
		_, _ = w.Write(spaces)
	}
	_ = w.Close()
	return out.Bytes()
})

// frame is a message as gRPC and the streams of Connect send it.
func frame(flags byte, b []byte) []byte {
	out := make([]byte, 5, 5+len(b))
	out[0] = flags
	binary.BigEndian.PutUint32(out[1:], uint32(len(b))) //nolint:gosec // at most some MiB
	return append(out, b...)
}

// messages are the frames of a call: one, or some that a stream has, and of a call that is no stream none or too many at times.
func messages(r *rand.Rand, m protoreflect.MethodDescriptor, asJSON bool) []byte {
	n := 1
	if m.IsStreamingClient() {
		n = r.IntN(4)
	} else if one(r, 20) {
		n = r.IntN(3)
	}
	var out []byte
	for range n {
		flags, b := byte(0), message(r, m.Input(), asJSON)
		switch r.IntN(24) {
		case 0:
			flags, b = 1, zipped(b)
		case 1:
			flags = 1
		case 2:
			flags = byte(r.IntN(256)) //nolint:gosec // below 256
		case 3:
			if one(r, 30) {
				flags, b = 1, bomb()
			}
		}
		f := frame(flags, b)
		switch r.IntN(24) {
		case 0: // less than it says
			f = f[:r.IntN(len(f))]
		case 1: // says more
			binary.BigEndian.PutUint32(f[1:], pick(r, []uint32{1, 0xffffffff, 1 << 31, 9 << 20, uint32(len(b)) + 1})) //nolint:gosec // small
		}
		out = append(out, f...)
	}
	return out
}

// message is a request with some of its fields, encoded.
func message(r *rand.Rand, d protoreflect.MessageDescriptor, asJSON bool) []byte {
	of, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		return nil
	}
	m := of.New()
	fill(r, m, 0)
	if asJSON {
		if out, err := (protojson.MarshalOptions{UseProtoNames: one(r, 2), AllowPartial: true}).Marshal(m.Interface()); err == nil {
			return out
		}
		return []byte(`{"user_id":"ada","session_id":"s1"}`)
	}
	out, err := proto.MarshalOptions{AllowPartial: true, Deterministic: true}.Marshal(m.Interface())
	if err != nil { // text that is no UTF-8
		return []byte("\x0a\x03ada\x12\x02\xff\xfe")
	}
	return out
}
