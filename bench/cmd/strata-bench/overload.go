package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
)

// The load of the figure, and its bars.
const (
	overloadClients   = 64
	overloadConns     = 8
	overloadRecords   = 100 // a second
	overloadContexts  = 20  // a second
	overloadTimeout   = 10 * time.Second
	slowReaderConns   = 4
	slowReaderStreams = 250

	barOverloadBytes    = 1 << 30
	barOverloadLate     = 250 * time.Millisecond
	barOverloadRecord   = 4.0
	barOverloadContexts = 0.99
)

// overloadFigure asks 20 kinds of calls that cost most, and some that are refused late, each alone and then many at once, with clients that
// do not read, beside Record and small contexts at fixed rates.
func overloadFigure(ctx context.Context, o options) error {
	data, err := o.path("overload.db")
	if err != nil {
		return err
	}
	if err := prepareOverload(ctx, o, data); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	s, err := start(ctx, o.binary, data, "--request-timeout", overloadTimeout.String())
	if err != nil {
		return err
	}
	return errors.Join(overloadOn(ctx, o, s), s.stop())
}

func overloadOn(ctx context.Context, o options, s *running) error {
	if err := small(ctx, s, 0); err != nil {
		return err
	}
	select {
	case <-time.After(settle):
	case <-ctx.Done():
	}
	idle, err := s.ResidentBytes()
	if err != nil {
		return err
	}
	if err := overloadAlone(ctx, o, s); err != nil {
		return err
	}
	aloneBytes, err := s.PeakBytes()
	if err != nil {
		return err
	}
	if err := waitWorked(ctx, s); err != nil {
		return err
	}
	o.baseline()
	alone, err := besides(ctx, s, max(o.duration/2, 5*time.Second))
	if err != nil {
		return fmt.Errorf("alone: %w", err)
	}
	var beside besideRun
	var attack attackRun
	both, part := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		beside, err = besides(part, s, o.duration)
		return err
	})
	both.Go(func() (err error) {
		attack, err = attackBeside(part, s.Addr, o.duration)
		return err
	})
	if err := both.Wait(); err != nil {
		return fmt.Errorf("all at once: %w", err)
	}
	peak, err := s.PeakBytes()
	if err != nil {
		return err
	}
	o.report.Note("   idle %d MiB, peak of each alone %d MiB, of all at once %d MiB", idle>>20, aloneBytes>>20, peak>>20)
	o.report.Note(
		"   %d clients for %s: %d calls answered, %d refused for the load, %d invalid; longest %s; replies of slow readers cut off %d times",
		overloadClients,
		o.duration,
		attack.Answered,
		attack.Refused,
		attack.Invalid,
		measure.Millis(attack.Longest),
		attack.Cut,
	)
	for _, other := range attack.Others {
		o.report.Note("   at once: %s", other)
	}
	o.report.Note(
		"   Record %d/s: alone p50 %s p99 %s (%d failed), beside p50 %s p99 %s (%d of %d failed)",
		overloadRecords,
		measure.Millis(alone.records.P50()),
		measure.Millis(alone.records.P99()),
		alone.recordsFailed,
		measure.Millis(
			beside.records.P50(),
		),
		measure.Millis(beside.records.P99()),
		beside.recordsFailed,
		len(beside.records)+beside.recordsFailed,
	)
	o.report.Note(
		"   Record in its handler, without transport and client: alone p50 %s p99 %s, beside p50 %s p99 %s",
		measure.Millis(
			alone.handled.P50(),
		),
		measure.Millis(alone.handled.P99()),
		measure.Millis(beside.handled.P50()),
		measure.Millis(beside.handled.P99()),
	)
	o.report.Note(
		"   small BuildContext %d/s: alone p50 %s p99 %s, beside p50 %s p99 %s",
		overloadContexts,
		measure.Millis(
			alone.contexts.P50(),
		),
		measure.Millis(alone.contexts.P99()),
		measure.Millis(beside.contexts.P50()),
		measure.Millis(beside.contexts.P99()),
	)
	reportOverload(o, peak-idle, alone, beside, attack)
	return nil
}

