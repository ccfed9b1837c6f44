package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testIsolation(t *testing.T, open Open[store.Truth]) {
	t.Run("no method returns anything of another user or tenant, however alike their ids", func(t *testing.T) {
		s := open(t)
		users := twins()
		for _, u := range users {
			mustAppend(t, s, request("r", "b", turn(u.Session("s"), canaried(u), calling("call", "c-"+canary(u)))))
			put(t, s, segmentOf(t, s, u))
			mustAppend(t, s, turn(u.Session("s"), say("later", memory.RoleUser, canary(u))))
		}
		for _, u := range users {
			if heard := everythingOf(t, s, u, users); strings.Count(heard, "canary-") == 0 {
				t.Errorf("%q finds nothing of its own", u)
			} else if left := strings.ReplaceAll(heard, canary(u), ""); strings.Contains(left, "canary-") {
				t.Errorf("%q finds another user's words", u)
			}
		}
	})
	t.Run("no two users share a scope key, no two sessions a session key", func(t *testing.T) {
		s, seen := open(t), map[string]bool{}
		for _, u := range twins() {
			mustAppend(t, s, turn(u.Session("s"), chat("a", 1)...))
			head := mustSession(t, s, u.Session("s"))
			for _, k := range []string{string(head.ScopeKey), string(head.Key)} {
				if seen[k] {
					t.Errorf("key %s was given twice", k)
				}
				seen[k] = true
			}
		}
	})
	t.Run("a user cannot change another's session or message", func(t *testing.T) {
		s := open(t)
		mustAppend(t, s, turn(alice.Session("s"), chat("a", 1)...))
		mustAppend(t, s, turn(bob.Session("mine"), chat("b", 1)...))
		before := mustSession(t, s, alice.Session("s"))
		_, err := s.UpdateSession(t.Context(), store.SessionUpdate{Ref: bob.Session("s"), Title: ptr("stolen"), Time: noon})
		wantReason(t, err, memory.ReasonSessionNotFound)
		_, err = s.UpdateMessage(t.Context(), store.MessageUpdate{Ref: bob.Session("mine"), MessageID: "a-1", Pinned: ptr(true)})
		wantReason(t, err, memory.ReasonMessageNotFound)
		w := segmentOf(t, s, alice)
		w.User, w.Scope = bob, mustSession(t, s, bob.Session("mine")).ScopeKey
		_, err = s.PutSegment(t.Context(), w)
		wantReason(t, err, memory.ReasonContention)
		wantEqual(t, len(pending(t, s, alice, 10)), 1)
		wantEqual(t, mustSession(t, s, alice.Session("s")), before)
	})
}

// twins are users whose ids are easily taken for each other, and the same ids in another tenant.
func twins() []memory.UserRef {
	var users []memory.UserRef
	for _, id := range hostile() {
		users = append(users, memory.UserRef{Tenant: "acme", UserID: id}, memory.UserRef{Tenant: "acme2", UserID: id})
	}
	return append(users, memory.UserRef{Tenant: "ac", UserID: "mea"}, memory.UserRef{Tenant: "acmea", UserID: ""})
}

func canary(u memory.UserRef) string {
	return fmt.Sprintf("canary-%x.", memory.IDDigest(u.Tenant+"\x00"+u.UserID))
}

func canaried(u memory.UserRef) store.NewMessage {
	m := say("m", memory.RoleUser, "my secret is "+canary(u))
	m.Original = &memory.Original{Format: "f", Data: []byte(canary(u))}
	return m
}

func segmentOf(t *testing.T, s store.Truth, u memory.UserRef) store.SegmentWrite {
	t.Helper()
	return store.SegmentWrite{
		User: u, Scope: lexicon(t, s, u).Scope, Analyzer: "v1", Messages: 1, Data: []byte(canary(u)), Turns: refs(pending(t, s, u, 100)),
	}
}

// everythingOf calls every reading method as u, asking for the places and segments of all users.
func everythingOf(t *testing.T, s store.Truth, u memory.UserRef, users []memory.UserRef) string {
	t.Helper()
	var places []memory.Place
	var nos []int64
	var calls []string
	for _, other := range users {
		places = append(places, memory.Place{Session: mustSession(t, s, other.Session("s")).Key, Seq: 1})
		nos = append(nos, lexicon(t, s, other).Segments[0].No)
		calls = append(calls, "c-"+canary(other))
	}
	var heard strings.Builder
	hear := func(v any, err error) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&heard, "%s\n", v)
	}
	ctx := t.Context()
	hear(s.Session(ctx, u.Session("s")))
	hear(s.ListSessions(ctx, store.SessionQuery{User: u, Limit: 1000}))
	hear(s.Messages(ctx, store.MessageQuery{Ref: u.Session("s"), Limit: 1000, WithOriginal: true}))
	hear(s.MessagesAt(ctx, store.PlacesQuery{User: u, Places: places}))
	hear(s.KnownToolCalls(ctx, u.Session("s"), calls))
	hear(s.Lexicon(ctx, store.LexiconQuery{User: u, SessionID: "s", MaxUnindexed: 1000}))
	hear(s.Segments(ctx, u, nos))
	hear(s.PendingTurns(ctx, store.PendingQuery{User: u, MaxMessages: 1000}))
	return heard.String()
}
