package viewfeed

import (
	"context"
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// VerifyStore is the part of the primary store that views are compared with.
type VerifyStore interface {
	store.ChangeFeed
	RowStore
	Tenants(ctx context.Context) ([]string, error)
	ListUsers(ctx context.Context, q store.UserQuery) ([]memory.User, error)
	ListSessions(ctx context.Context, q store.SessionQuery) ([]memory.Session, error)
	MessagesAt(ctx context.Context, q store.PlacesQuery) ([]memory.PlacedMessage, error)
}

// rowKey is what a row is about: a fact or a message.
type rowKey struct {
	fact  string
	place memory.Place
}

func keyOfRow(r store.RowState) rowKey { return rowKey{r.FactID, r.Place} }

// expectation is what a view must hold of a user.
type expectation struct {
	rows map[rowKey]int64 // the revision of what was put into the view
	// late holds what was not put yet: the view may hold it already, or in an older form, and either is right.
	late    map[rowKey]bool
	fed     map[memory.SessionKey]int64 // of transcripts: later messages are late
	pending int64                       // facts or messages that were not put yet
}

func newExpectation() expectation {
	return expectation{rows: map[rowKey]int64{}, late: map[rowKey]bool{}, fed: map[memory.SessionKey]int64{}}
}

func (e expectation) isLate(k rowKey) bool {
	fed, known := e.fed[k.place.Session]
	return e.late[k] || known && k.place.Seq > fed
}

// differences returns the rows of which view and primary store have different revisions, in no order.
func (e expectation) differences(held map[rowKey]int64) []rowKey {
	var out []rowKey
	for k, revision := range e.rows {
		if got, ok := held[k]; !ok || got != revision {
			out = append(out, k)
		}
	}
	for k := range held {
		if _, ok := e.rows[k]; !ok && !e.isLate(k) {
			out = append(out, k)
		}
	}
	return out
}

// fedIn is the checkpoint of the feed in the space: none where it was put into another, as when it was
// rebuilt since the space was looked up.
func fedIn(at space, feed store.Feed) store.FeedPosition {
	if feed.Checkpoint.Build != at.build || feed.Checkpoint.Version != at.version {
		return store.FeedPosition{}
	}
	return feed.Checkpoint.FeedPosition
}

// expectFacts takes up facts: late are those that changed since the checkpoint, and those that waits says.
func expectFacts(facts store.FactState, fed store.FeedPosition, has, waits func(memory.Fact) bool) expectation {
	e := newExpectation()
	for _, f := range facts.Facts {
		k := rowKey{fact: f.ID}
		switch {
		case f.Change > fed.Revision || waits(f):
			e.late[k] = true
			e.pending++
		case has(f):
			e.rows[k] = f.Revision
		}
	}
	for _, f := range facts.Forgotten {
		if f.Change > fed.Revision {
			e.late[rowKey{fact: f.FactID}] = true
		}
	}
	return e
}

func (factVectorSource) expected(ctx context.Context, s VerifyStore, at space, user memory.User) (expectation, error) {
	feed, err := s.Feed(ctx, memory.ViewVectors, user.Ref.Session(""))
	if err != nil {
		return expectation{}, fmt.Errorf("read how far the view was fed: %w", err)
	}
	// Vectors before facts: one whose fact is forgotten between the two is then known as late.
	vectors, err := s.FactVectors(ctx, store.FactVectorQuery{User: user.Ref, Version: at.version})
	if err != nil {
		return expectation{}, fmt.Errorf("read all fact vectors: %w", err)
	}
	facts, err := s.FactsSince(ctx, user.Ref, 0)
	if err != nil {
		return expectation{}, fmt.Errorf("read all facts: %w", err)
	}
	fed := fedIn(at, feed)
	byID := vectorsByID(vectors)
	has := func(f memory.Fact) bool { _, ok := byID[f.ID]; return ok }
	return expectFacts(facts, fed, has, func(f memory.Fact) bool { return byID[f.ID].No > fed.No }), nil
}

func (v factVectorSource) load(ctx context.Context, s VerifyStore, at space, user memory.User, keys []rowKey) ([]row, error) {
	facts, vectors, err := v.all(ctx, s, at, user.Ref)
	if err != nil {
		return nil, err
	}
	asked := isAmong(keys)
	return v.fill(piece{}, facts, vectors, func(id string) bool { return asked(rowKey{fact: id}) }).rows, nil
}

func isAmong(keys []rowKey) func(rowKey) bool {
	asked := make(map[rowKey]bool, len(keys))
	for _, k := range keys {
		asked[k] = true
	}
	return func(k rowKey) bool { return asked[k] }
}

func (factSource) expected(ctx context.Context, s VerifyStore, at space, user memory.User) (expectation, error) {
	feed, err := s.Feed(ctx, memory.ViewFacts, user.Ref.Session(""))
	if err != nil {
		return expectation{}, fmt.Errorf("read how far the view was fed: %w", err)
	}
	facts, err := s.FactsSince(ctx, user.Ref, 0)
	if err != nil {
		return expectation{}, fmt.Errorf("read all facts: %w", err)
	}
	has := func(memory.Fact) bool { return true }
	waits := func(memory.Fact) bool { return false }
	return expectFacts(facts, fedIn(at, feed), has, waits), nil
}

func (factSource) load(ctx context.Context, s VerifyStore, _ space, user memory.User, keys []rowKey) ([]row, error) {
	facts, err := s.FactsSince(ctx, user.Ref, 0)
	if err != nil {
		return nil, fmt.Errorf("read all facts: %w", err)
	}
	asked := isAmong(keys)
	var out []row
	for _, f := range facts.Facts {
		if asked(rowKey{fact: f.ID}) {
			out = append(out, factRow(facts.Scope, user.Ref, f))
		}
	}
	return out, nil
}

// expected lists the user's sessions. One that is written to meanwhile may slip between two pages: its rows are looked up
// in the primary store before they count as wrong.
func (t transcriptSource) expected(ctx context.Context, s VerifyStore, at space, user memory.User) (expectation, error) {
	e := newExpectation()
	for session, err := range store.AllSessions(ctx, s.ListSessions, user.Ref) {
		if err != nil {
			return expectation{}, err
		}
		if err := t.expectSession(ctx, s, at, &e, session.Ref); err != nil && !memory.IsGone(err) {
			return expectation{}, err
		}
	}
	return e, nil
}

func (transcriptSource) expectSession(ctx context.Context, s VerifyStore, at space, e *expectation, ref memory.SessionRef) error {
	feed, err := s.Feed(ctx, memory.ViewTranscript, ref)
	if err != nil {
		return fmt.Errorf("read how far the view was fed: %w", err)
	}
	fed := fedIn(at, feed).Seq
	e.fed[feed.Key] = fed
	e.pending += max(0, feed.Head.Seq-fed)
	q := store.MessageQuery{Ref: ref, Before: fed + 1, Limit: pieceMessages, MaxBytes: pieceBytes}
	for q.After < fed {
		messages, err := s.Messages(ctx, q)
		if err != nil {
			return fmt.Errorf("read messages: %w", err)
		}
		for _, m := range messages {
			if m.Recallable() {
				e.rows[rowKey{place: memory.Place{Session: feed.Key, Seq: m.Seq}}] = messageRevision
			}
			q.After = m.Seq
		}
		if len(messages) == 0 {
			return nil
		}
	}
	return nil
}

// loadMessages is how many messages are read at once by their places.
const loadMessages = 100

func (transcriptSource) load(ctx context.Context, s VerifyStore, _ space, user memory.User, keys []rowKey) ([]row, error) {
	places := make([]memory.Place, len(keys))
	for i, k := range keys {
		places[i] = k.place
	}
	var out []row
	for chunk := range slices.Chunk(places, loadMessages) {
		messages, err := s.MessagesAt(ctx, store.PlacesQuery{User: user.Ref, Places: chunk})
		if err != nil {
			return nil, fmt.Errorf("read messages by their places: %w", err)
		}
		for _, m := range messages {
			if m.Message.Recallable() {
				out = append(out, messageRow(user.Scope, user.Ref.Session(m.SessionID), m.Session, m.Message))
			}
		}
	}
	return out, nil
}
