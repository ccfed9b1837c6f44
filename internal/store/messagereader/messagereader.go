// Package messagereader reads messages of sessions, and has calls that read many of them admitted as heavy ones first.
package messagereader

import (
	"context"
	"slices"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Gate admits calls that take much memory.
type Gate interface {
	// Heavy must wait until the call of ctx may hold so many bytes, and return a memory.Error of KindExhausted where it
	// cannot in time. For a call that it has admitted, and for what is no call, it must return nil at once.
	Heavy(ctx context.Context, bytes int64) error
}

// What a call may read of messages before it has to be admitted as a heavy one. How heavy a call is stands in no request:
// it depends on what is stored.
const (
	LightBytes    = 512 << 10 // as stored
	lightMessages = 2000

	shortBytes = 64 << 10 // as stored: enough for most calls, and read beside what takes long
)

// The bytes that a heavy call may hold at once, far above what a reply can show.
const (
	MaxTailBytes   = 16 << 20 // of messages read, as stored
	MaxRecallBytes = 16 << 20 // of recalled messages, as stored

	// HeavyCallBytes is what a heavy call is admitted for: all of these messages, each as it is stored, decoded, cut into words and
	// in the reply.
	HeavyCallBytes = 4 * (MaxTailBytes + MaxRecallBytes)
)

// The sizes of the pages in which a session is read.
const (
	PageMessages = 1000
	PageBytes    = 4 << 20
	// LeastPage is how many messages are read at once at least, since places of erased ones are passed over.
	LeastPage = 100
)

// Reader reads messages, the many of a heavy call only once it is admitted. Its methods may be called concurrently.
type Reader struct {
	store Store
	gate  Gate
}

// Store is the part of the primary store that a Reader reads.
type Store interface {
	Messages(ctx context.Context, q store.MessageQuery) ([]memory.Message, error)
	MessagesAt(ctx context.Context, q store.PlacesQuery) ([]memory.PlacedMessage, error)
}

// New makes a Reader.
func New(s Store, g Gate) Reader { return Reader{store: s, gate: g} }

// Messages reads messages of a session. What goes beyond what a light call may read is read once the call is admitted as a
// heavy one.
func (r Reader) Messages(ctx context.Context, q store.MessageQuery) ([]memory.Message, error) {
	for _, bytes := range []int64{shortBytes, LightBytes} {
		light := q
		light.Limit = min(q.Limit, lightMessages)
		if light.MaxBytes == 0 || light.MaxBytes > bytes {
			light.MaxBytes = bytes
		}
		found, err := r.store.Messages(ctx, light)
		if err != nil || light == q || isComplete(found, q) {
			return found, err
		}
	}
	if err := r.gate.Heavy(ctx, HeavyCallBytes); err != nil {
		return nil, err
	}
	return r.store.Messages(ctx, q)
}

// isComplete reports whether a narrower query found all that q asks for: seqs have no gaps.
func isComplete(found []memory.Message, q store.MessageQuery) bool {
	if len(found) == 0 || len(found) >= q.Limit {
		return true
	}
	last := found[len(found)-1].Seq
	if q.NewestFirst && last <= q.After+1 || !q.NewestFirst && q.Before > 0 && last >= q.Before-1 {
		return true
	}
	seen, tokens := 0, int64(0)
	for i := range found {
		if !found[i].Hidden {
			seen++
			tokens += found[i].Tokens.O200K
		}
	}
	return q.MaxTokens > 0 && tokens >= q.MaxTokens && seen >= q.MinMessages
}

// MessagesAt reads messages by their places, as Messages does.
func (r Reader) MessagesAt(ctx context.Context, q store.PlacesQuery) ([]memory.PlacedMessage, error) {
	light := q
	if light.MaxBytes == 0 || light.MaxBytes > LightBytes {
		light.MaxBytes = LightBytes
	}
	found, err := r.store.MessagesAt(ctx, light)
	if err != nil || len(found) == len(q.Places) {
		return found, err
	}
	rest := placesAfter(found, light)
	if next, err := r.store.MessagesAt(ctx, rest); err != nil || len(next) == 0 { // the others are not there
		return found, err
	}
	if err := r.gate.Heavy(ctx, HeavyCallBytes); err != nil {
		return nil, err
	}
	return r.store.MessagesAt(ctx, q)
}

// placesAfter asks for one message of the places behind those that were found.
func placesAfter(found []memory.PlacedMessage, q store.PlacesQuery) store.PlacesQuery {
	if len(found) > 0 {
		q.Places = q.Places[slices.Index(q.Places, found[len(found)-1].Place)+1:]
	}
	q.MaxBytes = 1
	return q
}
