package erasure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/retry"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/workloop"
)

// Sweeper carries out erasures that have begun. It holds no work of its own: what there is to do follows from what is stored, so no
// crash can lose an erasure, and whatever is done twice has one effect.
type Sweeper struct {
	o         Options
	loop      *workloop.Loop
	purgeLoop *workloop.Loop

	leasing sync.Mutex // of lease
	lease   *workloop.Lease

	mu      sync.Mutex
	changed chan struct{} // closed when an erasure was swept in this process
	writing sync.Mutex    // of receipts, so that two parts of this process lose no count
}

// Store is the part of the primary store that a Sweeper works on.
type Store interface {
	store.Erasures
	store.Leases
	FactsSince(ctx context.Context, user memory.UserRef, revision int64) (store.FactState, error)
	FactRevisions(ctx context.Context, user memory.UserRef, id string) ([]memory.FactRevision, error)
	FactsOfJob(ctx context.Context, ref store.JobRef) ([]string, error)
	ApplyFacts(ctx context.Context, w store.FactWrite) (int64, error)
	ListJobs(ctx context.Context, q store.JobQuery) ([]memory.Job, error)
	SearchIndex(ctx context.Context, q store.SearchIndexQuery) (store.SearchIndexState, error)
	Segments(ctx context.Context, user memory.UserRef, nos []int64) ([]store.Segment, error)
	PutSegment(ctx context.Context, p store.SegmentWrite) (no int64, err error)
	FenceSecret(ctx context.Context, minted []byte) ([]byte, error)
}

// Facts returns all facts of a user with the revision that they are of.
type Facts interface {
	State(ctx context.Context, user memory.UserRef) (extract.State, int64, error)
}

// Meter counts what is erased. It must not block.
type Meter interface {
	// Erased says how many rows an erasure deleted in a store, primary or a view.
	Erased(store string, rows int64)
	// ErasureFailed says that a sweep of an erasure failed; it is tried again.
	ErasureFailed()
}

// View is a view of the primary store.
type View struct {
	Name string
	// Find must return the rows that the view holds of what was erased, put just now or long ago. user lives the life; zero when nobody
	// does any more.
	Find func(ctx context.Context, user memory.UserRef, e memory.Erasure) (Rows, error)
}

// Rows are rows of a view.
type Rows interface {
	Len() int64
	// Delete must delete them. With a user's life it may delete those of other views too.
	Delete(ctx context.Context) error
}

// Options are what a Sweeper needs.
type Options struct {
	Store Store
	Facts Facts
	Views []View // those that are configured
	// Purged says what removes the last bytes of deleted rows from the disks of the primary store.
	Purged memory.PurgedBy
	Hooks  Hooks
	Timing Timing
	// Owner names this process in the lease: of the processes that share a store one at a time sweeps.
	Owner string
	Log   *slog.Logger
	Meter Meter            // nil for none
	Now   func() time.Time // time.Now when nil
}

// Hooks tell the rest of the program of erasures.
type Hooks struct {
	// Settle waits until what is being indexed in this process is stored, so that what is indexed from then on knows of the erasure.
	Settle func(ctx context.Context) error
	// Applied is called after facts of a user changed, and Swept after a life lost messages or ended, so that caches drop what they
	// have of it. Neither may block.
	Applied func(memory.UserRef)
	Swept   func(memory.ScopeKey)
	// LookAgain has the session's summaries and the user's weeks and months looked at, because what they are made of was erased; "" is
	// no session. It must not block. Nil where nothing is written in the background.
	LookAgain func(user memory.UserRef, sessionID string)
	// Note has an erasure on disk outside of what is backed up, before the person gets a reply; nil for nowhere. It may be called more
	// than once for one.
	Note func(ctx context.Context, e memory.Erasure) error
}

// Timing says when a Sweeper looks for work, and when it sweeps again.
type Timing struct {
	// Late is how long after an erasure began a write of before may still arrive in one of the stores: when it is over, all are swept
	// again. 0 where no write can: where one process has the primary store, which has transactions, and there is no view.
	Late time.Duration
	// Look is how often the store is asked for erasures that nobody announced, as those of other processes. 2 s when 0.
	Look time.Duration
}

const (
	leaseName   = "erasures"
	leaseLength = 30 * time.Second // how long another process waits before it takes over from one that was killed
	pieceRows   = 500              // that one SweepErasure deletes: calls of others do not wait longer than that takes
	sweptAtOnce = 100              // erasures that one round takes up
	sideBySide  = 4                // of them that are swept at the same time: views take their time, whatever they delete

	purgeEvery = time.Minute // how often bytes that deletions without an erasure left are overwritten

	// How long a sweep waits after failures in a row, doubling from the first to the last.
	firstPause = time.Second
	lastPause  = 10 * time.Minute
)

