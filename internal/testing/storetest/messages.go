package storetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testMessages(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("originals come only when asked for", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		m := message(everything())
		mustAppend(t, s, turn(ref, m))
		if got := all(t, s, ref)[0]; got.Original != nil {
			t.Errorf("an original came unasked: %v", got.Original)
		}
	})
	t.Run("KnownToolCalls must return those of the call ids that some message of the session makes", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		mustAppend(t, s, turn(ref, message(everything())))
		mustAppend(t, s, turn(alice.Session("t"), calling("m", "c9")))
		known, err := s.KnownToolCalls(t.Context(), ref, []string{"c0", "c1", "c9", "C1"})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, known, []string{"c1"})
	})
	t.Run("an unknown user or session knows no tool call: that is not an error", func(t *testing.T) {
		s := open(t)
		mustAppend(t, s, turn(alice.Session("s"), calling("m", "c1")))
		for _, ref := range []memory.SessionRef{bob.Session("s"), alice.Session("none")} {
			known, err := s.KnownToolCalls(t.Context(), ref, []string{"c1"})
			if err != nil || len(known) > 0 {
				t.Errorf("%v knows %v, error %v", ref, known, err)
			}
		}
	})
	t.Run("KnownMessages must return those of the message ids that the session holds", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		mustAppend(t, s, turn(ref, chat("a", 2)...))
		mustAppend(t, s, turn(alice.Session("t"), chat("b", 1)...))
		known, err := s.KnownMessages(t.Context(), ref, []string{"a-2", "b-1", "A-1", "a-2"})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, known, []string{"a-2"})
	})
	t.Run("an unknown user or session holds no message: that is not an error", func(t *testing.T) {
		s := open(t)
		mustAppend(t, s, turn(alice.Session("s"), chat("a", 1)...))
		for _, ref := range []memory.SessionRef{bob.Session("s"), alice.Session("none")} {
			known, err := s.KnownMessages(t.Context(), ref, []string{"a-1"})
			if err != nil || len(known) > 0 {
				t.Errorf("%v holds %v, error %v", ref, known, err)
			}
		}
	})
	t.Run(
		"MessagesAt must return those of the places that exist and belong to the user, in the order of places, without originals",
		func(t *testing.T) {
			testMessagesAt(t, open(t))
		},
	)
	t.Run("MessagesAt must stop before the stored bytes pass MaxBytes, after at least one message", func(t *testing.T) {
		testMessagesAtBytes(t, open(t))
	})
	t.Run("MessagesAt must return any number of places, and the first ones up to MaxBytes", func(t *testing.T) {
		testMessagesAtManyPlaces(t, open(t))
	})
	t.Run("UpdateMessage must change only what the update sets", func(t *testing.T) { testUpdateMessage(t, open(t)) })
	t.Run("UpdateMessage must return MESSAGE_NOT_FOUND when there is no such message", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		mustAppend(t, s, turn(ref, chat("a", 1)...))
		_, err := s.UpdateMessage(t.Context(), store.MessageUpdate{Ref: ref, MessageID: "b-1", Pinned: ptr(true)})
		wantReason(t, err, memory.ReasonMessageNotFound)
		_, err = s.UpdateMessage(t.Context(), store.MessageUpdate{Ref: bob.Session("s"), MessageID: "a-1", Pinned: ptr(true)})
		wantReason(t, err, memory.ReasonUserNotFound)
	})
}

func calling(id, callID string) store.NewMessage {
	return message(memory.Message{
		ID: id, Role: memory.RoleAssistant, Parts: []memory.Part{{Kind: memory.PartToolCall, CallID: callID, Name: "f", Arguments: "{}"}},
	})
}

func testMessagesAt(t *testing.T, s store.PrimaryStore) {
	mustAppend(t, s, turn(alice.Session("s"), chat("a", 3)...))
	mustAppend(t, s, turn(alice.Session("t"), message(everything())))
	mustAppend(t, s, turn(bob.Session("s"), chat("b", 3)...))
	one, two := mustSession(t, s, alice.Session("s")).Key, mustSession(t, s, alice.Session("t")).Key
	foreign := mustSession(t, s, bob.Session("s")).Key
	places := []memory.Place{
		{Session: one, Seq: 3},
		{Session: foreign, Seq: 1},
		{Session: two, Seq: 1},
		{Session: one, Seq: 0},
		{Session: one, Seq: -1},
		{Session: one, Seq: 1},
		{Session: one, Seq: 4},
		{Session: one, Seq: 1<<32 + 1},
		{Session: "' OR 1=1", Seq: 1},
		{Session: "", Seq: 1},
	}
	got, err := s.MessagesAt(t.Context(), store.PlacesQuery{User: alice, Places: places})
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, h := range got {
		seen = append(seen, fmt.Sprintf("%s %d %s", h.SessionID, h.Seq, h.Message.ID))
		if h.Message.Original != nil || h.Message.Seq != h.Seq {
			t.Errorf("%s: original %v, seq %d", h.Message.ID, h.Message.Original, h.Message.Seq)
		}
	}
	wantEqual(t, seen, []string{"s 3 a-3", "t 1 " + everything().ID, "s 1 a-1"})
	got, err = s.MessagesAt(t.Context(), store.PlacesQuery{User: memory.UserRef{Tenant: "acme", UserID: "nobody"}, Places: places})
	if err != nil || len(got) > 0 {
		t.Errorf("an unknown user has %d messages, error %v", len(got), err)
	}
}

