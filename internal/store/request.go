package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Request remembers what the reads of one request found out about whom it is for, so that a driver whose server is a
// round trip away asks once. What a request remembers is as of its beginning: no write may rely on it.
type Request struct {
	mu    sync.Mutex
	known map[any]any
}

type requestKey struct{}

// OneRequest returns a context whose reads belong to one request.
func OneRequest(ctx context.Context) context.Context {
	return context.WithValue(ctx, requestKey{}, &Request{known: map[any]any{}})
}

// InRequest reports whether the context's reads belong to one request, so that what one of them reads spares another.
func InRequest(ctx context.Context) bool {
	_, is := ctx.Value(requestKey{}).(*Request)
	return is
}

// Remembered returns what the context's request remembers under the key, such as a memory.UserRef; ok is false where it
// remembers nothing, and where the context belongs to no request.
func Remembered[T any](ctx context.Context, key any) (value T, ok bool) {
	r, is := ctx.Value(requestKey{}).(*Request)
	if !is {
		return value, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	value, ok = r.known[key].(T)
	return value, ok
}

// Remember has the context's request remember a value; without a request it does nothing.
func Remember(ctx context.Context, key, value any) {
	r, is := ctx.Value(requestKey{}).(*Request)
	if !is {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[key] = value
}

// ReadOnce returns what read returns, which it calls once for all of the context's request that ask under the key: those who ask
// meanwhile wait for it. An error is returned to all who waited and is not kept. Without a request it calls read.
func ReadOnce[T any](ctx context.Context, key any, read func() (T, error)) (value T, err error) {
	r, is := ctx.Value(requestKey{}).(*Request)
	if !is {
		return read()
	}
	r.mu.Lock()
	once, running := r.known[key].(*reading[T])
	if !running {
		once = &reading[T]{done: make(chan struct{}), err: errUnfinished}
		r.known[key] = once
	}
	r.mu.Unlock()
	if !running {
		defer r.end(key, &once.err, once.done)
		once.value, once.err = read()
		return once.value, once.err
	}
	select {
	case <-once.done:
		return once.value, once.err
	case <-ctx.Done():
		return value, fmt.Errorf("wait for another read of the request: %w", context.Cause(ctx))
	}
}

// reading is a read that others may wait for; value and err may be read when done is closed.
type reading[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// errUnfinished is what those get who waited for a read that ended by a panic.
var errUnfinished = errors.New("another read of the request did not end")

// end lets go who waits for a read, and forgets one that failed.
func (r *Request) end(key any, err *error, done chan struct{}) {
	if *err != nil {
		r.mu.Lock()
		delete(r.known, key)
		r.mu.Unlock()
	}
	close(done)
}
