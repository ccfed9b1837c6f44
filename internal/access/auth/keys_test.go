package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/store"
)

// shelf is a store of keys that counts reads and may be down.
type shelf struct {
	sync.Mutex
	keys    map[string]store.Key
	tenants map[string]store.Tenant
	reads   int
	down    error
}

func newShelf() *shelf {
	return &shelf{keys: map[string]store.Key{}, tenants: map[string]store.Tenant{}}
}

func (s *shelf) Key(_ context.Context, id string) (store.Key, error) {
	s.Lock()
	defer s.Unlock()
	s.reads++
	if s.down != nil {
		return store.Key{}, s.down
	}
	k, ok := s.keys[id]
	if !ok {
		return store.Key{}, store.KeyNotFound(id)
	}
	return k, nil
}

func (s *shelf) Tenant(_ context.Context, id string) (store.Tenant, error) {
	s.Lock()
	defer s.Unlock()
	return s.tenants[id], s.down
}

func (s *shelf) NoteKeyUse(_ context.Context, id string, at time.Time) error {
	s.Lock()
	defer s.Unlock()
	k := s.keys[id]
	k.UseTime = at
	s.keys[id] = k
	return nil
}

func (s *shelf) change(id string, change func(*store.Key)) {
	s.Lock()
	defer s.Unlock()
	k := s.keys[id]
	change(&k)
	s.keys[id] = k
}

// desk is a server's Keys with a clock of the test's.
type desk struct {
	*Keys
	*shelf
	t   *testing.T
	now time.Time
}

var noon = time.Date(2026, 3, 1, 12, 34, 0, 0, time.UTC)

func newDesk(t *testing.T, s *shelf) *desk {
	d := &desk{shelf: s, t: t, now: noon}
	d.Keys = NewKeys(s, func() time.Time { return d.now }, slog.New(slog.DiscardHandler))
	return d
}

func (d *desk) mint(change func(*store.Key)) (id, token string) {
	id = MintKeyID()
	token, hash := MintToken(id)
	k := store.Key{ID: id, Tenant: "acme", Role: "agent", Hash: hash, CreateTime: d.now}
	change(&k)
	d.shelf.keys[id] = k
	return id, token
}

func (d *desk) cause(token string) Cause {
	d.t.Helper()
	_, err := d.Verify(d.t.Context(), Credential{Token: token})
	if err != nil && CauseOf(err) == "" {
		d.t.Fatalf("neither verified nor refused: %v", err)
	}
	return CauseOf(err)
}

func (d *desk) want(token string, want Cause) {
	d.t.Helper()
	if got := d.cause(token); got != want {
		d.t.Errorf("the cause is %q, want %q", got, want)
	}
}

func TestToken(t *testing.T) {
	t.Run("one that was minted is taken apart again", func(t *testing.T) {
		for range 200 {
			token, hash := MintToken(MintKeyID())
			id, secret, ok := parseToken(token)
			if !ok || !strings.HasPrefix(token, TokenPrefix(id)) || sha256.Sum256([]byte(secret)) != hash {
				t.Fatalf("%s is not what was minted", token)
			}
		}
	})
	t.Run("a damaged one is none: a digit that is changed, cut off or added", func(t *testing.T) {
		token, _ := MintToken(MintKeyID())
		for i := range token {
			other := byte('x')
			if token[i] == other {
				other = 'y'
			}
			for _, bad := range []string{token[:i] + string(other) + token[i+1:], token[:i], token[:i] + "x" + token[i:]} {
				if _, _, ok := parseToken(bad); ok {
					t.Fatalf("%s was taken for %s", bad, token)
				}
			}
		}
	})
	t.Run("no two are alike", func(t *testing.T) {
		seen := map[string]bool{}
		for range 100 {
			token, _ := MintToken("000000000000")
			if seen[token] {
				t.Fatal("a token came twice")
			}
			seen[token] = true
		}
	})
}

