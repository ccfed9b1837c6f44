// Package assembly makes the context of the next model call: it decides what is in it within a token budget, and renders it
// by the rules of a provider. It is pure: equal inputs give equal bytes.
//
// Draft in assemble.go has the way of a context from top to bottom. What the session's messages are is in conversation.go
// and transcript.go, what memory is in section.go, what things cost in price.go, and how they are written in the package
// render.
package assembly

import (
	"encoding/json"
	"time"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/language/prompttags"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
)

// Render is the form of the context. The numbers are those of the API.
type Render int

// The forms.
const (
	RenderStructured Render = iota + 1 // no rendering; the items carry texts and messages
	RenderText                         // one text
	RenderOpenAI                       // {"messages": […]} by the rules of OpenAI's chat completions
	RenderAnthropic                    // {"system": "…", "messages": […]} by the rules of Anthropic's messages
	RenderResponses                    // {"input": […]} by the rules of OpenAI's Responses
)

// SectionKind names a part of the context. The numbers are those of the API, and the order of the context.
type SectionKind int

// The sections.
const (
	SectionInstructions SectionKind = iota + 1
	SectionState
	SectionNotes   // of the user, then of the session
	SectionFacts   // of other sessions
	SectionPeriods // weeks and months
	SectionPreviousSessions
	SectionSummary // of this session
	SectionRecalled
	SectionSessionFacts // learnt in this session
	SectionRecent
	SectionPending
)

// OmitReason says why something is not in the context. The numbers are those of the API.
type OmitReason int

// The reasons.
const (
	OmitBudget         OmitReason = iota + 1 // the token budget was used up, or a result's call may be before the tail
	OmitOrphanResult                         // a tool result whose call is nowhere in the session
	OmitUnansweredCall                       // a tool call without a result; what else its message says is kept
	OmitNotRenderable                        // nothing in it can be rendered
	OmitReplySize                            // the reply would have passed MaxBytes
	OmitRepeated                             // something in the context says the same
	OmitHidden                               // it is hidden, or answers a call that is
	OmitPolicy                               // a context policy left it out, and no summary covers it
	OmitHiddenSummary                        // the summary that covers it covers hidden messages too, and is left out
)

// Input is everything a context is made of.
type Input struct {
	// Fence is the id of the user's fences: by it a model, and the service itself, know what memory wrote from what others
	// say. Required.
	Fence        prompttags.ID
	Instructions string
	State        json.RawMessage // a JSON object without notes; nil for none
	Notes        []Note          // in any order
	Session      memory.SessionKey
	SessionID    string
	// Tail is the session's last messages, oldest first, contiguous, ending at LastSeq. Those that Running covers are
	// not looked at, and hidden ones are left out. RenderResponses passes on the Original of those that only the provider can
	// read: of reasoning and of items of other kinds. What has none is left out.
	Tail []memory.Message
	// Kept are messages of the session before Tail, oldest first, that a context policy keeps: pinned ones, and those at the
	// beginning. They are in the section recent and are chosen before all that has a share; Running may cover them.
	Kept []memory.Message
	// Dropped is what a context policy left out before Tail, ascending and apart. Running does not cover it.
	Dropped  []memory.SeqRange
	LastSeq  int64
	Language string // a BCP 47 tag: which language headings are in, English where they are not in that
	// Location is the user's timezone: every day in the context is a day there. Nil for UTC.
	Location     *time.Location
	Hidden       []memory.SeqRange // what of the session is hidden, ascending and apart; at least what lies before Tail
	Facts        []memory.Fact     // of other sessions, the best first; those of SessionFacts are not looked at
	CoreFacts    []memory.Fact     // of other sessions, which matter though the query has nothing of them, the best first
	FillFacts    []memory.Fact     // of other sessions, which may fill up to Policy.RecallFloor, the best first
	SessionFacts []memory.Fact     // learnt in this session, the best first
	Periods      []Summary         // weeks and months, oldest first
	Previous     []Summary         // previous sessions, oldest first
	Running      *Summary          // of this session, from its first message to To but for its Holes; nil without one
	Pending      []memory.Message  // not recorded yet, so without a Seq
	// Policy is the profile of the call. Without Sections.Recent the context has of the session's messages only the calls that
	// pending results answer. Here a share of 0 gives a part what all else leaves, a TopK or Facts.Max of 0 puts no limit, and an
	// empty MemoryRole is MemoryAsUser.
	Policy    contextprofile.Profile
	Available int64    // the most tokens the context may take
	Most      int64    // how far Available may be raised for the parts that a context cannot do without; 0 for not at all
	Reserved  int64    // what is kept free for the answer and the tools, which errors name
	Documents bool     // whether the model reads PDF documents
	Terms     []string // of the query, by text.Terms: where a recalled message is cut to what is left, around these
	MaxBytes  int      // the most bytes that sections and rendering may take in the encoded reply; 0 for no limit
	Counter   tokens.Counter
	// TakeApart takes apart a summary that has to be shortened. It may return what it returned for the same text and a
	// count by the same counter; summary.TakeApart when nil.
	TakeApart func(text string, count func(string) int64) *summary.Apart
	Render    Render
}

