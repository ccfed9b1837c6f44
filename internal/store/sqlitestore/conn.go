package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"

	"modernc.org/sqlite"
)

// conn is one SQLite connection with its prepared statements, for one goroutine at a time. It speaks to the driver
// without database/sql in between: a pool would hide a connection whose COMMIT failed, which must be closed.
type conn struct {
	raw   driver.Conn
	stmts map[string]driver.Stmt
	args  []driver.NamedValue
	dest  []driver.Value
}

// dial opens a connection with the pragmas, each as "name(value)".
func dial(path string, pragmas ...string) (*conn, error) {
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"_pragma": pragmas, "_dqs": {"0"}}.Encode()}
	raw, err := (&sqlite.Driver{}).Open(dsn.String())
	if err != nil {
		return nil, err
	}
	return &conn{raw: raw, stmts: map[string]driver.Stmt{}}, nil
}

// close releases the connection and what it holds; an open transaction is rolled back.
func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

// prepared returns the statement for the query, which is compiled at its first use.
func (c *conn) prepared(query string) (driver.Stmt, error) {
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	s, err := c.raw.Prepare(query)
	if err != nil {
		return nil, fmt.Errorf("prepare %.60q: %w", query, err)
	}
	c.stmts[query] = s
	return s, nil
}

// exec runs one statement and returns how many rows it changed and the last row id.
func (c *conn) exec(query string, args ...any) (changed, lastID int64, err error) {
	s, err := c.prepared(query)
	if err != nil {
		return 0, 0, err
	}
	res, err := s.(driver.StmtExecContext).ExecContext(context.Background(), c.bind(args))
	if err != nil {
		return 0, 0, err
	}
	changed, _ = res.RowsAffected() // the driver's own result never fails
	lastID, _ = res.LastInsertId()
	return changed, lastID, nil
}

// run is exec for statements whose result does not matter.
func (c *conn) run(query string, args ...any) error {
	_, _, err := c.exec(query, args...)
	return err
}

// script runs statements that are not worth keeping.
func (c *conn) script(sql string) error {
	s, err := c.raw.Prepare(sql)
	if err != nil {
		return err
	}
	_, err = s.(driver.StmtExecContext).ExecContext(context.Background(), nil)
	return errors.Join(err, s.Close())
}

// errStop ends a query early.
var errStop = errors.New("stop")

// query calls each for every row until it returns an error; errStop ends the query without one. The row is valid
// during the call only; each must not query the same statement.
//
// Where SQLite plans by the value of a bare parameter, it plans anew at each run: behind LIMIT, and where a column that a
// partial index bounds is compared with one. There it must be written ?+0.
func (c *conn) query(query string, each func(row) error, args ...any) (err error) {
	s, err := c.prepared(query)
	if err != nil {
		return err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), c.bind(args))
	if err != nil {
		return err
	}
	defer func() { // after a panic too, since the connection cannot be closed under an open result
		if cerr := rows.Close(); err == nil {
			err = cerr
		}
	}()
	return c.walk(rows, each)
}

func (c *conn) walk(rows driver.Rows, each func(row) error) error {
	dest := c.dest
	c.dest = nil // a query inside each takes another
	if n := len(rows.Columns()); cap(dest) < n {
		dest = make([]driver.Value, n)
	} else {
		dest = dest[:n]
	}
	defer func() { c.dest = dest }()
	for {
		err := rows.Next(dest)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = each(dest)
		}
		if errors.Is(err, errStop) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// first reads the first row, if there is one.
func (c *conn) first(query string, each func(row) error, args ...any) (found bool, err error) {
	err = c.query(query, func(r row) error {
		found = true
		if err := each(r); err != nil {
			return err
		}
		return errStop
	}, args...)
	return found, err
}

// number reads the first column of the first row, an integer; 0 where there is no row.
func (c *conn) number(query string, args ...any) (n int64, err error) {
	_, err = c.first(query, func(r row) error {
		n = r.int(0)
		return nil
	}, args...)
	return n, err
}

func (c *conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		if n, ok := a.(int); ok {
			a = int64(n)
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// row is one row of a result. A NULL reads as the zero value.
type row []driver.Value

func (r row) int(i int) int64 {
	n, _ := r[i].(int64)
	return n
}

func (r row) text(i int) string {
	s, _ := r[i].(string)
	return s
}

func (r row) blob(i int) []byte {
	b, _ := r[i].([]byte)
	return b
}

// json returns a text column's bytes, nil for NULL.
func (r row) json(i int) []byte {
	if s := r.text(i); s != "" {
		return []byte(s)
	}
	return nil
}

// orNull stores an empty text as NULL.
func orNull[T ~string | ~[]byte](s T) any {
	if len(s) == 0 {
		return nil
	}
	return string(s)
}

func asInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
