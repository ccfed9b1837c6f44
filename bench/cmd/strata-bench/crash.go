package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
)

const (
	crashWriters  = 8
	crashSessions = 4
	minAckRate    = 100 // acknowledged turns a second before each kill
)

// crashFigure kills the server under load and counts what its clients were promised and did not get. The sabotaged build,
// which acknowledges before it writes, must be found out: else the figure proves nothing.
func crashFigure(ctx context.Context, o options) error {
	t, err := crashLoop(ctx, o, o.binary, o.cycles)
	if err != nil {
		return err
	}
	o.report.Note(
		"   %d × kill -9: %d turns acknowledged, least rate before a kill %.0f/s; %d unacknowledged turns were sent again, %d of them had been stored",
		o.cycles,
		t.acknowledged,
		t.leastRate,
		t.resent,
		t.replayed,
	)
	o.report.Zero(fmt.Sprintf("kill -9, %d cycles: acknowledged messages lost", o.cycles), t.lost)
	o.report.Zero(fmt.Sprintf("kill -9, %d cycles: messages doubled", o.cycles), t.doubled)
	o.report.Zero(fmt.Sprintf("kill -9, %d cycles: out of order, gaps, turns torn apart", o.cycles), t.disordered)
	o.report.AtLeast("kill -9: acknowledged turns a second, slowest cycle", t.leastRate, minAckRate, "/s")
	if o.twin == "" {
		o.report.Note("   no -twin named: the sabotaged build was not run")
		return nil
	}
	red, err := crashLoop(ctx, o, o.twin, 3)
	if err != nil {
		return fmt.Errorf("sabotaged build: %w", err)
	}
	o.report.Note("   the sabotaged build that acknowledges before it writes lost %d messages", red.lost)
	if red.lost == 0 {
		return errors.New("the sabotaged build lost nothing: the figure cannot tell a server that lies from one that does not")
	}
	return nil
}

// toll is what a crash loop found.
type toll struct {
	acknowledged, resent, replayed int
	lost, doubled, disordered      int
	leastRate                      float64
}

func crashLoop(ctx context.Context, o options, binary string, cycles int) (toll, error) {
	data, err := o.path("crash-" + filepath.Base(binary) + ".db")
	if err != nil {
		return toll{}, err
	}
	rng := rand.New(rand.NewPCG(4, 9))
	t := toll{leastRate: 1e9}
	l := newLedger()
	for cycle := range cycles {
		if err := crashCycle(ctx, binary, data, l, cycle, time.Duration(300+rng.IntN(700))*time.Millisecond); err != nil {
			return t, fmt.Errorf("cycle %d: %w", cycle, err)
		}
		t.leastRate = min(t.leastRate, l.rate)
		if err := crashVerify(ctx, binary, data, l, cycle); err != nil {
			return t, fmt.Errorf("verify cycle %d: %w", cycle, err)
		}
	}
	for _, w := range l.writers {
		t.acknowledged += len(w.acknowledged)
	}
	t.resent, t.replayed = l.resent, l.replayed
	s, err := start(ctx, binary, data)
	if err != nil {
		return t, err
	}
	err = l.count(ctx, s, &t)
	return t, errors.Join(err, s.kill())
}

// crashCycle writes with all writers until the server is killed.
func crashCycle(ctx context.Context, binary, data string, l *ledger, cycle int, after time.Duration) error {
	s, err := start(ctx, binary, data)
	if err != nil {
		return err
	}
	before := l.total()
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range crashWriters {
		w := l.writer(cycle, i)
		wg.Go(func() { w.write(ctx, s) })
	}
	time.Sleep(after)
	err = s.Kill()
	took := time.Since(begin)
	wg.Wait()
	s.conn.Close()
	l.rate = float64(l.total()-before) / took.Seconds()
	return err
}

// crashVerify starts the server again, sends what was not acknowledged once more, as a client does, and stops it
// without warning too.
func crashVerify(ctx context.Context, binary, data string, l *ledger, cycle int) error {
	s, err := start(ctx, binary, data)
	if err != nil {
		return err
	}
	return errors.Join(l.resend(ctx, s, cycle), s.kill())
}

// resend sends what the writers of a cycle got no answer to, until it is acknowledged, for a minute each: what the server cannot do yet
// can be repeated.
func (l *ledger) resend(ctx context.Context, c memoryv1.MemoryServiceClient, cycle int) error {
	for i := range crashWriters {
		w := l.writer(cycle, i)
		var r *memoryv1.RecordResponse
		trying, cancel := context.WithTimeout(ctx, time.Minute)
		err := measure.Until(trying, "send again", func(ctx context.Context) (bool, error) {
			var err error
			r, err = c.Record(ctx, w.request(w.next))
			if code := status.Code(err); code == codes.Unavailable || code == codes.Aborted {
				return false, nil
			}
			return err == nil, err
		})
		cancel()
		if err != nil {
			return err
		}
		l.resent++
		if r.GetReplayed() {
			l.replayed++
		}
		w.acknowledged = append(w.acknowledged, w.next)
		w.next++
	}
	return nil
}

