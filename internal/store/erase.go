package store

import (
	"context"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// Erasures takes away for good what persons want gone.
//
// An erasure has two halves. BeginErasure takes its target out of everything that a caller can see, before it returns, and
// keeps the erasure itself in the same write: a process that dies right after leaves work that PendingErasures finds. Sweeping
// then deletes what is left of the target, in pieces so small that calls of others do not wait. Facts are not the store's to
// choose: the caller removes those that the erased messages taught by ApplyFacts (FactWrite.Forget, FactChange, FactWrite.DropEarlier).
type Erasures interface {
	// BeginErasure must begin the erasure, or return the one that has the ID as it is. Of EraseMessages only the messages that
	// exist count; without any it must still keep the erasure. It must refuse an unknown user or session with USER_NOT_FOUND or
	// SESSION_NOT_FOUND, and with LAST_SEQ_MISMATCH where IfLastSeq is set and is not the session's last seq. Where it is set it must
	// refuse with CONTENTION when one of Seqs was erased before, so that of two that take the same messages one gets them.
	//
	// A Turn must be recorded by the same write, as Append records it but for what a repeat of its request returns: either the messages
	// of Seqs are erased and the Turn is stored, or neither is. With memory.FreeIDs its messages may have the ids of those that are
	// erased. What Append refuses must be refused, with nothing erased; a Turn that Append would not store is passed over. An erasure that
	// is begun again records nothing again. Until BeginErasure returns, others may see the Turn beside what it replaces.
	//
	// What it deleted itself is in the receipt of the erasure that it keeps, under memory.PrimaryStore.
	//
	// From its return on, whichever process asks:
	//   - EraseUser: no method knows the user. The next Append, UpdateUser or ApplyFacts without a job begins a new life, which
	//     shares no key with the old one and starts at sequence 1. Every write for the ended life must be refused with
	//     USER_NOT_FOUND or CONTENTION, or go to the new life: one that was acknowledged must be seen.
	//   - EraseSession: the same of the session and its key. The user's other sessions stay as they are. The erasure keeps a keyed hash of
	//     the session's id, so that no import brings back what was recorded before: see AdoptSession.
	//   - EraseMessages: a message is Deleted: see memory.Message. Its place stays, its id stays known unless IDs is
	//     memory.FreeIDs, and Hidden has its seq for the life of the session. MessagesAt leaves it out, UpdateMessage returns
	//     MESSAGE_NOT_FOUND, KnownMessages and Append know its id still, KnownToolCalls does not know its calls.
	//   - A summary that was made of an erased message keeps its place and generation but has no Text; of persons' revisions of such a
	//     summary none is left. Weeks and months that were made of such summaries are treated the same way. The session and the
	//     user's periods are scheduled at Time, so that they are written anew from what is left.
	//   - EraseSummary: the summary, all its nodes or generations, and all revisions of it that persons wrote have no Text. The next
	//     revision is SummaryDeleted, with the Covers of Summary and the Rebuilds of the one before; earlier ones keep their numbers
	//     and request ids, and cover nothing. Nodes of a session keep their place and generation and Passed all that they cover; weeks
	//     and months have no Children. Weeks and months that were made of it have no Text; what persons wrote in their place stays.
	//     Open and answered jobs of leaves, merges and rebuilds of the session, and of weeks and months, are final as
	//     memory.JobReplaced, and a leaf's has a successor. The session and the periods are scheduled at Time.
	//   - A job that is not final and may cover an erased message (MayCover) is final as memory.JobReplaced without its answer,
	//     and, unless it is of a week or month or no message of its range is left, a job of the same range and the next free
	//     generation is open in its place: an answer to the old one is passed over, and applying the old one changes nothing. An
	//     answer that a final job kept (a receipt of JobReverted) is gone.
	//   - Operations that were refused from such jobs, final ones included, are not listed.
	//   - ChangeSummary refuses with CONTENTION what a person wrote of an erased message that it does not pass over.
	//   - The user's fact revision is one higher, so that a decision that was made before is refused by ApplyFacts.
	//   - Replaying a request of Append whose messages are erased still returns its first result, without findings, and stores nothing.
	BeginErasure(ctx context.Context, p ErasureStart) (memory.Erasure, error)
	// SweepErasure must delete at most about limit rows of the target that are left in the primary store, take away again what
	// arrived after BeginErasure, and return how many it deleted and whether none is left. Segments of the search index that
	// hold erased messages are not among them: whoever owns their content writes them anew. When none is left, no file of
	// an embedded store may hold any bytes of them.
	SweepErasure(ctx context.Context, id string, limit int) (deleted int64, done bool, err error)
	// Purge must overwrite the bytes that deleting facts and documents left in a file of the store, where it has one of its own, unless
	// somebody reads from it: then a later call must. In any other store it must do nothing.
	Purge(ctx context.Context) error
	// PendingErasures must return erasures of all tenants that are not done and whose NotBefore is not after before, the oldest
	// first.
	PendingErasures(ctx context.Context, before time.Time, limit int) ([]memory.Erasure, error)
	// UpdateErasure must store State, Receipt, Passes, NotBefore, Attempts, Reason, UpdateTime and DoneTime. A done one stays as
	// it is. Of two that do it at once either may win.
	UpdateErasure(ctx context.Context, e memory.Erasure) error
	// Erasure must return an erasure of the tenant; JOB_NOT_FOUND when there is none.
	Erasure(ctx context.Context, tenant, id string) (memory.Erasure, error)
	// ListErasures must return erasures, the latest created first, equal times by id.
	ListErasures(ctx context.Context, q ErasureQuery) ([]memory.Erasure, error)
	// UserOfScope must return who lives the life; USER_NOT_FOUND when nobody does.
	UserOfScope(ctx context.Context, scope memory.ScopeKey) (memory.UserRef, error)
	// SessionOfKey must return the session whose incarnation has the key; SESSION_NOT_FOUND when none has.
	SessionOfKey(ctx context.Context, user memory.UserRef, key memory.SessionKey) (memory.SessionRef, error)
}

// ErasureStart is an erasure to begin.
type ErasureStart struct {
	ID        string // unique in the store: derived from the request id where there is one
	Kind      memory.ErasureKind
	User      memory.UserRef
	SessionID string // of EraseSession and EraseMessages, and of EraseSummary of a session
	Summary   memory.ErasedSummary
	Seqs      []memory.SeqRange // of EraseMessages, ascending and apart
	IfLastSeq *int64            // of EraseMessages; nil for any
	IDs       memory.ErasedIDs
	Turn      *AppendParams // of EraseMessages with IfLastSeq: what replaces the messages; without a RequestID; nil for nothing
	Request   memory.KeyedHash
	UserHash  memory.KeyedHash
	Time      time.Time
}

// ErasureQuery asks for a page of a tenant's erasures.
type ErasureQuery struct {
	Tenant   string
	UserHash *memory.KeyedHash     // nil for all of the tenant's
	Session  memory.SessionKey     // "" for all
	States   []memory.ErasureState // nil for all
	Limit    int                   // at least 1
	After    *JobCursor
}
