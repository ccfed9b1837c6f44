package jobrunner

import (
	"container/heap"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// target is what work is about: a session, or the weeks and months of a user when SessionID is empty.
type target = memory.SessionRef

// request says what a run is to look for. It stays with its target until a run finds nothing left to do.
type request struct {
	hurryExtract bool // triggers of extraction are not waited for
	hurryLeaf    bool // nor those of summaries
	thorough     bool // a sweep or a timer asked: merges are looked for, and when to look again is stored
	merge        bool // a summary was stored: merges are looked for
}

func (e request) plus(f request) request {
	return request{
		hurryExtract: e.hurryExtract || f.hurryExtract, hurryLeaf: e.hurryLeaf || f.hurryLeaf,
		thorough: e.thorough || f.thorough, merge: e.merge || f.merge,
	}
}

// queue decides which target is worked on next. It is pure: time is an argument. Tenants with ready targets take turns, and within each
// its users, so that one with a thousand sessions holds up nobody. No user has more than perUser runs at once, and no tenant either
// once there was work of another one: that finds a worker free.
type queue struct {
	settle   time.Duration // without another nudge before a session that was quiet is ready
	debounce time.Duration // without another nudge before one is ready that is nudged again and again
	patience time.Duration // after the first nudge it is ready all the same
	perUser  int

	entries map[target]*entry
	waiting entryHeap
	runs    int                         // that run
	turns   []string                    // tenants with ready targets, the next one first
	users   map[string][]memory.UserRef // of a tenant, those with ready targets, the next one first
	ready   map[memory.UserRef][]target // in the order in which they became ready
	running map[memory.UserRef]int
	busy    map[string]int // runs of a tenant
	first   string         // the tenant that there was work of first
	several bool           // there was work of others
}

type entryState int

const (
	entryWaiting entryState = iota
	entryReady
	entryRunning
)

type entry struct {
	target
	state    entryState
	request  request
	first    time.Time // of the nudges that wait
	nudgedAt time.Time // when they have gathered; zero without any
	lookAt   time.Time // when it is to be run anyway; zero for never
	index    int       // in the heap while it waits

	latest   time.Time // nudge, whether it still waits or not
	series   int       // nudges up to the latest one, each less than debounce after the one before
	forgetAt time.Time // when the latest nudge no longer matters; only while nothing else is to be done
}

// at is when something becomes of a waiting entry: it is ready, or it is forgotten.
func (e *entry) at() time.Time {
	if at := e.due(); !at.IsZero() {
		return at
	}
	return e.forgetAt
}

// due is when a waiting entry becomes ready; zero for never.
func (e *entry) due() time.Time { return earliest(e.nudgedAt, e.lookAt) }

// earliest returns the earlier of two times; a zero one means never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

func newQueue(debounce time.Duration, perUser int) *queue {
	return &queue{
		settle: debounce / 10, debounce: debounce, patience: 10 * debounce, perUser: perUser,
		entries: map[target]*entry{}, users: map[string][]memory.UserRef{}, ready: map[memory.UserRef][]target{},
		running: map[memory.UserRef]int{}, busy: map[string]int{},
	}
}

// promptNudges is how many nudges of a series need not wait for its end: a turn is often recorded in two calls, what the user
// said and what the assistant said.
const promptNudges = 2

// nudge makes a session ready once nudges have paused: soon after the first ones of a series, so that a fact is there soon after it
// was said, and later where many follow each other, so that one model call serves all of them.
func (q *queue) nudge(t target, now time.Time) {
	q.change(t, func(e *entry) {
		if now.Sub(e.latest) >= q.debounce {
			e.series = 0
		}
		e.series++
		e.latest = now
		if e.first.IsZero() {
			e.first = now
		}
		pause := q.debounce
		if e.series <= promptNudges {
			pause = q.settle
		}
		e.nudgedAt = earliest(now.Add(pause), e.first.Add(q.patience))
	})
}

// runAt makes a target ready at a time, or before it when something else makes it so.
func (q *queue) runAt(t target, at time.Time, asked request) {
	q.change(t, func(e *entry) {
		e.lookAt = earliest(e.lookAt, at)
		e.request = e.request.plus(asked)
	})
}

// change changes an entry, which it makes when there is none, and puts it where its time says.
func (q *queue) change(t target, f func(*entry)) {
	e, ok := q.entries[t]
	if !ok {
		e = &entry{target: t}
		q.entries[t] = e
		f(e)
		heap.Push(&q.waiting, e)
		return
	}
	f(e)
	if e.state == entryWaiting {
		heap.Fix(&q.waiting, e.index)
	}
}

// wake makes everything ready whose time has come and returns when to call it next; zero when nothing waits.
func (q *queue) wake(now time.Time) time.Time {
	for len(q.waiting) > 0 {
		e := q.waiting[0]
		if e.at().After(now) {
			return e.at()
		}
		heap.Pop(&q.waiting)
		if e.due().IsZero() {
			delete(q.entries, e.target)
			continue
		}
		if !e.lookAt.IsZero() && !e.lookAt.After(now) {
			e.request.thorough = true
		}
		q.makeReady(e)
	}
	return time.Time{}
}

func (q *queue) makeReady(e *entry) {
	e.state = entryReady
	if len(q.users[e.Tenant]) == 0 {
		q.turns = append(q.turns, e.Tenant)
	}
	if len(q.ready[e.UserRef]) == 0 {
		q.users[e.Tenant] = append(q.users[e.Tenant], e.UserRef)
	}
	q.ready[e.UserRef] = append(q.ready[e.UserRef], e.target)
	if q.first == "" {
		q.first = e.Tenant
	}
	q.several = q.several || e.Tenant != q.first
}

// next hands out the target whose turn it is; ok is false when there is none that may be run now.
func (q *queue) next() (t target, asked request, ok bool) {
	for range q.turns {
		tenant := q.turns[0]
		q.turns = q.turns[1:]
		if !q.several || q.busy[tenant] < q.perUser {
			t, ok = q.nextOf(tenant)
		}
		if len(q.users[tenant]) > 0 {
			q.turns = append(q.turns, tenant)
		} else {
			delete(q.users, tenant)
		}
		if ok {
			return t, q.start(t), true
		}
	}
	return target{}, request{}, false
}

// nextOf takes the target whose turn it is among those of a tenant.
func (q *queue) nextOf(tenant string) (t target, ok bool) {
	users := q.users[tenant]
	defer func() { q.users[tenant] = users }()
	for range users {
		user := users[0]
		users = users[1:]
		if q.running[user] >= q.perUser {
			users = append(users, user)
			continue
		}
		t = q.ready[user][0]
		q.ready[user] = q.ready[user][1:]
		if len(q.ready[user]) > 0 {
			users = append(users, user)
		} else {
			delete(q.ready, user)
		}
		return t, true
	}
	return target{}, false
}

func (q *queue) start(t target) request {
	e := q.entries[t]
	asked := e.request
	e.state, e.request = entryRunning, request{}
	e.first, e.nudgedAt, e.lookAt = time.Time{}, time.Time{}, time.Time{}
	q.running[t.UserRef]++
	q.busy[t.Tenant]++
	q.runs++
	return asked
}

// requeue ends a run after which there is more to do at once: others of the same user and other users come first.
func (q *queue) requeue(t target, asked request) {
	e := q.end(t)
	e.request = e.request.plus(asked)
	q.makeReady(e)
}

// finishUntil ends a run after which there is nothing to do until then; zero for never. The request is
// kept until then.
func (q *queue) finishUntil(t target, then time.Time, asked request) {
	e := q.end(t)
	e.lookAt = earliest(e.lookAt, then)
	e.request = e.request.plus(asked)
	e.forgetAt = time.Time{}
	if e.due().IsZero() {
		if e.latest.IsZero() {
			delete(q.entries, t)
			return
		}
		e.forgetAt = e.latest.Add(q.debounce)
	}
	e.state = entryWaiting
	heap.Push(&q.waiting, e)
}

func (q *queue) end(t target) *entry {
	q.runs--
	if q.running[t.UserRef]--; q.running[t.UserRef] == 0 {
		delete(q.running, t.UserRef)
	}
	if q.busy[t.Tenant]--; q.busy[t.Tenant] == 0 {
		delete(q.busy, t.Tenant)
	}
	return q.entries[t]
}

// unfinished is how many targets of the user are ready or run now.
func (q *queue) unfinished(user memory.UserRef) int { return q.running[user] + len(q.ready[user]) }

// entryHeap has the entry whose time comes first on top.
type entryHeap []*entry

func (h entryHeap) Len() int { return len(h) }

func (h entryHeap) Less(i, j int) bool { return h[i].at().Before(h[j].at()) }

func (h entryHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push is for package heap.
func (h *entryHeap) Push(x any) {
	e := x.(*entry)
	e.index = len(*h)
	*h = append(*h, e)
}

// Pop is for package heap.
func (h *entryHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}
