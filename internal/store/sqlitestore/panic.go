package sqlitestore

import (
	"errors"
	"log/slog"

	"github.com/stratamem/strata/internal/memory/safegroup"
)

// contain runs do and returns its panic as an error, after which the connection must be closed.
func contain(c *conn, do func(*conn) error) error {
	return safegroup.Contain(func() error { return do(c) })
}

func isPanic(err error) bool {
	_, ok := errors.AsType[*safegroup.PanicError](err)
	return ok
}

func logPanic(log *slog.Logger, err error) {
	if isPanic(err) {
		log.Error("a call to the store panicked and was refused", "error", err)
	}
}
