// Package hostilerequests makes requests that nobody of good will sends, at each way into a server: gRPC, gRPC-Web, Connect and REST.
// It sends them, and says which replies show a defect of the server: those that call something its own fault, and those that never
// come. A request follows from a seed and its number, so that it can be sent again.
//
// It is used by tests and by the tools beside the product, never by the product.
package hostilerequests

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/stratamem/strata/internal/memory/safegroup"
)

// Protocol is a way into the server.
type Protocol string

// The ways.
const (
	GRPC    Protocol = "gRPC"
	GRPCWeb Protocol = "gRPC-Web"
	Connect Protocol = "Connect"
	REST    Protocol = "REST"
)

// Protocols are all ways.
func Protocols() []Protocol { return []Protocol{GRPC, GRPCWeb, Connect, REST} }

// Options say what is sent.
type Options struct {
	Address  string // HOST:PORT of the server
	Protocol Protocol
	Seed     uint64
	Requests int
	Clients  int // that send at once
	Stalled  int // connections that send the beginning of a request, and are open until the end
}

// Result is what came back.
type Result struct {
	Replies map[string]int // how many of each kind: an HTTP status, that of gRPC after it, or how the connection ended
	Faults  []string       // at most maxFaults, each with the number of the request
	Faulty  int            // how many there were
}

const maxFaults = 20

// Run sends the requests. Its error is that of ctx, or that nothing listens.
func Run(ctx context.Context, o Options) (Result, error) {
	stalled, err := stall(ctx, o)
	defer func() {
		for _, c := range stalled {
			_ = c.Close()
		}
	}()
	if err != nil {
		return Result{}, err
	}
	var all tally
	var next atomic.Int64
	clients, ctx := safegroup.WithContext(ctx)
	for range max(o.Clients, 1) {
		clients.Go(func() error {
			s := newSender(o.Address)
			defer s.close()
			for {
				i := int(next.Add(1)) - 1
				if i >= o.Requests || ctx.Err() != nil {
					return ctx.Err()
				}
				request := Make(o.Protocol, o.Seed, i)
				kind, fault := s.send(ctx, request)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if fault != "" {
					fault = fmt.Sprintf("%s, seed %d, request %d: %s: %s", o.Protocol, o.Seed, i, fault, request)
				}
				all.add(kind, fault)
			}
		})
	}
	err = clients.Wait()
	return all.result, err
}

// tally is a Result to which several clients add.
type tally struct {
	mu     sync.Mutex
	result Result
}

// add counts a reply, with its fault; "" for none.
func (t *tally) add(kind, fault string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.result.Replies == nil {
		t.result.Replies = map[string]int{}
	}
	t.result.Replies[kind]++
	if fault == "" {
		return
	}
	if t.result.Faulty++; len(t.result.Faults) < maxFaults {
		t.result.Faults = append(t.result.Faults, fault)
	}
}

// random is the source of a request, and of nothing else.
func random(p Protocol, seed uint64, number int) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(p))
	return rand.New(rand.NewPCG(seed^h.Sum64(), uint64(number))) //nolint:gosec // the same for the same seed, on purpose
}
