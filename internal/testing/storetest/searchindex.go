package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testSearchIndex(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("Append must mark a turn that stores messages as pending for the search index in the same write", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		mustAppend(t, s, turn(ref, chat("a", 2)...))
		patch := turn(ref)
		patch.StatePatch = []byte(`{"a":1}`)
		mustAppend(t, s, patch)
		mustAppend(t, s, turn(ref, chat("b", 1)...))
		turns := pending(t, s, alice, 100)
		wantEqual(t, refs(turns), []store.TurnRef{
			{Session: mustSession(t, s, ref).Key, TurnNo: 1}, {Session: mustSession(t, s, ref).Key, TurnNo: 3},
		})
		wantEqual(t, turns[0].Messages, all(t, s, ref)[:2])
		wantEqual(t, []any{turns[0].SessionID, turns[0].Scope}, []any{"s", mustSession(t, s, ref).ScopeKey})
	})
	t.Run(
		"SearchIndex must return the recallable messages of turns that are still pending, oldest first, up to MaxUnindexed of them",
		func(t *testing.T) {
			testUnindexed(t, open(t))
		},
	)
	t.Run("SearchIndex must stop before the stored bytes of the unindexed messages pass MaxBytes", func(t *testing.T) {
		s := open(t)
		mustAppend(t, s, turn(alice.Session("s"), long("a", 3)...))
		for _, c := range []struct {
			maxBytes int64
			want     int
		}{{0, 3}, {1, 0}, {1500, 1}, {2500, 2}, {1 << 40, 3}} {
			got := searchIndexOf(t, s, store.SearchIndexQuery{User: alice, MaxUnindexed: 10, MaxBytes: c.maxBytes})
			wantEqual(t, []int{len(got.Unindexed), got.More}, []int{c.want, 3 - c.want})
		}
	})
	t.Run("SearchIndex must name the first seq of the session's first pending turn", func(t *testing.T) {
		testPendingFrom(t, open(t))
	})
	t.Run("an unknown user has neither segments nor pending messages: that is not an error", func(t *testing.T) {
		got, err := open(t).SearchIndex(t.Context(), store.SearchIndexQuery{User: alice, SessionID: "s", MaxUnindexed: 10})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, got, store.SearchIndexState{})
	})
	t.Run(
		"PutSegment must, in one write, store the segment, delete those it replaces and clear the pending marks of its turns",
		func(t *testing.T) {
			testPutSegment(t, open(t))
		},
	)
	t.Run("putting a segment again after a crash must be harmless", func(t *testing.T) {
		s := open(t)
		w := segment(t, s, alice, "one")
		no := put(t, s, w)
		wantEqual(t, put(t, s, w), no)
		wantEqual(t, len(searchIndex(t, s, alice).Segments), 1)
	})
	t.Run("PutSegment must return CONTENTION when a replaced segment is gone already", func(t *testing.T) {
		s := open(t)
		no := put(t, s, segment(t, s, alice, "one"))
		merge := store.SegmentWrite{
			User: alice, Scope: searchIndex(t, s, alice).Scope, Analyzer: "v1", Messages: 2, Data: []byte("merged"), Replaces: []int64{no},
		}
		put(t, s, merge)
		before := searchIndex(t, s, alice)
		_, err := s.PutSegment(t.Context(), merge)
		wantReason(t, err, memory.ReasonContention)
		wantEqual(t, searchIndex(t, s, alice), before)
	})
	t.Run("a turn that another segment has taken must not be indexed twice", func(t *testing.T) {
		s := open(t)
		w := segment(t, s, alice, "one")
		put(t, s, w)
		w.Data = []byte("another")
		_, err := s.PutSegment(t.Context(), w)
		wantReason(t, err, memory.ReasonContention)
		wantEqual(t, len(searchIndex(t, s, alice).Segments), 1)
	})
	t.Run("a segment of another life of the user must be refused with USER_NOT_FOUND", func(t *testing.T) {
		s := open(t)
		w := segment(t, s, alice, "one")
		w.Scope = "00000000000000000000000000000000"
		_, err := s.PutSegment(t.Context(), w)
		wantReason(t, err, memory.ReasonUserNotFound)
		wantEqual(t, len(pending(t, s, alice, 100)), 1)
	})
	t.Run("Segments must return the data of those of the segments that exist, in the order of nos", func(t *testing.T) {
		testSegments(t, open(t))
	})
	t.Run("PendingUsers must return users with turns pending for the search index, the longest waiting first, at most limit", func(t *testing.T) {
		testPendingUsers(t, open(t))
	})
	t.Run(
		"PendingTurns must return the user's turns pending for the search index, oldest first, until their messages number MaxMessages, at least one turn",
		func(t *testing.T) {
			testPendingTurns(t, open(t))
		},
	)
	t.Run("PendingTurns must stop before the stored bytes of the messages pass MaxBytes, at least one turn", func(t *testing.T) {
		testPendingBytes(t, open(t))
	})
	t.Run(
		"SegmentsToEmbed must return segments of all users whose Embedding is below the version, in an order that stays the same while they wait, at most limit",
		func(t *testing.T) {
			testSegmentsToEmbed(t, open(t))
		},
	)
	t.Run("SegmentsToEmbed must return as many as there are, however many users were erased before", func(t *testing.T) {
		s := open(t)
		put(t, s, segment(t, s, alice, "one"))
		no := put(t, s, segment(t, s, bob, "two"))
		begin(t, s, eraseAlice("e"))
		refs, err := s.SegmentsToEmbed(t.Context(), 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, refs, []store.SegmentRef{{User: bob, Scope: searchIndex(t, s, bob).Scope, No: no}})
	})
	t.Run("CountMessagesToEmbed must count the messages of such segments", func(t *testing.T) {
		s := open(t)
		count := func(version int) int64 {
			t.Helper()
			waiting, err := s.CountMessagesToEmbed(t.Context(), version)
			failing(t)(nil, err)
			return waiting
		}
		wantEqual(t, count(1), int64(0))
		twoEmbedded(t, s)
		wantEqual(t, []int64{count(1), count(2), count(3)}, []int64{2, 2, 4})
	})
	t.Run("CountIndexedMessages must count the messages of all segments", func(t *testing.T) {
		s := open(t)
		twoEmbedded(t, s)
		all, err := s.CountIndexedMessages(t.Context())
		failing(t)(nil, err)
		wantEqual(t, all, int64(4))
	})
	t.Run(
		"RetireSegments must delete every segment of those users who have one of another analyzer than the one given, and mark their turns as pending again",
		func(t *testing.T) {
			testRetire(t, open(t))
		},
	)
	t.Run("RetireSegments with a user named must do so for that user alone, whatever the analyzer of the segments", func(t *testing.T) {
		testRetireUser(t, open(t))
	})
}

