// Package extract decides what is learnt from messages: it makes the prompt, reads and verifies the answer operation by
// operation, and decides what becomes of the user's facts. It is pure: equal inputs give equal facts.
package extract

import (
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// Input is what a task is made of.
type Input struct {
	Session   memory.SessionKey
	SessionID string
	Messages  []memory.Message // the range, oldest first
	Context   []memory.Message // up to three messages before it, oldest first: to understand, not to learn from
	// Earlier are more messages before Context, oldest first. No model is shown them, and nothing is learnt from them: rules read there
	// whether what follows is meant.
	Earlier  []memory.Message
	Known    []memory.Fact  // current facts the model may supersede, the most related first
	Location *time.Location // the user's
	Language string         // the user's; "" when unknown
	// Roles whose words may become facts; nil for RoleUser alone.
	Learn []memory.Role
	// ContextBytes is how much of a message that nothing is learnt from is shown, from its end: what the user answers. 0 for
	// DefaultContextBytes.
	ContextBytes int
	// Guidance, Write and Temperature are as in Triggers.
	Guidance    string
	Write       string
	Temperature *float64
	// CoreSignificance is from how much significance on facts stand in every context, 1 to 10; 0 for DefaultCoreSignificance.
	CoreSignificance int
}

// Line is one message of a task as a model sees it.
type Line struct {
	Alias     string // m1, m2, …; context lines too
	Place     memory.Place
	ID        string // of the message
	Role      memory.Role
	Name      string    // the speaker's; "" when the message has none
	Time      time.Time // when it was said, in the user's timezone
	Recorded  time.Time // when it was recorded
	Text      string    // what was said, without what the service itself had rendered into it
	Learn     bool      // facts may be learnt from it
	SessionID string
}

// Known is a current fact under an alias.
type Known struct {
	Alias string // f1, f2, …
	Fact  memory.Fact
}

// Task is one extraction. It is made by NewTask from what is stored, so that it is the same whenever it is made.
type Task struct {
	Earlier      []Line // see Input; without an alias
	Lines        []Line
	Known        []Known
	Location     *time.Location
	Language     string
	ContextBytes int // see Input
	Guidance     string
	Write        string
	Temperature  *float64
	// CoreSignificance is as in Input, never 0.
	CoreSignificance int
}

// Triggers say when facts are extracted from what no job covers yet: any of them.
type Triggers struct {
	AtReply      bool          `name:"at-reply" default:"true" help:"Whether facts are extracted after each reply of the assistant."`
	Messages     int           `name:"messages" default:"6" help:"Extract at so many messages, {limits}; 0 for never."`
	Idle         time.Duration `name:"idle" default:"30s" help:"Extract the rest so long after the last message, {limits}; 0s for never."`
	MaxMessages  int           `name:"max-messages" default:"50" help:"The most messages of one call, {limits}; a backlog is taken in chunks."`
	MaxTokens    int64         `name:"max-tokens" default:"6000" help:"The most tokens of messages in one call, {limits}."`
	ContextBytes int           `name:"context-bytes" default:"1000" help:"How much is shown, from its end, of a message that nothing is learnt from, {limits}."`

	Learn []memory.Role `name:"-"` // whose words may become facts; nil for RoleUser alone
	// CoreSignificance is as in Input.
	CoreSignificance int `name:"-"`
	// Guidance is what an operator adds to the prompt: what to learn and what never, how to rate it; "" for nothing. It cannot
	// change what an answer must be, nor what is verified.
	Guidance    string   `name:"-"`
	Write       string   `name:"-"` // the BCP 47 tag of the language that facts are written in; "" for that of their message
	Temperature *float64 `name:"-"` // of the model; nil leaves it to the endpoint
}

// Limits of an answer.
const (
	MaxOps        = 20 // operations that are looked at; more are refused with RejectTooMany
	MaxFactBytes  = 1000
	MaxQuoteBytes = 2000
)

// Kinds of facts other than those about a person, as Op.Kind has them.
const (
	KindWish    = "wish"    // how somebody wants to be served from now on
	KindProject = "project" // about the project at hand, and its rules
)

// Op is one operation of a model's answer, as the schema has it.
type Op struct {
	Op           string   `json:"op"`             // add, supersede, retract or none
	Kind         string   `json:"kind,omitempty"` // fact, wish or project; "" for fact
	Text         string   `json:"text,omitempty"`
	Category     string   `json:"category,omitempty"` // preference, personal_info, goal, pain_point, decision or other
	Significance int      `json:"significance,omitempty"`
	Confidence   float64  `json:"confidence,omitempty"`
	Subject      string   `json:"subject,omitempty"`   // "" for the user
	Attribute    string   `json:"attribute,omitempty"` // lower_snake_case
	Tags         []string `json:"tags,omitempty"`
	Message      string   `json:"message,omitempty"` // the alias of the line it was said in
	Quote        string   `json:"quote,omitempty"`
	Supersedes   string   `json:"supersedes,omitempty"` // the alias of a known fact
	ValidFrom    string   `json:"valid_from,omitempty"` // YYYY-MM-DD; "" for when it was said
}

// RejectReason says why an operation was refused; it is a label of metrics.
type RejectReason string

// The reasons.
const (
	RejectMalformed   RejectReason = "malformed"       // not an operation of the schema
	RejectTooMany     RejectReason = "too_many"        // beyond MaxOps
	RejectLength      RejectReason = "length"          // text or quote is empty or too long
	RejectRange       RejectReason = "range"           // category, significance, confidence or date out of range
	RejectMessage     RejectReason = "unknown_message" // no such line, or one that nothing is learnt from
	RejectQuote       RejectReason = "quote_not_found"
	RejectAlias       RejectReason = "unknown_fact"
	RejectSubject     RejectReason = "subject"          // about somebody who neither speaks nor is named in the line
	RejectInstruction RejectReason = "instruction"      // tells a reader or the service what to do, or lets it
	RejectSmallTalk   RejectReason = "small_talk"       // a greeting, a question, or what holds for the moment only
	RejectUnsupported RejectReason = "unsupported"      // brings names or numbers that neither line nor context has
	RejectTemporary   RejectReason = "temporary"        // holds for the moment or this session only
	RejectProtected   RejectReason = "protected"        // would change what a person wrote
	RejectForgotten   RejectReason = "forgotten"        // a person deleted it
	RejectLanguage    RejectReason = "language"         // in another script than its source
	RejectUnrelated   RejectReason = "unrelated"        // would take the place of a fact about something else
	RejectNoEnding    RejectReason = "no_ending"        // would take a fact back that its quote does not deny
	RejectEndings     RejectReason = "too_many_endings" // would end more facts than one statement may; see MaxEndings
)

// Proposal is a verified operation.
type Proposal struct {
	Index      int         // of the operation in the answer
	Fact       memory.Fact // without ID, Revision and times of the service; ValidFrom and Evidence are set
	Supersedes string      // the id of a known fact; "" for none
	// Rated is the significance that the model gave. Fact.Significance may be less: see coreLimit. A fact that is said in
	// two messages has what it was rated.
	Rated int
	Said  Said
	// Retracts is set on what is taken back: Fact says what does not hold any more, with the words that say so as its
	// evidence, and Supersedes is the id of the known fact, "" for any that says it. ValidFrom is when it ceased to hold.
	Retracts bool
	Recorded time.Time // when the message was recorded that it was said in
}

// Said is where in its message a proposal's quote stands, in letters and digits from the beginning, and in which sentence
// it begins. The zero Said is all of the message.
type Said struct{ From, To, Sentence int }

// Rejection is a refused operation.
type Rejection struct {
	Index  int
	Reason RejectReason
	Op     Op
}

// State is what the user's facts are when a decision is made.
type State struct {
	Scope   memory.ScopeKey
	HashKey memory.HashKey // of Forgotten
	Facts   Facts
	// Forgotten is when a person last deleted a fact of these words, zero when it is never to be learnt again. It is shared, and
	// must not be written to.
	Forgotten map[memory.KeyedHash]time.Time
}

// Decision is what becomes of the proposals.
type Decision struct {
	Changes  []Change // at most one for each fact, by fact id
	Rejected []Rejection
}

// Change is a fact as it shall be.
type Change struct {
	Fact  memory.Fact
	Cause memory.FactCause
}

// Source says where proposals come from.
type Source struct {
	JobID string // ids of new facts derive from it
	Model string
	Now   time.Time // becomes CreateTime and UpdateTime
}
