package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/memory"
)

// Conn is a connection, for tests that must do what no method does.
type Conn = conn

// Script runs statements on the connection.
func (c *conn) Script(sql string) error { return c.script(sql) }

// Write has do done by the writer.
func (s *Store) Write(ctx context.Context, do func(*Conn) error) error {
	return s.write(ctx, "test", do)
}

// Read runs do on a reading connection.
func (s *Store) Read(ctx context.Context, do func(*Conn) error) error { return s.read(ctx, "test", do) }

// ReadLong runs do as a read that may take long.
func (s *Store) ReadLong(ctx context.Context, do func(*Conn) error) error {
	return s.readLong(ctx, "test", do)
}

// LongReads is how many reads that may take long run at once.
func (s *Store) LongReads() int { return cap(s.long) }

// ForgetRows has the next reads find nothing in memory.
func (s *Store) ForgetRows() {
	s.messages.held.InvalidateAll()
	s.nodes.held.InvalidateAll()
}

// HeldRows is a cache that holds rows.
type HeldRows struct {
	weight func() int64
	Close  func()
}

// Bytes is what the cache counts.
func (h HeldRows) Bytes() int64 { return h.weight() }

// HoldNodes is a cache that holds the nodes, under their places in the list.
func HoldNodes(nodes []memory.SummaryNode) HeldRows {
	return holdRows(nodes, func(n memory.SummaryNode) *heldRow[memory.SummaryNode] { return heldNode(1, n) })
}

// HoldMessages is the same for messages whose rows take so many bytes.
func HoldMessages(messages []memory.Message, bytes int64) HeldRows {
	return holdRows(messages, func(m memory.Message) *heldRow[storedMessage] { return heldMessage(1, bytes, m) })
}

func holdRows[X, T any](all []X, held func(X) *heldRow[T]) HeldRows {
	c := newRowCache[T](1 << 30)
	for i, x := range all {
		c.keep(int64(i), held(x))
	}
	c.held.CleanUp()
	return HeldRows{func() int64 { return int64(c.held.WeightedSize()) }, c.close}
}

// BeginMoving is the beginning of a checkpoint beside the writer, which ends when end is called.
func (s *Store) BeginMoving() (end func()) {
	s.writer.moving.Lock()
	return s.writer.moving.Unlock
}

// WithoutRoom has commits make the file of the WAL longer.
func (s *Store) WithoutRoom() { s.writer.room.givenUp = true }

// LengthenWAL makes the file of the WAL longer than so many pages, and waits for nobody's lock.
func (s *Store) LengthenWAL(pages int64) error {
	s.writer.turn <- struct{}{}
	defer func() { <-s.writer.turn }()
	return errors.Join(s.writer.conn.run(busyFor(0)), s.writer.lengthenWAL(pages))
}

// AwaitDue waits until what commits left to be done to the WAL is done.
func (s *Store) AwaitDue() {
	for due := true; due; {
		s.writer.turn <- struct{}{}
		due = s.writer.due != nil
		<-s.writer.turn
	}
}

// EndErasures ends erasures as a sweep does.
func (s *Store) EndErasures(ctx context.Context) (done bool, err error) { return s.purge(ctx) }

// Purges is how many calls of purge there were.
func (s *Store) Purges() int64 { return s.purgePasses.asked.Load() }

// BeginPurge is the beginning of a pass that ends when end is called.
func (s *Store) BeginPurge() (end func()) {
	s.purgePasses.running <- struct{}{}
	return func() { <-s.purgePasses.running }
}

// Gaps are the pages of the file whose rooms are as asked for.
func (s *Store) Gaps(ctx context.Context, is func(gap []byte) bool) (pages []int64, err error) {
	err = s.read(ctx, "test", func(c *conn) error {
		last, err := pageCount(c)
		for no := int64(1); err == nil && no <= last; no++ {
			err = lookAtPage(c, no, func(page []byte) {
				if is(gapOf(no, page)) {
					pages = append(pages, no)
				}
			})
		}
		return err
	})
	return pages, err
}

