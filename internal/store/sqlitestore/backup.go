package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// unfinished ends the name of a file that is not whole yet.
const unfinished = ".unfinished"

// Backup writes what the data file holds at one instant into a new file, whether or not a server has the data file open, and
// returns the new file's size in bytes. The new file is a data file of its own, without the room that deleted rows left. It has
// its name only once it is whole, checked and on disk; a file that has the name already is refused. A server that writes
// meanwhile is not held up, but its WAL grows until the backup ends.
// Source: https://www.sqlite.org/lang_vacuum.html (VACUUM INTO).
func Backup(ctx context.Context, path, to string) (size int64, err error) {
	if path, err = existing(path); err != nil {
		return 0, err
	}
	if err := absent(to); err != nil {
		return 0, err
	}
	if to, err = filepath.Abs(to); err != nil { // SQLite takes no other name in a URI
		return 0, fmt.Errorf("name of the backup: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	part, err := copyOf(path, to)
	if err != nil {
		return 0, err
	}
	defer os.Remove(part) //nolint:errcheck // it has its name by then, or is of no use
	return finish(part, to)
}

// copyOf writes what a data file holds at one instant into an unfinished file beside to, and checks it.
func copyOf(path, to string) (part string, err error) {
	if part, err = createUnfinished(to); err != nil {
		return "", err
	}
	err = vacuumInto(path, part)
	if err == nil {
		err = checkWhole(part)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(part))
	}
	return part, nil
}

// existing resolves a path that must name a data file of ours. It opens the file by SQLite alone: see fileLock.data.
func existing(path string) (string, error) {
	path, err := resolve(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("data file: %w", err)
	}
	return path, nil
}

// absent refuses a path that names something.
func absent(path string) error {
	if path == "" {
		return errors.New("no file is named")
	}
	_, err := os.Lstat(path)
	if err == nil {
		return fmt.Errorf("%s exists already: name another file, or move that one away", path)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for %s: %w", path, err)
	}
	return nil
}

// createUnfinished makes an empty file that nobody else may read, in place of what a run that was killed left behind.
func createUnfinished(to string) (string, error) {
	part := to + unfinished
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("remove what an interrupted run left: %w", err)
	}
	f, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return "", fmt.Errorf("create the file: %w", err)
	}
	return part, f.Close()
}

func vacuumInto(path, part string) error {
	c, err := dial(path, pragmas()...)
	if err != nil {
		return fmt.Errorf("open data file %s: %w", path, err)
	}
	err = checkApplication(c, path)
	if err == nil {
		err = c.run(`VACUUM INTO ?`, part)
	}
	return errors.Join(err, c.close())
}

// checkApplication refuses a database that is not ours.
func checkApplication(c *conn, path string) error {
	id, err := c.value("PRAGMA application_id")
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if id != int64(applicationID) {
		return fmt.Errorf("%s is not a data file of Strata: nothing was changed; name another file", path)
	}
	return nil
}

// checkWhole reads the whole file and fails where it is damaged or not ours.
func checkWhole(path string) error {
	c, err := dial(path, pragmas()...)
	if err != nil {
		return err
	}
	err = checkApplication(c, path)
	if err == nil {
		err = quickCheck(c, path)
	}
	return errors.Join(err, c.close())
}

func quickCheck(c *conn, path string) error {
	found, err := c.value("PRAGMA quick_check(1)")
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if found != "ok" {
		return fmt.Errorf("%s is damaged", path)
	}
	return nil
}

// finish brings the file to disk and gives it its name.
func finish(part, to string) (size int64, err error) {
	f, err := os.OpenFile(part, os.O_RDWR, fileMode)
	if err != nil {
		return 0, err
	}
	st, err := f.Stat()
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return 0, fmt.Errorf("bring the file to disk: %w", err)
	}
	if err := os.Rename(part, to); err != nil {
		return 0, fmt.Errorf("give the file its name: %w", err)
	}
	return st.Size(), syncDir(filepath.Dir(to))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Restore makes path a data file with what the backup holds. No server may have the data file open. One that is there already
// is refused, unless aside names where it is moved with its WAL; moved reports whether it was. The backup itself stays as it
// is. Whoever restores must then have the erasures repeated that the backup knows nothing of.
func Restore(ctx context.Context, backup, path, aside string) (moved bool, err error) {
	if backup, err = existing(backup); err != nil {
		return false, err
	}
	if path, err = resolve(path); err != nil {
		return false, err
	}
	if backup == path {
		return false, fmt.Errorf("%s is the data file itself: name a backup", path)
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	named, err := lockName(path)
	if err != nil {
		return false, err
	}
	defer named.Close() //nolint:errcheck // the data file is closed by then
	part, err := copyOf(backup, path)
	if err != nil {
		return false, err
	}
	defer os.Remove(part) //nolint:errcheck // it has its name by then, or is of no use
	if moved, err = makeWay(path, aside); err != nil {
		return false, err
	}
	_, err = finish(part, path)
	return moved, err
}

// makeWay moves a data file away that is there. The WAL goes first: without it the file is one of an earlier instant, and with
// the WAL of another file a restored one would be damaged.
func makeWay(path, aside string) (moved bool, err error) {
	if err := absent(path); err == nil || aside == "" {
		return false, err
	}
	lock, err := openOffline(path)
	if err != nil {
		return false, err
	}
	defer lock.Close() //nolint:errcheck // nothing was written
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("move the data file away: %w", err)
		}
	}
	return true, syncDir(filepath.Dir(path))
}

// openOffline locks the data file itself, so that no server has it by another name.
func openOffline(path string) (*os.File, error) {
	f, _, err := openLocked(path) // where a system has no such locks the lock file alone keeps servers out
	if errors.Is(err, errHeld) {
		return nil, inUse(path, "")
	}
	if err != nil {
		return nil, notWritable(path, err)
	}
	return f, nil
}
