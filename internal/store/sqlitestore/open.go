package sqlitestore

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stratamem/strata/migrations"
)

const (
	// overwritingVersion is the schema from which on what is deleted is overwritten.
	overwritingVersion = 16

	applicationID  = 0x53747261 // "Stra", in the header of every file of ours
	minVersion     = "3.51.3"   // versions before can lose a WAL's commits when two connections reset it at once
	pageSize       = 4096       // SQLite's default, and so that of our files
	keptOfWAL      = 24 << 20   // bytes
	defaultReaders = 4
	fileMode       = 0o600
)

// Every connection waits for the short locks of a checkpoint or of a WAL's recovery, and maps no memory: a read
// error of a mapped file is a signal, not an error.
func pragmas(more ...string) []string {
	return append([]string{"busy_timeout(5000)", "foreign_keys(1)", "temp_store(MEMORY)", "mmap_size(0)"}, more...)
}

// writing pragmas: FULL makes every COMMIT wait for the disk. Checkpoints are made beside the writer; only a WAL of
// 16,000 pages makes it do one itself. A WAL that is begun anew is cut to keptOfWAL, more than it usually has, so that it is
// written over and not made longer again. What is deleted is overwritten with zeros, so that none of it is found in the file: see
// BenchmarkAppend for what that costs.
func writing() []string {
	return pragmas("journal_mode(WAL)", "synchronous(FULL)", "secure_delete(1)",
		"wal_autocheckpoint(16000)", fmt.Sprintf("journal_size_limit(%d)", keptOfWAL), "cache_size(-8000)")
}

// busyFor is how long a connection waits for the locks of others from now on.
func busyFor(d time.Duration) string {
	return fmt.Sprintf("PRAGMA busy_timeout = %d", d.Milliseconds())
}

func reading() []string { return pragmas("query_only(1)", "cache_size(-4000)") }

// openFile makes sure that path is a file of ours of this schema, or makes it one, and keeps other servers out of it.
func openFile(path string, log *slog.Logger) (string, *fileLock, error) {
	path, err := resolve(path)
	if err != nil {
		return "", nil, err
	}
	lock, err := lockFile(path, log)
	if err != nil {
		return "", nil, err
	}
	if err := prepareFile(path, lock, log); err != nil {
		if isForbidden(err) {
			err = notWritable(path, err)
		}
		return "", nil, errors.Join(err, lock.Close())
	}
	return path, lock, nil
}

// resolve returns the one name of the file, so that a link cannot lead past the lock.
func resolve(path string) (string, error) {
	if path == "" {
		return "", errors.New("data file: no path is set: name a file")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("data file %s: %w", path, err)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("data file %s: there is no directory %s: create it, or name a file elsewhere", path, filepath.Dir(abs))
	}
	if err != nil {
		return "", fmt.Errorf("data file %s: %w", path, err)
	}
	abs = filepath.Join(dir, filepath.Base(abs))
	if target, err := filepath.EvalSymlinks(abs); err == nil {
		return target, nil
	}
	return abs, nil
}

// prepareFile looks before it touches: a file of another program must be left as it is.
func prepareFile(path string, lock *fileLock, log *slog.Logger) error {
	if err := checkHeader(path, lock.data); err != nil {
		return err
	}
	c, err := dial(path, pragmas("secure_delete(1)")...)
	if err != nil {
		return fmt.Errorf("open data file %s: %w", path, err)
	}
	defer c.close() //nolint:errcheck // nothing was written
	if err := checkVersion(c); err != nil {
		return err
	}
	if err := claim(c, path); err != nil {
		return err
	}
	if err := migrate(c, path, log); err != nil {
		return err
	}
	return lock.check(path) // SQLite opened the file by its name
}

// checkHeader refuses a file that is not an SQLite database of ours.
func checkHeader(path string, f *os.File) error {
	header := make([]byte, 100)
	n, err := f.ReadAt(header, 0)
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return nil // empty: ours to fill
	case errors.Is(err, io.EOF), err == nil:
		if n < len(header) || string(header[:16]) != "SQLite format 3\x00" {
			return fmt.Errorf("data file %s is not an SQLite database: nothing was changed; name another file", path)
		}
		return checkOwner(path, header)
	}
	return fmt.Errorf("read data file %s: %w", path, err)
}

