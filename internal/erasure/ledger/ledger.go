// Package ledger keeps what was erased in a place that no backup holds, so that a restored backup can be made to forget it
// again. An entry names lives and incarnations by their keys and facts by their ids: it holds no id of a user, no title and no
// text. An import begins a new life under new keys, so no entry is about it.
package ledger

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// Lines keeps lines of JSON for good.
type Lines interface {
	// AppendLine must have the line, which has no end of line in it, on disk before it returns.
	AppendLine(ctx context.Context, line []byte) error
	// Lines must return all lines in the order in which they were appended. It may leave out what was cut short by a crash.
	Lines(ctx context.Context) ([][]byte, error)
}

// Ledger keeps entries. Its methods may be called concurrently.
type Ledger struct {
	lines Lines

	mu       sync.Mutex
	appended map[string]bool // the ids of the latest entries; nil until the first Append read them
}

// New returns the ledger that the lines hold.
func New(lines Lines) *Ledger { return &Ledger{lines: lines} }

// rememberedIDs is how many ids of entries are remembered, so that most are appended once: about 10 MB of them.
const rememberedIDs = 100_000

// The kinds of entries.
const (
	KindUser     = "user"
	KindSession  = "session"
	KindMessages = "messages"
	KindFact     = "fact"
	KindSummary  = "summary"
	KindDocument = "document"
)

// Entry is something that was erased.
type Entry struct {
	ID      string                `json:"id"` // of the erasure, of the fact, or of the deletion of a document
	Kind    string                `json:"kind"`
	Scope   memory.ScopeKey       `json:"scope"`
	Session memory.SessionKey     `json:"session,omitempty"` // of KindSession and KindMessages
	Seqs    [][2]int64            `json:"seqs,omitempty"`    // of KindMessages: the first and the last of each run
	Summary *memory.ErasedSummary `json:"summary,omitempty"` // of KindSummary
	Time    time.Time             `json:"time"`
}

// Append has the entry on disk before it returns. One whose id an entry has already is not appended again, also where a restored store
// has the erasure done again by another process. Of very many entries only the latest are known.
func (l *Ledger) Append(ctx context.Context, e Entry) error {
	if err := e.check(); err != nil {
		return fmt.Errorf("erasure ledger: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.readIDs(ctx); err != nil {
		return err
	}
	if l.appended[e.ID] {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode an entry of the erasure ledger: %w", err)
	}
	if err := l.lines.AppendLine(ctx, line); err != nil {
		return fmt.Errorf("append to the erasure ledger: %w", err)
	}
	if len(l.appended) >= rememberedIDs {
		clear(l.appended)
	}
	l.appended[e.ID] = true
	return nil
}

// readIDs reads the ids of what earlier processes appended.
func (l *Ledger) readIDs(ctx context.Context) error {
	if l.appended != nil {
		return nil
	}
	all, err := l.Entries(ctx)
	if err != nil {
		return err
	}
	l.appended = map[string]bool{}
	for _, e := range all[max(0, len(all)-rememberedIDs+1):] {
		l.appended[e.ID] = true
	}
	return nil
}

// Entries returns all entries in the order in which they were appended.
func (l *Ledger) Entries(ctx context.Context) ([]Entry, error) {
	lines, err := l.lines.Lines(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the erasure ledger: %w", err)
	}
	all := make([]Entry, len(lines))
	for i, line := range lines {
		err := json.Unmarshal(line, &all[i])
		if err == nil {
			err = all[i].check()
		}
		if err != nil { // what it names would come back
			return nil, fmt.Errorf("erasure ledger, entry %d: %w", i+1, err)
		}
	}
	return all, nil
}

// OfErasure is the entry of an erasure.
func OfErasure(e memory.Erasure) Entry {
	out := Entry{ID: e.ID, Kind: e.Kind.String(), Scope: e.Scope, Session: e.Session, Time: e.CreateTime}
	for _, r := range e.Seqs {
		out.Seqs = append(out.Seqs, [2]int64{r.From, r.To})
	}
	if e.Kind == memory.EraseSummary {
		out.Summary = &e.Summary
	}
	return out
}

// OfDocument is the entry of a document that a person deleted, as it was put with the etag. Its id begins with the hash of its place.
func OfDocument(scope memory.ScopeKey, hash memory.KeyedHash, etag string, at time.Time) Entry {
	return Entry{ID: hex.EncodeToString(hash[:]) + "/" + etag, Kind: KindDocument, Scope: scope, Time: at}
}

// OfFact is the entry of a fact that a person deleted.
func OfFact(scope memory.ScopeKey, id string, at time.Time) Entry {
	return Entry{ID: id, Kind: KindFact, Scope: scope, Time: at}
}

// check refuses an entry that names nothing that can be erased.
func (e Entry) check() error {
	if e.ID == "" || e.Scope == "" || e.Time.IsZero() {
		return errors.New("it lacks its id, its life or its time")
	}
	switch e.Kind {
	case KindUser, KindFact, KindDocument:
		return nil
	case KindSession, KindMessages:
		if e.Session == "" {
			return fmt.Errorf("it is of kind %s and lacks its session", e.Kind)
		}
		return nil
	case KindSummary:
		if e.Summary == nil || e.Summary.Kind == memory.SummarySession && e.Session == "" {
			return fmt.Errorf("it is of kind %s and lacks which", e.Kind)
		}
		return nil
	}
	return fmt.Errorf("it is of kind %q, which this program does not know: a later one wrote it", e.Kind)
}