// twoEmbedded puts a segment of two messages without vectors, and another user's of two that have those of version 2.
func twoEmbedded(t *testing.T, s store.PrimaryStore) {
	t.Helper()
	put(t, s, segment(t, s, alice, "one"))
	w := segment(t, s, bob, "two")
	w.Embedding = 2
	put(t, s, w)
}

// long is n messages of a thousand bytes and a little more each.
func long(prefix string, n int) []store.NewMessage {
	out := make([]store.NewMessage, n)
	for i := range out {
		out[i] = say(fmt.Sprint(prefix, i), memory.RoleUser, strings.Repeat("x", 1000))
	}
	return out
}

func searchIndexOf(t *testing.T, s store.SearchIndex, q store.SearchIndexQuery) store.SearchIndexState {
	t.Helper()
	state, err := s.SearchIndex(t.Context(), q)
	if err != nil {
		t.Fatalf("SearchIndex: %v", err)
	}
	return state
}

func pending(t *testing.T, s store.SearchIndex, u memory.UserRef, maxMessages int) []store.Turn {
	t.Helper()
	turns, err := s.PendingTurns(t.Context(), store.PendingQuery{User: u, MaxMessages: maxMessages})
	if err != nil {
		t.Fatalf("PendingTurns: %v", err)
	}
	return turns
}

func refs(turns []store.Turn) []store.TurnRef {
	out := make([]store.TurnRef, len(turns))
	for i := range turns {
		out[i] = turns[i].TurnRef
	}
	return out
}

