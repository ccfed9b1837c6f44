package viewfeed_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/viewfeed"
	"github.com/stratamem/strata/internal/store"
)

// downFor fails that many calls of Rows.
type downFor struct {
	store.TextView

	mu    sync.Mutex
	calls int
}

func (d *downFor) Rows(ctx context.Context, q store.RowQuery[store.TextSpace]) ([]store.RowState, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls > 0 {
		d.calls--
		return nil, errors.New("connection reset")
	}
	return d.TextView.Rows(ctx, q)
}

// noTenantsFor fails that many calls of Tenants.
type noTenantsFor struct {
	viewfeed.VerifyStore
	calls int
}

func (s *noTenantsFor) Tenants(ctx context.Context) ([]string, error) {
	if s.calls > 0 {
		s.calls--
		return nil, errors.New("connection reset")
	}
	return s.VerifyStore.Tenants(ctx)
}

// meanwhile does something once, after users were listed.
type meanwhile struct {
	viewfeed.VerifyStore
	once func()
}

func (s meanwhile) ListUsers(ctx context.Context, q store.UserQuery) ([]memory.User, error) {
	users, err := s.VerifyStore.ListUsers(ctx, q)
	s.once()
	return users, err
}

// between does something once, after facts or vectors of a user were read.
type between struct {
	viewfeed.VerifyStore
	facts, vectors func()
}

func (s between) FactsSince(ctx context.Context, user memory.UserRef, after int64) (store.FactState, error) {
	out, err := s.VerifyStore.FactsSince(ctx, user, after)
	s.facts()
	return out, err
}

func (s between) FactVectors(ctx context.Context, q store.FactVectorQuery) ([]store.FactVector, error) {
	out, err := s.VerifyStore.FactVectors(ctx, q)
	s.vectors()
	return out, err
}

func (v *fixture) verifier(targets ...viewfeed.Target) *viewfeed.Verifier {
	v.t.Helper()
	return v.verifierOf(v.store, targets...)
}

// verifierOf runs until the test ends.
func (v *fixture) verifierOf(primary viewfeed.VerifyStore, targets ...viewfeed.Target) *viewfeed.Verifier {
	v.t.Helper()
	x := viewfeed.NewVerifier(viewfeed.VerifierOptions{Store: primary, Targets: targets, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = x.Run(ctx) })
	v.t.Cleanup(func() { cancel(); running.Wait() })
	return x
}

// verify compares all views and returns the job when it has ended.
func (v *fixture) verify(x *viewfeed.Verifier, mode viewfeed.VerifyMode) viewfeed.VerifyJob {
	v.t.Helper()
	if _, err := x.Verify(context.Background(), nil, mode); err != nil {
		v.t.Fatal(err)
	}
	pass(time.Minute)
	return x.Jobs()[0]
}

// checks leave out what is 0.
func wantChecks(t *testing.T, got viewfeed.VerifyJob, want ...viewfeed.ViewCheck) {
	t.Helper()
	if got.State != memory.JobApplied || got.Reason != "" {
		t.Errorf("the job ended as %s: %s", got.State, got.Reason)
	}
	if diff := cmp.Diff(want, got.Checks); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
}

// fill stores users of two tenants with sessions and facts, feeds the views and returns how many rows each holds.
func (v *fixture) fill(users, each int) (rows int64) {
	v.t.Helper()
	for n := range users {
		user := memory.UserRef{Tenant: fmt.Sprint("tenant-", n%2), UserID: fmt.Sprint("user-", n/2)}
		var facts []string
		for i := range each {
			v.say(user.Session(fmt.Sprint("s", i%3)), fmt.Sprint("words ", i))
			facts = append(facts, fmt.Sprint("likes tea ", i))
		}
		v.learn(user, facts...)
	}
	v.embed(1, 2)
	_, stop := v.feeders("a")
	pass(time.Minute)
	v.wantAllTold()
	stop()
	return int64(users * each)
}

// exported is everything stored, as it is exported.
func (v *fixture) exported() []store.Record {
	v.t.Helper()
	ctx := context.Background()
	tenants, err := v.store.Tenants(ctx)
	if err != nil {
		v.t.Fatal(err)
	}
	var all []store.Record
	for _, tenant := range tenants {
		users, err := v.store.ListUsers(ctx, store.UserQuery{Tenant: tenant, Limit: 1000})
		if err != nil {
			v.t.Fatal(err)
		}
		for _, u := range users {
			if err := v.store.Export(ctx, u.Ref, func(r store.Record) error { all = append(all, r); return nil }); err != nil {
				v.t.Fatal(err)
			}
		}
	}
	return all
}

// damage makes rows of each kind wrong in every view.
type damage struct{ missing, stale, orphan, foreign int }

