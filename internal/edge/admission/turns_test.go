package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/backendlatency"
)

// TestShares gives calls in order and says what becomes of each: "run", "wait" or "shed", and after "end X" who is let in.
func TestShares(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		promise string
		places  int
		events  string // of tenants: "a" an ordinary call, "A" one that is shed last, "a-" the end of one, "5s" time
		want    string
	}{
		{"the only tenant runs as many calls as come", 2, "a a a a a", "a a a a a"},
		{"of two each runs its part, and the rest wait", 2, "b a a a", "b a wait wait"},
		{"one that is alone again waits no more", 2, "b b- 2s a a a", "b - - a a a"},
		{"beyond its part a tenant uses what is free but for one place", 4, "b b- a a a a", "b - a a a wait"},
		{"who calls seldom finds its part free beside many of another", 2, "b b- a a a a b", "b - a wait wait wait b"},
		{"more tenants than places run one call each", 2, "a b c d a b", "a b c d wait wait"},
		{"tenants that wait take turns", 4, "a a b b a a a b b c c c- a- a- b- b-", "a a b b wait wait wait wait wait c wait c - a - b"},
		{"the end of a call lets the next of its tenant in", 2, "a b b b b- b-", "a b wait wait b b"},
		{"a full queue sheds who comes", 1, "b a a a a a", "b a wait wait wait shed"},
		{"but of a full queue one that must be stored takes the place of one that need not", 1, "b a a a a A", "b a wait wait wait shed:a wait"},
		{"until those alone fill it", 1, "b a A A A A a", "b a wait wait wait shed:A shed:a"},
	} {
		t.Run(c.promise, func(t *testing.T) {
			s, now := newShares(c.places, 3), noon
			var got []string
			names := map[*turn]string{}
			for _, event := range strings.Fields(c.events) {
				name := strings.ToLower(event[:1])
				switch {
				case strings.HasSuffix(event, "s"):
					d, err := time.ParseDuration(event)
					if err != nil {
						t.Fatal(err)
					}
					now, got = now.Add(d), append(got, "-")
				case strings.HasSuffix(event, "-"):
					s.end(s.tenants[name])
					next := "-"
					if w := s.next(); w != nil {
						next = w.of.tenant
					}
					got = append(got, next)
				default:
					of := s.arrive(name, now)
					if len(of.queue) == 0 && s.may(of) {
						s.begin(of)
						got = append(got, name)
						continue
					}
					w := &turn{of: of, kind: Ordinary}
					if event == strings.ToUpper(event) {
						w.kind = ShedLast
					}
					names[w] = event
					switch shed := s.wait(w); shed {
					case nil:
						got = append(got, "wait")
					case w:
						got = append(got, "shed")
						if strings.Contains(c.want, "shed:") {
							got[len(got)-1] += ":" + event
						}
					default:
						got = append(got, "shed:"+names[shed], "wait")
					}
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(strings.Fields(c.want)) {
				t.Errorf("got %v, want %s", got, c.want)
			}
		})
	}
	t.Run("over many calls tenants that always wait are served alike, however many of each there are", func(t *testing.T) {
		s, now := newShares(4, 1000), noon
		for i := range 600 {
			tenant := "noisy"
			if i%20 == 0 {
				tenant = "busy"
			}
			of := s.arrive(tenant, now)
			s.arrive("third", now)
			if len(of.queue) == 0 && s.may(of) {
				s.begin(of)
			} else if s.wait(&turn{of: of}) != nil {
				t.Fatal("shed")
			}
		}
		served := map[string]int{}
		for range 40 {
			for _, name := range []string{"noisy", "busy"} {
				if s.tenants[name].running > 0 {
					s.end(s.tenants[name])
					if w := s.next(); w != nil {
						served[w.of.tenant]++
					}
					break
				}
			}
		}
		if d := served["noisy"] - served["busy"]; d < -20 || served["busy"] < 10 {
			t.Errorf("served %v", served)
		}
	})
	t.Run("a queue hands out calls in the order in which they came", func(t *testing.T) {
		s := newShares(1, 10)
		s.arrive("b", noon)
		of := s.arrive("a", noon)
		s.begin(of)
		var waiting []*turn
		for range 5 {
			w := &turn{of: of}
			s.wait(w)
			waiting = append(waiting, w)
		}
		if !s.leave(waiting[2]) || s.leave(waiting[2]) {
			t.Error("a call leaves its queue once")
		}
		for _, want := range slices.Delete(slices.Clone(waiting), 2, 3) {
			s.end(of)
			if got := s.next(); got != want {
				t.Error("out of order")
			}
		}
	})
}

// refusals counts.
type refusals struct {
	mu sync.Mutex
	n  int
}

func (r *refusals) CallRefused(Cause) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
}

