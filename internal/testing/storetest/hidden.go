package storetest

import (
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testHidden(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run(
		"Hidden must return which of the user's messages stand in no context, as of the last acknowledged UpdateSession, UpdateMessage and Append",
		func(t *testing.T) {
			testHiding(t, open(t))
		},
	)
	t.Run("an unknown user hides none: that is not an error", func(t *testing.T) {
		s := open(t)
		mustAppend(t, s, turn(alice.Session("s"), chat("a", 1)...))
		wantEqual(t, hidden(t, s, bob), memory.Hidden{})
	})
	t.Run("a hidden message is read as before, and says that it is hidden", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		mustAppend(t, s, turn(ref, message(everything()), chat("a", 1)[0]))
		want := all(t, s, ref)
		got := mustHide(t, s, ref, everything().ID, true)
		want[0].Hidden = true
		wantEqual(t, got, want[0])
		wantEqual(t, all(t, s, ref), want)
		mustHide(t, s, ref, everything().ID, false)
		want[0].Hidden = false
		wantEqual(t, all(t, s, ref), want)
	})
	t.Run("a message that is recorded again stays hidden", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		mustAppend(t, s, turn(ref, chat("a", 2)...))
		mustHide(t, s, ref, "a-1", true)
		mustAppend(t, s, turn(ref, chat("a", 2)...))
		wantEqual(t, all(t, s, ref)[0].Hidden, true)
	})
	t.Run("MessagesAt must say of each where its session's contexts start", func(t *testing.T) { testStartsOfPlaces(t, open(t)) })
	t.Run("hidden messages must count neither to MaxTokens nor to MinMessages", func(t *testing.T) { testUncountedHidden(t, open(t)) })
	t.Run("what a user hides must be nobody else's", func(t *testing.T) {
		s := open(t)
		for _, u := range []memory.UserRef{alice, bob, {Tenant: "other", UserID: "alice"}} {
			mustAppend(t, s, turn(u.Session("s"), chat("a", 3)...))
		}
		mustHide(t, s, alice.Session("s"), "a-2", true)
		mustStart(t, s, alice.Session("s"), 2)
		for _, u := range []memory.UserRef{bob, {Tenant: "other", UserID: "alice"}} {
			wantEqual(t, hidden(t, s, u), memory.Hidden{})
			wantEqual(t, mustSession(t, s, u.Session("s")).ContextStart, int64(0))
		}
	})
}

func testHiding(t *testing.T, s store.PrimaryStore) {
	one, two := alice.Session("s"), alice.Session("t")
	unseen := say("b-3", memory.RoleUser, "not for the model")
	unseen.Hidden = true
	mustAppend(t, s, turn(one, chat("a", 4)...))
	mustAppend(t, s, turn(one, chat("c", 2)...))
	mustAppend(t, s, turn(two, append(chat("b", 2), unseen)...))
	keyOne, keyTwo := mustSession(t, s, one).Key, mustSession(t, s, two).Key
	recorded := map[memory.SessionKey][]int64{keyTwo: {3}}
	wantEqual(t, hidden(t, s, alice), memory.Hidden{Messages: recorded})

	for _, id := range []string{"c-2", "a-2", "a-4", "a-2"} {
		mustHide(t, s, one, id, true)
	}
	mustStart(t, s, two, 3)
	wantEqual(t, hidden(t, s, alice), memory.Hidden{
		Starts: map[memory.SessionKey]int64{keyTwo: 3}, Messages: map[memory.SessionKey][]int64{keyOne: {2, 4, 6}, keyTwo: {3}},
	})

	for _, id := range []string{"a-2", "a-2", "a-3", "a-4", "c-2"} {
		mustHide(t, s, one, id, false)
	}
	mustStart(t, s, two, 0)
	wantEqual(t, hidden(t, s, alice), memory.Hidden{Messages: recorded})
}

func testStartsOfPlaces(t *testing.T, s store.PrimaryStore) {
	mustAppend(t, s, turn(alice.Session("s"), chat("a", 3)...))
	mustAppend(t, s, turn(alice.Session("t"), chat("b", 1)...))
	mustHide(t, s, alice.Session("s"), "a-3", true)
	mustStart(t, s, alice.Session("s"), 2)
	one, two := mustSession(t, s, alice.Session("s")).Key, mustSession(t, s, alice.Session("t")).Key
	found, err := s.MessagesAt(t.Context(), store.PlacesQuery{User: alice, Places: []memory.Place{
		{Session: one, Seq: 1}, {Session: one, Seq: 2}, {Session: one, Seq: 3}, {Session: two, Seq: 1},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var starts []int64
	var unseen []bool
	for _, m := range found {
		starts, unseen = append(starts, m.ContextStart), append(unseen, m.IsHidden())
	}
	wantEqual(t, starts, []int64{2, 2, 2, 0})
	wantEqual(t, unseen, []bool{true, false, true, false})
}

func testUncountedHidden(t *testing.T, s store.PrimaryStore) {
	ref := alice.Session("s")
	mustAppend(t, s, turn(ref, chat("a", 6)...)) // ten tokens each
	mustHide(t, s, ref, "a-5", true)
	mustHide(t, s, ref, "a-4", true)
	for _, q := range []store.MessageQuery{{MaxTokens: 20}, {MaxTokens: 1, MinMessages: 2}} {
		q.Ref, q.NewestFirst, q.Limit = ref, true, 100
		run, err := s.Messages(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range run {
			got = append(got, m.ID)
		}
		wantEqual(t, got, []string{"a-6", "a-5", "a-4", "a-3"})
	}
}

func hidden(t *testing.T, s store.PrimaryStore, user memory.UserRef) memory.Hidden {
	t.Helper()
	out, err := s.Hidden(t.Context(), user)
	if err != nil {
		t.Fatalf("Hidden: %v", err)
	}
	return out
}

func mustHide(t *testing.T, s store.PrimaryStore, ref memory.SessionRef, id string, hide bool) memory.Message {
	t.Helper()
	out, err := s.UpdateMessage(t.Context(), store.MessageUpdate{Ref: ref, MessageID: id, Hidden: &hide})
	if err != nil {
		t.Fatalf("UpdateMessage: %v", err)
	}
	return out
}

func mustStart(t *testing.T, s store.PrimaryStore, ref memory.SessionRef, seq int64) {
	t.Helper()
	head, err := s.UpdateSession(t.Context(), store.SessionUpdate{Ref: ref, ContextStart: &seq, Time: noon})
	if err != nil {
		t.Fatalf("UpdateSession: %v", err)
	}
	wantEqual(t, head.ContextStart, seq)
}
