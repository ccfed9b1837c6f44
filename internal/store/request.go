package store

import (
	"context"
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
