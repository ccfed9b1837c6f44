package store

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// PrimaryStore is what a driver of the primary store implements. Callers ask for the narrowest part that serves them.
type PrimaryStore interface {
	Sessions
	Transcript
	SearchIndex
	Users
	Work
	Journal
	Facts
	Vectors
	Summaries
	Erasures
	ChangeFeed
	Exporter
	Imports
	Leases
	Clock
	Secrets
	Keys
	Usage
	Audit
	Documents
	Checker
	Close() error
}

// Clock is the one that background work goes by.
type Clock interface {
	// Now must return the time by a clock that all processes that share the store have in common, to within a second: a
	// process whose own clock is wrong neither takes what others work on nor keeps them from it. It must not block.
	Now() time.Time
}

// Secrets keeps what all servers on one primary store share and nobody else may know. It must never get into a log or an
// error.
type Secrets interface {
	// FenceSecret must return the secret that the ids of fences are derived from (package prompttags). It must store minted
	// where there is no secret yet: the first write wins, and every later call, on any server, must return the same secret.
	// With a nil minted it must store nothing, and return nil where there is none.
	FenceSecret(ctx context.Context, minted []byte) ([]byte, error)
}

// Checker reports whether the store can serve.
type Checker interface {
	// Check must fail when the store cannot be read or its last write failed for a reason that still holds.
	Check(ctx context.Context) error
}

// Sessions keeps session heads.
type Sessions interface {
	// Session must return the head as of the last acknowledged Append.
	Session(ctx context.Context, ref memory.SessionRef) (memory.Session, error)
	// ListSessions must return the sessions by LastMessageTime, the latest first and those without messages last, equal times
	// by session id, without State. An unknown user has no sessions: that is not an error.
	ListSessions(ctx context.Context, q SessionQuery) ([]memory.Session, error)
	// UpdateSession must change only what the update sets, and must refuse a stale ETag with ETAG_MISMATCH. Where
	// ContextStart changes, it must schedule the session and the user's periods at Time: their summaries may contain what
	// is hidden now.
	UpdateSession(ctx context.Context, u SessionUpdate) (memory.Session, error)
}

// SessionQuery asks for a page of a user's sessions.
type SessionQuery struct {
	User  memory.UserRef
	Limit int            // at least 1
	After *SessionCursor // the last session of the page before; nil for the first page
}

// SessionCursor is a place in the order of ListSessions.
type SessionCursor struct {
	Time      time.Time // LastMessageTime
	SessionID string
}

// SessionUpdate changes a session's head; nil pointers leave a value as it is.
type SessionUpdate struct {
	Ref      memory.SessionRef
	Title    *string
	Metadata *json.RawMessage
	Profile  *string
	Extract  *memory.ExtractMode
	// ContextStart hides the messages before that seq from contexts; 0 takes that back.
	ContextStart *int64
	ETag         string // "" to update whatever is there
	Time         time.Time
}

// UpdatedSession returns the session as the update leaves it, and whether anything changes: then a store must raise the revision
// behind ETag, once.
func UpdatedSession(was memory.Session, u SessionUpdate) (now memory.Session, changed bool) {
	now = was
	set(&now.Title, u.Title)
	set(&now.Metadata, u.Metadata)
	set(&now.Profile, u.Profile)
	set(&now.Extract, u.Extract)
	set(&now.ContextStart, u.ContextStart)
	if at := time.UnixMicro(u.Time.UnixMicro()).UTC(); at.After(was.UpdateTime) {
		now.UpdateTime = at
	}
	if now.Title == was.Title && bytes.Equal(now.Metadata, was.Metadata) && now.Profile == was.Profile && now.Extract == was.Extract &&
		now.ContextStart == was.ContextStart {
		return was, false
	}
	return now, true
}

