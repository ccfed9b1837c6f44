package sqlitestore

import (
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/stratamem/strata/internal/memory"
)

const (
	// messageCacheBytes is about how much memory the messages take that were read by their places lately.
	messageCacheBytes = 16 << 20
	// messageCacheTime is how long a message stays that nobody asks for.
	messageCacheTime = 10 * time.Minute
	// messageBytes is about what a message takes beside its texts.
	messageBytes = 640
)

// messageCache holds messages that were read by their places lately: the contexts of a user show many of the same ones again and again,
// and decoding their rows takes longer than anything else that reads them. Whether one still is as it was is read each time: see
// messages_version in the migrations.
type messageCache struct {
	rows *otter.Cache[int64, *heldMessage] // by the message's key
}

// heldMessage is a message as it was at a version of its session. Nobody changes what it holds.
type heldMessage struct {
	version int64
	bytes   int64 // stored ones
	message memory.Message
}

func newMessageCache() messageCache {
	return messageCache{otter.Must(&otter.Options[int64, *heldMessage]{
		MaximumWeight:    messageCacheBytes,
		Weigher:          func(_ int64, h *heldMessage) uint32 { return uint32(min(h.bytes+messageBytes, messageCacheBytes)) },
		ExpiryCalculator: otter.ExpiryAccessing[int64, *heldMessage](messageCacheTime),
	})}
}

// at returns the message with the key if it is held as it is at the version of its session, nil otherwise.
func (c messageCache) at(key, version int64) *heldMessage {
	if h, ok := c.rows.GetIfPresent(key); ok && h.version == version {
		return h
	}
	return nil
}

func (c messageCache) keep(key int64, h *heldMessage) { c.rows.Set(key, h) }

// close ends what runs for the cache.
func (c messageCache) close() { c.rows.StopAllGoroutines() }
