package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/internal/testing/backendtest"
)

// The load on three replicas: of all Records three in ten are repeats, of which one in ten has another body.
const (
	replicaCount   = 3
	replicaRecords = 3000
	repeatTenths   = 3
	changedTenths  = 1
	replicaP99     = 500 * time.Millisecond
	replicaSlowest = 2 * time.Second
	replicaSession = "replicas"
)

// replicasFigure has three servers on one MongoDB write to one session, to many beside a single server, and then do the background work of
// several; first and last one is killed in the middle.
func replicasFigure(ctx context.Context, o options) error {
	if err := replicasRecord(ctx, o); err != nil {
		return fmt.Errorf("one session: %w", err)
	}
	if err := replicasRate(ctx, o); err != nil {
		return fmt.Errorf("64 sessions: %w", err)
	}
	return replicasWork(ctx, o)
}

// replicasRecord writes to one session through all servers.
func replicasRecord(ctx context.Context, o options) (err error) {
	b, err := backendtest.NewBackends()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Drop()) }()
	f := &fleet{}
	defer func() { err = errors.Join(err, f.stop()) }()
	for range replicaCount {
		if err := f.start(ctx, measure.ServerOptions{Binary: o.binary, Env: b.Env()}); err != nil {
			return err
		}
	}
	l := &replicaLoad{fleet: f, rng: rand.New(rand.NewPCG(7, 3))}
	begin := time.Now()
	if err := l.run(ctx); err != nil {
		return err
	}
	return l.report(ctx, o, time.Since(begin))
}

// fleet is the servers that still run, and the dead one.
type fleet struct {
	mu      sync.Mutex
	servers []*running
	dead    int // its number, from 1; 0 while all live
}

func (f *fleet) start(ctx context.Context, o measure.ServerOptions) error {
	s, err := startWith(ctx, o)
	if err == nil {
		f.servers = append(f.servers, s)
	}
	return err
}

// serve returns a client's server: its own, or the next where that is dead.
func (f *fleet) serve(client int) *running {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := client % len(f.servers)
	if n+1 == f.dead {
		n = (n + 1 + client/len(f.servers)%(len(f.servers)-1)) % len(f.servers)
	}
	return f.servers[n]
}

// all are the servers, the dead one too.
func (f *fleet) all() []*running {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.servers)
}

// revive starts the dead server again, at its address.
func (f *fleet) revive(ctx context.Context, n int, how func(listen string) measure.ServerOptions) error {
	s, err := startWith(ctx, how(f.all()[n].Addr))
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.servers[n], f.dead = s, 0
	return nil
}

func (f *fleet) kill(n int) error {
	f.mu.Lock()
	f.dead = n + 1
	s := f.servers[n]
	f.mu.Unlock()
	return s.kill()
}

// isDead reports whether a server was killed.
func (f *fleet) isDead(s *running) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead > 0 && f.servers[f.dead-1] == s
}

// record records, again on another server where the one asked dies, as a client does.
func (f *fleet) record(ctx context.Context, client int, req *memoryv1.RecordRequest) (r *memoryv1.RecordResponse, err error) {
	for range 20 {
		r, err = f.serve(client).Record(ctx, req)
		if code := status.Code(err); code != codes.Unavailable && code != codes.Aborted && code != codes.Canceled {
			break
		}
	}
	return r, err
}

func (f *fleet) stop() error {
	var errs []error
	for i, s := range f.servers {
		if i+1 != f.dead {
			errs = append(errs, s.stop())
		}
	}
	return errors.Join(errs...)
}

// written is an acknowledged Record.
type written struct {
	n     int
	first int64
}

// replicaLoad is what 64 clients do together, and what they receive.
type replicaLoad struct {
	fleet *fleet

	mu      sync.Mutex
	rng     *rand.Rand
	started int // calls
	fresh   int // of them, with a request id of their own
	done    []written
	samples measure.Samples
	slowest map[int]time.Duration // by client
	refused int                   // changed bodies that were refused as they must be
	faults  []string
}