// NewSweeper makes a Sweeper.
func NewSweeper(o Options) *Sweeper {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Timing.Look = cmp.Or(o.Timing.Look, 2*time.Second)
	s := &Sweeper{o: o, changed: make(chan struct{})}
	s.lease = workloop.NewLease(workloop.LeaseOptions{
		Store: o.Store, Name: leaseName, Owner: o.Owner, Length: leaseLength, Now: o.Now, Log: o.Log,
	})
	s.loop = workloop.NewLoop(workloop.LoopOptions{
		Work: s.work,
		Failed: func(ctx context.Context, f workloop.Failure) {
			if f.InRow == 1 {
				o.Log.WarnContext(ctx, "erasures cannot be swept: what they want gone is hidden, and deleted later", "error", f.Err)
			}
		},
		Recovered: func(ctx context.Context, failures int) {
			o.Log.InfoContext(ctx, "erasures are swept again", "failures", failures)
		},
	})
	s.purgeLoop = workloop.NewPeriodic(purgeEvery, o.Store.Purge, func(ctx context.Context, f workloop.Failure) {
		o.Log.WarnContext(ctx, "bytes of deleted facts and documents cannot be overwritten: it is tried again", "error", f.Err)
	})
	return s
}

// Wake says that something is to be swept. It never blocks.
func (s *Sweeper) Wake() { s.loop.Wake() }

// Run sweeps until ctx ends, and returns nil then.
func (s *Sweeper) Run(ctx context.Context) error {
	defer func() {
		s.leasing.Lock()
		defer s.leasing.Unlock()
		s.lease.Release(ctx)
	}()
	var both safegroup.Group
	both.Go(func() error { return s.purgeLoop.Run(ctx) })
	both.Go(func() error { return s.loop.Run(ctx) })
	return both.Wait()
}

// waitPoll is how often Wait looks for what another process swept.
const waitPoll = 250 * time.Millisecond

// Wait returns the erasure once it is done, or as it is when ctx ends.
func (s *Sweeper) Wait(ctx context.Context, tenant, id string) (memory.Erasure, error) {
	s.Wake()
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		e, err := s.o.Store.Erasure(context.WithoutCancel(ctx), tenant, id)
		if err != nil || e.IsDone() {
			return e, err
		}
		timer := time.NewTimer(waitPoll)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return e, nil
		}
		timer.Stop()
	}
}

// Pending returns how many erasures are not done, 1,000 at most, and when the oldest began; zero without one.
func (s *Sweeper) Pending(ctx context.Context) (count int, oldest time.Time, err error) {
	const most = 1000
	all, err := s.o.Store.PendingErasures(ctx, s.now().Add(max(lastPause, s.o.Timing.Late)+time.Hour), most)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("count erasures that are not done: %w", err)
	}
	for _, e := range all {
		if oldest.IsZero() || e.CreateTime.Before(oldest) {
			oldest = e.CreateTime
		}
	}
	return len(all), oldest, nil
}

// now is the time as stores keep it.
func (s *Sweeper) now() time.Time { return s.o.Now().UTC().Truncate(time.Microsecond) }

// hold reports whether this process may sweep.
func (s *Sweeper) hold(ctx context.Context) (held bool, err error) {
	s.leasing.Lock()
	defer s.leasing.Unlock()
	return s.lease.Hold(ctx)
}