// testMessagesAtManyPlaces asks for more places than a store reads at once, in an order that is not that of the messages.
func testMessagesAtManyPlaces(t *testing.T, s store.PrimaryStore) {
	const turns, ofTurn = 30, 10
	var places []memory.Place
	for _, id := range []string{"s", "t"} {
		for n := range turns {
			mustAppend(t, s, turn(alice.Session(id), chat(fmt.Sprint(id, n), ofTurn)...))
		}
		key := mustSession(t, s, alice.Session(id)).Key
		for seq := range int64(turns * ofTurn) {
			places = append(places, memory.Place{Session: key, Seq: seq + 1})
		}
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	for _, c := range []struct {
		maxBytes int64
		whole    bool
	}{{0, true}, {1 << 20, true}, {8000, false}, {2000, false}, {200, false}} {
		got, err := s.MessagesAt(t.Context(), store.PlacesQuery{User: alice, Places: places, MaxBytes: c.maxBytes})
		if err != nil {
			t.Fatal(err)
		}
		found := make([]memory.Place, len(got))
		for i, m := range got {
			found[i] = m.Place
		}
		if len(got) == 0 || (len(got) == len(places)) != c.whole || !slices.Equal(found, places[:len(got)]) {
			t.Errorf("at most %d bytes: %d of %d, the first of them in order: %t",
				c.maxBytes, len(got), len(places), slices.Equal(found, places[:len(got)]))
		}
	}
}

func testMessagesAtBytes(t *testing.T, s store.PrimaryStore) {
	words := strings.Repeat("x", 1000)
	mustAppend(
		t,
		s,
		turn(alice.Session("s"), say("a", memory.RoleUser, words), say("b", memory.RoleUser, words), say("c", memory.RoleUser, words)),
	)
	key := mustSession(t, s, alice.Session("s")).Key
	q := store.PlacesQuery{
		User:   alice,
		Places: []memory.Place{{Session: "none", Seq: 1}, {Session: key, Seq: 3}, {Session: key, Seq: 1}, {Session: key, Seq: 2}},
	}
	for _, c := range []struct {
		maxBytes int64
		want     []string
	}{ // some of them twice, since a driver may hold what it read
		{1, []string{"c"}},
		{2500, []string{"c", "a"}},
		{1500, []string{"c"}},
		{0, []string{"c", "a", "b"}},
		{2500, []string{"c", "a"}},
		{1, []string{"c"}},
		{1 << 40, []string{"c", "a", "b"}},
	} {
		q.MaxBytes = c.maxBytes
		hits, err := s.MessagesAt(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range hits {
			got = append(got, h.Message.ID)
		}
		wantEqual(t, got, c.want)
	}
}

func testUpdateMessage(t *testing.T, s store.PrimaryStore) {
	ref := alice.Session("s")
	mustAppend(t, s, turn(ref, message(everything()), chat("a", 1)[0]))
	before, key := all(t, s, ref), mustSession(t, s, ref).Key
	want := before[0]
	steps := []struct {
		u      store.MessageUpdate
		change func()
	}{
		{store.MessageUpdate{}, func() {}},
		{store.MessageUpdate{Tags: &[]string{"z"}}, func() { want.Tags = []string{"z"} }},
		{store.MessageUpdate{Tags: &[]string{}}, func() { want.Tags = nil }},
		{store.MessageUpdate{Metadata: ptr(json.RawMessage(`{"n":1}`))}, func() { want.Metadata = json.RawMessage(`{"n":1}`) }},
		{store.MessageUpdate{Metadata: new(json.RawMessage)}, func() { want.Metadata = nil }},
		{store.MessageUpdate{Pinned: ptr(false)}, func() { want.Pinned = false }},
		{store.MessageUpdate{Hidden: ptr(true)}, func() { want.Hidden = true }},
		{store.MessageUpdate{Extract: ptr(memory.ExtractAllow)}, func() { want.Extract = memory.ExtractAllow }},
	}
	for _, step := range steps {
		step.u.Ref, step.u.MessageID = ref, want.ID
		step.change()
		got, err := s.UpdateMessage(t.Context(), step.u)
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, got, want)
		wantEqual(t, all(t, s, ref), slices.Concat([]memory.Message{want}, before[1:]))
		placed, err := s.MessagesAt(t.Context(), store.PlacesQuery{User: alice, Places: []memory.Place{{Session: key, Seq: want.Seq}}})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, placed[0].Message, want)
	}
}
