package erasure_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stratamem/strata/internal/erasure"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/indexing"
	"github.com/stratamem/strata/internal/recall/segment"
	"github.com/stratamem/strata/internal/recall/viewfeed"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/storetest/datafile"
	"github.com/stratamem/strata/internal/testing/storetest/memview"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ada   = memory.UserRef{Tenant: "default", UserID: "ada"}
	inS   = ada.Session("s")
	space = store.TextSpace{View: memory.ViewTranscript, Build: 1}
)

// rig is a sweeper over a real store and a view in memory, in a bubble of package synctest.
type rig struct {
	t     *testing.T
	store *sqlitestore.Store
	texts *faulty
	log   *output
	scope memory.ScopeKey
	key   memory.SessionKey
	meter *counts
	late  time.Duration
}

// faulty is a view that may be down.
type faulty struct {
	*memview.Texts
	down atomic.Bool
}

func (f *faulty) Spaces(ctx context.Context) ([]store.TextSpace, error) {
	if f.down.Load() {
		return nil, errors.New("connection refused by kolibri")
	}
	return f.Texts.Spaces(ctx)
}

// output is what loggers wrote.
type output struct {
	mu sync.Mutex
	b  strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

type counts struct {
	mu       sync.Mutex
	rows     map[string]int64
	failures int
}

func (c *counts) Erased(store string, rows int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows[store] += rows
}

func (c *counts) ErasureFailed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures++
}

// promise runs with a user who said ten things in a session, of which the fourth taught a fact, all indexed and in the view.
func promise(t *testing.T, says string, f func(*testing.T, *rig)) {
	t.Helper()
	t.Run(says, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Path: datafile.New(t)})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			r := &rig{
				t: t, store: s, texts: &faulty{Texts: memview.NewTexts()}, log: &output{}, meter: &counts{rows: map[string]int64{}},
				late: time.Minute,
			}
			r.furnish()
			f(t, r)
		})
	})
}

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func (r *rig) furnish() {
	r.t.Helper()
	ctx := r.t.Context()
	var messages []store.NewMessage
	for n := range 10 {
		messages = append(messages, store.NewMessage{Message: memory.Message{
			ID: fmt.Sprint("m", n+1), Role: memory.RoleUser, Origin: memory.OriginUser, Extract: memory.ExtractAllow, CreateTime: now(),
			Parts: []memory.Part{memory.TextPart(fmt.Sprintf("kolibri number %d", n+1))},
		}})
	}
	_, err := r.store.Append(ctx, store.AppendParams{Ref: inS, Messages: messages, Time: now()})
	r.ok(err)
	head, err := r.store.Session(ctx, inS)
	r.ok(err)
	r.scope, r.key = head.ScopeKey, head.Key
	learnt := memory.Fact{
		ID: "learnt", Text: "Has a kolibri", Category: memory.CategoryOther, Significance: 5, Origin: memory.FactExtracted, ValidFrom: now(),
		CreateTime: now(), UpdateTime: now(), Revision: 1, Evidence: []memory.Evidence{{Session: r.key, SessionID: "s", Seq: 4, MessageID: "m4", Quote: "kolibri number 4"}},
	}
	_, err = r.store.ApplyFacts(ctx, store.FactWrite{User: ada, Scope: r.scope, Changes: []store.FactChange{{Fact: learnt, Cause: memory.CauseExtracted}}, Time: now()})
	r.ok(err)
	x := indexing.NewIndexer(indexing.IndexerOptions{Store: r.store, Turns: analyzer{}, Log: slog.New(slog.DiscardHandler)})
	_, err = x.Index(ctx, ada)
	r.ok(err)
	r.ok(r.texts.Prepare(ctx, space))
	for n := range 10 {
		r.put(int64(n + 1))
	}
}

// analyzer makes documents without vectors.
type analyzer struct{}

func (analyzer) Analyze(_ context.Context, messages []memory.PlacedMessage) (docs []segment.Doc, version int, err error) {
	for _, m := range messages {
		docs = append(docs, segment.Analyze(m))
	}
	return docs, 0, nil
}

func (analyzer) Embed(context.Context, memory.UserRef, memory.Message) (segment.Vector, error) {
	return segment.Vector{}, nil
}

func (analyzer) Wake() {}

