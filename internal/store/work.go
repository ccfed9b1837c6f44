package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// Users keeps what is known about users themselves.
type Users interface {
	// User must return the user as of the last acknowledged write.
	User(ctx context.Context, ref memory.UserRef) (memory.User, error)
	// Tenants must return all tenants that have users, byte by byte.
	Tenants(ctx context.Context) ([]string, error)
	// ListUsers must return the tenant's users by user id, byte by byte, without State.
	ListUsers(ctx context.Context, q UserQuery) ([]memory.User, error)
	// UpdateUser must change only what the update sets, merge StatePatch by memory.MergeState with the count of the state's
	// changes as its revision, refuse a stale ETag with ETAG_MISMATCH, and create a user that does not exist when the update
	// has no ETag. Where Timezone changes it must have the user's periods looked at by Time: leaves may belong to other weeks.
	UpdateUser(ctx context.Context, u UserUpdate) (memory.User, error)
}

// UserQuery asks for a page of a tenant's users.
type UserQuery struct {
	Tenant string
	Limit  int    // at least 1
	After  string // the last user id of the page before; "" for the first page
}

// UserUpdate changes a user; nil pointers leave a value as it is.
type UserUpdate struct {
	Ref      memory.UserRef
	Timezone *string
	Language *string
	Extract  *memory.ExtractMode
	// StatePatch is merged into the user's state; nil for none.
	StatePatch json.RawMessage
	ETag       string // "" to update whatever is there
	Time       time.Time
}

// Work finds the sessions and users that background work has to look at. What there is to do follows from what is stored;
// the times kept here only tell when to look, so that a sweep need not look at everybody.
type Work interface {
	// SessionWork must return the session with how far its work has come, as of one instant, and the user without State.
	SessionWork(ctx context.Context, ref memory.SessionRef) (SessionWork, error)
	// PendingSessions must return sessions of all tenants whose time to be looked at is not after before, the longest
	// waiting first, and after them those whose time is more than LongestLook after it: a clock that was ahead set it.
	// Append must set a session's time to its own Time, also where an earlier turn is of a later one, when it stores a
	// message and no earlier time is set, in the same write.
	PendingSessions(ctx context.Context, before time.Time, limit int) ([]memory.SessionRef, error)
	// WaitingSessions must return the user's sessions that have a time to be looked at, whenever that is, the earliest first.
	// Every acknowledged message that no work has looked at yet is in one of them. An unknown user has none: that is not an
	// error.
	WaitingSessions(ctx context.Context, user memory.UserRef, limit int) ([]memory.SessionRef, error)
	// DeferSession must set when the session is looked at again, unless a turn was stored since LastSeq or the time is not
	// Seen any more, as after RetrySlot: then it must change nothing, because the caller has not seen what there is to do.
	// A zero Until means not before the next turn. Callers should defer by at most LongestLook.
	DeferSession(ctx context.Context, d Deferral) error
	// PendingPeriods must return users whose time to be looked at for weekly and monthly summaries is not after before,
	// the longest waiting first, and after them those whose time is more than LongestPeriodsLook after it.
	PendingPeriods(ctx context.Context, before time.Time, limit int) ([]memory.UserRef, error)
	// DeferPeriods must set when the user's periods are looked at again; a zero time means not before the next leaf.
	DeferPeriods(ctx context.Context, user memory.UserRef, scope memory.ScopeKey, until time.Time) error
	// WorkStats must count what waits and what is parked, over all tenants.
	WorkStats(ctx context.Context) (WorkStats, error)
}

// SessionWork is how far the background work of a session has come. The watermarks follow from it: see package jobs.
type SessionWork struct {
	Session memory.Session
	User    memory.User
	// ExtractCursor and LeafCursor are the ends of the last ranges that slots of SlotExtract and SlotLeaf have fixed: the
	// next slot begins after them. 0 before the first.
	ExtractCursor int64
	LeafCursor    int64
	// Slots are the session's slots that are not final, of every kind, by kind, level and From.
	Slots         []memory.Slot
	UnindexedFrom int64     // the first seq of the first turn pending for the lexicon; 0 when all are indexed
	LookAt        time.Time // when a sweep looks at the session; zero for never
}

// Deferral is when to look at a session again.
type Deferral struct {
	Ref     memory.SessionRef
	Session memory.SessionKey
	LastSeq int64
	Seen    time.Time // SessionWork.LookAt as it was read
	Until   time.Time
}

// WorkStats count background work.
type WorkStats struct {
	Kinds       []KindStats      // by kind
	Quarantined map[string]int64 // by reason
	OldestTurn  time.Time        // of the sessions that PendingSessions names: when the longest waiting was to be looked at; zero when none is
}

// KindStats count the slots of one kind.
type KindStats struct {
	Kind   memory.SlotKind
	Open   int64 // open and answered
	Parked int64
	Oldest time.Time // create time of the oldest open one; zero without one
}