func searchIndex(t *testing.T, s store.SearchIndex, u memory.UserRef) store.SearchIndexState {
	t.Helper()
	state, err := s.SearchIndex(t.Context(), store.SearchIndexQuery{User: u, MaxUnindexed: 1000})
	if err != nil {
		t.Fatalf("SearchIndex: %v", err)
	}
	return state
}

func put(t *testing.T, s store.SearchIndex, w store.SegmentWrite) int64 {
	t.Helper()
	no, err := s.PutSegment(t.Context(), w)
	if err != nil {
		t.Fatalf("PutSegment: %v", err)
	}
	return no
}

func testSegmentsToEmbed(t *testing.T, s store.PrimaryStore) {
	first := segment(t, s, alice, "one")
	noes := []int64{put(t, s, first)}
	second := segment(t, s, alice, "two")
	second.Embedding = 1
	noes = append(noes, put(t, s, second))
	third := segment(t, s, bob, "three")
	third.Embedding = 2
	put(t, s, third)
	toEmbed := func(version, limit int) []store.SegmentRef {
		t.Helper()
		refs, err := s.SegmentsToEmbed(t.Context(), version, limit)
		if err != nil {
			t.Fatal(err)
		}
		return refs
	}
	of := func(no int64) store.SegmentRef { return store.SegmentRef{User: alice, Scope: first.Scope, No: no} }
	wantEqual(t, toEmbed(1, 9), []store.SegmentRef{of(noes[0])})
	wantEqual(t, toEmbed(2, 9), []store.SegmentRef{of(noes[0]), of(noes[1])})
	wantEqual(t, toEmbed(2, 1), []store.SegmentRef{of(noes[0])})
	wantEqual(t, len(toEmbed(3, 9)), 3)
	wantEqual(t, []int{searchIndex(t, s, alice).Segments[0].Embedding, searchIndex(t, s, alice).Segments[1].Embedding}, []int{0, 1})
	put(t, s, store.SegmentWrite{
		User: alice, Scope: first.Scope, Analyzer: "v1", Messages: 2, Data: []byte("with vectors"), Replaces: noes[:1], Embedding: 2,
	})
	wantEqual(t, toEmbed(2, 9), []store.SegmentRef{of(noes[1])})
}

// segment records a turn of two messages for the user and returns the segment of all that is pending.
func segment(t *testing.T, s store.PrimaryStore, u memory.UserRef, prefix string) store.SegmentWrite {
	t.Helper()
	mustAppend(t, s, turn(u.Session("s"), chat(prefix, 2)...))
	return store.SegmentWrite{
		User: u, Scope: searchIndex(t, s, u).Scope, Analyzer: "v1", Messages: 2,
		Data: []byte("segment " + u.UserID + prefix), Turns: refs(pending(t, s, u, 1000)), Time: noon,
	}
}

func testUnindexed(t *testing.T, s store.PrimaryStore) {
	tool := message(memory.Message{ID: "t", Role: memory.RoleTool, Parts: []memory.Part{{Kind: memory.PartToolResult, CallID: "c"}}})
	recalled := message(
		memory.Message{ID: "r", Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart("x")}, Origin: memory.OriginRecalled},
	)
	late, early := turn(alice.Session("s"), append(chat("a", 2), tool, recalled)...), turn(alice.Session("t"), chat("b", 2)...)
	late.Time = minute(1)
	mustAppend(t, s, late)
	mustAppend(t, s, early)
	var got []string
	state := searchIndex(t, s, alice)
	for _, m := range state.Unindexed {
		got = append(got, fmt.Sprintf("%s %s %d", m.SessionID, m.Message.ID, m.Seq))
	}
	wantEqual(t, got, []string{"t b-1 1", "t b-2 2", "s a-1 1", "s a-2 2"})
	wantEqual(t, state.Unindexed[3].Session, mustSession(t, s, alice.Session("s")).Key)
	wantEqual(t, state.More, 0)
	for limit := range 4 {
		few := searchIndexOf(t, s, store.SearchIndexQuery{User: alice, MaxUnindexed: limit})
		wantEqual(t, few.Unindexed, state.Unindexed[:limit])
		wantEqual(t, few.More, 4-limit)
	}
}

