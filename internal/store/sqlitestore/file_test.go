package sqlitestore_test

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	_ "modernc.org/sqlite"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/migrations"
)

var alice = memory.UserRef{Tenant: "t", UserID: "alice"}

// schemaVersion is the one that this program writes.
func schemaVersion(t *testing.T) int {
	t.Helper()
	files, err := fs.Glob(migrations.SQLite, "sqlite/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d migrations, error %v", len(files), err)
	}
	return len(files)
}

func TestOpenSetsWhatDurabilityNeeds(t *testing.T) {
	s := open(t, sqlitestore.Options{})
	check := func(where string, c *sqlitestore.Conn, want map[string]any) error {
		for pragma, value := range want {
			if got, err := c.Value("PRAGMA " + pragma); err != nil || got != value {
				t.Errorf("%s: %s is %v (error %v), want %v", where, pragma, got, err, value)
			}
		}
		return nil
	}
	both := map[string]any{
		"journal_mode": "wal", "foreign_keys": int64(1), "busy_timeout": int64(5000), "mmap_size": int64(0),
		"application_id": int64(0x53747261), "user_version": int64(schemaVersion(t)),
	}
	if err := s.Write(t.Context(), func(c *sqlitestore.Conn) error {
		return check("writer", c, both)
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), func(c *sqlitestore.Conn) error {
		return check("writer", c, map[string]any{"synchronous": int64(2)})
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Read(t.Context(), func(c *sqlitestore.Conn) error {
		both["query_only"] = int64(1)
		return check("reader", c, both)
	}); err != nil {
		t.Fatal(err)
	}
}

func TestOpenCreatesAPrivateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a file?with=odd#name%41.db")
	s := open(t, sqlitestore.Options{Path: path})
	record(t, s, "m1")
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		st, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o, want 600", st.Name(), st.Mode().Perm())
		}
	}
}

func TestWhatWasRecordedIsThereAfterReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	s := open(t, sqlitestore.Options{Path: path})
	record(t, s, "m1")
	before := session(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, sqlitestore.Options{Path: path})
	if got := session(t, s); got.Key != before.Key || got.ScopeKey != before.ScopeKey || got.LastSeq != 1 {
		t.Errorf("session is %+v, was %+v", got, before)
	}
	record(t, s, "m2")
	if got := session(t, s).LastSeq; got != 2 {
		t.Errorf("last seq is %d, want 2", got)
	}
}

// Each error must name what is wrong and what to do about it.
func TestOpenRefusesAFileItCannotServe(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cases := []struct {
		promise, path, what, fix string
	}{
		{"a file that is not a database", file("text.db", strings.Repeat("no database ", 20)), "is not an SQLite database", "name another file"},
		{"a short file that is not a database", file("short.db", "x"), "is not an SQLite database", "name another file"},
		{"a database of another application", foreign(t, dir), "database of another program", "name another file"},
		{"a database of a newer schema version", newer(t, dir), fmt.Sprintf("has schema version 99, this program knows up to %d", schemaVersion(t)), "use the newer program"},
		{"a missing directory", filepath.Join(dir, "none", "strata.db"), "there is no directory", "create it"},
		{"a directory", dir, "", ""},
		{"no path", "", "no path is set", "name a file"},
	}
	for _, c := range cases {
		t.Run(c.promise, func(t *testing.T) {
			before, _ := os.ReadFile(c.path) // of a directory: nothing to compare
			refuses(t, c.path, c.what, c.fix)
			if after, _ := os.ReadFile(c.path); string(after) != string(before) {
				t.Error("the refused file was changed")
			}
		})
	}
}

func refuses(t *testing.T, path string, want ...string) {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Path: path})
	if err == nil {
		s.Close()
		t.Fatal("Open took the file")
	}
	for _, w := range append(want, path) {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func foreign(t *testing.T, dir string) string {
	path := filepath.Join(dir, "foreign.db")
	execSQL(t, path, "CREATE TABLE theirs (x)", "PRAGMA application_id = 42")
	return path
}

func newer(t *testing.T, dir string) string {
	path := filepath.Join(dir, "newer.db")
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	execSQL(t, path, "PRAGMA user_version = 99")
	return path
}

func execSQL(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheFileRefusesToChangeAnEntryOfTheAudit(t *testing.T) {
	s := open(t, sqlitestore.Options{})
	entry := store.AuditEntry{ID: "e", Time: time.Now(), Tenant: "t", Call: "UserService/EraseUser", Outcome: "OK"}
	if err := s.AddAuditEntries(t.Context(), []store.AuditEntry{entry}); err != nil {
		t.Fatal(err)
	}
	err := s.Write(t.Context(), func(c *sqlitestore.Conn) error {
		_, err := c.Value("UPDATE audit SET outcome = 'NOT_FOUND' RETURNING 1")
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "never changed") {
		t.Error(err)
	}
}

func TestASecondServerOnTheSameFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "strata.db")
	s := open(t, sqlitestore.Options{Path: path})
	holder := fmt.Sprintf("another server (pid %d) is using it", os.Getpid())
	refuses(t, path, holder, "stop that one")
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	_, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Path: link})
	if err == nil || !strings.Contains(err.Error(), holder) {
		t.Errorf("through a link: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, sqlitestore.Options{Path: path})
}

func TestOpenRefusesWhatItMayNotWrite(t *testing.T) {
	t.Run("a read-only directory", func(t *testing.T) {
		dir := t.TempDir()
		if os.Getuid() == 0 {
			mount(t, dir, "-t", "tmpfs", "-o", "ro", "tmpfs")
		} else if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		refuses(t, filepath.Join(dir, "strata.db"), "cannot be written", "read-only")
	})
	t.Run("a read-only file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "strata.db")
		if err := os.WriteFile(path, nil, 0o400); err != nil {
			t.Fatal(err)
		}
		if os.Getuid() == 0 { // who may write any file that is not on a read-only mount
			mount(t, path, "--bind", path)
			run(t, "mount", "-o", "remount,bind,ro", path)
		}
		refuses(t, path, "cannot be written", "read-only")
	})
	t.Run("a file that may be written in a read-only directory", func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "strata.db")
		if err := open(t, sqlitestore.Options{Path: path}).Close(); err != nil {
			t.Fatal(err)
		}
		if os.Getuid() == 0 {
			mount(t, dir, "--bind", dir)
			for _, file := range []string{path, path + ".lock"} {
				mount(t, file, "--bind", file)
			}
			run(t, "mount", "-o", "remount,bind,ro", dir)
		} else {
			if err := os.Chmod(dir, 0o500); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(dir, 0o700) }) //nolint:gosec // so that it can be removed
		}
		refuses(t, path, "cannot be written", "directory, since SQLite writes files beside it")
	})
}

func TestAFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount a small tmpfs")
	}
	dir := t.TempDir()
	mount(t, dir, "-t", "tmpfs", "-o", "size=2m", "tmpfs")
	s := open(t, sqlitestore.Options{Path: filepath.Join(dir, "strata.db")})
	acknowledged := fill(t, s)
	if got := session(t, s).LastSeq; got != int64(acknowledged) {
		t.Errorf("%d messages were acknowledged, %d are there", acknowledged, got)
	}
	run(t, "mount", "-o", "remount,size=16m", dir)
	record(t, s, "after")
	if got := session(t, s).LastSeq; got != int64(acknowledged+1) {
		t.Errorf("with room again, last seq is %d, want %d", got, acknowledged+1)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("with room again, Check says %v", err)
	}
}

// fill records until the disk is full and returns how many turns were acknowledged.
func fill(t *testing.T, s *sqlitestore.Store) int {
	t.Helper()
	for n := range 1000 {
		p := benchTurn(alice.Session("s"), n, strings.Repeat("x", 60_000))
		p.Messages = p.Messages[:1]
		_, err := s.Append(t.Context(), p)
		if err == nil {
			continue
		}
		if memory.ReasonOf(err) != memory.ReasonStoreFull {
			t.Fatalf("a full disk is reported as %v", err)
		}
		if n == 0 {
			t.Fatal("nothing fitted")
		}
		return n
	}
	t.Fatal("the disk never filled")
	return 0
}

// mount mounts over a directory or file until the test ends.
func mount(t *testing.T, target string, args ...string) {
	t.Helper()
	if out, err := exec.Command("mount", append(args, target)...).CombinedOutput(); err != nil {
		t.Skipf("this root may not mount: %v: %s", err, out)
	}
	t.Cleanup(func() { run(t, "umount", "-l", target) })
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

func record(t *testing.T, s *sqlitestore.Store, id string) {
	t.Helper()
	if _, err := s.Append(t.Context(), oneMessage(id)); err != nil {
		t.Fatalf("Append: %v", err)
	}
}

func oneMessage(id string) store.AppendParams {
	m := memory.Message{
		ID: id, Role: memory.RoleUser, Origin: memory.OriginUser, Extract: memory.ExtractAllow,
		Parts: []memory.Part{memory.TextPart("words")}, CreateTime: benchTime,
	}
	return store.AppendParams{
		Ref: alice.Session("s"), Time: benchTime,
		Messages: []store.NewMessage{{Message: m, BodyDigest: memory.IDDigest(id)}},
	}
}

func session(t *testing.T, s *sqlitestore.Store) memory.Session {
	t.Helper()
	head, err := s.Session(t.Context(), alice.Session("s"))
	if err != nil {
		t.Fatalf("Session: %v", err)
	}
	return head
}

func TestShortReadsDoNotWaitForLongOnes(t *testing.T) {
	s := open(t, sqlitestore.Options{Readers: 2})
	record(t, s, "m1")
	begun, goOn := make(chan struct{}, 10), make(chan struct{})
	end := sync.OnceFunc(func() { close(goOn) })
	defer end()
	var long errgroup.Group
	for range 10 { // more than there are readers
		long.Go(func() error {
			return s.ReadLong(t.Context(), func(*sqlitestore.Conn) error {
				begun <- struct{}{}
				<-goOn
				return nil
			})
		})
	}
	for range s.LongReads() {
		<-begun
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 100 {
		got, err := s.Messages(ctx, store.MessageQuery{Ref: alice.Session("s"), Limit: 9, MaxBytes: 1000})
		if err != nil || len(got) != 1 {
			t.Fatalf("a short read beside long ones: %d messages, %v", len(got), err)
		}
	}
	end()
	if err := long.Wait(); err != nil {
		t.Error(err)
	}
}