func TestKeys(t *testing.T) {
	as := func(*store.Key) {}
	t.Run("a good one says tenant, role and user", func(t *testing.T) {
		d := newDesk(t, newShelf())
		id, token := d.mint(func(k *store.Key) { k.Role, k.UserID = "user", "ada" })
		p, err := d.Verify(t.Context(), Credential{Token: token})
		want := Principal{Tenant: "acme", UserID: "ada", Role: RoleUser, KeyID: id, Subject: "key:" + id, Method: MethodKey}
		if err != nil || p != want {
			t.Fatalf("got %+v, %v", p, err)
		}
	})
	t.Run("what is no key of this form is left to others", func(t *testing.T) {
		d := newDesk(t, newShelf())
		for _, token := range []string{"", "eyJhbGciOi", "strata"} {
			if _, err := d.Verify(t.Context(), Credential{Token: token}); !errors.Is(err, ErrNoCredential) {
				t.Errorf("%q: %v", token, err)
			}
		}
		d.want("strata_x", CauseMalformed)
		if d.reads != 0 {
			t.Error("the store was asked for what no store can know")
		}
	})
	t.Run("a wrong secret is refused, and learns nothing of the key", func(t *testing.T) {
		d := newDesk(t, newShelf())
		id, _ := d.mint(func(k *store.Key) { k.RevokeTime = noon })
		other, _ := MintToken(id)
		d.want(other, CauseUnknown)
		unknown, _ := MintToken(MintKeyID())
		d.want(unknown, CauseUnknown)
	})
	t.Run("one is refused from the instant at which it expires", func(t *testing.T) {
		d := newDesk(t, newShelf())
		_, token := d.mint(func(k *store.Key) { k.ExpireTime = noon.Add(time.Minute) })
		d.now = noon.Add(time.Minute - 1)
		d.want(token, "")
		d.now = noon.Add(time.Minute)
		d.want(token, CauseExpired)
	})
	t.Run("the secret before is good until its time of grace is over", func(t *testing.T) {
		d := newDesk(t, newShelf())
		id, old := d.mint(as)
		token, hash := MintToken(id)
		d.change(id, func(k *store.Key) { k.Old, k.OldUntil, k.Hash = k.Hash, noon.Add(time.Hour), hash })
		d.want(old, "")
		d.want(token, "")
		d.now = noon.Add(time.Hour)
		d.want(old, CauseExpired)
		d.want(token, "")
	})
	t.Run("a key that is revoked is refused by this server at once and by another one within ten seconds", func(t *testing.T) {
		here := newDesk(t, newShelf())
		there := newDesk(t, here.shelf)
		id, token := here.mint(as)
		here.want(token, "")
		there.want(token, "")
		here.change(id, func(k *store.Key) { k.RevokeTime = noon })
		here.Forget(id)
		here.want(token, CauseRevoked)
		there.now = noon.Add(10 * time.Second)
		there.want(token, CauseRevoked)
	})
	t.Run("a store that is down lets nobody in who was not let in less than ten seconds ago", func(t *testing.T) {
		d := newDesk(t, newShelf())
		_, token := d.mint(as)
		d.want(token, "")
		d.down = errors.New("down")
		d.now = noon.Add(9 * time.Second)
		d.want(token, "")
		d.now = noon.Add(10 * time.Second)
		if _, err := d.Verify(t.Context(), Credential{Token: token}); err == nil || CauseOf(err) != "" {
			t.Errorf("got %v, want the store's error", err)
		}
	})
	t.Run("of a store that does not respond one call waits, and others are let in at once", func(t *testing.T) {
		s := newShelf()
		d := newDesk(t, s)
		id, token := d.mint(as)
		d.want(token, "")
		d.down = errors.New("down")
		d.now = noon.Add(6 * time.Second)
		d.want(token, "") // asks in vain, and leaves it to the next
		s.change(id, func(k *store.Key) { k.RevokeTime = noon })
		d.down = nil
		asked, respond := make(chan struct{}), make(chan struct{})
		d.Keys.known.read = func(ctx context.Context, id string) (store.Key, error) {
			select {
			case asked <- struct{}{}:
			default:
				t.Error("a second call asks it")
				return store.Key{}, errors.New("down")
			}
			<-respond
			return s.Key(ctx, id)
		}
		waited := make(chan Cause)
		go func() {
			_, err := d.Verify(t.Context(), Credential{Token: token})
			waited <- CauseOf(err)
		}()
		<-asked
		d.want(token, "")
		close(respond)
		if got := <-waited; got != CauseRevoked {
			t.Errorf("the call that waited got %q", got)
		}
		d.want(token, CauseRevoked)
	})
	t.Run("a read that began before a revocation is not remembered after it", func(t *testing.T) {
		s := newShelf()
		d := newDesk(t, s)
		_, token := d.mint(as)
		d.Keys.known.read = func(ctx context.Context, id string) (store.Key, error) {
			k, err := s.Key(ctx, id)
			d.Keys.known.read = s.Key
			s.change(id, func(k *store.Key) { k.RevokeTime = noon })
			d.Forget(id)
			return k, err
		}
		d.want(token, "")
		d.want(token, CauseRevoked)
	})
	t.Run("the store is asked once for a key that is used again and again, and for an id that nobody has", func(t *testing.T) {
		d := newDesk(t, newShelf())
		_, token := d.mint(as)
		unknown, _ := MintToken(MintKeyID())
		for range 100 {
			d.want(token, "")
			d.want(unknown, CauseUnknown)
		}
		if d.reads != 2 {
			t.Errorf("%d reads", d.reads)
		}
	})
	t.Run("what is remembered is bounded", func(t *testing.T) {
		d := newDesk(t, newShelf())
		for range maxKnown + 100 {
			token, _ := MintToken(MintKeyID())
			d.want(token, CauseUnknown)
		}
		if n := len(d.Keys.known.entries); n > maxKnown {
			t.Errorf("%d are remembered", n)
		}
	})
	t.Run("the hour of its last use is stored, once for each hour", func(t *testing.T) {
		d := newDesk(t, newShelf())
		id, token := d.mint(as)
		d.want(token, "")
		d.noteUses(t.Context())
		if got := d.keys[id].UseTime; got != noon.Truncate(time.Hour) {
			t.Errorf("it says %v", got)
		}
		d.now = noon.Add(20 * time.Second)
		d.want(token, "")
		if len(d.uses) != 0 {
			t.Errorf("the store would be told again: %v", maps.Clone(d.uses))
		}
	})
}

