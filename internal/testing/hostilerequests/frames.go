package hostilerequests

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// framesPatience is how long a server is listened to that was sent frames which it may take as the beginning of something.
const framesPatience = 300 * time.Millisecond

// badFrames sends a request over HTTP/2 between frames that no client sends, and is not owed anything but a reply that is none of a defect.
func badFrames(ctx context.Context, address string, q Request) (kind, fault string) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return "no connection", "the server takes no connection: " + err.Error()
	}
	defer conn.Close()                    //nolint:errcheck // what was sent was sent
	r := rand.New(rand.NewPCG(q.Seed, 1)) //nolint:gosec // the same for the same seed, on purpose
	_ = conn.SetWriteDeadline(time.Now().Add(patience))
	_, _ = conn.Write(framesOf(r, q))
	_ = conn.SetReadDeadline(time.Now().Add(framesPatience))
	in := http2.NewFramer(nil, conn)
	in.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		f, err := in.ReadFrame()
		if err != nil {
			return "frames", ""
		}
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			res := &http.Response{Header: http.Header{}}
			for _, h := range f.Fields {
				if h.Name == ":status" {
					res.StatusCode, _ = strconv.Atoi(h.Value) // what is none is judged as 0
				}
				res.Header.Add(h.Name, h.Value)
			}
			if kind, fault := judge(res, nil); fault != "" {
				return kind, fault
			}
		case *http2.GoAwayFrame:
			if f.ErrCode == http2.ErrCodeInternal {
				return "frames", "the server ends the connection with INTERNAL_ERROR: " + string(f.DebugData())
			}
			return "frames", ""
		}
	}
}

// framesOf is a connection's beginning, a request, and what does not belong there.
func framesOf(r *rand.Rand, q Request) []byte {
	var out bytes.Buffer
	out.WriteString(http2.ClientPreface)
	if one(r, 20) {
		out.Truncate(r.IntN(out.Len()))
	}
	f := http2.NewFramer(&out, nil)
	f.AllowIllegalWrites = true
	if !one(r, 10) {
		_ = f.WriteSettings(http2.Setting{
			ID: http2.SettingID(r.IntN(9)), Val: pick(r, []uint32{0, 1, 16384, 1 << 24, 1<<31 - 1, 1<<32 - 1}), //nolint:gosec // below 9
		})
	}
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	fields := [][2]string{{":method", q.Method}, {":scheme", "http"}, {":path", q.Path}, {":authority", "127.0.0.1"}}
	for _, h := range q.Header {
		fields = append(fields, [2]string{strings.ToLower(h[0]), h[1]})
	}
	if one(r, 4) {
		fields = append(fields, pick(r, [][2]string{{":path", "/x"}, {"Upper", "x"}, {"connection", "close"}, {":x", "y"}, {"te", "gzip"}, {"content-length", "3"}}))
	}
	if one(r, 6) {
		fields = fields[r.IntN(3):]
	}
	for _, h := range fields {
		_ = encoder.WriteField(hpack.HeaderField{Name: h[0], Value: h[1], Sensitive: one(r, 10)})
	}
	if one(r, 8) {
		b := mutatedBytes(r, block.Bytes())
		block.Reset()
		block.Write(b)
	}
	stream := pick(r, []uint32{1, 1, 1, 1, 1, 3, 2, 0, 1<<31 - 1})
	const most = 16 << 10 // of a frame
	header := block.Bytes()
	first := header[:min(len(header), most)]
	_ = f.WriteHeaders(http2.HeadersFrameParam{
		StreamID: stream, BlockFragment: first, EndHeaders: len(first) == len(header) && !one(r, 12), EndStream: one(r, 12),
	})
	for left := header[len(first):]; len(left) > 0; {
		n := min(len(left), most)
		_ = f.WriteContinuation(stream, n == len(left), left[:n])
		left = left[n:]
	}
	body := q.Body[:min(len(q.Body), 100<<10)]
	for range r.IntN(4) {
		strange(r, f, &out, stream)
	}
	for first := true; first || len(body) > 0; first = false {
		n := min(len(body), most)
		_ = f.WriteData(stream, n == len(body) && !one(r, 4), body[:n])
		body = body[n:]
	}
	for range r.IntN(3) {
		strange(r, f, &out, stream)
	}
	return out.Bytes()
}

// strange writes a frame that does not belong where it is.
func strange(r *rand.Rand, f *http2.Framer, out *bytes.Buffer, stream uint32) {
	switch r.IntN(11) {
	case 0:
		_ = f.WriteRSTStream(stream, http2.ErrCode(r.IntN(20))) //nolint:gosec // below 20
	case 1:
		_ = f.WriteWindowUpdate(stream, pick(r, []uint32{0, 1, 1<<31 - 1}))
	case 2:
		_ = f.WriteGoAway(0, http2.ErrCodeNo, []byte("bye"))
	case 3:
		for range r.IntN(100) {
			_ = f.WritePing(one(r, 2), [8]byte{1})
		}
	case 4:
		_ = f.WriteContinuation(stream, one(r, 2), []byte{0x82})
	case 5:
		_ = f.WritePriority(stream, http2.PriorityParam{StreamDep: stream, Weight: 1})
	case 6:
		_ = f.WritePushPromise(http2.PushPromiseParam{StreamID: stream, PromiseID: 2, EndHeaders: true})
	case 7:
		_ = f.WriteSettingsAck()
	case 8:
		kind, flags := http2.FrameType(r.IntN(256)), http2.Flags(r.IntN(256)) //nolint:gosec // below 256
		_ = f.WriteRawFrame(kind, flags, stream, bytes.Repeat([]byte{7}, r.IntN(64)))
	case 9:
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: []byte{0x82}, EndHeaders: true, EndStream: true})
	case 10:
		out.Write([]byte{0xff, 0xff, 0xff, byte(r.IntN(10)), 0, 0, 0, 0, 1, 1, 1}) //nolint:gosec // a frame that is larger than may be
	}
}
