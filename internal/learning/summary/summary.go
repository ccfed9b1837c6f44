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

// Policy says when a session is summarised and how. Triggers are counted over messages that no leaf covers: any of them that
// is set fires, at or above its value. Of the keeps, which a trigger leaves without a summary, the largest that is set counts.
// Idleness summarises everything, kept messages too. Tags are those of a profile: see contextprofile.Profile.
type Policy struct {
	Form            Form          `name:"form" default:"tree" enum:"tree,recursive" help:"tree: summaries of ranges, merged level by level. recursive: each rewrites the one before together with the new messages."`
	TriggerMessages int           `name:"trigger-messages" default:"11" help:"Summarise at so many messages without a summary, {limits}; 0 for never."`
	TriggerTokens   int64         `name:"trigger-tokens" default:"0" help:"Summarise at so many tokens without a summary, {limits}; 0 for never."`
	TriggerFraction float64       `name:"trigger-fraction" default:"0" help:"Summarise at this fraction of window, {limits}; 0 for never."`
	Window          int64         `name:"window" default:"0" help:"The tokens that the fractions are of: the window of the model that the contexts are for, {limits}."`
	Idle            time.Duration `name:"idle" default:"5m" help:"Summarise the rest so long after the last message, kept messages too, {limits}; 0s for never."`
	KeepMessages    int           `name:"keep-messages" default:"5" help:"How many of the latest messages a trigger leaves without a summary, {limits}. The largest of the keeps counts."`
	KeepTokens      int64         `name:"keep-tokens" default:"0" help:"How many of the latest tokens a trigger leaves without a summary, {limits}."`
	KeepFraction    float64       `name:"keep-fraction" default:"0" help:"Which fraction of window a trigger leaves without a summary, {limits}."`
	Merge           int           `name:"merge" default:"4" help:"How many summaries of a level make one of the next, {limits}."`
	MaxTokens       int64         `name:"max-tokens" default:"500" help:"The most tokens of one summary, {limits}."`
	ChunkTokens     int64         `name:"chunk-tokens" default:"6000" help:"The most tokens of messages in one call of the summariser, {limits}."`
	ResultBytes     int           `name:"result-bytes" default:"1500" help:"How much of a tool's result the summariser is shown, {limits} bytes. Where results are many and long, less of them leaves more of what was said."`

	Style       Style `name:"-"` // of summaries of sessions
	PeriodStyle Style `name:"-"` // of summaries of weeks and months
}

// Style is how an operator wants summaries written. The zero value leaves it to the built-in prompt.
type Style struct {
	Keep        string   // what to keep and what to drop, in place of the built-in words; "" for these
	Language    string   // the BCP 47 tag of the language to write in; "" for that of the source
	Temperature *float64 // of the model; nil leaves it to the endpoint
}

// PlanMessage is what a plan needs to know of a message.
type PlanMessage struct {
	Seq     int64
	TurnNo  int64
	Role    memory.Role
	Tokens  int64
	Calls   []string // ids of the tool calls it makes
	Results []string // ids of the tool calls it has results of
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
	Lines     []SourceText  // messages
	Parts     []Part        // summaries to merge
	Period    memory.Period // of a week or month
	MaxTokens int64
	Location  *time.Location
	Style     Style
}

// SourceText is what a summariser sees of a message: its words, or the tools it calls or has results of.
type SourceText struct {
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
