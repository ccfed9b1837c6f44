package store

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// Keys keeps API keys and what was decided about tenants. A key's secret is not among it: only its hash is.
//
// Unlike elsewhere, some methods take no tenant: who calls with a key names none, and is of the key's.
type Keys interface {
	// CreateKey must store the key, and must refuse with CONTENTION an id that is taken.
	CreateKey(ctx context.Context, k Key) error
	// CreateFirstKey must store the key where no key is stored, of whatever tenant and state, and report whether it did: of
	// any number of calls at once one must.
	CreateFirstKey(ctx context.Context, k Key) (created bool, err error)
	// Key must return the key with the id, of whatever tenant and state, as of the last acknowledged write; KEY_NOT_FOUND without.
	Key(ctx context.Context, id string) (Key, error)
	// ListKeys must return the tenant's keys by their ids, those that are revoked or expired among them.
	ListKeys(ctx context.Context, q KeyQuery) ([]Key, error)
	// RotateKey must put the hash in place of the one that is there, and keep that one as Old until OldUntil; an older one is
	// gone. It must return the key as it is stored. It must refuse a key that the tenant does not have with KEY_NOT_FOUND, and one
	// that is revoked with KEY_REVOKED.
	RotateKey(ctx context.Context, r KeyRotation) (Key, error)
	// RevokeKey must set RevokeTime, unless it is set. It must refuse a key that the tenant does not have with KEY_NOT_FOUND.
	RevokeKey(ctx context.Context, ref KeyRef, now time.Time) (Key, error)
	// NoteKeyUse must raise the key's UseTime to the time, and never lower it. A key that does not exist is no error.
	NoteKeyUse(ctx context.Context, id string, at time.Time) error
	// Tenant must return what was decided about the tenant; one about which nothing was is not suspended.
	Tenant(ctx context.Context, id string) (Tenant, error)
	// SuspendTenant must set SuspendTime, unless it is set, and a zero time must clear it. It must refuse to clear that of a tenant
	// with an Erasure with TENANT_ERASED.
	SuspendTenant(ctx context.Context, id string, at time.Time) (Tenant, error)
	// BeginTenantErasure must give the tenant an Erasure of that CreateTime, unless it has one, and set SuspendTime, unless it is set.
	BeginTenantErasure(ctx context.Context, id string, at time.Time) (Tenant, error)
	// UpdateTenantErasure must store the erasure of a tenant that has one. With a DoneTime it must delete the tenant's keys, limits,
	// profile and models first, so that repeating it after a failure does all of it.
	UpdateTenantErasure(ctx context.Context, id string, e memory.TenantErasure) error
	// UpdateTenant must change what the update names and nothing else: of updates at once that name other limits, none may be
	// lost. One that names nothing must store nothing, so that no tenant is listed for it.
	UpdateTenant(ctx context.Context, u TenantUpdate) (Tenant, error)
	// ListTenants must return, by their ids, the tenants that have a user or a key, or about which something was decided.
	ListTenants(ctx context.Context, q TenantQuery) ([]Tenant, error)
}

// KeyHash is the SHA-256 of a key's secret, 256 random bits: nothing that is worth guessing, so that it needs neither salt nor time.
type KeyHash [sha256.Size]byte

// Key is an API key.
type Key struct {
	ID         string // 1 to 32 letters and digits; shown, and part of the token
	Tenant     string
	Role       string    // the name of an auth.Role
	UserID     string    // the one user that it may act for; "" for all of the tenant
	Name       string    // for people; may be ""
	Hash       KeyHash   // of the secret
	Old        KeyHash   // of the secret before; valid until OldUntil
	OldUntil   time.Time // zero where there is none
	CreateTime time.Time
	ExpireTime time.Time // zero for never
	RevokeTime time.Time // zero where it is not revoked
	UseTime    time.Time // the hour in which it was used last; zero for never
}

// KeyRef names a key of a tenant.
type KeyRef struct {
	Tenant string
	ID     string
}

// KeyQuery asks for a page of a tenant's keys.
type KeyQuery struct {
	Tenant string
	After  string // the id of the last key of the page before; "" for the first page
	Limit  int    // at least 1
}

// KeyRotation gives a key a new secret.
type KeyRotation struct {
	KeyRef
	Hash     KeyHash
	OldUntil time.Time
}

// Tenant is what was decided about a tenant.
type Tenant struct {
	ID          string
	SuspendTime time.Time             // zero where it is not suspended
	Erasure     *memory.TenantErasure // nil where it is not erased
	// Limits are those that are not the server's, by the names of package quota; nil for none.
	Limits  map[string]float64
	Profile string        // of sessions that name none; "" for the server's
	Models  *TenantModels // nil where the server's are asked
}

// TenantModels are the chat models that a tenant has of its own.
type TenantModels struct {
	BaseURL    string `json:"base_url,omitempty"` // "" for the server's endpoint
	Key        string `json:"key,omitempty"`      // names the key; the key itself is stored nowhere
	Summary    string `json:"summary"`            // the model, or BuiltinModel
	Extraction string `json:"extraction"`
}

// BuiltinModel is, among the models of a tenant, what is part of the program.
const BuiltinModel = "builtin"

// TenantUpdate changes what was decided about a tenant.
type TenantUpdate struct {
	ID      string
	Set     map[string]float64 // limits
	Clear   []string           // limits that are the server's again; none that is in Set
	Profile *string            // nil to leave it; "" for the server's
	Models  *TenantModels      // nil to leave them; the zero value for the server's
}

// IsEmpty reports whether the update names nothing.
func (u TenantUpdate) IsEmpty() bool {
	return len(u.Set) == 0 && len(u.Clear) == 0 && u.Profile == nil && u.Models == nil
}

// TenantQuery asks for a page of tenants.
type TenantQuery struct {
	After string // the id of the last tenant of the page before; "" for the first page
	Limit int    // at least 1
}

// KeyNotFound is the error for a key that the tenant does not have.
func KeyNotFound(id string) error {
	return &memory.Error{
		Kind: memory.KindNotFound, Reason: memory.ReasonKeyNotFound, Message: "no key " + id, Metadata: map[string]string{"key_id": id},
	}
}

// TenantErased refuses what a tenant that is erased, or being erased, cannot have any more.
func TenantErased(id string) error {
	return &memory.Error{
		Kind: memory.KindPrecondition, Reason: memory.ReasonTenantErased,
		Message: "the tenant " + id + " is erased, and its name is not given again: use another one", Metadata: map[string]string{"tenant": id},
	}
}

// KeyRevoked refuses to change a key that is revoked.
func KeyRevoked(id string) error {
	return &memory.Error{
		Kind: memory.KindPrecondition, Reason: memory.ReasonKeyRevoked,
		Message: "the key " + id + " is revoked: create another one", Metadata: map[string]string{"key_id": id},
	}
}
