package memory

import (
	"encoding/json"
	"strings"
	"time"
)

// UserRef names a user within a tenant. Both parts are opaque and compared byte by byte.
type UserRef struct {
	Tenant string // from the caller's credential, never from a request
	UserID string
}

// Session returns the reference of one of the user's sessions.
func (u UserRef) Session(sessionID string) SessionRef {
	return SessionRef{UserRef: u, SessionID: sessionID}
}

// SessionRef names a session of a user.
type SessionRef struct {
	UserRef
	SessionID string
}

// ScopeKey is the opaque key of one life of a user: 128 random bits in lower-case hex. Everything derived from a
// user's data hangs on it, so nothing of an earlier life can meet a later one.
type ScopeKey string

// SessionKey is the opaque key of one incarnation of a session: 128 random bits in lower-case hex.
type SessionKey string

// Session is one conversation of one user.
type Session struct {
	Ref            SessionRef
	ScopeKey       ScopeKey
	Key            SessionKey
	Title          string
	Metadata       json.RawMessage // a compact JSON object; nil for none
	Profile        string          // "" for the server's default
	Extract        ExtractMode     // ExtractNone: while it is set, no facts are learnt from the session's messages
	State          json.RawMessage // a compact JSON object; nil for none
	StateRevision  int64           // the number of the turn that last changed State; 0 before the first
	LastTurnNo     int64
	LastSeq        int64
	StepsSinceUser int // assistant messages since the last message of a user
	// ContextStart is the seq of the first message that contexts may hold; 0 for no start. Earlier messages are hidden from
	// every context until it is taken back.
	ContextStart int64
	CreateTime   time.Time
	UpdateTime   time.Time
	// LastMessageTime is the latest SaidTime of the session's messages, the deleted ones included; zero without any.
	LastMessageTime time.Time
	ETag            string // changes with Title, Metadata, Profile, Extract and ContextStart
}

// Role is who speaks in a message. The values are stored: never renumber them.
type Role int

// The roles.
const (
	RoleSystem Role = iota + 1
	RoleDeveloper
	RoleUser
	RoleAssistant
	RoleTool
)

// String returns the role's name as providers write it.
func (r Role) String() string {
	switch r {
	case RoleSystem:
		return "system"
	case RoleDeveloper:
		return "developer"
	case RoleUser:
		return "user"
	case RoleAssistant:
		return "assistant"
	case RoleTool:
		return "tool"
	}
	return "unknown"
}

// Origin is where a message's words come from. The values are stored: never renumber them.
type Origin int

// The origins.
const (
	OriginUser Origin = iota + 1
	OriginModel
	OriginTool
	OriginRecalled // put into the prompt by a memory service: never indexed, recalled or learnt again
	OriginSystem
)

// DefaultOrigin is the origin of a message that does not state one.
func DefaultOrigin(r Role) Origin {
	switch r {
	case RoleUser:
		return OriginUser
	case RoleAssistant:
		return OriginModel
	case RoleTool:
		return OriginTool
	}
	return OriginSystem
}

// ExtractMode is whether facts may be learnt from a message. The values are stored: never renumber them.
type ExtractMode int

// The modes.
const (
	ExtractAllow ExtractMode = iota + 1
	ExtractNone
)

// Message is one entry of a transcript. Role, Name and Parts never change once stored.
type Message struct {
	ID         string
	Seq        int64 // position in the session, from 1 without gaps
	TurnNo     int64
	Role       Role
	Name       string
	Parts      []Part
	Tags       []string
	Metadata   json.RawMessage // a compact JSON object; nil for none
	CreateTime time.Time       // by the client's clock, in UTC, to the microsecond; SaidTime is what decisions count with
	RecordTime time.Time       // by the server's clock, in UTC, to the microsecond
	Origin     Origin
	Extract    ExtractMode
	Pinned     bool
	Hidden     bool // kept out of contexts; the transcript keeps it
	// Deleted: a person had the message erased. Only ID "", Seq, TurnNo, Role, Origin, the times, Hidden and Deleted are left;
	// it is Hidden, and never Recallable. Its place stays, so that seqs have no gaps.
	Deleted  bool
	Tokens   TokenCounts
	Original *Original // nil unless asked for
}

// PartKind is what a part carries. The values are stored: never renumber them.
type PartKind int

