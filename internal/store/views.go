package store

import (
	"context"
	"errors"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// ChangeFeed is the change feed of the primary store: what each view still lacks. The transcript has a feed for each session;
// facts, vectors and turns have one for each user. Whether a feed is pending follows from what is stored, so nothing is
// enqueued, and a view that is configured later, or lost, only lags behind.
type ChangeFeed interface {
	// PendingFeeds must return feeds of the view, of all tenants, that the view may lack something of, the longest waiting
	// first. A feed must be pending from the write that changes it, whether or not anybody reads it: Append for messages,
	// ApplyFacts for facts and vectors, PutFactVectors for vectors, PutSegment for turns.
	PendingFeeds(ctx context.Context, view memory.View, limit int) ([]Feed, error)
	// Feed must return one feed as it is. SessionID is looked at for the transcript only.
	Feed(ctx context.Context, view memory.View, ref memory.SessionRef) (Feed, error)
	// SetCheckpoint must set the view's checkpoint, and must leave the feed pending when it changed since Seen was read. It must
	// change nothing, and return CONTENTION, when Build is not the view's build any more or the user or the session lives
	// another life.
	SetCheckpoint(ctx context.Context, m CheckpointUpdate) error
	// CountFeeds must count the view's feeds that are pending, and all of them.
	CountFeeds(ctx context.Context, view memory.View) (pending, all int64, err error)
	// ViewBuild must return the number of the view's build, 1 before the first RebuildView.
	ViewBuild(ctx context.Context, view memory.View) (int64, error)
	// RebuildView must raise the view's build by one and make every feed pending without a checkpoint. Interrupted and
	// called again it may raise the build once more.
	RebuildView(ctx context.Context, view memory.View, at time.Time) (build int64, err error)
}

// FeedPosition is a place in a feed; which fields count depends on the view.
type FeedPosition struct {
	Seq      int64 // of the transcript: the last message
	Revision int64 // of facts and vectors: the user's fact revision
	Version  int   // of vectors and turns: the embedding version; the zero one in Feed.Head
	No       int64 // the last number: of vectors see FactVector.No, of turns SegmentInfo.No
}

// Checkpoint is a view's checkpoint in a feed, in one of the view's builds. The zero Checkpoint is no checkpoint.
type Checkpoint struct {
	Build int64
	FeedPosition
}

// OfBuild returns the checkpoint if it belongs to the build, else none.
func (c Checkpoint) OfBuild(build int64) Checkpoint {
	if c.Build != build {
		return Checkpoint{}
	}
	return c
}

// Feed is what a view follows.
type Feed struct {
	View       memory.View
	User       memory.UserRef
	Scope      memory.ScopeKey
	Session    memory.SessionRef // of the transcript; else only its UserRef is set
	Key        memory.SessionKey // of the transcript; else ""
	Checkpoint Checkpoint        // zero when it is of another build than the view's
	Head       FeedPosition      // where the feed ends
	Since      time.Time         // when it began to wait; zero when it does not
}

// CheckpointUpdate moves a view's checkpoint.
type CheckpointUpdate struct {
	Feed
	Build      int64
	Checkpoint FeedPosition
	Seen       FeedPosition // Feed.Head as it was read before the view was written to
}

// Leases keep replicas from doing the same work twice. They only save work: nothing may depend on one for being right.
type Leases interface {
	// Lease must give the name to the owner until then, unless another owner's lease runs, by Runs with LongestLease; the owner
	// may extend it, and a zero Until gives it back. It reports whether the owner has it.
	Lease(ctx context.Context, l Lease) (held bool, err error)
}

// Lease asks for a name.
type Lease struct {
	Name  string // of letters, digits and dashes
	Owner string
	Now   time.Time
	Until time.Time
}

// ErrNewerSchema is in the chain of a driver's refusal to open what a newer program wrote.
var ErrNewerSchema = errors.New("the schema is newer than this program")

// ErrViewSettings is in the chain of a driver's refusal to open a view whose server cannot do what the settings ask for.
var ErrViewSettings = errors.New("the server cannot do what the settings ask for")

// ViewHealth is the state of a view.
type ViewHealth interface {
	// Lag is how long a row that was put may stay invisible to Search: 0 when it never does.
	Lag() time.Duration
	// Check must fail when the view cannot serve searches.
	Check(ctx context.Context) error
	Close() error
}

// View is a view of the primary store in a search engine: rows in spaces, filtered before they are ranked. What it returns are
// candidates: the caller must look each one up in the primary store under its own scope. Only scope keys, fact ids and session
// keys that Strata minted, of letters, digits, dashes and underscores, may reach it; the driver must refuse others with an
// error.
//
// A space holds the rows of one build of a view. Search and Put must fail for a space that was not prepared; the other methods
// must treat it as empty.
type View[Space, Row, Search, Hit any] interface {
	ViewHealth
	// Prepare must make a space ready for rows. Doing it again, or from two replicas at once, must be harmless.
	Prepare(ctx context.Context, space Space) error
	// Put must store rows, each in place of the one that the space has of the same fact or message. Every row that could not be
	// stored must make the call fail. Putting all again must be harmless.
	Put(ctx context.Context, space Space, rows []Row) error
	// Remove must delete rows of the scope by what is set of FactID and Place, those put just now too.
	Remove(ctx context.Context, space Space, scope memory.ScopeKey, rows []RowState) error
	// Search must return the rows of the scope that pass the filters, the best first, equal scores by fact id or place, each
	// fact or message once. It must see a row that was put Lag ago.
	Search(ctx context.Context, q Search) ([]Hit, error)
	// Rows must return what the space holds as of now, rows put just now included: of one scope, or of all when Scope is "",
	// after After, in an order that stays the same.
	Rows(ctx context.Context, q RowQuery[Space]) ([]RowState, error)
	// EraseScope must delete every row of the scope in every space, those put just now too, and return how many there were.
	EraseScope(ctx context.Context, scope memory.ScopeKey) (int64, error)
	// Spaces must return all spaces there are, by view, then build, then version.
	Spaces(ctx context.Context) ([]Space, error)
	// Drop must delete a space with its rows; a space that does not exist is no error.
	Drop(ctx context.Context, space Space) error
}

// VectorView holds vectors of facts and of messages. There is a space for each build of a view and each version of the vectors.
// Search must return the rows nearest to the vector.
type VectorView = View[VectorSpace, VectorRow, VectorSearch, VectorHit]

// TextView is a full-text view of messages and facts, a further source of candidates. Text reaches it as terms of package text,
// so that it ranks by the same analysis. Further than View says:
//   - A message must be put with the same Recorded each time: a driver may choose by it where the row lies.
//   - What a row's Content says must be gone with the row, and must not change what Search returns.
//   - Put must pass over a row of a lower revision than the stored one. After Remove a driver may pass over rows up to the
//     removed revision, but only for a while: a later Put brings the row back. That is harmless, because hits are looked up
//     in the primary store, and Verify removes the row again.
//   - Remove must take a place with Seq 0 for the whole session.
//   - Search must return rows with at least one of the terms, and in TextOrderByCount all that pass where Unmatched is set. In that order
//     it must rank alike in every driver.
type TextView = View[TextSpace, TextRow, TextSearch, TextHit]

// VectorSpace is where rows that can be compared lie.
type VectorSpace struct {
	View      memory.View // ViewVectors or ViewMessageVectors
	Build     int64       // of the view, at least 1
	Version   int         // of the vectors, at least 1
	Dimension int
}

// VectorRow is the vector of a fact or a message, with what may be filtered by.
type VectorRow struct {
	Scope        memory.ScopeKey
	FactID       string       // of a fact
	Place        memory.Place // of a message
	Revision     int64        // of the fact, or of the message's vector
	Vector       []float32
	Significance int // of a fact, 1 to 10; of a pinned one 10
	Category     memory.Category
	Session      memory.SessionKey // of the message, or where the fact was first learnt; "" for none
	ValidFrom    time.Time         // zero for always; of a message its create time
	ValidTo      time.Time         // zero while it holds
}

// VectorSearch asks for the nearest facts or messages of a scope. Every filter holds before the nearest are chosen.
type VectorSearch struct {
	Space           VectorSpace
	Scope           memory.ScopeKey
	Vector          []float32
	Limit           int // 1 to 1000
	MinSignificance int // 0 and 1 for all
	Categories      []memory.Category
	Exclude         memory.SessionKey   // facts first learnt in it are left out; "" for none
	Sessions        []memory.SessionKey // only rows of these; nil for all
	CurrentOnly     bool                // leaves out rows with ValidTo
	From, To        time.Time           // ValidFrom in [From, To); zero for open
}

// VectorHit is a candidate.
type VectorHit struct {
	Scope  memory.ScopeKey // as the view has it: one that is not the asked one is foreign, and to be counted
	FactID string          // of a fact
	Place  memory.Place    // of a message
	Score  float64         // cosine, -1 to 1
}

// RowQuery asks for what a view holds in a space.
type RowQuery[Space any] struct {
	Space Space
	Scope memory.ScopeKey // "" for all
	After string          // RowState.Cursor of the last row before; "" for the first page
	Limit int             // at least 1
}

// RowState is a row without its content.
type RowState struct {
	Cursor   string
	Scope    memory.ScopeKey
	FactID   string       // of vectors and facts
	Place    memory.Place // of messages and turns
	Revision int64
}

// TextSpace is where rows of one kind lie.
type TextSpace struct {
	View  memory.View // ViewTranscript or ViewFacts
	Build int64       // of the view, at least 1
}

// TextRow is a message or a fact.
type TextRow struct {
	Scope        memory.ScopeKey
	Place        memory.Place // of a message
	FactID       string       // of a fact
	Revision     int64        // at least 1
	Role         memory.Role  // of a message
	Category     memory.Category
	Significance int       // of a fact, 1 to 10; of a pinned one 10
	Current      bool      // of a fact: whether it holds
	Time         time.Time // a message's create time, a fact's valid-from
	Recorded     time.Time // a message's record time; zero of a fact
	Terms        []string  // of text.Terms, without blanks
	Content      TextContent
}

// TextContent is what people who search the view's server by themselves look for and see. A driver may leave all of it out.
type TextContent struct {
	User      memory.UserRef
	SessionID string // of a message
	MessageID string // of a message; "" where it has none
	Name      string // of a message its author, of a fact whom it is about; "" for the user
	Text      string // what a message says, with masks for secrets, or a fact
}

// TextSearch asks for rows by their terms. Every filter holds before the best are chosen.
type TextSearch struct {
	Space           TextSpace
	Scope           memory.ScopeKey
	Terms           []string
	Limit           int                 // 1 to 1000
	Sessions        []memory.SessionKey // of messages: only these; nil for all
	MinSignificance int                 // of facts; 0 and 1 for all
	Categories      []memory.Category   // of facts: only these; nil for all
	CurrentOnly     bool                // of facts
	From, To        time.Time           // Time in [From, To); zero for open
	Roles           []memory.Role       // of messages: only these; nil for all
	Required        [][]string          // of each group a row must have one term at least; nil for none

	Order     TextOrder
	Unmatched bool          // rows with none of Terms pass too, with score 0; in TextOrderByCount only
	After     *TextPosition // only rows behind it; nil for all; in TextOrderByCount only
}

// TextOrder is an order of hits.
type TextOrder int

const (
	// TextOrderByRelevance is by the driver's own ranking, equal scores by fact id or place.
	TextOrderByRelevance TextOrder = iota
	// TextOrderByCount is of messages: by how many of the different terms they have, which is their score; of equal ones the latest
	// first, by the millisecond; then by session key, and in a session the later message first. Within a millisecond a driver may look
	// at the time before the session.
	TextOrderByCount
)

// TextPosition is a place in TextOrderByCount.
type TextPosition struct {
	Count int // of different terms
	Time  time.Time
	Place memory.Place
}

// TextHit is a candidate.
type TextHit struct {
	Scope  memory.ScopeKey // as the view has it
	Place  memory.Place    // of a message
	FactID string          // of a fact
	Score  float64
	Time   time.Time // of the row; in TextOrderByCount only
}

// Position is where a hit stands in TextOrderByCount.
func (h TextHit) Position() TextPosition { return TextPosition{int(h.Score), h.Time, h.Place} }