func TestTurns(t *testing.T) {
	newTurns := func() (*Turns, *refusals) {
		r := &refusals{}
		return NewTurns(TurnsOptions{Places: 2, Waiting: 2, Wait: 2 * time.Second, Meter: r}), r
	}
	enter := func(t *testing.T, turns *Turns, tenant string) (context.Context, func()) {
		t.Helper()
		ctx, leave, err := turns.Enter(t.Context(), tenant, Ordinary)
		if err != nil {
			t.Fatal(err)
		}
		return ctx, leave
	}
	t.Run("a call that waits runs when one of its tenant ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			turns, _ := newTurns()
			_, other := enter(t, turns, "other")
			_, first := enter(t, turns, "acme")
			time.AfterFunc(time.Second, first)
			began := time.Now()
			_, second := enter(t, turns, "acme")
			if time.Since(began) != time.Second {
				t.Errorf("it waited %s", time.Since(began))
			}
			second()
			second()
			other()
		})
	})
	t.Run("it is refused after its bound, or half of its time, with a time to retry", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			turns, refused := newTurns()
			enter(t, turns, "other")
			enter(t, turns, "acme")
			for _, c := range []struct{ has, waits time.Duration }{{time.Hour, 2 * time.Second}, {time.Second, time.Second / 2}} {
				ctx, cancel := context.WithTimeout(t.Context(), c.has)
				began := time.Now()
				_, _, err := turns.Enter(ctx, "acme", Ordinary)
				cancel()
				e, ok := errors.AsType[*memory.Error](err)
				if !ok || e.Reason != memory.ReasonOverloaded || e.Retry <= 0 || e.Metadata["cause"] != string(CauseShare) {
					t.Errorf("error %v", err)
				}
				if time.Since(began) != c.waits {
					t.Errorf("it waited %s, want %s", time.Since(began), c.waits)
				}
			}
			if refused.n != 2 {
				t.Errorf("%d refusals are counted", refused.n)
			}
		})
	})
	t.Run("a call that waits for another server gives its place to others, and goes on beside them", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			turns, _ := newTurns()
			enter(t, turns, "other")
			ctx, first := enter(t, turns, "acme")
			end := backendlatency.Begin(ctx)
			beside := backendlatency.Idle(ctx)
			_, second := enter(t, turns, "acme") // at once
			end()
			beside()
			first()
			second()
			_, third := enter(t, turns, "acme")
			third()
		})
	})
	t.Run("a caller who goes leaves no trace", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			turns, refused := newTurns()
			enter(t, turns, "other")
			_, first := enter(t, turns, "acme")
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if _, _, err := turns.Enter(ctx, "acme", Ordinary); !errors.Is(err, context.Canceled) || refused.n != 0 {
				t.Errorf("error %v, %d refusals", err, refused.n)
			}
			first()
			_, next := enter(t, turns, "acme")
			next()
		})
	})
	t.Run("of many calls of many tenants each runs or is refused, and no place is lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			turns, _ := newTurns()
			var calls sync.WaitGroup
			for i := range 300 {
				calls.Go(func() {
					time.Sleep(time.Duration(i%7) * 10 * time.Millisecond)
					ctx, leave, err := turns.Enter(t.Context(), fmt.Sprintf("tenant %d", i%5), Kind(i%2))
					if err != nil {
						return
					}
					time.Sleep(10 * time.Millisecond)
					end := backendlatency.Idle(ctx)
					time.Sleep(20 * time.Millisecond)
					end()
					leave()
				})
			}
			calls.Wait()
			turns.mu.Lock()
			defer turns.mu.Unlock()
			if turns.shares.running != 0 {
				t.Errorf("%d run after all have ended", turns.shares.running)
			}
			for _, s := range turns.shares.tenants {
				if s.running != 0 || len(s.queue) != 0 {
					t.Errorf("%s: %d run, %d wait", s.tenant, s.running, len(s.queue))
				}
			}
		})
	})
}