// The kinds of parts, with the fields each one uses.
const (
	PartText       PartKind = iota + 1 // Text
	PartReasoning                      // Text, Signature, Data (encrypted)
	PartToolCall                       // CallID, Name, Arguments
	PartToolResult                     // CallID, Parts, IsError
	PartBlob                           // MIMEType, Data, Image
	PartURI                            // MIMEType, URI, Image
	PartOpaque                         // Type, JSON
)

// IsTool reports whether a part is a tool's call or result.
func (k PartKind) IsTool() bool { return k == PartToolCall || k == PartToolResult }

// Part is a piece of content. It is stored as JSON; the short keys are the stored form.
type Part struct {
	Kind      PartKind `json:"k"`
	Text      string   `json:"t,omitempty"`
	Signature string   `json:"s,omitempty"`
	Data      []byte   `json:"d,omitempty"`
	CallID    string   `json:"c,omitempty"`
	Name      string   `json:"n,omitempty"`
	Arguments string   `json:"a,omitempty"`
	Parts     []Part   `json:"p,omitempty"`
	IsError   bool     `json:"e,omitempty"`
	MIMEType  string   `json:"m,omitempty"`
	URI       string   `json:"u,omitempty"`
	Image     *Image   `json:"i,omitempty"` // nil where nothing is known
	Type      string   `json:"y,omitempty"`
	JSON      string   `json:"j,omitempty"`
	// Echoes are the spans of Text, of a call's Arguments, that repeat a context which Strata rendered, ascending and
	// without overlap. The transcript keeps them, but nobody stated them: see Said.
	Echoes []Span `json:"x,omitempty"`
	// Secrets are the keys, passwords and the like in the part's content (Text, a call's Arguments, the JSON of an opaque
	// part, a URI), ascending and without overlap. The transcript keeps them; everything derived from a message has a mask
	// in their place.
	Secrets []Secret `json:"z,omitempty"`
}

// Span is a part of a text in bytes, from Start up to but not including End.
type Span struct {
	Start int `json:"s"`
	End   int `json:"e"`
}

// Image is how large an image is shown to a model.
type Image struct {
	Width  int         `json:"w,omitempty"` // in pixels; 0 where it is not known
	Height int         `json:"h,omitempty"`
	Detail ImageDetail `json:"d,omitempty"`
}

// ImageDetail is how closely a model looks at an image; 0 leaves it to the model. The values are stored: never renumber
// them.
type ImageDetail int

// The details.
const (
	ImageLow ImageDetail = iota + 1
	ImageHigh
)

// TextPart is a part of plain words.
func TextPart(s string) Part { return Part{Kind: PartText, Text: s} }

// IsPlainText reports whether the parts are one text and nothing else, not even a field that texts do not use: stores keep such
// parts as the bare text.
func IsPlainText(parts []Part) bool {
	if len(parts) != 1 || parts[0].Kind != PartText {
		return false
	}
	p := parts[0]
	return p.Signature == "" && p.Data == nil && p.CallID == "" && p.Name == "" && p.Arguments == "" &&
		p.Parts == nil && !p.IsError && p.MIMEType == "" && p.URI == "" && p.Image == nil && p.Type == "" && p.JSON == "" &&
		p.Echoes == nil && p.Secrets == nil
}

// Original is a provider's item verbatim.
type Original struct {
	Format string
	Data   []byte
}

// TokenCounts are the tokens of one text by each vocabulary that is counted exactly.
type TokenCounts struct {
	O200K  int64
	CL100K int64
}

