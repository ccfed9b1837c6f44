// Package viewfeed keeps the views of the primary store: vectors and texts in other stores from which they can be rebuilt at any time.
// A Feeder brings what changed, a Verifier compares and repairs, a Reindexer rebuilds.
package viewfeed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/retry"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/workloop"
)

// Feeder brings one view what it lacks of the primary store. It holds no work of its own: which feeds wait follows from what is
// stored. A view that is down, or new, lags behind and catches up; one that was lost is rebuilt.
//
// The checkpoint of a feed moves on only when the view's Search is sure to see what was put, so that readers may rely on it. Until then
// the position is kept here: a process that ends early lets the rows be put again.
type Feeder struct {
	o      FeederOptions
	log    *slog.Logger
	loop   *workloop.Loop
	nudged *workloop.Queue[memory.SessionRef]
	held   atomic.Int64 // feeds that were postponed when the last round ended

	// The rest belongs to Run alone.
	lease     *workloop.Lease
	at        space                 // where rows are put; zero until it is prepared
	cleaned   space                 // the space beside which no other is left
	marks     []delayedMark         // by due
	ahead     map[feedKey]position  // feeds that were put farther than they are marked
	postponed map[feedKey]time.Time // feeds that the view refuses, and until when they are not tried again
}

// FeederStore is the part of the primary store that a Feeder reads, with its checkpoints.
type FeederStore interface {
	store.ChangeFeed
	store.Leases
	RowStore
}

// FeedMeter counts what views are fed. It must not block.
type FeedMeter interface {
	Fed(view memory.View, rows int)
	FeedFailed(view memory.View)
}

// FeederOptions are what a Feeder needs.
type FeederOptions struct {
	Store  FeederStore
	Target Target
	// Owner names this process in the lease: of the processes that share a store one at a time feeds a view.
	Owner string
	Log   *slog.Logger
	Meter FeedMeter        // nil for none
	Now   func() time.Time // time.Now when nil
	Rand  func() float64   // in [0, 1): the jitter and the order of retries; math/rand's when nil
	// Sweep is how often the store is asked for feeds that no nudge announced, as those that other processes wrote to. 2 s
	// when 0.
	Sweep time.Duration
	// Delay is how long changes gather after a nudge. 500 ms when 0.
	Delay time.Duration
	// Lease is how long another process waits before it takes over from one that was killed. 30 s when 0.
	Lease time.Duration
}

type feedKey struct {
	scope   memory.ScopeKey
	session memory.SessionKey
}

func keyOf(f store.Feed) feedKey { return feedKey{f.Scope, f.Key} }

// position is how far a feed was put.
type position struct {
	fed, seen store.FeedPosition
}

type delayedMark struct {
	store.CheckpointUpdate
	due time.Time
}

// NewFeeder makes a Feeder.
func NewFeeder(o FeederOptions) *Feeder {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	o.Sweep = cmp.Or(o.Sweep, 2*time.Second)
	o.Delay = cmp.Or(o.Delay, 500*time.Millisecond)
	o.Lease = cmp.Or(o.Lease, 30*time.Second)
	f := &Feeder{
		o: o, log: o.Log.With("view", o.Target.view.String()),
		nudged: workloop.NewQueue[memory.SessionRef](maxNudged), postponed: map[feedKey]time.Time{},
	}
	f.lease = workloop.NewLease(workloop.LeaseOptions{
		Store: o.Store, Name: "feed-" + o.Target.view.String(), Owner: o.Owner, Length: o.Lease, Retry: o.Sweep,
		Now: o.Now, Log: f.log,
	})
	f.loop = workloop.NewLoop(workloop.LoopOptions{
		Work: f.work, Gather: o.Delay, Backoff: retry.Exponential{First: firstFeedPause, Last: lastFeedPause}, Jitter: o.Rand,
		Failed: f.failed,
		Recovered: func(ctx context.Context, failures int) {
			f.log.InfoContext(ctx, "the view is fed again", "failures", failures)
		},
	})
	f.forget()
	return f
}

// View returns which view it feeds.
func (f *Feeder) View() memory.View { return f.o.Target.view }

// maxNudged is how many feeds are remembered by name; a sweep finds the others.
const maxNudged = 4096