func (l *replicaLoad) run(ctx context.Context) error {
	l.slowest = map[int]time.Duration{}
	killed := make(chan error, 1)
	var once sync.Once
	var wg sync.WaitGroup
	for client := range loopClients {
		wg.Go(func() {
			for l.next(ctx, client) {
				if l.half() {
					once.Do(func() { killed <- l.fleet.kill(1) })
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-killed:
		return err
	default: // the clients were stopped before half of the load
		return ctx.Err()
	}
}

func (l *replicaLoad) half() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.started >= replicaRecords/2
}

// next makes one call of the plan, and reports whether there was one left.
func (l *replicaLoad) next(ctx context.Context, client int) bool {
	l.mu.Lock()
	if l.started == replicaRecords || ctx.Err() != nil {
		l.mu.Unlock()
		return false
	}
	l.started++
	repeat := len(l.done) > 0 && l.rng.IntN(10) < repeatTenths
	if !repeat {
		l.fresh++
		n := l.fresh
		l.mu.Unlock()
		l.write(ctx, client, n)
		return true
	}
	of, ask := l.done[l.rng.IntN(len(l.done))], l.repeat
	if l.rng.IntN(10) < changedTenths {
		ask = l.change
	}
	l.mu.Unlock()
	ask(ctx, client, of)
	return true
}

func replicaRequest(n int, text string) *memoryv1.RecordRequest {
	return &memoryv1.RecordRequest{
		UserId: figureUser, SessionId: replicaSession, RequestId: fmt.Sprintf("r-%d", n),
		Messages: []*memoryv1.Message{{Id: fmt.Sprintf("m-%d", n), Role: memoryv1.Role_ROLE_USER, Text: text}},
	}
}

func replicaText(n int) string { return fmt.Sprintf("record number %d", n) }

func (l *replicaLoad) write(ctx context.Context, client, n int) {
	r, err := l.call(ctx, client, replicaRequest(n, replicaText(n)))
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.faults = append(l.faults, "a Record failed: "+err.Error())
		return
	}
	l.done = append(l.done, written{n, r.GetFirstSeq()})
}

// repeat sends an acknowledged Record again: it must be answered as at first.
func (l *replicaLoad) repeat(ctx context.Context, client int, of written) {
	r, err := l.call(ctx, client, replicaRequest(of.n, replicaText(of.n)))
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		l.faults = append(l.faults, "a repeat failed: "+err.Error())
	case r.GetFirstSeq() != of.first:
		l.faults = append(l.faults, fmt.Sprintf("a repeat was answered seq %d, at first it was %d", r.GetFirstSeq(), of.first))
	}
}

// change sends its request id with another body: it must be refused.
func (l *replicaLoad) change(ctx context.Context, client int, of written) {
	_, err := l.call(ctx, client, replicaRequest(of.n, "something else"))
	l.mu.Lock()
	defer l.mu.Unlock()
	if status.Code(err) != codes.AlreadyExists {
		l.faults = append(l.faults, fmt.Sprintf("a changed body was answered %s", status.Code(err)))
		return
	}
	l.refused++
}

// call records and measures; its time is that of all tries.
func (l *replicaLoad) call(ctx context.Context, client int, req *memoryv1.RecordRequest) (*memoryv1.RecordResponse, error) {
	begin := time.Now()
	r, err := l.fleet.record(ctx, client, req)
	took := time.Since(begin)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.samples = append(l.samples, took)
	l.slowest[client] = max(l.slowest[client], took)
	return r, err
}

func (l *replicaLoad) report(ctx context.Context, o options, took time.Duration) error {
	messages, err := listAll(ctx, l.fleet.serve(0), replicaSession)
	if err != nil {
		return err
	}
	seen := map[string]int{}
	for _, m := range messages {
		seen[m.GetId()]++
	}
	lost, doubled := 0, 0
	for _, w := range l.done {
		n := seen[fmt.Sprintf("m-%d", w.n)]
		lost += max(0, 1-n)
		doubled += max(0, n-1)
	}
	for _, f := range l.faults[:min(5, len(l.faults))] {
		o.report.Note("   %s", f)
	}
	slowest := time.Duration(0)
	for _, d := range l.slowest {
		slowest = max(slowest, d)
	}
	o.report.Note("   %d Records in %s by %d clients over %d replicas, one killed -9: %d new, %d changed bodies refused, p50 %s",
		replicaRecords, took.Round(time.Millisecond), loopClients, replicaCount, len(l.done), l.refused, measure.Millis(l.samples.P50()))
	o.report.Zero("three replicas: gaps in the sequence", gaps(messages))
	o.report.Zero("three replicas: acknowledged messages lost", lost)
	o.report.Zero("three replicas: messages doubled", doubled+len(messages)-len(seen))
	o.report.Zero("three replicas: repeats not answered as at first, changed bodies not refused, failures", len(l.faults))
	o.report.AtMost("three replicas: Record p99", l.samples.P99(), replicaP99)
	o.report.AtMost("three replicas: the slowest call of any writer", slowest, replicaSlowest)
	return nil
}
