package sqlitestore

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// fileLock keeps other servers out of a data file. The lock file names its holder, but guards one name of the data file
// and as long as nobody removes it; the lock on the data file itself guards every name.
type fileLock struct {
	named *flock.Flock
	// data must be opened before SQLite opens the file and closed after SQLite closed it: SQLite's own locks are the
	// process's, and closing any descriptor of the file drops them.
	// Source: https://www.sqlite.org/howtocorrupt.html (section 2.2, POSIX advisory locks).
	data *os.File
}

// lockFile opens the file, creates it when there is none, and locks it. path is what resolve returned.
func lockFile(path string, log *slog.Logger) (*fileLock, error) {
	named, err := lockName(path)
	if err != nil {
		return nil, err
	}
	data, err := openData(path, log)
	if err != nil {
		return nil, errors.Join(err, named.Close())
	}
	return &fileLock{named: named, data: data}, nil
}

// Close lets other servers have the file.
func (l *fileLock) Close() error {
	return errors.Join(l.data.Close(), l.named.Close())
}

// check makes sure that path still names the file that is locked.
func (l *fileLock) check(path string) error {
	locked, err := l.data.Stat()
	if errors.Is(err, os.ErrClosed) {
		return store.ShuttingDown()
	}
	if err != nil {
		return fmt.Errorf("look at data file %s: %w", path, err)
	}
	there, err := os.Stat(path)
	if err == nil && os.SameFile(locked, there) {
		return nil
	}
	return &memory.Error{
		Kind: memory.KindUnavailable, Reason: memory.ReasonStoreUnavailable, Retry: store.RetryAfter, Err: err,
		Message: "the data file was removed, renamed or replaced while the server has it open: put it back, or stop the server",
	}
}

func lockName(path string) (*flock.Flock, error) {
	lock := flock.New(path+".lock", flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(fileMode))
	held, err := lock.TryLock()
	if err != nil {
		return nil, notWritable(path+".lock", err)
	}
	if !held {
		return nil, inUse(path, holder(lock.Path()))
	}
	if err := os.WriteFile(lock.Path(), []byte(strconv.Itoa(os.Getpid())+"\n"), fileMode); err != nil {
		return nil, errors.Join(notWritable(lock.Path(), err), lock.Close())
	}
	return lock, nil
}

func inUse(path, holder string) error {
	return fmt.Errorf("data file %s: another server%s is using it: stop that one, or name another file", path, holder)
}

// holder names the process that wrote the lock file, if it did.
func holder(lockPath string) string {
	b, err := os.ReadFile(lockPath)
	pid := strings.TrimSpace(string(b))
	if _, bad := strconv.Atoi(pid); err != nil || bad != nil {
		return ""
	}
	return " (pid " + pid + ")"
}

func notWritable(path string, err error) error {
	return fmt.Errorf(
		"data file: %s cannot be written: give this user the right to write the file and its directory, since SQLite writes files beside it, "+
			"and check that the disk is not mounted read-only: %w",
		path,
		err,
	)
}

// openData opens the data file and locks it, where the system has locks that do not meet SQLite's own.
func openData(path string, log *slog.Logger) (*os.File, error) {
	// Before it is opened: were this process the one that has it open by another name, to open and close it would drop
	// SQLite's locks.
	if err := checkName(path, os.Stat); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, held, err := openLocked(path)
	switch {
	case errors.Is(err, errHeld):
		return nil, inUse(path, "")
	case err != nil:
		return nil, notWritable(path, err)
	case !held:
		log.Info("the data file itself cannot be locked here: only the lock file beside it keeps a second server out", "path", path)
	}
	if err := checkName(path, func(string) (os.FileInfo, error) { return f.Stat() }); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// errHeld means that another server has the lock.
var errHeld = errors.New("locked by another server")

// checkName refuses what is not a file, and a file that has more names than one.
func checkName(path string, stat func(string) (os.FileInfo, error)) error {
	st, err := stat(path)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("data file %s is not a regular file: name another", path)
	}
	if n := links(st); n > 1 {
		return fmt.Errorf("data file %s has %d names (hard links): what a server writes by one name is lost to whoever opens another, "+
			"since the write-ahead log stands beside each name: remove the others (find them with: find / -xdev -samefile %s), "+
			"or copy the file and serve the copy", path, n, path)
	}
	return nil
}
