// Package portable is the file that a user is exported to and imported from: JSON Lines with stable names, for Strata and for
// other programs to read. docs/operate/export.md describes it.
//
// The file holds no scope key, no session key and no id that derives from one: sessions stand under their ids, jobs under what
// they are for. So two exports of the same data are equal byte for byte, whichever life of the user they were made of.
package portable

import (
	"encoding/json"
	"time"
)

// Format and the versions say what a file is. A program must refuse a version that it does not know. A file is of the lowest version that
// has what it holds, so that an older program reads all that it can.
const (
	Format         = "strata-user"
	Version        = 1 // without vectors
	VectorsVersion = 2 // with vectors
)

// Line is one line of the file: exactly one field is set.
type Line struct {
	Header           *Header           `json:"header,omitempty"`            // the first line
	User             *User             `json:"user,omitempty"`              // the second line
	Embedding        *Embedding        `json:"embedding,omitempty"`         // the third line of a file with vectors
	Session          *Session          `json:"session,omitempty"`           // by session_id
	Turn             *Turn             `json:"turn,omitempty"`              // by session_id, then turn
	Edits            *Edits            `json:"edits,omitempty"`             // by kind, session_id, period
	Summary          *Summary          `json:"summary,omitempty"`           // by id
	Job              *Job              `json:"job,omitempty"`               // by session_id, kind, level, from, generation
	Fact             *Fact             `json:"fact,omitempty"`              // by id
	ForgottenFact    *ForgottenFact    `json:"forgotten_fact,omitempty"`    // by change, fact_id, key_hash
	RefusedOperation *RefusedOperation `json:"refused_operation,omitempty"` // by id, time
	Document         *Document         `json:"document,omitempty"`          // by namespace, key
	DeletedDocument  *DeletedDocument  `json:"deleted_document,omitempty"`  // by place_hash
	Trailer          *Trailer          `json:"trailer,omitempty"`           // the last line
}

// Header says what the file is and what wrote it.
type Header struct {
	Format  string `json:"format"`  // strata-user
	Version int    `json:"version"` // of the schema
	Program string `json:"program"` // the version of Strata that wrote the file
	// Vectors: the file holds vectors of facts and messages, and is of version 2. Version 1 has none: they are made again from the texts.
	Vectors bool `json:"vectors"`
}

// Embedding is what made the vectors of the file. Vectors of one model and dimension can be compared, whichever server made them.
type Embedding struct {
	Model     string `json:"model"`
	Dimension int    `json:"dimension"` // numbers in a vector
}

// Trailer ends the file. A file without one was cut.
type Trailer struct {
	Lines    int64 `json:"lines"` // before this one
	Sessions int64 `json:"sessions"`
	Messages int64 `json:"messages"`
	Facts    int64 `json:"facts"`
	Vectors  int64 `json:"vectors,omitempty"` // of facts and messages
	// Documents is left out where there is none.
	Documents int64 `json:"documents,omitempty"`
	// SHA256 is the SHA-256 of all bytes before this line, in lower-case hex.
	SHA256 string `json:"sha256"`
}

// User is the user.
type User struct {
	UserID string `json:"user_id"`
	// HashKey is what the keyed hashes of the file were made under: body_hash, id_hash, request.id_hash, request.body_hash and
	// forgotten_fact.key_hash are HMAC-SHA-256 under its bytes, cut to 128 bits. Keep it as secret as the data.
	HashKey       string          `json:"hash_key"`
	Timezone      string          `json:"timezone,omitempty"`
	Language      string          `json:"language,omitempty"`
	Extract       string          `json:"extract"` // allow or none
	State         json.RawMessage `json:"state,omitempty"`
	StateRevision int64           `json:"state_revision,omitempty"`
	Revision      int64           `json:"revision"` // of timezone, language, extract and state
	FactRevision  int64           `json:"fact_revision,omitempty"`
	CreateTime    time.Time       `json:"create_time"`
	UpdateTime    time.Time       `json:"update_time"`
}

// Session is the head of a session.
type Session struct {
	SessionID       string          `json:"session_id"`
	Title           string          `json:"title,omitempty"`
	Metadata        json.RawMessage `json:"metadata,omitempty"`
	Profile         string          `json:"profile,omitempty"`
	Extract         string          `json:"extract"`
	State           json.RawMessage `json:"state,omitempty"`
	StateRevision   int64           `json:"state_revision,omitempty"` // the turn that last changed state
	LastTurn        int64           `json:"last_turn"`
	LastSeq         int64           `json:"last_seq"`
	StepsSinceUser  int             `json:"steps_since_user,omitempty"`
	ContextStart    int64           `json:"context_start,omitempty"`
	Revision        int64           `json:"revision"` // of title, metadata, profile, extract and context_start
	CoveredSeq      int64           `json:"covered_seq,omitempty"`
	CoveredTime     time.Time       `json:"covered_time,omitzero"`
	CreateTime      time.Time       `json:"create_time"`
	UpdateTime      time.Time       `json:"update_time"`
	LastMessageTime time.Time       `json:"last_message_time,omitzero"`
	// HashKey is the key of the session's hashes where it is not the user's: the session was imported from another user.
	HashKey string `json:"hash_key,omitempty"`
}

