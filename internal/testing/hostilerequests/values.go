package hostilerequests

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// texts are ids and words that something may take wrongly.
func texts() []string {
	return []string{
		"ada", "s1", "", "a/b", "a:record", "a%2Fb", "..", ".", "../../etc/passwd", "%00", "\x00", "a\nb", "日本語", "é🙂", "\u202e\u200b", "\ufffd", "\xff\xfe",
		"'; drop table messages;--", "{{.}}", "${jndi:x}", "<script>", "*", "**", "{user_id}", "a//b", `a\b`, "%", "%zz", "null", "-1", "NaN", "__proto__",
		strings.Repeat("a", 300), strings.Repeat("é", 2000), strings.Repeat("x ", 5000),
	}
}

func text(r *rand.Rand) string {
	if one(r, 3) {
		return pick(r, []string{"ada", "eve", "s1", "s2", "m1"}) // so that some of what is asked for is there
	}
	return pick(r, texts())
}

const deepest = 4

// fill sets some fields of a message.
func fill(r *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		id := strings.HasSuffix(string(f.Name()), "_id")
		if !one(r, 3) && (!id || one(r, 6)) || depth > deepest {
			continue
		}
		switch {
		case f.IsMap():
			for range r.IntN(3) {
				key := scalar(r, f.MapKey())
				if f.MapValue().Message() != nil {
					v := m.Mutable(f).Map().NewValue()
					fill(r, v.Message(), depth+1)
					m.Mutable(f).Map().Set(key.MapKey(), v)
					continue
				}
				m.Mutable(f).Map().Set(key.MapKey(), scalar(r, f.MapValue()))
			}
		case f.IsList():
			for range r.IntN(4) {
				list := m.Mutable(f).List()
				if f.Message() != nil {
					v := list.NewElement()
					fill(r, v.Message(), depth+1)
					list.Append(v)
					continue
				}
				list.Append(scalar(r, f))
			}
		case f.Message() != nil:
			fill(r, m.Mutable(f).Message(), depth+1)
		default:
			m.Set(f, scalar(r, f))
		}
	}
}

// scalar is a value of a field: small, or at the end of what its type holds.
func scalar(r *rand.Rand, f protoreflect.FieldDescriptor) protoreflect.Value {
	whole := pick(r, []int64{0, 1, 2, 10, -1, 1000, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64})
	real := pick(r, []float64{0, 0.5, 1, -1, math.Inf(1), math.NaN(), math.MaxFloat64})
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(one(r, 2))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(pick(r, []int32{0, 1, 2, 3, 4, 5, 99, -1})))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(whole)) //nolint:gosec // cut on purpose
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(whole)) //nolint:gosec // cut on purpose
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(whole)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(whole)) //nolint:gosec // cut on purpose
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(real))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(real)
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(bytes.Repeat([]byte{byte(r.IntN(256))}, r.IntN(40))) //nolint:gosec // below 256
	default:
		return protoreflect.ValueOfString(text(r))
	}
}