func reportOverload(o options, above int64, alone, beside besideRun, attack attackRun) {
	ratio := float64(beside.records.P99()) / float64(alone.records.P99())
	share := float64(len(beside.contexts)) / float64(len(beside.contexts)+beside.contextsFailed)
	o.report.Add(
		"overload, peak memory above idle",
		fmt.Sprintf("%d MiB", above>>20),
		fmt.Sprintf("≤ %d MiB", barOverloadBytes>>20),
		above <= barOverloadBytes,
	)
	o.report.AtMost("overload, longest call until answered or refused", attack.Longest, overloadTimeout+barOverloadLate)
	o.report.Zero("overload, calls that ended in another way", attack.Wrong)
	o.report.NoMore("overload, Record p99 beside / alone", ratio, barOverloadRecord, "")
	o.report.Zero("overload, Records beside that failed", beside.recordsFailed)
	o.report.AtLeast("overload, share of small contexts answered", share, barOverloadContexts, "")
}

// overloadAlone asks each kind when nothing else is asked. One within its limits must be answered; one beyond them must
// be refused as invalid.
func overloadAlone(ctx context.Context, o options, s *running) error {
	late, wrong := 0, 0
	c := clientsOf(s.conn)
	for _, k := range costlyCalls() {
		before, err := s.PeakBytes()
		if err != nil {
			return err
		}
		begin := time.Now()
		err = k.call(ctx, c)
		took := time.Since(begin)
		after, e := s.PeakBytes()
		if e != nil {
			return e
		}
		want := codes.OK
		if k.beyond {
			want = codes.InvalidArgument
		}
		if code := status.Code(err); code != want {
			wrong++
			o.report.Note("   alone: %s ended with %s, want %s: %s", k.name, code, want, clip(err))
		}
		if took > overloadTimeout {
			late++
		}
		o.report.Note("   alone: %-58s %10s  peak +%d MiB", k.name, measure.Millis(took), (after-before)>>20)
	}
	o.report.Add("overload, calls alone that were not answered as they must be", fmt.Sprint(wrong), "0", wrong == 0)
	o.report.Add("overload, calls alone that took longer than the timeout", fmt.Sprint(late), "0", late == 0)
	return nil
}

func clip(err error) string {
	const most = 200
	text := fmt.Sprint(err)
	return text[:min(len(text), most)]
}

// besideRun is what Records and small contexts took, from the time at which they were meant to be sent.
type besideRun struct {
	records, contexts             measure.Samples
	handled                       measure.Samples // of records, what the server's handler took
	recordsFailed, contextsFailed int
}

// besides records and asks for small contexts at their rates.
func besides(ctx context.Context, s *running, d time.Duration) (besideRun, error) {
	var out besideRun
	own, err := measure.Dial(s.Addr)
	if err != nil {
		return out, err
	}
	defer own.Close()
	c := memoryv1.NewMemoryServiceClient(own)
	texts := manyTexts()
	var mu sync.Mutex
	var both errgroup.Group
	both.Go(func() error {
		out.records, out.recordsFailed = atRate(ctx, overloadRecords, d, func(ctx context.Context, n int) error {
			var trailer metadata.MD
			_, err := c.Record(ctx, turnRequest(fmt.Sprintf("beside-%02d", n%16), texts[n%len(texts)]), grpc.Trailer(&trailer))
			if err != nil {
				return err
			}
			took, err := handlerTime(trailer)
			mu.Lock()
			defer mu.Unlock()
			out.handled = append(out.handled, took)
			return err
		})
		return nil
	})
	both.Go(func() error {
		out.contexts, out.contextsFailed = atRate(ctx, overloadContexts, d, func(ctx context.Context, n int) error { return small(ctx, c, n) })
		return nil
	})
	return out, both.Wait()
}

// atRate makes calls at a fixed rate, whether those before have ended or not.
func atRate(ctx context.Context, rate int, d time.Duration, call func(context.Context, int) error) (took measure.Samples, failed int) {
	var mu sync.Mutex
	var calls sync.WaitGroup
	begin := time.Now()
	for n := range int(d.Seconds() * float64(rate)) {
		at := begin.Add(time.Duration(n) * time.Second / time.Duration(rate))
		sleepUntil(at)
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, overloadTimeout)
			defer cancel()
			err := call(ctx, n)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed++
				return
			}
			took = append(took, time.Since(at))
		})
	}
	calls.Wait()
	return took, failed
}

// attackRun is what became of the costly calls.
type attackRun struct {
	Answered, Refused, Invalid, Wrong int
	Cut                               int
	Longest                           time.Duration
	Others                            []string // what the first of the wrong ones were
}

