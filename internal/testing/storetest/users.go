package storetest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testUsers(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("Tenants must return all tenants that have users, byte by byte", func(t *testing.T) {
		s := open(t)
		for _, tenant := range []string{"b", "ä", "a", "B", "a"} {
			mustUpdateUser(t, s, store.UserUpdate{Ref: memory.UserRef{Tenant: tenant, UserID: "u" + tenant}, Time: noon})
		}
		got, err := s.Tenants(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, got, []string{"B", "a", "b", "ä"})
	})
	t.Run("User must return the user as of the last acknowledged write", func(t *testing.T) {
		s := open(t)
		mustAppend(t, s, turn(alice.Session("s"), chat("a", 1)...))
		got := mustUser(t, s, alice)
		if got.ETag == "" {
			t.Error("the user has no etag")
		}
		scope := mustSession(t, s, alice.Session("s")).ScopeKey
		want := memory.User{
			Ref: alice, Scope: scope, HashKey: memory.HashKey(scope), Extract: memory.ExtractAllow,
			CreateTime: noon, UpdateTime: noon, ETag: got.ETag,
		}
		wantEqual(t, got, want)
		want = mustUpdateUser(t, s, store.UserUpdate{Ref: alice, Language: ptr("ko"), Time: minute(1)})
		wantEqual(t, mustUser(t, s, alice), want)
	})
	t.Run("User of an unknown user is USER_NOT_FOUND", func(t *testing.T) {
		_, err := open(t).User(t.Context(), alice)
		wantReason(t, err, memory.ReasonUserNotFound)
	})
	t.Run("ListUsers must return the tenant's users by user id, byte by byte", func(t *testing.T) { testListUsers(t, open(t)) })
	t.Run("UpdateUser must change only what the update sets", func(t *testing.T) { testUpdateUser(t, open(t)) })
	t.Run("an UpdateUser that is refused must not create the user", func(t *testing.T) {
		s := open(t)
		_, err := s.UpdateUser(t.Context(), store.UserUpdate{Ref: alice, StatePatch: json.RawMessage(`{"a":`), Time: noon})
		if err == nil {
			t.Fatal("a broken patch was taken")
		}
		_, err = s.User(t.Context(), alice)
		wantReason(t, err, memory.ReasonUserNotFound)
	})
	t.Run("UpdateUser must raise the revision once, however much it changes", func(t *testing.T) {
		s := open(t)
		revision := func(u memory.User) string { return u.ETag[strings.LastIndex(u.ETag, "-")+1:] }
		mustUpdateUser(t, s, store.UserUpdate{Ref: alice, Time: noon})
		mustUpdateUser(t, s, store.UserUpdate{Ref: bob, Time: noon})
		both := mustUpdateUser(t, s, store.UserUpdate{Ref: alice, Language: ptr("ko"), StatePatch: json.RawMessage(`{"a":1}`), Time: minute(1)})
		one := mustUpdateUser(t, s, store.UserUpdate{Ref: bob, Language: ptr("ko"), Time: minute(1)})
		wantEqual(t, revision(both), revision(one))
	})
	t.Run("UpdateUser must refuse a stale ETag with ETAG_MISMATCH", func(t *testing.T) {
		s := open(t)
		first := mustUpdateUser(t, s, store.UserUpdate{Ref: alice, Time: noon})
		mustAppend(t, s, turn(alice.Session("s"), chat("a", 1)...))
		wantEqual(t, mustUser(t, s, alice).ETag, first.ETag) // a turn changes neither timezone, language nor extract
		second := mustUpdateUser(t, s, store.UserUpdate{Ref: alice, Timezone: ptr("Asia/Seoul"), ETag: first.ETag, Time: minute(1)})
		_, err := s.UpdateUser(t.Context(), store.UserUpdate{Ref: alice, Timezone: ptr("UTC"), ETag: first.ETag, Time: minute(2)})
		wantReason(t, err, memory.ReasonETagMismatch)
		wantEqual(t, mustUser(t, s, alice), second)
	})
	t.Run("UpdateUser must merge StatePatch by memory.MergeState, with the count of the state's changes as its revision", func(t *testing.T) {
		testUserState(t, open(t))
	})
	t.Run("ListUsers must leave out State", func(t *testing.T) {
		s := open(t)
		want := mustUpdateUser(t, s, store.UserUpdate{Ref: alice, StatePatch: json.RawMessage(`{"plan":"pro"}`), Time: noon})
		page, err := s.ListUsers(t.Context(), store.UserQuery{Tenant: alice.Tenant, Limit: 9})
		if err != nil {
			t.Fatal(err)
		}
		want.State = nil
		wantEqual(t, page, []memory.User{want})
	})
	t.Run("UpdateUser must create a user that does not exist when the update has no ETag", func(t *testing.T) {
		s := open(t)
		_, err := s.UpdateUser(t.Context(), store.UserUpdate{Ref: alice, Language: ptr("ko"), ETag: "x", Time: noon})
		wantReason(t, err, memory.ReasonUserNotFound)
		made := mustUpdateUser(t, s, store.UserUpdate{Ref: alice, Language: ptr("ko"), Time: noon})
		wantEqual(t, []any{made.Language, made.CreateTime, made.UpdateTime}, []any{"ko", noon, noon})
		mustAppend(t, s, turn(alice.Session("s"), chat("a", 1)...))
		wantEqual(t, mustSession(t, s, alice.Session("s")).ScopeKey, made.Scope)
	})
}

