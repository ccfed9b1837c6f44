// Package safegroup runs goroutines whose panics end as errors, never the program. All goroutines of the product start here.
package safegroup

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"
)

// PanicError is a panic as an error. It names the type of the panic's value only: the value may hold a user's words.
type PanicError struct {
	Kind  string // of the value, such as runtime.boundsError
	Stack []byte
}

// Error does not name the place, because callers may read it. The log does, see LogPanics.
func (p *PanicError) Error() string { return "a defect of the program: a panic of type " + p.Kind }

// IsPanic reports whether err is a panic that was contained.
func IsPanic(err error) bool {
	_, ok := errors.AsType[*PanicError](err)
	return ok
}

// Recovered makes a Panic of what recover returned, which must not be nil. It must be called where recover was.
func Recovered(v any) *PanicError {
	if p, ok := v.(*PanicError); ok { // raised again by Must
		return p
	}
	return &PanicError{Kind: fmt.Sprintf("%T", v), Stack: debug.Stack()}
}

// Contain runs do and returns its panic as a *PanicError.
func Contain(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = Recovered(v)
		}
	}()
	return do()
}

// Must raises an error of a group whose members return none, which is a panic, in the goroutine that waited.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// Go runs do in a goroutine of its own, and calls ended with its result. ended must not panic.
func Go(do func() error, ended func(error)) {
	go func() { ended(Contain(do)) }()
}

// Group waits for goroutines that work on parts of one thing. It is an errgroup.Group that contains panics: one is an error
// of the group, like any other. A zero Group is valid, has no limit and cancels nothing.
type Group struct {
	plain errgroup.Group
	bound *errgroup.Group // of WithContext, else nil
}

// WithContext returns a Group and a context that ends with the first error, or when Wait returns.
func WithContext(ctx context.Context) (*Group, context.Context) {
	bound, ctx := errgroup.WithContext(ctx)
	return &Group{bound: bound}, ctx
}

func (g *Group) inner() *errgroup.Group {
	if g.bound != nil {
		return g.bound
	}
	return &g.plain
}

// Go runs do in a goroutine of the group. It waits while as many run as SetLimit allows.
func (g *Group) Go(do func() error) {
	g.inner().Go(func() error { return Contain(do) })
}

// SetLimit lets at most n goroutines of the group run at once. It must be called before the first Go.
func (g *Group) SetLimit(n int) { g.inner().SetLimit(n) }

// WaitWith runs do as one of the group in the goroutine that calls, and then waits for the others: nobody waits until another goroutine
// has begun, and none has to wake this one where do ends last. A group with a limit must not be waited for so: the error of do might
// find no place in it.
func (g *Group) WaitWith(do func() error) error {
	if err := Contain(do); err != nil {
		g.inner().Go(func() error { return err }) // which ends the group's context
	}
	return g.Wait()
}

// Wait waits for all goroutines of the group and returns the first error.
func (g *Group) Wait() error { return g.inner().Wait() }
