package sessions

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/contexts/contextprofile/sessionguards"
	"github.com/stratamem/strata/internal/learning/work"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/messagereader"
)

// Sessions reads and changes sessions and their messages. Its methods may be called concurrently.
type Sessions struct {
	store    SessionStore
	reads    messagereader.Reader
	profiles contextprofile.Set
	secrets  sessionguards.Masks
	runner   work.Runner
	now      store.Now
}

// SessionStore is what Sessions reads and writes of the primary store.
type SessionStore interface {
	store.Sessions
	messagereader.Store
	UpdateMessage(ctx context.Context, u store.MessageUpdate) (memory.Message, error)
	HiddenReader
}

// MessagePage asks for a page of a session's messages.
type MessagePage struct {
	store.MessageQuery
	VisibleOnly bool // only those that contexts may show
}

// ListedMessages are a page of messages.
type ListedMessages struct {
	Messages []memory.Message
	More     bool   // whether others follow
	ETag     string // of the list where it is of visible ones only: see Replacer
}

// Options are what Sessions needs.
type Options struct {
	Store    SessionStore
	Gate     messagereader.Gate
	Profiles contextprofile.Set
	Runner   work.Runner
	Now      func() time.Time
}

// NewSessions makes Sessions.
func NewSessions(o Options) *Sessions {
	return &Sessions{
		store: o.Store, reads: messagereader.New(o.Store, o.Gate), profiles: o.Profiles,
		secrets: sessionguards.NewMasks(o.Store, o.Profiles), runner: o.Runner, now: o.Now,
	}
}

// Session returns a session.
func (s *Sessions) Session(ctx context.Context, ref memory.SessionRef) (memory.Session, error) {
	out, err := s.store.Session(ctx, ref)
	if err != nil {
		return out, fmt.Errorf("read session: %w", err)
	}
	return out, nil
}

// ListSessions returns a page of a user's sessions; more says whether others follow.
func (s *Sessions) ListSessions(ctx context.Context, q store.SessionQuery) (page []memory.Session, more bool, err error) {
	limit := q.Limit
	q.Limit++
	page, err = s.store.ListSessions(ctx, q)
	if err != nil {
		return nil, false, fmt.Errorf("list sessions: %w", err)
	}
	page, more = store.CutPage(page, limit)
	return page, more, nil
}

// UpdateSession changes a session's head.
func (s *Sessions) UpdateSession(ctx context.Context, u store.SessionUpdate) (memory.Session, error) {
	if u.Profile != nil {
		if err := s.profiles.Known(*u.Profile); err != nil {
			return memory.Session{}, err
		}
	}
	if err := s.checkStart(ctx, u); err != nil {
		return memory.Session{}, err
	}
	if u.Title != nil || u.Metadata != nil {
		mask, err := s.secrets.OfSession(ctx, u.Ref)
		if err != nil {
			return memory.Session{}, err
		}
		if u.Profile != nil {
			mask = s.profiles.SecretsOf(*u.Profile)
		}
		maskHead(&u, mask)
	}
	u.Time = s.now().UTC()
	out, err := s.store.UpdateSession(ctx, u)
	if err != nil {
		return out, fmt.Errorf("update session: %w", err)
	}
	if u.ContextStart != nil {
		s.runner.LookAgain(u.Ref.UserRef, u.Ref.SessionID)
	}
	return out, nil
}

// checkStart refuses a context start that would hide what is not said yet. A session only grows, so that one that may be
// set may still be set by the time it is.
func (s *Sessions) checkStart(ctx context.Context, u store.SessionUpdate) error {
	if u.ContextStart == nil || *u.ContextStart <= 1 {
		return nil
	}
	head, err := s.store.Session(ctx, u.Ref)
	if err != nil {
		return fmt.Errorf("read session: %w", err)
	}
	if *u.ContextStart > head.LastSeq+1 {
		return memory.InvalidField(
			"session.context_start_seq",
			"is %d, but the session's last message is %d: give at most %d, which hides all of them",
			*u.ContextStart,
			head.LastSeq,
			head.LastSeq+1,
		)
	}
	return nil
}

// Messages returns a page of a session's messages without those that were erased.
func (s *Sessions) Messages(ctx context.Context, q MessagePage) (page ListedMessages, err error) {
	session, err := s.store.Session(ctx, q.Ref)
	if err != nil {
		return page, fmt.Errorf("read session: %w", err)
	}
	follow := func(seq int64) bool { return follows(q.MessageQuery, seq, session.LastSeq) }
	if q.VisibleOnly {
		hidden, err := hiddenOf(ctx, s.store, session)
		if err != nil {
			return page, err
		}
		page.ETag = listETag(session, session.LastSeq, hidden)
		q.After, q.Before = max(q.After, session.ContextStart-1), min(cmp.Or(q.Before, session.LastSeq+1), session.LastSeq+1)
		follow = func(seq int64) bool {
			rest := memory.SeqRange{From: seq + 1, To: q.Before - 1}
			if q.NewestFirst {
				rest = memory.SeqRange{From: q.After + 1, To: seq - 1}
			}
			return len(rest.Without(hidden)) > 0
		}
	}
	page.Messages, page.More, err = s.page(ctx, q, follow)
	return page, err
}

// page reads until a page is full or nothing follows.
func (s *Sessions) page(ctx context.Context, q MessagePage, follow func(seq int64) bool) (page []memory.Message, more bool, err error) {
	limit := q.Limit
	for {
		read, err := s.reads.Messages(ctx, q.MessageQuery)
		if err != nil {
			return nil, false, fmt.Errorf("read messages: %w", err)
		}
		if len(read) == 0 {
			return page, false, nil
		}
		for _, m := range read {
			if m.Deleted || q.VisibleOnly && m.Hidden {
				continue
			}
			if page = append(page, m); len(page) == limit {
				return page, follow(m.Seq), nil
			}
		}
		last := read[len(read)-1].Seq
		switch {
		case !follow(last):
			return page, false, nil
		case len(page) > 0 && len(read) < q.Limit: // it is as large as a reply may be
			return page, true, nil
		}
		if q.NewestFirst {
			q.Before = last
		} else {
			q.After = last
		}
		q.Limit = max(limit-len(page), messagereader.LeastPage)
	}
}

// follows reports whether a session has a message behind the one with the seq in the order of a query: seqs have no gaps.
func follows(q store.MessageQuery, seq, last int64) bool {
	if q.NewestFirst {
		return seq > 1
	}
	return seq < last
}

// UpdateMessage changes a message's labels.
func (s *Sessions) UpdateMessage(ctx context.Context, u store.MessageUpdate) (memory.Message, error) {
	if u.Tags != nil || u.Metadata != nil {
		mask, err := s.secrets.OfSession(ctx, u.Ref)
		if err != nil {
			return memory.Message{}, err
		}
		maskLabels(&u, mask)
	}
	u.Time = s.now.Stored()
	out, err := s.store.UpdateMessage(ctx, u)
	if err != nil {
		return out, fmt.Errorf("update message: %w", err)
	}
	if u.Hidden != nil {
		s.runner.LookAgain(u.Ref.UserRef, u.Ref.SessionID)
	}
	return out, nil
}