func testListUsers(t *testing.T, s store.PrimaryStore) {
	for _, id := range []string{"b", "a", "Z", "한", "a\u0300", "aa", "é"} {
		mustUpdateUser(t, s, store.UserUpdate{Ref: memory.UserRef{Tenant: "acme", UserID: id}, Time: noon})
		mustUpdateUser(t, s, store.UserUpdate{Ref: memory.UserRef{Tenant: "acme2", UserID: id + "x"}, Time: noon})
	}
	var got []string
	q := store.UserQuery{Tenant: "acme", Limit: 3}
	for range 4 {
		page, err := s.ListUsers(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range page {
			wantEqual(t, u, mustUser(t, s, u.Ref))
			got = append(got, u.Ref.UserID)
			q.After = u.Ref.UserID
		}
	}
	wantEqual(t, got, []string{"Z", "a", "aa", "a\u0300", "b", "é", "한"})
}

func testUpdateUser(t *testing.T, s store.PrimaryStore) {
	want := mustUpdateUser(t, s, store.UserUpdate{Ref: alice, Time: noon})
	steps := []struct {
		u      store.UserUpdate
		change func()
	}{
		{store.UserUpdate{Timezone: ptr("Asia/Seoul")}, func() { want.Timezone = "Asia/Seoul" }},
		{store.UserUpdate{Language: ptr("ko")}, func() { want.Language = "ko" }},
		{store.UserUpdate{Extract: ptr(memory.ExtractNone)}, func() { want.Extract, want.FactRevision = memory.ExtractNone, 1 }},
		{store.UserUpdate{Timezone: ptr("")}, func() { want.Timezone = "" }},
	}
	for i, step := range steps {
		step.u.Ref, step.u.Time, step.u.ETag = alice, minute(i+1), want.ETag
		got := mustUpdateUser(t, s, step.u)
		if got.ETag == want.ETag {
			t.Errorf("step %d left the etag as it was", i)
		}
		step.change()
		want.ETag, want.UpdateTime = got.ETag, minute(i+1)
		wantEqual(t, got, want)
		wantEqual(t, mustUser(t, s, alice), want)
	}
}

func testUserState(t *testing.T, s store.PrimaryStore) {
	patch := func(p string, m int) memory.User {
		return mustUpdateUser(t, s, store.UserUpdate{Ref: alice, StatePatch: json.RawMessage(p), Time: minute(m)})
	}
	first := patch(`{"plan":"pro","notes":{"tone":"formal"}}`, 1)
	wantEqual(t, string(first.State), `{"notes":{"tone":{"value":"formal","revision":1,"time":"2026-03-01T12:01:00.123456Z"}},"plan":"pro"}`)
	wantEqual(t, first.StateRevision, int64(1))
	second := patch(`{"plan":null,"notes/diet":"vegan"}`, 2)
	wantEqual(
		t,
		string(second.State),
		`{"notes":{"diet":{"value":"vegan","revision":2,"time":"2026-03-01T12:02:00.123456Z"},"tone":{"value":"formal","revision":1,"time":"2026-03-01T12:01:00.123456Z"}}}`,
	)
	wantEqual(t, []any{second.StateRevision, second.UpdateTime, second.ETag == first.ETag}, []any{int64(2), minute(2), false})
	wantEqual(t, mustUser(t, s, alice), second)
	wantEqual(t, patch(`{"notes/diet":"vegan"}`, 3), second) // what changes nothing does not count
	mustAppend(t, s, turn(alice.Session("s"), chat("a", 1)...))
	wantEqual(t, mustUser(t, s, alice), second)
	_, err := s.UpdateUser(
		t.Context(),
		store.UserUpdate{Ref: alice, Timezone: ptr("Asia/Seoul"), StatePatch: json.RawMessage(`{"a":1}`), ETag: first.ETag, Time: minute(4)},
	)
	wantReason(t, err, memory.ReasonETagMismatch)
	big := json.RawMessage(`{"big":"` + strings.Repeat("x", memory.MaxStateBytes) + `"}`)
	_, err = s.UpdateUser(t.Context(), store.UserUpdate{Ref: alice, Timezone: ptr("Asia/Seoul"), StatePatch: big, Time: minute(4)})
	wantReason(t, err, memory.ReasonFieldInvalid)
	wantEqual(t, mustUser(t, s, alice), second)
	last := patch(`{"notes":{"diet":null,"tone":null}}`, 5)
	wantEqual(t, []any{string(last.State), last.StateRevision}, []any{"", int64(3)})
}

func mustUser(t *testing.T, s store.Users, ref memory.UserRef) memory.User {
	t.Helper()
	user, err := s.User(t.Context(), ref)
	if err != nil {
		t.Fatalf("User: %v", err)
	}
	return user
}

func mustUpdateUser(t *testing.T, s store.Users, u store.UserUpdate) memory.User {
	t.Helper()
	user, err := s.UpdateUser(t.Context(), u)
	if err != nil {
		t.Fatalf("UpdateUser: %v", err)
	}
	return user
}
