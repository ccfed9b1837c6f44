package grpcserver

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/edge/admission"
)

// refusals counts them, whatever their cause.
type refusals struct{ atomic.Int64 }

func (r *refusals) CallRefused(admission.Cause) { r.Add(1) }

func TestConnectionsThatHoldManyRequestsWait(t *testing.T) {
	const share = 4 << 20 // of the memory, for requests
	listening := func() (*connections, *refusals) {
		r := &refusals{}
		gate := admission.New(admission.Options{Heavy: 1, Memory: 4 * share, Wait: time.Second, Meter: r})
		l := newConnections(nil, connectionLimits{10, time.Minute}, gate, slog.New(slog.DiscardHandler))
		l.undecoded.one = 2 * share
		return l, r
	}
	// client is one whose bytes the server reads until its connection is closed.
	client := func(l *connections) (net.Conn, *connection) {
		near, far := net.Pipe()
		c, _ := l.add(far)
		go func() { _, _ = io.Copy(io.Discard, struct{ io.Reader }{c}) }()
		_, _ = near.Write([]byte(http2.ClientPreface))
		return near, c
	}
	// begin sends so much of a request as is asked, whole where it ends.
	begin := func(to net.Conn, stream uint32, n int, ends bool) error {
		f := http2.NewFramer(to, nil)
		for ; n > 0; n -= 16 << 10 {
			if err := f.WriteData(stream, ends && n <= 16<<10, make([]byte, min(n, 16<<10))); err != nil {
				return err
			}
		}
		return nil
	}
	t.Run("one that leaves its requests unfinished is cut off, and what they held is given back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l, refused := listening()
			hostile, _ := client(l)
			began := time.Now()
			if err := begin(hostile, 1, 3*share, false); err == nil {
				t.Error("all of it was read")
			}
			if took := time.Since(began); took != longestPause {
				t.Errorf("it was cut off after %s, want %s", took, longestPause)
			}
			if held := l.undecoded.total(); refused.Load() != 1 || held != 0 {
				t.Errorf("%d refusals, %d bytes held", refused.Load(), held)
			}
		})
	})
	t.Run("requests that come side by side by one connection can end, though together they are too many", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l, refused := listening()
			busy, _ := client(l)
			defer busy.Close()
			for range 2 {
				for stream := range uint32(5) {
					if err := begin(busy, 2*stream+1, share/8, false); err != nil {
						t.Fatal(err)
					}
				}
			}
			if held := l.undecoded.total(); refused.Load() != 0 || held <= l.undecoded.most {
				t.Errorf("%d refusals, %d bytes held", refused.Load(), held)
			}
		})
	})
	t.Run("one that waits goes on when there is room, and small requests of others are read meanwhile", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l, refused := listening()
			busy, of := client(l)
			defer busy.Close()
			if err := begin(busy, 1, 2*share+1, true); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(time.Second, func() { of.decoded(2*share + 1 - messagePrefix) })
			other, _ := client(l)
			defer other.Close()
			began := time.Now()
			if err := begin(other, 1, 1000, true); err != nil || time.Since(began) != 0 {
				t.Errorf("a small request of another waited %s: %v", time.Since(began), err)
			}
			if err := begin(busy, 3, 1000, true); err != nil || time.Since(began) != time.Second {
				t.Errorf("the next request of the busy one waited %s: %v", time.Since(began), err)
			}
			if refused.Load() != 0 {
				t.Error("a connection was closed")
			}
		})
	})
}

func TestBytesOfRequestsAreCounted(t *testing.T) {
	const large = smallBytes + 1000
	written := func(write func(*http2.Framer)) []byte {
		var b bytes.Buffer
		b.WriteString(http2.ClientPreface)
		write(http2.NewFramer(&b, nil))
		return b.Bytes()
	}
	data := func(f *http2.Framer, stream uint32, n int, end bool) {
		for ; n > 10_000; n -= 10_000 {
			_ = f.WriteData(stream, false, make([]byte, 10_000))
		}
		_ = f.WriteData(stream, end, make([]byte, n))
	}
	for _, c := range []struct {
		name         string
		write        func(*http2.Framer)
		parts, whole int64
	}{
		{"a request that has not ended is held", func(f *http2.Framer) { data(f, 1, large, false) }, large, 0},
		{"a large request that has ended is held until it is decoded", func(f *http2.Framer) { data(f, 1, large, true) }, 0, large},
		{"a small one that has ended is not", func(f *http2.Framer) { data(f, 1, 100, true) }, 0, 0},
		{"one that was given up is not", func(f *http2.Framer) {
			data(f, 1, large, false)
			_ = f.WriteRSTStream(1, http2.ErrCodeCancel)
		}, 0, 0},
		{"one that ends with an empty frame is whole", func(f *http2.Framer) {
			data(f, 1, large, false)
			_ = f.WriteData(1, true, nil)
		}, 0, large},
		{"streams are told apart, and other frames are no requests", func(f *http2.Framer) {
			_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
			data(f, 1, 500, false)
			_ = f.WritePing(false, [8]byte{})
			data(f, 3, 700, false)
			_ = f.WriteWindowUpdate(0, 1000)
			_ = f.WriteData(1, true, nil)
		}, 700, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			stream := written(c.write)
			rapid.Check(t, func(rt *rapid.T) { // however it is cut into reads
				r, rest := newRequestBytes(), stream
				for len(rest) > 0 {
					n := rapid.IntRange(1, min(len(rest), 40_000)).Draw(rt, "read")
					r.feed(rest[:n])
					rest = rest[n:]
				}
				if r.parts != c.parts || r.whole != c.whole {
					rt.Errorf("%d in parts and %d whole, want %d and %d", r.parts, r.whole, c.parts, c.whole)
				}
			})
		})
	}
}

// total is how much all connections hold.
func (u *undecoded) total() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.held
}
