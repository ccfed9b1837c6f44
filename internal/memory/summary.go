package memory

import (
	"fmt"
	"time"
)

// SummaryKind is what a summary covers. The values are stored: never renumber them.
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
	// Passed are those of the messages that it stands for that were hidden when it was written, ascending and apart: it was not
	// made of them.
	Passed []SeqRange
	// Rebuild is SummaryRevision.Rebuilds as it was when it was written: it is behind where that has grown.
	Rebuild    int
	Text       string
	Appended   int // anchors of the source that code had to append, since the model lost them
	Tokens     TokenCounts
	Language   string    // a BCP 47 tag; "" when unknown
	Model      string    // what wrote it
	FromTime   time.Time // when the first and the last message it covers were said
	ToTime     time.Time
	CreateTime time.Time
}

// First is the first message that the summary covers.
func (n SummaryNode) First() int64 {
	if n.Cumulative {
		return 1
	}
	return n.Range.From
}

// Covered returns the messages that the summary of a session covers.
func (n SummaryNode) Covered() SeqRange { return SeqRange{From: n.First(), To: n.Range.To} }

// Period is a week or a month of a user.
type Period struct {
	Name       string    // 2026-W47 or 2026-11
	Start, End time.Time // End is not part of it
}

// SummaryCause says what a person did to a summary. The values are stored: never renumber them.
type SummaryCause int

// The causes.
const (
	SummaryCorrected SummaryCause = iota + 1 // wrote its text
	SummaryRestored                          // took an earlier correction back into use
	SummaryLifted                            // took the correction back: what background work writes counts again
	SummaryRebuilt                           // asked for what background work writes to be written anew
	SummaryDeleted                           // deleted it: no revision before this one has a text
)

// PersonModel is what wrote a correction, beside the names of models.
const PersonModel = "person"

// SummaryRevision is what persons have made of one summary, that of a session, a week or a month, after one change. The
// one with the highest number is current.
type SummaryRevision struct {
	Kind      SummaryKind
	Session   SessionKey // of a SummarySession
	SessionID string
	Period    string // the name of a week or month
	Revision  int64  // from 1
	Cause     SummaryCause
	// Text is a correction: it replaces what background work writes, until it is lifted. "" for none.
	Text   string
	Tokens TokenCounts
	Covers []Covered // of a correction and of a deletion: what it covers, by session key
	// FromTime and ToTime are when the first and the last message were said that a session's correction stands for, or when
	// the period begins and ends.
	FromTime, ToTime time.Time
	// Rebuilds counts how often it was asked to be written anew.
	Rebuilds   int
	Author     string // who made the change, as the call named them; "" where it named nobody
	CreateTime time.Time
}

// Covered is messages of a session that a correction covers.
type Covered struct {
	Session SessionKey `json:"s"`
	Range   SeqRange   `json:"r"`
	Passed  []SeqRange `json:"p,omitempty"` // those of them that were hidden when it was written, ascending and apart
}

// SameTarget reports whether both are of one summary.
func (r SummaryRevision) SameTarget(o SummaryRevision) bool {
	return r.Kind == o.Kind && r.Session == o.Session && r.Period == o.Period
}

// Node returns the correction as a summary like those that background work writes. A session's correction covers all
// messages from the first to its last.
func (r SummaryRevision) Node() SummaryNode {
	n := SummaryNode{
		ID: EffectID(fmt.Sprintf("correction/%d/%s/%s", r.Kind, r.Session, r.Period), int(r.Revision)), Kind: r.Kind,
		Session: r.Session, SessionID: r.SessionID, Generation: int(r.Revision), Text: r.Text, Tokens: r.Tokens,
		Model: PersonModel, FromTime: r.FromTime, ToTime: r.ToTime, CreateTime: r.CreateTime,
	}
	if r.Kind == SummarySession && len(r.Covers) > 0 {
		n.Range, n.Passed = r.Covers[0].Range, r.Covers[0].Passed
	}
	if r.Kind != SummarySession {
		n.Period = Period{Name: r.Period, Start: r.FromTime, End: r.ToTime}
	}
	return n
}
