// Package datafile gives tests the SQLite data file of a new store without its migrations. A new file takes a commit for each
// migration, and each commit waits for the disk several times; a copy takes one write. The tests of sqlitestore that name a file,
// and the program in the tests of the commands, make theirs by the migrations.
package datafile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stratamem/strata/internal/store/sqlitestore"
)

// New returns the path of a data file with nothing in it, in a folder of the test's own.
func New(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "strata.db")
	At(t, path)
	return path
}

// At puts a data file with nothing in it at path, unless there is a file.
func At(t testing.TB, path string) {
	t.Helper()
	empty, err := empty()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(empty)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// empty returns the bytes of a data file that was made by sqlitestore and closed. It is made once for all tests of a package.
var empty = sync.OnceValues(func() (data []byte, err error) {
	dir, err := os.MkdirTemp("", "strata-empty-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for an empty data file: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "strata.db")
	s, err := sqlitestore.Open(context.Background(), sqlitestore.Options{Path: path, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("make an empty data file: %w", err)
	}
	if err := s.Close(); err != nil {
		return nil, fmt.Errorf("close an empty data file: %w", err)
	}
	return os.ReadFile(path)
})
