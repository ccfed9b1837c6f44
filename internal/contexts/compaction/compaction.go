package compaction

import (
	"context"
	"time"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// History is a conversation, or the part of one that a model would be given.
type History struct {
	Messages []memory.Message // oldest first
	// Tokens are those of each message as MessageTokens counts them; nil to have them counted, from the stored counts of
	// a message where it has them.
	Tokens  []int64
	Counter tokens.Counter
	Window  int64 // the tokens that the model reads; 0 when unknown
	// Location is the timezone in which the days of messages are meant; nil for UTC.
	Location *time.Location
}

// Stage names what a policy does.
type Stage string

// The stages, in the order in which they are done.
const (
	StageMend     Stage = "mend" // makes the list valid for providers, where another stage did something
	StageHide     Stage = "hide"
	StageClear    Stage = "clear"
	StageCompress Stage = "compress"
	StageTrim     Stage = "trim"
)

// Reason is why a message is not, or not as it was, in the result.
type Reason string

// The reasons.
const (
	ReasonHidden     Reason = "hidden"          // before the context's start, or excluded by id
	ReasonTied       Reason = "tied"            // tied to a hidden message by a tool call
	ReasonSummarised Reason = "summarised"      // a summary replaces it
	ReasonFacts      Reason = "facts"           // the facts that were found in it replace it
	ReasonRecalled   Reason = "recalled"        // a memory service had put it into the prompt, and can again
	ReasonDropped    Reason = "dropped"         // before what the strategy looks at, or by the fallback
	ReasonFiltered   Reason = "filtered"        // not selected by the filter of a custom strategy
	ReasonLossy      Reason = "lossy"           // left out of what the summariser was given
	ReasonMessages   Reason = "messages"        // over the limit of messages
	ReasonBudget     Reason = "budget"          // over the limit of tokens
	ReasonRepeated   Reason = "repeated"        // a system message that is in the list already
	ReasonOrphan     Reason = "orphan_result"   // it, or a result in it, belongs to no call of the list
	ReasonUnanswered Reason = "unanswered_call" // it, or a call in it with its reasoning, has no result and can get none
	ReasonEmpty      Reason = "empty"           // nothing in it can be part of a model's input
)

// Omission is a message of the history that is not, or not as a whole, in the result.
type Omission struct {
	Index  int    // in History.Messages
	ID     string // derived where the message had none
	Stage  Stage
	Reason Reason
}

// Cleared is a tool use whose result, or result and arguments, were replaced by a placeholder.
type Cleared struct {
	Index     int    // of the message with the result, in History.Messages
	MessageID string // of the same
	CallID    string
	Tool      string
	Tokens    int64 // that it gave free
	Input     bool  // the arguments too
}

// Written is a message that a policy wrote.
type Written struct {
	Index    int    // in Result.Messages
	ID       string // derived from its content
	Replaces []int  // the messages it replaces, in History.Messages
	Tokens   int64
	Model    string // the Model of its Answer
	Fallback bool   // whether the fallback wrote it
}

// Effect is what one stage did.
type Effect struct {
	Stage         Stage
	Triggered     bool // its triggers or limits were reached
	Before, After toolcalls.Size
	// Fallback is why the strategy's fallback was taken, "" when it was not: the Failure of an Answer, "nothing_found", or
	// a summary.RefusalReason.
	Fallback string
}

// Result is what a policy made of a history.
type Result struct {
	// Changed is false where no stage had anything to do; then Messages is nil, and what follows it is empty.
	Changed  bool
	Messages []memory.Message
	Sources  []int // the index of each message in History.Messages, -1 for one that was written
	Tokens   []int64
	Omitted  []Omission // by index, then stage
	Cleared  []Cleared
	Written  []Written
	// Effects are of every stage that is set, in order, whether or not it did anything.
	Effects       []Effect
	Before, After toolcalls.Size
	Window        int64
	Counter       string
}

// Share is the share of the window that so many tokens take; 0 without a known window.
func (r Result) Share(n int64) float64 {
	if r.Window <= 0 {
		return 0
	}
	return float64(n) / float64(r.Window)
}

// RequestKind is what a model is asked for.
type RequestKind string

// The kinds.
const (
	RequestSummary RequestKind = "summary"
	RequestFacts   RequestKind = "facts" // facts for one concept; what Prompt asks for
)

// Request is one call of a model.
type Request struct {
	Kind RequestKind
	// Task is what the service's own summariser is asked. Prompt, where it is not "", is to be asked instead, as it is.
	Task   summary.Task
	Prompt string
	Model  string // "" for the summariser's
	// Extract asks for the built-in summariser, which needs no model.
	Extract   bool
	MaxTokens int64 // of the answer
	Messages  []int // those that it is about, in History.Messages
}

// Answer is a model's reply.
type Answer struct {
	Text    string
	Cut     bool   // it ran out of tokens
	Refused bool   // it declined
	Failure string // why there is none: a word such as timeout, which the Result repeats; "" when there is one
	Model   string // its name
	// Verbatim is set when the text consists of the source's own sentences, as the built-in summariser's does: nothing in
	// it is invented, so it is accepted without the checks for models.
	Verbatim bool
}

// Decide plans what a policy does to a history, as far as no model is needed for that. A fault in either is a memory.Error
// that names the field. When ctx ends meanwhile, its error is returned: counting the tokens of a long history takes
// seconds.
func Decide(ctx context.Context, h History, p Policy) (*Plan, error) {
	if err := p.CheckWindow("policy", h.Window); err != nil {
		return nil, err
	}
	if h.Tokens != nil && len(h.Tokens) != len(h.Messages) {
		return nil, memory.InvalidField(
			"tokens",
			"holds %d counts for %d messages; give one for each, or none to have them counted",
			len(h.Tokens),
			len(h.Messages),
		)
	}
	return newPlan(ctx, h, p)
}
