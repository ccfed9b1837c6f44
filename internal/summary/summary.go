// Package summary decides when and what to summarise, what the summariser is asked, whether its answer is accepted, and
// which summaries contexts use. It is pure: equal inputs give equal decisions.
package summary

import (
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// Form is how summaries of a session build on each other.
type Form string

// The forms.
const (
	FormTree      Form = "tree"      // leaves, merged k at a time: n rewrites lose r^log n
	FormRecursive Form = "recursive" // previous summary + new messages: n rewrites lose r^n
)

// Policy is when a session is summarised and how.
type Policy struct {
	Form Form
	// Triggers: any of them that is set, each at or above its value, counted over messages no leaf covers.
	TriggerMessages int           // 0 for none
	TriggerTokens   int64         // 0 for none
	TriggerFraction float64       // of Window; 0 for none
	Window          int64         // the tokens the fraction is of; 0 when unknown
	Idle            time.Duration // without a new message; 0 for never. Idle summarises everything, kept messages too
	// Keep: the latest messages that a trigger leaves raw. The largest of those set counts.
	KeepMessages int
	KeepTokens   int64
	KeepFraction float64
	Merge        int   // siblings that are merged one level up, at least 2; 4 by default
	MaxTokens    int64 // of one summary
	ChunkTokens  int64 // of the messages in one call: what fits the summariser
	ResultBytes  int   // how much of a tool's result the summariser is shown; 0 for 1,500
	Style        Style // of summaries of sessions
	PeriodStyle  Style // of summaries of weeks and months
}

// Style is how an operator wants summaries written. The zero value leaves it to the built-in prompt.
type Style struct {
	Keep        string   // what to keep and what to drop, in place of the built-in words; "" for these
	Language    string   // the BCP 47 tag of the language to write in; "" for that of the source
	Temperature *float64 // of the model; nil leaves it to the endpoint
}

// Unit is what a plan needs to know of a message.
type Unit struct {
	Seq     int64
	TurnNo  int64
	Role    memory.Role
	Tokens  int64
	Calls   []string // ids of the tool calls it makes
	Results []string // ids of the tool calls it answers
}

// Plan is what to summarise now, and when to look again.
type Plan struct {
	Ranges []memory.SeqRange // contiguous chunks, oldest first; empty when nothing is due
	Next   time.Time         // when idleness will make the rest due; zero for never
}

// Task is one call of a summariser. Exactly one of Lines and Parts is set.
type Task struct {
	Kind      memory.SummaryKind
	Level     int
	Previous  string        // the summary that came before, as context; in the recursive form what is to be rewritten
	Rewrite   bool          // the answer replaces Previous
	Lines     []Line        // messages
	Parts     []Part        // summaries to merge
	Period    memory.Period // of a week or month
	MaxTokens int64
	Language  string // of the source; "" to follow it
	Location  *time.Location
	Style     Style
}

// Line is what a summariser sees of a message: its words, or the tools it calls or has results of.
type Line struct {
	Speaker string // the name, else the role
	Role    memory.Role
	Time    time.Time
	Text    string // words; or calls and results as one line each
	Tool    bool   // calls and results: not the words of the message's author
}

// Part is a summary to merge, with what it covers.
type Part struct {
	Title    string // a session's title or id, a week's name
	From, To time.Time
	Text     string
}

// RefusalReason is why an answer was refused; it is a label of metrics.
type RefusalReason string

// The reasons.
const (
	RefusalEmpty       RefusalReason = "empty"
	RefusalCut         RefusalReason = "cut"         // the model ran out of tokens
	RefusalModel       RefusalReason = "refused"     // the model declined
	RefusalSkeleton    RefusalReason = "skeleton"    // headings and placeholders without content
	RefusalShrunk      RefusalReason = "shrunk"      // implausibly short for its source
	RefusalLong        RefusalReason = "too_long"    // longer than what it summarises, or far above MaxTokens
	RefusalInvented    RefusalReason = "invented"    // names or numbers found in no input
	RefusalLanguage    RefusalReason = "language"    // in another script than its source
	RefusalInstruction RefusalReason = "instruction" // speaks to its reader
)

// Checked is an answer that is accepted.
type Checked struct {
	Text     string // the answer, with what it had lost of the source's anchors appended
	Appended int    // anchors that were appended
}
