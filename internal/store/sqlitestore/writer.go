package sqlitestore

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/stratamem/strata/internal/backendlatency"
	"github.com/stratamem/strata/internal/safegroup"
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
	// maxPages is how many pages the WAL may have until the writer waits for the checkpoint beside it and makes another
	// itself: 24 MiB. Else a writer that is faster than the checkpoints fills the disk with it.
	maxPages = 6144
)

// request is one unit of writing. do runs inside a savepoint of its own; what it hands out counts only once submit
// returned nil. It must bear being done again from the start, after what it did was rolled back: that happens when
// another request of the same transaction panics.
type request struct {
	do    func(*conn) error
	taken atomic.Bool // by the writer, or by a caller that gave up
	err   error
	done  chan struct{}
}

// writer owns the only connection that writes. It puts whatever is waiting, or arrives while it works, into one
// transaction, so that one fsync serves many; while that runs, the next batch forms.
type writer struct {
	dial  func() (*conn, error)
	log   *slog.Logger
	queue chan *request
	nudge chan struct{} // asks for a checkpoint
	// moving is held while the WAL is moved into the file: SQLite refuses two checkpoints at once.
	moving sync.Mutex

	mu     sync.RWMutex
	closed bool

	conn     *conn // nil after a failure, until the next batch
	tried    int64 // pages of the WAL when the writer last tried to begin it anew
	commits  atomic.Int64
	requests atomic.Int64
	sick     atomic.Bool // the last commit failed
}

// submit has the request done and waits for its commit. A request that was not begun when ctx ends is not done; one
// that was begun reports what became of it.
func (w *writer) submit(ctx context.Context, do func(*conn) error) error {
	r := &request{do: do, done: make(chan struct{})}
	if err := w.enqueue(ctx, r); err != nil {
		return err
	}
	defer backendlatency.Idle(ctx)()
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

func (w *writer) enqueue(ctx context.Context, r *request) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return store.ShuttingDown()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case w.queue <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop refuses new requests; what is queued is still done.
func (w *writer) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
}

// run serves the queue until stop.
func (w *writer) run() {
	for r := range w.queue {
		if batch := w.drain(begun(nil, r)); len(batch) > 0 {
			w.serve(batch)
		}
	}
	if w.conn != nil {
		w.drop()
	}
}

// drain adds what is waiting to the batch, without waiting for more.
func (w *writer) drain(batch []*request) []*request {
	for len(batch) < maxBatch {
		select {
		case r, ok := <-w.queue:
			if !ok {
				return batch
			}
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
			w.tidy(len(all))
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
		w.drop()
		return batch, fault("commit", err)
	}
	w.commits.Add(1)
	w.requests.Add(int64(len(batch)))
	return batch, nil
}

// tidy checkpoints the WAL once enough requests were committed and have their results: only the next batch waits for it.
func (w *writer) tidy(requests int) {
	total, n := w.requests.Load(), int64(requests)
	if total/checkpointEvery != (total-n)/checkpointEvery {
		w.askForCheckpoint()
	}
	if err := safegroup.Contain(w.boundWAL); err != nil {
		w.log.Warn("a checkpoint of the data file failed", "error", err)
	}
}

// boundWAL has a long WAL moved into the file, and begun anew.
func (w *writer) boundWAL() error {
	pages, waiting, err := w.conn.checkpoint("NOOP")
	if err != nil {
		return err
	}
	if pages < w.tried {
		w.tried = 0 // it was begun anew
	}
	switch {
	case pages > maxPages && pages-w.tried > fewWaiting:
		w.tried = pages
		w.moving.Lock()
		defer w.moving.Unlock()
		_, _, err = w.conn.checkpoint("PASSIVE")
	case waiting > maxWaiting:
		w.askForCheckpoint()
	case pages > maxWaiting && waiting < fewWaiting && pages-w.tried > fewWaiting:
		w.tried = pages // a reader may keep it from being begun anew
		_, _, err = w.conn.checkpoint("PASSIVE")
	}
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

// transact adds requests to the batch while it works, so that none waits for a second fsync. Before it commits, it lets
// those run who are about to ask.
func (w *writer) transact(batch *[]*request) error {
	if err := w.conn.run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for i := 0; i < len(*batch); i++ {
		if err := w.attempt((*batch)[i]); err != nil {
			return err
		}
		if i == len(*batch)-1 {
			runtime.Gosched()
			*batch = w.drain(*batch)
		}
	}
	return outcomeUnknown(w.conn.run("COMMIT"))
}

// attempt does one request inside a savepoint. A fault of the request stays with it; a fault of the file, or a panic,
// is returned, since it takes the whole transaction with it.
func (w *writer) attempt(r *request) error {
	if err := w.conn.run("SAVEPOINT request"); err != nil {
		return err
	}
	if r.err = contain(w.conn, r.do); r.err != nil {
		if isFull(r.err) || isBroken(r.err) || isPanic(r.err) {
			return r.err
		}
		if err := w.conn.run("ROLLBACK TO request"); err != nil {
			return errors.Join(err, r.err)
		}
	}
	return w.conn.run("RELEASE request")
}