// mutate changes one thing of a request.
func mutate(r *rand.Rand, out *Request) {
	switch r.IntN(14) {
	case 0, 1, 2, 3:
		out.Body = mutatedBytes(r, out.Body)
	case 4:
		out.Body = largeBody(r, out.Body)
	case 5:
		out.Path = mutatedPath(r, out.Path)
	case 6:
		out.Method = pick(r, []string{"GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "TRACE", "PRI", "get", "X", "POST "})
	case 7:
		setHeader(out, "Content-Type", pick(r, types()))
	case 8:
		if len(out.Header) > 0 {
			i := r.IntN(len(out.Header))
			out.Header = append(out.Header[:i:i], out.Header[i+1:]...)
		}
	case 9:
		if len(out.Header) > 0 {
			h := pick(r, out.Header)
			out.Header = append(out.Header, h)
		}
	case 10:
		out.Header = append(out.Header, pick(r, headers(r)))
	case 11:
		for range 1 + r.IntN(200) {
			out.Header = append(out.Header, [2]string{"X-" + strings.Repeat("a", 1+r.IntN(20)), strings.Repeat("b", r.IntN(200))})
		}
	case 12:
		if len(out.Header) > 0 {
			i := r.IntN(len(out.Header))
			out.Header[i][1] = string(mutatedBytes(r, []byte(out.Header[i][1])))
		}
	case 13:
		out.Header = append(out.Header, [2]string{"Expect", pick(r, []string{"100-continue", "200-ok"})})
	}
}

func setHeader(out *Request, name, value string) {
	for i := range out.Header {
		if out.Header[i][0] == name {
			out.Header[i][1] = value
			return
		}
	}
	out.Header = append(out.Header, [2]string{name, value})
}

func types() []string {
	return []string{
		"application/json", "application/proto", "application/grpc", "application/grpc-web", "application/grpc-web-text", "application/grpc-web+thrift",
		"application/connect+json", "application/connect+proto", "application/connect+x", "application/x-ndjson", "text/plain", "application/xml", "",
		"application/json; charset=utf-16", "application/json; charset", ";", "application/grpc+", "application/grpcx", "multipart/form-data", "\x80",
	}
}

// headers are some that mean something to something on the way.
func headers(r *rand.Rand) [][2]string {
	return [][2]string{
		{"Connection", pick(r, []string{"close", "upgrade", "keep-alive, te", "Content-Length"})},
		{"Upgrade", "h2c"},
		{"HTTP2-Settings", "AAMAAABkAAQAAP__"},
		{"Trailer", "Grpc-Status"},
		{"Grpc-Status", "13"},
		{"Grpc-Message", "%zz"},
		{"Grpc-Status-Details-Bin", "!!"},
		{"Grpc-Accept-Encoding", "gzip,br"},
		{"Accept-Encoding", pick(r, []string{"gzip", "br;q=1", "*", ""})},
		{"Connect-Accept-Encoding", "gzip"},
		{"Connect-Protocol-Version", "2"},
		{"Connect-Timeout-Ms", pick(r, []string{"-1", "x", "99999999999999999999"})},
		{"Grpc-Timeout", pick(r, []string{"-1S", "x", "1", "999999999S", ""})},
		{"X-Server-Timeout", pick(r, []string{"x", "1e999", "-0"})},
		{"Origin", "https://evil.example"},
		{"Host", "evil.example"},
		{"Authorization", pick(r, []string{"Bearer x", "Bearer strata_000000000000_0", "Basic eDp5", "\xff"})},
		{"X-Http-Method-Override", "DELETE"},
		{"Traceparent", pick(r, []string{"00-x", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})},
		{"A-Bin", "not base64!"},
		{"Cookie", strings.Repeat("c", 20<<10)},
		{"Range", "bytes=0-1"},
		{"If-None-Match", "*"},
		{"Accept", "text/event-stream"},
		{"Transfer-Encoding", "gzip"},
		{"Te", "gzip"},
		{"Content-Length", "-5"},
		{"Bad Name", "x"},
		{"X", "a\r\nInjected: y"},
		{":path", "/x"},
		{"", "x"},
	}
}

func mutatedBytes(r *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	at := func() int { return r.IntN(len(b) + 1) }
	switch r.IntN(9) {
	case 0:
		for range 1 + r.IntN(8) {
			if len(b) > 0 {
				b[r.IntN(len(b))] = byte(r.IntN(256)) //nolint:gosec // below 256
			}
		}
	case 1:
		return b[:at()]
	case 2:
		i := at()
		return append(b[:i:i], append([]byte(pick(r, texts())), b[i:]...)...)
	case 3:
		return append(b, b...)
	case 4:
		i := at()
		return append(b[:i:i], b[min(len(b), i+1+r.IntN(8)):]...)
	case 5:
		return bytes.ReplaceAll(b, []byte(`"`), []byte(pick(r, []string{`'`, ``, `"\u0000`, `"\ud800`})))
	case 6:
		i, j := bytes.IndexByte(b, ':'), 0
		if i >= 0 {
			j = i + 1
		}
		values := []string{
			"1e999", "-0", "null", "[]", "{}", `""`, "true", "123456789012345678901234567890", strings.Repeat("[", 20_000), strings.Repeat(`{"a":`, 12_000),
			`{"@type":"type.googleapis.com/x"}`,
		}
		return append(b[:j:j], append([]byte(pick(r, values)), b[j:]...)...)
	case 7:
		out := make([]byte, r.IntN(200))
		for i := range out {
			out[i] = byte(r.IntN(256)) //nolint:gosec // below 256
		}
		return out
	case 8:
		return nil
	}
	return b
}

// largeBody is larger than the body, and seldom larger than what is read.
func largeBody(r *rand.Rand, b []byte) []byte {
	size := pick(r, []int{1 << 10, 16 << 10, 64<<10 + 1, 200 << 10})
	if one(r, 60) {
		size = pick(r, []int{1 << 20, 4<<20 + 1, 8<<20 + 1, 16<<20 + 1})
	}
	filler := pick(r, []string{" ", "a", "\x00", "[", "\x0a\x01a", `{"a":1},`, "\xff"})
	out := bytes.Repeat([]byte(filler), size/len(filler)+1)
	if one(r, 2) && len(b) > 2 {
		i := len(b) - 1
		return append(append(bytes.Clone(b[:i]), out...), b[i:]...)
	}
	return append(bytes.Clone(b), out...)
}

func mutatedPath(r *rand.Rand, path string) string {
	switch r.IntN(8) {
	case 0:
		return string(mutatedBytes(r, []byte(path)))
	case 1:
		return path + pick(r, []string{"/", ":", "%", "?", "#x", "//", "/..", ":x:y", "?a", "?a=%zz", "?=&&=", "%2F", ";a=b"})
	case 2:
		return "/" + path
	case 3:
		return strings.ToUpper(path)
	case 4:
		return pick(r, []string{
			"/", "*", "", "/healthz", "/readyz", "/openapi.yaml", "/metrics", "/debug/pprof/", "/v1/", "/v1/users", "/v1/users/%", "http://evil.example/v1/users", "/v1/users/a%2",
			"/grpc.health.v1.Health/Check", "/memory.v1.MemoryService/", "/memory.v1.MemoryService/Nothing", "/x.Y/Z", "\x00", "/v1/users/ada/sessions/s1:nothing",
		})
	case 5:
		return strings.Replace(path, "/", "%2F", 1+r.IntN(3))
	case 6:
		return path + "/" + strings.Repeat("a/", r.IntN(3000))
	default:
		return path + "?" + strings.Repeat("page_size=1&", r.IntN(800))
	}
}
