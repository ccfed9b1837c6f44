package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/internal/testing/conversations"
)

const (
	turnBytes   = 1000 // of the two messages of a turn together
	openRate    = 200  // turns a second
	loopClients = 64

	addedP50       = 400 * time.Microsecond
	leastP99       = 3 * time.Millisecond
	closedLoopP99  = 35 * time.Millisecond
	manySessions   = 3000 // turns a second
	oneSession     = 1500
	starvedBelow   = 0.25 // of the mean client's turns
	listPage       = 1000
	sessionsOfOpen = 64
)

func recordFigure(ctx context.Context, o options) error {
	bareRate, err := openLoops(ctx, o)
	if err != nil {
		return fmt.Errorf("open loop: %w", err)
	}
	if err := closedLoop(ctx, o, closedPlan{"64 sessions", loopClients, bareRate, 8, manySessions}); err != nil {
		return fmt.Errorf("64 sessions: %w", err)
	}
	if err := closedLoop(ctx, o, closedPlan{"one session", 1, bareRate, 3, oneSession}); err != nil {
		return fmt.Errorf("one session: %w", err)
	}
	return nil
}

// turnRequest is the n-th turn of a session: two messages of 1 kB together.
func turnRequest(session string, texts [2]string) *memoryv1.RecordRequest {
	return &memoryv1.RecordRequest{
		UserId: figureUser, SessionId: session,
		Messages: []*memoryv1.Message{
			{Role: memoryv1.Role_ROLE_USER, Text: texts[0]},
			{Role: memoryv1.Role_ROLE_ASSISTANT, Text: texts[1]},
		},
	}
}

// turnTexts are as different as words are, so that the indexer has honest work.
func turnTexts(n int) [2]string {
	return [2]string{conversations.Text(uint64(2*n), turnBytes/2), conversations.Text(uint64(2*n+1), turnBytes/2)}
}

// manyTexts are made before a loop runs: making a text costs more than sending it.
func manyTexts() [][2]string {
	texts := make([][2]string, 512)
	for i := range texts {
		texts[i] = turnTexts(i)
	}
	return texts
}

// openLoops runs Record and the bare insert at the same rate in turns of one second, so that both meet the same
// disk, and returns how many bare inserts a second one client can make in a closed loop.
func openLoops(ctx context.Context, o options) (float64, error) {
	data, err := o.path("record-open.db")
	if err != nil {
		return 0, err
	}
	barePath, err := o.path("record-bare.db")
	if err != nil {
		return 0, err
	}
	b, err := openBare(ctx, barePath)
	if err != nil {
		return 0, err
	}
	s, err := start(ctx, o.binary, data)
	if err != nil {
		return 0, errors.Join(err, b.close())
	}
	rate, err := openLoopsOn(ctx, o, s, b)
	return rate, errors.Join(err, s.stop(), b.close())
}

func openLoopsOn(ctx context.Context, o options, s *running, b *bare) (float64, error) {
	texts := manyTexts()
	var handler handlerTimes
	record := func(ctx context.Context, n int) error {
		return handler.record(ctx, s, turnRequest(fmt.Sprintf("open-%02d", n%sessionsOfOpen), texts[n%len(texts)]))
	}
	insert := func(ctx context.Context, _ int) error { return b.record(ctx) }
	dots := o.baseline()
	if _, err := openLoop(ctx, 0, record); err != nil { // connections, statements and caches are warm from here on
		return 0, err
	}
	health := healthpb.NewHealthClient(s.conn)
	empty := func(ctx context.Context, _ int) error {
		_, err := health.Check(ctx, &healthpb.HealthCheckRequest{})
		return err
	}
	var ours, theirs, nothing measure.Samples
	for i := range max(1, int(o.duration/time.Second)) {
		r, err := openLoop(ctx, (i+1)*openRate, record)
		if err != nil {
			return 0, fmt.Errorf("record: %w", err)
		}
		t, err := openLoop(ctx, i*openRate, insert)
		if err != nil {
			return 0, fmt.Errorf("bare insert: %w", err)
		}
		e, err := openLoop(ctx, 0, empty)
		if err != nil {
			return 0, fmt.Errorf("empty call: %w", err)
		}
		ours, theirs, nothing = append(ours, r...), append(theirs, t...), append(nothing, e...)
	}
	slow := measure.Slowness((dots + o.baseline()) / 2)
	o.report.Note(
		"   open loop %d/s from intended send time, %d samples each: Record p50 %s p99 %s; bare insert p50 %s p99 %s (ratios %.2f, %.2f)",
		openRate,
		len(ours),
		measure.Millis(ours.P50()),
		measure.Millis(ours.P99()),
		measure.Millis(theirs.P50()),
		measure.Millis(theirs.P99()),
		float64(ours.P50())/float64(theirs.P50()),
		float64(ours.P99())/float64(theirs.P99()),
	)
	o.report.Note(
		"   of which in the server's handler: p50 %s p99 %s; a call that does nothing, at the same rate: p50 %s p99 %s",
		measure.Millis(handler.samples.P50()),
		measure.Millis(handler.samples.P99()),
		measure.Millis(nothing.P50()),
		measure.Millis(nothing.P99()),
	)
	o.report.AtMost("Record, open loop 200/s, p50", ours.P50(), theirs.P50()+measure.Scale(addedP50, slow))
	o.report.AtMost("Record, open loop 200/s, p99", ours.P99(), max(3*theirs.P99(), measure.Scale(leastP99, slow)))
	return bareClosed(ctx, b)
}

