package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store/sqlitestore"
)

// hold keeps the writer busy until release is called, so that what comes next queues up.
func hold(t *testing.T, s *sqlitestore.Store) (release func()) {
	t.Helper()
	begun, free, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.Write(context.Background(), func(*sqlitestore.Conn) error {
			close(begun)
			<-free
			return nil
		})
	}()
	<-begun
	return func() {
		close(free)
		if err := <-done; err != nil {
			t.Errorf("the holding write: %v", err)
		}
	}
}

func waitQueued(s *sqlitestore.Store, n int) {
	for s.Queued() < n {
		runtime.Gosched()
	}
}

// appendAll starts an Append for each id; the returned function waits and returns the errors by id.
func appendAll(ctx context.Context, s *sqlitestore.Store, ids ...string) (wait func() map[string]error) {
	var group sync.WaitGroup
	var mu sync.Mutex
	errs := map[string]error{}
	for _, id := range ids {
		group.Go(func() {
			_, err := s.Append(ctx, oneMessage(id))
			mu.Lock()
			defer mu.Unlock()
			errs[id] = err
		})
	}
	return func() map[string]error {
		group.Wait()
		return errs
	}
}

func numbered(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprint("m", i))
	}
	return ids
}

func TestWhatWaitsSharesOneCommit(t *testing.T) {
	s := open(t, sqlitestore.Options{})
	release := hold(t, s)
	wait := appendAll(t.Context(), s, numbered(64)...)
	waitQueued(s, 64)
	before := s.Stats()
	release()
	for id, err := range wait() {
		if err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	after := s.Stats()
	if got := after.Commits - before.Commits; got != 2 || after.Requests-before.Requests != 65 {
		t.Errorf("%d requests took %d commits, want 65 in 2", after.Requests-before.Requests, got)
	}
	if got := session(t, s).LastSeq; got != 64 {
		t.Errorf("last seq is %d, want 64", got)
	}
}

func TestSixtyFourClientsShareCommits(t *testing.T) {
	s := open(t, sqlitestore.Options{})
	var group sync.WaitGroup
	for c := range 64 {
		group.Go(func() {
			for n := range 10 {
				if _, err := s.Append(t.Context(), oneMessage(fmt.Sprint(c, "-", n))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if st := s.Stats(); st.Requests != 640 || st.Commits >= st.Requests {
		t.Errorf("%d requests took %d commits", st.Requests, st.Commits)
	}
	if got := session(t, s).LastSeq; got != 640 {
		t.Errorf("last seq is %d, want 640", got)
	}
}

func TestARequestWhoseCallerGaveUpInTheQueueIsNotDone(t *testing.T) {
	s := open(t, sqlitestore.Options{})
	record(t, s, "first")
	release := hold(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	wait := appendAll(ctx, s, "given-up")
	waitQueued(s, 1)
	cancel()
	if err := wait()["given-up"]; !errors.Is(err, context.Canceled) { // before the writer is free
		t.Errorf("Append returned %v", err)
	}
	release()
	record(t, s, "second")
	if got := session(t, s).LastSeq; got != 2 {
		t.Errorf("last seq is %d, want 2", got)
	}
}

func TestARequestThatWasBegunReportsItsTrueResult(t *testing.T) {
	s := open(t, sqlitestore.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Write(ctx, func(c *sqlitestore.Conn) error {
		cancel()
		return c.Script("UPDATE probe SET n = 7")
	})
	if err != nil {
		t.Errorf("the write was done, and reports %v", err)
	}
	if err := s.Read(t.Context(), func(c *sqlitestore.Conn) error {
		if n, err := c.Value("SELECT n FROM probe"); err != nil || n != int64(7) {
			t.Errorf("n is %v, error %v", n, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestAFailedCommitFailsAllOfItsRequestsAndLeavesNothing(t *testing.T) {
	s := open(t, sqlitestore.Options{})
	record(t, s, "first")
	release := hold(t, s)
	wait := appendAll(t.Context(), s, "a", "b")
	waitQueued(s, 2)
	poisoned := make(chan error, 1)
	go func() {
		poisoned <- s.Write(t.Context(), func(c *sqlitestore.Conn) error { // found out at COMMIT only
			return c.Script(`PRAGMA defer_foreign_keys = ON; INSERT INTO session_state (sid, state) VALUES (999, 'x')`)
		})
	}()
	waitQueued(s, 3)
	release()
	if err := <-poisoned; err == nil {
		t.Error("the poisoned request was acknowledged")
	}
	for id, err := range wait() {
		if err == nil {
			t.Errorf("%s was acknowledged by a commit that failed", id)
		}
	}
	record(t, s, "second")
	if got := session(t, s).LastSeq; got != 2 {
		t.Errorf("last seq is %d, want 2: the failed commit left something", got)
	}
}

func TestADataFileWithoutRoomRefusesUntilThereIsRoom(t *testing.T) {
	s := open(t, sqlitestore.Options{})
	var limit atomic.Int64
	limit.Store(200) // pages
	s.AfterDial(func(c *sqlitestore.Conn) error {
		return c.Script(fmt.Sprintf("PRAGMA max_page_count = %d", limit.Load()))
	})
	acknowledged := fill(t, s)
	limit.Store(100_000)
	record(t, s, "after")
	if got := session(t, s).LastSeq; got != int64(acknowledged+1) {
		t.Errorf("last seq is %d, want %d", got, acknowledged+1)
	}
}

func TestAnUnreachableFileIsUnavailableUntilItIsBack(t *testing.T) {
	s := open(t, sqlitestore.Options{})
	var gone atomic.Bool
	gone.Store(true)
	nowhere := filepath.Join(t.TempDir(), "none", "strata.db")
	s.BeforeDial(func() error {
		if !gone.Load() {
			return nil
		}
		_, err := sqlitestore.Dial(nowhere)
		return err
	})
	_, err := s.Append(t.Context(), oneMessage("a"))
	if memory.ReasonOf(err) != memory.ReasonStoreUnavailable {
		t.Errorf("Append returned %v", err)
	}
	if err := s.Check(t.Context()); memory.ReasonOf(err) != memory.ReasonStoreUnavailable {
		t.Errorf("Check returned %v while the reason still holds", err)
	}
	gone.Store(false)
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("Check returned %v after the reason went", err)
	}
	record(t, s, "a")
}

func TestCloseFinishesWhatIsQueued(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	s := open(t, sqlitestore.Options{Path: path})
	release := hold(t, s)
	wait := appendAll(t.Context(), s, numbered(10)...)
	waitQueued(s, 10)
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	release()
	for id, err := range wait() {
		if err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if got := session(t, open(t, sqlitestore.Options{Path: path})).LastSeq; got != 10 {
		t.Errorf("last seq is %d, want 10", got)
	}
}

func TestACheckpointRunsBesideTheWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	s := open(t, sqlitestore.Options{Path: path})
	before := size(t, path)
	for n := range 500 { // the last one asks for a checkpoint, long before the writer would do one
		record(t, s, fmt.Sprint(n))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for size(t, path) == before {
		if ctx.Err() != nil {
			t.Fatal("the data file did not grow: nothing was moved from the WAL")
		}
		runtime.Gosched()
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}
