// Package jobrunner extracts facts from sessions and summarises them in the background. What there is to do is derived from what is
// stored, so no crash can lose it: a nudge only makes it soon, and a sweep finds what no nudge announced.
package jobrunner

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/workloop"
)

// Runner summarises sessions and extracts facts in the background. It holds no work of its own: what there is to do
// follows from what is stored, and the jobs of the journal fence every piece of it, so that a crash at any point
// loses nothing, does nothing twice, and pays for no answer twice that is in the journal.
type Runner struct {
	o       RunnerOptions
	journal *journal

	mu    sync.Mutex
	queue *queue

	loop    *workloop.Loop
	running safegroup.Group

	progress progress
}

// RunnerOptions are what a Runner needs.
type RunnerOptions struct {
	Store   Store
	Facts   Facts
	Models  Models
	WorkOf  WorkOf
	Tenants Tenants // nil where all tenants ask the same models and none rests
	Meter   Meter
	Log     *slog.Logger
	// Owner names this process in leases. Processes that share a store must have names of their own. Where only one
	// process can open the store, the same name at every start lets it go on at once with what it left behind.
	Owner string
	Hooks Hooks
	Pace  Pace
}

// Models write what a Runner stores.
type Models struct {
	Summarizer Summarizer
	Extractor  Extractor
	// Fallback writes a summary when Summarizer refuses or fails for good, so that no message stays without one. It must
	// need no model.
	Fallback Summarizer
}

// Hooks connect a Runner with the rest of the program. Each may be nil but Reindex.
type Hooks struct {
	// Applied is called after facts of a user changed. It must not block.
	Applied func(memory.UserRef)
	// Reindex analyses a message of a JobIndex again, and has it indexed where that succeeds.
	Reindex func(ctx context.Context, user memory.UserRef, m memory.PlacedMessage) error
	// Busy reports whether somebody waits for an answer. While it does, a worker rests as long as it worked, so that models
	// that run in this process leave the machine to callers. nil where models run elsewhere.
	Busy func() bool
	// Failpoints is called at the named points of a piece of work, so that a test can end the process there; nil in the product.
	Failpoints func(point string)
}

// Pace says when a Runner works and how much at once. The zero Pace has the defaults.
type Pace struct {
	Now     func() time.Time // time.Now when nil
	Rand    func() float64   // in [0, 1): the jitter of retries; math/rand's when nil
	Workers int              // pieces of work at once; 4 when 0
	// Debounce is how long a session that is nudged again and again must be left alone before it is looked at. It waits ten times that
	// at most, and one that was quiet for that long only a tenth of it. 100 ms when 0.
	Debounce time.Duration
	Sweep    time.Duration // how often the store is asked for what no nudge announced; 30 s when 0
	// Lease is how long a job belongs to the process that works on it. It should be longer than a model call: when it
	// ends early another process may pay for the same answer, of which the first one counts. 2 min when 0.
	Lease time.Duration
}

// withDefaults returns the pace with the default of each field that is not set.
func (p Pace) withDefaults() Pace {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Rand == nil {
		p.Rand = rand.Float64
	}
	p.Workers = cmp.Or(p.Workers, 4)
	p.Debounce = cmp.Or(p.Debounce, 100*time.Millisecond)
	p.Sweep = cmp.Or(p.Sweep, 30*time.Second)
	p.Lease = cmp.Or(p.Lease, 2*time.Minute)
	return p
}

// The points at which Hooks.Failpoints is called. Before a point nothing of what it names is stored, after it everything is.
const (
	FailpointBeforeOpen   = "before open" // the job that fixes a range
	FailpointAfterOpen    = "after open"
	FailpointBeforeAnswer = "before answer" // the model's answer in the journal
	FailpointAfterAnswer  = "after answer"
	FailpointBeforeApply  = "before apply" // facts
	FailpointAfterApply   = "after apply"
	FailpointBeforeNode   = "before node" // a summary
	FailpointAfterNode    = "after node"
	FailpointBeforeDefer  = "before defer" // when the session is looked at again
	FailpointAfterDefer   = "after defer"
)

// NewRunner makes a Runner.
func NewRunner(o RunnerOptions) *Runner {
	o.Pace = o.Pace.withDefaults()
	// One user never takes the last worker: its sessions may all hang in a slow model.
	perUser := max(1, o.Pace.Workers-1)
	j := &journal{o: o, log: o.Log}
	j.models = newModels(j.now)
	r := &Runner{o: o, journal: j, queue: newQueue(o.Pace.Debounce, perUser), progress: progress{seed: maphash.MakeSeed()}}
	r.loop = workloop.NewLoop(workloop.LoopOptions{
		Work: r.dispatch, Look: r.sweepStore, LookEvery: o.Pace.Sweep,
		Failed: func(ctx context.Context, f workloop.Failure) { r.journal.logError(ctx, "look for work", f.Err) },
	})
	return r
}