func testPendingFrom(t *testing.T, s store.PrimaryStore) {
	check := func(session string, want int64) {
		t.Helper()
		for _, limit := range []int{0, 10} {
			got := searchIndexOf(t, s, store.SearchIndexQuery{User: alice, SessionID: session, MaxUnindexed: limit})
			wantEqual(t, got.PendingFrom, want)
		}
	}
	mustAppend(t, s, turn(alice.Session("s"), chat("a", 3)...))
	check("s", 1)
	check("t", 0) // no such session
	check("", 0)
	put(t, s, segment(t, s, alice, "b"))
	check("s", 0)
	mustAppend(t, s, turn(bob.Session("s"), chat("c", 1)...))
	check("s", 0)
	other := turn(alice.Session("t"), chat("d", 2)...)
	mustAppend(t, s, other)
	tool := message(memory.Message{ID: "e", Role: memory.RoleTool, Parts: []memory.Part{{Kind: memory.PartToolResult, CallID: "c"}}})
	mustAppend(t, s, turn(alice.Session("s"), tool)) // pending, and not recallable
	mustAppend(t, s, turn(alice.Session("s"), chat("f", 2)...))
	check("s", 6)
	check("t", 1)
}

func testPutSegment(t *testing.T, s store.PrimaryStore) {
	one := put(t, s, segment(t, s, alice, "one"))
	two := put(t, s, segment(t, s, alice, "two"))
	mustAppend(t, s, turn(alice.Session("s"), chat("three", 1)...))
	if two <= one {
		t.Errorf("segment numbers must grow: %d, then %d", one, two)
	}
	state := searchIndex(t, s, alice)
	wantEqual(t, state.Segments, []store.SegmentInfo{
		{No: one, Messages: 2, Bytes: len("segment aliceone")}, {No: two, Messages: 2, Bytes: len("segment alicetwo")},
	})
	wantEqual(t, len(state.Unindexed), 1)
	merged := put(t, s, store.SegmentWrite{
		User: alice, Scope: state.Scope, Analyzer: "v1", Messages: 5, Data: []byte("m"),
		Replaces: []int64{one, two}, Turns: refs(pending(t, s, alice, 100)),
	})
	state = searchIndex(t, s, alice)
	wantEqual(t, state.Segments, []store.SegmentInfo{{No: merged, Messages: 5, Bytes: 1, Replaces: []int64{one, two}}})
	wantEqual(t, len(state.Unindexed)+len(pending(t, s, alice, 100)), 0)
}

func testSegments(t *testing.T, s store.PrimaryStore) {
	one, two := put(t, s, segment(t, s, alice, "one")), put(t, s, segment(t, s, alice, "two"))
	foreign := put(t, s, segment(t, s, bob, "one"))
	got, err := s.Segments(t.Context(), alice, []int64{two, foreign, 999, one})
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, got, []store.Segment{{No: two, Data: []byte("segment alicetwo")}, {No: one, Data: []byte("segment aliceone")}})
	_, err = s.Segments(t.Context(), memory.UserRef{Tenant: "acme", UserID: "nobody"}, []int64{one})
	wantReason(t, err, memory.ReasonUserNotFound)
}

func testPendingUsers(t *testing.T, s store.PrimaryStore) {
	carol := memory.UserRef{Tenant: "other", UserID: "alice"}
	for i, u := range []memory.UserRef{bob, carol, alice, bob} {
		p := turn(u.Session("s"), chat(fmt.Sprint(i), 1)...)
		p.Time = minute(i)
		mustAppend(t, s, p)
	}
	check := func(limit int, want ...memory.UserRef) {
		t.Helper()
		got, err := s.PendingUsers(t.Context(), limit)
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, got, want)
	}
	check(10, bob, carol, alice)
	check(2, bob, carol)
	first := pending(t, s, bob, 1)
	put(t, s, store.SegmentWrite{User: bob, Scope: first[0].Scope, Analyzer: "v1", Data: []byte("x"), Turns: refs(first)})
	check(10, carol, alice, bob) // what is left of bob's is the newest
	rest := pending(t, s, bob, 1)
	put(t, s, store.SegmentWrite{User: bob, Scope: first[0].Scope, Analyzer: "v1", Data: []byte("y"), Turns: refs(rest)})
	check(10, carol, alice)
}