// corrupt damages the views, rows drawn by the seed.
func (v *fixture) corrupt(d damage) {
	v.t.Helper()
	ctx, draw := context.Background(), rand.New(rand.NewPCG(1, 2))
	vectors, err := v.vectors.Rows(ctx, store.RowQuery[store.VectorSpace]{Space: firstVectors, Limit: 100_000})
	must := func(err error) {
		v.t.Helper()
		if err != nil {
			v.t.Fatal(err)
		}
	}
	must(err)
	draw.Shuffle(len(vectors), func(i, j int) { vectors[i], vectors[j] = vectors[j], vectors[i] })
	vector := func(r store.RowState) []store.VectorRow {
		return []store.VectorRow{{Scope: r.Scope, FactID: r.FactID, Revision: r.Revision, Vector: []float32{0, 1}}}
	}
	for i, r := range vectors {
		switch {
		case i < d.missing:
			must(v.vectors.Remove(ctx, firstVectors, r.Scope, []store.RowState{r}))
		case i < d.missing+d.stale:
			r.Revision += 7
			must(v.vectors.Put(ctx, firstVectors, vector(r)))
		case i < d.missing+d.stale+d.orphan:
			r.FactID = fmt.Sprint("nobodys-", i)
			must(v.vectors.Put(ctx, firstVectors, vector(r)))
		case i < d.missing+d.stale+d.orphan+d.foreign:
			r.Scope = memory.ScopeKey(fmt.Sprint("foreign-", i%3))
			must(v.vectors.Put(ctx, firstVectors, vector(r)))
		}
	}
	for _, view := range []memory.View{memory.ViewFacts, memory.ViewTranscript} {
		space := store.TextSpace{View: view, Build: 1}
		rows := v.textRows(view, 1)
		draw.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		for i, r := range rows {
			row := store.TextRow{Scope: r.Scope, FactID: r.FactID, Place: r.Place, Revision: r.Revision}
			switch {
			case i < d.missing:
				must(v.texts.Remove(ctx, space, r.Scope, []store.RowState{r}))
			case i < d.missing+d.stale:
				row.Revision += 7
				must(v.texts.Put(ctx, space, []store.TextRow{row}))
			case i < d.missing+d.stale+d.orphan:
				if view == memory.ViewFacts {
					row.FactID = fmt.Sprint("nobodys-", i)
				} else {
					row.Place.Seq += 1_000_000 * int64(i+1)
					row.Place.Session = "nobodys"
				}
				must(v.texts.Put(ctx, space, []store.TextRow{row}))
			case i < d.missing+d.stale+d.orphan+d.foreign:
				row.Scope = memory.ScopeKey(fmt.Sprint("foreign-", i%3, "-", view))
				must(v.texts.Put(ctx, space, []store.TextRow{row}))
			}
		}
	}
}

