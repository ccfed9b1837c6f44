package store

import (
	"context"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// Summaries keeps summary nodes.
type Summaries interface {
	// TopNodes must return, of the session's nodes that end at or before the message through, those that no other of these
	// covers, oldest first. A node covers all that begin and end within its range, a cumulative one all that end within or
	// before it; of equal ranges the highest level, then the highest generation counts. Two nodes of a session either share
	// no message or one covers the other, so a reader can skip what lies below a node: it must not read the whole tree of a
	// long session. An unknown user or session has none.
	TopNodes(ctx context.Context, ref memory.SessionRef, through int64) ([]memory.SummaryNode, error)
	// Nodes must return the user's nodes of these ids, in the order of the ids. One that is unknown is left out.
	Nodes(ctx context.Context, user memory.UserRef, ids []string) ([]memory.SummaryNode, error)
	// NodesWithin must return, of every generation, the session's nodes that cover no message outside the range, by the
	// first message that they cover, then From, To, level, generation and id, as outlines: without Text, Children and
	// Previous. An unknown user or session has none.
	NodesWithin(ctx context.Context, ref memory.SessionRef, within memory.SeqRange) ([]memory.SummaryNode, error)
	// RecentSessions must return, for the user's sessions that have a node and whose last covered message was created at
	// or after Since and not after Until, their TopNodes through their last message, the session with the latest covered
	// message first, equal times by session id.
	RecentSessions(ctx context.Context, q RecentQuery) ([]SessionSummary, error)
	// LeavesBetween must return the user's leaves whose ToTime is in [From, To), by ToTime, then id, as outlines: without Text,
	// Children and Previous.
	LeavesBetween(ctx context.Context, q LeafQuery) ([]memory.SummaryNode, error)
	// Periods must return the user's weekly or monthly nodes, of the highest generation of each period, the latest first.
	Periods(ctx context.Context, q PeriodQuery) ([]memory.SummaryNode, error)
	// PutNode must, in one write, store the node and make its job final as applied without its answer. Putting the node of
	// a final job again must change nothing. A leaf must set the time at which the user's periods are looked at to LookAt,
	// when none or a later one is set. A write for another life of the user must be refused with USER_NOT_FOUND.
	PutNode(ctx context.Context, w NodeWrite) error
	// ChangeSummary must store the revision after Base of what persons have made of a summary, return it as it is stored, and have
	// its session and the user's periods looked at by Time. It must refuse with CONTENTION when Base is not the current revision. A repeated
	// request id of the same summary must store nothing and return the revision of its first call, or refuse with
	// REQUEST_ID_REUSED when the digest is another; it must be looked for before anything is refused with CONTENTION. A write for
	// another life of the user is refused with USER_NOT_FOUND, one for a session that is gone with SESSION_NOT_FOUND.
	ChangeSummary(ctx context.Context, w SummaryWrite) (memory.SummaryRevision, error)
	// CurrentSummaries must return, of each of the user's summaries that a person changed, the current revision, by kind, then
	// session key, then period. An unknown user has none.
	CurrentSummaries(ctx context.Context, user memory.UserRef) ([]memory.SummaryRevision, error)
	// SummaryRevisions must return what persons made of one summary, the latest revision first.
	SummaryRevisions(ctx context.Context, q RevisionQuery) ([]memory.SummaryRevision, error)
}

// SummaryWrite is a person's change of a summary.
type SummaryWrite struct {
	User  memory.UserRef
	Scope memory.ScopeKey
	Base  int64 // the revision that it was decided against; 0 for none
	// Revision is the summary as it is now; its Revision and CreateTime are set by the store, to Base + 1 and Time.
	Revision      memory.SummaryRevision
	RequestID     string // "" for none
	RequestDigest memory.Digest
	Time          time.Time
}

// RevisionQuery asks for what persons made of a summary.
type RevisionQuery struct {
	User    memory.UserRef
	Kind    memory.SummaryKind
	Session memory.SessionKey // of a SummarySession
	Period  string            // of a week or month
	Limit   int               // at least 1
}

// RecentQuery asks for summaries of earlier sessions.
type RecentQuery struct {
	User    memory.UserRef
	Exclude string         // the session that is left out before the limit; "" for none
	Since   time.Time      // zero for all
	Until   time.Time      // zero for all
	Limit   int            // of sessions, at least 1
	After   *SessionCursor // Time is the session's last covered message's create time
}

// SessionSummary is a session with the nodes that cover it.
type SessionSummary struct {
	SessionID string
	Title     string
	LastTime  time.Time            // create time of the last covered message
	LastSeq   int64                // of the session
	Nodes     []memory.SummaryNode // TopNodes through LastSeq
}

// LeafQuery asks for a user's leaves.
type LeafQuery struct {
	User     memory.UserRef
	From, To time.Time // zero for all
	Limit    int       // the first ones only; 0 for all
}

// PeriodQuery asks for a page of weekly or monthly summaries.
type PeriodQuery struct {
	User   memory.UserRef
	Kind   memory.SummaryKind // week or month
	From   time.Time          // only periods that start at or after it; zero for all
	Before time.Time          // only periods that start before it; zero for all
	Limit  int                // at least 1
}

// NodeWrite is a summary to be stored.
type NodeWrite struct {
	User   memory.UserRef
	Scope  memory.ScopeKey
	JobID  string
	Node   memory.SummaryNode
	LookAt time.Time // of a leaf: when its week ends
	Time   time.Time
}
