package store

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// Source gives out everything that a primary store holds, for another truth to take in.
type Source interface {
	Tenants(ctx context.Context) ([]string, error)
	ListUsers(ctx context.Context, q UserQuery) ([]memory.User, error)
	Embeddings(ctx context.Context) ([]memory.Embedding, error)
	// QuarantineCounts must return how many operations were ever refused, by reason.
	QuarantineCounts(ctx context.Context) (map[string]int64, error)
	Secrets
	// Export must call each with everything stored of the user, in the order of Record's fields, within a field by key: the
	// same records in the same order for the same data, whatever the driver: see Canonical. It stops at the first error, of
	// each too.
	// What can be derived without a model is left out: segments, marks of views.
	Export(ctx context.Context, user memory.UserRef, each func(Record) error) error
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
	Session   *SessionRecord      `json:"session,omitempty"`   // by session key
	Turn      *TurnRecord         `json:"turn,omitempty"`      // by session key, then turn number
	Node      *memory.SummaryNode `json:"node,omitempty"`      // by id
	Revised   *SummaryHistory     `json:"revised,omitempty"`   // by kind, then session key, then period
	Job       *memory.Job         `json:"slot,omitempty"`      // by id
	Fact      *FactRecord         `json:"fact,omitempty"`      // by id
	Forgotten *Forgotten          `json:"forgotten,omitempty"` // by change, then fact id, then key
	Refused   *memory.Quarantined `json:"refused,omitempty"`   // by id, then time
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
