package safegroup

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
)

// Logged is a slog.Handler that adds the stack to each record of an error that is a Panic, and counts those records.
type Logged struct {
	slog.Handler
	count *atomic.Int64
}

// LogPanics puts a Logged before a handler.
func LogPanics(h slog.Handler) Logged { return Logged{Handler: h, count: &atomic.Int64{}} }

// Count is how many panics were logged.
func (l Logged) Count() int64 { return l.count.Load() }

// Handle implements slog.Handler.
func (l Logged) Handle(ctx context.Context, r slog.Record) error {
	if p := panicIn(r); p != nil {
		l.count.Add(1)
		r = r.Clone()
		r.AddAttrs(slog.String("stack", string(p.Stack)))
	}
	return l.Handler.Handle(ctx, r)
}

func panicIn(r slog.Record) (found *PanicError) {
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok {
			found, _ = errors.AsType[*PanicError](err)
		}
		return found == nil
	})
	return found
}

// WithAttrs implements slog.Handler.
func (l Logged) WithAttrs(attrs []slog.Attr) slog.Handler {
	return Logged{Handler: l.Handler.WithAttrs(attrs), count: l.count}
}

// WithGroup implements slog.Handler.
func (l Logged) WithGroup(name string) slog.Handler {
	return Logged{Handler: l.Handler.WithGroup(name), count: l.count}
}
