package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stratamem/strata/internal/memory/backendlatency"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
)

const (
	maxBatch        = 256 // requests that share a commit
	queueLength     = 1024
	checkpointEvery = 2000 // requests; at 500 the 99th percentile of 64 clients was a third higher
	// maxWaiting is how many pages of the WAL may wait for a checkpoint before one is asked for: 16 MiB. They need as much
	// room in the file as in the WAL, so a full disk is met with few of them.
	maxWaiting = 4096
	// fewWaiting is how many of them the writer moves itself, to begin the WAL anew: a checkpoint beside it never ends it,
	// since the next commit is in the WAL before it is done.
	fewWaiting = 1024
	// maxPages is how many pages the WAL may have until writes wait for the checkpoint beside them, and for another
	// one after it: 24 MiB. Else writes that are faster than the checkpoints fill the disk with it.
	maxPages = 6144
	// maxOwed is how many small requests may be committed until the WAL is looked at again: it grows by some 1,000 pages at most
	// until then.
	maxOwed = 32
	// smallBytes and smallMessages are how much a small request stores at most.
	smallBytes    = 16 << 10
	smallMessages = 8
)

// request is one unit of writing. do runs inside a transaction or savepoint of its own; what it hands out counts only once submit
// returned nil. It must bear being done again from the start, after what it did was rolled back: that happens when
// another request of the same transaction panics.
type request struct {
	do    func(*conn) error
	small bool        // see submitSmall
	taken atomic.Bool // by whoever commits it, or by its caller, who gave up
	err   error
	done  chan struct{}
}

// writer owns the only connection that writes. Who finds it idle commits by itself, without waking another goroutine. Others
// wait in the queue, whose requests are put into one transaction, also those that arrive while it works, so that one fsync
// serves many; while that runs, the next batch forms.
type writer struct {
	dial  func() (*conn, error)
	log   *slog.Logger
	queue chan *request
	work  chan struct{} // wakes run
	nudge chan struct{} // asks for a checkpoint
	// moving is held while the WAL is moved into the file: SQLite refuses two checkpoints at once.
	moving sync.Mutex

	mu     sync.RWMutex
	closed bool

	turn  chan struct{} // full while somebody has what follows, up to tried
	conn  *conn         // nil after a failure, until the next batch
	due   func() error  // is done to the WAL before run's next batch; nil for nothing
	owed  int           // requests that were committed since the WAL was looked at
	moved bool          // the next commit may begin the WAL anew
	tried int64         // pages of the WAL when it was last tried to begin it anew
	room  walRoom
	// written is what was committed, once the turn is given up.
	written writtenPages

	movers   atomic.Int64 // that move the WAL into the file beside the writer now, or are about to
	commits  atomic.Int64
	requests atomic.Int64
	sick     atomic.Bool // the last commit failed
}

func newWriter(path string, log *slog.Logger) *writer {
	wal := path + "-wal"
	return &writer{
		dial: func() (*conn, error) { return dial(path, writing()...) },
		log:  log, queue: make(chan *request, queueLength), work: make(chan struct{}, 1), nudge: make(chan struct{}, 1),
		turn: make(chan struct{}, 1), moved: true, room: walRoom{path: wal}, written: writtenPages{path: wal, all: true},
	}
}

// submit has the request done and waits for its commit. A request that was not begun when ctx ends is not done; one
// that was begun reports what became of it.
func (w *writer) submit(ctx context.Context, do func(*conn) error) error {
	return w.wait(ctx, &request{do: do, done: make(chan struct{})})
}

// submitSmall is submit for a request that writes few pages: it stores at most smallBytes in smallMessages, and deletes nothing.
func (w *writer) submitSmall(ctx context.Context, do func(*conn) error) error {
	return w.wait(ctx, &request{do: do, small: true, done: make(chan struct{})})
}

// wait has a request done and waits for its commit.
func (w *writer) wait(ctx context.Context, r *request) error {
	idle, err := w.accept(ctx, r)
	if err != nil {
		return err
	}
	defer backendlatency.Idle(ctx)()
	if idle {
		w.serveOwn(r)
		return r.err
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
	}
	if r.taken.CompareAndSwap(false, true) {
		return ctx.Err()
	}
	<-r.done
	return r.err
}