// MoveWAL moves the WAL into the file, so that the next commit begins it anew.
func (s *Store) MoveWAL() error {
	return s.writer.between(context.Background(), s.writer.moveAfterOther)
}

// LookEverywhere has the next pass look at every page of the file, as the first one does.
func (s *Store) LookEverywhere(ctx context.Context) error {
	return s.writer.between(ctx, func() error {
		s.writer.written.all = true
		return nil
	})
}

// Written changes which pages the next pass takes for written ones. It must be called while nobody writes.
func (s *Store) Written(ctx context.Context, change func(all map[int64]bool)) error {
	return s.writer.between(ctx, func() error {
		pages := map[int64]bool{}
		for no := range s.writer.written.pages.each() {
			pages[no] = true
		}
		change(pages)
		s.writer.written.pages = nil
		for no := range pages {
			s.writer.written.pages.add(no)
		}
		return nil
	})
}

// WrittenSince are the pages that were written since it was called last. It must be called while nobody writes.
func (s *Store) WrittenSince(ctx context.Context) (pages []int64, all bool, err error) {
	err = s.writer.between(ctx, func() error {
		all = s.writer.written.all
		pages = slices.Collect(s.writer.written.take(0).each())
		return nil
	})
	return pages, all, err
}

// Value returns a query's first value.
func (c *conn) Value(query string) (any, error) { return c.value(query) }

// Each calls do with the first column of every row.
func (c *conn) Each(query string, do func(any) error) error {
	return c.query(query, func(r row) error { return do(r[0]) })
}

// Close closes the connection.
func (c *conn) Close() error { return c.close() }

// CommitFault turns what SQLite reports for a COMMIT into the contract's error.
func CommitFault(err error) error { return fault("commit", outcomeUnknown(err)) }

// Queued is how many requests wait for the writer.
func (s *Store) Queued() int { return len(s.writer.queue) }

// BeforeDial calls hook before the writing connection is opened; its error is the dial's. It must be set before the
// first write.
func (s *Store) BeforeDial(hook func() error) {
	inner := s.writer.dial
	s.writer.dial = func() (*conn, error) {
		if err := hook(); err != nil {
			return nil, err
		}
		return inner()
	}
}

// AfterDial runs hook on each new writing connection. It must be set before the first write.
func (s *Store) AfterDial(hook func(*Conn) error) {
	inner := s.writer.dial
	s.writer.dial = func() (*conn, error) {
		c, err := inner()
		if err != nil {
			return nil, err
		}
		return c, hook(c)
	}
}

// Dial opens a connection.
func Dial(path string) (*Conn, error) { return dial(path) }

// Plans explains every statement that the connection has prepared.
func (c *conn) Plans() (map[string]string, error) {
	plans := map[string]string{}
	for query := range c.stmts {
		if !strings.HasPrefix(query, "SELECT") && !strings.HasPrefix(query, "UPDATE") && !strings.HasPrefix(query, "DELETE") {
			continue
		}
		plan, err := explain(c, query)
		if err != nil {
			return nil, err
		}
		plans[query] = plan
	}
	return plans, nil
}

func explain(c *conn, query string) (string, error) {
	var plan []string
	args := make([]any, strings.Count(query, "?"))
	stmts := c.stmts
	c.stmts = map[string]driver.Stmt{} // explaining must not add to what is explained
	defer func() { c.stmts = stmts }()
	err := c.query("EXPLAIN QUERY PLAN "+query, func(r row) error {
		plan = append(plan, r.text(3))
		return nil
	}, args...)
	for _, s := range c.stmts {
		err = errors.Join(err, s.Close())
	}
	return strings.Join(plan, "; "), err
}

// CheckpointEvery is after how many requests a checkpoint is asked for.
const CheckpointEvery = checkpointEvery

// Evidence writes the evidence as it is stored, and reads it again.
func Evidence(evidence []memory.Evidence) ([]memory.Evidence, error) {
	stored, err := encodeEvidence(evidence)
	if err != nil {
		return nil, err
	}
	text, _ := stored.(string) // nil for none
	return decodeEvidence(text)
}
