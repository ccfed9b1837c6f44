package cli

import (
	"bytes"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stratamem/strata/internal/program/cli/terminal"
	"github.com/stratamem/strata/internal/program/config"
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
	mustFail(t, "set listen to another address", terminal.Env{}, "serve", "--listen", taken, "--metrics-listen", "", "--data", data)
	mustFail(t, "set metrics-listen to another address", terminal.Env{}, "serve", "--listen", "127.0.0.1:0", "--metrics-listen", taken, "--data", data)
}

func TestTheAddressToTryIsOneThatACertificateCanName(t *testing.T) {
	for listening, want := range map[string]string{
		"[::]:8081": "localhost:8081", "0.0.0.0:8081": "localhost:8081", "127.0.0.1:1": "127.0.0.1:1", "[::1]:2": "[::1]:2", "10.0.0.7:3": "10.0.0.7:3",
	} {
		if got := reachable(listening); got != want {
			t.Errorf("%s is reached at %s, want %s", listening, got, want)
		}
	}
}

func TestADurationHasItsUnitInBothFormatsOfTheLog(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		var log bytes.Buffer
		cfg := config.Default()
		cfg.LogFormat = format
		newLog(cfg, terminal.Env{Stderr: &log}).Info("call", "took", 62_700*time.Microsecond, "bytes", 62_700_000)
		if !strings.Contains(log.String(), "62.7ms") || !strings.Contains(log.String(), "62700000") {
			t.Errorf("%s: %s", format, log.String())
		}
	}
}
