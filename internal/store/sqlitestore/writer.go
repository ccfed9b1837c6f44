package sqlitestore

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
)

const (
	maxBatch        = 256 // requests that share a commit
	queueLength     = 1024
	checkpointEvery = 500 // requests
)

// request is one unit of writing. do runs inside a savepoint of its own; what it hands out counts only once submit
// returned nil.
type request struct {
	do    func(*conn) error
	taken atomic.Bool // by the writer, or by a caller that gave up
	err   error
	done  chan struct{}
}

// writer owns the only connection that writes. It puts whatever is waiting into one transaction, so that one fsync
// serves many; while it runs, the next batch forms.
type writer struct {
	dial  func() (*conn, error)
	log   *slog.Logger
	queue chan *request
	nudge chan struct{} // asks for a checkpoint

	mu     sync.RWMutex
	closed bool

	conn     *conn // nil after a failure, until the next batch
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
		return shuttingDown()
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
		w.serve(w.batch(r))
	}
	if w.conn != nil {
		w.drop()
	}
}

// batch takes what is waiting, without waiting for more.
func (w *writer) batch(r *request) []*request {
	batch := append(make([]*request, 0, 16), r)
	for len(batch) < maxBatch {
		select {
		case r, ok := <-w.queue:
			if !ok {
				return batch
			}
			batch = append(batch, r)
		default:
			return batch
		}
	}
	return batch
}

// serve commits a batch and answers each of its requests.
func (w *writer) serve(batch []*request) {
	batch = begun(batch)
	if len(batch) == 0 {
		return
	}
	err := w.commit(batch)
	w.sick.Store(err != nil)
	if err != nil {
		w.log.Error("a write to the data file failed: its requests were refused", "requests", len(batch), "error", err)
	}
	for _, r := range batch {
		if err != nil {
			r.err = err
		}
		close(r.done)
	}
}

// begun leaves out the requests whose callers gave up.
func begun(batch []*request) []*request {
	kept := batch[:0]
	for _, r := range batch {
		if r.taken.CompareAndSwap(false, true) {
			kept = append(kept, r)
		}
	}
	return kept
}

// commit does all requests in one transaction. An error means that none of them was done: the connection is then
// closed, so that nothing of a half-done transaction survives in it.
func (w *writer) commit(batch []*request) error {
	if err := w.ready(); err != nil {
		return fault("open the writing connection", err)
	}
	if err := w.transact(batch); err != nil {
		w.drop()
		return fault("commit", err)
	}
	w.commits.Add(1)
	n := int64(len(batch))
	if total := w.requests.Add(n); total/checkpointEvery != (total-n)/checkpointEvery {
		w.askForCheckpoint()
	}
	return nil
}

func (w *writer) ready() (err error) {
	if w.conn == nil {
		w.conn, err = w.dial()
	}
	return err
}

func (w *writer) drop() {
	if err := w.conn.close(); err != nil {
		w.log.Warn("closing the writing connection failed", "error", err)
	}
	w.conn = nil
}

func (w *writer) askForCheckpoint() {
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}

func (w *writer) transact(batch []*request) error {
	if err := w.conn.run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, r := range batch {
		if err := w.attempt(r); err != nil {
			return err
		}
	}
	return w.conn.run("COMMIT")
}

// attempt does one request inside a savepoint. A fault of the request stays with it; a fault of the file is
// returned, since it takes the whole transaction with it.
func (w *writer) attempt(r *request) error {
	if err := w.conn.run("SAVEPOINT request"); err != nil {
		return err
	}
	if r.err = r.do(w.conn); r.err != nil {
		if isFull(r.err) || isBroken(r.err) {
			return r.err
		}
		if err := w.conn.run("ROLLBACK TO request"); err != nil {
			return errors.Join(err, r.err)
		}
	}
	return w.conn.run("RELEASE request")
}