func TestVerify(t *testing.T) {
	viewsInBubble(t, "one row in a hundred is damaged: all are found and repaired in one pass, and what is stored stays as it was", func(t *testing.T, v *fixture) {
		rows := v.fill(20, 100)
		before := v.exported()
		d := damage{missing: 5, stale: 5, orphan: 5, foreign: 5} // a hundredth of 2,000
		v.corrupt(d)
		x := v.verifier(v.targets()...)
		wrong := viewfeed.ViewCheck{Checked: rows, Missing: 5, Stale: 5, Orphan: 10}
		all := func(repaired int64) (out []viewfeed.ViewCheck) {
			for _, target := range v.targets() {
				c := wrong
				c.View, c.Repaired = target.View(), repaired
				out = append(out, c)
			}
			return out
		}
		wantChecks(t, v.verify(x, viewfeed.VerifyDryRun), all(0)...)
		wantChecks(t, v.verify(x, viewfeed.VerifyRepair), all(20)...)
		wrong = viewfeed.ViewCheck{Checked: rows}
		wantChecks(t, v.verify(x, viewfeed.VerifyRepair), all(0)...)
		if diff := cmp.Diff(before, v.exported()); diff != "" {
			t.Errorf("the primary store changed (-before +after):\n%s", diff)
		}
	})

	viewsInBubble(t, "what the view was not fed yet is pending, not wrong", func(t *testing.T, v *fixture) {
		rows := v.fill(2, 10)
		user := memory.UserRef{Tenant: "tenant-0", UserID: "user-0"}
		v.say(user.Session("s0"), "more words")
		v.learn(user, "likes coffee")
		facts := v.state(user).Facts
		v.forgetFact(user, facts[0].ID)
		got := v.verify(v.verifier(v.targets()...), viewfeed.VerifyRepair)
		wantChecks(t, got,
			viewfeed.ViewCheck{View: memory.ViewVectors, Checked: rows - 1, Pending: 1},
			viewfeed.ViewCheck{View: memory.ViewFacts, Checked: rows - 1, Pending: 1},
			viewfeed.ViewCheck{View: memory.ViewTranscript, Checked: rows, Pending: 1},
		)
	})

	viewsInBubble(t, "nothing is wrong while users write and the views are fed", func(t *testing.T, v *fixture) {
		v.fill(4, 20)
		v.feeders("b")
		x := v.verifier(v.targets()...)
		user := memory.UserRef{Tenant: "tenant-1", UserID: "user-1"}
		for i := range 40 {
			if _, err := x.Verify(context.Background(), nil, viewfeed.VerifyRepair); err != nil {
				t.Fatal(err)
			}
			v.say(user.Session(fmt.Sprint("s", i%5)), fmt.Sprint("new words ", i))
			v.learn(user, fmt.Sprint("new fact ", i))
			v.embed(1, 2)
			if i%4 == 0 {
				v.forgetFact(user, v.state(user).Facts[0].ID)
			}
			pass(700 * time.Millisecond)
			for _, c := range x.Jobs()[0].Checks {
				if c.Wrong() > 0 {
					t.Fatalf("after %d rounds: %+v", i, c)
				}
			}
		}
	})

	viewsInBubble(t, "a fact that is forgotten between two reads of the primary store is no orphan", func(t *testing.T, v *fixture) {
		v.fill(1, 10)
		user := memory.UserRef{Tenant: "tenant-0", UserID: "user-0"}
		never := func() {}
		for _, primary := range []between{
			{v.store, sync.OnceFunc(func() { v.forgetFact(user, v.state(user).Facts[0].ID) }), never},
			{v.store, never, sync.OnceFunc(func() { v.forgetFact(user, v.state(user).Facts[1].ID) })},
		} {
			got := v.verify(v.verifierOf(primary, viewfeed.VectorTarget(v.vectors)), viewfeed.VerifyRepair).Checks[0]
			if got.Wrong() > 0 {
				t.Errorf("%+v", got)
			}
		}
	})

	viewsInBubble(t, "a view that was deleted is filled again", func(t *testing.T, v *fixture) {
		rows := v.fill(2, 10)
		space := store.TextSpace{View: memory.ViewTranscript, Build: 1}
		if err := v.texts.Drop(context.Background(), space); err != nil {
			t.Fatal(err)
		}
		x := v.verifier(viewfeed.TranscriptTarget(v.texts))
		wantChecks(t, v.verify(x, viewfeed.VerifyDryRun), viewfeed.ViewCheck{View: memory.ViewTranscript, Checked: rows, Missing: rows})
		wantChecks(t, v.verify(x, viewfeed.VerifyRepair), viewfeed.ViewCheck{View: memory.ViewTranscript, Checked: rows, Missing: rows, Repaired: rows})
		if n := int64(len(v.textRows(memory.ViewTranscript, 1))); n != rows {
			t.Errorf("%d rows of %d", n, rows)
		}
	})

	viewsInBubble(t, "a view that fails now and then is verified from where it failed, and one that stays down is given up with a reason", func(t *testing.T, v *fixture) {
		rows := v.fill(4, 10)
		flaky := &downFor{TextView: v.texts, calls: 3}
		x := v.verifier(viewfeed.FactTarget(flaky))
		job := v.verify(x, viewfeed.VerifyRepair)
		wantChecks(t, job, viewfeed.ViewCheck{View: memory.ViewFacts, Checked: rows})
		if job.Users != 4 {
			t.Errorf("%d users were compared", job.Users)
		}
		flaky.calls = 1000
		if job = v.verify(x, viewfeed.VerifyRepair); job.State != memory.JobParked || job.Reason == "" {
			t.Errorf("the job ended as %s: %q", job.State, job.Reason)
		}
	})

	viewsInBubble(t, "a primary store that fails at the first call is compared all the same", func(t *testing.T, v *fixture) {
		rows := v.fill(4, 10)
		x := v.verifierOf(&noTenantsFor{v.store, 1}, viewfeed.FactTarget(v.texts))
		wantChecks(t, v.verify(x, viewfeed.VerifyRepair), viewfeed.ViewCheck{View: memory.ViewFacts, Checked: rows})
	})

	viewsInBubble(t, "nothing is wrong when the view is rebuilt while a page of users is compared", func(t *testing.T, v *fixture) {
		rows := v.fill(2, 10)
		for _, target := range v.targets() {
			primary := meanwhile{v.store, sync.OnceFunc(func() {
				if _, err := v.store.RebuildView(context.Background(), target.View(), time.Now().UTC()); err != nil {
					t.Error(err)
				}
				_, stop := v.feeders("b")
				pass(30 * time.Second)
				v.wantAllTold()
				stop()
			})}
			got := v.verify(v.verifierOf(primary, target), viewfeed.VerifyDryRun).Checks[0]
			if got.Wrong() > 0 || got.Checked+got.Pending != rows {
				t.Errorf("of %d rows: %+v", rows, got)
			}
		}
	})

	viewsInBubble(t, "a call while a job runs answers that job, and another mode is refused", func(t *testing.T, v *fixture) {
		x := viewfeed.NewVerifier(viewfeed.VerifierOptions{Store: v.store, Targets: v.targets(), Log: slog.New(slog.DiscardHandler)})
		first, err := x.Verify(context.Background(), nil, viewfeed.VerifyRepair)
		if err != nil {
			t.Fatal(err)
		}
		again, err := x.Verify(context.Background(), []memory.View{memory.ViewFacts}, viewfeed.VerifyRepair)
		if err != nil || again.ID != first.ID {
			t.Errorf("again: %+v, %v", again, err)
		}
		if _, err := x.Verify(context.Background(), nil, viewfeed.VerifyDryRun); memory.ReasonOf(err) != memory.ReasonContention {
			t.Errorf("another mode: %v", err)
		}
	})
}