// Nudge says that the session has new messages. It never blocks.
func (r *Runner) Nudge(ref memory.SessionRef) {
	r.mu.Lock()
	r.queue.nudge(ref, r.journal.now())
	r.mu.Unlock()
	r.loop.Wake()
}

// Hurry makes the session's work of the kinds JobExtract and JobLeaf due now, whatever the triggers say; other kinds
// follow from these. It never blocks. A job that failed is still not tried before its time.
func (r *Runner) Hurry(ref memory.SessionRef, kinds ...memory.JobKind) {
	var asked request
	for _, k := range kinds {
		asked.hurryExtract = asked.hurryExtract || k == memory.JobExtract
		asked.hurryLeaf = asked.hurryLeaf || k == memory.JobLeaf
	}
	r.mu.Lock()
	r.queue.runAt(ref, r.journal.now(), asked)
	r.mu.Unlock()
	r.loop.Wake()
}

// LookAgain has the session and the user's weeks and months looked at now: something changed that summaries are made of. It
// never blocks.
func (r *Runner) LookAgain(user memory.UserRef, sessionID string) {
	r.mu.Lock()
	for _, id := range slices.Compact([]string{sessionID, ""}) { // "" means weeks and months
		r.queue.runAt(user.Session(id), r.journal.now(), request{thorough: true})
	}
	r.mu.Unlock()
	r.loop.Wake()
}

// Run works until ctx ends and returns nil then. Model calls that run are cancelled, and their jobs left open for the
// next run; what was answered is still applied.
func (r *Runner) Run(ctx context.Context) error {
	defer func() { _ = r.running.Wait() }() // its members return no error
	r.journal.logError(ctx, "try messages again that could not be indexed", r.retryIndex(ctx))
	return r.loop.Run(ctx)
}

// retryIndex has parked jobs of messages that could not be indexed tried again: another version of the program may be able to.
func (r *Runner) retryIndex(ctx context.Context) error {
	now := r.journal.now()
	jobs, err := r.o.Store.ParkedJobs(ctx, store.ParkedQuery{Reason: store.ReasonAnalysis, Before: now, Limit: maxParked})
	if err != nil {
		return fmt.Errorf("look for them: %w", err)
	}
	for _, job := range jobs {
		if err := r.unpark(ctx, job, now); err != nil {
			return err
		}
	}
	return nil
}

// maxSweep is how many sessions, and how many users, one sweep takes up.
const maxSweep = 10_000

// sweepStore takes up what the store knows to wait.
func (r *Runner) sweepStore(ctx context.Context) error {
	defer r.loop.Wake()
	now := r.journal.now()
	r.journal.logError(ctx, "try parked jobs again", r.retryParked(ctx, now))
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
		r.queue.runAt(ref, now, request{thorough: true})
	}
	r.queue.wake(now)
	for _, user := range users {
		r.queue.runAt(user.Session(""), now, request{thorough: true})
	}
	return nil
}

// A sweep takes up maxUnparked parked jobs at once whose models answer, among the first maxParked: those before them may be of tenants
// whose models do not.
const (
	maxUnparked = 50
	maxParked   = 1000
)

// meet notes what holds for a tenant whose work is looked at next.
func (r *Runner) meet(ctx context.Context, tenant string) {
	if r.o.Tenants != nil {
		r.journal.models.meet(tenant, r.o.Tenants.Models(ctx, tenant), r.o.Tenants.Rests(ctx, tenant))
	}
}

// retryParked tries parked jobs again that only waited for an endpoint. While it is not known to answer, one of them is
// tried now and then: there may be no other call that would show that it is well again.
func (r *Runner) retryParked(ctx context.Context, now time.Time) error {
	jobs, err := r.o.Store.ParkedJobs(ctx, store.ParkedQuery{Reason: reasonExhausted, Before: now, Limit: maxParked})
	if err != nil {
		return fmt.Errorf("look for parked jobs to try again: %w", err)
	}
	tried := 0
	for _, job := range jobs {
		r.meet(ctx, job.User.Tenant)
		if tried >= maxUnparked || !r.journal.models.mayTryParked(job.User.Tenant, job.Kind, now) {
			continue
		}
		tried++
		if err := r.unpark(ctx, job, now); err != nil {
			return err
		}
	}
	return nil
}

