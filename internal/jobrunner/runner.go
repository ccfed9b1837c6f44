// Package jobrunner extracts facts from sessions and summarises them in the background. What there is to do is derived from what is
// stored, so no crash can lose it: a nudge only makes it soon, and a sweep finds what no nudge announced.
package jobrunner

import (
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/group"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/worker"
)

// Runner summarises sessions and extracts facts in the background. It holds no work of its own: what there is to do
// follows from what is stored, and the slots of the journal fence every piece of it, so that a crash at any point
// loses nothing, does nothing twice, and pays for no answer twice that is in the journal.
type Runner struct {
	o   RunnerOptions
	log *slog.Logger

	mu     sync.Mutex
	queue  *queue
	paused map[lane]time.Time // until when no model of the lane is asked
	// answers says whether the lane's model answered when it was asked last, unparked when a parked slot was tried last without
	// knowing that.
	answers  map[lane]bool
	unparked map[lane]time.Time

	loop    *worker.Loop
	running group.Group

	progress progress
}

// RunnerOptions are what a Runner needs.
type RunnerOptions struct {
	Store      Store
	Facts      Facts
	Summarizer Summarizer
	Extractor  Extractor
	// Fallback writes a summary when Summarizer refuses or fails for good, so that no message stays without one. It must
	// need no model.
	Fallback Summarizer
	Policies Policies
	Meter    Meter
	Log      *slog.Logger
	// Owner names this process in leases. Processes that share a store must have names of their own. Where only one
	// process can open the store, the same name at every start lets it go on at once with what it left behind.
	Owner string
	// Applied is called after facts of a user changed; nil for nobody. It must not block.
	Applied func(memory.UserRef)
	// Seams is called at the named points of a piece of work, so that a test can end the process there; nil in the product.
	Seams func(point string)

	// Busy reports whether somebody waits for an answer. While it does, a worker rests as long as it worked, so that models
	// that run in this process leave the machine to callers. nil where models run elsewhere.
	Busy func() bool

	Now      func() time.Time // time.Now when nil
	Rand     func() float64   // in [0, 1): the jitter of retries; math/rand's when nil
	Workers  int              // pieces of work at once; 4 when 0
	Debounce time.Duration    // without another nudge before a session is looked at, ten times that at most; 100 ms when 0
	Sweep    time.Duration    // how often the store is asked for what no nudge announced; 30 s when 0
	// Lease is how long a slot belongs to the process that works on it. It should be longer than a model call: when it
	// ends early another process may pay for the same answer, of which the first one counts. 2 min when 0.
	Lease time.Duration
}

// The points at which Seams is called. Before a point nothing of what it names is stored, after it everything is.
const (
	SeamBeforeOpen   = "before open" // the slot that fixes a range
	SeamAfterOpen    = "after open"
	SeamBeforeAnswer = "before answer" // the model's answer in the journal
	SeamAfterAnswer  = "after answer"
	SeamBeforeApply  = "before apply" // facts
	SeamAfterApply   = "after apply"
	SeamBeforeNode   = "before node" // a summary
	SeamAfterNode    = "after node"
	SeamBeforeDefer  = "before defer" // when the session is looked at again
	SeamAfterDefer   = "after defer"
)

// NewRunner makes a Runner.
func NewRunner(o RunnerOptions) *Runner {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	if o.Workers == 0 {
		o.Workers = 4
	}
	if o.Debounce == 0 {
		o.Debounce = 100 * time.Millisecond
	}
	if o.Sweep == 0 {
		o.Sweep = 30 * time.Second
	}
	if o.Lease == 0 {
		o.Lease = 2 * time.Minute
	}
	// One user never takes the last worker: its sessions may all hang in a slow model.
	perUser := max(1, o.Workers-1)
	r := &Runner{
		o: o, log: o.Log, queue: newQueue(o.Debounce, perUser), progress: progress{seed: maphash.MakeSeed()},
		paused: map[lane]time.Time{}, answers: map[lane]bool{}, unparked: map[lane]time.Time{},
	}
	r.loop = worker.NewLoop(worker.LoopOptions{
		Work: r.dispatch, Look: r.sweepStore, LookEvery: o.Sweep,
		Failed: func(ctx context.Context, f worker.Failure) { r.complain(ctx, "look for work", f.Err) },
	})
	return r
}

// now is the time as stores keep it.
func (r *Runner) now() time.Time { return r.o.Now().UTC().Truncate(time.Microsecond) }

func (r *Runner) seam(point string) {
	if r.o.Seams != nil {
		r.o.Seams(point)
	}
}

// Nudge says that the session has new messages. It never blocks.
func (r *Runner) Nudge(ref memory.SessionRef) {
	r.mu.Lock()
	r.queue.nudge(ref, r.now())
	r.mu.Unlock()
	r.loop.Wake()
}

// Hurry makes the session's work of the kinds SlotExtract and SlotLeaf due now, whatever the triggers say; other kinds
// follow from these. It never blocks. A slot that failed is still not tried before its time.
func (r *Runner) Hurry(ref memory.SessionRef, kinds ...memory.SlotKind) {
	var why errand
	for _, k := range kinds {
		why.hurryExtract = why.hurryExtract || k == memory.SlotExtract
		why.hurryLeaf = why.hurryLeaf || k == memory.SlotLeaf
	}
	r.mu.Lock()
	r.queue.visitAt(ref, r.now(), why)
	r.mu.Unlock()
	r.loop.Wake()
}