func TestTenants(t *testing.T) {
	s := newShelf()
	d := newDesk(t, s)
	_, token := d.mint(func(*store.Key) {})
	tenants := NewTenants(d.Keys, s, func() time.Time { return d.now })
	cause := func() Cause {
		_, err := tenants.Verify(t.Context(), Credential{Token: token})
		return CauseOf(err)
	}
	if got := cause(); got != "" {
		t.Fatal(got)
	}
	s.tenants["acme"] = store.Tenant{ID: "acme", SuspendTime: noon}
	t.Run("a tenant that is suspended is refused within ten seconds, and by the server that did it at once", func(t *testing.T) {
		tenants.Forget("acme")
		if got := cause(); got != CauseSuspended {
			t.Error(got)
		}
		delete(s.tenants, "acme")
		d.now = noon.Add(10 * time.Second)
		if got := cause(); got != "" {
			t.Error(got)
		}
	})
}

// What a call pays for its key: seen is one that was verified before, first one that the server sees for the first time, beside the
// time that its store takes.
func BenchmarkKeys(b *testing.B) {
	s := newShelf()
	now := func() time.Time { return noon }
	keys := NewKeys(s, now, slog.New(slog.DiscardHandler))
	v := NewTenants(keys, s, now)
	id := MintKeyID()
	token, hash := MintToken(id)
	s.keys[id] = store.Key{ID: id, Tenant: "acme", Role: "agent", Hash: hash, UseTime: noon}
	for _, first := range []bool{false, true} {
		b.Run(map[bool]string{false: "seen", true: "first"}[first], func(b *testing.B) {
			for b.Loop() {
				if first {
					keys.Forget(id)
				}
				if _, err := v.Verify(b.Context(), Credential{Token: token}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
