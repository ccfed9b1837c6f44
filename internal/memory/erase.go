package memory

import "time"

// ErasureKind is what a person wants gone. The values are stored: never renumber them.
type ErasureKind int

// The kinds of erasures.
const (
	EraseUser     ErasureKind = iota + 1 // everything of one life of a user
	EraseSession                         // everything of one incarnation of a session
	EraseMessages                        // some messages of a session, and what was made of them
	EraseSummary                         // a summary of a session, a week or a month, in all that it was
)

// String returns the kind's name.
func (k ErasureKind) String() string {
	switch k {
	case EraseUser:
		return "user"
	case EraseSession:
		return "session"
	case EraseMessages:
		return "messages"
	case EraseSummary:
		return "summary"
	}
	return "unknown"
}

// ErasureState is how far an erasure has come. The values are stored: never renumber them.
type ErasureState int

// The states. Whatever the state, what is to be erased can be seen by nobody any more.
const (
	ErasureSweeping ErasureState = iota + 1 // something of it may lie in a store still
	ErasureDone                             // every store was swept; the receipt is final
)

// Erasure is a deletion that a person asked for. It names lives and incarnations by their keys, holds no text, no title and no
// id that a caller gave, and outlives what it erased.
type Erasure struct {
	ID       string
	Kind     ErasureKind
	Tenant   string
	Request  KeyedHash // of what its caller asked for; zero where the caller gave no request id
	UserHash KeyedHash // of the user's id: see ErasureUserHash
	Scope    ScopeKey
	Session  SessionKey // of EraseSession and EraseMessages, and of EraseSummary of a session
	Seqs     []SeqRange // of EraseMessages, ascending and apart: those that were not erased before
	Summary  ErasedSummary
	LastSeq  int64 // of the session when the erasure began; 0 where there is none
	State    ErasureState
	Receipt  []StoreReceipt // by store; grows while the stores are swept
	// Passes counts the sweeps that found nothing left. A write that was under way when the erasure began may still arrive in a
	// store that has no transactions, so one such sweep is not enough.
	Passes     int
	NotBefore  time.Time // when to sweep next
	Attempts   int       // failed sweeps in a row
	Reason     string    // of the last failure, without content; "" without one
	CreateTime time.Time
	UpdateTime time.Time
	DoneTime   time.Time // zero until ErasureDone
}

// ErasedSummary is what an EraseSummary is about, besides the key of its session.
type ErasedSummary struct {
	Kind   SummaryKind `json:"k"`
	Period string      `json:"p,omitempty"` // the name of a week or month
	// Covers are the messages that the summary covered, by session key: none is written of them until one of them changes.
	Covers []Covered `json:"c,omitempty"`
}

// IsDone reports whether the receipt is final.
func (e Erasure) IsDone() bool { return e.State == ErasureDone }

// Messages is how many messages an erasure of messages takes away.
func (e Erasure) Messages() (n int64) {
	for _, r := range e.Seqs {
		n += r.To - r.From + 1
	}
	return n
}

// Covers reports whether the erasure takes the message at the place away.
func (e Erasure) Covers(p Place) bool {
	switch e.Kind {
	case EraseUser:
		return true
	case EraseSummary:
		return false
	case EraseSession, EraseMessages:
	}
	return p.Session == e.Session && (e.Kind == EraseSession || Overlap(e.Seqs, SeqRange{From: p.Seq, To: p.Seq}))
}

// ErasedIDs is what becomes of the ids of erased messages.
type ErasedIDs int

// The ways.
const (
	KeepIDs ErasedIDs = iota // they stay known: the same message is not stored again
	FreeIDs                  // they may be recorded again, with another body too
)

// PurgedBy is what removes the last bytes of deleted rows from a store's disks. The values are stored: never renumber them.
type PurgedBy int

// The ways.
const (
	PurgedWithSweep    PurgedBy = iota + 1 // they are overwritten when the sweep ends
	PurgedByCompaction                     // the server does, when it compacts or merges what it stores
)

// PrimaryStore is the name of the primary store in receipts.
const PrimaryStore = "primary"

// StoreReceipt is what an erasure did in one store, in rows: messages, facts, summaries, jobs, vectors and so on, each counted once.
type StoreReceipt struct {
	Store     string   `json:"s"` // PrimaryStore, or the name of a view
	Found     int64    `json:"f"`
	Deleted   int64    `json:"d"`
	Remaining int64    `json:"r"` // that the last sweep found
	PurgedBy  PurgedBy `json:"p"`
}
