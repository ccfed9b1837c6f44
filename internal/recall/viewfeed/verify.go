package viewfeed

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/retry"
	"github.com/stratamem/strata/internal/memory/safegroup"
)

// VerifyMode says what becomes of rows that are wrong.
type VerifyMode int

// The modes.
const (
	VerifyRepair VerifyMode = iota + 1 // they are put or removed
	VerifyDryRun                       // they are only counted
)

// ViewCheck is how a view compares with the primary store, in rows. Only the revisions of rows are compared, not their content.
type ViewCheck struct {
	View     memory.View
	Checked  int64 // that were put into the view, so that it must hold them
	Missing  int64 // of them, that it does not hold
	Stale    int64 // of them, that it holds in another revision
	Orphan   int64 // that it holds without a fact or message in the primary store, those of foreign scopes too
	Repaired int64 // of the missing, stale and orphan ones
	Pending  int64 // that were not put yet, which is no fault: facts, or messages
}

// Wrong is how many rows were wrong before they were repaired.
func (c ViewCheck) Wrong() int64 { return c.Missing + c.Stale + c.Orphan }

func (c ViewCheck) plus(o ViewCheck) ViewCheck {
	return ViewCheck{
		View: c.View, Checked: c.Checked + o.Checked, Missing: c.Missing + o.Missing, Stale: c.Stale + o.Stale,
		Orphan: c.Orphan + o.Orphan, Repaired: c.Repaired + o.Repaired, Pending: c.Pending + o.Pending,
	}
}

// VerifyJob is a comparison of views with the primary store. It lives in the process that runs it: after a restart it has to be
// asked for again, and begins at the first user.
type VerifyJob struct {
	ID         string
	Mode       VerifyMode
	State      memory.JobState // JobOpen while it runs, JobApplied when it is done, JobParked when it gave up
	Checks     []ViewCheck     // so far, one for each view
	Users      int64           // compared so far, once for each view
	Reason     string          // of the last failure; "" without one
	CreateTime time.Time
	UpdateTime time.Time
}

// Verifier compares views with the primary store, both ways, and repairs them, while the server serves. It writes nothing to the
// primary store.
type Verifier struct {
	o     VerifierOptions
	log   *slog.Logger
	start chan []*walk

	mu  sync.Mutex
	job *VerifyJob // the last one; nil before the first
}

// VerifierOptions are what a Verifier needs.
type VerifierOptions struct {
	Store   VerifyStore
	Targets []Target // the views that are configured
	Log     *slog.Logger
	Now     func() time.Time // time.Now when nil
}

// NewVerifier makes a Verifier.
func NewVerifier(o VerifierOptions) *Verifier {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Verifier{o: o, log: o.Log, start: make(chan []*walk, 1)}
}

func (v *Verifier) now() time.Time { return v.o.Now().UTC().Truncate(time.Microsecond) }

// Verify begins to compare the views, all that are configured when none is named. While a job runs it is answered instead,
// and another mode is refused with CONTENTION.
func (v *Verifier) Verify(_ context.Context, views []memory.View, mode VerifyMode) (VerifyJob, error) {
	targets, err := v.targets(views)
	if err != nil {
		return VerifyJob{}, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.job != nil && v.job.State == memory.JobOpen {
		return v.running(mode)
	}
	now := v.now()
	v.job = &VerifyJob{ID: fmt.Sprintf("verify-%d", now.UnixMicro()), Mode: mode, State: memory.JobOpen, CreateTime: now, UpdateTime: now}
	walks := make([]*walk, len(targets))
	for i, t := range targets {
		v.job.Checks = append(v.job.Checks, ViewCheck{View: t.view})
		walks[i] = v.walk(i, t, mode)
	}
	v.start <- walks // has room: the one before was taken before its job ended
	return v.job.copy(), nil
}

// running returns the job that runs, for a call in its mode.
func (v *Verifier) running(mode VerifyMode) (VerifyJob, error) {
	if v.job.Mode == mode {
		return v.job.copy(), nil
	}
	return VerifyJob{}, &memory.Error{
		Kind: memory.KindConflict, Reason: memory.ReasonContention, Retry: time.Second,
		Message:  "job " + v.job.ID + " compares the views in another mode: wait until it is done",
		Metadata: map[string]string{"job_id": v.job.ID},
	}
}

func (j *VerifyJob) copy() VerifyJob {
	out := *j
	out.Checks = slices.Clone(j.Checks)
	return out
}

func (v *Verifier) targets(views []memory.View) ([]Target, error) {
	configured := make([]memory.View, len(v.o.Targets))
	for i, t := range v.o.Targets {
		configured[i] = t.view
	}
	views, err := chooseViews(views, configured)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(v.o.Targets), func(t Target) bool { return !slices.Contains(views, t.view) }), nil
}

// walk makes the walk over the nth view of the job.
func (v *Verifier) walk(n int, t Target, mode VerifyMode) *walk {
	done := int64(0)
	return &walk{
		store: v.o.Store, target: t, mode: mode, check: ViewCheck{View: t.view}, scopes: map[memory.ScopeKey]bool{},
		progress: func(c ViewCheck, users int64) {
			v.update(func(j *VerifyJob) {
				j.Checks[n], j.Reason = c, ""
				j.Users += users - done
				done = users
			})
		},
	}
}

func (v *Verifier) update(f func(j *VerifyJob)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f(v.job)
	v.job.UpdateTime = v.now()
}

// Jobs returns the last job of this process, running or not.
func (v *Verifier) Jobs() []VerifyJob {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.job == nil {
		return nil
	}
	return []VerifyJob{v.job.copy()}
}

const (
	// verifyTries is how often in a row a job may fail without progress before it gives up.
	verifyTries = 5
	// How long it waits after failures in a row.
	firstVerifyPause = time.Second
	lastVerifyPause  = time.Minute
)

// Run runs the jobs that are asked for until ctx ends, and returns nil then.
func (v *Verifier) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case walks := <-v.start:
			v.run(ctx, walks)
		}
	}
}

func (v *Verifier) run(ctx context.Context, walks []*walk) {
	state := memory.JobApplied
	for _, w := range walks {
		if err := v.try(ctx, w); err != nil {
			v.log.WarnContext(ctx, "a view could not be verified", "view", w.target.view.String(), "error", err)
			state = memory.JobParked
			break
		}
	}
	if ctx.Err() != nil {
		return
	}
	v.update(func(j *VerifyJob) { j.State = state })
}

// try runs a walk, again after a failure from where it stopped.
func (v *Verifier) try(ctx context.Context, w *walk) error {
	waits := retry.Exponential{First: firstVerifyPause, Last: lastVerifyPause}
	failures := 0
	for {
		before := w.users
		err := safegroup.Contain(func() error { return w.run(ctx) })
		if err == nil || ctx.Err() != nil {
			return err
		}
		if w.users > before {
			failures = 0
		}
		failures++
		// The error may quote a backend, which is for the log only.
		v.update(func(j *VerifyJob) {
			j.Reason = "the " + w.target.view.String() + " could not be compared: see the server's log"
		})
		if failures == verifyTries {
			return err
		}
		retry.Pause(ctx, waits.After(failures))
	}
}
