package storetest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testSessions(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("Session must return the head as of the last acknowledged Append", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		for n := range 20 {
			p := turn(ref, chat(fmt.Sprint(n), 2)...)
			p.Time = minute(n)
			res := mustAppend(t, s, p)
			head := mustSession(t, s, ref)
			wantEqual(t, []any{head.LastSeq, head.LastTurnNo, head.UpdateTime}, []any{res.LastSeq, res.TurnNo, minute(n)})
		}
	})
	t.Run(
		"ListSessions must return the one last spoken in first and those without messages last, equal times by session id, without State",
		func(t *testing.T) {
			testListSessions(t, open(t))
		},
	)
	t.Run("an unknown user has no sessions: that is not an error", func(t *testing.T) {
		got, err := open(t).ListSessions(t.Context(), store.SessionQuery{User: alice, Limit: 10})
		if err != nil || len(got) > 0 {
			t.Errorf("got %v, error %v", got, err)
		}
	})
	t.Run("UpdateSession must change only what the update sets", func(t *testing.T) { testUpdateSession(t, open(t)) })
	t.Run("UpdateSession must refuse a stale ETag with ETAG_MISMATCH", func(t *testing.T) { testETag(t, open(t)) })
	t.Run("UpdateSession of an unknown user or session is an error", func(t *testing.T) {
		s := open(t)
		mustAppend(t, s, turn(alice.Session("s"), chat("a", 1)...))
		_, err := s.UpdateSession(t.Context(), store.SessionUpdate{Ref: alice.Session("none"), Title: ptr("x"), Time: noon})
		wantReason(t, err, memory.ReasonSessionNotFound)
		_, err = s.UpdateSession(t.Context(), store.SessionUpdate{Ref: bob.Session("s"), Title: ptr("x"), Time: noon})
		wantReason(t, err, memory.ReasonUserNotFound)
		_, err = s.Session(t.Context(), bob.Session("s"))
		wantReason(t, err, memory.ReasonUserNotFound)
	})
}

func testListSessions(t *testing.T, s store.PrimaryStore) {
	for i, id := range []string{"d", "b", "a", "c", "e"} {
		p := turn(alice.Session(id), chat("m", 1)...)
		p.StatePatch = json.RawMessage(`{"a":1}`)
		p.Time = minute(i / 2) // d and b, a and c share a time
		p.Messages[0].CreateTime = p.Time
		mustAppend(t, s, p)
	}
	imported := turn(alice.Session("imported"), chat("m", 2)...)
	imported.Time = minute(9)
	imported.Messages[0].CreateTime, imported.Messages[1].CreateTime = noon.AddDate(0, -3, 0), noon.AddDate(0, -3, -1)
	mustAppend(t, s, imported)
	ahead := turn(alice.Session("ahead"), chat("m", 1)...)
	ahead.Time = minute(3)
	ahead.Messages[0].CreateTime = noon.AddDate(1, 0, 0)
	mustAppend(t, s, ahead)
	mustAppend(t, s, store.AppendParams{Ref: alice.Session("silent"), StatePatch: json.RawMessage(`{"a":1}`), Time: minute(9)})
	mustAppend(t, s, store.AppendParams{Ref: alice.Session("e"), StatePatch: json.RawMessage(`{"a":2}`), Time: minute(8)})
	mustAppend(t, s, turn(bob.Session("z"), chat("m", 1)...))
	var got []string
	q := store.SessionQuery{User: alice, Limit: 2}
	for range 5 {
		page, err := s.ListSessions(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, head := range page {
			got = append(got, head.Ref.SessionID)
			if head.State != nil {
				t.Errorf("session %s was listed with its state", head.Ref.SessionID)
			}
			q.After = &store.SessionCursor{Time: head.LastMessageTime, SessionID: head.Ref.SessionID}
		}
	}
	wantEqual(t, got, []string{"ahead", "e", "a", "c", "b", "d", "imported", "silent"})
	for id, at := range map[string]time.Time{"ahead": minute(4), "e": minute(2), "imported": noon.AddDate(0, -3, 0), "silent": {}} {
		wantEqual(t, mustSession(t, s, alice.Session(id)).LastMessageTime, at)
	}
	want := mustSession(t, s, alice.Session("ahead"))
	want.State = nil
	page, err := s.ListSessions(t.Context(), store.SessionQuery{User: alice, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, page, []memory.Session{want})
}

func testUpdateSession(t *testing.T, s store.PrimaryStore) {
	ref := alice.Session("s")
	p := turn(ref, chat("a", 1)...)
	p.Profile, p.StatePatch = "old", json.RawMessage(`{"a":1}`)
	mustAppend(t, s, p)
	want := mustSession(t, s, ref)
	steps := []struct {
		u      store.SessionUpdate
		change func()
	}{
		{store.SessionUpdate{Title: ptr("It's; a title")}, func() { want.Title = "It's; a title" }},
		{store.SessionUpdate{Metadata: ptr(json.RawMessage(`{"k":1}`))}, func() { want.Metadata = json.RawMessage(`{"k":1}`) }},
		{store.SessionUpdate{Profile: ptr("new")}, func() { want.Profile = "new" }},
		{store.SessionUpdate{Extract: ptr(memory.ExtractNone)}, func() { want.Extract = memory.ExtractNone }},
		{store.SessionUpdate{ContextStart: ptr(int64(1))}, func() { want.ContextStart = 1 }},
		{store.SessionUpdate{Metadata: new(json.RawMessage)}, func() { want.Metadata = nil }},
		{store.SessionUpdate{ContextStart: new(int64)}, func() { want.ContextStart = 0 }},
		{store.SessionUpdate{Title: ptr("")}, func() { want.Title = "" }},
	}
	for i, step := range steps {
		step.u.Ref, step.u.Time, step.u.ETag = ref, minute(i+1), want.ETag
		got, err := s.UpdateSession(t.Context(), step.u)
		if err != nil {
			t.Fatal(err)
		}
		if got.ETag == want.ETag {
			t.Errorf("step %d left the etag as it was", i)
		}
		step.change()
		want.ETag, want.UpdateTime = got.ETag, minute(i+1)
		wantEqual(t, got, want)
		wantEqual(t, mustSession(t, s, ref), want)
	}
}

func testETag(t *testing.T, s store.PrimaryStore) {
	ref := alice.Session("s")
	mustAppend(t, s, turn(ref, chat("a", 1)...))
	first := mustSession(t, s, ref)
	mustAppend(t, s, turn(ref, chat("b", 1)...))
	wantEqual(t, mustSession(t, s, ref).ETag, first.ETag) // a turn changes neither title, metadata, profile, extract nor context start
	second, err := s.UpdateSession(t.Context(), store.SessionUpdate{Ref: ref, Title: ptr("one"), ETag: first.ETag, Time: noon})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.UpdateSession(t.Context(), store.SessionUpdate{Ref: ref, Title: ptr("two"), ETag: first.ETag, Time: noon})
	wantReason(t, err, memory.ReasonETagMismatch)
	wantEqual(t, mustSession(t, s, ref), second)
}
