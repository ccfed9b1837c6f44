package grpcserver

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/edge/admission"
)

// What connections may hold of requests that are not decoded yet. The transport takes the bytes of a request from its
// connection as they come, before any of this program's code knows of the call, and on every stream at once. So they are
// counted where they are read; while there are too many, connections that hold more than freeBytes are not read from.
const (
	freeBytes     = 1 << 20   // of every connection
	oneBytes      = 128 << 20 // of one connection, so that requests that come side by side can end: 64 of the largest
	longestPause  = 2 * time.Second
	prefaceBytes  = 24 // RFC 9113, 3.4
	frameHeader   = 9  // RFC 9113, 4.1
	frameData     = 0x0
	frameHeaders  = 0x1
	frameReset    = 0x3
	flagEndStream = 0x1
	messagePrefix = 5 // of a gRPC message: whether it is compressed, and its length

	// openBytes are the most that count of one call. A request that is larger is refused; a call that streams is decoded message
	// by message, and the window of its stream keeps the rest with the client.
	openBytes = maxReceiveBytes + messagePrefix
)

// undecoded counts the bytes of requests that all connections have read and that are not decoded yet. Above most, one
// connection at a time is still read from until it holds one: were all to wait, no request would end.
type undecoded struct {
	most, one int64

	mu    sync.Mutex
	held  int64
	first *connection   // the one that is still read from; nil for none
	less  chan struct{} // closed when another connection may be read from
}

func (u *undecoded) add(n int64) {
	if n == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.held += n
	if n < 0 {
		close(u.less)
		u.less = make(chan struct{})
	}
}

// mustWait reports whether a connection that holds so many must wait, and returns a channel that is closed when it should
// ask again.
func (u *undecoded) mustWait(c *connection, held int64) (bool, <-chan struct{}) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.held <= u.most {
		return false, nil
	}
	if held <= u.one && (u.first == nil || u.first == c) {
		u.first = c
		return false, nil
	}
	return true, u.less
}

// holds notes what a connection holds now: one that holds little leaves its turn to another.
func (u *undecoded) holds(c *connection, held int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.first == c && held <= freeBytes {
		u.first = nil
		close(u.less)
		u.less = make(chan struct{})
	}
}

// Read reads what the client sends. Where its requests hold much and there is no room it waits, so that the client has to
// wait too. When that takes too long the connection is closed that holds most.
func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	held := c.count(func(r *requestBytes) { r.feed(b[:n]) })
	for held > freeBytes && err == nil {
		wait, less := c.all.undecoded.mustWait(c, held)
		if !wait {
			break
		}
		pause := time.NewTimer(longestPause)
		select {
		case <-less:
		case <-pause.C:
			c.all.cutFullest()
		}
		pause.Stop()
		held = c.count(func(*requestBytes) {})
	}
	return n, err
}

// count changes what the connection's requests hold, and returns how much that is.
func (c *connection) count(change func(*requestBytes)) int64 {
	c.reading.Lock()
	before := c.requests.held()
	change(&c.requests)
	held := c.requests.held()
	c.reading.Unlock()
	c.all.undecoded.add(held - before)
	c.all.undecoded.holds(c, held)
	return held
}

// cutFullest closes the connection whose requests hold most.
func (l *connections) cutFullest() {
	var fullest *connection
	most := int64(0)
	for _, c := range l.all() {
		if held := c.count(func(*requestBytes) {}); held > most {
			fullest, most = c, held
		}
	}
	if fullest != nil {
		fullest.cut(admission.CauseSlowWriter)
	}
}

// decoded notes that a large request of so many bytes was decoded, or refused.
func (c *connection) decoded(bytes int64) {
	c.count(func(r *requestBytes) { r.whole -= min(bytes+messagePrefix, r.whole) })
}

// streamed notes that a call is over which streamed so many bytes, with the prefixes of its messages.
func (c *connection) streamed(bytes int64) {
	if bytes < smallBytes+messagePrefix {
		return
	}
	c.count(func(r *requestBytes) { r.whole -= min(bytes, openBytes, r.whole) })
}

// forget gives back what requests hold that are never decoded, since their connection is closed.
func (c *connection) forget() {
	c.count(func(r *requestBytes) { r.whole, r.parts, r.open = 0, 0, nil })
}

// uncounted has the bytes of the connection's requests not counted here any more: they are not frames of gRPC.
func (c *connection) uncounted() { c.forget() }

// requestBytes follows the frames of a connection and counts the bytes of its requests.
type requestBytes struct {
	preface int // still to come
	header  [frameHeader]byte
	have    int // of the header
	left    int // of the frame's payload

	open  map[uint32]int64 // the bytes of requests that have not ended, by stream
	parts int64            // the sum of open
	whole int64            // of large requests that have ended and are not decoded yet
}

func newRequestBytes() requestBytes {
	return requestBytes{preface: prefaceBytes, open: map[uint32]int64{}}
}

func (r *requestBytes) held() int64 { return r.parts + r.whole }

// feed takes what was read. It never fails: what is no HTTP/2 the transport refuses.
func (r *requestBytes) feed(b []byte) {
	for len(b) > 0 && r.open != nil {
		var n int
		switch {
		case r.preface > 0:
			n = min(r.preface, len(b))
			r.preface -= n
		case r.have < frameHeader:
			n = copy(r.header[r.have:], b)
			if r.have += n; r.have == frameHeader {
				r.left = int(r.header[0])<<16 | int(r.header[1])<<8 | int(r.header[2])
				r.endFrame()
			}
		default:
			n = min(r.left, len(b))
			r.left -= n
			if r.header[3] == frameData {
				more := min(int64(n), openBytes-r.open[r.stream()])
				r.open[r.stream()] += more
				r.parts += more
			}
			r.endFrame()
		}
		b = b[n:]
	}
}

func (r *requestBytes) stream() uint32 { return binary.BigEndian.Uint32(r.header[5:]) &^ (1 << 31) }

// endFrame begins the next frame where the last is over. A large request that ended is held until it is decoded; a small
// one is decoded at once.
func (r *requestBytes) endFrame() {
	if r.left > 0 {
		return
	}
	r.have = 0
	kind, ends := r.header[3], r.header[4]&flagEndStream != 0
	if kind != frameReset && (!ends || kind != frameData && kind != frameHeaders) {
		return
	}
	bytes, ok := r.open[r.stream()]
	if !ok {
		return
	}
	delete(r.open, r.stream())
	r.parts -= bytes
	if kind != frameReset && bytes >= smallBytes+messagePrefix {
		r.whole += bytes
	}
}