// Turn is one recorded call with its messages.
type Turn struct {
	SessionID  string          `json:"session_id"`
	Turn       int64           `json:"turn"`      // from 1
	FirstSeq   int64           `json:"first_seq"` // of its first message, or of the next one where it has none
	RecordTime time.Time       `json:"record_time"`
	Request    *Request        `json:"request,omitempty"`
	StatePatch json.RawMessage `json:"state_patch,omitempty"`
	Messages   []Message       `json:"messages,omitempty"`
}

// Request is the request id of a call, of which only keyed hashes are kept, and what the call got.
type Request struct {
	IDHash   []byte  `json:"id_hash"`
	BodyHash []byte  `json:"body_hash"`
	Result   *Result `json:"result,omitempty"` // of a turn
}

// Result is what a recorded call got: a repeat of it gets the same.
type Result struct {
	Turn            int64     `json:"turn"`
	MessageIDs      []string  `json:"message_ids"`
	FirstSeq        int64     `json:"first_seq"`
	LastSeq         int64     `json:"last_seq"`
	DeduplicatedIDs []string  `json:"deduplicated_ids,omitempty"`
	StateRevision   int64     `json:"state_revision"`
	StepsSinceUser  int       `json:"steps_since_user"`
	Findings        []Finding `json:"findings,omitempty"`
}

// Finding is something odd about a recorded message.
type Finding struct {
	MessageID string `json:"message_id"`
	Kind      string `json:"kind"` // orphan_tool_result, duplicate_tool_call, arguments_not_json, check or empty
	CallID    string `json:"call_id,omitempty"`
	Index     int    `json:"index,omitempty"`
	Rule      string `json:"rule,omitempty"`
	Action    string `json:"action,omitempty"` // remove, replace, strip or retry
	Removed   bool   `json:"removed,omitempty"`
}

