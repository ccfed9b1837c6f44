package client

import "time"

// WaitAfter returns how long a client waits after an attempt; not ok where the error stands.
func WaitAfter(r Retry, e *Error, attempt int, repeatable bool) (time.Duration, bool) {
	return r.after(e, attempt, repeatable)
}

// Target is the address that the client calls.
func Target(c *Client) string { return c.conn.Target() }
