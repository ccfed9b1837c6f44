package storecopy_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/goleak"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/mongostore"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/store/storecopy"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// copying is a full file and an empty database.
type copying struct {
	t    *testing.T
	from *sqlitestore.Store
	to   *mongostore.Store
	db   *mongo.Database
	*filler
}

func newCopying(t *testing.T) *copying {
	t.Helper()
	backend.MongoDB(t)
	from := openFile(t, filepath.Join(t.TempDir(), "strata.db"))
	to, db := openDatabase(t)
	return &copying{t, from, to, db, fill(t, from)}
}

func openFile(t *testing.T, path string) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// openDatabase opens a database of the test's own, which goes with the test.
func openDatabase(t testing.TB) (*mongostore.Store, *mongo.Database) {
	t.Helper()
	uri, name := backend.MongoDB(t), "strata_test_"+rand.Text()[:12]
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(client.Database(name).Drop(context.Background()), client.Disconnect(context.Background())); err != nil {
			t.Errorf("drop the database: %v", err)
		}
	})
	s, err := mongostore.Open(t.Context(), mongostore.Options{URI: uri, Database: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s, client.Database(name)
}

func (c *copying) run(to store.Target) (storecopy.Progress, error) {
	return storecopy.Copy{From: c.from, To: to}.Run(c.t.Context())
}

func (c *copying) mustRun() storecopy.Progress {
	c.t.Helper()
	return done[storecopy.Progress](c.t)(c.run(c.to))
}

// users are all users of the source.
func users(t testing.TB, s store.Source) (all []memory.UserRef) {
	t.Helper()
	tenants, err := s.Tenants(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tenant := range tenants {
		page, err := s.ListUsers(t.Context(), store.UserQuery{Tenant: tenant, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range page {
			all = append(all, u.Ref)
		}
	}
	return all
}

func records(t *testing.T, s store.Source, user memory.UserRef) (all []store.Record) {
	t.Helper()
	if err := s.Export(t.Context(), user, func(r store.Record) error { all = append(all, r); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

// same fails the test unless both sides hold the same.
func (c *copying) same() {
	c.t.Helper()
	if diff := cmp.Diff(users(c.t, c.from), users(c.t, c.to)); diff != "" {
		c.t.Fatalf("users differ (-source +copy):\n%s", diff)
	}
	for _, u := range users(c.t, c.from) {
		if diff := cmp.Diff(records(c.t, c.from, u), records(c.t, c.to, u)); diff != "" {
			c.t.Errorf("a user's records differ (-source +copy):\n%s", diff)
		}
	}
	ctx := c.t.Context()
	if diff := cmp.Diff(done[[]memory.Embedding](c.t)(c.from.Embeddings(ctx)), done[[]memory.Embedding](c.t)(c.to.Embeddings(ctx))); diff != "" {
		c.t.Errorf("embedding versions differ (-source +copy):\n%s", diff)
	}
	counts := done[map[string]int64](c.t)
	if diff := cmp.Diff(counts(c.from.QuarantineCounts(ctx)), counts(c.to.QuarantineCounts(ctx))); diff != "" {
		c.t.Errorf("counts of refused operations differ (-source +copy):\n%s", diff)
	}
}

func TestACopyHoldsEveryRecordOfTheSource(t *testing.T) {
	c := newCopying(t)
	p := c.mustRun()
	c.same()
	if n := len(users(t, c.from)); p.Users != n || p.Unchanged != 0 || n < 6 {
		t.Errorf("%+v of %d users", p, n)
	}
	kinds := map[string]int{}
	for _, r := range records(t, c.to, full) {
		switch {
		case r.User != nil:
			kinds["user"]++
		case r.Session != nil:
			kinds["session"]++
		case r.Turn != nil:
			kinds["turn"]++
		case r.Node != nil:
			kinds["node"]++
		case r.Job != nil:
			kinds["slot"]++
		case r.Fact != nil:
			kinds["fact"]++
		case r.Forgotten != nil:
			kinds["forgotten"]++
		case r.Refused != nil:
			kinds["refused"]++
		}
	}
	want := map[string]int{"user": 1, "session": 2, "turn": 14, "node": 8, "slot": 16, "fact": 4, "forgotten": 3, "refused": 5}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("records of a full user (-want +got):\n%s", diff)
	}
}

func TestACopyThatIsRunAgainCopiesNothing(t *testing.T) {
	c := newCopying(t)
	c.mustRun()
	if p := c.mustRun(); p.Users != p.Unchanged || p.Records != 0 {
		t.Errorf("the second run did %+v", p)
	}
}

func TestACopyKnowsWhatTheSourceRendered(t *testing.T) {
	c := newCopying(t)
	secret := done[[]byte](t)(c.from.FenceSecret(t.Context(), []byte("of the source")))
	done[[]byte](t)(c.to.FenceSecret(t.Context(), []byte("of a server that was started on the target")))
	c.mustRun()
	if got := done[[]byte](t)(c.to.FenceSecret(t.Context(), nil)); !bytes.Equal(got, secret) {
		t.Errorf("the target has %q, the source %q", got, secret)
	}
	if err := c.to.ImportFenceSecret(t.Context(), []byte("another")); err == nil {
		t.Error("a target with users took another secret")
	}
	c.mustRun()
}

func TestACopyHasTheWholeAudit(t *testing.T) {
	c := newCopying(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var want []store.AuditEntry
	for n := range 1001 { // of a tenant that has nothing else, and more than a page
		want = append(want, store.AuditEntry{
			ID: fmt.Sprintf("e%04d", n), Time: at.Add(time.Duration(n/2) * time.Second), Tenant: "gone", Call: "UserService/EraseUser", Outcome: "OK",
		})
	}
	if err := c.from.AddAuditEntries(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	before := done[[]store.AuditEntry](t)(c.from.ExportAuditEntries(t.Context(), store.AuditCursor{}, 5000))
	c.mustRun()
	c.mustRun()
	got := done[[]store.AuditEntry](t)(c.to.ExportAuditEntries(t.Context(), store.AuditCursor{}, 5000))
	if diff := cmp.Diff(before, got); diff != "" || len(got) < len(want) {
		t.Errorf("%d entries (-want +got):\n%s", len(got), diff)
	}
}

// flaky stops at a call.
type flaky struct {
	store.Target
	left int
}

var errStopped = errors.New("stopped")

// Import does half of the call that it stops at.
func (f *flaky) Import(ctx context.Context, user memory.UserRef, records []store.Record) error {
	if f.left--; f.left >= 0 {
		return f.Target.Import(ctx, user, records)
	}
	if err := f.Target.Import(ctx, user, records[:(len(records)+1)/2]); err != nil {
		return err
	}
	return errStopped
}

func TestACopyThatWasInterruptedAnywhereGoesOn(t *testing.T) {
	c := newCopying(t)
	c.session(memory.UserRef{Tenant: "acme", UserID: "takes three calls"}.Session("s"), 450)
	for k := 0; ; k++ {
		_, err := c.run(&flaky{Target: c.to, left: k})
		if err == nil {
			break
		}
		if !errors.Is(err, errStopped) || k > 100 {
			t.Fatalf("run %d: %v", k, err)
		}
	}
	c.same()
	if p := c.mustRun(); p.Users != p.Unchanged {
		t.Errorf("the last run did %+v", p)
	}
}

// meddling changes something once a user has arrived.
type meddling struct {
	store.Target
	user     memory.UserRef
	change   func() error
	imported bool
}

func (m *meddling) Import(ctx context.Context, user memory.UserRef, records []store.Record) error {
	m.imported = user == m.user
	return m.Target.Import(ctx, user, records)
}

func (m *meddling) Export(ctx context.Context, user memory.UserRef, each func(store.Record) error) error {
	if m.imported && user == m.user {
		if err := m.change(); err != nil {
			return err
		}
	}
	return m.Target.Export(ctx, user, each)
}

func BenchmarkCopy(b *testing.B) {
	const turns, facts = 5000, 1000
	from, err := sqlitestore.Open(b.Context(), sqlitestore.Options{Path: filepath.Join(b.TempDir(), "strata.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = from.Close() })
	if err := fillPlainly(b.Context(), from, turns, facts); err != nil {
		b.Fatal(err)
	}
	var records int64
	for b.Loop() {
		b.StopTimer()
		to, _ := openDatabase(b)
		b.StartTimer()
		p, err := storecopy.Copy{From: from, To: to}.Run(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		records += p.Records
	}
	b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "records/s")
}

func TestACopyHasTheKeysAndTheSuspendedTenants(t *testing.T) {
	c, ctx := newCopying(t), t.Context()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ref := store.KeyRef{Tenant: "lonely", ID: "copied"}
	key := store.Key{ID: "copied", Tenant: "lonely", Role: "user", UserID: "ada", Hash: store.KeyHash{1}, CreateTime: at, ExpireTime: at.Add(time.Hour)}
	if err := c.from.CreateKey(ctx, key); err != nil {
		t.Fatal(err)
	}
	done[store.Key](t)(c.from.RotateKey(ctx, store.KeyRotation{KeyRef: ref, Hash: store.KeyHash{2}, OldUntil: at}))
	done[store.Key](t)(c.from.RevokeKey(ctx, ref, at))
	if err := c.from.NoteKeyUse(ctx, "copied", at); err != nil {
		t.Fatal(err)
	}
	done[store.Tenant](t)(c.from.SuspendTenant(ctx, "closed", at))
	c.mustRun()
	c.mustRun()
	if diff := cmp.Diff(done[store.Key](t)(c.from.Key(ctx, "copied")), done[store.Key](t)(c.to.Key(ctx, "copied"))); diff != "" {
		t.Errorf("the key (-source +target):\n%s", diff)
	}
	if got := done[store.Tenant](t)(c.to.Tenant(ctx, "closed")).SuspendTime; !got.Equal(at) {
		t.Errorf("the tenant is suspended since %v", got)
	}
}