func testPendingTurns(t *testing.T, s store.PrimaryStore) {
	for i, n := range []int{3, 2, 4} {
		p := turn(alice.Session(fmt.Sprint("s", i%2)), chat(fmt.Sprint(i), n)...)
		p.Time = minute(i)
		mustAppend(t, s, p)
	}
	for _, c := range []struct{ maxMessages, want int }{{1, 1}, {3, 1}, {4, 2}, {5, 2}, {6, 3}, {100, 3}} {
		got := pending(t, s, alice, c.maxMessages)
		if len(got) != c.want {
			t.Errorf("until %d messages: %d turns, want %d", c.maxMessages, len(got), c.want)
		}
		wantEqual(t, got[0].Messages[0].ID, "0-1")
	}
	_, err := s.PendingTurns(t.Context(), store.PendingQuery{User: bob, MaxMessages: 10})
	wantReason(t, err, memory.ReasonUserNotFound)
}

func testPendingBytes(t *testing.T, s store.PrimaryStore) {
	for i := range 3 {
		p := turn(alice.Session("s"), long(fmt.Sprint(i, "-"), 2)...)
		p.Time = minute(i)
		mustAppend(t, s, p)
	}
	one := turn(alice.Session("s"), long("last", 1)...)
	one.Time = minute(9)
	mustAppend(t, s, one)
	for _, c := range []struct {
		maxBytes int64
		want     int
	}{{0, 4}, {1, 1}, {2500, 1}, {3500, 1}, {4500, 2}, {6500, 3}, {7500, 4}, {1 << 40, 4}} {
		turns, err := s.PendingTurns(t.Context(), store.PendingQuery{User: alice, MaxMessages: 100, MaxBytes: c.maxBytes})
		if err != nil {
			t.Fatal(err)
		}
		if len(turns) != c.want {
			t.Errorf("up to %d bytes: %d turns, want %d", c.maxBytes, len(turns), c.want)
		}
		for _, turn := range turns[:min(3, len(turns))] {
			wantEqual(t, len(turn.Messages), 2)
		}
	}
}

func testRetireUser(t *testing.T, s store.PrimaryStore) {
	for _, u := range []memory.UserRef{alice, bob} {
		put(t, s, segment(t, s, u, "one"))
	}
	retire := func(u memory.UserRef) (int, error) {
		return s.RetireSegments(t.Context(), store.RetireQuery{Analyzer: "v1", User: &u})
	}
	n, err := retire(alice)
	wantEqual(t, []any{n, err}, []any{1, nil})
	state := searchIndex(t, s, alice)
	wantEqual(t, []int{len(state.Segments), len(state.Unindexed), len(pending(t, s, alice, 100))}, []int{0, 2, 1})
	wantEqual(t, len(searchIndex(t, s, bob).Segments), 1)
	n, err = retire(alice)
	wantEqual(t, []any{n, err}, []any{0, nil})
	_, err = retire(memory.UserRef{Tenant: "acme", UserID: "nobody"})
	wantReason(t, err, memory.ReasonUserNotFound)
}

func testRetire(t *testing.T, s store.PrimaryStore) {
	put(t, s, segment(t, s, alice, "one"))
	put(t, s, segment(t, s, alice, "two"))
	w := segment(t, s, bob, "one")
	w.Analyzer = "v2"
	put(t, s, w)
	n, err := s.RetireSegments(t.Context(), store.RetireQuery{Analyzer: "v2"})
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, n, 1)
	state := searchIndex(t, s, alice)
	wantEqual(t, []int{len(state.Segments), len(state.Unindexed), len(pending(t, s, alice, 100))}, []int{0, 4, 2})
	wantEqual(t, len(searchIndex(t, s, bob).Segments), 1)
	users, err := s.PendingUsers(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, users, []memory.UserRef{alice})
	n, err = s.RetireSegments(t.Context(), store.RetireQuery{Analyzer: "v2"})
	wantEqual(t, []any{n, err}, []any{0, nil})
}
