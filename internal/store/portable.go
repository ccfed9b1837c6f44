package store

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// Source gives out everything that a primary store holds, for another primary store to take in.
type Source interface {
	Tenants(ctx context.Context) ([]string, error)
	ListUsers(ctx context.Context, q UserQuery) ([]memory.User, error)
	Embeddings(ctx context.Context) ([]memory.Embedding, error)
	// QuarantineCounts must return how many operations were ever refused, by reason.
	QuarantineCounts(ctx context.Context) (map[string]int64, error)
	Secrets
	Keys
	Usage
	Audit
	Exporter
}

// Exporter gives out everything that a primary store holds of one user.
type Exporter interface {
	// Export must call each with everything stored of the user, in the order of Record's fields, within a field as said
	// there: the same records in the same order for the same data, whatever the driver and whatever the keys: see Canonical.
	// It stops at the first error, of each too.
	// What can be derived without a model is left out: segments, marks of views.
	Export(ctx context.Context, user memory.UserRef, each func(Record) error) error
}

// Imports takes in users that were exported elsewhere, each as a new life, while others are served. Nobody but the importing
// caller knows of the life until PublishImport: no other method returns or counts anything of it as a user's, background work and
// views pass over it, and a user of the same id goes on being served or may come into being meanwhile.
type Imports interface {
	// BeginImport must make an empty life with the scope key, which no life may have had.
	BeginImport(ctx context.Context, p ImportStart) error
	// AddImported must store records of the life, in one write or so that AbandonImport finds what arrived of them. A session
	// must come before its turns; every key in the records must be of the life. What was stored before is not stored again:
	// that is an error. Of a life that was not begun, or was ended or abandoned, it must return CONTENTION and store nothing.
	// Vectors come by PutFactVectors and PutSegment with ImportUser as the user, after the facts and turns that they are of, and must
	// serve from PublishImport on: what came with them must wait neither for vectors nor for the search index. Until then
	// FactsToEmbed, SegmentsToEmbed and PendingUsers must return nothing of the life. Of an import that is to be committed segments are
	// put without Turns: until AbandonImport they are there for ImportUser, and the turns of adopted sessions wait for the search index.
	AddImported(ctx context.Context, p ImportedRecords) error
	// PublishImport must make the life that of the user, so that from its return on the user is served with all of it: turns wait for the
	// search index and facts for their vectors, unless they came with them, everything for the views, and sessions and periods for
	// background work at Time. It must refuse with USER_EXISTS, and leave the life unserved, when the tenant has the user.
	PublishImport(ctx context.Context, p ImportEnd) error
	// CommitImport must keep whom all that has come goes to, in place of PublishImport: a user who is served already. From then on
	// StaleImports returns it with the import. It must refuse with CONTENTION when the user lives another life.
	CommitImport(ctx context.Context, p ImportCommit) error
	// AdoptSession must make a session of an import that was committed one of the life that it goes to, with its turns, summaries and
	// jobs, in one write or so that repeating it completes it, and schedule it, the views and the user's periods at Time. Further:
	//   - Where the life has a session of the id it must change nothing and return SessionThere.
	//   - Where a session of the id was erased in the life at or after the CreateTime of the one that came, by an erasure that is not one
	//     of Replaces, it must change nothing and return SessionErased. The erasures of Replaces do not count for later calls either.
	//   - Of a life that has ended it must return CONTENTION.
	AdoptSession(ctx context.Context, p Adoption) (Adopted, error)
	// AbandonImport must delete at most about limit rows of a life that was begun and not ended, and report whether none is
	// left: then no file of an embedded store may hold any bytes of them. Of what was adopted and of any other life it must delete
	// nothing. From the first call on the import is not committed any more.
	AbandonImport(ctx context.Context, scope memory.ScopeKey, limit int) (done bool, err error)
	// StaleImports must return lives that were begun, not ended, and not added to since before.
	StaleImports(ctx context.Context, before time.Time, limit int) ([]StaleImport, error)
}

// ImportUser is where Export finds what has come of an import that was not ended.
func ImportUser(scope memory.ScopeKey) memory.UserRef {
	return memory.UserRef{Tenant: ImportTenant, UserID: string(scope)}
}

// ImportTenant is the tenant of lives that are being imported, each under its scope key as the user id: no caller's tenant or id has a
// control character, so nobody is served them.
const ImportTenant = "\x01import"

// Merge is whom an import goes to who is served already.
type Merge struct {
	User       memory.UserRef
	Scope      memory.ScopeKey // of the life
	OnConflict memory.OnConflict
	Time       time.Time // what was written in the life after it stays
}

