package sqlitestore_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
)

func TestBackup(t *testing.T) {
	t.Run("holds what was acknowledged while another process serves, which goes on", func(t *testing.T) {
		dir := t.TempDir()
		path, copied := filepath.Join(dir, "strata.db"), filepath.Join(dir, "backup.db")
		p := serveElsewhere(t, path)
		p.record("one")
		size, err := sqlitestore.Backup(t.Context(), path, copied)
		if err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(copied); err != nil || st.Size() != size || st.Mode().Perm() != 0o600 {
			t.Errorf("the backup is %v (error %v), want %d bytes for the owner alone", st, err, size)
		}
		p.record("two")
		p.stop()
		if got := messageIDs(t, copied); got != "one" {
			t.Errorf("the backup holds %q", got)
		}
		if got := messageIDs(t, path); got != "one two" {
			t.Errorf("the data file holds %q", got)
		}
	})
	t.Run("takes a name beside which it is called", func(t *testing.T) {
		t.Chdir(t.TempDir())
		recordIn(t, "strata.db", "one")
		backup(t, "strata.db", "backup.db")
		if _, err := sqlitestore.Restore(t.Context(), "backup.db", "again.db", ""); err != nil {
			t.Fatal(err)
		}
		if got := messageIDs(t, "again.db"); got != "one" {
			t.Errorf("the restored file holds %q", got)
		}
	})
	t.Run("leaves nothing unfinished behind, and replaces no file", func(t *testing.T) {
		dir := t.TempDir()
		path, copied := filepath.Join(dir, "strata.db"), filepath.Join(dir, "backup.db")
		recordIn(t, path, "one")
		if err := os.WriteFile(copied, []byte("theirs"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := sqlitestore.Backup(t.Context(), path, copied)
		wantError(t, err, "exists already")
		if got, _ := os.ReadFile(copied); string(got) != "theirs" {
			t.Errorf("the file holds %q now", got)
		}
		if _, err := sqlitestore.Backup(t.Context(), path, filepath.Join(dir, "other.db")); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*unfinished*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	t.Run("refuses what is no data file of ours, and leaves it as it is", func(t *testing.T) {
		dir := t.TempDir()
		theirs := filepath.Join(dir, "theirs.db")
		execSQL(t, theirs, "CREATE TABLE x (y)")
		_, err := sqlitestore.Backup(t.Context(), theirs, filepath.Join(dir, "backup.db"))
		wantError(t, err, "not a data file of Strata")
		_, err = sqlitestore.Backup(t.Context(), filepath.Join(dir, "none.db"), filepath.Join(dir, "backup.db"))
		wantError(t, err, "no such file")
	})
}

func TestRestore(t *testing.T) {
	t.Run("makes a data file of a backup, and leaves the backup as it is", func(t *testing.T) {
		dir := t.TempDir()
		path, copied, again := filepath.Join(dir, "strata.db"), filepath.Join(dir, "backup.db"), filepath.Join(dir, "again.db")
		recordIn(t, path, "one")
		backup(t, path, copied)
		before, _ := os.ReadFile(copied)
		if _, err := sqlitestore.Restore(t.Context(), copied, again, ""); err != nil {
			t.Fatal(err)
		}
		if got := messageIDs(t, again); got != "one" {
			t.Errorf("the restored file holds %q", got)
		}
		if after, _ := os.ReadFile(copied); string(before) != string(after) {
			t.Error("the backup changed")
		}
	})
	t.Run("moves a data file away with its WAL, where a place for it is named, and refuses otherwise", func(t *testing.T) {
		dir := t.TempDir()
		path, copied, aside := filepath.Join(dir, "strata.db"), filepath.Join(dir, "backup.db"), filepath.Join(dir, "aside.db")
		recordIn(t, path, "one")
		backup(t, path, copied)
		recordIn(t, path, "two")
		_, err := sqlitestore.Restore(t.Context(), copied, path, "")
		wantError(t, err, "exists already")
		if moved, err := sqlitestore.Restore(t.Context(), copied, path, aside); err != nil || !moved {
			t.Fatalf("moved %v, error %v", moved, err)
		}
		if got := messageIDs(t, path); got != "one" {
			t.Errorf("the restored file holds %q", got)
		}
		if got := messageIDs(t, aside); got != "one two" {
			t.Errorf("the file of before holds %q", got)
		}
	})
	t.Run("refuses while a server has the data file open", func(t *testing.T) {
		dir := t.TempDir()
		path, copied := filepath.Join(dir, "strata.db"), filepath.Join(dir, "backup.db")
		p := serveElsewhere(t, path)
		p.record("one")
		backup(t, path, copied)
		_, err := sqlitestore.Restore(t.Context(), copied, path, filepath.Join(dir, "aside.db"))
		wantError(t, err, "another server")
		p.record("two")
		p.stop()
		if got := messageIDs(t, path); got != "one two" {
			t.Errorf("the data file holds %q", got)
		}
	})
	t.Run("refuses a damaged backup before anything is moved", func(t *testing.T) {
		dir := t.TempDir()
		path, copied := filepath.Join(dir, "strata.db"), filepath.Join(dir, "backup.db")
		recordIn(t, path, "one")
		backup(t, path, copied)
		whole, err := os.ReadFile(copied)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied, whole[:len(whole)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := sqlitestore.Restore(t.Context(), copied, path, filepath.Join(dir, "aside.db")); err == nil {
			t.Fatal("half a backup was restored")
		}
		if got := messageIDs(t, path); got != "one" {
			t.Errorf("the data file holds %q", got)
		}
	})
}

func backup(t *testing.T, path, to string) {
	t.Helper()
	if _, err := sqlitestore.Backup(t.Context(), path, to); err != nil {
		t.Fatal(err)
	}
}

// recordIn records a message in the file and closes it.
func recordIn(t *testing.T, path, id string) {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), oneMessage(id)); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// messageIDs are the ids of the messages in the file.
func messageIDs(t *testing.T, path string) string {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := s.Messages(context.Background(), store.MessageQuery{Ref: alice.Session("s"), Limit: 100})
	if err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range messages {
		ids = append(ids, m.ID)
	}
	return strings.Join(ids, " ")
}

func wantError(t *testing.T, err error, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("the error is %v, want one that says %q", err, says)
	}
}
