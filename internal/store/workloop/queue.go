package workloop

import "sync"

// Queue holds what callers announced, each key once, in the order in which it was announced first. Its methods may be called at the
// same time.
type Queue[K comparable] struct {
	limit int // 0 for none

	mu     sync.Mutex
	keys   []K
	queued map[K]bool
}

// NewQueue makes a Queue of at most limit keys: those beyond are not kept, so that something else must find them. 0 is no limit.
func NewQueue[K comparable](limit int) *Queue[K] {
	return &Queue[K]{limit: limit, queued: map[K]bool{}}
}

// Add puts a key at the end, unless it waits already or the queue is full.
func (q *Queue[K]) Add(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queued[key] || q.limit > 0 && len(q.keys) == q.limit {
		return
	}
	q.queued[key] = true
	q.keys = append(q.keys, key)
}

// Take returns the first keys, most at most, and removes them.
func (q *Queue[K]) Take(most int) []K {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.keys), most)
	taken := q.keys[:n:n]
	q.keys = q.keys[n:]
	for _, key := range taken {
		delete(q.queued, key)
	}
	return taken
}