// accept takes the connection for the caller of a request, where the writer is idle, and puts the request into the queue
// where it is not.
func (w *writer) accept(ctx context.Context, r *request) (idle bool, err error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return false, store.ShuttingDown()
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	select {
	case w.turn <- struct{}{}:
		return true, nil
	default:
	}
	select {
	case w.queue <- r:
		w.signal()
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// submitFirst is submit for a request that must be the first of its transaction: every page that was written before is in written.
func (w *writer) submitFirst(ctx context.Context, do func(*conn) error) error {
	if err := w.takeTurn(ctx); err != nil {
		return err
	}
	defer backendlatency.Idle(ctx)()
	w.settle()
	r := &request{do: do, done: make(chan struct{})}
	w.serveOwn(r)
	return r.err
}

// between runs do between two transactions.
func (w *writer) between(ctx context.Context, do func() error) error {
	if err := w.takeTurn(ctx); err != nil {
		return err
	}
	defer w.release()
	w.settle()
	return do()
}

// moveBeside runs move, a checkpoint beside the writer.
func (w *writer) moveBeside(ctx context.Context, move func() error) error {
	err := w.between(ctx, func() error {
		w.moved = true
		w.movers.Add(1)
		return nil
	})
	if err != nil {
		return err
	}
	defer w.movers.Add(-1)
	w.moving.Lock()
	defer w.moving.Unlock()
	return move()
}

// takeTurn waits until nobody else has the connection.
func (w *writer) takeTurn(ctx context.Context) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return store.ShuttingDown()
	}
	select {
	case w.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// signal wakes run. It must not be called once the writer is closed.
func (w *writer) signal() {
	select {
	case w.work <- struct{}{}:
	default: // it is awake
	}
}

// serveOwn commits a request by its caller, who has the connection, with what waits already.
func (w *writer) serveOwn(r *request) {
	defer w.release()
	r.taken.Store(true)
	w.serve(w.drain([]*request{r}))
}

// release gives the connection to whoever waits for it. What it leaves to be done is done by run.
func (w *writer) release() {
	due := w.due
	<-w.turn
	if due == nil {
		return
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	if !w.closed {
		w.signal()
	}
}

// stop refuses new requests; what is queued is still done.
func (w *writer) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		close(w.work)
	}
}

// run serves the queue until stop.
func (w *writer) run() {
	for range w.work {
		w.turn <- struct{}{}
		w.serveQueue()
		w.release()
	}
	w.turn <- struct{}{}
	defer w.release()
	w.serveQueue()
	if w.conn != nil {
		w.drop()
	}
	if err := w.written.close(); err != nil {
		w.log.Warn("closing the write-ahead log failed", "error", err)
	}
}

// serveQueue commits what is queued until nothing is.
func (w *writer) serveQueue() {
	for {
		if due := w.due; due != nil {
			w.due = nil
			w.logDue(safegroup.Contain(due))
		}
		batch := w.drain(nil)
		if len(batch) == 0 {
			return
		}
		w.serve(batch)
	}
}

// drain adds what is waiting to the batch, without waiting for more.
func (w *writer) drain(batch []*request) []*request {
	for len(batch) < maxBatch {
		select {
		case r := <-w.queue:
			batch = begun(batch, r)
		default:
			return batch
		}
	}
	return batch
}

// begun adds the request, unless its caller gave up.
func begun(batch []*request, r *request) []*request {
	if r.taken.CompareAndSwap(false, true) {
		return append(batch, r)
	}
	return batch
}

// serve commits a batch, with what arrives until its COMMIT, and gives each request its result. A request that panicked
// gets its error at once, and the others are done again without it.
func (w *writer) serve(batch []*request) {
	for len(batch) > 0 {
		all, err := w.commit(batch)
		if isFull(err) && w.makeRoom() {
			all, err = w.commit(all)
		}
		if rest := w.replyPanicked(all); len(rest) < len(all) {
			batch = rest
			continue
		}
		w.sick.Store(err != nil)
		if err != nil {
			w.log.Error("a write to the data file failed: its requests were refused", "requests", len(all), "error", err)
		}
		reply(all, err)
		if err == nil {
			w.tidy(all)
		}
		return
	}
}

// reply gives each request its result; err is that of all.
func reply(batch []*request, err error) {
	for _, r := range batch {
		if err != nil {
			r.err = err
		}
		close(r.done)
	}
}

// replyPanicked returns the requests that did not panic.
func (w *writer) replyPanicked(batch []*request) (rest []*request) {
	for _, r := range batch {
		if !isPanic(r.err) {
			rest = append(rest, r)
			continue
		}
		logPanic(w.log, r.err)
		close(r.done)
	}
	return rest
}

// commit does all requests in one transaction, and those that arrive meanwhile: it returns them too. An error means
// that none of them is done, as far as this program sees (see outcomeUnknown): the connection is then closed, so that
// nothing of a half-done transaction survives in it.
func (w *writer) commit(batch []*request) ([]*request, error) {
	if err := safegroup.Contain(w.ready); err != nil {
		return batch, fault("open the writing connection", err)
	}
	err := safegroup.Contain(func() error { return w.transact(&batch) })
	if err != nil {
		w.owed, w.written.all = 0, true
		w.drop()
		return batch, fault("commit", err)
	}
	w.commits.Add(1)
	w.requests.Add(int64(len(batch)))
	return batch, nil
}

// tidy has the WAL looked at after a commit, and asks for a checkpoint of it once enough requests were committed. They have their
// results, but for a caller that commits by itself: so that it seldom waits for this, what small requests leave waits for a larger
// one, or for maxOwed of them. What a commit wrote that may begin the WAL anew is noted at once.
func (w *writer) tidy(batch []*request) {
	total, n := w.requests.Load(), int64(len(batch))
	if total/checkpointEvery != (total-n)/checkpointEvery {
		w.askForCheckpoint()
	}
	w.owed += len(batch)
	if w.moved || w.owed >= maxOwed || slices.ContainsFunc(batch, func(r *request) bool { return !r.small }) {
		w.settle()
		return
	}
	w.written.behind = true
}

// settle looks at the WAL, where something was committed since it was looked at.
func (w *writer) settle() {
	if w.owed == 0 {
		return
	}
	w.owed = 0
	if err := safegroup.Contain(w.lookAtWAL); err != nil {
		w.written.all = true
		w.log.Warn("looking at the write-ahead log failed", "error", err)
	}
}

// lookAtWAL notes what was committed, and keeps the WAL short.
func (w *writer) lookAtWAL() error {
	pages, waiting, err := w.conn.checkpoint("NOOP")
	if err != nil {
		return err
	}
	switch {
	case waiting == 0:
		w.moved = true // SQLite begins the WAL anew once all of it is in the file
	case w.movers.Load() == 0:
		w.moved = false
	}
	w.boundWAL(pages, waiting)
	return w.written.note(pages)
}

func (w *writer) logDue(err error) {
	if err != nil {
		w.log.Warn("looking after the write-ahead log failed", "error", err)
	}
}

// boundWAL has a long WAL moved into the file, and begun anew: beside the writer, or before its next batch.
func (w *writer) boundWAL(pages, waiting int64) {
	if pages < w.tried {
		w.tried = 0 // it was begun anew
	}
	switch {
	case pages > maxPages && pages-w.tried > fewWaiting:
		w.tried, w.due = pages, w.moveAfterOther
	case waiting > maxWaiting:
		w.askForCheckpoint()
	case pages > maxWaiting && waiting < fewWaiting && pages-w.tried > fewWaiting:
		w.tried, w.due = pages, w.moveWAL // a reader may keep it from being begun anew
	case w.room.isShort(pages):
		w.due = func() error { return w.lengthenWAL(pages) }
	}
}

// lengthenWAL makes the file of a WAL of so many pages longer, ahead of what is committed. SQLite's lock for writing keeps out programs
// that know nothing of ours, such as its shell: what they commit meanwhile would be overwritten.
func (w *writer) lengthenWAL(pages int64) error {
	if err := w.ready(); err != nil {
		return err
	}
	if err := w.conn.run("BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("lock the write-ahead log to make it longer: %w", err)
	}
	return errors.Join(w.room.extend(pages), w.conn.run("ROLLBACK"))
}

// moveAfterOther is moveWAL once the checkpoint beside it has ended.
func (w *writer) moveAfterOther() error {
	w.moving.Lock()
	defer w.moving.Unlock()
	return w.moveWAL()
}

// moveWAL moves the WAL into the file.
func (w *writer) moveWAL() error {
	if err := w.ready(); err != nil {
		return err
	}
	w.settle()
	w.moved = true
	_, _, err := w.conn.checkpoint("PASSIVE")
	return err
}

// checkpoint makes a checkpoint of a mode of SQLite's, and returns how many pages are in the WAL, and how many of them wait
// to be moved into the file. Source: https://www.sqlite.org/pragma.html#pragma_wal_checkpoint.
func (c *conn) checkpoint(mode string) (pages, waiting int64, err error) {
	_, err = c.first("PRAGMA wal_checkpoint("+mode+")", func(r row) error { // busy, pages in the WAL, of them in the file
		pages, waiting = r.int(1), r.int(1)-r.int(2)
		return nil
	})
	return pages, waiting, err
}

// makeRoom moves all of the WAL into the file and gives the WAL's room back to the disk. It reports whether that went
// well: not so where the file must grow for it and cannot.
func (w *writer) makeRoom() bool {
	w.moved = true
	pages := int64(-1)
	err := safegroup.Contain(func() error {
		c, err := w.dial()
		if err != nil {
			return err
		}
		pages, _, err = c.checkpoint("TRUNCATE")
		return errors.Join(err, c.close())
	})
	return err == nil && pages == 0
}

func (w *writer) ready() (err error) {
	if w.conn == nil {
		w.conn, err = w.dial()
	}
	return err
}

func (w *writer) drop() {
	c := w.conn
	w.conn = nil
	if err := safegroup.Contain(c.close); err != nil {
		w.log.Warn("closing the writing connection failed", "error", err)
	}
}

func (w *writer) askForCheckpoint() {
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}

// transact adds requests to the batch while it works, so that none waits for a second fsync. It waits for none that is not
// there: where all processors are busy, letting others run first takes as long as these compute.
func (w *writer) transact(batch *[]*request) error {
	if err := w.conn.run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	attempt := w.attemptFirst
	for i := 0; i < len(*batch); i++ {
		if err := attempt((*batch)[i]); err != nil {
			return err
		}
		if i == len(*batch)-1 {
			*batch = w.drain(*batch)
		}
		attempt = w.attempt
	}
	return outcomeUnknown(w.conn.run("COMMIT"))
}

// attemptFirst does the first request of a transaction, which needs no savepoint: where it fails, the transaction begins again.
// A fault of the request stays with it; a fault of the file, or a panic, is returned, since it takes the whole transaction
// with it.
func (w *writer) attemptFirst(r *request) error {
	if r.err = contain(w.conn, r.do); r.err == nil {
		return nil
	}
	if takesAll(r.err) {
		return r.err
	}
	if err := w.conn.run("ROLLBACK"); err != nil {
		return errors.Join(err, r.err)
	}
	return w.conn.run("BEGIN IMMEDIATE")
}

// attempt is attemptFirst for a request that follows others: it is done inside a savepoint.
func (w *writer) attempt(r *request) error {
	if err := w.conn.run("SAVEPOINT request"); err != nil {
		return err
	}
	if r.err = contain(w.conn, r.do); r.err != nil {
		if takesAll(r.err) {
			return r.err
		}
		if err := w.conn.run("ROLLBACK TO request"); err != nil {
			return errors.Join(err, r.err)
		}
	}
	return w.conn.run("RELEASE request")
}

// takesAll reports whether the error of a request takes the whole transaction with it.
func takesAll(err error) bool { return isFull(err) || isBroken(err) || isPanic(err) }
