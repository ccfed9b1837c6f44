package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// fault turns SQLite's errors into those of the contract. what names what was tried.
func fault(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case memory.ReasonOf(err) != "", errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", what, err)
	case isUnknown(err):
		return &memory.Error{
			Kind: memory.KindUnavailable, Reason: memory.ReasonStoreUnavailable, Retry: store.RetryAfter, Err: fmt.Errorf("%s: %w", what, err),
			Message: "the disk failed while the write was made final, so it may or may not survive a crash: " +
				"repeat the call (a request_id makes a repeated Record safe); see the server's log",
		}
	case isFull(err):
		return &memory.Error{
			Kind: memory.KindExhausted, Reason: memory.ReasonStoreFull, Retry: store.RetryAfter, Err: fmt.Errorf("%s: %w", what, err),
			Message: "the disk of the data file is full: free some room and retry; nothing was written",
		}
	case isBroken(err):
		return &memory.Error{
			Kind: memory.KindUnavailable, Reason: memory.ReasonStoreUnavailable, Retry: store.RetryAfter, Err: fmt.Errorf("%s: %w", what, err),
			Message: "the data file cannot be read or written: see the server's log",
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// unknown is the failure of a COMMIT whose transaction may be complete in the WAL.
type unknown struct{ error }

func (u unknown) Unwrap() error { return u.error }

// outcomeUnknown marks the errors of a COMMIT after which the transaction may be whole in the WAL: a failed fsync of
// it, or of what follows. The running server does not see the transaction (see hold), and its next commit overwrites
// it, but a crash before that brings it back. A disk without room is reported by the write of a frame, and the frame
// that commits is the last one, so then the transaction is not whole.
func outcomeUnknown(err error) error {
	if isBroken(err) {
		return unknown{err}
	}
	return err
}

func isUnknown(err error) bool {
	_, ok := errors.AsType[unknown](err)
	return ok
}

func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// isFull reports a disk without room. Growing the shared-memory file of the WAL fails with an I/O error of its own.
func isFull(err error) bool {
	c := code(err)
	return c&0xff == sqlite3.SQLITE_FULL || c == sqlite3.SQLITE_IOERR_SHMSIZE
}

// isForbidden reports that the file, or a file that SQLite needs beside it, may not be written.
func isForbidden(err error) bool {
	switch code(err) & 0xff {
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return true
	}
	return false
}

// isBroken reports that the file, not the request, is the cause.
func isBroken(err error) bool {
	switch code(err) & 0xff {
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_CORRUPT,
		sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL,
		sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PERM:
		return true
	}
	return false
}