// attackBeside runs attackAll in a process of its own: in this one, calls that are timed would wait for the goroutines of those that
// are not, which is no time of the server's.
func attackBeside(ctx context.Context, addr string, d time.Duration) (out attackRun, err error) {
	self, err := os.Executable()
	if err != nil {
		return out, fmt.Errorf("find this program: %w", err)
	}
	var said, failed bytes.Buffer
	attackers := exec.CommandContext(ctx, "nice", "-n", attackNice, self, attackArg, addr, d.String())
	attackers.Stdout, attackers.Stderr = &said, &failed
	if err := attackers.Run(); err != nil {
		return out, fmt.Errorf("the process of the costly calls: %w: %s", err, failed.String())
	}
	if err := json.Unmarshal(said.Bytes(), &out); err != nil {
		return out, fmt.Errorf("read what the process of the costly calls found: %w", err)
	}
	return out, nil
}

// attackArg is the first argument of the process that attackBeside starts; the server's address and the duration follow.
const attackArg = "attack"

// attackNice is the priority of that process, as of clients on machines of their own: what is measured is how the server shares its
// processors, not how the kernel shares them between it and who attacks it.
const attackNice = "10"

// attackMain is what the process of attackBeside does: it writes an attackRun.
func attackMain(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 2 {
		return fmt.Errorf("%s: %d arguments, want the address and the duration", attackArg, len(args))
	}
	d, err := time.ParseDuration(args[1])
	if err != nil {
		return fmt.Errorf("%s: %w", attackArg, err)
	}
	did, err := attackAll(ctx, args[0], d)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(did)
}

// attackAll asks the costly calls at once, each client one after the other, while other clients ask for large replies and
// do not read them.
func attackAll(ctx context.Context, addr string, d time.Duration) (out attackRun, err error) {
	conns := make([]*grpc.ClientConn, overloadConns)
	for i := range conns {
		if conns[i], err = measure.Dial(addr); err != nil {
			return out, err
		}
		defer conns[i].Close()
	}
	kinds := costlyCalls()
	begin := time.Now()
	var mu sync.Mutex
	var clients sync.WaitGroup
	for i := range overloadClients {
		clients.Go(func() {
			c := clientsOf(conns[i%len(conns)])
			for n := i; time.Since(begin) < d && ctx.Err() == nil; n++ {
				k := kinds[n%len(kinds)]
				sent := time.Now()
				err := k.call(ctx, c)
				mu.Lock()
				out.add(err, k, time.Since(sent))
				mu.Unlock()
			}
		})
	}
	unread, stop := context.WithTimeout(ctx, d)
	defer stop()
	for range slowReaderConns {
		clients.Go(func() {
			cut := notReading(unread, addr)
			mu.Lock()
			defer mu.Unlock()
			out.Cut += cut
		})
	}
	clients.Wait()
	return out, nil
}

func (r *attackRun) add(err error, k costly, took time.Duration) {
	r.Longest = max(r.Longest, took)
	wrong := r.Wrong
	defer func() {
		if r.Wrong > wrong && len(r.Others) < 10 {
			r.Others = append(r.Others, fmt.Sprintf("%s ended with %s after %s: %s", k.name, status.Code(err), measure.Millis(took), clip(err)))
		}
	}()
	switch status.Code(err) {
	case codes.OK:
		r.Answered++
	case codes.ResourceExhausted, codes.DeadlineExceeded, codes.Unavailable:
		r.Refused++
	case codes.InvalidArgument:
		r.Invalid++
		if !k.beyond {
			r.Wrong++
		}
	default:
		r.Wrong++
	}
}

// notReading asks for large pages on many streams of a connection and reads none; once it is cut off it comes again. It
// returns how often it was cut off.
func notReading(ctx context.Context, addr string) (cut int) {
	for ctx.Err() == nil {
		conn, err := grpc.NewClient(
			"passthrough:///"+addr,
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithStaticStreamWindowSize(64<<10),
		)
		if err != nil {
			return cut
		}
		life, end := context.WithCancel(ctx)
		asked := false
		for range slowReaderStreams {
			stream, err := conn.NewStream(life, &grpc.StreamDesc{ServerStreams: true}, memoryv1.MemoryService_ListMessages_FullMethodName)
			if err != nil {
				break
			}
			req := &memoryv1.ListMessagesRequest{UserId: figureUser, SessionId: largeSession, PageSize: 100}
			if stream.SendMsg(req) == nil && stream.CloseSend() == nil {
				asked = true
			}
		}
		if asked && conn.WaitForStateChange(ctx, connectivity.Ready) { // its connection has ended
			cut++
		}
		end()
		_ = conn.Close()
	}
	return cut
}

