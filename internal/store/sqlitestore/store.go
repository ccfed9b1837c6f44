// Package sqlitestore keeps the primary store in one SQLite file (modernc.org/sqlite, no cgo).
//
// One connection writes, and commits what is waiting together; readers have connections of their own and see the last
// commit. Nothing is acknowledged before COMMIT returned with synchronous=FULL. A lock file, and on Linux a lock on the
// data file itself, keep a second server out; a program that only reads may read beside. The file must be on a local disk
// and have one name.
package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
)

var _ store.PrimaryStore = (*Store)(nil)

// Options name the file and how to use it.
type Options struct {
	Path    string        // of the data file; its directory must exist. There is no in-memory form
	Log     *slog.Logger  // nil for none
	Keys    func() string // mints scope and session keys: 128 random bits in lower-case hex; nil for crypto/rand
	Readers int           // connections that read, 0 for 4
}

// Store is an open data file: one type for each role of store.PrimaryStore, over one core.
type Store struct {
	*core
	*transcript
	*searchIndex
	*journal
	*workStore
	*factStore
	*vectorStore
	*summaryStore
	*erasureStore
	*feedStore
	*userStore
	*shared
	*keyStore
	*usageStore
	*auditStore
	*documentStore
	*archive

	lock    *fileLock
	anchor  *conn // does nothing but stay open: see hold
	workers safegroup.Group
	closing sync.Once
	gone    error // of Close
}

// core is what every role needs: the connections of the file.
type core struct {
	path        string
	keys        func() string
	writer      *writer
	readers     chan *conn    // idle ones; nil in place of one that must be dialled again
	long        chan struct{} // holds one for each long read that runs
	purgePasses purgePasses
	messages    rowCache[storedMessage]
	nodes       rowCache[memory.SummaryNode]
	closed      chan struct{}
}

type (
	transcript    struct{ *core } // implements store.Sessions and store.Transcript
	searchIndex   struct{ *core } // implements store.SearchIndex
	journal       struct{ *core } // implements store.Journal
	workStore     struct{ *core } // implements store.Work
	factStore     struct{ *core } // implements store.Facts
	vectorStore   struct{ *core } // implements store.Vectors
	summaryStore  struct{ *core } // implements store.Summaries
	erasureStore  struct{ *core } // implements store.Erasures
	feedStore     struct{ *core } // implements store.ChangeFeed
	userStore     struct{ *core } // implements store.Users
	shared        struct{ *core } // implements store.Leases, store.Clock and store.Secrets
	keyStore      struct{ *core } // implements store.Keys
	usageStore    struct{ *core } // implements store.Usage
	auditStore    struct{ *core } // implements store.Audit
	documentStore struct{ *core } // implements store.Documents
	archive       struct{ *core } // implements store.Exporter and store.Imports
)

// Stats count since Open.
type Stats struct {
	Commits  int64 // that succeeded, so fsyncs of the WAL
	Requests int64 // in them, refused ones included
}

// Open opens the file, creates it when there is none, and brings its schema up to date. Its errors name what is wrong with
// the file and what to do.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Keys == nil {
		o.Keys = store.MintKey
	}
	if o.Readers <= 0 {
		o.Readers = defaultReaders
	}
	path, lock, err := openFile(o.Path, o.Log)
	if err != nil {
		return nil, err
	}
	anchor, err := hold(path)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return start(path, lock, anchor, o), nil
}

// hold opens a connection that keeps the index of the WAL alive. Whoever opens the file while nobody has it open reads
// the WAL anew, and takes a transaction whose COMMIT failed after its frames were written (a failed fsync) for a
// committed one. As long as the index lives, those frames are beyond its end, and the next commit overwrites them.
// Source: https://www.sqlite.org/walformat.html (section 2, the WAL-index), sqlite3WalFrames in SQLite's wal.c.
func hold(path string) (*conn, error) {
	c, err := dial(path, reading()...)
	if err != nil {
		return nil, fmt.Errorf("open data file %s: %w", path, err)
	}
	if _, err := c.value("SELECT n FROM probe"); err != nil { // only a read opens the WAL
		return nil, errors.Join(fmt.Errorf("read data file %s: %w", path, err), c.close())
	}
	return c, nil
}

func start(path string, lock *fileLock, anchor *conn, o Options) *Store {
	c := &core{
		path: path, keys: o.Keys, closed: make(chan struct{}),
		readers: make(chan *conn, o.Readers), long: make(chan struct{}, max(o.Readers/2, 1)),
		purgePasses: purgePasses{running: make(chan struct{}, 1)},
		messages:    newRowCache[storedMessage](messageCacheBytes),
		nodes:       newRowCache[memory.SummaryNode](nodeCacheBytes),
		writer:      newWriter(path, o.Log),
	}
	s := &Store{
		core: c, transcript: &transcript{c}, searchIndex: &searchIndex{c}, journal: &journal{c}, workStore: &workStore{c},
		factStore: &factStore{c}, vectorStore: &vectorStore{c}, summaryStore: &summaryStore{c}, erasureStore: &erasureStore{c},
		feedStore: &feedStore{c}, userStore: &userStore{c}, shared: &shared{c}, keyStore: &keyStore{c}, usageStore: &usageStore{c},
		auditStore: &auditStore{c}, documentStore: &documentStore{c}, archive: &archive{c},
		lock: lock, anchor: anchor,
	}
	for range o.Readers {
		s.readers <- nil
	}
	s.workers.Go(func() error {
		defer close(s.closed)
		s.writer.run()
		return nil
	})
	s.workers.Go(func() error {
		s.checkpoint()
		return nil
	})
	return s
}

