package milvusstore_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/milvusstore"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// cable is a connection to the server that can be pulled out and put in again.
type cable struct {
	t       *testing.T
	server  string
	address string
	plug    net.Listener
	mu      sync.Mutex
	ends    []net.Conn
}

func newCable(t *testing.T, server string) *cable {
	c := &cable{t: t, server: server, address: "127.0.0.1:0"}
	c.in()
	t.Cleanup(c.out)
	return c
}

func (c *cable) in() {
	plug, err := (&net.ListenConfig{}).Listen(context.WithoutCancel(c.t.Context()), "tcp", c.address)
	if err != nil {
		c.t.Fatal(err)
	}
	c.plug, c.address = plug, plug.Addr().String()
	go func() {
		for {
			near, err := plug.Accept()
			if err != nil {
				return
			}
			c.connect(near)
		}
	}()
}

func (c *cable) connect(near net.Conn) {
	far, err := net.Dial("tcp", c.server)
	if err != nil {
		near.Close()
		return
	}
	c.mu.Lock()
	c.ends = append(c.ends, near, far)
	c.mu.Unlock()
	go io.Copy(near, far)
	go io.Copy(far, near)
}

func (c *cable) out() {
	c.plug.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, end := range c.ends {
		end.Close()
	}
}

func TestAViewWhoseServerGoesAway(t *testing.T) {
	c := newCable(t, backend.Milvus(t))
	v, err := milvusstore.Open(t.Context(), milvusstore.Options{Address: c.address, Prefix: newPrefix()})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	space := store.VectorSpace{View: memory.ViewVectors, Build: 1, Version: 1, Dimension: 32}
	if err := v.Prepare(t.Context(), space); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Drop(context.WithoutCancel(t.Context()), space) })
	rows := someRows(alice, 3)
	mustPut(t, v, space, rows)
	search := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, err := v.Search(ctx, store.VectorSearch{Space: space, Scope: alice, Vector: rows[0].Vector, Limit: 3})
		return err
	}
	t.Run("fails at once", func(t *testing.T) {
		c.out()
		for range 20 {
			if err := search(); !errors.Is(err, milvusstore.ErrUnreachable) { // who waits ends at the deadline, with another error
				t.Errorf("Search: %v", err)
			}
			if err := v.Check(t.Context()); err == nil {
				t.Error("Check passes")
			}
		}
	})
	t.Run("serves again when it is back", func(t *testing.T) {
		c.in()
		start := time.Now()
		until(t, func() string {
			if err := search(); err != nil {
				return err.Error()
			}
			return ""
		})
		t.Logf("after %v", time.Since(start))
	})
}