// work sweeps what waits, if this process may.
func (s *Sweeper) work(ctx context.Context) (rest time.Duration, err error) {
	held, err := s.hold(ctx)
	if err != nil || !held {
		return s.o.Timing.Look, err
	}
	waiting, err := s.o.Store.PendingErasures(ctx, s.now(), sweptAtOnce)
	if err != nil {
		return 0, fmt.Errorf("look for erasures: %w", err)
	}
	var g safegroup.Group
	g.SetLimit(sideBySide)
	for _, e := range waiting {
		g.Go(func() error {
			if held, err := s.hold(ctx); err != nil || !held || ctx.Err() != nil {
				return err
			}
			return s.sweep(ctx, e)
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	if len(waiting) == sweptAtOnce {
		return 0, nil
	}
	return s.o.Timing.Look, nil
}

// sweep sweeps one erasure in all stores and keeps what came of it. A store that fails holds up neither the others nor other erasures.
func (s *Sweeper) sweep(ctx context.Context, e memory.Erasure) error {
	began := s.now()
	all := tally{}
	failed := safegroup.Contain(func() error {
		if e.Passes == 0 { // who began it may have died before it was noted
			if err := s.note(ctx, e); err != nil {
				return err
			}
		}
		return s.sweepStores(ctx, e, all)
	})
	if ctx.Err() != nil {
		return nil //nolint:nilerr // this process ends: the next one begins again
	}
	if failed != nil {
		s.o.Log.WarnContext(ctx, "an erasure could not be swept: it is tried again", "kind", e.Kind.String(), "error", failed)
		if s.o.Meter != nil {
			s.o.Meter.ErasureFailed()
		}
	}
	after, err := s.keep(ctx, e, func(e memory.Erasure) memory.Erasure { return s.after(e, all, failed) })
	if err != nil {
		return fmt.Errorf("keep what was swept of an erasure: %w", err)
	}
	if s.o.Meter != nil {
		for name, c := range all {
			s.o.Meter.Erased(name, c.deleted)
		}
	}
	if after.IsDone() {
		s.o.Log.InfoContext(ctx, "an erasure is done", "kind", e.Kind.String(), "stores", len(after.Receipt), "took", s.now().Sub(began))
	}
	return nil
}

// keep stores a change of an erasure, and wakes who waits for it.
func (s *Sweeper) keep(ctx context.Context, e memory.Erasure, change func(memory.Erasure) memory.Erasure) (memory.Erasure, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	now, err := s.o.Store.Erasure(ctx, e.Tenant, e.ID)
	if err != nil {
		return now, err
	}
	now = change(now)
	now.UpdateTime = s.now()
	if err := s.o.Store.UpdateErasure(ctx, now); err != nil {
		return now, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
	return now, nil
}

// after is an erasure after a sweep. It is done once a sweep left nothing, and where writes may be late a further one that began when
// none could be late any more found nothing.
func (s *Sweeper) after(e memory.Erasure, all tally, failed error) memory.Erasure {
	e = all.addTo(e, s.purgedBy)
	now := s.now()
	if failed != nil {
		e.Attempts++
		e.Reason = reasonOf(failed)
		e.NotBefore = now.Add(retry.Exponential{First: firstPause, Last: lastPause}.After(e.Attempts))
		return e
	}
	e.Attempts, e.Reason = 0, ""
	isLate := now.Sub(e.CreateTime) >= s.o.Timing.Late
	switch {
	case all.remaining() > 0:
		e.NotBefore = now.Add(firstPause)
	case s.o.Timing.Late == 0, e.Passes > 0 && isLate && all.found() == 0:
		e.Passes++
		e.State, e.DoneTime = memory.ErasureDone, now
	default:
		e.Passes++
		e.NotBefore = now.Add(s.o.Timing.Late)
	}
	return e
}

func (s *Sweeper) purgedBy(name string) memory.PurgedBy {
	if name == memory.PrimaryStore {
		return s.o.Purged
	}
	return memory.PurgedByCompaction
}

// reasonOf says without content why a sweep failed.
func reasonOf(err error) string {
	if failed, ok := errors.AsType[*storeError](err); ok {
		return failed.store + ": " + string(memory.ReasonOf(err))
	}
	return string(memory.ReasonOf(err))
}

// storeError is a failure of one of the stores.
type storeError struct {
	store string
	err   error
}

func (e *storeError) Error() string { return "sweep " + e.store + ": " + e.err.Error() }

func (e *storeError) Unwrap() error { return e.err }

// sweepStores takes away what is left of an erasure. What was found is added to the tally, also where it fails.
func (s *Sweeper) sweepStores(ctx context.Context, e memory.Erasure, all tally) error {
	user, err := s.o.Store.UserOfScope(ctx, e.Scope)
	lives := err == nil
	if err != nil && !memory.IsGone(err) {
		return fmt.Errorf("find who lives a life: %w", err)
	}
	if s.o.Hooks.Settle != nil {
		if err := s.o.Hooks.Settle(ctx); err != nil {
			return fmt.Errorf("wait for what is being indexed: %w", err)
		}
	}
	if lives && e.Kind != memory.EraseUser && e.Kind != memory.EraseSummary {
		if err := s.sweepDerived(ctx, user, e, all); err != nil {
			return &storeError{memory.PrimaryStore, err}
		}
	}
	if s.o.Hooks.Swept != nil {
		s.o.Hooks.Swept(e.Scope)
	}
	var errs []error
	if err := s.sweepPrimary(ctx, e, all); err != nil {
		errs = append(errs, &storeError{memory.PrimaryStore, err})
	}
	if e.Kind == memory.EraseSummary { // no view has summaries
		return errors.Join(errs...)
	}
	return errors.Join(append(errs, s.sweepViews(ctx, user, e, all))...)
}

// sweepDerived takes away what only whoever made it can: facts and segments of the search index.
func (s *Sweeper) sweepDerived(ctx context.Context, user memory.UserRef, e memory.Erasure, all tally) error {
	facts, err := s.takeFacts(ctx, user, e)
	if err != nil {
		return err
	}
	docs, err := s.takeSegments(ctx, user, e)
	all.at(memory.PrimaryStore).add(facts+docs, facts+docs)
	return err
}

// sweepPrimary deletes what is left in the primary store, in pieces. Others that wait for an answer have the machine for as long
// again as each piece took.
func (s *Sweeper) sweepPrimary(ctx context.Context, e memory.Erasure, all tally) error {
	for ctx.Err() == nil {
		began := s.o.Now()
		deleted, done, err := s.o.Store.SweepErasure(ctx, e.ID, pieceRows)
		if err != nil {
			return err
		}
		all.at(memory.PrimaryStore).add(deleted, deleted)
		if done {
			return nil
		}
		if _, err := s.hold(ctx); err != nil {
			return err
		}
		retry.Pause(ctx, min(s.o.Now().Sub(began), 100*time.Millisecond))
	}
	return ctx.Err()
}

// sweepViews deletes the rows of all views, side by side. They are counted in all of them before, as deleting those of one may delete
// others', and again after.
func (s *Sweeper) sweepViews(ctx context.Context, user memory.UserRef, e memory.Erasure, all tally) error {
	found, left := make([]Rows, len(s.o.Views)), make([]Rows, len(s.o.Views))
	errs := make([]error, len(s.o.Views))
	step := func(do func(i int, v View) error) {
		var views safegroup.Group
		for i, v := range s.o.Views {
			if errs[i] != nil {
				continue
			}
			views.Go(func() error {
				if err := safegroup.Contain(func() error { return do(i, v) }); err != nil {
					errs[i] = &storeError{v.Name, err}
				}
				return nil
			})
		}
		_ = views.Wait() // its members return no error
	}
	step(func(i int, v View) (err error) {
		found[i], err = v.Find(ctx, user, e)
		return err
	})
	step(func(i int, _ View) error {
		if found[i].Len() == 0 {
			return nil
		}
		return found[i].Delete(ctx)
	})
	step(func(i int, v View) (err error) {
		if left[i] = found[i]; found[i].Len() > 0 {
			left[i], err = v.Find(ctx, user, e)
		}
		return err
	})
	for i, v := range s.o.Views {
		if errs[i] == nil {
			c := all.at(v.Name)
			c.add(found[i].Len(), max(0, found[i].Len()-left[i].Len()))
			c.remaining = left[i].Len()
		}
	}
	return errors.Join(errs...)
}

// tally counts rows by store.
type tally map[string]*count

type count struct{ found, deleted, remaining int64 }

func (c *count) add(found, deleted int64) {
	c.found += found
	c.deleted += deleted
}

func (t tally) at(name string) *count {
	if t[name] == nil {
		t[name] = &count{}
	}
	return t[name]
}

func (t tally) found() (n int64) {
	for _, c := range t {
		n += c.found
	}
	return n
}

func (t tally) remaining() (n int64) {
	for _, c := range t {
		n += c.remaining
	}
	return n
}

// addTo adds what a sweep counted to the receipt.
func (t tally) addTo(e memory.Erasure, purgedBy func(name string) memory.PurgedBy) memory.Erasure {
	e.Receipt = slices.Clone(e.Receipt)
	for name, c := range t {
		i := slices.IndexFunc(e.Receipt, func(r memory.StoreReceipt) bool { return r.Store == name })
		if i < 0 {
			i = len(e.Receipt)
			e.Receipt = append(e.Receipt, memory.StoreReceipt{Store: name, PurgedBy: purgedBy(name)})
		}
		r := &e.Receipt[i]
		r.Found, r.Deleted, r.Remaining = r.Found+c.found, r.Deleted+c.deleted, c.remaining
	}
	slices.SortFunc(e.Receipt, func(a, b memory.StoreReceipt) int {
		return cmp.Or(
			cmp.Compare(presence(a.Store != memory.PrimaryStore), presence(b.Store != memory.PrimaryStore)), cmp.Compare(a.Store, b.Store),
		)
	})
	return e
}

func presence(there bool) int {
	if there {
		return 1
	}
	return 0
}
