package admission

import (
	"slices"
	"time"
)

// activeFor is how long after its last call a tenant counts as one that competes with others.
const activeFor = time.Second

// shares decides whose call runs next where tenants compete for the processors. It is pure: time is an argument, and whoever waits is
// decided about by what next returns.
//
// Alone, a tenant runs as many calls as come. Of several each may run an equal part of the places, one at least; beyond its part it may
// use what is free but for one place, which is kept for tenants that call seldom, so that these find an idle processor. Those that wait
// beyond their part take turns by start-time fair queueing (Goyal et al., SIGCOMM 1996), in which each call costs one.
type shares struct {
	places  int // that calls of all tenants have, 1 or more
	waiting int // most that wait of a tenant
	tenants map[string]*share
	oldest  []*share // by their last call
	running int
	clock   float64 // the virtual time: the start of the call that waited and was let in last
}

// share is what a tenant has.
type share struct {
	tenant  string
	running int
	queue   []*turn // in the order in which they came
	last    time.Time
	finish  float64 // the virtual time at which its last call ends
}

// turn is a call that waits.
type turn struct {
	of     *share
	kind   Kind
	admit  chan error // gets nil once the call may run, or why it may not
	decide bool       // it was decided
}

// Kind says how a call is treated where there are more than can be served.
type Kind int

// The kinds.
const (
	Ordinary Kind = iota
	ShedLast      // refused only where calls of its kind alone fill the queue: what is said must be stored
)

func newShares(places, waiting int) *shares {
	return &shares{places: max(places, 1), waiting: max(waiting, 1), tenants: map[string]*share{}}
}

// arrive notes a call of a tenant.
func (s *shares) arrive(tenant string, now time.Time) *share {
	s.forget(now)
	t, ok := s.tenants[tenant]
	if !ok {
		t = &share{tenant: tenant}
		s.tenants[tenant] = t
	} else {
		s.oldest = slices.Delete(s.oldest, slices.Index(s.oldest, t), slices.Index(s.oldest, t)+1)
	}
	t.last = now
	s.oldest = append(s.oldest, t)
	return t
}

// forget drops tenants that do not compete any more.
func (s *shares) forget(now time.Time) {
	for i := 0; i < len(s.oldest); {
		t := s.oldest[i]
		if age := now.Sub(t.last); age >= 0 && age < activeFor {
			return
		}
		if t.running > 0 || len(t.queue) > 0 {
			i++
			continue
		}
		delete(s.tenants, t.tenant)
		s.oldest = slices.Delete(s.oldest, i, i+1)
	}
}

// may reports whether one more call of the tenant may run now.
func (s *shares) may(t *share) bool {
	if len(s.tenants) == 1 {
		return true
	}
	return t.running < max(1, s.places/len(s.tenants)) || s.running < s.places-1
}

// begin and end count a call that runs.
func (s *shares) begin(t *share) {
	t.running++
	s.running++
}

func (s *shares) end(t *share) {
	t.running--
	s.running--
}

// wait puts a call behind those of its tenant that wait. Where too many do, it returns the one that is to be refused: itself, or the
// one that came last of those that are shed before it.
func (s *shares) wait(w *turn) (shed *turn) {
	t := w.of
	if len(t.queue) == 0 {
		t.finish = max(t.finish, s.clock)
	}
	if len(t.queue) < s.waiting {
		t.queue = append(t.queue, w)
		return nil
	}
	shed = w
	if w.kind == ShedLast {
		for i, other := range slices.Backward(t.queue) {
			if other.kind == Ordinary {
				shed = other
				t.queue = append(slices.Delete(t.queue, i, i+1), w)
				break
			}
		}
	}
	shed.decide = true
	return shed
}

// leave takes a call out of its queue; false where it was decided already.
func (s *shares) leave(w *turn) bool {
	if w.decide {
		return false
	}
	w.decide = true
	w.of.queue = slices.DeleteFunc(w.of.queue, func(other *turn) bool { return other == w })
	return true
}

// next lets in the call whose turn it is; nil where none may run. Of tenants with the same virtual time the one that came first to
// be waited for is served first, which the order of their last calls decides.
func (s *shares) next() *turn {
	var first *share
	for _, t := range s.oldest {
		if len(t.queue) > 0 && s.may(t) && (first == nil || t.finish < first.finish) {
			first = t
		}
	}
	if first == nil {
		return nil
	}
	w := first.queue[0]
	first.queue = slices.Delete(first.queue, 0, 1)
	w.decide = true
	s.clock = max(s.clock, first.finish)
	first.finish++
	s.begin(first)
	return w
}
