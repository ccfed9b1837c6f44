package sqlitestore

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockedByte is the byte of the data file that the lock is on. It lies beyond the end of the largest database, and of the
// bytes that SQLite locks. Source: https://www.sqlite.org/limits.html (281 TB), https://www.sqlite.org/src/file/src/os.h
// (PENDING_BYTE).
const lockedByte = 1 << 60

// openLocked opens the file, creates it when there is none, and locks it. The lock belongs to the open descriptor, not to
// the process, so SQLite's descriptors of the file can neither meet nor drop it. held is false where the file system has
// no such locks. A file that another server has is errHeld.
func openLocked(path string) (f *os.File, held bool, err error) {
	fd, err := open(path)
	if err != nil {
		return nil, false, &os.PathError{Op: "open", Path: path, Err: err}
	}
	err = unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: lockedByte, Len: 1})
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
		// The descriptor stays open on purpose: the server may be of this process, whose SQLite would lose its locks.
		return nil, false, errHeld
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EOPNOTSUPP):
		return os.NewFile(uintptr(fd), path), false, nil
	case err != nil:
		return nil, false, errors.Join(&os.PathError{Op: "lock", Path: path, Err: err}, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), path), true, nil
}

func open(path string) (int, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, fileMode)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
