package sqlitestore

import (
	"slices"
	"time"
	"unsafe"

	"github.com/maypok86/otter/v2"

	"github.com/stratamem/strata/internal/memory"
)

const (
	// messageCacheBytes is about how much memory the messages take that were read by their places lately, nodeCacheBytes the summaries.
	messageCacheBytes = 16 << 20
	nodeCacheBytes    = 16 << 20
	// rowCacheTime is how long a row stays that nobody asks for.
	rowCacheTime = 10 * time.Minute
	// entryBytes is about what the cache takes for a row beside it.
	entryBytes = 256
)

// rowCache holds rows that were read lately: the contexts of a user show many of the same ones again and again, and decoding them takes
// longer than anything else that reads them. Whether a row still is as it was is read each time, in the snapshot that its key is read in:
// see messages_version and nodes_version in the migrations. So only what committed may be kept: what a write reads may yet be undone,
// and its version be counted once more for something else.
type rowCache[T any] struct {
	held *otter.Cache[int64, *heldRow[T]] // by the row's key
}

// heldRow is a row as it was at a version of what it belongs to. Nobody changes what it holds.
type heldRow[T any] struct {
	version int64
	bytes   int64 // about how much memory what it points to takes
	row     T
}

// weight is about how much memory the row takes in a cache.
func (h *heldRow[T]) weight() int64 { return int64(unsafe.Sizeof(*h)) + h.bytes + entryBytes }

func newRowCache[T any](maxBytes int64) rowCache[T] {
	return rowCache[T]{otter.Must(&otter.Options[int64, *heldRow[T]]{
		MaximumWeight:    uint64(maxBytes),
		Weigher:          func(_ int64, h *heldRow[T]) uint32 { return uint32(min(h.weight(), maxBytes)) },
		ExpiryCalculator: otter.ExpiryAccessing[int64, *heldRow[T]](rowCacheTime),
	})}
}

// at returns the row with the key if it is held as it is at the version, nil otherwise.
func (c rowCache[T]) at(key, version int64) *heldRow[T] {
	if h, ok := c.held.GetIfPresent(key); ok && h.version == version {
		return h
	}
	return nil
}

func (c rowCache[T]) keep(key int64, h *heldRow[T]) { c.held.Set(key, h) }

// close ends what runs for the cache.
func (c rowCache[T]) close() { c.held.StopAllGoroutines() }

// storedMessage is a message with the size of what its row holds in texts.
type storedMessage struct {
	memory.Message
	bytes int64
}

func heldMessage(version, bytes int64, m memory.Message) *heldRow[storedMessage] {
	return &heldRow[storedMessage]{version, bytes + int64(len(m.Parts))*int64(unsafe.Sizeof(memory.Part{})), storedMessage{m, bytes}}
}

func heldNode(version int64, n memory.SummaryNode) *heldRow[memory.SummaryNode] {
	var bytes int64
	for _, text := range []string{
		n.ID, string(n.Session), n.SessionID, n.Period.Name, n.Previous, n.Text, n.Language, n.Model,
	} {
		bytes += int64(len(text))
	}
	for _, id := range n.Children {
		bytes += int64(len(id)) + int64(unsafe.Sizeof(id))
	}
	// Whoever appends to what is held copies it.
	n.Children, n.Passed = slices.Clip(n.Children), slices.Clip(n.Passed)
	return &heldRow[memory.SummaryNode]{version, bytes + int64(len(n.Passed))*int64(unsafe.Sizeof(memory.SeqRange{})), n}
}