// Nudge says that something of the session changed, or of its user when it has no id. It never blocks.
func (f *Feeder) Nudge(ref memory.SessionRef) {
	if f.o.Target.view != memory.ViewTranscript {
		ref.SessionID = ""
	}
	f.nudged.Add(ref)
	f.Wake()
}

// Wake says that there may be something to do. It never blocks.
func (f *Feeder) Wake() { f.loop.Wake() }

// How long Run waits after failures in a row, doubling from the first to the last, give or take a half.
const (
	firstFeedPause = time.Second
	lastFeedPause  = time.Minute
)

// Run feeds the view until ctx ends, and returns nil then.
func (f *Feeder) Run(ctx context.Context) error {
	defer f.lease.Release(ctx)
	return f.loop.Run(ctx)
}

// failed says once that the view cannot be fed.
func (f *Feeder) failed(ctx context.Context, failure workloop.Failure) {
	if failure.InRow == 1 {
		f.log.WarnContext(ctx, "the view cannot be fed: it lags behind until that is mended", "error", failure.Err)
	}
	f.forget() // a view that failed may have lost what it was fed, and its spaces
	if f.o.Meter != nil {
		f.o.Meter.FeedFailed(f.o.Target.view)
	}
}

// Trouble says why the view lags behind; "" when it is fed, or when another process feeds it.
func (f *Feeder) Trouble() string {
	if failures := f.loop.Failures(); failures > 0 {
		return fmt.Sprintf("the view could not be fed %d times in a row: see the server's log", failures)
	}
	if held := f.held.Load(); held > 0 {
		return fmt.Sprintf("the view lacks something of %d users or sessions, which fails each time it is read or put: see the server's log", held)
	}
	return ""
}

// postpone has feeds wait that fail, so that the others go on. It counts as a failure to feed the view: somebody has to look.
func (f *Feeder) postpone(feeds ...store.Feed) {
	for _, feed := range feeds {
		f.postponed[keyOf(feed)] = f.o.Now().Add(postponedFor)
	}
	if f.o.Meter != nil {
		f.o.Meter.FeedFailed(f.o.Target.view)
	}
}

// forget drops what is remembered of the space.
func (f *Feeder) forget() {
	f.at, f.cleaned = space{}, space{}
	f.marks, f.ahead = nil, map[feedKey]position{}
}

// work feeds what waits, and rests until the next sweep or the next mark.
func (f *Feeder) work(ctx context.Context) (rest time.Duration, err error) {
	more, err := f.round(ctx)
	f.held.Store(int64(len(f.postponed)))
	if err != nil || more {
		return 0, err
	}
	if len(f.marks) == 0 {
		return f.o.Sweep, nil
	}
	return min(f.o.Sweep, max(0, f.marks[0].due.Sub(f.o.Now()))), nil
}

// round feeds once what waits, if this process may. It reports whether there is more that need not wait.
func (f *Feeder) round(ctx context.Context) (more bool, err error) {
	nudged := f.nudged.Take(roundFeeds)
	held, err := f.lease.Hold(ctx)
	if err != nil {
		return false, err
	}
	if !held { // the one who has the lease finds by its sweep what was nudged here
		f.forget()
		clear(f.postponed)
		return false, nil
	}
	if ready, err := f.locate(ctx); err != nil || !ready {
		return false, err
	}
	feeds, full, err := f.waiting(ctx, nudged)
	if err != nil {
		return false, err
	}
	rest, err := f.feed(ctx, feeds)
	if err != nil {
		return false, err
	}
	if err := f.mark(ctx); err != nil {
		return false, err
	}
	if len(feeds) == 0 && !full && len(f.ahead) == 0 && len(f.postponed) == 0 {
		return false, f.clean(ctx)
	}
	return rest || full && len(feeds) > 0, nil
}

