package mongostore_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/backendlatency"
	"github.com/stratamem/strata/internal/store"
)

// sideBySide holds each command back until so many have begun.
type sideBySide struct {
	ctx     context.Context
	missing atomic.Int64
	all     chan struct{}
}

func (s *sideBySide) IdleBegins() {
	if s.missing.Add(-1) == 0 {
		close(s.all)
	}
	select {
	case <-s.all:
	case <-s.ctx.Done():
	}
}

func (s *sideBySide) IdleEnds() {}

func TestASessionIsReadBesideItsUserWhoWasFoundBefore(t *testing.T) {
	s := open(t, database(t))
	mustAppend(t, s, say(alice.Session("s"), "1"))
	if _, _, err := s.SessionHead(t.Context(), alice.Session("s")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reads := &sideBySide{ctx: ctx, all: make(chan struct{})}
	reads.missing.Store(2)
	session, user, err := s.SessionHead(backendlatency.Notify(store.OneRequest(ctx), reads), alice.Session("s"))
	if err != nil || session.Ref != alice.Session("s") || user.Ref != alice || reads.missing.Load() != 0 {
		t.Errorf("session %v of %v, error %v, while %d commands had not begun", session.Ref, user.Ref, err, reads.missing.Load())
	}
}

func TestASessionOfAUsersLastLifeIsNotReadInTheNext(t *testing.T) {
	name, ref := database(t), alice.Session("s")
	a, b := open(t, name), open(t, name)
	mustAppend(t, a, say(ref, "1"))
	if _, _, err := a.SessionHead(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	sessions := client(t).Database(name).Collection("conversations")
	left := document(t, sessions)
	mustErase(t, b, erasing(memory.EraseUser, "e"))
	head := func() (memory.Session, memory.User, error) { return a.SessionHead(store.OneRequest(t.Context()), ref) }
	if _, _, err := head(); memory.ReasonOf(err) != memory.ReasonUserNotFound {
		t.Errorf("after the erasure: error %v, want %s", err, memory.ReasonUserNotFound)
	}
	mustAppend(t, b, say(alice.Session("other"), "2"))
	if _, err := sessions.InsertOne(t.Context(), left); err != nil { // it came late, and is not swept yet
		t.Fatal(err)
	}
	if _, _, err := head(); memory.ReasonOf(err) != memory.ReasonSessionNotFound {
		t.Errorf("in the next life, without the session: error %v, want %s", err, memory.ReasonSessionNotFound)
	}
	mustAppend(t, b, say(ref, "3"))
	session, user, err := head()
	if want := mustSession(t, b, ref); err != nil || session.Key != want.Key || session.ScopeKey != user.Scope {
		t.Errorf("in the next life: session %s in %s of a user in %s, error %v, want session %s",
			session.Key, session.ScopeKey, user.Scope, err, want.Key)
	}
}