// Transcript keeps messages in order.
type Transcript interface {
	// Append stores one turn: all of it or nothing, on disk before it returns. It takes any number of concurrent calls. It
	// must
	//   - create the user and the session when they do not exist;
	//   - number turns and messages from 1 without gaps, in the order of acknowledgement;
	//   - return the first result of a known RequestID when RequestDigest is the same, else REQUEST_ID_REUSED;
	//   - refuse the call with Refused where that is set, unless its RequestID is known;
	//   - skip a message whose id is known with the same BodyDigest, else refuse the call with MESSAGE_ID_REUSED;
	//   - refuse the call with LAST_SEQ_MISMATCH when ExpectedLastSeq is set and is not the session's last seq;
	//   - merge StatePatch by memory.MergeState;
	//   - raise the session's LastMessageTime to the latest SaidTime of the messages that it stores;
	//   - write no turn when there is neither a RequestID, a StatePatch nor a new message;
	//   - mark a turn that stores messages as pending for the search index in the same write;
	//   - fail alone: another call that shares its commit is not touched.
	Append(ctx context.Context, p AppendParams) (AppendResult, error)
	// KnownToolCalls must return those of the call ids that some message of the session makes, in any order. An
	// unknown user or session knows none: that is not an error.
	KnownToolCalls(ctx context.Context, ref memory.SessionRef, callIDs []string) ([]string, error)
	// KnownMessages must return those of the message ids that the session holds, in any order. An unknown user or session
	// holds none: that is not an error.
	KnownMessages(ctx context.Context, ref memory.SessionRef, ids []string) ([]string, error)
	// Messages must return a contiguous run of the session's messages, in the order asked for.
	Messages(ctx context.Context, q MessageQuery) ([]memory.Message, error)
	// MessagesAt must return the messages at those of the places that exist and belong to the user, in the order of places,
	// without originals, each with its session's context start. It must leave out the others: hits of a view are verified
	// that way. It must stop before the stored bytes pass MaxBytes, after at least one message. An unknown user has none. What
	// the messages hold must not be changed: a driver may hand it to others.
	MessagesAt(ctx context.Context, q PlacesQuery) ([]memory.PlacedMessage, error)
	// UpdateMessage must change only what the update sets; MESSAGE_NOT_FOUND when there is no such message. Where it sets
	// Hidden, it must schedule the session and the user's periods at Time: their summaries may contain the message.
	UpdateMessage(ctx context.Context, u MessageUpdate) (memory.Message, error)
	// Hidden must return which of the user's messages are kept out of contexts, as of the last acknowledged UpdateSession,
	// UpdateMessage and Append. An unknown user hides none: that is not an error.
	Hidden(ctx context.Context, user memory.UserRef) (memory.Hidden, error)
}

// AppendParams is one turn.
type AppendParams struct {
	Ref             memory.SessionRef
	Profile         string // of a new session
	RequestID       string // "" for none
	RequestDigest   memory.Digest
	Messages        []NewMessage
	StatePatch      json.RawMessage // nil for none
	ExpectedLastSeq *int64
	Findings        []memory.Finding // kept for the messages that are stored, and for those that a check Removed
	Refused         error            // why a call must not be stored that was not stored before; nil for none
	Room            *Room            // how many new messages it may have; nil for any number
	Time            time.Time        // the record time
}

// NewMessage is a message to be stored: all fields but Seq, TurnNo and RecordTime are set.
type NewMessage struct {
	memory.Message
	BodyDigest memory.Digest
}

// AppendResult is what Append stored. The first result of a RequestID is kept with its turn.
type AppendResult struct {
	TurnNo         int64            `json:"turn"`  // 0 when no turn was written
	MessageIDs     []string         `json:"ids"`   // of all messages of the call, known ones included
	FirstSeq       int64            `json:"first"` // LastSeq + 1 when no message was stored
	LastSeq        int64            `json:"last"`
	Deduplicated   []string         `json:"dup,omitempty"`
	StateRevision  int64            `json:"state"`
	StepsSinceUser int              `json:"steps"`
	Findings       []memory.Finding `json:"findings,omitempty"`
	Replayed       bool             `json:"-"`
}

// KeptFindings are the findings about messages that are stored, by id, and about those that a check removed before.
func KeptFindings(all []memory.Finding, stored map[string]bool) []memory.Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f memory.Finding) bool { return !f.Removed && !stored[f.MessageID] })
}

// MessageQuery asks for a run of messages.
type MessageQuery struct {
	Ref         memory.SessionRef
	After       int64 // only seqs above it; 0 for all
	Before      int64 // only seqs below it; 0 for all
	NewestFirst bool
	Limit       int // at least 1
	// Stop once the o200k counts of messages that are not hidden add up to it, after at least MinMessages of these; 0 for
	// no limit
	MaxTokens    int64
	MinMessages  int
	MaxBytes     int64 // stop before the stored bytes pass it, after at least one message; 0 for no limit
	WithOriginal bool
	Marked       bool // only messages that are pinned, that have tags, or that are of OriginRecalled; such a run has gaps
}

// PlacesQuery asks for messages by their places.
type PlacesQuery struct {
	User     memory.UserRef
	Places   []memory.Place
	MaxBytes int64 // 0 for no limit
}

// MessageUpdate changes a message's labels; nil pointers leave a value as it is.
type MessageUpdate struct {
	Ref       memory.SessionRef
	MessageID string
	Tags      *[]string
	Metadata  *json.RawMessage
	Pinned    *bool
	Hidden    *bool // from contexts
	Extract   *memory.ExtractMode
	Time      time.Time
}