// Message is a message. Of one that is Deleted only its place, role, origin and times are left.
type Message struct {
	ID         string          `json:"id,omitempty"` // none where it is deleted
	Seq        int64           `json:"seq"`
	Role       string          `json:"role"` // system, developer, user, assistant or tool
	Name       string          `json:"name,omitempty"`
	Parts      []Part          `json:"parts,omitempty"`
	Tags       []string        `json:"tags,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	Origin     string          `json:"origin"`            // user, model, tool, recalled or system
	Extract    string          `json:"extract,omitempty"` // allow or none; none of both where it is deleted
	Pinned     bool            `json:"pinned,omitempty"`
	Hidden     bool            `json:"hidden,omitempty"`
	Deleted    bool            `json:"deleted,omitempty"`
	CreateTime time.Time       `json:"create_time"`
	RecordTime time.Time       `json:"record_time"`
	Tokens     Tokens          `json:"tokens"`
	BodyHash   []byte          `json:"body_hash,omitempty"` // of role, name and parts as they were received
	// IDHash is the keyed hash of the id of a deleted message, which cannot be recorded again. Without it the id is free.
	IDHash   []byte    `json:"id_hash,omitempty"`
	Original *Original `json:"original,omitempty"`
	// Vector is the message's embedding, rounded as it is stored: a signed byte, -127 to 127, for each dimension, of which only the
	// proportions count. None where the message has none.
	Vector []byte `json:"vector,omitempty"`
}

// Tokens are counts by two vocabularies.
type Tokens struct {
	O200K  int64 `json:"o200k"`
	CL100K int64 `json:"cl100k"`
}

// Original is a provider's item verbatim.
type Original struct {
	Format string `json:"format"`
	Data   []byte `json:"data,omitempty"`
}

// Part is a piece of content.
type Part struct {
	Kind      string   `json:"kind"` // text, reasoning, tool_call, tool_result, blob, uri or opaque
	Text      string   `json:"text,omitempty"`
	Signature string   `json:"signature,omitempty"`
	Data      []byte   `json:"data,omitempty"`
	CallID    string   `json:"call_id,omitempty"`
	Name      string   `json:"name,omitempty"`
	Arguments string   `json:"arguments,omitempty"`
	Parts     []Part   `json:"parts,omitempty"`
	IsError   bool     `json:"is_error,omitempty"`
	MIMEType  string   `json:"mime_type,omitempty"`
	URI       string   `json:"uri,omitempty"`
	Image     *Image   `json:"image,omitempty"`
	Type      string   `json:"type,omitempty"`
	JSON      string   `json:"json,omitempty"`
	Echoes    []Span   `json:"echoes,omitempty"`
	Secrets   []Secret `json:"secrets,omitempty"`
}

// Image is how large an image is shown.
type Image struct {
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
	Detail string `json:"detail,omitempty"` // low or high
}

// Span is bytes of a part's content, end not included.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Secret is where a part's content says a secret.
type Secret struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Kind  string `json:"kind"`
	No    int    `json:"no,omitempty"`
}

// Range is messages of a session, both ends included.
type Range struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Edits are what persons made of one summary.
type Edits struct {
	Kind      string `json:"kind"`                 // session, week or month
	SessionID string `json:"session_id,omitempty"` // of a session's
	Period    string `json:"period,omitempty"`     // of a week's or month's
	Revisions []Edit `json:"revisions"`            // from the first one on
}

// Edit is one change of a summary by a person.
type Edit struct {
	Revision   int64     `json:"revision"`
	Cause      string    `json:"cause"` // corrected, restored, lifted, rebuilt or deleted
	Text       string    `json:"text,omitempty"`
	Tokens     Tokens    `json:"tokens"`
	Covers     []Covered `json:"covers,omitempty"`
	FromTime   time.Time `json:"from_time,omitzero"`
	ToTime     time.Time `json:"to_time,omitzero"`
	Rebuilds   int       `json:"rebuilds,omitempty"`
	CreateTime time.Time `json:"create_time"`
	Author     string    `json:"author,omitempty"` // who made it, where the call named them
	Request    *Request  `json:"request,omitempty"`
}

// Covered is what of a session a correction covers.
type Covered struct {
	Session SessionRef `json:"session"`
	Range   Range      `json:"range"`
	Passed  []Range    `json:"passed,omitempty"` // hidden messages of it
}

// SessionRef names a session. One that is Gone had the id once: what is known of it is left, but not the session.
type SessionRef struct {
	SessionID string `json:"session_id,omitempty"`
	Gone      bool   `json:"gone,omitempty"`
}

// Summary is what background work wrote: of messages of a session, of summaries, of a week or a month.
type Summary struct {
	ID          string    `json:"id"`
	Kind        string    `json:"kind"` // session, week or month
	SessionID   string    `json:"session_id,omitempty"`
	Level       int       `json:"level,omitempty"`
	Range       Range     `json:"range"`
	Period      string    `json:"period,omitempty"`
	PeriodStart time.Time `json:"period_start,omitzero"`
	PeriodEnd   time.Time `json:"period_end,omitzero"`
	Generation  int       `json:"generation"`
	Cumulative  bool      `json:"cumulative,omitempty"`
	Previous    *Source   `json:"previous,omitempty"`
	Children    []Source  `json:"children,omitempty"`
	Passed      []Range   `json:"passed,omitempty"`
	Rebuild     int       `json:"rebuild,omitempty"`
	Text        string    `json:"text"`
	Appended    int       `json:"appended,omitempty"`
	Tokens      Tokens    `json:"tokens"`
	Language    string    `json:"language,omitempty"`
	Model       string    `json:"model,omitempty"`
	FromTime    time.Time `json:"from_time,omitzero"`
	ToTime      time.Time `json:"to_time,omitzero"`
	CreateTime  time.Time `json:"create_time"`
}

// Source is what a summary was made of: a summary, or a person's correction.
type Source struct {
	SummaryID  string         `json:"summary_id,omitempty"`
	Correction *CorrectionRef `json:"correction,omitempty"`
}

// CorrectionRef names a revision of edits.
type CorrectionRef struct {
	Kind      string `json:"kind"`
	SessionID string `json:"session_id,omitempty"`
	Period    string `json:"period,omitempty"`
	Revision  int64  `json:"revision"`
}

// JobRef names a job by what it is for.
type JobRef struct {
	SessionID  string `json:"session_id,omitempty"` // none for weeks and months
	Kind       string `json:"kind"`                 // extract, summarize, merge, week, month, rebuild or index
	Level      int    `json:"level,omitempty"`
	From       int64  `json:"from"`
	Generation int    `json:"generation"`
}

// Job is a piece of background work.
type Job struct {
	JobRef
	To           int64     `json:"to"`
	State        string    `json:"state"` // open, answered, parked, applied, skipped, split or reverted
	Answer       *[]byte   `json:"answer,omitempty"`
	Attempts     int       `json:"attempts,omitempty"`
	NotBefore    time.Time `json:"not_before,omitzero"`
	FailingSince time.Time `json:"failing_since,omitzero"`
	Reason       string    `json:"reason,omitempty"`
	Calls        int       `json:"calls,omitempty"`
	InputTokens  int64     `json:"input_tokens,omitempty"`
	OutputTokens int64     `json:"output_tokens,omitempty"`
	CreateTime   time.Time `json:"create_time"`
	UpdateTime   time.Time `json:"update_time"`
}

// Fact is a fact with its history.
type Fact struct {
	ID string `json:"id"`
	FactState
	Revisions []FactRevision `json:"revisions,omitempty"` // from the first one on
	Vector    []byte         `json:"vector,omitempty"`    // the embedding of its text: a float32 for each dimension, little endian
}

// FactState is a fact as it was after one change.
type FactState struct {
	Revision     int64      `json:"revision"`
	Change       int64      `json:"change"` // the user's fact_revision of the write
	Text         string     `json:"text"`
	Category     string     `json:"category"` // preference, personal_info, goal, pain_point, decision or other
	Tags         []string   `json:"tags,omitempty"`
	Significance int        `json:"significance"`
	Confidence   float64    `json:"confidence"`
	Subject      string     `json:"subject,omitempty"`
	Attribute    string     `json:"attribute,omitempty"`
	Evidence     []Evidence `json:"evidence,omitempty"`
	ValidFrom    time.Time  `json:"valid_from,omitzero"`
	ValidTo      time.Time  `json:"valid_to,omitzero"`
	SupersededBy string     `json:"superseded_by,omitempty"`
	Pinned       bool       `json:"pinned,omitempty"`
	Origin       string     `json:"origin"` // extracted, user or imported
	Protected    bool       `json:"protected,omitempty"`
	Language     string     `json:"language,omitempty"`
	Model        string     `json:"model,omitempty"`
	CreateTime   time.Time  `json:"create_time"`
	UpdateTime   time.Time  `json:"update_time"`
	LastUsedTime time.Time  `json:"last_used_time,omitzero"`
}

// FactRevision is a change of a fact.
type FactRevision struct {
	FactState
	// Cause is extracted, superseded, created, edited, restored, imported, invalidated, reverted or retracted.
	Cause string `json:"cause"`
	CausedBy
	Author string `json:"author,omitempty"` // the person who made it, where the call named them
}

// CausedBy is the job that made something; nothing for a person.
type CausedBy struct {
	Job          *JobRef `json:"job,omitempty"`
	UnknownJobID string  `json:"unknown_job_id,omitempty"` // of a job that is not kept any more
}

// Evidence is where a fact was stated.
type Evidence struct {
	Session   SessionRef `json:"session"`
	Seq       int64      `json:"seq"`
	MessageID string     `json:"message_id"`
	Quote     string     `json:"quote"`
	Time      time.Time  `json:"time,omitzero"`
	Ends      bool       `json:"ends,omitempty"`
}

// ForgottenFact is what is left of a deleted fact, so that it is not learnt again.
type ForgottenFact struct {
	FactID  string    `json:"fact_id"`
	KeyHash []byte    `json:"key_hash"`
	Change  int64     `json:"change"`
	Time    time.Time `json:"time,omitzero"`
}

// RefusedOperation is an operation of a model that was refused.
type RefusedOperation struct {
	ID        string `json:"id"`
	SessionID string `json:"session_id,omitempty"`
	CausedBy
	Reason    string    `json:"reason"`
	Operation string    `json:"operation"`
	Model     string    `json:"model,omitempty"`
	Time      time.Time `json:"time"`
}

// Document is a JSON object that was filed under a namespace and a key.
type Document struct {
	Namespace   []string        `json:"namespace"`
	Key         string          `json:"key"`
	Value       json.RawMessage `json:"value"`
	IndexFields []string        `json:"index_fields,omitempty"` // paths of what is searched; none for all
	Unindexed   bool            `json:"unindexed,omitempty"`
	TTLSeconds  float64         `json:"ttl_seconds,omitempty"` // none for ever
	CreateTime  time.Time       `json:"create_time"`
	UpdateTime  time.Time       `json:"update_time"`
	ExpireTime  time.Time       `json:"expire_time,omitzero"`
}

// DeletedDocument is what is left of a deleted document, so that no import brings it back.
type DeletedDocument struct {
	PlaceHash []byte    `json:"place_hash"` // keyed, of its namespace and key
	Time      time.Time `json:"time"`
}
