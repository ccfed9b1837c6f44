package quota

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// How long a count of stored messages is believed. One by which there is no room is asked for anew sooner, so that what was erased
// makes room at once.
const (
	countedFor = time.Minute
	fullFor    = time.Second
)

// maxCounts bounds for how many tenants and users counts are kept.
const maxCounts = 20_000

// Messages says how many messages may still be stored. It is safe for concurrent use. Of several servers each learns of what others
// stored within a minute.
type Messages struct {
	book  *Book
	store store.Usage
	meter Meter
	now   func() time.Time

	mu     sync.Mutex
	counts map[countKey]*count
}

type countKey struct{ tenant, user string } // user "" for all of the tenant

// count is how many messages are stored.
type count struct {
	n        int64 // as the store said, and what was stored since
	reserved int64 // that are about to be stored
	asked    time.Time
}

// NewMessages makes Messages.
func NewMessages(book *Book, s store.Usage, meter Meter, now func() time.Time) *Messages {
	return &Messages{book: book, store: s, meter: meter, now: now, counts: map[countKey]*count{}}
}

// Reserve returns how much room there is for n messages of the user, nil for any number. They count as stored until stored is called
// with how many were.
func (m *Messages) Reserve(ctx context.Context, user memory.UserRef, n int) (room *store.Room, stored func(int64), err error) {
	l := m.book.Of(ctx, user.Tenant)
	var counted []countKey
	narrowest := UserMessages
	for _, of := range []struct {
		limit Limit
		key   countKey
	}{{UserMessages, countKey{user.Tenant, user.UserID}}, {TenantMessages, countKey{user.Tenant, ""}}} {
		value := l[of.limit]
		if value <= 0 {
			continue
		}
		left, err := m.left(ctx, of.key, int64(value), int64(n))
		if err != nil {
			return nil, nil, err
		}
		counted = append(counted, of.key)
		if room == nil || left < room.Messages {
			room, narrowest = &store.Room{Messages: left, Full: exceeded(of.limit, value, wait(countedFor))}, of.limit
		}
	}
	m.reserve(counted, int64(n), 0)
	return room, func(done int64) {
		m.reserve(counted, -int64(n), done)
		if room != nil && done == 0 && room.Messages < int64(n) {
			m.meter.LimitRefused(user.Tenant, narrowest)
		}
	}, nil
}

// left is how many messages there is room for.
func (m *Messages) left(ctx context.Context, key countKey, limit, n int64) (int64, error) {
	m.mu.Lock()
	c := m.counts[key]
	if c != nil {
		age, left := m.now().Sub(c.asked), limit-c.n-c.reserved
		if age >= 0 && (age < fullFor || age < countedFor && left >= n) {
			m.mu.Unlock()
			return left, nil
		}
	}
	m.mu.Unlock()
	asked := m.now()
	found, err := m.store.CountMessages(ctx, key.tenant, key.user)
	if err != nil {
		return 0, fmt.Errorf("count stored messages: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c = m.counts[key]; c == nil {
		m.letGo()
		c = &count{}
		m.counts[key] = c
	}
	c.n, c.asked = found, asked
	return limit - c.n - c.reserved, nil
}

// letGo drops counts of which nothing is reserved, where there are many.
func (m *Messages) letGo() {
	if len(m.counts) < maxCounts {
		return
	}
	for key, c := range m.counts {
		if c.reserved == 0 {
			delete(m.counts, key)
		}
	}
}

// reserve reserves more messages, or fewer, of which some were stored.
func (m *Messages) reserve(keys []countKey, reserved, stored int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		if c := m.counts[key]; c != nil {
			c.reserved += reserved
			c.n += stored
		}
	}
}