// locate finds out where rows belong, and makes the place ready. It reports false while that is not known.
func (f *Feeder) locate(ctx context.Context) (ready bool, err error) {
	view := f.o.Target.view
	build, err := f.o.Store.ViewBuild(ctx, view)
	if err != nil {
		return false, fmt.Errorf("read the view's build: %w", err)
	}
	at, known, err := f.o.Target.source.space(ctx, f.o.Store, build)
	if err != nil || !known || at == f.at {
		return known, err
	}
	f.forget()
	lost, err := f.isLost(ctx, at)
	if err != nil {
		return false, err
	}
	if lost {
		f.log.InfoContext(ctx, "the view holds nothing of what it was fed: it is rebuilt", "build", build, "version", at.version)
		if at.build, err = f.o.Store.RebuildView(ctx, view, f.now()); err != nil {
			return false, fmt.Errorf("rebuild the view: %w", err)
		}
	}
	if err := f.o.Target.place.prepare(ctx, at); err != nil {
		return false, fmt.Errorf("prepare the view: %w", err)
	}
	f.at = at
	return true, nil
}

// isLost reports whether a space that does not exist has checkpoints: somebody deleted the view. A feed that does not wait has one;
// where all wait, as after another embedding version became active, those that wait longest are looked at.
func (f *Feeder) isLost(ctx context.Context, at space) (bool, error) {
	spaces, err := f.o.Target.place.spaces(ctx)
	if err != nil {
		return false, fmt.Errorf("list the view's spaces: %w", err)
	}
	if slices.Contains(spaces, at) {
		return false, nil
	}
	pending, all, err := f.o.Store.CountFeeds(ctx, f.o.Target.view)
	if err != nil {
		return false, fmt.Errorf("count feeds: %w", err)
	}
	if pending < all {
		return true, nil
	}
	feeds, err := f.o.Store.PendingFeeds(ctx, f.o.Target.view, roundFeeds)
	if err != nil {
		return false, fmt.Errorf("look for feeds of the view: %w", err)
	}
	return slices.ContainsFunc(feeds, func(feed store.Feed) bool { return fedIn(at, feed) != (store.FeedPosition{}) }), nil
}

// now is the time as stores keep it.
func (f *Feeder) now() time.Time { return f.o.Now().UTC().Truncate(time.Microsecond) }

const (
	// roundFeeds is how many feeds one round takes up.
	roundFeeds = 512
	// maxAhead is how many feeds may wait for their marks: the store names them again and again until then.
	maxAhead = 8192
)

// waiting returns feeds that the view lacks something of: those that wait longest, and before them the nudged ones where those may not be
// among them. It reports whether the store named as many as it was asked for.
func (f *Feeder) waiting(ctx context.Context, nudged []memory.SessionRef) (feeds []store.Feed, full bool, err error) {
	if len(f.ahead) >= maxAhead {
		return nil, true, nil
	}
	maps.DeleteFunc(f.postponed, func(_ feedKey, until time.Time) bool { return !f.o.Now().Before(until) })
	limit := roundFeeds + len(f.ahead) + len(f.postponed)
	pending, err := f.o.Store.PendingFeeds(ctx, f.o.Target.view, limit)
	if err != nil {
		return nil, false, fmt.Errorf("look for feeds of the view: %w", err)
	}
	full = len(pending) == limit
	var fresh []store.Feed
	if full { // else all that wait are there, the nudged ones too
		if fresh, err = f.read(ctx, nudged); err != nil {
			return nil, false, err
		}
	}
	seen := map[feedKey]bool{}
	for _, feed := range append(fresh, pending...) {
		if feed, lacks := f.advance(feed); lacks && !seen[keyOf(feed)] {
			seen[keyOf(feed)] = true
			feeds = append(feeds, feed)
		}
	}
	return feeds, full, nil
}

// concurrentFeeds is how many feeds are read or marked at once.
const concurrentFeeds = 8

// read returns those of the feeds that exist.
func (f *Feeder) read(ctx context.Context, refs []memory.SessionRef) ([]store.Feed, error) {
	feeds := make([]store.Feed, len(refs))
	g, ctx := safegroup.WithContext(ctx)
	g.SetLimit(concurrentFeeds)
	for i, ref := range refs {
		g.Go(func() (err error) {
			if feeds[i], err = f.o.Store.Feed(ctx, f.o.Target.view, ref); err != nil && !memory.IsGone(err) {
				return fmt.Errorf("read a feed of the view: %w", err)
			}
			return nil
		})
	}
	err := g.Wait()
	return slices.DeleteFunc(feeds, func(f store.Feed) bool { return f.Since.IsZero() }), err
}

