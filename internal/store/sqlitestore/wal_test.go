package sqlitestore_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/store/sqlitestore"
)

// smallDisk is a directory on a disk of a few MiB.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount a small tmpfs")
	}
	dir := t.TempDir()
	mount(t, dir, "-t", "tmpfs", "-o", "size="+size, "tmpfs")
	return dir
}

// fillDisk writes a file until nothing more fits.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for page := make([]byte, 4096); err == nil; {
		_, err = f.Write(page)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

func TestAWALIsMovedIntoTheFileBeforeTheDiskIsFull(t *testing.T) {
	path := filepath.Join(smallDisk(t, "64m"), "strata.db")
	s := open(t, sqlitestore.Options{Path: path})
	acknowledged := fill(t, s)
	wal, file := size(t, path+"-wal"), size(t, path)
	t.Logf("%d messages; the file has %d bytes, its WAL %d", acknowledged, file, wal)
	if wal > 32<<20 {
		t.Errorf("the disk is full with a WAL of %d bytes and a file of %d", wal, file)
	}
	if got := session(t, s).LastSeq; got != int64(acknowledged) {
		t.Errorf("%d messages were acknowledged, %d are there", acknowledged, got)
	}
}

func TestAFullDiskLeavesTheRoomOfTheWALToWrites(t *testing.T) {
	dir := smallDisk(t, "32m")
	path := filepath.Join(dir, "strata.db")
	s := open(t, sqlitestore.Options{Path: path})
	update := func() error {
		return s.Write(t.Context(), func(c *sqlitestore.Conn) error { return c.Script("UPDATE probe SET n = n + 1") })
	}
	for range 1000 { // of the same page, which has its place in the file
		if err := update(); err != nil {
			t.Fatal(err)
		}
	}
	if wal := size(t, path+"-wal"); wal < 1<<20 {
		t.Fatalf("the WAL has %d bytes: the test proves nothing", wal)
	}
	fillDisk(t, filepath.Join(dir, "another program's"))
	for range 20 {
		if err := update(); err != nil {
			t.Fatalf("a write that needs no more room than the WAL has is refused: %v", err)
		}
	}
	record(t, s, "m1")
	if n := probe(t, s); n != 1020 {
		t.Errorf("n is %d, want 1020", n)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("Check says %v", err)
	}
}

func TestTheWALShrinksAgainAfterALargeWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	s := open(t, sqlitestore.Options{Path: path})
	if err := s.Write(t.Context(), func(c *sqlitestore.Conn) error {
		return c.Script("CREATE TABLE large (x); INSERT INTO large VALUES (zeroblob(40000000)); DROP TABLE large")
	}); err != nil {
		t.Fatal(err)
	}
	if wal := size(t, path+"-wal"); wal < 32<<20 {
		t.Fatalf("the WAL has %d bytes: the test proves nothing", wal)
	}
	for n := 0; size(t, path+"-wal") > 24<<20; n++ {
		if n == 5000 {
			t.Fatalf("the WAL has %d bytes still", size(t, path+"-wal"))
		}
		if err := s.Write(t.Context(), func(c *sqlitestore.Conn) error { return c.Script("UPDATE probe SET n = n + 1") }); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAWriteIsAnsweredBeforeTheWALIsMoved(t *testing.T) {
	s := open(t, sqlitestore.Options{Path: filepath.Join(t.TempDir(), "strata.db")})
	end := s.BeginMoving() // the writer must wait for it before it moves a WAL of more than 24 MiB itself
	answered := make(chan error, 1)
	go func() {
		answered <- s.Write(t.Context(), func(c *sqlitestore.Conn) error {
			return c.Script("CREATE TABLE large (x); INSERT INTO large VALUES (zeroblob(40000000))")
		})
	}()
	select {
	case err := <-answered:
		end()
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		end()
		t.Error("a write waits until the WAL was moved into the file", <-answered)
	}
}

// fillWAL commits small turns, and returns how long the file of the WAL was after each.
func fillWAL(t *testing.T, s *sqlitestore.Store, path string, turns int) (lengths []int64) {
	t.Helper()
	for n := range turns {
		if _, err := s.Append(t.Context(), benchTurn(alice.Session("s"), n, "words")); err != nil {
			t.Fatal(err)
		}
		s.AwaitDue()
		lengths = append(lengths, size(t, path+"-wal"))
	}
	return lengths
}

func TestCommitsDoNotMakeTheFileOfALongWALLonger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	s := open(t, sqlitestore.Options{Path: path})
	lengths := fillWAL(t, s, path, 150)
	if steps := len(slices.Compact(lengths[64:])); steps > 2 {
		t.Errorf("the file of the WAL was made longer %d times by the last %d commits", steps-1, len(lengths)-64)
	}
	twinPath := twin(t, path)
	crashed := open(t, sqlitestore.Options{Path: twinPath})
	if want, got := session(t, s), session(t, crashed); got.LastSeq != want.LastSeq {
		t.Errorf("after a crash the last seq is %d, want %d", got.LastSeq, want.LastSeq)
	}
	record(t, crashed, "m1")
	if got := session(t, open(t, sqlitestore.Options{Path: twin(t, twinPath)})).LastSeq; got != 301 {
		t.Errorf("the last seq is %d, want 301", got)
	}
}

