package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/storetest/datafile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	noon   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	hasher = NewHasher([]byte("a secret"))
)

func TestEntry(t *testing.T) {
	call := Call{
		Principal: auth.Principal{Tenant: "acme", Role: auth.RoleUser, UserID: "ada", Subject: "jwt:ada", Method: auth.MethodJWT},
		Method:    "UserService/EraseUser", Outcome: "OK", UserID: "ada", SessionID: "s", RequestID: "ada", Target: "acme",
		UserAgent: "curl\n/8\xff" + strings.Repeat("é", 200),
	}
	e := hasher.entry(call, "id", noon)
	t.Run("no id of a person is plain in it", func(t *testing.T) {
		line, err := Line(e)
		if err != nil || bytes.Contains(line, []byte("ada")) {
			t.Errorf("%v: %s", err, line)
		}
	})
	t.Run("who knows an id finds its hash", func(t *testing.T) {
		user := memory.UserRef{Tenant: "acme", UserID: "ada"}
		if e.User != hasher.User(user) || e.Session != hasher.Session(user.Session("s")) || e.Request != hasher.Request("acme", "ada") {
			t.Error("the hashes are others")
		}
		for _, named := range []string{"jwt:ada", e.Principal} {
			if got := hasher.Named("acme", named); got != e.Principal {
				t.Errorf("%s is %s, and in the entry %s", named, got, e.Principal)
			}
		}
	})
	t.Run("what is of another kind, tenant, user or secret has another hash", func(t *testing.T) {
		seen := map[memory.KeyedHash]bool{}
		hashes := []memory.KeyedHash{
			hasher.User(memory.UserRef{Tenant: "a", UserID: "bc"}), hasher.User(memory.UserRef{Tenant: "ab", UserID: "c"}), hasher.Request("a", "bc"),
			hasher.Session(memory.UserRef{Tenant: "a", UserID: "b"}.Session("c")), hasher.Session(memory.UserRef{Tenant: "a", UserID: "bc"}.Session("")),
			NewHasher([]byte("other")).User(memory.UserRef{Tenant: "a", UserID: "bc"}),
		}
		for _, h := range hashes {
			seen[h] = true
		}
		if len(seen) != len(hashes) {
			t.Errorf("%d of %d hashes are different", len(seen), len(hashes))
		}
	})
	t.Run("the caller's own tenant is no target, and its program's name is cut and printable", func(t *testing.T) {
		if e.Target != "" || !strings.HasPrefix(e.UserAgent, "curl/8é") || len(e.UserAgent) > maxUserAgent || strings.Contains(e.UserAgent, "\ufffd") {
			t.Errorf("%q, %q", e.Target, e.UserAgent)
		}
	})
	t.Run("of a credential that was refused the key is named, in the server's tenant", func(t *testing.T) {
		e := hasher.entry(Call{KeyID: "abc", Outcome: "UNAUTHENTICATED"}, "id", noon)
		if e.Principal != "key:abc" || e.Tenant != auth.DefaultTenant || e.Role != "" {
			t.Errorf("%+v", e)
		}
	})
}

func TestRefusals(t *testing.T) {
	var r refusals
	admitted := func(tenant string, at time.Time, calls int) (n int, leftOut int64) {
		for range calls {
			e := store.AuditEntry{Tenant: tenant, Time: at}
			if r.admit(&e) {
				n, leftOut = n+1, leftOut+e.LeftOut
			}
		}
		return n, leftOut
	}
	if n, _ := admitted("acme", noon, 1000); n != refusedAtOnce {
		t.Errorf("%d of a thousand at once are kept", n)
	}
	if n, left := admitted("other", noon, 10); n != 10 || left != 0 {
		t.Errorf("of another tenant %d of ten, %d left out", n, left)
	}
	if n, left := admitted("acme", noon.Add(refusedEvery), 5); n != 1 || left != 1000-refusedAtOnce {
		t.Errorf("later %d, which says that %d were left out", n, left)
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(s string) {
		t.Helper()
		if n, err := f.Write([]byte(s)); err != nil || n != len(s) {
			t.Fatal(n, err)
		}
	}
	wantFile := func(path, want string) {
		t.Helper()
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s holds %q, want %q (%v)", filepath.Base(path), got, want, err)
		}
	}
	t.Run("a file that was moved away is followed by a new one", func(t *testing.T) {
		write("one\n")
		if err := os.Rename(path, path+".1"); err != nil {
			t.Fatal(err)
		}
		write("two\n")
		wantFile(path+".1", "one\n")
		wantFile(path, "two\n")
	})
	t.Run("one that was copied and cut goes on at its beginning", func(t *testing.T) {
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		write("three\n")
		wantFile(path, "three\n")
	})
	t.Run("a path that cannot be written is an error at the start", func(t *testing.T) {
		if _, err := OpenFile(filepath.Join(path, "below-a-file")); err == nil {
			t.Error("it is none")
		}
	})
}

// counted counts entries by fate.
type counted map[Fate]int

func (c counted) AuditEntries(_ Sink, fate Fate, n int) { c[fate] += n }

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestTrail(t *testing.T) {
	db, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Path: datafile.New(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	id := 0
	newTrail := func(meter Meter) *Trail {
		return NewTrail(Options{
			Store: db, Hasher: hasher, Lines: broken{}, Now: func() time.Time { return noon }, Meter: meter, Log: slog.New(slog.DiscardHandler),
			NewID: func() string { id++; return fmt.Sprint(id) },
		})
	}
	t.Run("lines that cannot be written are counted, and the entries are stored", func(t *testing.T) {
		c := counted{}
		if err := newTrail(c).Write(t.Context(), Call{Method: "A/B", Outcome: "OK"}); err != nil || c[Failed] != 1 || c[Written] != 1 {
			t.Errorf("%v, %v", err, c)
		}
	})
	t.Run("of more than may wait the further ones are dropped and counted", func(t *testing.T) {
		c := counted{}
		trail := newTrail(c)
		trail.o.Lines = nil
		for range maxWaiting + 7 {
			trail.Note(t.Context(), Call{Method: "A/C", Outcome: "OK"})
		}
		if c[Dropped] != 7 {
			t.Errorf("%v", c)
		}
		if err := trail.Close(); err != nil || c[Written] != maxWaiting {
			t.Errorf("%v, %v", err, c)
		}
	})
	t.Run("an entry is stored though its caller is gone", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := newTrail(counted{}).Write(ctx, Call{Method: "A/D", Outcome: "CANCELLED"}); err != nil {
			t.Error(err)
		}
	})
}
