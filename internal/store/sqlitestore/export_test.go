package sqlitestore

import "context"

// Conn is a connection, for tests that must do what no method does.
type Conn = conn

// Script runs statements on the connection.
func (c *conn) Script(sql string) error { return c.script(sql) }

// Write has do done by the writer.
func (s *Store) Write(ctx context.Context, do func(*Conn) error) error {
	return s.write(ctx, "test", do)
}

// Read runs do on a reading connection.
func (s *Store) Read(ctx context.Context, do func(*Conn) error) error { return s.read(ctx, "test", do) }

// Value returns a query's first value.
func (c *conn) Value(query string) (any, error) { return c.value(query) }

// Queued is how many requests wait for the writer.
func (s *Store) Queued() int { return len(s.writer.queue) }

// BeforeDial calls hook before the writing connection is opened; its error is the dial's. It must be set before the
// first write.
func (s *Store) BeforeDial(hook func() error) {
	inner := s.writer.dial
	s.writer.dial = func() (*conn, error) {
		if err := hook(); err != nil {
			return nil, err
		}
		return inner()
	}
}

// AfterDial runs hook on each new writing connection. It must be set before the first write.
func (s *Store) AfterDial(hook func(*Conn) error) {
	inner := s.writer.dial
	s.writer.dial = func() (*conn, error) {
		c, err := inner()
		if err != nil {
			return nil, err
		}
		return c, hook(c)
	}
}

// Dial opens a connection.
func Dial(path string) (*Conn, error) { return dial(path) }
