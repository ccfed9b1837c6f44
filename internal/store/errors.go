package store

import (
	"strconv"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// The errors of the contract: every store must return the same ones.

// RetryAfter is the wait that an error suggests to the caller when a store does not respond.
const RetryAfter = time.Second

// UserNotFound is the error for a user that the tenant does not have.
func UserNotFound(u memory.UserRef) error {
	return &memory.Error{
		Kind: memory.KindNotFound, Reason: memory.ReasonUserNotFound,
		Message: "no user " + u.UserID, Metadata: map[string]string{"user_id": u.UserID},
	}
}

// UserExists refuses to import a user whom the tenant has.
func UserExists(u memory.UserRef) error {
	return &memory.Error{
		Kind: memory.KindExists, Reason: memory.ReasonUserExists,
		Message: "the user " + u.UserID + " exists: nothing was imported; import under another user id, say by on_conflict what becomes of " +
			"what is there, or erase the user before",
		Metadata: map[string]string{"user_id": u.UserID},
	}
}

// ImportGone refuses what is added to an import that was ended or given up.
func ImportGone() error { return Contention("the import was ended or given up") }

// ImportTargetGone refuses what was to go to a user who was erased meanwhile.
func ImportTargetGone() error {
	return Contention("the user was erased while the import was under way, and nothing of it is kept")
}

// SessionNotFound is the error for a session that the user does not have.
func SessionNotFound(ref memory.SessionRef) error {
	return &memory.Error{
		Kind: memory.KindNotFound, Reason: memory.ReasonSessionNotFound,
		Message:  "user " + ref.UserID + " has no session " + ref.SessionID,
		Metadata: map[string]string{"user_id": ref.UserID, "session_id": ref.SessionID},
	}
}

// IncarnationNotFound is SessionNotFound for callers that name a session by its key, which no caller of the API may see.
func IncarnationNotFound(u memory.UserRef) error {
	return &memory.Error{
		Kind: memory.KindNotFound, Reason: memory.ReasonSessionNotFound,
		Message: "that session of user " + u.UserID + " is gone", Metadata: map[string]string{"user_id": u.UserID},
	}
}

// MessageNotFound is the error for a message that the session does not have.
func MessageNotFound(ref memory.SessionRef, id string) error {
	return &memory.Error{
		Kind: memory.KindNotFound, Reason: memory.ReasonMessageNotFound,
		Message:  "session " + ref.SessionID + " has no message " + id,
		Metadata: map[string]string{"session_id": ref.SessionID, "message_id": id},
	}
}

// FactNotFound is the error for a fact that the user does not have.
func FactNotFound(u memory.UserRef, id string) error {
	return &memory.Error{
		Kind: memory.KindNotFound, Reason: memory.ReasonFactNotFound,
		Message:  "user " + u.UserID + " has no fact " + id,
		Metadata: map[string]string{"user_id": u.UserID, "fact_id": id},
	}
}

// DocumentNotFound is the error for a document that the user does not have.
func DocumentNotFound(u memory.UserRef, p memory.DocumentPlace) error {
	return &memory.Error{
		Kind: memory.KindNotFound, Reason: memory.ReasonDocumentNotFound,
		Message:  "user " + u.UserID + " has no document " + p.Key + " in the namespace",
		Metadata: map[string]string{"user_id": u.UserID, "key": p.Key},
	}
}

// DocumentETagMismatch refuses to put a document over another one than the caller knows.
func DocumentETagMismatch(u memory.UserRef, p memory.DocumentPlace) error {
	return &memory.Error{
		Kind: memory.KindConflict, Reason: memory.ReasonETagMismatch,
		Message:  "document " + p.Key + " was put again or deleted since: read it and decide anew",
		Metadata: map[string]string{"user_id": u.UserID, "key": p.Key},
	}
}

// JobNotFound is the error for a job that the user does not have.
func JobNotFound(u memory.UserRef, id string) error {
	return &memory.Error{
		Kind: memory.KindNotFound, Reason: memory.ReasonJobNotFound,
		Message:  "user " + u.UserID + " has no job " + id,
		Metadata: map[string]string{"user_id": u.UserID, "job_id": id},
	}
}

// ErasureNotFound is the error for an erasure that the tenant does not have.
func ErasureNotFound(id string) error {
	return &memory.Error{
		Kind: memory.KindNotFound, Reason: memory.ReasonJobNotFound,
		Message: "no erasure " + id, Metadata: map[string]string{"job_id": id},
	}
}

// LifeNotFound is the error for a life of a user, or an incarnation of a session, that nobody lives any more. Its key must not
// be shown.
func LifeNotFound(reason memory.Reason) error {
	return &memory.Error{Kind: memory.KindNotFound, Reason: reason, Message: "it was erased, or never was"}
}

// JobNotWaiting refuses to retry a job that does not wait for it.
func JobNotWaiting(job memory.Job) error {
	return &memory.Error{
		Kind: memory.KindPrecondition, Reason: memory.ReasonJobNotParked,
		Message:  "job " + job.ID() + " is " + job.State.String() + ": only a job that is open, answered or parked can be retried",
		Metadata: map[string]string{"job_id": job.ID(), "state": job.State.String()},
	}
}

// JobNotRevertible refuses to take back what a job did not do.
func JobNotRevertible(job memory.Job) error {
	hint := "only one that is applied can be reverted: skip it instead"
	switch {
	case job.Kind != memory.JobExtract:
		hint = "its kind is " + job.Kind.String() + ", and only what was extracted can be reverted: rebuild, correct or delete the summary instead"
	case job.State.IsFinal():
		hint = "only one that is applied can be reverted: this one changed nothing"
	}
	return &memory.Error{
		Kind: memory.KindPrecondition, Reason: memory.ReasonJobNotRevertible,
		Message:  "job " + job.ID() + " is " + job.State.String() + "; " + hint,
		Metadata: map[string]string{"job_id": job.ID(), "state": job.State.String(), "kind": job.Kind.String()},
	}
}

// RequestIDReused refuses a request_id that came with another request.
func RequestIDReused(ref memory.SessionRef, id string) error {
	return &memory.Error{
		Kind: memory.KindExists, Reason: memory.ReasonRequestIDReused,
		Message:  "request_id " + id + " was used in session " + ref.SessionID + " with another request: use a new one",
		Metadata: map[string]string{"session_id": ref.SessionID, "request_id": id},
	}
}

// MessageIDReused refuses a message id that is taken by another message.
func MessageIDReused(ref memory.SessionRef, id string) error {
	return &memory.Error{
		Kind: memory.KindExists, Reason: memory.ReasonMessageIDReused,
		Message:  "message id " + id + " is taken in session " + ref.SessionID + " by a message with another role, name or parts: use a new id",
		Metadata: map[string]string{"session_id": ref.SessionID, "message_id": id},
	}
}

// LastSeqMismatch refuses a write that expects the session to end elsewhere.
func LastSeqMismatch(ref memory.SessionRef, expected, actual int64) error {
	e, a := strconv.FormatInt(expected, 10), strconv.FormatInt(actual, 10)
	return &memory.Error{
		Kind: memory.KindPrecondition, Reason: memory.ReasonLastSeqMismatch,
		Message:  "the last seq of session " + ref.SessionID + " is " + a + ", not " + e + ": read the newer messages and decide again",
		Metadata: map[string]string{"session_id": ref.SessionID, "expected": e, "actual": a},
	}
}

// ETagMismatch refuses a change of a session that was changed meanwhile.
func ETagMismatch(ref memory.SessionRef, expected, actual string) error {
	return &memory.Error{
		Kind: memory.KindConflict, Reason: memory.ReasonETagMismatch,
		Message:  "session " + ref.SessionID + " was changed: its etag is " + actual + ", not " + expected + ": read it again",
		Metadata: map[string]string{"session_id": ref.SessionID, "expected": expected, "actual": actual},
	}
}

// ListETagMismatch refuses to replace a list of messages that changed since it was read.
func ListETagMismatch(ref memory.SessionRef) error {
	return &memory.Error{
		Kind: memory.KindConflict, Reason: memory.ReasonETagMismatch,
		Message: "the messages of session " + ref.SessionID + " were changed since they were listed: list them again with visible_only, " +
			"and replace that list by its etag",
		Metadata: map[string]string{"session_id": ref.SessionID},
	}
}

// UserETagMismatch refuses a change of a user who was changed meanwhile.
func UserETagMismatch(ref memory.UserRef, expected, actual string) error {
	return &memory.Error{
		Kind: memory.KindConflict, Reason: memory.ReasonETagMismatch,
		Message:  "user " + ref.UserID + " was changed: its etag is " + actual + ", not " + expected + ": read it again",
		Metadata: map[string]string{"user_id": ref.UserID, "expected": expected, "actual": actual},
	}
}

// Contention refuses a write that others were faster with. cause must not quote a caller.
func Contention(cause string) error {
	return &memory.Error{
		Kind: memory.KindConflict, Reason: memory.ReasonContention, Retry: 100 * time.Millisecond,
		Message: cause + ": read again and retry", Metadata: map[string]string{"cause": cause},
	}
}

// MaxDecisions is how often a person's change is decided because background work or another process was faster. Each
// time their write got through, so more than a few in a row are for the caller to know.
const MaxDecisions = 8

// EmbeddingGone refuses a write to a version of embeddings that was dropped.
func EmbeddingGone(version int) error {
	return Contention("embedding version " + strconv.Itoa(version) + " is gone")
}

// ShuttingDown refuses a call of a store that is being closed.
func ShuttingDown() error {
	return &memory.Error{
		Kind: memory.KindUnavailable, Reason: memory.ReasonShuttingDown, Retry: RetryAfter,
		Message: "the server is shutting down: retry",
	}
}