// advance moves a feed from its checkpoint to what was put since. It reports false where nothing is left to be put now.
func (f *Feeder) advance(feed store.Feed) (store.Feed, bool) {
	if _, waits := f.postponed[keyOf(feed)]; waits {
		return feed, false
	}
	p, ok := f.ahead[keyOf(feed)]
	if !ok {
		return feed, true
	}
	feed.Checkpoint = store.Checkpoint{Build: f.at.build, FeedPosition: p.fed}
	return feed, p.seen != feed.Head
}

const (
	// readFeeds is how many feeds are read before it is looked whether their rows are worth a Put.
	readFeeds = 32
	// putRows is how many rows one Put takes, those of many feeds where they are small.
	putRows = 1000
	// concurrentPuts is how many of them run at once.
	concurrentPuts = 2
)

// feed puts what the view lacks of the feeds. It reports whether one of them goes on.
func (f *Feeder) feed(ctx context.Context, feeds []store.Feed) (more bool, err error) {
	var pieces []piece
	rows := 0
	for chunk := range slices.Chunk(feeds, readFeeds) {
		read, err := f.changes(ctx, chunk)
		if err != nil {
			return false, err
		}
		for _, p := range read {
			more = more || p.more
			rows += len(p.rows)
		}
		pieces = append(pieces, read...)
		if rows < putRows {
			continue
		}
		if err := f.putPieces(ctx, pieces); err != nil {
			return false, err
		}
		pieces, rows = nil, 0
	}
	return more, f.putPieces(ctx, pieces)
}

func (f *Feeder) changes(ctx context.Context, feeds []store.Feed) ([]piece, error) {
	pieces, panics := make([]piece, len(feeds)), make([]error, len(feeds))
	g, ctx := safegroup.WithContext(ctx)
	g.SetLimit(concurrentFeeds)
	for i, feed := range feeds {
		g.Go(func() (err error) {
			err = safegroup.Contain(func() (err error) {
				pieces[i], err = f.o.Target.source.changes(ctx, f.o.Store, f.at, feed)
				return err
			})
			switch {
			case safegroup.IsPanic(err):
				panics[i] = err
			case err != nil && !memory.IsGone(err):
				return fmt.Errorf("read what the view lacks: %w", err)
			}
			return nil
		})
	}
	err := g.Wait()
	for i, p := range panics {
		if p != nil {
			f.postpone(feeds[i])
			f.log.ErrorContext(ctx, "what the view lacks of a feed cannot be read: it is tried again", "again_in", postponedFor, "error", p)
		}
	}
	return slices.DeleteFunc(pieces, func(p piece) bool { return p.feed.Scope == "" }), err
}

// putPieces puts pieces together, and alone those of which the view refuses some: one bad row must not keep it from all others.
func (f *Feeder) putPieces(ctx context.Context, pieces []piece) error {
	err := safegroup.Contain(func() error { return f.put(ctx, pieces) })
	if err == nil {
		f.putDone(pieces)
		return nil
	}
	if len(pieces) < 2 || ctx.Err() != nil {
		return err
	}
	return f.putEach(ctx, pieces)
}

const (
	// blameAfter is how many pieces in a row the view must refuse before it is the view that is to blame.
	blameAfter = 3
	// postponedFor is how long a feed waits whose rows the view refuses.
	postponedFor = time.Minute
)

// putEach puts each piece by itself, in an order drawn by chance: the pieces that the view refuses have waited longest, and in the
// store's order they would come first at every try, so that the view would count as down.
func (f *Feeder) putEach(ctx context.Context, pieces []piece) error {
	f.shuffle(pieces)
	var refused []store.Feed
	var last error
	fed := 0
	for _, p := range pieces {
		err := safegroup.Contain(func() error { return f.put(ctx, []piece{p}) })
		if err == nil {
			fed++
			f.putDone([]piece{p})
			continue
		}
		refused, last = append(refused, p.feed), err
		if fed == 0 && len(refused) >= blameAfter {
			return last
		}
	}
	if fed == 0 {
		return last
	}
	if len(refused) > 0 {
		f.postpone(refused...)
		f.log.WarnContext(ctx, "the view refuses rows: they are tried again", "feeds", len(refused), "again_in", postponedFor, "error", last)
	}
	return nil
}

func (f *Feeder) shuffle(pieces []piece) {
	for i := len(pieces) - 1; i > 0; i-- {
		j := int(f.o.Rand() * float64(i+1))
		pieces[i], pieces[j] = pieces[j], pieces[i]
	}
}

