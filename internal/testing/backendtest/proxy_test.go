package backendtest_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/testing/backendtest"
)

// echo starts a server that sends back what it gets, and returns its address.
func echo(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

// say sends a word and waits so long for its echo.
func say(c net.Conn, wait time.Duration) error {
	if err := c.SetDeadline(time.Now().Add(wait)); err != nil {
		return err
	}
	if _, err := c.Write([]byte("hello")); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, 5))
	return err
}

func TestAProxyBreaksOpenAndNewConnectionsUntilItHeals(t *testing.T) {
	for _, fault := range backendtest.Faults() {
		t.Run(string(fault), func(t *testing.T) {
			p, err := backendtest.NewProxy(echo(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Close)
			dial := func() (net.Conn, error) { return (&net.Dialer{}).DialContext(t.Context(), "tcp", p.Addr()) }
			c, err := dial()
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := say(c, time.Minute); err != nil {
				t.Fatalf("without a fault: %v", err)
			}
			if err := p.Break(fault); err != nil {
				t.Fatal(err)
			}
			if err := say(c, 300*time.Millisecond); err == nil {
				t.Error("an open connection still works")
			}
			if fresh, err := dial(); err == nil {
				if err := say(fresh, 300*time.Millisecond); err == nil {
					t.Error("a new connection works")
				}
				fresh.Close()
			}
			if err := p.Heal(); err != nil {
				t.Fatal(err)
			}
			if err := say(c, 5*time.Second); err == nil && fault != backendtest.Slow {
				t.Error("a connection that has lost what was sent goes on as if nothing was")
			}
			healed, err := dial()
			if err != nil {
				t.Fatalf("after it healed: %v", err)
			}
			defer healed.Close()
			if err := say(healed, time.Minute); err != nil {
				t.Errorf("after it healed: %v", err)
			}
		})
	}
}
