package server

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/admission"
)

// What connections may hold of requests that are not decoded yet. The transport takes the bytes of a request from its
// connection as they come, before any of this program's code knows of the call, and on every stream at once. So they are
// counted where they are read; while there are too many, connections that hold more than freeBytes are not read from.
const (
	freeBytes     = 1 << 20 // of every connection
	longestPause  = 5 * time.Second
	prefaceBytes  = 24 // RFC 9113, 3.4
	frameHeader   = 9  // RFC 9113, 4.1
	frameData     = 0x0
	frameHeaders  = 0x1
	frameReset    = 0x3
	flagEndStream = 0x1
	messagePrefix = 5 // of a gRPC message: whether it is compressed, and its length
)

// undecoded counts the bytes of requests that all connections have read and that are not decoded yet.
type undecoded struct {
	most int64

	mu   sync.Mutex
	held int64
	less chan struct{} // closed when held becomes less
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

// tooMany reports whether there are too many, and otherwise returns a channel that is closed when there are less.
func (u *undecoded) tooMany() (bool, <-chan struct{}) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.held > u.most, u.less
}

// Read reads what the client sends. Where its requests hold much and there is no room it waits, so that the client has to
// wait too; one that leaves its requests unfinished meanwhile is cut off.
func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.reading.Lock()
	before := c.requests.held()
	c.requests.feed(b[:n])
	held := c.requests.held()
	c.reading.Unlock()
	c.all.undecoded.add(held - before)
	if held <= freeBytes || err != nil {
		return n, err
	}
	pause := time.NewTimer(longestPause)
	defer pause.Stop()
	for full, less := c.all.undecoded.tooMany(); full; full, less = c.all.undecoded.tooMany() {
		select {
		case <-less:
		case <-pause.C:
			c.cut(admission.CauseSlowWriter)
			return n, nil
		}
	}
	return n, nil
}

// decoded notes that a large request of so many bytes was decoded, or refused.
func (c *connection) decoded(bytes int64) {
	c.reading.Lock()
	n := min(bytes+messagePrefix, c.requests.whole)
	c.requests.whole -= n
	c.reading.Unlock()
	c.all.undecoded.add(-n)
}

// forget gives back what requests hold that are never decoded, since their connection is closed.
func (c *connection) forget() {
	c.reading.Lock()
	n := c.requests.held()
	c.requests.whole, c.requests.parts, c.requests.open = 0, 0, nil
	c.reading.Unlock()
	c.all.undecoded.add(-n)
}

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
				r.open[r.stream()] += int64(n)
				r.parts += int64(n)
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
