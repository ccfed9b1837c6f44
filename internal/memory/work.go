package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// SlotKind is what a slot of the journal is for. The values are stored: never renumber them.
type SlotKind int

// The kinds of slots.
const (
	SlotExtract SlotKind = iota + 1 // facts from a range of a session
	SlotLeaf                        // a summary of a range of a session
	SlotMerge                       // a summary of summaries of a session; Range is theirs
	SlotWeek                        // a weekly summary of a user; Range.From is its Monday in days since 1970-01-01
	SlotMonth                       // a monthly one; Range.From is its first day in days since 1970-01-01
)

// SlotRebuild is a summary of a range of a session, or one of summaries where Level is above 0, that is written anew: what
// covers the range till then does so meanwhile. Its Generation is that of the node.
const SlotRebuild SlotKind = 9

// String returns the kind's name.
func (k SlotKind) String() string {
	switch k {
	case SlotExtract:
		return "extract"
	case SlotLeaf:
		return "summarize"
	case SlotMerge:
		return "merge"
	case SlotWeek:
		return "week"
	case SlotMonth:
		return "month"
	case SlotRebuild:
		return "rebuild"
	}
	return "unknown"
}

// SlotState is how far a slot has come. The values are stored: never renumber them.
type SlotState int

// The states. From SlotApplied on they are final; a parked slot waits for a person.
const (
	SlotOpen     SlotState = iota + 1 // the range is fixed, the model is to be asked
	SlotAnswered                      // the model's answer is stored and waits to be applied
	SlotParked                        // it failed too often or for good
	SlotApplied
	SlotSkipped // by a person
	SlotSplit   // replaced by two slots of the next generation
	// SlotReverted was applied, and a person took its effects back. Its answer is a receipt of what was taken back.
	SlotReverted
)

// IsFinal reports whether nothing will happen to the slot any more.
func (s SlotState) IsFinal() bool { return s >= SlotApplied }

// String returns the state's name.
func (s SlotState) String() string {
	switch s {
	case SlotOpen:
		return "open"
	case SlotAnswered:
		return "answered"
	case SlotParked:
		return "parked"
	case SlotApplied:
		return "applied"
	case SlotSkipped:
		return "skipped"
	case SlotSplit:
		return "split"
	case SlotReverted:
		return "reverted"
	}
	return "unknown"
}

// SlotKey is what makes a slot unique: the first insert fixes the range.
type SlotKey struct {
	Scope      ScopeKey
	Session    SessionKey // "" for weeks and months
	Kind       SlotKind
	Level      int // of the summary; 0 for leaves and extraction
	From       int64
	Generation int // from 1; splitting or rebuilding makes the next one
}

// ID derives the slot's id from its key, so that every effect has the same id however often it is made.
func (k SlotKey) ID() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d/%d/%d/%d", k.Scope, k.Session, k.Kind, k.Level, k.From, k.Generation))
	return hex.EncodeToString(sum[:16])
}

// EffectID derives the id of the nth effect of a slot: a fact or a node.
func EffectID(slotID string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s#%d", slotID, n))
	return hex.EncodeToString(sum[:16])
}

// Slot is one piece of background work in the journal.
type Slot struct {
	SlotKey
	User      UserRef
	SessionID string // "" for weeks and months
	To        int64  // the end of the range, included
	State     SlotState
	Answer    []byte    // the model's answer in a form of its reader; nil before SlotAnswered, and again once final but SlotReverted
	Attempts  int       // failed ones
	NotBefore time.Time // when to try again
	// FailingSince is when the first of its failures was that time alone mends, such as a model that is down; zero before it.
	FailingSince time.Time
	Reason       string // of the last failure, without content
	Owner        string // who works on it until LeaseUntil
	LeaseUntil   time.Time
	Usage        ModelUsage // of all calls made for it, failed ones included
	CreateTime   time.Time
	UpdateTime   time.Time
}

// Range is the messages the slot is about.
func (s Slot) Range() SeqRange { return SeqRange{From: s.From, To: s.To} }

// ModelUsage is what model calls cost.
type ModelUsage struct {
	Calls        int   `json:"c,omitempty"`
	InputTokens  int64 `json:"i,omitempty"`
	OutputTokens int64 `json:"o,omitempty"`
}

// Plus adds up two usages.
func (u ModelUsage) Plus(v ModelUsage) ModelUsage {
	return ModelUsage{u.Calls + v.Calls, u.InputTokens + v.InputTokens, u.OutputTokens + v.OutputTokens}
}

// Embedding is a version of the facts' vectors: one model with its dimension. One version is active at a time.
type Embedding struct {
	Version    int
	Model      string // such as builtin:static-256 or text-embedding-3-small
	Dimension  int
	Metric     string // cosine
	Active     bool
	CreateTime time.Time
}