// ledger is what the clients know: it lives in this process, which is never killed.
type ledger struct {
	writers          map[[2]int]*writer
	resent, replayed int
	rate             float64
}

func newLedger() *ledger { return &ledger{writers: map[[2]int]*writer{}} }

// writer is one client of one cycle. Its turns have request ids; every other writer leaves the message ids to the
// server, so that only the request id keeps a turn from being stored twice.
type writer struct {
	cycle, no    int
	next         int
	acknowledged []int
}

func (l *ledger) writer(cycle, no int) *writer {
	key := [2]int{cycle, no}
	if l.writers[key] == nil {
		l.writers[key] = &writer{cycle: cycle, no: no}
	}
	return l.writers[key]
}

// total is called only while no writer runs.
func (l *ledger) total() int {
	n := 0
	for _, w := range l.writers {
		n += len(w.acknowledged)
	}
	return n
}

func (w *writer) session() string { return fmt.Sprintf("crash-%04d-%d", w.cycle, w.no%crashSessions) }

// text names a message in the world: cycle, writer, turn, place in the turn.
func (w *writer) text(turn, place int) string {
	return fmt.Sprintf("cycle %d writer %d turn %d place %d", w.cycle, w.no, turn, place)
}

func (w *writer) request(turn int) *memoryv1.RecordRequest {
	req := &memoryv1.RecordRequest{UserId: figureUser, SessionId: w.session(), RequestId: fmt.Sprintf("w%d-t%d", w.no, turn)}
	for place := range 2 {
		m := &memoryv1.Message{Role: memoryv1.Role_ROLE_USER, Text: w.text(turn, place)}
		if w.no < crashWriters/2 {
			m.Id = fmt.Sprintf("w%d-t%d-p%d", w.no, turn, place)
		}
		req.Messages = append(req.Messages, m)
	}
	return req
}

// write records turn after turn until a call fails.
func (w *writer) write(ctx context.Context, c memoryv1.MemoryServiceClient) {
	for {
		if _, err := c.Record(ctx, w.request(w.next)); err != nil {
			return
		}
		w.acknowledged = append(w.acknowledged, w.next)
		w.next++
	}
}

// count reads every session and compares it with the ledger.
func (l *ledger) count(ctx context.Context, c memoryv1.MemoryServiceClient, t *toll) error {
	read := map[string][]*memoryv1.Message{}
	for _, w := range l.writers {
		if _, ok := read[w.session()]; ok {
			continue
		}
		messages, err := listAll(ctx, c, w.session())
		if err != nil {
			return err
		}
		read[w.session()] = messages
		t.disordered += gaps(messages)
	}
	for _, w := range l.writers {
		w.compare(read[w.session()], t)
	}
	return nil
}

// gaps counts the messages that do not have the seq after the one before.
func gaps(messages []*memoryv1.Message) int {
	n := 0
	for i, m := range messages {
		if m.GetSeq() != int64(i+1) {
			n++
		}
	}
	return n
}

// compare finds each acknowledged message exactly once, in the order of its acknowledgement, its turn together.
func (w *writer) compare(messages []*memoryv1.Message, t *toll) {
	at := map[string][]int64{}
	for _, m := range messages {
		text := m.GetText()
		if parts := m.GetParts(); len(parts) == 1 {
			text = parts[0].GetText().GetText()
		}
		at[text] = append(at[text], m.GetSeq())
	}
	last := int64(0)
	for _, turn := range w.acknowledged {
		first, second := at[w.text(turn, 0)], at[w.text(turn, 1)]
		t.lost += missing(first) + missing(second)
		t.doubled += repeated(first) + repeated(second)
		if len(first) == 0 || len(second) == 0 {
			continue
		}
		if first[0] <= last || second[0] != first[0]+1 {
			t.disordered++
		}
		last = second[0]
	}
}

func missing(at []int64) int {
	if len(at) == 0 {
		return 1
	}
	return 0
}

func repeated(at []int64) int { return max(0, len(at)-1) }

func listAll(ctx context.Context, c memoryv1.MemoryServiceClient, session string) ([]*memoryv1.Message, error) {
	return listSession(ctx, c, figureUser, session)
}

// listSession returns the messages of a user's session.
func listSession(ctx context.Context, c memoryv1.MemoryServiceClient, user, session string) ([]*memoryv1.Message, error) {
	var all []*memoryv1.Message
	req := &memoryv1.ListMessagesRequest{UserId: user, SessionId: session, PageSize: listPage}
	for {
		r, err := c.ListMessages(ctx, req)
		if status.Code(err) == codes.NotFound {
			return nil, nil // a lost session has no messages
		}
		if err != nil {
			return nil, fmt.Errorf("list messages of %s: %w", session, err)
		}
		all = append(all, r.GetMessages()...)
		if req.PageToken = r.GetNextPageToken(); req.GetPageToken() == "" {
			return all, nil
		}
	}
}