// Close finishes what is queued and closes the file. Calls that come later get SHUTTING_DOWN.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.writer.stop()
		_ = s.workers.Wait() // its members return no error
		s.messages.close()
		s.nodes.close()
		var errs []error
		for range cap(s.readers) {
			if c := <-s.readers; c != nil {
				errs = append(errs, c.close())
			}
		}
		s.gone = errors.Join(append(errs, s.anchor.close(), s.lock.Close())...)
	})
	return s.gone
}

// Stats returns how much was committed together.
func (s *Store) Stats() Stats {
	return Stats{Commits: s.writer.commits.Load(), Requests: s.writer.requests.Load()}
}

// Check looks whether the file is still the one that is locked, reads, and, when the last commit failed, finds out by a
// small write whether the reason still holds.
func (s *Store) Check(ctx context.Context) error {
	if err := s.lock.check(s.path); err != nil {
		return err
	}
	err := s.read(ctx, "check the data file", func(c *conn) error {
		_, err := c.value("SELECT n FROM probe")
		return err
	})
	if err != nil || !s.writer.sick.Load() {
		return err
	}
	return s.write(ctx, "check the data file", func(c *conn) error {
		return c.run("UPDATE probe SET n = n + 1")
	})
}

// write has do done by the writer, in a transaction.
func (s *core) write(ctx context.Context, what string, do func(*conn) error) error {
	return fault(what, s.writer.submit(ctx, do))
}

// writeSmall is write for what writes few pages: see submitSmall.
func (s *core) writeSmall(ctx context.Context, what string, do func(*conn) error) error {
	return fault(what, s.writer.submitSmall(ctx, do))
}

// writeFirst is write for what must come first in its transaction.
func (s *core) writeFirst(ctx context.Context, what string, do func(*conn) error) error {
	return fault(what, s.writer.submitFirst(ctx, do))
}

// read runs do on a connection that sees one instant of the file. ctx is heeded before it starts; what do reads is
// bounded by its caller. A panic in do is an error of this call alone.
func (s *core) read(ctx context.Context, what string, do func(*conn) error) error {
	c, err := s.reader(ctx)
	if err != nil {
		return fault(what, err)
	}
	err = contain(c, func(c *conn) error { return snapshot(c, do) })
	logPanic(s.writer.log, err)
	if isBroken(err) || isPanic(err) {
		err = errors.Join(err, c.close())
		c = nil
	}
	s.readers <- c
	return fault(what, err)
}

// readLong is read for what may take long. Such reads use half of the readers at most, so that many of them do not keep short
// ones waiting.
func (s *core) readLong(ctx context.Context, what string, do func(*conn) error) error {
	select {
	case s.long <- struct{}{}:
	case <-s.closed:
		return fault(what, store.ShuttingDown())
	case <-ctx.Done():
		return fault(what, ctx.Err())
	}
	defer func() { <-s.long }()
	return s.read(ctx, what, do)
}

func (s *core) reader(ctx context.Context) (*conn, error) {
	select {
	case <-s.closed:
		return nil, store.ShuttingDown()
	default:
	}
	select {
	case c := <-s.readers:
		return s.dialled(c)
	case <-s.closed:
		return nil, store.ShuttingDown()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *core) dialled(c *conn) (*conn, error) {
	if c != nil {
		return c, nil
	}
	c, err := dial(s.path, reading()...)
	if err != nil {
		s.readers <- nil
		return nil, err
	}
	return c, nil
}

func snapshot(c *conn, do func(*conn) error) error {
	if err := c.run("BEGIN"); err != nil {
		return err
	}
	err := do(c)
	if end := c.run("COMMIT"); err == nil {
		return end
	}
	return err
}

// checkpoint moves the WAL into the file beside the writer, so that no acknowledgement waits for it.
func (s *Store) checkpoint() {
	var c *conn
	for {
		select {
		case <-s.closed:
			if c != nil {
				s.logClose(c.close())
			}
			return
		case <-s.writer.nudge:
			s.logClose(safegroup.Contain(func() error {
				c = s.checkpointOnce(c)
				return nil
			}))
		}
	}
}

// checkpointOnce returns the connection to use the next time. A checkpoint that fails is made up for by the next
// one, or by the writer.
func (s *Store) checkpointOnce(c *conn) *conn {
	if c == nil {
		var err error
		if c, err = dial(s.path, writing()...); err != nil {
			s.logClose(err)
			return nil
		}
	}
	err := s.writer.moveBeside(context.Background(), func() error {
		_, _, err := c.checkpoint("PASSIVE")
		return err
	})
	if memory.ReasonOf(err) == memory.ReasonShuttingDown {
		return c
	}
	if err != nil {
		s.logClose(errors.Join(err, c.close()))
		return nil
	}
	return c
}

func (s *Store) logClose(err error) {
	if err != nil {
		s.writer.log.Warn("a checkpoint of the data file failed", "error", err)
	}
}