// put puts a message into the view.
func (r *rig) put(seq int64) {
	r.t.Helper()
	r.ok(r.texts.Put(r.t.Context(), space, []store.TextRow{{
		Scope: r.scope, Place: memory.Place{Session: r.key, Seq: seq}, Revision: 1, Role: memory.RoleUser, Time: now(), Terms: []string{"kolibri"},
	}}))
}

// begin begins an erasure of some messages, or of more where none is named.
func (r *rig) begin(kind memory.ErasureKind, seqs ...int64) memory.Erasure {
	r.t.Helper()
	p := store.ErasureStart{ID: fmt.Sprint("erasure ", kind), Kind: kind, User: ada, Time: now()}
	if kind != memory.EraseUser {
		p.SessionID = "s"
	}
	for _, n := range seqs {
		p.Seqs = append(p.Seqs, memory.SeqRange{From: n, To: n})
	}
	e, err := r.store.BeginErasure(r.t.Context(), p)
	r.ok(err)
	return e
}

// sweep starts a sweeper; it stops when the test ends.
func (r *rig) sweep() *erasure.Sweeper {
	r.t.Helper()
	facts, err := recall.NewFactCache(r.store, 1<<20)
	r.ok(err)
	target := viewfeed.TranscriptTarget(r.texts)
	o := erasure.Options{
		Store: r.store, Facts: facts, Purged: memory.PurgedWithSweep, Timing: erasure.Timing{Late: r.late}, Owner: "test", Meter: r.meter,
		Log: slog.New(slog.NewTextHandler(r.log, nil)),
		Views: []erasure.View{{Name: "transcript", Find: func(ctx context.Context, user memory.UserRef, e memory.Erasure) (erasure.Rows, error) {
			return target.FindErased(ctx, r.store, viewfeed.Erased{Erasure: e, User: user})
		}}},
	}
	s := erasure.NewSweeper(o)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		<-ended
	})
	return s
}

func (r *rig) erasure(e memory.Erasure) memory.Erasure {
	r.t.Helper()
	e, err := r.store.Erasure(r.t.Context(), e.Tenant, e.ID)
	r.ok(err)
	return e
}

// held are the seqs of the session that the view and the search index hold.
func (r *rig) held() (view, index []int64) {
	r.t.Helper()
	rows, err := r.texts.Rows(r.t.Context(), store.RowQuery[store.TextSpace]{Space: space, Scope: r.scope, Limit: 100})
	r.ok(err)
	for _, row := range rows {
		view = append(view, row.Place.Seq)
	}
	state, err := r.store.SearchIndex(r.t.Context(), store.SearchIndexQuery{User: ada})
	r.ok(err)
	for _, info := range state.Segments {
		found, err := r.store.Segments(r.t.Context(), ada, []int64{info.No})
		r.ok(err)
		places, err := segment.Places(found[0].Data)
		r.ok(err)
		for _, p := range places {
			index = append(index, p.Seq)
		}
	}
	return view, index
}

func (r *rig) receipt(e memory.Erasure, name string) memory.StoreReceipt {
	for _, s := range r.erasure(e).Receipt {
		if s.Store == name {
			return s
		}
	}
	return memory.StoreReceipt{}
}