func checkOwner(path string, header []byte) error {
	if id := binary.BigEndian.Uint32(header[68:72]); id != applicationID {
		return fmt.Errorf(
			"data file %s is the database of another program (application id %#x): nothing was changed; name another file",
			path,
			id,
		)
	}
	return nil
}

func checkVersion(c *conn) error {
	v, err := c.value("SELECT sqlite_version()")
	if err != nil {
		return fmt.Errorf("read SQLite's version: %w", err)
	}
	if got, _ := v.(string); compareVersions(got, minVersion) < 0 {
		return fmt.Errorf("SQLite %s is linked, at least %s is needed: build with the module versions of go.mod", got, minVersion)
	}
	return nil
}

func compareVersions(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, _ := strconv.Atoi(as[i]) // a part that is no number counts as 0
		y, _ := strconv.Atoi(bs[i])
		if x != y {
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(len(as), len(bs))
}

// claim marks an empty file as ours, before the WAL exists, so that the mark is in the file itself.
func claim(c *conn, path string) error {
	if id, err := c.value("PRAGMA application_id"); err != nil {
		return fmt.Errorf("read data file %s: %w", path, fault("read", err))
	} else if id != int64(applicationID) {
		if err := mark(c, path); err != nil {
			return err
		}
	}
	v, err := c.value("PRAGMA journal_mode = WAL")
	if err != nil {
		return fmt.Errorf("set the journal mode of %s: %w", path, fault("write", err))
	}
	if v != "wal" {
		return fmt.Errorf("data file %s: its disk allows no write-ahead log (a network disk?): put it on a local disk", path)
	}
	return nil
}

func mark(c *conn, path string) error {
	if err := c.script(fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
		return fmt.Errorf("mark data file %s: %w", path, fault("write", err))
	}
	return nil
}

// migrate brings the schema up to date, one transaction for each step.
func migrate(c *conn, path string, log *slog.Logger) error {
	v, err := c.value("PRAGMA user_version")
	if err != nil {
		return fmt.Errorf("read the schema version of %s: %w", path, err)
	}
	have, _ := v.(int64)
	names, err := fs.Glob(migrations.SQLite, "sqlite/*.sql") // sorted by name
	if err != nil {
		return fmt.Errorf("list migrations: %w", err)
	}
	if have > int64(len(names)) {
		return fmt.Errorf(
			"data file %s has schema version %d, this program knows up to %d: use the newer program that wrote it",
			path,
			have,
			len(names),
		)
	}
	for i := int(have); i < len(names); i++ {
		if err := apply(c, names[i], i+1, log); err != nil {
			return fmt.Errorf("migrate data file %s: %w", path, err)
		}
		if have > 0 {
			log.Info("data file migrated", "path", path, "schema_version", i+1)
		}
	}
	if have == 0 {
		log.Info("data file created", "path", path, "schema_version", len(names))
	}
	if have > 0 && have < overwritingVersion {
		rewrite(c, path, log)
	}
	return nil
}

// rewrite leaves nothing in the free space of a file that was written while what was deleted was not overwritten. Where the disk
// has no room for it the file is served as it is.
func rewrite(c *conn, path string, log *slog.Logger) {
	log.Info("the data file is written anew once, so that nothing of what was deleted is left in it", "path", path)
	if err := c.script("PRAGMA temp_store = FILE;\nVACUUM;"); err != nil {
		log.Warn("the data file could not be written anew: bytes of what was deleted before may be left in its free space; "+
			"copy it to a new file with strata copy", "path", path, "error", err)
	}
}

func apply(c *conn, name string, version int, log *slog.Logger) error {
	if !strings.HasPrefix(filepath.Base(name), fmt.Sprintf("%04d_", version)) {
		return fmt.Errorf("%s: expected the file of version %d", name, version)
	}
	sql, err := fs.ReadFile(migrations.SQLite, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := c.script("BEGIN IMMEDIATE;\n" + string(sql)); err != nil {
		return fault(name, err)
	}
	if version == masksVersion {
		if err := noteSecrets(c, log); err != nil {
			return fault(name, err)
		}
	}
	if err := c.script(fmt.Sprintf("PRAGMA user_version = %d;\nCOMMIT;", version)); err != nil {
		return fault(name, err)
	}
	return nil
}

// value returns the first column of the first row.
func (c *conn) value(query string) (v any, err error) {
	_, err = c.first(query, func(r row) error { v = r[0]; return nil })
	return v, err
}
