// Package canceltest is apart since tests of four packages share it: it shows them how far work goes on once nobody waits for it any more.
package canceltest

import (
	"context"

	"github.com/stratamem/strata/internal/language/tokens"
)

// Context ends by itself when it has been looked at After times, by Err.
type Context struct {
	context.Context
	After int
	Looks int // so far
}

// Ending returns a context that ends when it has been looked at so many times; 0 for one that has ended.
func Ending(parent context.Context, after int) *Context {
	return &Context{Context: parent, After: after}
}

// Err implements context.Context.
func (c *Context) Err() error {
	if c.Looks++; c.Looks > c.After {
		return context.DeadlineExceeded
	}
	return nil
}

// Beyond returns how often it was looked at after it had ended.
func (c *Context) Beyond() int { return max(0, c.Looks-c.After) }

// Counter counts how often a counter of tokens is asked.
type Counter struct {
	tokens.Counter
	Asked *int
}

// Cost implements tokens.Counter.
func (c Counter) Cost(s string) int64 {
	*c.Asked++
	return c.Counter.Cost(s)
}
