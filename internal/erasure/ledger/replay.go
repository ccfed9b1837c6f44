package ledger

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Store is what a replay asks of the primary store.
type Store interface {
	store.Erasures
	Fact(ctx context.Context, user memory.UserRef, id string) (memory.Fact, error)
	FactRevisions(ctx context.Context, user memory.UserRef, id string) ([]memory.FactRevision, error)
	FactsSince(ctx context.Context, user memory.UserRef, revision int64) (store.FactState, error)
	ApplyFacts(ctx context.Context, w store.FactWrite) (revision int64, err error)
	Messages(ctx context.Context, q store.MessageQuery) ([]memory.Message, error)
	User(ctx context.Context, ref memory.UserRef) (memory.User, error)
	DocumentHeads(ctx context.Context, user memory.UserRef, now time.Time) (store.DocumentHeads, error)
	DeleteDocument(ctx context.Context, q store.DocumentQuery) error
}

// Replay repeats what the store has forgotten that it erased, as after a backup was restored. Nobody may write to the store
// meanwhile.
type Replay struct {
	Store Store
	// Begin begins an erasure and takes out of the user's facts what its messages taught.
	Begin func(ctx context.Context, start store.ErasureStart) (memory.Erasure, error)
	Now   func() time.Time
}

// Result counts entries.
type Result struct {
	Entries  int
	Repeated int // whose target was there again
}

// Run repeats the entries whose target is in the store. What it erases is to be swept as any other erasure is. Documents come last, and
// those of a user together: a ledger may have very many.
func (r Replay) Run(ctx context.Context, entries []Entry) (done Result, err error) {
	documents := map[memory.ScopeKey]deletedDocuments{}
	for _, e := range entries {
		done.Entries++
		if e.Kind == KindDocument {
			if documents[e.Scope] == nil {
				documents[e.Scope] = deletedDocuments{}
			}
			documents[e.Scope].add(e)
			continue
		}
		did, err := r.repeat(ctx, e)
		if err != nil {
			return done, fmt.Errorf("repeat the erasure %s: %w", e.ID, err)
		}
		if did {
			done.Repeated++
		}
	}
	for _, scope := range slices.Sorted(maps.Keys(documents)) {
		deleted, err := r.deleteDocuments(ctx, scope, documents[scope])
		done.Repeated += deleted
		if err != nil {
			return done, fmt.Errorf("delete documents of the life %s again: %w", scope, err)
		}
	}
	return done, nil
}

