package store

import (
	"context"
	"encoding/binary"
	"math"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// Facts keeps what was learnt about users, with its history.
type Facts interface {
	// FactsSince must return the user's facts that changed after the revision, superseded ones included, by Change, then
	// id, together with the revision that they lead to. An unknown user has none at revision 0.
	FactsSince(ctx context.Context, user memory.UserRef, revision int64) (FactState, error)
	// Fact must return a fact; FACT_NOT_FOUND when there is none.
	Fact(ctx context.Context, user memory.UserRef, id string) (memory.Fact, error)
	// ListFacts must return facts, the latest updated first, equal times by id. An unknown user has none.
	ListFacts(ctx context.Context, q FactQuery) ([]memory.Fact, error)
	// FactRevisions must return what a fact was after each change, the latest first; FACT_NOT_FOUND when there is none.
	FactRevisions(ctx context.Context, user memory.UserRef, id string) ([]memory.FactRevision, error)
	// FactsOfJob must return the ids of the facts that the job changed and that were not deleted since, byte by byte.
	// An unknown job changed none.
	FactsOfJob(ctx context.Context, ref JobRef) ([]string, error)
	// ApplyFacts must, in one write, store every change with its revision, forget what is to be, delete the earlier
	// revisions of DropEarlier, keep what is quarantined, make the job final as applied without its answer, and raise the user's
	// fact revision by one. Further:
	//   - It must refuse with CONTENTION, and change nothing, when the revision is not Base any more, or when a changed fact
	//     is stored with a lower revision than the one before Fact.Revision.
	//   - Applying a job that is final must change nothing and return the revision.
	//   - A write that reverts a job must in the same write make it JobReverted with the receipt as its answer. Reverting
	//     it again must change nothing and return the revision; a job that was not applied must be refused with
	//     JOB_NOT_REVERTIBLE, also where the revision is not Base.
	//   - Of DropEarlier, only facts that the write changes may lose earlier revisions.
	//   - A write for another life of the user must be refused with USER_NOT_FOUND. Only a write without a job creates the
	//     user.
	//   - UpdateUser, UpdateSession and UpdateMessage that set Extract to ExtractNone must raise the revision by one before
	//     they return, also where it was ExtractNone already. So a caller that reads the revision first, and then whether it
	//     may learn, applies nothing that was forbidden in between.
	ApplyFacts(ctx context.Context, w FactWrite) (revision int64, err error)
	// TouchFacts must set when facts were last used, without a revision; unknown ones are passed over.
	TouchFacts(ctx context.Context, user memory.UserRef, ids []string, at time.Time) error
	// ListQuarantined must return refused operations of a user, the latest first, equal times by id.
	ListQuarantined(ctx context.Context, q QuarantineQuery) ([]memory.Quarantined, error)
}

// FactState is what changed of a user's facts.
type FactState struct {
	Scope      memory.ScopeKey // "" for an unknown user
	HashKey    memory.HashKey  // of Forgotten
	Revision   int64
	Facts      []memory.Fact
	Forgotten  []Forgotten // since the revision
	Checkpoint Checkpoint  // the user's checkpoint of memory.ViewVectors
}

// Forgotten is a fact that a person deleted. Only keyed hashes of it are kept, so that it is not learnt again from the old
// messages.
type Forgotten struct {
	FactID string
	Key    memory.KeyedHash // one of the fact's keys
	Change int64
	// Time is when it was deleted: messages after it may teach the same words again. Zero when none may, and in data of
	// schemas without this time.
	Time time.Time
}

// FactQuery asks for a page of a user's facts.
type FactQuery struct {
	User       memory.UserRef
	WithPast   bool              // superseded and invalidated ones too
	Categories []memory.Category // nil for all
	SessionID  string            // only those with evidence in the session; "" for all
	Limit      int               // at least 1
	After      *FactCursor
}

// FactCursor is a place in the order of ListFacts.
type FactCursor struct {
	UpdateTime time.Time
	ID         string
}

// FactWrite is one decision about a user's facts.
type FactWrite struct {
	User        memory.UserRef
	Scope       memory.ScopeKey // "" only for the first write about a user who may not exist
	Base        int64           // the fact revision that was decided against
	JobID       string          // the job that is applied; "" for a person's change
	Author      string          // kept with the revisions of a person's change; "" for none
	Reverts     string          // the job whose effects the write takes back, with an empty JobID; "" for none
	Receipt     []byte          // of the revert: kept as the job's answer
	Changes     []FactChange
	Forget      []ForgetFact
	DropEarlier []string             // ids of changed facts whose earlier revisions are deleted, because an erased message is in them
	Quarantined []memory.Quarantined // their ids derive from the job
	Reason      string               // why the job has less effect than its answer asks for; "" leaves the job's reason as it is
	Time        time.Time
}

// ForgottenAt is what Forgotten.Time must be of what the write deletes: its time, and zero where it takes a job back, since what
// a job should not have added is not learnt again in those words.
func (w FactWrite) ForgottenAt() time.Time {
	if w.Reverts != "" {
		return time.Time{}
	}
	return w.Time
}

// FactChange stores a fact as it shall be: Revision is one above what is stored, 1 for a new fact; Change is set by the
// store.
type FactChange struct {
	Fact  memory.Fact
	Cause memory.FactCause
}

// ForgetFact deletes a fact with its history and vectors.
type ForgetFact struct {
	FactID string
	Keys   []memory.Digest // of every key it had: see extract.KeyDigest. Stored keyed by the user's hash key
}

// MaxQuarantined is how many refused operations of a user must be kept, the ones stored last, so that a model that produces
// nonsense for days does not fill the disk. WorkStats counts all of them.
const MaxQuarantined = 1000

// QuarantineQuery asks for a page of refused operations.
type QuarantineQuery struct {
	User  memory.UserRef
	Limit int // at least 1
	After *JobCursor
}

// Vectors keeps the facts' embeddings: derived from their texts, so that a new version can be made at any time.
type Vectors interface {
	// Embeddings must return all versions, the lowest first.
	Embeddings(ctx context.Context) ([]memory.Embedding, error)
	// AddEmbedding must store a version, numbered one above the highest. The first one is active; of the others, one of the
	// same model and dimension that is not active yet is returned instead of added.
	AddEmbedding(ctx context.Context, e memory.Embedding) (memory.Embedding, error)
	// ActivateEmbedding must make the version the active one in one write, and every feed of memory.ViewVectors and
	// memory.ViewMessageVectors wait.
	ActivateEmbedding(ctx context.Context, version int, at time.Time) error
	// DropEmbedding must delete a version that is not active with its vectors; deleting it again is harmless.
	DropEmbedding(ctx context.Context, version int) error
	// FactsToEmbed must return facts whose current text has no vector of the version, of all users or one, in an order
	// that stays the same while they wait.
	FactsToEmbed(ctx context.Context, q EmbedQuery) ([]FactText, error)
	// CountFactsToEmbed must count them; a version that does not exist has none.
	CountFactsToEmbed(ctx context.Context, version int) (int64, error)
	// CountFacts must count the facts of all users.
	CountFacts(ctx context.Context) (int64, error)
	// PutFactVectors must store vectors of one version in place of older ones of the same facts. A fact that is gone, or
	// whose Revision is not the given one any more, is passed over.
	PutFactVectors(ctx context.Context, w VectorWrite) error
	// FactVectors must return a user's vectors of a version that were stored after the given number, by number, no more than Limit.
	FactVectors(ctx context.Context, q FactVectorQuery) ([]FactVector, error)
}

// EmbedQuery asks for facts to embed.
type EmbedQuery struct {
	Version int
	User    *memory.UserRef // nil for all users
	Limit   int
}

// FactText is a fact to embed.
type FactText struct {
	User     memory.UserRef
	FactID   string
	Revision int64
	Text     string
}

// VectorWrite is a batch of vectors of one version.
type VectorWrite struct {
	Version int
	Vectors []NewVector
	Time    time.Time
}

// NewVector is the vector of a fact's text at a revision.
type NewVector struct {
	User     memory.UserRef
	FactID   string
	Revision int64
	Vector   []float32
}

// FactVectorQuery asks for a user's vectors of a version.
type FactVectorQuery struct {
	User    memory.UserRef
	Version int
	After   int64 // only vectors with a higher number
	Limit   int   // 0 for all
}

// FactVector is a stored vector.
type FactVector struct {
	No     int64 // grows with every vector stored
	FactID string
	Vector []float32
}

// EncodeVector packs a vector as little-endian float32, the form in which every store keeps it.
func EncodeVector(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// DecodeVector unpacks what EncodeVector packed.
func DecodeVector(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}
