package viewfeed

import (
	"context"
	"fmt"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// factSource returns the words of facts.
type factSource struct{}

func (factSource) space(_ context.Context, _ RowStore, build int64) (space, bool, error) {
	return space{build: build}, true, nil
}

func (factSource) changes(ctx context.Context, s RowStore, _ space, feed store.Feed) (piece, error) {
	facts, err := s.FactsSince(ctx, feed.User, feed.Checkpoint.Revision)
	if err != nil {
		return piece{}, fmt.Errorf("read facts: %w", err)
	}
	p := piece{feed: feed, removed: forgotten(facts), fed: store.FeedPosition{Revision: facts.Revision}}
	for _, f := range facts.Facts {
		p.rows = append(p.rows, factRow(facts.Scope, feed.User, f))
	}
	return p, nil
}

func factRow(scope memory.ScopeKey, user memory.UserRef, f memory.Fact) row {
	r := row{RowState: store.RowState{Scope: scope, FactID: f.ID, Revision: f.Revision}}
	r.text = store.TextRow{
		Scope: scope, FactID: f.ID, Revision: f.Revision, Category: f.Category, Significance: f.Significance,
		Current: f.IsCurrent(), Time: f.ValidFrom, Terms: terms(f.Words()),
		Content: store.TextContent{User: user, Name: f.Subject, Text: f.Text},
	}
	if f.Pinned {
		r.text.Significance = memory.MaxSignificance // above every least one: see factrank.Query
	}
	return r
}

// transcriptSource returns the words of messages.
type transcriptSource struct{}

// messageRevision is the revision of a message's row: what is said never changes.
const messageRevision = 1

// One piece of a transcript holds so many messages, and so many bytes of them as they are stored: the next session need
// not wait for the end of a long one.
const (
	pieceMessages = 500
	pieceBytes    = 2 << 20
)

func (transcriptSource) space(_ context.Context, _ RowStore, build int64) (space, bool, error) {
	return space{build: build}, true, nil
}

func (transcriptSource) changes(ctx context.Context, s RowStore, _ space, feed store.Feed) (piece, error) {
	messages, err := s.Messages(ctx, store.MessageQuery{
		Ref: feed.Session, After: feed.Checkpoint.Seq, Limit: pieceMessages, MaxBytes: pieceBytes,
	})
	if err != nil {
		return piece{}, fmt.Errorf("read messages: %w", err)
	}
	p := piece{feed: feed, fed: store.FeedPosition{Seq: feed.Checkpoint.Seq}}
	for _, m := range messages {
		p.fed.Seq = m.Seq
		if m.Recallable() {
			p.rows = append(p.rows, messageRow(feed.Scope, feed.Session, feed.Key, m))
		}
	}
	p.more = len(messages) > 0 && p.fed.Seq < feed.Head.Seq
	return p, nil
}

// messageRow takes the words apart by passages, as package segment does, so that both have the same terms of a message. The row is the
// whole message all the same: a view ranks messages, not passages.
func messageRow(scope memory.ScopeKey, ref memory.SessionRef, session memory.SessionKey, m memory.Message) row {
	r := row{RowState: store.RowState{Scope: scope, Place: memory.Place{Session: session, Seq: m.Seq}, Revision: messageRevision}}
	said := m.SaidText()
	r.text = store.TextRow{
		Scope: scope, Place: r.Place, Revision: messageRevision, Role: m.Role, Time: m.SaidTime(), Recorded: m.RecordTime,
		Terms:   termsByPassage(said),
		Content: store.TextContent{User: ref.UserRef, SessionID: ref.SessionID, MessageID: m.ID, Name: m.Name, Text: said},
	}
	return r
}

func termsByPassage(words string) (all []string) {
	for _, p := range text.Passages(words) {
		all = append(all, terms(p.Of(words))...)
	}
	return all
}

// terms leaves out what no view can hold: the search index finds such words all the same.
func terms(words string) []string {
	all := text.Terms(words)
	if store.CheckTerms(all) == nil {
		return all
	}
	kept := all[:0]
	for i, t := range all {
		if store.CheckTerms(all[i:i+1]) == nil {
			kept = append(kept, t)
		}
	}
	return kept
}
