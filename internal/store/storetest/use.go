package storetest

import (
	"encoding/json"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Use calls every method once on a fresh store, so that a driver's test can look at what it did.
func Use(t *testing.T, s store.Truth) {
	t.Helper()
	ref := alice.Session("s")
	p := request("r", "b", turn(ref, message(everything()), chat("a", 1)[0]))
	p.StatePatch = json.RawMessage(`{"a":1}`)
	mustAppend(t, s, p)
	mustAppend(t, s, p)
	mustAppend(t, s, turn(ref, chat("a", 2)...))
	head := mustSession(t, s, ref)
	hear := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	for _, newest := range []bool{false, true} {
		for _, original := range []bool{false, true} {
			hear(s.Messages(ctx, store.MessageQuery{Ref: ref, Limit: 9, NewestFirst: newest, WithOriginal: original}))
		}
	}
	hear(s.MessagesAt(ctx, store.PlacesQuery{User: alice, Places: []memory.Place{{Session: head.Key, Seq: 1}}}))
	hear(s.KnownToolCalls(ctx, ref, []string{"c1"}))
	labels := store.MessageUpdate{Ref: ref, MessageID: "a-1", Tags: &[]string{"x"}, Metadata: ptr(json.RawMessage(`{"a":1}`)), Pinned: ptr(true)}
	hear(s.UpdateMessage(ctx, labels))
	hear(s.ListSessions(ctx, store.SessionQuery{User: alice, Limit: 9}))
	hear(s.ListSessions(ctx, store.SessionQuery{User: alice, Limit: 9, After: &store.SessionCursor{UpdateTime: minute(9)}}))
	hear(s.UpdateSession(ctx, store.SessionUpdate{Ref: ref, Title: ptr("x"), Metadata: ptr(json.RawMessage(`{"a":1}`)), Time: noon}))
	hear(s.PendingUsers(ctx, 9))
	no := put(t, s, segment(t, s, alice, "one"))
	put(t, s, store.SegmentWrite{User: alice, Scope: head.ScopeKey, Analyzer: "v1", Data: []byte("m"), Replaces: []int64{no}})
	hear(s.Segments(ctx, alice, []int64{no}))
	hear(s.Lexicon(ctx, store.LexiconQuery{User: alice, SessionID: "s", MaxUnindexed: 9}))
	hear(s.RetireSegments(ctx, store.RetireQuery{Analyzer: "v2"}))
	hear(s.RetireSegments(ctx, store.RetireQuery{User: &alice}))
	hear(s.Lexicon(ctx, store.LexiconQuery{User: alice, SessionID: "s", MaxUnindexed: 9}))
	hear(nil, s.Check(ctx))
}