// small asks for a small context.
func small(ctx context.Context, c memoryv1.MemoryServiceClient, n int) error {
	_, err := c.BuildContext(ctx, &memoryv1.BuildContextRequest{
		UserId: smallUser, SessionId: "small", Query: []string{"figs", "what does she like?", "Lisbon"}[n%3], Render: memoryv1.Render_RENDER_TEXT,
	})
	return err
}

// The users and sessions of the figure.
const (
	smallUser    = "small"
	longSession  = "long"
	largeSession = "large"
	largeCount   = 40
)

// prepareOverload records a long session of small messages, a short one of large messages, and a small one.
func prepareOverload(ctx context.Context, o options, data string) error {
	s, err := start(ctx, o.binary, data, "--request-timeout", "1m")
	if err != nil {
		return err
	}
	begin := time.Now()
	err = errors.Join(recordLongSession(ctx, s, o.long), recordLargeMessages(ctx, s), recordSmallSession(ctx, s))
	if err == nil {
		err = waitWorked(ctx, s)
	}
	o.report.Note(
		"   prepared in %s: a session of %d messages, one of %d of a mebibyte",
		time.Since(begin).Round(time.Second),
		o.long,
		largeCount,
	)
	return errors.Join(err, s.stop())
}

func recordLongSession(ctx context.Context, c memoryv1.MemoryServiceClient, messages int) error {
	const atOnce = 1000
	for from := 0; from < messages; from += atOnce {
		req := &memoryv1.RecordRequest{UserId: "long", SessionId: longSession, Extract: memoryv1.ExtractMode_EXTRACT_MODE_NONE}
		for n := from; n < min(from+atOnce, messages); n++ {
			role := []memoryv1.Role{memoryv1.Role_ROLE_USER, memoryv1.Role_ROLE_ASSISTANT}[n%2]
			req.Messages = append(req.Messages, &memoryv1.Message{Role: role, Text: fmt.Sprintf("note %d of item %d", n, n%997)})
		}
		if _, err := c.Record(ctx, req); err != nil {
			return fmt.Errorf("record the long session: %w", err)
		}
	}
	return nil
}

func recordLargeMessages(ctx context.Context, c memoryv1.MemoryServiceClient) error {
	for n := range largeCount {
		req := &memoryv1.RecordRequest{
			UserId:    figureUser,
			SessionId: largeSession,
			Extract:   memoryv1.ExtractMode_EXTRACT_MODE_NONE,
			Messages: []*memoryv1.Message{
				{Role: memoryv1.Role_ROLE_USER, Text: filled(fmt.Sprintf("word%d ", n), 1<<20-1<<10)},
			},
		}
		if _, err := c.Record(ctx, req); err != nil {
			return fmt.Errorf("record the large session: %w", err)
		}
	}
	return nil
}

func recordSmallSession(ctx context.Context, c memoryv1.MemoryServiceClient) error {
	for n := range 20 {
		req := &memoryv1.RecordRequest{UserId: smallUser, SessionId: "small", Messages: []*memoryv1.Message{
			{Role: memoryv1.Role_ROLE_USER, Text: fmt.Sprintf("I like figs and saw %d of them in Lisbon", n)},
			{Role: memoryv1.Role_ROLE_ASSISTANT, Text: "They are ripe in September"},
		}}
		if _, err := c.Record(ctx, req); err != nil {
			return fmt.Errorf("record the small session: %w", err)
		}
	}
	return nil
}

// waitWorked waits until the background has come to the end of every session, and makes no more jobs: work of the seeding
// beside the baseline would be taken for what Records cost alone.
func waitWorked(ctx context.Context, s *running) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	work := memoryv1.NewWorkServiceClient(s.conn)
	for _, at := range [][2]string{{"long", longSession}, {figureUser, largeSession}, {smallUser, "small"}} {
		err := measure.Until(ctx, "wait for the background", func(ctx context.Context) (bool, error) {
			r, err := work.WaitForWatermark(ctx, &memoryv1.WaitForWatermarkRequest{UserId: at[0], SessionId: at[1]})
			return r.GetReached(), err
		})
		if err != nil {
			return err
		}
	}
	return waitQuiet(ctx, work)
}