// ImportCommit commits an import.
type ImportCommit struct {
	Scope memory.ScopeKey // of the import
	Into  Merge
	Time  time.Time
}

// StaleImport is an import that nobody goes on with.
type StaleImport struct {
	Scope memory.ScopeKey
	Into  *Merge // nil where it was not committed
}

// Adoption has a session of an import be one of the user that the import goes to.
type Adoption struct {
	Import   memory.ScopeKey
	Into     Merge
	Session  memory.Session // its Key, CreateTime, and Ref with the SessionID
	Replaces []string       // ids of erasures that made room for it
	Time     time.Time
}

// Adopted is what became of a session that was to be adopted.
type Adopted int

// The outcomes of AdoptSession.
const (
	SessionAdopted Adopted = iota + 1
	SessionThere
	SessionErased
)

// ErasedSessionHash is what an erasure of a session keeps of its id.
func ErasedSessionHash(key memory.HashKey, sessionID string) memory.KeyedHash {
	return key.Keyed(memory.IDDigest("erased session/" + sessionID))
}

// ImportStart begins an import.
type ImportStart struct {
	Scope   memory.ScopeKey // new: 128 random bits in lower-case hex
	HashKey memory.HashKey
	Time    time.Time
}

// ImportedRecords are some records of an import, none of them the user's own.
type ImportedRecords struct {
	User    memory.UserRef // whose the life will be
	Scope   memory.ScopeKey
	Records []Record
	Time    time.Time
}

// ImportEnd ends an import.
type ImportEnd struct {
	User UserRecord // with Ref and Scope as they shall be
	Time time.Time
}

// Target takes in what a Source gives out.
type Target interface {
	Source
	// ImportEmbeddings must store the versions under their numbers, and the counts. It must fail when another version has
	// one of the numbers, or another one is active.
	ImportEmbeddings(ctx context.Context, versions []memory.Embedding, quarantined map[string]int64) error
	// ImportFenceSecret must store the secret, in place of another while no user is stored. It must fail when there is
	// another and a user.
	ImportFenceSecret(ctx context.Context, secret []byte) error
	// ImportKey must store the API key as it is, with all its times, unless there is one with the id, which must stay.
	ImportKey(ctx context.Context, k Key) error
	// ImportTenant must store what was decided about the tenant as it is, unless something was decided here already, which must
	// stay. One about which nothing was decided need not be stored.
	ImportTenant(ctx context.Context, t Tenant) error
	// ImportUsage must store what the tenant used on each day, in place of what is there: importing again is harmless.
	ImportUsage(ctx context.Context, tenant string, days []UsageDay) error
	// Import must store records of one user with the keys they have; the user's own record must come before all others.
	// Importing again, in whole or in part, must be harmless. Turns with messages arrive pending for the search index, and
	// everything arrives pending for the views. A user whose import was begun and not ended must not be served: every method
	// that acts for a user fails with STORE_UNAVAILABLE. Only Export reads such a user. Of a user who was not begun here, or
	// whose import was ended, Import must change nothing and fail: what is there may be newer.
	Import(ctx context.Context, user memory.UserRef, records []Record) error
	// EndImport must have the user served from now on. Ending again is harmless.
	EndImport(ctx context.Context, user memory.UserRef) error
}

// Record is one thing stored of a user: exactly one field is set.
type Record struct {
	User      *UserRecord         `json:"user,omitempty"`
	Session   *SessionRecord      `json:"session,omitempty"`   // by session id
	Turn      *TurnRecord         `json:"turn,omitempty"`      // by session id, then turn number
	Revised   *SummaryHistory     `json:"revised,omitempty"`   // by kind, then session id, then period
	Node      *memory.SummaryNode `json:"node,omitempty"`      // by id
	Job       *memory.Job         `json:"slot,omitempty"`      // by session id ("" for weeks and months), kind, level, From, generation
	Fact      *FactRecord         `json:"fact,omitempty"`      // by id
	Forgotten *Forgotten          `json:"forgotten,omitempty"` // by change, then fact id, then key
	Refused   *memory.Quarantined `json:"refused,omitempty"`   // by id, then time
	Document  *memory.Document    `json:"document,omitempty"`  // by namespace, then key; without ETag
	Deleted   *DeletedDocument    `json:"deleted,omitempty"`   // by hash
}

// UserRecord is the user with what the store keeps beside.
type UserRecord struct {
	memory.User
	Revision     int64 // of timezone, language, extract and state
	LastVectorNo int64
	PeriodsAt    time.Time // zero for never
}

