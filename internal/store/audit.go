package store

import (
	"context"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// Audit keeps who did what to whose memory, and nothing of what the memory holds. It is append-only: an entry is written once and is
// never changed; only ExpireAuditEntries removes any, the oldest first, whoever and whatever they are about.
type Audit interface {
	// AddAuditEntries must store the entries, on disk before it returns. An entry whose id is stored must stay as it is stored, so
	// that adding again after a failure is harmless.
	AddAuditEntries(ctx context.Context, entries []AuditEntry) error
	// ListAuditEntries must return the tenant's entries for which all holds that the query says, the latest first, equal times by
	// id, the greatest first. An unknown tenant has none: that is not an error.
	ListAuditEntries(ctx context.Context, q AuditQuery) ([]AuditEntry, error)
	// ExportAuditEntries must return the entries of all tenants after the cursor, the oldest first, equal times by id, the least
	// first. It is for copies of the whole store.
	ExportAuditEntries(ctx context.Context, after AuditCursor, limit int) ([]AuditEntry, error)
	// ExpireAuditEntries must delete entries of before the time, of all tenants, the oldest first, at most limit, and return how many
	// it deleted.
	ExpireAuditEntries(ctx context.Context, before time.Time, limit int) (int, error)
}

// AuditEntry is one call. Ids of people stand in it as keyed hashes alone, from the first write on, so that the erasure of a user
// changes no entry: see package audit.
type AuditEntry struct {
	ID        string // unique; a UUID
	Time      time.Time
	Tenant    string           // of the caller; the server's where nobody was verified
	Principal string           // who called, such as key:ID; "" where nobody was verified and nothing is known of the credential
	Role      string           // the name of an auth.Role; "" where nobody was verified
	Call      string           // such as MemoryService/DeleteMessages
	Outcome   string           // the canonical code, such as OK or NOT_FOUND
	Reason    string           // of a call that failed; "" otherwise
	User      memory.KeyedHash // of the user whom the call named; zero for none
	Session   memory.KeyedHash // of the session that the call named; zero for none
	Request   memory.KeyedHash // of the call's request id; zero for none
	Target    string           // the tenant that the call named, where that is another one; "" otherwise
	Thing     string           // what of ours the call was about, such as fact:ID; "" for none
	Items     int64            // how many things the call returned or changed, where its reply says that
	DryRun    bool             // whether the call asked only what would happen
	Address   string           // the caller's, without its port
	UserAgent string           // as the caller says, at most 200 bytes
	LeftOut   int64            // how many refused calls of the tenant before this one have no entry, since there were too many
}

// AuditQuery asks for a page of a tenant's entries. Fields that are not set ask for all.
type AuditQuery struct {
	Tenant    string
	Principal string
	Call      string
	Outcome   string
	User      memory.KeyedHash
	Session   memory.KeyedHash
	Request   memory.KeyedHash
	From      time.Time    // only entries of this time or later
	Until     time.Time    // only entries of before this time
	Before    *AuditCursor // the last entry of the page before; nil for the first page
	Limit     int          // at least 1
}

// AuditCursor is a place in the order of entries.
type AuditCursor struct {
	Time time.Time
	ID   string
}