// Journal keeps the slots. A slot guards one piece of work: its unique key fixes the range before the model is called, the
// first answer that is stored is the only one, and what is applied carries ids derived from it.
type Journal interface {
	// OpenSlot must insert the slot, claimed by its owner, and move the session's cursor to To in the same write. Where a
	// slot of the key exists, it must return that one unchanged. A SlotExtract or SlotLeaf of generation 1 whose From is
	// not behind the cursor and has no slot must be refused with CONTENTION: somebody fixed another range first.
	OpenSlot(ctx context.Context, p SlotOpening) (memory.Slot, error)
	// ClaimSlot must give the slot to the owner until then. It must refuse with CONTENTION while another's lease runs, and
	// must return a slot that is parked or final as it is.
	ClaimSlot(ctx context.Context, p SlotClaim) (memory.Slot, error)
	// AnswerSlot must store the answer of an open slot and add the usage. A slot that has an answer already keeps it, unless the
	// new one is given Instead of that one: what counts is what AnswerSlot returns.
	AnswerSlot(ctx context.Context, p SlotAnswer) (memory.Slot, error)
	// FailSlot must note a failure, add the usage and end the lease; a final slot stays as it is.
	FailSlot(ctx context.Context, p SlotFailure) (memory.Slot, error)
	// SplitSlot must, in one write, make the slot final as SlotSplit and insert two slots of the next generation, from
	// From to At and from At+1 to To. Doing it again must return the same two.
	SplitSlot(ctx context.Context, p SlotSplit) ([2]memory.Slot, error)
	// FinishSlot must make the slot final in the given state without any effect: applied where there was nothing to do,
	// skipped by a person. A final slot stays as it is.
	FinishSlot(ctx context.Context, p SlotFinish) (memory.Slot, error)
	// RetrySlot must store what SlotRetry.Move makes of a slot that is not final, with NotBefore at the given time. It must
	// also set the time at which the session is looked at, even to a later one, so that a DeferSession that read the
	// earlier time is refused. A slot that Move refuses must stay as it is.
	RetrySlot(ctx context.Context, p SlotRetry) (memory.Slot, error)
	// ParkedSlots must return parked slots of all tenants whose Reason is the given one and whose NotBefore is not after
	// Before, or more than LongestParked after it, the earliest first, without Answer.
	ParkedSlots(ctx context.Context, q ParkedQuery) ([]memory.Slot, error)
	// Slot must return a slot of the user; JOB_NOT_FOUND when there is none.
	Slot(ctx context.Context, ref SlotRef) (memory.Slot, error)
	// ListSlots must return slots, the latest created first, equal times by id. Final ones are kept at least for the life of
	// what they made.
	ListSlots(ctx context.Context, q SlotQuery) ([]memory.Slot, error)
}

// SlotRef names a slot of a user.
type SlotRef struct {
	User memory.UserRef
	ID   string
}

// SlotOpening is a slot to insert.
type SlotOpening struct {
	memory.SlotKey
	User  memory.UserRef
	To    int64
	Owner string
	Until time.Time // of the lease
	Time  time.Time
}

// SlotClaim asks for the lease of a slot.
type SlotClaim struct {
	SlotRef
	Owner string
	Now   time.Time
	Until time.Time
}

// SlotAnswer is a model's answer.
type SlotAnswer struct {
	SlotRef
	Answer []byte
	// Instead is the answer that the new one replaces, because another was asked for; nil for none.
	Instead []byte
	Usage   memory.ModelUsage
	Time    time.Time
}

// SlotFailure is why a slot could not be done.
type SlotFailure struct {
	SlotRef
	Attempts  int // failed ones so far
	NotBefore time.Time
	// FailingSince is memory.Slot.FailingSince.
	FailingSince time.Time
	Reason       string // without content
	Park         bool
	Usage        memory.ModelUsage
	Time         time.Time
}

// SlotRetry asks for a slot to be worked on at once.
type SlotRetry struct {
	SlotRef
	// Again keeps Attempts and FailingSince of a slot that was tried for long, so that one more failure parks it again, and
	// retries only a parked slot. Without it the slot begins anew, whatever it waits for.
	Again bool
	Time  time.Time
}

// ParkedQuery asks for parked slots.
type ParkedQuery struct {
	Reason string
	Before time.Time
	Limit  int // at least 1
}

// SlotSplit is where to split a slot.
type SlotSplit struct {
	SlotRef
	At   int64 // From ≤ At < To
	Time time.Time
}

// SlotFinish ends a slot.
type SlotFinish struct {
	SlotRef
	State  memory.SlotState // SlotApplied or SlotSkipped
	Reason string
	Usage  memory.ModelUsage
	Time   time.Time
}

// SlotQuery asks for a page of slots of a tenant.
type SlotQuery struct {
	Tenant    string
	UserID    string             // "" for all of the tenant's
	SessionID string             // "" for all; needs UserID
	Kinds     []memory.SlotKind  // nil for all
	States    []memory.SlotState // nil for all
	Limit     int                // at least 1
	After     *SlotCursor
}

// SlotCursor is a place in the order of ListSlots.
type SlotCursor struct {
	CreateTime time.Time
	ID         string
}