// SearchIndex keeps each user's search index: a view of the transcript inside the primary store, made of immutable segments
// whose content only package segment understands.
type SearchIndex interface {
	// SearchIndex must return the user's segments, and the recallable messages of turns that are still pending, oldest
	// first, up to MaxUnindexed of them and stopping before their stored bytes pass MaxBytes. Every recallable message
	// is in a segment or among the pending ones at any instant. It must name the first seq of the session's first
	// pending turn. An unknown user has neither segments nor pending messages, and an unknown session has no pending
	// turn: that is not an error.
	SearchIndex(ctx context.Context, q SearchIndexQuery) (SearchIndexState, error)
	// Segments must return the data of those of the segments that exist, in the order of nos.
	Segments(ctx context.Context, user memory.UserRef, nos []int64) ([]Segment, error)
	// PutSegment must, in one write, store the segment, delete those it replaces and clear the pending marks of its
	// turns. Putting it again after a crash must be harmless. It must return CONTENTION when a replaced segment is
	// gone already. A write without data stores no segment and only clears the marks.
	PutSegment(ctx context.Context, p SegmentWrite) (no int64, err error)
	// PendingUsers must return users with turns pending for the search index, the longest waiting first, at most limit.
	PendingUsers(ctx context.Context, limit int) ([]memory.UserRef, error)
	// PendingTurns must return the user's turns pending for the search index, oldest first, until their messages number
	// MaxMessages, stopping before their stored bytes pass MaxBytes, at least one turn.
	PendingTurns(ctx context.Context, q PendingQuery) ([]Turn, error)
	// SegmentsToEmbed must return segments of all users whose Embedding is below the version, in an order that stays the
	// same while they wait, at most limit. It must return as many as there are, however many users were erased before.
	SegmentsToEmbed(ctx context.Context, version, limit int) ([]SegmentRef, error)
	// CountMessagesToEmbed must count the messages of such segments.
	CountMessagesToEmbed(ctx context.Context, version int) (int64, error)
	// CountIndexedMessages must count the messages of all segments.
	CountIndexedMessages(ctx context.Context) (int64, error)
	// RetireSegments must delete every segment of those users who have one of another analyzer than the one given, and
	// mark their turns as pending again. With a user named, it must do so for that user alone, whatever the analyzer
	// of the segments. It returns how many users had such segments.
	RetireSegments(ctx context.Context, q RetireQuery) (int, error)
}

// SearchIndexQuery asks for the state of a user's search index.
type SearchIndexQuery struct {
	User         memory.UserRef
	SessionID    string // whose first pending turn is asked for; "" for none
	MaxUnindexed int    // 0 to read no message
	MaxBytes     int64  // of the unindexed messages, as stored; 0 for no limit
}

// PendingQuery asks for turns to index.
type PendingQuery struct {
	User        memory.UserRef
	MaxMessages int
	MaxBytes    int64 // of the messages, as stored; 0 for no limit
}

// RetireQuery selects the segments to delete.
type RetireQuery struct {
	Analyzer string          // that is in use; not looked at when User is set
	User     *memory.UserRef // nil for all users; set when a segment of the user is damaged
}

// SearchIndexState is what a user's search index consists of at one instant.
type SearchIndexState struct {
	Scope       memory.ScopeKey // "" for an unknown user
	Segments    []SegmentInfo   // by No
	Unindexed   []memory.PlacedMessage
	More        int        // recallable messages that are pending beyond Unindexed
	PendingFrom int64      // the first seq of the session's first pending turn; 0 when none is pending or no session was named
	Turns       Checkpoint // the checkpoint of memory.ViewMessageVectors; zero while that view lacks some of Segments
}

// SegmentInfo describes a segment.
type SegmentInfo struct {
	No        int64 // grows with every segment of the user
	Messages  int
	Bytes     int
	Replaces  []int64 // the segments it was made of
	Embedding int     // the version of which its messages have vectors; 0 where some lack theirs
}

// SegmentRef names a segment.
type SegmentRef struct {
	User  memory.UserRef
	Scope memory.ScopeKey
	No    int64
}

// Segment is a piece of a user's search index.
type Segment struct {
	No   int64
	Data []byte
}

// SegmentWrite is a segment to be stored.
type SegmentWrite struct {
	User      memory.UserRef
	Scope     memory.ScopeKey // the life of the user it was made for; of another life it must be refused with USER_NOT_FOUND
	Analyzer  string
	Messages  int
	Data      []byte
	Replaces  []int64
	Turns     []TurnRef
	Embedding int       // see SegmentInfo
	Time      time.Time // since when views lack it; required
}

// TurnRef names a turn.
type TurnRef struct {
	Session memory.SessionKey
	TurnNo  int64
}

// Turn is a stored turn with its messages, without originals.
type Turn struct {
	TurnRef
	Scope     memory.ScopeKey
	SessionID string
	Messages  []memory.Message
}