// Summary is a summary that may be in the context.
type Summary struct {
	SessionID string   // "" for weeks and months
	Name      string   // the session's title, the week as 2026-W47, or the month as 2026-11; may be ""
	Nodes     []string // ids of the nodes it was made of
	From, To  int64    // the messages it covers; 0 for weeks and months
	// Holes are what it does not cover of the messages up to To, ascending and apart: messages that are hidden, and those
	// whose summary covers hidden ones too.
	Holes []memory.SeqRange
	// Start and End are when what it covers began and ended. The end of a week or month is not part of it.
	Start, End time.Time
	Text       string
	Tokens     memory.TokenCounts // of Text; zero when it was not counted
	Model      string
}

// Recalled is a message that recall found.
type Recalled struct {
	*memory.PlacedMessage           // never nil; it is not changed
	Span                  Span      // the passage to show, in bytes of the message's SaidText; the zero Span shows all of it
	Step                  Selection // why it fills, for Draft.Fill; not looked at in Draft.Recall
}

// Selection says why a fact or recalled message is in the context. The numbers are those of the API.
type Selection int

// The selections.
const (
	SelectedFound     Selection = iota + 1 // it has something of the query
	SelectedCore                           // it matters whatever the query is
	SelectedNeighbour                      // fill: it was said beside something that was found
	SelectedStated                         // fill: the user said it of himself
	SelectedSession                        // fill: it was said in the same session as something that was found
	SelectedNewest                         // fill: it was said lately
)

// Span is a part of a text, from Start up to but not including End.
type Span struct {
	Start, End int
}

// Result is a context.
type Result struct {
	Sections  []Section // in the order of the context, without the empty ones
	Rendering string    // "" when structured
	Stable    Prefix    // of Rendering; zero when structured
	Tokens    int64     // what the context takes, never more than Available
	Available int64     // what it could take: Input.Available, as far as it was raised
	Coverage  Coverage
	// NotesLeft is how many notes had no room.
	NotesLeft int
	// Omitted accounts for the session's transcript: its messages, and pending ones, that are not, or not wholly, in the
	// context nor in the running summary that is in it, ordered by seq, then reason, at most MaxOmitted ranges. What
	// recall found and what did not fit is not listed, but for the session's own messages, which are listed anyway.
	// Without the section recent, only pending messages, the calls that these answer, and what a running summary covers
	// are accounted for.
	Omitted []Omission
}

// Prefix is what a rendering begins with that does not change with the query: the next context of the session begins with
// the same bytes as long as its instructions are the same and its messages begin at the same one.
type Prefix struct {
	Messages int    // that it holds whole; the system text of Anthropic's is none of them
	Bytes    int    // of Result.Rendering
	Tokens   int64  // about as many
	Hash     string // of the bytes: the first half of their SHA-256 in lower-case hex; "" of no bytes
}

// Section is one part of a context.
type Section struct {
	Kind   SectionKind
	Items  []Item
	Tokens int64 // fence and overheads included
}

// Item is one thing in a section.
type Item struct {
	SessionID  string // "" for instructions, state, notes, facts, weeks, months and pending messages
	MessageID  string
	Seq        int64
	Role       memory.Role
	Name       string
	CreateTime time.Time // of the message, as its client gave it; of a note when it was written
	Tokens     int64
	Cut        *Span // in Unicode code points of the message's PlainText; nil when all of it is shown
	Note       *Note // of a note
	// Rank is, of a recalled item, its index in all that Draft.Recall and then Draft.Fill were given; of a fact, in Input.Facts,
	// CoreFacts and FillFacts one after the other, or in SessionFacts.
	Rank      int
	Selection Selection       // of a recalled item and of a fact of other sessions
	Fact      *memory.Fact    // of a fact
	Summary   *Summary        // of a summary, with the Text that is shown
	Shortened bool            // sentences of the summary were left out
	Text      string          // instructions, state, note, fact, summary or recalled text; only in a structured result
	Message   *memory.Message // of a recent or pending item; only in a structured result
}

// Coverage says which of the session's messages the context covers.
type Coverage struct {
	SummaryThrough int64             // messages up to this seq are in the running summary, whole or shortened; 0 without it
	RawFrom        int64             // messages from here to LastSeq are verbatim in the context, but for Gaps; LastSeq + 1 when none is
	Gaps           []memory.SeqRange // what is neither in a summary nor verbatim in the context
}

// MaxOmitted is the most ranges of a Result's Omitted. Where there are more, those of one reason with the fewest
// messages between them are joined, which then cover these too.
const MaxOmitted = 100

// Omission is a range of messages that are not, or not wholly, in the context. Seqs above the session's last are
// pending messages, counted in their order.
type Omission struct {
	SessionID string
	From, To  int64
	Reason    OmitReason
}