// SessionRecord is a session's head with what the store keeps beside.
type SessionRecord struct {
	memory.Session
	Revision    int64     // of title, metadata, profile, extract and context start
	LookAt      time.Time // zero for never
	CoveredSeq  int64     // the last message that a summary covers
	CoveredTime time.Time // its create time; zero without one
	// HashKey is the key of the session's hashes where that is not the user's, as it came from another one; "" elsewhere.
	HashKey memory.HashKey
}

// TurnRecord is a turn.
type TurnRecord struct {
	Session       memory.SessionKey
	TurnNo        int64
	FirstSeq      int64
	RecordTime    time.Time
	RequestHash   []byte          // keyed; nil without a request id
	RequestDigest []byte          // keyed
	Result        json.RawMessage // the result that the request got
	StatePatch    json.RawMessage
	Messages      []MessageRecord
}

// MessageRecord is a message with the keyed hash of its body.
type MessageRecord struct {
	memory.Message
	BodyHash []byte
	IDHash   []byte // keyed, of the id of a deleted message; nil when that id is free again, and of all others
}

// SummaryHistory is what persons made of one summary.
type SummaryHistory struct {
	Revisions []RevisedSummary // the first one first
}

// RevisedSummary is a revision with the request that made it.
type RevisedSummary struct {
	memory.SummaryRevision
	RequestHash   []byte // keyed; nil without a request id
	RequestDigest []byte // keyed
}

// FactRecord is a fact with its history and vectors.
type FactRecord struct {
	memory.Fact
	Revisions []memory.FactRevision // the first one first
	Vectors   []VersionedVector     // by version
}

// VersionedVector is a fact's vector of a version.
type VersionedVector struct {
	Version int
	No      int64
	Vector  []float32
}

// Canonical returns the record with nil for every list, object and blob that is empty, so that equal data has one form. An
// answer is kept as it is: an empty one is an answer.
func Canonical(r Record) Record {
	switch {
	case r.User != nil:
		u := *r.User
		u.State = orNil(u.State)
		r.User = &u
	case r.Session != nil:
		s := *r.Session
		s.Metadata, s.State = orNil(s.Metadata), orNil(s.State)
		r.Session = &s
	case r.Turn != nil:
		r.Turn = canonicalTurn(*r.Turn)
	case r.Node != nil:
		n := *r.Node
		n.Children, n.Passed = orNil(n.Children), orNil(n.Passed)
		r.Node = &n
	case r.Revised != nil:
		r.Revised = canonicalHistory(*r.Revised)
	case r.Fact != nil:
		r.Fact = canonicalFact(*r.Fact)
	case r.Document != nil:
		d := *r.Document
		d.Fields, d.ETag = orNil(d.Fields), ""
		r.Document = &d
	}
	return r
}

func canonicalTurn(t TurnRecord) *TurnRecord {
	t.RequestHash, t.RequestDigest, t.Result, t.StatePatch = orNil(t.RequestHash), orNil(t.RequestDigest), orNil(t.Result), orNil(t.StatePatch)
	t.Messages = orNil(slices.Clone(t.Messages))
	for i := range t.Messages {
		m := &t.Messages[i]
		m.Parts, m.Tags, m.Metadata, m.BodyHash = orNil(m.Parts), orNil(m.Tags), orNil(m.Metadata), orNil(m.BodyHash)
		if m.Original != nil {
			m.Original = &memory.Original{Format: m.Original.Format, Data: orNil(m.Original.Data)}
		}
	}
	return &t
}

func canonicalHistory(h SummaryHistory) *SummaryHistory {
	h.Revisions = orNil(slices.Clone(h.Revisions))
	for i := range h.Revisions {
		r := &h.Revisions[i]
		r.RequestHash, r.RequestDigest, r.Covers = orNil(r.RequestHash), orNil(r.RequestDigest), orNil(slices.Clone(r.Covers))
		for j := range r.Covers {
			r.Covers[j].Passed = orNil(r.Covers[j].Passed)
		}
	}
	return &h
}

func canonicalFact(f FactRecord) *FactRecord {
	f.Tags, f.Evidence = orNil(f.Tags), orNil(f.Evidence)
	f.Vectors = orNil(slices.Clone(f.Vectors))
	for i := range f.Vectors {
		f.Vectors[i].Vector = orNil(f.Vectors[i].Vector)
	}
	f.Revisions = orNil(slices.Clone(f.Revisions))
	for i := range f.Revisions {
		r := &f.Revisions[i]
		r.Tags, r.Evidence = orNil(r.Tags), orNil(r.Evidence)
	}
	return &f
}

func orNil[S ~[]E, E any](s S) S {
	if len(s) == 0 {
		return nil
	}
	return s
}