// unpark has a parked job tried again now.
func (r *Runner) unpark(ctx context.Context, job memory.Job, now time.Time) error {
	_, err := r.o.Store.RetryJob(ctx, store.JobRetry{JobRef: jobRef(job), Again: true, Time: now})
	if memory.ReasonOf(err) == memory.ReasonJobNotParked || memory.IsGone(err) {
		return nil // another process was faster
	}
	if err != nil {
		return fmt.Errorf("try a parked job again: %w", err)
	}
	r.o.Meter.JobDone(job.Kind, outcomeUnparked)
	r.mu.Lock()
	r.queue.runAt(job.User.Session(job.SessionID), now, request{thorough: true})
	r.mu.Unlock()
	return nil
}

// dispatch starts runs while workers are free, and rests until the next target becomes ready.
func (r *Runner) dispatch(ctx context.Context) (rest time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.queue.wake(r.journal.now())
	for ctx.Err() == nil && r.queue.runs < r.o.Pace.Workers {
		t, asked, ok := r.queue.next()
		if !ok {
			break
		}
		r.running.Go(func() error {
			r.serve(ctx, t, asked)
			r.loop.Wake()
			return nil
		})
	}
	if next.IsZero() {
		return workloop.Forever, nil
	}
	return next.Sub(r.journal.now()), nil
}

// outcome says what follows a run.
type outcome struct {
	again  bool      // there may be more to do at once
	next   time.Time // else when there will be; zero for not before the next turn
	stored bool      // a summary was stored, so that it may have to be merged with others
	waits  bool      // some work is left that must not be done before next
}

// run looks at a target and does what there is to do first.
func (r *Runner) run(ctx context.Context, t target, asked request) (outcome, error) {
	switch {
	case r.isEarly(t):
		return outcome{next: r.journal.now().Add(periodPause), waits: true}, nil
	case t.SessionID == "":
		return (&periodRun{r.journal}).run(ctx, t.UserRef)
	}
	return r.runSession(ctx, t, asked)
}

func (r *Runner) runSession(ctx context.Context, ref memory.SessionRef, asked request) (outcome, error) {
	work, err := r.o.Store.SessionWork(ctx, ref)
	if err != nil {
		return outcome{}, fmt.Errorf("read how far a session's work is: %w", err)
	}
	run := &sessionRun{
		journal: r.journal, announce: func() { r.progress.announce(work.Session.Ref) },
		request: asked, work: work, policy: r.o.WorkOf(work.Session.Profile), now: r.journal.now(),
	}
	return run.run(ctx)
}

// serve makes one run and puts its target back into the queue as its outcome says.
func (r *Runner) serve(ctx context.Context, t target, asked request) {
	ctx = llm.ForTenant(ctx, t.Tenant)
	r.meet(ctx, t.Tenant)
	rests := workloop.NewRests(r.o.Hooks.Busy)
	rests.Begin()
	var out outcome
	err := safegroup.Contain(func() (err error) {
		out, err = r.run(ctx, t, asked)
		return err
	})
	r.journal.logError(ctx, "background work", err)
	rests.Between(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case memory.IsGone(err):
		r.queue.finishUntil(t, time.Time{}, request{})
	case err != nil:
		r.queue.finishUntil(t, r.journal.now().Add(r.o.Pace.Sweep), asked)
	case out.again:
		r.queue.requeue(t, asked.plus(request{merge: out.stored}))
	case out.waits:
		r.queue.finishUntil(t, out.next, asked)
	default:
		r.queue.finishUntil(t, out.next, request{})
	}
}

// periodPause is how long the weeks and months of a user wait for the sessions that are being worked on: each leaf that
// is still to come would make the same week once more.
const periodPause = time.Second

// isEarly reports whether a target is the periods of a user whose sessions are being worked on.
func (r *Runner) isEarly(t target) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return t.SessionID == "" && r.queue.unfinished(t.UserRef) > 1 // one is this run
}

// progress wakes those who wait for sessions. Sessions share its channels, so that it stays small whoever waits
// for whatever session.
type progress struct {
	seed     maphash.Seed
	mu       sync.Mutex
	channels [64]chan struct{}
}

// Changed is closed after the session's next progress in this process: a job done, parked, split or failed. It may be
// closed earlier, so a waiter takes the channel first, then reads how far the session is, then waits.
func (r *Runner) Changed(ref memory.SessionRef) <-chan struct{} {
	r.progress.mu.Lock()
	defer r.progress.mu.Unlock()
	n := r.progress.place(ref)
	if r.progress.channels[n] == nil {
		r.progress.channels[n] = make(chan struct{})
	}
	return r.progress.channels[n]
}

func (p *progress) place(ref memory.SessionRef) int {
	return int(maphash.Comparable(p.seed, ref) % uint64(len(p.channels)))
}

func (p *progress) announce(ref memory.SessionRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.place(ref)
	if p.channels[n] != nil {
		close(p.channels[n])
		p.channels[n] = nil
	}
}
