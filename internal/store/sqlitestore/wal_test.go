package sqlitestore_test

import (
	"errors"
	"os"
	"path/filepath"
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
	for n := 0; size(t, path+"-wal") > 20<<20; n++ {
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