// handlerTimes are what the server says of its own part, from calls that overlap.
type handlerTimes struct {
	mu      sync.Mutex
	samples measure.Samples
}

func (h *handlerTimes) record(ctx context.Context, c memoryv1.MemoryServiceClient, req *memoryv1.RecordRequest) error {
	var trailer metadata.MD
	if _, err := c.Record(ctx, req, grpc.Trailer(&trailer)); err != nil {
		return err
	}
	d, err := handlerTime(trailer)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.samples = append(h.samples, d)
	return err
}

// openLoop makes one second's calls at the open rate, whether earlier ones have returned or not. Each is timed from
// the moment it was meant to be sent.
func openLoop(ctx context.Context, first int, call func(context.Context, int) error) (measure.Samples, error) {
	samples := make(measure.Samples, openRate)
	begin := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	for i := range samples {
		intended := begin.Add(time.Duration(i) * time.Second / openRate)
		sleepUntil(intended)
		g.Go(func() error {
			err := call(ctx, first+i)
			samples[i] = time.Since(intended)
			return err
		})
	}
	return samples, g.Wait()
}

// sleepUntil waits in the kernel: the Go runtime's own timers wake an idle process up to a millisecond late, which
// would be most of what is measured.
func sleepUntil(t time.Time) {
	for d := time.Until(t); d > 0; d = time.Until(t) {
		ts := unix.NsecToTimespec(int64(d))
		if err := unix.Nanosleep(&ts, nil); err != nil && !errors.Is(err, unix.EINTR) {
			time.Sleep(d)
		}
	}
}

// bareClosed is how many bare inserts a second one client makes: SQLite has one writer, more clients only queue.
func bareClosed(ctx context.Context, b *bare) (float64, error) {
	begin, n := time.Now(), 0
	for time.Since(begin) < 3*time.Second {
		if err := b.record(ctx); err != nil {
			return 0, fmt.Errorf("bare insert: %w", err)
		}
		n++
	}
	return float64(n) / time.Since(begin).Seconds(), nil
}

// clientRun is what one client of a closed loop did.
type clientRun struct {
	samples measure.Samples
	ranges  [][2]int64 // first and last seq of each acknowledged turn
}

// closedPlan says how 64 clients write, and what they must reach: a multiple of the bare insert, which is as slow as
// the machine is now, or a rate of an idle machine, whichever is less.
type closedPlan struct {
	name     string
	sessions int
	bareRate float64 // bare inserts a second by one client
	multiple float64
	most     float64 // turns a second
}

