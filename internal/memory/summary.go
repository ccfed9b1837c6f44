package memory

import "time"

// SummaryKind says what a summary stands for. The values are stored: never renumber them.
type SummaryKind int

// The kinds.
const (
	SummarySession SummaryKind = iota + 1 // messages of one session
	SummaryWeek                           // an ISO week of one user, in the user's timezone
	SummaryMonth                          // the weeks of a month: a week belongs to the month of its Thursday
)

// SummaryNode is one summary. It never changes; a better one for the same range is a node of a later generation.
type SummaryNode struct {
	ID         string
	Kind       SummaryKind
	Session    SessionKey // of a SummarySession
	SessionID  string
	Level      int      // 0 for a leaf, which covers messages; n+1 for one made of nodes of level n
	Range      SeqRange // the messages of a SummarySession that it was made from
	Period     Period   // of a week or month
	Generation int      // from 1
	// Cumulative: the text also stands for everything that came before Range (the recursive form); Previous is the node
	// that was rewritten into it.
	Cumulative bool
	Previous   string
	Children   []string // the nodes a merge or a period was made of
	Text       string
	Appended   int // anchors of the source that code had to append, since the model lost them
	Tokens     TokenCounts
	Language   string    // a BCP 47 tag; "" when unknown
	Model      string    // what wrote it
	FromTime   time.Time // when the first and the last message it covers were said
	ToTime     time.Time
	CreateTime time.Time
}

// Period is a week or a month of a user.
type Period struct {
	Name       string    // 2026-W47 or 2026-11
	Start, End time.Time // End is not part of it
}
