package workloop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/stratamem/strata/internal/memory/retry"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store/workloop"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// diary is what a loop did, and when: seconds since the test began.
type diary struct {
	began time.Time

	mu    sync.Mutex
	lines []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf("%g: ", time.Since(d.began).Seconds())+fmt.Sprintf(format, args...))
}

func (d *diary) want(t *testing.T, lines ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if diff := cmp.Diff(lines, d.lines); diff != "" {
		t.Errorf("what the loop did (-want +got):\n%s", diff)
	}
}

// scripted notes each call of Work and returns the next of its results; the last one again and again.
func (d *diary) scripted(results ...result) func(context.Context) (time.Duration, error) {
	return func(context.Context) (time.Duration, error) {
		d.note("work")
		r := results[0]
		if len(results) > 1 {
			results = results[1:]
		}
		if r.panics {
			panic("a user's words")
		}
		return r.rest, r.err
	}
}

type result struct {
	rest   time.Duration
	err    error
	panics bool
}

// inBubble runs a promise in virtual time with a loop that runs until it is stopped.
func inBubble(t *testing.T, promise string, o func(d *diary) workloop.LoopOptions, f func(t *testing.T, d *diary, l *workloop.Loop, stop func())) {
	t.Helper()
	t.Run(promise, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := &diary{began: time.Now()}
			l := workloop.NewLoop(o(d))
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- l.Run(ctx) }()
			stop := sync.OnceFunc(func() {
				cancel()
				if err := <-ended; err != nil {
					t.Errorf("Run returned %v", err)
				}
			})
			defer stop()
			synctest.Wait()
			f(t, d, l, stop)
		})
	})
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestLoop(t *testing.T) {
	inBubble(t, "works at the start, without rest while there is more, then after each rest", func(d *diary) workloop.LoopOptions {
		return workloop.LoopOptions{Work: d.scripted(result{}, result{}, result{rest: 5 * time.Second})}
	}, func(t *testing.T, d *diary, _ *workloop.Loop, _ func()) {
		pass(11 * time.Second)
		d.want(t, "0: work", "0: work", "0: work", "5: work", "10: work")
	})
	inBubble(t, "is woken while it rests, and rests as long again", func(d *diary) workloop.LoopOptions {
		return workloop.LoopOptions{Work: d.scripted(result{rest: 5 * time.Second})}
	}, func(t *testing.T, d *diary, l *workloop.Loop, _ func()) {
		pass(2 * time.Second)
		l.Wake()
		pass(6 * time.Second)
		d.want(t, "0: work", "2: work", "7: work")
	})
	inBubble(t, "serves what is announced within the time of gathering by one call", func(d *diary) workloop.LoopOptions {
		return workloop.LoopOptions{Work: d.scripted(result{rest: workloop.Forever}), Gather: time.Second}
	}, func(t *testing.T, d *diary, l *workloop.Loop, _ func()) {
		l.Wake()
		l.Wake()
		pass(2 * time.Second)
		d.want(t, "0: work", "1: work")
	})
	inBubble(t, "does not miss what is announced while it works", func(d *diary) workloop.LoopOptions {
		return workloop.LoopOptions{Work: func(ctx context.Context) (time.Duration, error) {
			retry.Pause(ctx, time.Second)
			return d.scripted(result{rest: workloop.Forever})(ctx)
		}}
	}, func(t *testing.T, d *diary, l *workloop.Loop, _ func()) {
		l.Wake()
		pass(time.Minute)
		d.want(t, "1: work", "2: work")
	})
	inBubble(t, "with a look, works only when it is woken, and looks at the start and then again and again", func(d *diary) workloop.LoopOptions {
		return workloop.LoopOptions{
			Work:      d.scripted(result{rest: workloop.Forever}),
			Look:      func(context.Context) error { d.note("look"); return nil },
			LookEvery: 10 * time.Second,
		}
	}, func(t *testing.T, d *diary, l *workloop.Loop, _ func()) {
		pass(5 * time.Second)
		l.Wake()
		pass(16 * time.Second)
		d.want(t, "0: look", "5: work", "10: look", "20: look")
	})
	inBubble(t, "works on what a look finds", func(d *diary) workloop.LoopOptions {
		var l *workloop.Loop
		o := workloop.LoopOptions{
			Work:      d.scripted(result{rest: workloop.Forever}),
			Look:      func(context.Context) error { l.Wake(); return nil },
			LookEvery: 10 * time.Second, Gather: time.Second,
		}
		l = workloop.NewLoop(o)
		return workloop.LoopOptions{Work: func(ctx context.Context) (time.Duration, error) { return workloop.Forever, l.Run(ctx) }}
	}, func(t *testing.T, d *diary, _ *workloop.Loop, _ func()) {
		pass(12 * time.Second)
		d.want(t, "1: work", "11: work")
	})
	failing := func(d *diary, o workloop.LoopOptions) workloop.LoopOptions {
		o.Failed = func(_ context.Context, f workloop.Failure) {
			d.note("failure %d: %v; again in %v", f.InRow, f.Err, f.Again)
		}
		o.Recovered = func(_ context.Context, failures int) { d.note("recovered after %d", failures) }
		return o
	}
	down := result{err: errors.New("down")}
	inBubble(t, "waits after each failure in a row twice as long, and says so, until it succeeds", func(d *diary) workloop.LoopOptions {
		return failing(d, workloop.LoopOptions{
			Work: d.scripted(down, down, down, result{rest: time.Minute}, down), Backoff: retry.Exponential{First: time.Second, Last: 3 * time.Second},
		})
	}, func(t *testing.T, d *diary, l *workloop.Loop, _ func()) {
		pass(2 * time.Second)
		if n := l.Failures(); n != 2 {
			t.Errorf("%d failures in a row after two", n)
		}
		pass(5 * time.Second)
		if n := l.Failures(); n != 0 {
			t.Errorf("%d failures in a row after a success", n)
		}
		pass(time.Minute)
		d.want(t, "0: work", "0: failure 1: down; again in 1s", "1: work", "1: failure 2: down; again in 2s",
			"3: work", "3: failure 3: down; again in 3s", "6: work", "6: recovered after 3",
			"66: work", "66: failure 1: down; again in 1s", "67: work", "67: failure 2: down; again in 2s")
	})
	inBubble(t, "is not woken before the wait for a failure is over, and has not forgotten it then", func(d *diary) workloop.LoopOptions {
		return workloop.LoopOptions{Work: d.scripted(down, result{rest: workloop.Forever}), Backoff: retry.Exponential{First: time.Minute, Last: time.Hour}}
	}, func(t *testing.T, d *diary, l *workloop.Loop, _ func()) {
		pass(time.Second)
		l.Wake()
		pass(2 * time.Minute)
		d.want(t, "0: work", "60: work", "60: work")
	})
	inBubble(t, "varies the wait by its jitter", func(d *diary) workloop.LoopOptions {
		jitters := []float64{0, 0.75}
		return workloop.LoopOptions{
			Work: d.scripted(down, down, result{rest: workloop.Forever}), Backoff: retry.Exponential{First: 2 * time.Second, Last: time.Minute},
			Jitter: func() float64 { j := jitters[0]; jitters = jitters[1:]; return j },
		}
	}, func(t *testing.T, d *diary, _ *workloop.Loop, _ func()) {
		pass(time.Minute)
		d.want(t, "0: work", "1: work", "6: work")
	})
	inBubble(t, "waits a second after a failure where nobody says how long", func(d *diary) workloop.LoopOptions {
		return workloop.LoopOptions{Work: d.scripted(down, result{rest: workloop.Forever})}
	}, func(t *testing.T, d *diary, _ *workloop.Loop, _ func()) {
		pass(time.Minute)
		d.want(t, "0: work", "1: work")
	})
	inBubble(t, "goes on after a panic of the work, which counts as a failure", func(d *diary) workloop.LoopOptions {
		o := workloop.LoopOptions{Work: d.scripted(result{panics: true}, result{rest: workloop.Forever})}
		o.Failed = func(_ context.Context, f workloop.Failure) { d.note("panic: %t", safegroup.IsPanic(f.Err)) }
		return o
	}, func(t *testing.T, d *diary, _ *workloop.Loop, _ func()) {
		pass(time.Minute)
		d.want(t, "0: work", "0: panic: true", "1: work")
	})
	inBubble(t, "reports a look that fails or panics, and looks again at the next time", func(d *diary) workloop.LoopOptions {
		looks := 0
		return failing(d, workloop.LoopOptions{Work: d.scripted(result{}), LookEvery: 10 * time.Second, Look: func(context.Context) error {
			if looks++; looks == 2 {
				panic(looks)
			}
			return errors.New("no store")
		}})
	}, func(t *testing.T, d *diary, _ *workloop.Loop, _ func()) {
		pass(21 * time.Second)
		d.want(t, "0: failure 1: no store; again in 10s", "10: failure 1: a defect of the program: a panic of type int; again in 10s",
			"20: failure 1: no store; again in 10s")
	})
	for when, o := range map[string]workloop.LoopOptions{
		"rests":                {Work: func(context.Context) (time.Duration, error) { return time.Hour, nil }},
		"has more":             {Work: func(ctx context.Context) (time.Duration, error) { retry.Pause(ctx, time.Minute); return 0, nil }},
		"waits for a failure":  {Work: func(context.Context) (time.Duration, error) { return 0, errors.New("down") }},
		"gathers":              {Work: func(context.Context) (time.Duration, error) { return time.Second, nil }, Gather: time.Hour},
		"rests between looks":  {Look: func(context.Context) error { return nil }, LookEvery: time.Hour},
		"fails because of ctx": {Work: func(ctx context.Context) (time.Duration, error) { <-ctx.Done(); return 0, ctx.Err() }},
	} {
		inBubble(t, "ends with its context while it "+when+", which is no failure", func(d *diary) workloop.LoopOptions {
			return o
		}, func(t *testing.T, _ *diary, l *workloop.Loop, stop func()) {
			l.Wake()
			pass(1500 * time.Millisecond)
			began := time.Now()
			before := l.Failures()
			stop()
			if took := time.Since(began); took != 0 || l.Failures() != before {
				t.Errorf("it ended after %v, with %d failures after %d", took, l.Failures(), before)
			}
		})
	}
}

func TestQueue(t *testing.T) {
	t.Run("holds each key once, in the order of the first announcement, and again after it was taken", func(t *testing.T) {
		q := workloop.NewQueue[string](0)
		for _, key := range []string{"b", "a", "b", "c"} {
			q.Add(key)
		}
		if got := q.Take(2); !slices.Equal(got, []string{"b", "a"}) {
			t.Errorf("taken first: %q", got)
		}
		q.Add("b")
		if got := q.Take(10); !slices.Equal(got, []string{"c", "b"}) {
			t.Errorf("taken then: %q", got)
		}
		if got := q.Take(10); len(got) != 0 {
			t.Errorf("an empty queue holds %q", got)
		}
	})
	t.Run("drops what comes when it is full", func(t *testing.T) {
		q := workloop.NewQueue[int](2)
		for i := range 5 {
			q.Add(i)
		}
		if got := q.Take(10); !slices.Equal(got, []int{0, 1}) {
			t.Errorf("taken: %v", got)
		}
	})
}