// closedLoop runs 64 clients, each sending its next turn when the last is acknowledged, on so many sessions.
func closedLoop(ctx context.Context, o options, p closedPlan) error {
	data, err := o.path("record-closed.db")
	if err != nil {
		return err
	}
	s, err := start(ctx, o.binary, data)
	if err != nil {
		return err
	}
	dots := o.baseline()
	runs, took, err := runClients(ctx, o, s, p.sessions)
	dots = (dots + o.baseline()) / 2
	faults := 0
	if err == nil && p.sessions == 1 {
		faults, err = sequenceFaults(ctx, s, runs)
	}
	if err := errors.Join(err, s.stop()); err != nil {
		return err
	}
	commits, err := s.Commits()
	if err != nil {
		return err
	}
	reportClosed(o, p, runs, closedFigures{took, measure.Slowness(dots), commits, faults})
	return nil
}

type closedFigures struct {
	took    time.Duration
	slow    float64
	commits int64
	faults  int
}

func reportClosed(o options, p closedPlan, runs []clientRun, f closedFigures) {
	var all measure.Samples
	least := len(runs[0].samples)
	for _, r := range runs {
		all = append(all, r.samples...)
		least = min(least, len(r.samples))
	}
	rate := float64(len(all)) / f.took.Seconds()
	mean := float64(len(all)) / float64(len(runs))
	perFsync := float64(len(all)) / float64(f.commits)
	o.report.Note(
		"   closed loop, %d clients on %s: %.0f/s (bare insert, 1 client: %.0f/s, ratio %.2f), p50 %s p99 %s, %.2f Records per fsync (the indexer's commits counted too), slowest client %d turns of mean %.0f",
		loopClients,
		p.name,
		rate,
		p.bareRate,
		rate/p.bareRate,
		measure.Millis(all.P50()),
		measure.Millis(all.P99()),
		perFsync,
		least,
		mean,
	)
	o.report.AtLeast("Record, 64 clients on "+p.name+", throughput", rate, min(p.multiple*p.bareRate, p.most/f.slow), "/s")
	if p.sessions > 1 {
		o.report.AtMost("Record, 64 clients on "+p.name+", p99", all.P99(), measure.Scale(closedLoopP99, f.slow))
		return
	}
	o.report.Zero("Record, 64 clients on one session, gaps and repeats of seq", f.faults)
	o.report.AtLeast("Record, 64 clients on one session, slowest client's turns", float64(least), starvedBelow*mean, "")
	o.report.Add("Record, 64 clients on one session, Records per fsync", fmt.Sprintf("%.2f", perFsync), "> 1", perFsync > 1)
}

func runClients(ctx context.Context, o options, c memoryv1.MemoryServiceClient, sessions int) ([]clientRun, time.Duration, error) {
	texts := manyTexts()
	runs := make([]clientRun, loopClients)
	begin := time.Now()
	var wg sync.WaitGroup
	errs := make([]error, loopClients)
	for i := range runs {
		wg.Go(func() {
			session := fmt.Sprintf("closed-%02d", i%sessions)
			for n := 0; time.Since(begin) < o.duration; n++ {
				sent := time.Now()
				r, err := c.Record(ctx, turnRequest(session, texts[(n*loopClients+i)%len(texts)]))
				if err != nil {
					errs[i] = err
					return
				}
				runs[i].samples = append(runs[i].samples, time.Since(sent))
				runs[i].ranges = append(runs[i].ranges, [2]int64{r.GetFirstSeq(), r.GetLastSeq()})
			}
		})
	}
	wg.Wait()
	return runs, time.Since(begin), errors.Join(errs...)
}

// sequenceFaults counts the places where the acknowledged turns do not follow each other, and compares their end with
// what the session holds.
func sequenceFaults(ctx context.Context, c memoryv1.MemoryServiceClient, runs []clientRun) (int, error) {
	var ranges [][2]int64
	for _, r := range runs {
		ranges = append(ranges, r.ranges...)
	}
	slices.SortFunc(ranges, func(a, b [2]int64) int { return int(a[0] - b[0]) })
	faults, next := 0, int64(1)
	for _, r := range ranges {
		if r[0] != next {
			faults++
		}
		next = r[1] + 1
	}
	s, err := c.GetSession(ctx, &memoryv1.GetSessionRequest{UserId: figureUser, SessionId: "closed-00"})
	if err != nil {
		return 0, fmt.Errorf("get session: %w", err)
	}
	if s.GetSession().GetLastSeq() != next-1 {
		faults++
	}
	return faults, nil
}
