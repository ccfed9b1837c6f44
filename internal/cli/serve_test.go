package cli

import (
	"net"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

func TestSchedulerThreads(t *testing.T) {
	for _, c := range []struct {
		promise                   string
		processors, machine, want int
	}{
		{"each processor has another thread, for small calls beside those that compute", 2, 2, 4},
		{"a single one too", 1, 1, 2},
		{"no more than a few where there are many", 64, 64, 64 + mostSpareThreads},
		{"none beyond a quota, which they would use up earlier", 2, 16, 2},
	} {
		t.Run(c.promise, func(t *testing.T) {
			if got := schedulerThreads(c.processors, c.machine); got != c.want {
				t.Errorf("%d threads for %d of %d processors, want %d", got, c.processors, c.machine, c.want)
			}
		})
	}
}

func TestAfterPause(t *testing.T) {
	t.Run("a function is called once, after the pause", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			stop := afterPause(time.Second, func() { calls++ })
			time.Sleep(time.Second - 1)
			synctest.Wait()
			if calls != 0 {
				t.Error("it was called before")
			}
			time.Sleep(time.Hour)
			stop()
			if calls != 1 {
				t.Errorf("%d calls", calls)
			}
		})
	})
	t.Run("one that was stopped before is not", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			stop := afterPause(time.Second, func() { t.Error("it was called") })
			stop()
			time.Sleep(time.Hour)
		})
	})
}

func TestAServerWhosePortIsTakenNamesTheSetting(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	taken, data := l.Addr().String(), filepath.Join(t.TempDir(), "strata.db")
	mustFail(t, "set listen to another address", Env{}, "serve", "--listen", taken, "--metrics-listen", "", "--data", data)
	mustFail(t, "set metrics-listen to another address", Env{}, "serve", "--listen", "127.0.0.1:0", "--metrics-listen", taken, "--data", data)
}