// put puts the rows of all pieces together, and then removes what is gone.
func (f *Feeder) put(ctx context.Context, pieces []piece) error {
	var rows []row
	for _, p := range pieces {
		rows = append(rows, p.rows...)
	}
	if err := f.putAll(ctx, rows); err != nil {
		return err
	}
	for _, p := range pieces {
		for chunk := range slices.Chunk(p.removed, putRows) {
			if err := f.o.Target.place.remove(ctx, f.at, p.feed.Scope, chunk); err != nil {
				return fmt.Errorf("remove %d rows from the view: %w", len(chunk), err)
			}
		}
	}
	if f.o.Meter != nil && len(rows) > 0 {
		f.o.Meter.Fed(f.o.Target.view, len(rows))
	}
	return nil
}

// putAll puts rows by the thousand, two Puts at once: while the view takes in one, the next is on its way.
func (f *Feeder) putAll(ctx context.Context, rows []row) error {
	g, ctx := safegroup.WithContext(ctx)
	g.SetLimit(concurrentPuts)
	for chunk := range slices.Chunk(rows, putRows) {
		g.Go(func() error {
			if err := f.o.Target.place.put(ctx, f.at, chunk); err != nil {
				return fmt.Errorf("put %d rows into the view: %w", len(chunk), err)
			}
			return nil
		})
	}
	return g.Wait()
}

// putDone remembers how far pieces were put. What was seen of a feed that goes on is only what was put of it, so that it
// stays pending.
func (f *Feeder) putDone(pieces []piece) {
	due := f.o.Now().Add(f.o.Target.place.lag())
	for _, p := range pieces {
		seen := p.feed.Head
		if p.more {
			seen = p.fed
		}
		f.ahead[keyOf(p.feed)] = position{fed: p.fed, seen: seen}
		f.marks = append(f.marks, delayedMark{due: due, CheckpointUpdate: store.CheckpointUpdate{
			Feed: p.feed, Build: f.at.build, Checkpoint: p.fed, Seen: seen,
		}})
	}
}

// mark marks what Search is sure to see by now, each feed once.
func (f *Feeder) mark(ctx context.Context) error {
	now := f.o.Now()
	n, _ := slices.BinarySearchFunc(f.marks, now, func(m delayedMark, now time.Time) int {
		if m.due.After(now) {
			return 1
		}
		return -1
	})
	last := map[feedKey]store.CheckpointUpdate{}
	for _, m := range f.marks[:n] {
		last[keyOf(m.Feed)] = m.CheckpointUpdate
	}
	f.marks = slices.Delete(f.marks, 0, n)
	return f.markAll(ctx, last)
}

func (f *Feeder) markAll(ctx context.Context, marks map[feedKey]store.CheckpointUpdate) error {
	g, marking := safegroup.WithContext(ctx)
	g.SetLimit(concurrentFeeds)
	var mu sync.Mutex // of gone
	var gone []feedKey
	for key, m := range marks {
		g.Go(func() error {
			err := f.o.Store.SetCheckpoint(marking, m)
			if memory.IsGone(err) || memory.ReasonOf(err) == memory.ReasonContention {
				mu.Lock()
				defer mu.Unlock()
				gone = append(gone, key)
				return nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("mark what the view was fed: %w", err)
	}
	for key, m := range marks {
		if f.ahead[key].fed == m.Checkpoint {
			delete(f.ahead, key)
		}
	}
	for _, key := range gone {
		delete(f.ahead, key)
	}
	return nil
}

// clean drops the spaces of older builds and other versions. Nothing waits any more, so whoever searches the view searches
// the one that is in use.
func (f *Feeder) clean(ctx context.Context) error {
	if f.cleaned == f.at {
		return nil
	}
	spaces, err := f.o.Target.place.spaces(ctx)
	if err != nil {
		return fmt.Errorf("list the view's spaces: %w", err)
	}
	var errs []error
	for _, s := range spaces {
		if s.build < f.at.build || s.build == f.at.build && s != f.at {
			errs = append(errs, f.o.Target.place.drop(ctx, s))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("drop spaces of older builds: %w", err)
	}
	f.cleaned = f.at
	return nil
}
