package sqlitestore

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// panicked is a panic as an error. It names the type of the value only: the value may hold a user's words.
type panicked struct {
	kind  string
	stack []byte
}

func (p *panicked) Error() string { return "a defect of the program: a panic with a " + p.kind }

// contain runs do and returns its panic as an error, after which the connection must be closed.
func contain(c *conn, do func(*conn) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{kind: fmt.Sprintf("%T", v), stack: debug.Stack()}
		}
	}()
	return do(c)
}

func isPanic(err error) bool {
	_, ok := errors.AsType[*panicked](err)
	return ok
}

func logPanic(log *slog.Logger, err error) {
	if p, ok := errors.AsType[*panicked](err); ok {
		log.Error("a call to the store panicked and was refused", "error", err, "stack", string(p.stack))
	}
}
