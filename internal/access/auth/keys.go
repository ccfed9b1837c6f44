package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/workloop"
)

// How long what the store said about a key or a tenant is believed. A key that is revoked, or a tenant that is suspended, on one
// server is refused by every other within believedFor of it, and by the one that did it at once.
const (
	freshFor    = 5 * time.Second  // then a call asks the store again
	believedFor = 10 * time.Second // while the store does not respond; then the call fails
)

// Believed is how long after it was suspended a tenant's call may be let in by another server.
const Believed = believedFor

// maxKnown bounds what is remembered, so that nobody fills the memory with ids that he makes up.
const maxKnown = 10_000

// KeyStore is the part of store.Keys that verifies.
type KeyStore interface {
	Key(ctx context.Context, id string) (store.Key, error)
	Tenant(ctx context.Context, id string) (store.Tenant, error)
	NoteKeyUse(ctx context.Context, id string, at time.Time) error
}

// Keys verifies API keys. It implements Verifier.
type Keys struct {
	store  KeyStore
	now    func() time.Time
	log    *slog.Logger
	known  *recent[store.Key]
	usesMu sync.Mutex
	uses   map[string]time.Time // hours that are not in the store yet, by key
}

// NewKeys makes Keys; now is the clock that all servers on the store have in common: see store.Clock.
func NewKeys(s KeyStore, now func() time.Time, log *slog.Logger) *Keys {
	return &Keys{store: s, now: now, log: log, known: newRecent(s.Key, now), uses: map[string]time.Time{}}
}

// Verify implements Verifier.
func (k *Keys) Verify(ctx context.Context, c Credential) (Principal, error) {
	if !strings.HasPrefix(c.Token, tokenPrefix) {
		return Principal{}, ErrNoCredential
	}
	id, secret, ok := parseToken(c.Token)
	if !ok {
		return Principal{}, Refuse(CauseMalformed)
	}
	key, err := k.known.get(ctx, id)
	if memory.ReasonOf(err) == memory.ReasonKeyNotFound {
		return Principal{}, Refuse(CauseUnknown)
	}
	if err != nil {
		return Principal{}, err
	}
	if cause := k.judge(key, sha256.Sum256([]byte(secret))); cause != "" {
		return Principal{}, &Refusal{Cause: cause, KeyID: id}
	}
	role, err := ParseRole(key.Role)
	if err != nil {
		return Principal{}, &Refusal{Cause: CauseClaims, KeyID: id}
	}
	k.used(key)
	return Principal{Tenant: key.Tenant, UserID: key.UserID, Role: role, KeyID: id, Subject: "key:" + id, Method: MethodKey}, nil
}

// judge returns why the key with the hash of a secret is refused, "" where it is good. The secret is checked
// first: only who has it learns whether a key is revoked.
func (k *Keys) judge(key store.Key, hash store.KeyHash) Cause {
	now := k.now()
	current := subtle.ConstantTimeCompare(hash[:], key.Hash[:])
	old := subtle.ConstantTimeCompare(hash[:], key.Old[:])
	switch {
	case current|old == 0:
		return CauseUnknown
	case !key.RevokeTime.IsZero():
		return CauseRevoked
	case !key.ExpireTime.IsZero() && !now.Before(key.ExpireTime), current == 0 && !now.Before(key.OldUntil):
		return CauseExpired
	}
	return ""
}

// Forget has the key read anew: it was changed by this server.
func (k *Keys) Forget(id string) { k.known.forget(id) }

// used notes the hour, for Run to store.
func (k *Keys) used(key store.Key) {
	hour := k.now().UTC().Truncate(time.Hour)
	if !hour.After(key.UseTime) {
		return
	}
	k.usesMu.Lock()
	defer k.usesMu.Unlock()
	if len(k.uses) < maxKnown || !k.uses[key.ID].IsZero() {
		k.uses[key.ID] = hour
	}
}

// noteEvery is how often the store notes which keys were used.
const noteEvery = 10 * time.Second

// Run notes in the store which keys were used, until ctx ends, and then once more.
func (k *Keys) Run(ctx context.Context) error {
	note := func(ctx context.Context) error { k.noteUses(ctx); return nil }
	err := workloop.NewPeriodic(noteEvery, note, nil).Run(ctx)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	k.noteUses(last)
	return err
}

func (k *Keys) noteUses(ctx context.Context) {
	k.usesMu.Lock()
	uses := k.uses
	k.uses = map[string]time.Time{}
	k.usesMu.Unlock()
	for id, hour := range uses {
		if err := k.store.NoteKeyUse(ctx, id, hour); err != nil {
			k.log.WarnContext(ctx, "when a key was used last could not be stored", "key", id, "error", err)
		}
	}
}

// Tenants refuses principals of suspended tenants, whoever vouched for them. It implements Verifier.
type Tenants struct {
	next  Verifier
	known *recent[store.Tenant]
}

// NewTenants makes Tenants, which ask next who calls.
func NewTenants(next Verifier, s KeyStore, now func() time.Time) *Tenants {
	return &Tenants{next: next, known: newRecent(s.Tenant, now)}
}

// Verify implements Verifier.
func (t *Tenants) Verify(ctx context.Context, c Credential) (Principal, error) {
	p, err := t.next.Verify(ctx, c)
	if err != nil {
		return Principal{}, err
	}
	tenant, err := t.known.get(ctx, p.Tenant)
	if err != nil {
		return Principal{}, err
	}
	if !tenant.SuspendTime.IsZero() {
		return Principal{}, &Refusal{Cause: CauseSuspended, KeyID: p.KeyID}
	}
	return p, nil
}

// Tenant returns what was decided about the tenant, as of a few seconds ago.
func (t *Tenants) Tenant(ctx context.Context, id string) (store.Tenant, error) {
	return t.known.get(ctx, id)
}

// Forget has the tenant read anew: it was changed by this server.
func (t *Tenants) Forget(id string) { t.known.forget(id) }