// pass lets virtual time pass and waits until nobody has anything to do.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestSweeper(t *testing.T) {
	promise(t, "erased messages leave the facts, the search index and the views, also when the process died right after it began", func(t *testing.T, r *rig) {
		e := r.begin(memory.EraseMessages, 4, 5)
		r.sweep()
		pass(time.Second)
		view, index := r.held()
		if want := []int64{1, 2, 3, 6, 7, 8, 9, 10}; !slices.Equal(view, want) || !slices.Equal(index, want) {
			t.Errorf("the view holds %v, the index %v", view, index)
		}
		if _, err := r.store.Fact(t.Context(), ada, "learnt"); memory.ReasonOf(err) != memory.ReasonFactNotFound {
			t.Errorf("the fact: %v", err)
		}
		if got := r.receipt(e, "transcript"); got != (memory.StoreReceipt{Store: "transcript", Found: 2, Deleted: 2, PurgedBy: memory.PurgedByCompaction}) {
			t.Errorf("receipt %+v", got)
		}
		if got := r.receipt(e, memory.PrimaryStore); got.Found == 0 || got.Found != got.Deleted || got.Remaining != 0 || got.PurgedBy != memory.PurgedWithSweep {
			t.Errorf("receipt %+v", got)
		}
		if r.meter.rows["transcript"] != 2 || r.meter.rows[memory.PrimaryStore] == 0 {
			t.Errorf("counted %v", r.meter.rows)
		}
	})
	promise(t, "a session and a user leave nothing", func(t *testing.T, r *rig) {
		for _, kind := range []memory.ErasureKind{memory.EraseSession, memory.EraseUser} {
			e := r.begin(kind)
			s := r.sweep()
			pass(2 * time.Minute)
			if e, err := s.Wait(t.Context(), "default", e.ID); err != nil || !e.IsDone() {
				t.Errorf("%v: %+v, %v", kind, e, err)
			}
			if view, index := r.held(); len(view)+len(index) > 0 {
				t.Errorf("%v: the view holds %v, the index %v", kind, view, index)
			}
		}
	})
	promise(t, "it is done only when a sweep that began when no write could be late any more found nothing", func(t *testing.T, r *rig) {
		e := r.begin(memory.EraseMessages, 4)
		r.sweep()
		pass(10 * time.Second)
		if r.erasure(e).IsDone() || r.erasure(e).Passes != 1 {
			t.Errorf("at once: %+v", r.erasure(e))
		}
		r.put(4) // a feeder had read it before
		pass(time.Minute)
		if view, _ := r.held(); slices.Contains(view, 4) || r.erasure(e).IsDone() {
			t.Errorf("after the second sweep the view holds %v: %+v", view, r.erasure(e))
		}
		pass(time.Minute)
		if !r.erasure(e).IsDone() || r.receipt(e, "transcript").Deleted != 2 {
			t.Errorf("in the end: %+v", r.erasure(e))
		}
	})
	promise(t, "where no write can be late, one sweep is enough, and who waits is told", func(t *testing.T, r *rig) {
		r.late = 0
		e := r.begin(memory.EraseMessages, 4)
		s := r.sweep()
		got, err := s.Wait(t.Context(), "default", e.ID)
		if err != nil || !got.IsDone() || got.DoneTime.IsZero() {
			t.Errorf("%+v, %v", got, err)
		}
		if count, oldest, err := s.Pending(t.Context()); count != 0 || !oldest.IsZero() || err != nil {
			t.Errorf("%d pending since %v, %v", count, oldest, err)
		}
	})
	promise(t, "a wait that ends before returns the erasure as it is", func(t *testing.T, r *rig) {
		e := r.begin(memory.EraseMessages, 4)
		s := r.sweep()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if got, err := s.Wait(ctx, "default", e.ID); err != nil || got.IsDone() || got.Passes != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	})
	promise(t, "a view that is down holds up no other store, is tried again, and what is kept of the failure has no content", func(t *testing.T, r *rig) {
		r.texts.down.Store(true)
		e := r.begin(memory.EraseMessages, 4)
		s := r.sweep()
		pass(time.Second)
		if _, index := r.held(); slices.Contains(index, 4) {
			t.Errorf("the index holds %v", index)
		}
		if got := r.erasure(e); got.Attempts == 0 || !strings.HasPrefix(got.Reason, "transcript") || r.meter.failures == 0 {
			t.Errorf("%+v, %d failures", got, r.meter.failures)
		}
		if count, oldest, err := s.Pending(t.Context()); count != 1 || oldest.IsZero() || err != nil {
			t.Errorf("%d pending since %v, %v", count, oldest, err)
		}
		if strings.Contains(r.erasure(e).Reason, "kolibri") {
			t.Errorf("reason %q", r.erasure(e).Reason)
		}
		r.texts.down.Store(false)
		pass(3 * time.Minute)
		if got := r.erasure(e); !got.IsDone() || got.Attempts != 0 || got.Reason != "" {
			t.Errorf("%+v", got)
		}
	})
	promise(t, "what it does twice it counts once", func(t *testing.T, r *rig) {
		e := r.begin(memory.EraseMessages, 4)
		s := r.sweep()
		r.ok(s.TakeFacts(t.Context(), ada, e))
		r.ok(s.TakeFacts(t.Context(), ada, e))
		before := r.receipt(e, memory.PrimaryStore).Deleted
		pass(3 * time.Minute)
		first := r.receipt(e, memory.PrimaryStore)
		if got := r.erasure(e); !got.IsDone() || first.Deleted < before || first.Found != first.Deleted {
			t.Errorf("%+v", got)
		}
	})
}
