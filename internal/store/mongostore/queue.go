package mongostore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
)

const (
	queueLength = 64 // calls of a session that wait beside those that are being written
	maxBatch    = 64 // calls that share an insert
)

// call is one Append on its way.
type call struct {
	p     store.AppendParams
	until time.Time   // when the caller gives up; zero for never
	taken atomic.Bool // by the queue, or by a caller that gave up
	done  chan struct{}
	res   store.AppendResult
	err   error
}

func (c *call) reply(res store.AppendResult, err error) {
	c.res, c.err = res, err
	close(c.done)
}

// queue holds the calls of a session within this process: the unique keys decide between processes, and would be fought
// over by every caller of one process too.
type queue struct {
	calls   chan *call
	callers int // inside submit
}

// queues holds the queues that have callers. Each has a goroutine that ends with its last caller.
type queues struct {
	mu      sync.Mutex
	open    map[memory.SessionRef]*queue
	closed  bool
	serving safegroup.Group
}

func newQueues() *queues { return &queues{open: map[memory.SessionRef]*queue{}} }

// submit has the call served in its session's queue and waits for it. A call that was not begun when ctx ends is not
// done; of one that was begun nobody knows yet what becomes of it.
func (l *queues) submit(ctx context.Context, c *call, serve func([]*call)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	in, err := l.enter(c.p.Ref, serve)
	if err != nil {
		return err
	}
	defer l.leave(c.p.Ref, in)
	select {
	case in.calls <- c:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
	}
	if c.taken.CompareAndSwap(false, true) {
		return ctx.Err()
	}
	return uncertain("append turn", ctx.Err())
}

func (l *queues) enter(ref memory.SessionRef, serve func([]*call)) (*queue, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, store.ShuttingDown()
	}
	in, ok := l.open[ref]
	if !ok {
		in = &queue{calls: make(chan *call, queueLength)}
		l.open[ref] = in
		l.serving.Go(func() error {
			in.run(serve)
			return nil
		})
	}
	in.callers++
	return in, nil
}

// leave ends the queue with its last caller. Calls of callers that gave up may still be in it: they are passed over.
func (l *queues) leave(ref memory.SessionRef, in *queue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if in.callers--; in.callers > 0 {
		return
	}
	close(in.calls)
	delete(l.open, ref)
}

// close refuses new calls and waits for those that are inside.
func (l *queues) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	_ = l.serving.Wait() // its members return no error
}

func (in *queue) run(serve func([]*call)) {
	for c := range in.calls {
		batch := in.drain(begun(nil, c))
		if len(batch) == 0 {
			continue
		}
		err := safegroup.Contain(func() error {
			serve(batch)
			return nil
		})
		if err != nil {
			replyRest(batch, uncertain("append turn", err))
		}
	}
}

// replyRest gives the error to the calls that have no result yet.
func replyRest(batch []*call, err error) {
	for _, c := range batch {
		select {
		case <-c.done:
		default:
			c.reply(store.AppendResult{}, err)
		}
	}
}

// drain adds what is waiting to the batch, without waiting for more.
func (in *queue) drain(batch []*call) []*call {
	for len(batch) < maxBatch {
		select {
		case c, ok := <-in.calls:
			if !ok {
				return batch
			}
			batch = begun(batch, c)
		default:
			return batch
		}
	}
	return batch
}

// begun adds the call, unless its caller gave up.
func begun(batch []*call, c *call) []*call {
	if c.taken.CompareAndSwap(false, true) {
		return append(batch, c)
	}
	return batch
}
