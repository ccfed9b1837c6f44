package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// JobKind is what a job of the journal is for. The values are stored: never renumber them.
type JobKind int

// The kinds of jobs.
const (
	JobExtract JobKind = iota + 1 // facts from a range of a session
	JobLeaf                       // a summary of a range of a session
	JobMerge                      // a summary of summaries of a session; Range is theirs
	JobWeek                       // a weekly summary of a user; Range.From is its Monday in days since 1970-01-01
	JobMonth                      // a monthly one; Range.From is its first day in days since 1970-01-01
)

// JobRebuild is a summary of a range of a session, or one of summaries where Level is above 0, that is written anew: what
// covers the range till then does so meanwhile. Its Generation is that of the node.
const JobRebuild JobKind = 9

// JobIndex is a message for which analysis, or the built-in embedding model, panicked when it was indexed: it is shown, but not found
// by its words, or by its meaning. Range is that message.
const JobIndex JobKind = 11

// String returns the kind's name.
func (k JobKind) String() string {
	switch k {
	case JobExtract:
		return "extract"
	case JobLeaf:
		return "summarize"
	case JobMerge:
		return "merge"
	case JobWeek:
		return "week"
	case JobMonth:
		return "month"
	case JobRebuild:
		return "rebuild"
	case JobIndex:
		return "index"
	}
	return "unknown"
}

// IsOfMessages reports whether From and To of a job's key are the seqs of the messages that it is about.
func (k JobKind) IsOfMessages() bool { return k == JobExtract || k == JobLeaf }

// JobState is how far a job has come. The values are stored: never renumber them.
type JobState int

// The states. From JobApplied on they are final; a parked job waits for a person.
const (
	JobOpen     JobState = iota + 1 // the range is fixed, the model is to be asked
	JobAnswered                     // the model's answer is stored and waits to be applied
	JobParked                       // it failed too often or for good
	JobApplied
	JobSkipped // by a person
	JobSplit   // replaced by two jobs of the next generation
	// JobReverted was applied, and a person took its effects back. Its answer is a receipt of what was taken back.
	JobReverted
	// JobReplaced gave its range to a job of a later generation, because a message of the range was erased.
	JobReplaced
)

// IsFinal reports whether nothing will happen to the job any more.
func (s JobState) IsFinal() bool { return s >= JobApplied }

// String returns the state's name.
func (s JobState) String() string {
	switch s {
	case JobOpen:
		return "open"
	case JobAnswered:
		return "answered"
	case JobParked:
		return "parked"
	case JobApplied:
		return "applied"
	case JobSkipped:
		return "skipped"
	case JobSplit:
		return "split"
	case JobReverted:
		return "reverted"
	case JobReplaced:
		return "replaced"
	}
	return "unknown"
}

// JobKey is what makes a job unique: the first insert fixes the range.
type JobKey struct {
	Scope      ScopeKey
	Session    SessionKey // "" for weeks and months
	Kind       JobKind
	Level      int // of the summary; 0 for leaves and extraction
	From       int64
	Generation int // from 1; splitting or rebuilding makes the next one
}

// ID derives the job's id from its key, so that every effect has the same id however often it is made.
func (k JobKey) ID() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d/%d/%d/%d", k.Scope, k.Session, k.Kind, k.Level, k.From, k.Generation))
	return hex.EncodeToString(sum[:16])
}

// EffectID derives the id of the nth effect of a job: a fact or a node.
func EffectID(jobID string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s#%d", jobID, n))
	return hex.EncodeToString(sum[:16])
}

// Job is one piece of background work in the journal.
type Job struct {
	JobKey
	User      UserRef
	SessionID string // "" for weeks and months
	To        int64  // the end of the range, included
	State     JobState
	Answer    []byte    // the model's answer in a form of its reader; nil before JobAnswered, and again once final but JobReverted
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

// Range is the messages the job is about.
func (s Job) Range() SeqRange { return SeqRange{From: s.From, To: s.To} }

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
