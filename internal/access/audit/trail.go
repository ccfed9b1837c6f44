package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/workloop"
)

// Fate is what became of an entry at a sink: labels of a metric.
type Fate string

// The fates.
const (
	Written Fate = "written"
	Failed  Fate = "failed"   // it could not be written
	Dropped Fate = "dropped"  // too many waited to be written
	LeftOut Fate = "left_out" // the entry of a refused call, of which too many came
)

// Fates are all there are, for metrics that show zeros.
func Fates() []Fate { return []Fate{Written, Failed, Dropped, LeftOut} }

// Sink is where entries go.
type Sink string

// The sinks.
const (
	SinkStore Sink = "store"
	SinkLines Sink = "lines"
)

// Meter counts entries. It must not block.
type Meter interface {
	AuditEntries(sink Sink, fate Fate, n int)
}

// Options are what a Trail needs.
type Options struct {
	Store  store.Audit
	Hasher Hasher
	Lines  io.Writer // gets each entry as a line of JSON too; nil for none
	Now    func() time.Time
	NewID  func() string
	Meter  Meter
	Log    *slog.Logger
}

const (
	maxWaiting = 10_000           // entries that Note took and that are not stored yet
	batch      = 500              // that are stored at once
	patience   = 10 * time.Second // with the store, for the entry of one call
)

// Trail writes entries. It is safe for concurrent use.
type Trail struct {
	o        Options
	loop     *workloop.Loop
	refusals refusals

	lines sync.Mutex // one line at a time

	storing sync.Mutex // held while what waits is stored
	mu      sync.Mutex
	waiting []store.AuditEntry
}

// NewTrail makes a Trail. Run must run for what Note takes to be stored.
func NewTrail(o Options) *Trail {
	t := &Trail{o: o}
	t.loop = workloop.NewLoop(workloop.LoopOptions{
		Work: func(ctx context.Context) (time.Duration, error) { return workloop.Forever, t.Flush(ctx) },
		Failed: func(ctx context.Context, f workloop.Failure) {
			o.Log.ErrorContext(ctx, "entries of the audit could not be stored", "error", f.Err, "again", f.Again)
		},
	})
	return t
}

// Run stores what Note takes, until ctx ends. What is left then Flush stores.
func (t *Trail) Run(ctx context.Context) error { return t.loop.Run(ctx) }

// Write stores the call's entry, on disk before it returns. The caller may be gone by then: its call was made.
func (t *Trail) Write(ctx context.Context, c Call) error {
	e := t.o.Hasher.entry(c, t.o.NewID(), t.o.Now())
	t.line(ctx, e)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := t.o.Store.AddAuditEntries(ctx, []store.AuditEntry{e}); err != nil {
		t.o.Meter.AuditEntries(SinkStore, Failed, 1)
		t.o.Log.ErrorContext(ctx, "an entry of the audit could not be stored", "call", c.Method, "outcome", c.Outcome, "error", err)
		return unavailable(err)
	}
	t.o.Meter.AuditEntries(SinkStore, Written, 1)
	return nil
}

// unavailable withholds the reply of a call whose entry could not be stored.
func unavailable(cause error) error {
	return &memory.Error{
		Kind: memory.KindUnavailable, Reason: memory.ReasonAuditUnavailable, Err: cause,
		Message: "the call was done, and is not answered: its entry in the audit could not be stored; look what is there before you repeat it",
	}
}

// Note has the call's entry stored soon, and never blocks: of too many the further ones are dropped and counted.
func (t *Trail) Note(ctx context.Context, c Call) {
	t.note(ctx, t.o.Hasher.entry(c, t.o.NewID(), t.o.Now()))
}

// NoteRefused is Note of a call that was refused before anything was done: of many in a tenant some have no entry, and the next one says
// how many.
func (t *Trail) NoteRefused(ctx context.Context, c Call) {
	e := t.o.Hasher.entry(c, t.o.NewID(), t.o.Now())
	if !t.refusals.admit(&e) {
		t.o.Meter.AuditEntries(SinkStore, LeftOut, 1)
		return
	}
	t.note(ctx, e)
}

func (t *Trail) note(ctx context.Context, e store.AuditEntry) {
	t.line(ctx, e)
	t.mu.Lock()
	isFull := len(t.waiting) >= maxWaiting
	if !isFull {
		t.waiting = append(t.waiting, e)
	}
	t.mu.Unlock()
	if isFull {
		t.o.Meter.AuditEntries(SinkStore, Dropped, 1)
		return
	}
	t.loop.Wake()
}

// Flush stores what Note took before it was called. What could not be stored waits on.
func (t *Trail) Flush(ctx context.Context) error {
	t.storing.Lock()
	defer t.storing.Unlock()
	for {
		t.mu.Lock()
		some := t.waiting[:min(len(t.waiting), batch)]
		t.mu.Unlock()
		if len(some) == 0 {
			return nil
		}
		if err := t.o.Store.AddAuditEntries(ctx, some); err != nil {
			return fmt.Errorf("store %d entries: %w", len(some), err)
		}
		t.o.Meter.AuditEntries(SinkStore, Written, len(some))
		t.mu.Lock()
		t.waiting = append([]store.AuditEntry(nil), t.waiting[len(some):]...)
		t.mu.Unlock()
	}
}

// line writes the entry to Lines. What cannot be written there is in the store all the same.
func (t *Trail) line(ctx context.Context, e store.AuditEntry) {
	if t.o.Lines == nil {
		return
	}
	b, err := Line(e)
	if err == nil {
		t.lines.Lock()
		_, err = t.o.Lines.Write(b)
		t.lines.Unlock()
	}
	if err != nil {
		t.o.Meter.AuditEntries(SinkLines, Failed, 1)
		t.o.Log.ErrorContext(ctx, "a line of the audit could not be written", "error", err)
		return
	}
	t.o.Meter.AuditEntries(SinkLines, Written, 1)
}

// Query asks for a page of a tenant's entries, by plain ids. Fields that are not set ask for all.
type Query struct {
	Tenant    string
	UserID    string
	SessionID string // of UserID
	RequestID string
	Principal string // see Hasher.Named
	Call      string
	Outcome   string
	From      time.Time
	Until     time.Time
	Before    *store.AuditCursor
	Limit     int // at least 1
}

// List returns a page of entries, the latest first, those that Note took here before among them.
func (t *Trail) List(ctx context.Context, q Query) ([]store.AuditEntry, error) {
	if err := t.Flush(ctx); err != nil {
		return nil, err
	}
	h := t.o.Hasher
	sq := store.AuditQuery{
		Tenant: q.Tenant, Principal: h.Named(q.Tenant, q.Principal), Call: q.Call, Outcome: q.Outcome, From: q.From, Until: q.Until,
		Before: q.Before, Limit: q.Limit,
	}
	user := memory.UserRef{Tenant: q.Tenant, UserID: q.UserID}
	if q.UserID != "" {
		sq.User = h.User(user)
	}
	if q.SessionID != "" {
		sq.Session = h.Session(user.Session(q.SessionID))
	}
	if q.RequestID != "" {
		sq.Request = h.Request(q.Tenant, q.RequestID)
	}
	all, err := t.o.Store.ListAuditEntries(ctx, sq)
	if err != nil {
		return nil, fmt.Errorf("list the audit: %w", err)
	}
	return all, nil
}

// Close stores what is left, for patience at most.
func (t *Trail) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := t.Flush(ctx)
	if err == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.o.Meter.AuditEntries(SinkStore, Failed, len(t.waiting))
	return errors.Join(fmt.Errorf("%d entries of the audit are lost", len(t.waiting)), err)
}
