package admission

import (
	"sync"

	"github.com/stratamem/strata/internal/memory"
)

// StoreLimit bounds how many calls at once ask the primary store, from when it fails calls until it manages again what comes: what is more
// than it can do would wait until its deadline, be sent again, and keep the store busy with what nobody waits for any more. A store that
// fails no call is never limited, however slow it is. It is safe for concurrent use.
type StoreLimit struct {
	meter Meter

	mu    sync.Mutex
	state aimd
}

// NewStoreLimit makes one that does not limit yet.
func NewStoreLimit(m Meter) *StoreLimit { return &StoreLimit{meter: m} }

// Outcome is what a call shows of the primary store.
type Outcome int

// The outcomes.
const (
	ShowsNothing Outcome = iota // the caller left, or gave it little time
	Succeeded                   // the store did what it was asked
	StoreFailed                 // the store could not be reached, or did not answer in time
)

// Enter lets a call begin; leave must be called once, with what came of it. The error is a memory.Error of KindUnavailable.
func (l *StoreLimit) Enter() (leave func(Outcome), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, ok := l.state.begin()
	if !ok {
		l.meter.CallRefused(CauseStore)
		return nil, storeBehind()
	}
	return func(o Outcome) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.state.end(n, o)
	}, nil
}

// AtMost returns how many calls may ask the store at once; 0 for any number.
func (l *StoreLimit) AtMost() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(l.state.most)
}

func storeBehind() error {
	return &memory.Error{
		Kind: memory.KindUnavailable, Reason: memory.ReasonStoreUnavailable, Retry: RetryAfter,
		Metadata: map[string]string{"cause": string(CauseStore)},
		Message:  "the database does not keep up with calls, or does not answer, and the call did not wait for it: nothing was done; retry later",
	}
}

const (
	leastAtOnce = 8   // so few calls are never refused: they find out whether the store is back
	mostAtOnce  = 256 // from so many on there is no limit: the store's driver has fewer connections
)

// aimd is a limit by additive increase and multiplicative decrease, as of TCP's congestion window (RFC 5681): a failure halves it, and as
// many successes as it lets run at once raise it by one.
type aimd struct {
	most    int   // calls at once; 0 for any number
	running int   // calls
	begun   int64 // calls so far
	lowered int64 // how many had begun when it was lowered last
	done    int   // successes since it was lowered or raised last
	dead    bool  // no call has succeeded since it was lowered last
}

// begin lets a call begin and returns its number; not ok where it is refused.
func (a *aimd) begin() (n int64, ok bool) {
	if a.most > 0 && a.running >= a.most {
		return 0, false
	}
	a.running++
	a.begun++
	return a.begun, true
}

// end notes what came of the n-th call.
func (a *aimd) end(n int64, o Outcome) {
	a.running--
	switch o {
	case Succeeded:
		a.dead = false
		if a.done++; a.done >= a.most {
			a.raise()
		}
	case StoreFailed:
		if n > a.lowered { // what began before met the store as it was before
			a.lower()
		}
	case ShowsNothing:
	}
}

func (a *aimd) raise() {
	a.done = 0
	if a.most == 0 {
		return
	}
	if a.most++; a.most >= mostAtOnce {
		a.most = 0
	}
}

// lower halves what runs; where nothing has succeeded since it was halved before, the least is left.
func (a *aimd) lower() {
	half := (a.running + 1) / 2
	if a.dead {
		half = 0
	}
	a.most, a.lowered, a.done, a.dead = max(half, leastAtOnce), a.begun, 0, true
}
