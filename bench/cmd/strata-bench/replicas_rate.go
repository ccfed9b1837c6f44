package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/bench/internal/mixedload"
	"github.com/stratamem/strata/internal/testing/backendtest"
)

const (
	barReplicaRate      = 0.9  // writes a second of three replicas against one
	barReplicaConflicts = 0.05 // inserts that another server outran, for each write
	rateRounds          = 4    // of one replica and of three in turns, so that the load of the machine meets both alike
)

// ways are how the clients of several replicas reach them.
type way string

const (
	keeping  way = "each client keeps to its server" // as one connection does
	spraying way = "each call through another server"
)

// replicasRate compares what 64 clients write through three replicas, each to a session of its own, with what they write through one on
// the same cores.
func replicasRate(ctx context.Context, o options) (err error) {
	one, err := startRateFleet(ctx, o, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, one.stop()) }()
	three, err := startRateFleet(ctx, o, replicaCount)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, three.stop()) }()
	for _, w := range []way{keeping, spraying} {
		if err := compareRates(ctx, o, w, one, three); err != nil {
			return err
		}
	}
	toll, err := one.verify(ctx)
	if err != nil {
		return err
	}
	t, err := three.verify(ctx)
	if err != nil {
		return err
	}
	toll = toll.Add(t)
	o.report.Zero("replicas, 64 sessions: acknowledged messages lost", toll.Lost)
	o.report.Zero("replicas, 64 sessions: messages doubled, foreign or out of order", toll.Doubled+toll.Foreign+toll.Disordered)
	return nil
}

// compareRates has the fleets written to by turns, and judges the way that connections take.
func compareRates(ctx context.Context, o options, w way, one, three *rateFleet) error {
	before, err := three.conflicts(ctx)
	if err != nil {
		return err
	}
	var alone, together rateSum
	for range rateRounds {
		a, err := one.write(ctx, w, o.duration/rateRounds)
		if err != nil {
			return err
		}
		b, err := three.write(ctx, w, o.duration/rateRounds)
		if err != nil {
			return err
		}
		alone, together = alone.add(a), together.add(b)
	}
	after, err := three.conflicts(ctx)
	if err != nil {
		return err
	}
	ratio, conflicts := together.rate()/alone.rate(), (after-before)/float64(max(together.writes, 1))
	o.report.Note("   %d clients, %d sessions, %s: one replica %.0f writes/s p99 %s, three %.0f/s p99 %s, ratio %.2f; %.4f conflicts a write",
		loopClients, loopClients, w, alone.rate(), measure.Millis(alone.times.P99()), together.rate(), measure.Millis(together.times.P99()),
		ratio, conflicts)
	if w != keeping {
		return nil
	}
	o.report.AtLeast("three replicas' writes against one, 64 clients, 64 sessions", ratio, barReplicaRate, "")
	o.report.NoMore("three replicas: sequence conflicts a write", conflicts, barReplicaConflicts, "")
	return nil
}

// rateSum is what was written over a time.
type rateSum struct {
	writes int
	took   time.Duration
	times  measure.Samples
}

func (s rateSum) add(o rateSum) rateSum {
	return rateSum{s.writes + o.writes, s.took + o.took, append(s.times, o.times...)}
}

func (s rateSum) rate() float64 { return float64(s.writes) / max(s.took.Seconds(), 0.001) }

// rateFleet is replicas on a database of their own, with what their clients were promised.
type rateFleet struct {
	fleet    fleet
	backends backendtest.Backends
	metrics  []string
	ledgers  []*mixedload.Ledger // by client
	next     []int               // by client: its next write
	texts    [][2]string
}

func startRateFleet(ctx context.Context, o options, n int) (*rateFleet, error) {
	b, err := backendtest.NewBackends()
	if err != nil {
		return nil, err
	}
	b.Milvus, b.Elasticsearch = "", ""
	f := &rateFleet{backends: b, next: make([]int, loopClients), texts: manyTexts()}
	for range loopClients {
		f.ledgers = append(f.ledgers, mixedload.NewLedger())
	}
	for range n {
		metrics, err := measure.FreeAddr(ctx)
		if err == nil {
			err = f.fleet.start(ctx, measure.ServerOptions{Binary: o.binary, Env: b.Env(), Args: []string{"--metrics-listen", metrics}})
		}
		if err != nil {
			return nil, errors.Join(err, f.stop())
		}
		f.metrics = append(f.metrics, metrics)
	}
	return f, nil
}

func (f *rateFleet) stop() error { return errors.Join(f.fleet.stop(), f.backends.Drop()) }

// conflicts sums what the servers count.
func (f *rateFleet) conflicts(ctx context.Context) (sum float64, err error) {
	for _, m := range f.metrics {
		n, err := metric(ctx, m, "strata_sequence_conflicts_total")
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// write has every client write to its session, one turn after the other.
func (f *rateFleet) write(ctx context.Context, w way, during time.Duration) (rateSum, error) {
	sums := make([]rateSum, loopClients)
	begin := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	for client := range loopClients {
		g.Go(func() error {
			for time.Since(begin) < during {
				took, err := f.writeOne(ctx, w, client)
				if err != nil {
					return fmt.Errorf("record: %w", err)
				}
				sums[client].writes++
				sums[client].times = append(sums[client].times, took)
			}
			return nil
		})
	}
	err := g.Wait()
	sum := rateSum{took: time.Since(begin)}
	for _, s := range sums {
		sum = sum.add(s)
	}
	return sum, err
}

func rateSession(client int) mixedload.SessionName {
	return mixedload.SessionName{User: figureUser, Session: fmt.Sprintf("rate-%02d", client)}
}

func (f *rateFleet) writeOne(ctx context.Context, w way, client int) (time.Duration, error) {
	n := f.next[client]
	f.next[client]++
	through := client
	if w == spraying {
		through += n
	}
	name := rateSession(client)
	req := turnRequest(name.Session, f.texts[(n*loopClients+client)%len(f.texts)])
	ids := make([]string, len(req.GetMessages()))
	for i, m := range req.GetMessages() {
		ids[i] = fmt.Sprintf("m-%d-%d", n, i)
		m.Id = ids[i]
	}
	after, sent := f.ledgers[client].Sent(name), time.Now()
	r, err := f.fleet.serve(through).Record(ctx, req)
	if err != nil {
		return 0, err
	}
	f.ledgers[client].Acknowledged(name, ids, r.GetFirstSeq(), after)
	return time.Since(sent), nil
}

// verify reads every session through another server than the one that wrote to it.
func (f *rateFleet) verify(ctx context.Context) (mixedload.Toll, error) {
	var toll mixedload.Toll
	for client, l := range f.ledgers {
		name := rateSession(client)
		messages, err := listSession(ctx, f.fleet.serve(client+1), name.User, name.Session)
		if err != nil {
			return toll, err
		}
		toll = toll.Add(l.Disordered()).Add(l.Compare(name, placed(messages)))
	}
	return toll, nil
}

// placed are messages with their places.
func placed(messages []*memoryv1.Message) []mixedload.Placed {
	out := make([]mixedload.Placed, len(messages))
	for i, m := range messages {
		out[i] = mixedload.Placed{ID: m.GetId(), Seq: m.GetSeq()}
	}
	return out
}