func (r Replay) repeat(ctx context.Context, e Entry) (did bool, err error) {
	user, err := r.Store.UserOfScope(ctx, e.Scope)
	if memory.IsGone(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if e.Kind == KindFact {
		return r.forget(ctx, user, e.ID)
	}
	start, isThere, err := r.start(ctx, user, e)
	if err != nil || !isThere {
		return false, err
	}
	_, err = r.Begin(ctx, start)
	return true, err
}

// start is the erasure that repeats an entry about a user, a session, messages or a summary. isThere is false where the store has nothing
// of its target.
func (r Replay) start(ctx context.Context, user memory.UserRef, e Entry) (start store.ErasureStart, isThere bool, err error) {
	start = store.ErasureStart{ID: e.ID, Kind: memory.EraseUser, User: user, Time: r.Now()}
	if e.Kind == KindSummary {
		start.Kind, start.Summary = memory.EraseSummary, *e.Summary
		if known, err := r.isKnown(ctx, user, e.ID); err != nil || known {
			return start, false, err
		}
	}
	if e.Session == "" {
		return start, true, nil
	}
	session, err := r.Store.SessionOfKey(ctx, user, e.Session)
	if memory.IsGone(err) {
		return start, false, nil
	}
	if err != nil {
		return start, false, err
	}
	start.SessionID = session.SessionID
	switch e.Kind {
	case KindSession:
		start.Kind = memory.EraseSession
	case KindMessages:
		start.Kind = memory.EraseMessages
		start.Seqs, err = r.still(ctx, session, e)
		return start, len(start.Seqs) > 0, err
	}
	return start, true, nil
}

// isKnown reports whether the store knows of the erasure: then what is there was written after it.
func (r Replay) isKnown(ctx context.Context, user memory.UserRef, id string) (bool, error) {
	_, err := r.Store.Erasure(ctx, user.Tenant, id)
	if memory.ReasonOf(err) == memory.ReasonJobNotFound {
		return false, nil
	}
	return err == nil, err
}

// still are those of the entry's messages that are there: recorded before they were erased, and not erased yet. What was recorded
// later took a place that the restored session had free.
func (r Replay) still(ctx context.Context, session memory.SessionRef, e Entry) ([]memory.SeqRange, error) {
	var out []memory.SeqRange
	for _, run := range e.Seqs {
		for after, last := run[0]-1, run[1]; after < last; {
			some, err := r.Store.Messages(ctx, store.MessageQuery{
				Ref: session, After: after, Before: last + 1, Limit: pageSize, MaxBytes: pageBytes,
			})
			if err != nil {
				return nil, fmt.Errorf("read the messages: %w", err)
			}
			if len(some) == 0 {
				break
			}
			for _, m := range some {
				if !m.Deleted && !m.RecordTime.After(e.Time) {
					out = memory.WithSeq(out, m.Seq)
				}
				after = m.Seq
			}
		}
	}
	return out, nil
}

// What a replay reads of messages at once.
const (
	pageSize  = 1000
	pageBytes = 8 << 20
)

// deletedDocuments are the times at which the documents of a life were deleted last, by the hash of their place.
type deletedDocuments map[memory.KeyedHash]time.Time

// add takes up an entry. One whose id begins with no hash names no document.
func (d deletedDocuments) add(e Entry) {
	place, _, _ := strings.Cut(e.ID, "/")
	var hash memory.KeyedHash
	if b, err := hex.DecodeString(place); err != nil || copy(hash[:], b) != len(hash) {
		return
	}
	if e.Time.After(d[hash]) {
		d[hash] = e.Time
	}
}

// deleteDocuments deletes the documents of a life that were put before they were deleted. Of what has expired by now nothing is seen
// anyway.
func (r Replay) deleteDocuments(ctx context.Context, scope memory.ScopeKey, deleted deletedDocuments) (n int, err error) {
	user, err := r.Store.UserOfScope(ctx, scope)
	if memory.IsGone(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	u, err := r.Store.User(ctx, user)
	if err != nil {
		return 0, fmt.Errorf("read the user: %w", err)
	}
	heads, err := r.Store.DocumentHeads(ctx, user, r.Now())
	if err != nil {
		return 0, fmt.Errorf("read what documents there are: %w", err)
	}
	for _, h := range heads.Heads {
		at, is := deleted[store.DeletedDocumentHash(u.HashKey, h.Place)]
		if !is || h.UpdateTime.After(at) {
			continue
		}
		if err := r.Store.DeleteDocument(ctx, store.DocumentQuery{User: user, Place: h.Place, Time: r.Now()}); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// forget deletes a fact with its history. It is not learnt again in any of its wordings.
func (r Replay) forget(ctx context.Context, user memory.UserRef, id string) (did bool, err error) {
	if _, err = r.Store.Fact(ctx, user, id); memory.ReasonOf(err) == memory.ReasonFactNotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	revisions, err := r.Store.FactRevisions(ctx, user, id)
	if err != nil {
		return false, fmt.Errorf("read the fact's revisions: %w", err)
	}
	state, err := r.Store.FactsSince(ctx, user, 0)
	if err != nil {
		return false, fmt.Errorf("read the user's facts: %w", err)
	}
	_, err = r.Store.ApplyFacts(ctx, store.FactWrite{
		User: user, Scope: state.Scope, Base: state.Revision, Time: r.Now(),
		Forget: []store.ForgetFact{{FactID: id, Keys: extract.Wordings(revisions)}},
	})
	return err == nil, err
}