// PlainText returns the message's words: its text parts, joined by blank lines. Calls, results and attachments are
// not words.
func (m Message) PlainText() string {
	if len(m.Parts) == 1 && m.Parts[0].Kind == PartText {
		return m.Parts[0].Text
	}
	var b strings.Builder
	for _, p := range m.Parts {
		if p.Kind != PartText {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(p.Text)
	}
	return b.String()
}

// maxClockLead is how far a client's clock may be ahead of the server's before it is not believed.
const maxClockLead = time.Minute

// SaidBy returns the time of a statement that a client dates at claimed and the server recorded at recorded: the claimed
// time, but at most a minute after recorded. Otherwise statements of a client whose clock is ahead would count as the
// latest for that long. A zero recorded sets no bound.
func SaidBy(claimed, recorded time.Time) time.Time {
	latest := recorded.Add(maxClockLead)
	if recorded.IsZero() || !claimed.After(latest) {
		return claimed
	}
	return latest
}

// SaidTime is the time of the message: its CreateTime, but at most a minute after its RecordTime. Statements supersede each
// other by it, recency, weeks, months and time filters count by it, sessions are ordered by it, and contexts show it.
// Within a session messages are in the order of their seqs, whatever it is.
func (m Message) SaidTime() time.Time { return SaidBy(m.CreateTime, m.RecordTime) }

// ContentBytes is about how many bytes the message's parts and metadata hold.
func (m Message) ContentBytes() int { return len(m.Metadata) + partBytes(m.Parts) }

func partBytes(parts []Part) int {
	n := 0
	for _, p := range parts {
		n += len(p.Text) + len(p.Data) + len(p.Arguments) + len(p.JSON) + len(p.URI) + partBytes(p.Parts)
	}
	return n
}

// Recallable reports whether the message's words may be indexed and recalled: the words of people and models, except text
// that a memory service put into the prompt.
func (m Message) Recallable() bool {
	return (m.Role == RoleUser || m.Role == RoleAssistant) && m.Origin != OriginRecalled && !m.Deleted
}

// ToolCalls returns the ids of the calls that the message makes, in order.
func (m Message) ToolCalls() []string {
	var ids []string
	for _, p := range m.Parts {
		if p.Kind == PartToolCall {
			ids = append(ids, p.CallID)
		}
	}
	return ids
}

// ToolResults returns the ids of the calls whose results the message has, in order.
func (m Message) ToolResults() []string {
	var ids []string
	for _, p := range m.Parts {
		if p.Kind == PartToolResult {
			ids = append(ids, p.CallID)
		}
	}
	return ids
}

// Place is where a message is.
type Place struct {
	Session SessionKey
	Seq     int64
}

// PlacedMessage is a message with where it is.
type PlacedMessage struct {
	Place
	SessionID    string
	ContextStart int64 // of its session; 0 for none
	Message      Message
}

// IsHidden reports whether the message is kept out of contexts: it was hidden, or its session's contexts start after it.
func (m PlacedMessage) IsHidden() bool { return m.Message.Hidden || m.Seq < m.ContextStart }

// FindingKind is what is odd about a recorded message. The values are stored: never renumber them.
type FindingKind int

// The kinds of findings.
const (
	FindingOrphanToolResult FindingKind = iota + 1
	FindingDuplicateToolCall
	FindingArgumentsNotJSON
	FindingCheck
	FindingEmpty
)

// Finding is something odd about a message that did not stop its recording.
type Finding struct {
	MessageID string      `json:"id"`
	Kind      FindingKind `json:"k"`
	CallID    string      `json:"c,omitempty"`
	// Of FindingCheck alone:
	Index   int         `json:"i,omitempty"` // of the message in the call
	Rule    string      `json:"r,omitempty"`
	Action  CheckAction `json:"a,omitempty"`
	Removed bool        `json:"x,omitempty"` // nothing of the message was left: it is not stored
}

// CheckAction is what is done with words that a check finds something in. The values are stored: never renumber them.
type CheckAction int

// The actions.
const (
	CheckRemove  CheckAction = iota + 1 // the words are removed
	CheckReplace                        // another text replaces them
	CheckStrip                          // what was found is taken out
	CheckRetry                          // the message should be written anew; it is not stored
)

// String returns the action's name as settings write it.
func (a CheckAction) String() string {
	switch a {
	case CheckRemove:
		return "remove"
	case CheckReplace:
		return "replace"
	case CheckStrip:
		return "strip"
	case CheckRetry:
		return "retry"
	}
	return "unknown"
}

// SeqRange is a span of a session's messages, both ends included.
type SeqRange struct {
	From, To int64
}

// StepsSinceUser returns how many assistant messages came since the last message of a user: those that are recorded, and those among
// pending messages.
func StepsSinceUser(recorded int, pending []Message) int {
	steps := recorded
	for _, m := range pending {
		switch m.Role {
		case RoleUser:
			steps = 0
		case RoleAssistant:
			steps++
		}
	}
	return steps
}