func TestTheWALIsNotMadeLongerWhileAnotherProgramWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	s := open(t, sqlitestore.Options{Path: path})
	record(t, s, "m1")
	shell, err := sqlitestore.Dial(path)
	if err != nil {
		t.Fatal(err)
	}
	defer shell.Close()
	if err := shell.Script("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	before := size(t, path+"-wal")
	if err := s.LengthenWAL(1000); err == nil || size(t, path+"-wal") != before {
		t.Errorf("the WAL has %d bytes beside another program's transaction, %d before: %v", size(t, path+"-wal"), before, err)
	}
	if err := shell.Script("COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := s.LengthenWAL(1000); err != nil || size(t, path+"-wal") <= before {
		t.Errorf("the WAL has %d bytes: %v", size(t, path+"-wal"), err)
	}
	record(t, s, "m2")
}

func TestAFullDiskKeepsTheRoomThatTheWALDoesNotNeed(t *testing.T) {
	dir := smallDisk(t, "4m")
	path := filepath.Join(dir, "strata.db")
	var log bytes.Buffer
	s := open(t, sqlitestore.Options{Path: path, Log: slog.New(slog.NewTextHandler(&log, nil))})
	fillWAL(t, s, path, 60)
	if wal := size(t, path+"-wal"); wal > 3<<20 {
		t.Errorf("the WAL has %d bytes of a disk of 4 MiB", wal)
	}
	if n := strings.Count(log.String(), "no space left on device"); n != 1 {
		t.Errorf("the log says %d times that there was no room:\n%s", n, &log)
	}
	if got := session(t, s).LastSeq; got != 120 {
		t.Errorf("the last seq is %d, want 120", got)
	}
}

// BenchmarkRoomOfTheWAL appends turns to new files, of which one has its WAL made longer ahead and one makes it longer by each commit.
func BenchmarkRoomOfTheWAL(b *testing.B) {
	const turns = 350 // until the WAL is begun anew
	took := map[string]*latencies{"room": {}, "baseline": {}}
	for b.Loop() {
		ahead, bare := open(b, sqlitestore.Options{}), open(b, sqlitestore.Options{})
		bare.WithoutRoom()
		for n := range turns {
			for name, s := range map[string]*sqlitestore.Store{"room": ahead, "baseline": bare} {
				p := benchTurn(alice.Session(fmt.Sprint("s", n%64)), n, strings.Repeat("words ", 83))
				began := time.Now()
				if _, err := s.Append(b.Context(), p); err != nil {
					b.Fatal(err)
				}
				took[name].add(time.Since(began))
				s.AwaitDue()
			}
		}
	}
	p50 := map[string]float64{}
	for name, l := range took {
		slices.Sort(l.took)
		p50[name] = float64(l.took[len(l.took)/2].Microseconds())
	}
	b.ReportMetric(p50["room"], "p50-µs")
	b.ReportMetric(p50["baseline"], "baseline-p50-µs")
	b.ReportMetric(p50["room"]/p50["baseline"], "times-baseline")
}
