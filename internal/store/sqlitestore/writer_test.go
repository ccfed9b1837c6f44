package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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
	held := begin(s)
	return func() {
		if err := held(); err != nil {
			t.Errorf("the holding write: %v", err)
		}
	}
}

// begin is hold, with the result of the holding write.
func begin(s *sqlitestore.Store) (release func() error) {
	begun, free, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once // a write may be done again
	go func() {
		done <- s.Write(context.Background(), func(*sqlitestore.Conn) error {
			once.Do(func() { close(begun) })
			<-free
			return nil
		})
	}()
	<-begun
	return func() error {
		close(free)
		return <-done
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
	if got := after.Commits - before.Commits; got != 1 || after.Requests-before.Requests != 65 {
		t.Errorf("%d requests took %d commits, want 65 in 1: what arrives before the COMMIT shares it", after.Requests-before.Requests, got)
	}
	if got := session(t, s).LastSeq; got != 64 {
		t.Errorf("last seq is %d, want 64", got)
	}
}

func TestACommitHasABoundedNumberOfRequests(t *testing.T) {
	s := open(t, sqlitestore.Options{})
	release := hold(t, s)
	wait := appendAll(t.Context(), s, numbered(600)...)
	waitQueued(s, 600)
	before := s.Stats()
	release()
	for id, err := range wait() {
		if err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if got := s.Stats().Commits - before.Commits; got != 3 {
		t.Errorf("601 requests took %d commits, want 3 of at most 256", got)
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
	release := begin(s)
	wait := appendAll(t.Context(), s, "a", "b")
	waitQueued(s, 2)
	poisoned := make(chan error, 1)
	go func() {
		poisoned <- s.Write(t.Context(), func(c *sqlitestore.Conn) error { // found out at COMMIT only
			return c.Script(`PRAGMA defer_foreign_keys = ON; INSERT INTO originals (key, format, data) VALUES (999, 'x', x'00')`)
		})
	}()
	waitQueued(s, 3)
	if err := release(); err == nil {
		t.Error("the first request of the batch was acknowledged")
	}
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

// The first request of a transaction has no savepoint.
func TestAFirstRequestThatFailsLeavesNothingToThoseThatFollow(t *testing.T) {
	s := open(t, sqlitestore.Options{})
	begun, free, failed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	refused := errors.New("refused")
	go func() {
		failed <- s.Write(t.Context(), func(c *sqlitestore.Conn) error {
			close(begun)
			<-free
			return errors.Join(refused, c.Script("UPDATE probe SET n = 99"))
		})
	}()
	<-begun
	before := s.Stats().Commits
	wait := appendAll(t.Context(), s, "a", "b")
	waitQueued(s, 2)
	close(free)
	if err := <-failed; !errors.Is(err, refused) {
		t.Errorf("the first request returned %v, want its own error", err)
	}
	for id, err := range wait() {
		if err != nil {
			t.Errorf("%s, which follows it: %v", id, err)
		}
	}
	if got := s.Stats().Commits - before; got != 1 {
		t.Errorf("%d commits, want 1", got)
	}
	if n, last := probe(t, s), session(t, s).LastSeq; n != 0 || last != 2 {
		t.Errorf("n is %d and last seq %d, want 0 and 2", n, last)
	}
}

func TestAPanickingWriteFailsAloneAndSaysNothingOfWhatItHeld(t *testing.T) {
	var logged strings.Builder
	s := open(t, sqlitestore.Options{Log: slog.New(slog.NewTextHandler(&logged, nil))})
	record(t, s, "first")
	release := hold(t, s)
	wait := appendAll(t.Context(), s, "a", "b")
	waitQueued(s, 2)
	panicked := make(chan error, 1)
	go func() {
		panicked <- s.Write(t.Context(), func(c *sqlitestore.Conn) error {
			if err := c.Script("UPDATE probe SET n = 99"); err != nil {
				return err
			}
			panic("a user's words")
		})
	}()
	waitQueued(s, 3)
	release()
	if err := <-panicked; err == nil || strings.Contains(err.Error(), "words") {
		t.Errorf("the panicking write returned %v", err)
	}
	for id, err := range wait() {
		if err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	record(t, s, "second")
	if got := session(t, s).LastSeq; got != 4 {
		t.Errorf("last seq is %d, want 4", got)
	}
	if n := probe(t, s); n != 0 {
		t.Errorf("the panicking write left %v", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if out := logged.String(); !strings.Contains(out, "panicked") || strings.Contains(out, "words") {
		t.Errorf("the log says %s", out)
	}
}

func probe(t *testing.T, s *sqlitestore.Store) (n int64) {
	t.Helper()
	if err := s.Read(t.Context(), func(c *sqlitestore.Conn) error {
		v, err := c.Value("SELECT n FROM probe")
		n, _ = v.(int64)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAPanickingReadLosesNoConnection(t *testing.T) {
	s := open(t, sqlitestore.Options{Readers: 1})
	record(t, s, "first")
	for range 3 {
		err := s.Read(t.Context(), func(c *sqlitestore.Conn) error {
			return c.Each("SELECT 'a user''s words'", func(v any) error { panic(v) })
		})
		if err == nil || strings.Contains(err.Error(), "words") {
			t.Errorf("the panicking read returned %v", err)
		}
	}
	if got := session(t, s).LastSeq; got != 1 {
		t.Errorf("last seq is %d, want 1", got)
	}
}

// A COMMIT whose fsync fails leaves a whole transaction in the WAL that the WAL's index does not have. The test puts
// one there: a twin of the file, opened beside, shows how its frames look.
func TestATransactionWhoseCommitFailedStaysUnseenAndIsOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	s := open(t, sqlitestore.Options{Path: path})
	record(t, s, "first")
	leaveCommitted(t, path, "UPDATE probe SET n = 99")
	if n := probe(t, open(t, sqlitestore.Options{Path: twin(t, path)})); n != 99 {
		t.Fatalf("a crash now would show n = %d: the test proves nothing", n)
	}
	if err := s.Write(t.Context(), func(*sqlitestore.Conn) error { panic("drop the connection") }); err == nil {
		t.Fatal("the panic was acknowledged")
	}
	record(t, s, "second")
	if n := probe(t, s); n != 0 {
		t.Errorf("n is %d: the failed transaction is seen", n)
	}
	crashed := open(t, sqlitestore.Options{Path: twin(t, path)})
	if n, last := probe(t, crashed), session(t, crashed).LastSeq; n != 0 || last != 2 {
		t.Errorf("after a crash, n is %d and last seq %d, want 0 and 2", n, last)
	}
}

// leaveCommitted appends to the WAL what committing the statement appends.
func leaveCommitted(t *testing.T, path, statement string) {
	t.Helper()
	before := size(t, path+"-wal")
	copied := twin(t, path)
	c, err := sqlitestore.Dial(copied)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Script(statement); err != nil {
		t.Fatal(err)
	}
	wal, err := os.ReadFile(copied + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path+"-wal", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(wal[before:], before); err != nil {
		t.Fatal(err)
	}
}

// twin copies the file and its WAL as a crash would leave them.
func twin(t *testing.T, path string) string {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "twin.db")
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return copied
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
	for n := range sqlitestore.CheckpointEvery { // the last one asks for a checkpoint, long before the writer would do one
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

func TestAFailedCommitSaysWhetherItsOutcomeIsKnown(t *testing.T) {
	_, broken := sqlitestore.Dial(filepath.Join(t.TempDir(), "none", "strata.db"))
	if err := sqlitestore.CommitFault(broken); memory.ReasonOf(err) != memory.ReasonStoreUnavailable || !strings.Contains(err.Error(), "request_id") {
		t.Errorf("a broken file at COMMIT is reported as %v", err)
	}
	c, err := sqlitestore.Dial(filepath.Join(t.TempDir(), "small.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	full := c.Script("PRAGMA max_page_count = 2; CREATE TABLE a (x); CREATE TABLE b (x)")
	if err := sqlitestore.CommitFault(full); memory.ReasonOf(err) != memory.ReasonStoreFull || !strings.Contains(err.Error(), "nothing was written") {
		t.Errorf("a full disk at COMMIT is reported as %v", err)
	}
}

func TestTheCallerOfAnIdleStoreCommitsItself(t *testing.T) {
	s := open(t, sqlitestore.Options{})
	var stack [64 << 10]byte
	var n int
	if err := s.Write(t.Context(), func(*sqlitestore.Conn) error {
		n = runtime.Stack(stack[:], false)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(stack[:n]), t.Name()) {
		t.Errorf("an idle store had a write done by another goroutine:\n%s", stack[:n])
	}
}

func TestACommitDoesNotWaitForThoseWhoDidNotAskYet(t *testing.T) {
	s := open(t, sqlitestore.Options{})
	record(t, s, "first") // statements are prepared, and the WAL is there
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	first, together := s.Stats().Commits, atomic.Int64{}
	write := func() error {
		return s.Write(t.Context(), func(*sqlitestore.Conn) error {
			if s.Stats().Commits == first {
				together.Add(1)
			}
			return nil
		})
	}
	var group sync.WaitGroup
	var over atomic.Bool
	group.Go(func() { // whenever the writer lets others run, one more of them asks
		for !over.Load() {
			group.Go(func() {
				if err := write(); err != nil {
					t.Error(err)
				}
			})
			runtime.Gosched()
		}
	})
	if err := write(); err != nil {
		t.Error(err)
	}
	over.Store(true)
	group.Wait()
	if n := together.Load(); n > 4 {
		t.Errorf("%d requests share the first commit, though only one was there: the writer waited for the others", n)
	}
}
