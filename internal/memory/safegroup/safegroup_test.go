package safegroup_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/stratamem/strata/internal/memory/safegroup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary stands for a user's words in a panic's value.
const canary = "zq-canary-zq"

func TestAPanic(t *testing.T) {
	check := func(t *testing.T, err error) {
		t.Helper()
		p, ok := errors.AsType[*safegroup.PanicError](err)
		if !ok {
			t.Fatalf("the error is %v", err)
		}
		var log strings.Builder
		h := safegroup.LogPanics(slog.NewTextHandler(&log, nil))
		slog.New(h).With("x", "y").Error("it panicked", "error", fmt.Errorf("try: %w", err))
		if p.Kind != "string" || !strings.Contains(log.String(), "panic of type string") || !strings.Contains(log.String(), "group_test.go") {
			t.Errorf("the log does not say what and where: %s", log.String())
		}
		if strings.Contains(err.Error()+log.String(), canary) {
			t.Error("the error or the log holds the panic's value")
		}
		if strings.Contains(err.Error(), ".go") {
			t.Error("the error, which callers may read, holds the stack")
		}
		if h.Count() != 1 {
			t.Errorf("%d panics were counted", h.Count())
		}
	}
	t.Run("of a member is the group's error, and ends the others' context", func(t *testing.T) {
		g, ctx := safegroup.WithContext(t.Context())
		g.SetLimit(2)
		g.Go(func() error { panic(canary) })
		g.Go(func() error { <-ctx.Done(); return ctx.Err() })
		check(t, g.Wait())
	})
	t.Run("of the member that the waiting goroutine runs is the group's error, and ends the others' context", func(t *testing.T) {
		g, ctx := safegroup.WithContext(t.Context())
		g.Go(func() error { <-ctx.Done(); return ctx.Err() })
		check(t, g.WaitWith(func() error { panic(canary) }))
	})
	t.Run("of a member of a zero group is its error, and the others go on", func(t *testing.T) {
		var g safegroup.Group
		done := false
		g.Go(func() error { panic(canary) })
		g.Go(func() error { done = true; return nil })
		check(t, g.Wait())
		if !done {
			t.Error("the other member did not run")
		}
	})
	t.Run("of a goroutine on its own is told to its end", func(t *testing.T) {
		told := make(chan error)
		safegroup.Go(func() error { panic(canary) }, func(err error) { told <- err })
		check(t, <-told)
	})
	t.Run("that is raised again in the goroutine that waited keeps its type and place", func(t *testing.T) {
		check(t, safegroup.Contain(func() error {
			var g safegroup.Group
			g.Go(func() error { panic(canary) })
			safegroup.Must(g.Wait())
			return nil
		}))
	})
	t.Run("inside a value that is made once is an error of each who asks", func(t *testing.T) {
		once := sync.OnceValue(func() error { panic(canary) })
		g, _ := safegroup.WithContext(context.Background())
		g.Go(once)
		check(t, g.Wait())
		check(t, safegroup.Contain(once))
	})
}

func TestWithoutAPanicTheFirstErrorIsTheGroups(t *testing.T) {
	g, _ := safegroup.WithContext(t.Context())
	want := errors.New("first")
	g.Go(func() error { return want })
	g.Go(func() error { return nil })
	if err := g.Wait(); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
}

func TestWhoWaitsRunsAMemberBesideTheOthers(t *testing.T) {
	failure := errors.New("a failure")
	t.Run("which may wait for each other", func(t *testing.T) {
		g, ctx := safegroup.WithContext(t.Context())
		here, there := make(chan struct{}), make(chan struct{})
		g.Go(func() error {
			close(there)
			<-here
			return ctx.Err()
		})
		err := g.WaitWith(func() error {
			<-there
			close(here)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("whose errors are the group's", func(t *testing.T) {
		g, ctx := safegroup.WithContext(t.Context())
		g.Go(func() error { return failure })
		err := g.WaitWith(func() error { <-ctx.Done(); return nil })
		if !errors.Is(err, failure) {
			t.Errorf("got %v", err)
		}
	})
}
