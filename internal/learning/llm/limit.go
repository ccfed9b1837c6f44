package llm

import (
	"context"
	"fmt"
)

// WithLimit lets at most n calls, at least 1, run at once. The others wait; one whose ctx ends first returns a
// ClassTransient error that cost nothing.
func WithLimit(next Chat, n int) Chat {
	return limited{next, make(chan struct{}, max(n, 1))}
}

type limited struct {
	next Chat
	free chan struct{}
}

func (l limited) Complete(ctx context.Context, p Prompt) (Answer, error) {
	if err := ctx.Err(); err != nil {
		return Answer{}, stillWaiting(err)
	}
	select {
	case l.free <- struct{}{}:
	case <-ctx.Done():
		return Answer{}, stillWaiting(ctx.Err())
	}
	defer func() { <-l.free }()
	return l.next.Complete(ctx, p)
}

func stillWaiting(err error) error {
	return &Error{Class: ClassTransient, Err: fmt.Errorf("wait for a free place among the model calls: %w", err)}
}