// LookAgain has the session and the user's weeks and months looked at now: something changed that summaries are made of. It
// never blocks.
func (r *Runner) LookAgain(user memory.UserRef, sessionID string) {
	r.mu.Lock()
	for _, id := range slices.Compact([]string{sessionID, ""}) { // "" stands for weeks and months
		r.queue.visitAt(user.Session(id), r.now(), errand{thorough: true})
	}
	r.mu.Unlock()
	r.loop.Wake()
}

// Run works until ctx ends and returns nil then. Model calls that run are cancelled, and their slots left open for the
// next run; what was answered is still applied.
func (r *Runner) Run(ctx context.Context) error {
	defer func() { _ = r.running.Wait() }() // its members return no error
	return r.loop.Run(ctx)
}

// maxSweep is how many sessions, and how many users, one sweep takes up.
const maxSweep = 10_000

// sweepStore takes up what the store knows to wait.
func (r *Runner) sweepStore(ctx context.Context) error {
	defer r.loop.Wake()
	now := r.now()
	r.complain(ctx, "try parked jobs again", r.retryParked(ctx, now))
	sessions, err := r.o.Store.PendingSessions(ctx, now, maxSweep)
	if err != nil {
		return fmt.Errorf("look for sessions to work on: %w", err)
	}
	users, err := r.o.Store.PendingPeriods(ctx, now, maxSweep)
	if err != nil {
		return fmt.Errorf("look for weeks and months to summarise: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ref := range sessions {
		r.queue.visitAt(ref, now, errand{thorough: true})
	}
	r.queue.wake(now)
	for _, user := range users {
		r.queue.visitAt(user.Session(""), now, errand{thorough: true})
	}
	return nil
}

// dispatch starts visits while workers are free, and rests until the next target becomes ready.
func (r *Runner) dispatch(ctx context.Context) (rest time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.queue.wake(r.now())
	for ctx.Err() == nil && r.queue.visits < r.o.Workers {
		t, why, ok := r.queue.take()
		if !ok {
			break
		}
		r.running.Go(func() error {
			r.serve(ctx, t, why)
			r.loop.Wake()
			return nil
		})
	}
	if next.IsZero() {
		return worker.Forever, nil
	}
	return next.Sub(r.now()), nil
}

// outcome says what follows a visit.
type outcome struct {
	again  bool      // there may be more to do at once
	next   time.Time // else when there will be; zero for not before the next turn
	stored bool      // a summary was stored, so that it may have to be merged with others
	waits  bool      // some work is left that must not be done before next
}

// visit looks at a target and does what there is to do first.
func (r *Runner) visit(ctx context.Context, t target, why errand) (outcome, error) {
	switch {
	case r.isEarly(t):
		return outcome{next: r.now().Add(periodPause), waits: true}, nil
	case t.SessionID == "":
		return r.visitPeriods(ctx, t.UserRef)
	}
	return r.visitSession(ctx, t, why)
}

// serve makes one visit.
func (r *Runner) serve(ctx context.Context, t target, why errand) {
	began := r.now()
	var out outcome
	err := group.Contain(func() (err error) {
		out, err = r.visit(ctx, t, why)
		return err
	})
	r.complain(ctx, "background work", err)
	if r.o.Busy != nil && r.o.Busy() {
		worker.Pause(ctx, r.now().Sub(began))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case memory.IsGone(err):
		r.queue.rest(t, time.Time{}, errand{})
	case err != nil:
		r.queue.rest(t, r.now().Add(r.o.Sweep), why)
	case out.again:
		r.queue.again(t, why.plus(errand{merge: out.stored}))
	case out.waits:
		r.queue.rest(t, out.next, why)
	default:
		r.queue.rest(t, out.next, errand{})
	}
}

// periodPause is how long the weeks and months of a user wait for the sessions that are being worked on: each leaf that
// is still to come would make the same week once more.
const periodPause = time.Second

// isEarly reports whether a target is the periods of a user whose sessions are being worked on.
func (r *Runner) isEarly(t target) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return t.SessionID == "" && r.queue.busy(t.UserRef) > 1 // one is this visit
}

// complain logs what went wrong. Who was deleted in the meantime and what ends with ctx did not go wrong.
func (r *Runner) complain(ctx context.Context, doing string, err error) {
	if err != nil && ctx.Err() == nil && !memory.IsGone(err) {
		r.log.ErrorContext(ctx, doing, "error", err)
	}
}

// progress tells waiters that sessions got further. Sessions share its channels, so that it stays small whoever waits
// for whatever session.
type progress struct {
	seed maphash.Seed
	mu   sync.Mutex
	news [64]chan struct{}
}

// Changed is closed after the session's next progress in this process: a slot done, parked, split or failed. It may be
// closed earlier, so a waiter takes the channel first, then reads how far the session is, then waits.
func (r *Runner) Changed(ref memory.SessionRef) <-chan struct{} {
	r.progress.mu.Lock()
	defer r.progress.mu.Unlock()
	n := r.progress.place(ref)
	if r.progress.news[n] == nil {
		r.progress.news[n] = make(chan struct{})
	}
	return r.progress.news[n]
}

func (p *progress) place(ref memory.SessionRef) int {
	return int(maphash.Comparable(p.seed, ref) % uint64(len(p.news)))
}

func (p *progress) announce(ref memory.SessionRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.place(ref)
	if p.news[n] != nil {
		close(p.news[n])
		p.news[n] = nil
	}
}
