package storetest

import (
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testFeeds(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("PendingFeeds must return feeds of all tenants that the view may lack something of, the longest waiting first", func(t *testing.T) {
		s, other := open(t), memory.UserRef{Tenant: "other", UserID: "alice"}
		refs := []memory.SessionRef{alice.Session("late"), bob.Session("early"), other.Session("middle")}
		for i, m := range []int{2, 0, 1} {
			appendAt(t, s, refs[i], minute(m))
		}
		wantEqual(t, sessionsOf(feeds(t, s, memory.ViewTranscript, 9)), []memory.SessionRef{refs[1], refs[2], refs[0]})
		wantEqual(t, sessionsOf(feeds(t, s, memory.ViewTranscript, 2)), []memory.SessionRef{refs[1], refs[2]})
		wantEqual(t, len(feeds(t, s, memory.ViewFacts, 9)), 0)
	})
	t.Run("a feed must be pending from the write that changes it: Append for messages", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		appendAt(t, s, ref, noon)
		appendAt(t, s, ref, minute(1))
		head := mustSession(t, s, ref)
		want := store.Feed{
			View: memory.ViewTranscript, User: alice, Scope: head.ScopeKey, Session: ref, Key: head.Key,
			Head: store.FeedPosition{Seq: head.LastSeq}, Since: noon,
		}
		wantEqual(t, feeds(t, s, memory.ViewTranscript, 9), []store.Feed{want})
		wantEqual(t, feedOf(t, s, memory.ViewTranscript, ref), want)
	})
	t.Run("a feed must be pending from the write that changes it: ApplyFacts and PutFactVectors for facts and vectors", func(t *testing.T) {
		testFactFeeds(t, open(t))
	})
	t.Run("a feed must be pending from the write that changes it: PutSegment for turns", func(t *testing.T) {
		testTurnFeed(t, open(t))
	})
	t.Run("RebuildView must make every feed of turns pending, and no user without a segment has one", func(t *testing.T) {
		s := open(t)
		appendAt(t, s, bob.Session("s"), noon)
		wantEqual(t, len(feeds(t, s, memory.ViewMessageVectors, 9)), 0)
		f := indexedFeed(t, s)
		mark(t, s, f, f.Head)
		build, err := s.RebuildView(t.Context(), memory.ViewMessageVectors, minute(9))
		if err != nil || build != 2 {
			t.Fatal(build, err)
		}
		got := feedOf(t, s, memory.ViewMessageVectors, alice.Session(""))
		wantEqual(t, got.Checkpoint, store.Checkpoint{})
		wantEqual(t, got.Since, minute(9))
		wantEqual(t, searchIndex(t, s, alice).Turns, store.Checkpoint{})
		pending, all, err := s.CountFeeds(t.Context(), memory.ViewMessageVectors)
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, []int64{pending, all}, []int64{1, 1})
	})
	t.Run("a turn without a message leaves no feed pending", func(t *testing.T) {
		s := open(t)
		p := turn(alice.Session("s"))
		p.StatePatch = []byte(`{"a":1}`)
		mustAppend(t, s, p)
		wantEqual(t, len(feeds(t, s, memory.ViewTranscript, 9)), 0)
	})
	t.Run("Feed of an unknown user or session is an error", func(t *testing.T) {
		s := open(t)
		_, err := s.Feed(t.Context(), memory.ViewVectors, alice.Session(""))
		wantReason(t, err, memory.ReasonUserNotFound)
		appendAt(t, s, alice.Session("s"), noon)
		_, err = s.Feed(t.Context(), memory.ViewTranscript, alice.Session("none"))
		wantReason(t, err, memory.ReasonSessionNotFound)
	})
	t.Run(
		"SetCheckpoint must set how far the view has been fed, and must leave the feed pending when it changed since Seen was read",
		func(t *testing.T) {
			s, ref := open(t), alice.Session("s")
			appendAt(t, s, ref, noon)
			seen := feedOf(t, s, memory.ViewTranscript, ref)
			appendAt(t, s, ref, minute(1))
			mark(t, s, seen, seen.Head)
			got := feedOf(t, s, memory.ViewTranscript, ref)
			wantEqual(t, got.Checkpoint, store.Checkpoint{Build: 1, FeedPosition: seen.Head})
			wantEqual(t, got.Since, noon)
			mark(t, s, got, got.Head)
			wantEqual(t, feedOf(t, s, memory.ViewTranscript, ref).Since, time.Time{})
			wantEqual(t, len(feeds(t, s, memory.ViewTranscript, 9)), 0)
			appendAt(t, s, ref, minute(2))
			wantEqual(t, feedOf(t, s, memory.ViewTranscript, ref).Since, minute(2))
		},
	)
	t.Run(
		"SetCheckpoint must change nothing, and return CONTENTION, when Build is not the view's build any more or the session lives another life",
		func(t *testing.T) {
			s, ref := open(t), alice.Session("s")
			appendAt(t, s, ref, noon)
			f := feedOf(t, s, memory.ViewTranscript, ref)
			m := store.CheckpointUpdate{Feed: f, Build: 1, Checkpoint: f.Head, Seen: f.Head}
			m.Key = "00000000000000000000000000000000"
			wantReason(t, s.SetCheckpoint(t.Context(), m), memory.ReasonContention)
			m.Key, m.Build = f.Key, 2
			wantReason(t, s.SetCheckpoint(t.Context(), m), memory.ReasonContention)
			wantEqual(t, feedOf(t, s, memory.ViewTranscript, ref), f)
		},
	)
	t.Run(
		"RebuildView must raise the view's build by one and make every feed pending as one that the view has nothing of",
		func(t *testing.T) {
			testRebuildView(t, open(t))
		},
	)
	t.Run("ActivateEmbedding must make every feed of vectors and turns wait", func(t *testing.T) {
		s := open(t)
		turns := indexedFeed(t, s)
		mark(t, s, turns, turns.Head)
		grow(t, s, alice)
		f := feedOf(t, s, memory.ViewVectors, alice.Session(""))
		mark(t, s, f, f.Head)
		e, err := s.AddEmbedding(t.Context(), memory.Embedding{Model: "next", Dimension: 2, Metric: "cosine", CreateTime: noon})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.ActivateEmbedding(t.Context(), e.Version, minute(7)); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, feedOf(t, s, memory.ViewVectors, alice.Session("")).Since, minute(7))
		wantEqual(t, feedOf(t, s, memory.ViewMessageVectors, alice.Session("")).Since, minute(7))
	})
}

// indexedFeed indexes a message of alice and returns the feed of turns that waits for it.
func indexedFeed(t *testing.T, s store.PrimaryStore) store.Feed {
	t.Helper()
	appendAt(t, s, alice.Session("s"), noon)
	w := segment(t, s, alice, "said")
	w.Time = minute(3)
	put(t, s, w)
	return feedOf(t, s, memory.ViewMessageVectors, alice.Session(""))
}

// testTurnFeed follows a feed from a segment to the next.
func testTurnFeed(t *testing.T, s store.PrimaryStore) {
	f := indexedFeed(t, s)
	state := searchIndex(t, s, alice)
	want := store.Feed{
		View: memory.ViewMessageVectors, User: alice, Scope: state.Scope, Session: alice.Session(""),
		Head: store.FeedPosition{No: state.Segments[0].No}, Since: minute(3),
	}
	wantEqual(t, f, want)
	wantEqual(t, feeds(t, s, memory.ViewMessageVectors, 9), []store.Feed{want})
	wantEqual(t, state.Turns, store.Checkpoint{})
	fed := store.FeedPosition{Version: 1, No: f.Head.No}
	mark(t, s, f, fed)
	wantEqual(t, len(feeds(t, s, memory.ViewMessageVectors, 9)), 0)
	wantEqual(t, searchIndex(t, s, alice).Turns, store.Checkpoint{Build: 1, FeedPosition: fed})
	merged := put(t, s, store.SegmentWrite{
		User: alice, Scope: state.Scope, Analyzer: "v1", Messages: 1, Data: []byte("more"), Replaces: []int64{f.Head.No}, Time: minute(5),
	})
	got := feedOf(t, s, memory.ViewMessageVectors, alice.Session(""))
	wantEqual(t, got.Since, minute(5))
	wantEqual(t, got.Head.No, merged)
	wantEqual(t, got.Checkpoint, store.Checkpoint{Build: 1, FeedPosition: fed})
	wantEqual(t, searchIndex(t, s, alice).Turns, store.Checkpoint{})
	mark(t, s, f, fed) // it was read before the segment
	wantEqual(t, feedOf(t, s, memory.ViewMessageVectors, alice.Session("")).Since, minute(5))
}

func testFactFeeds(t *testing.T, s store.PrimaryStore) {
	appendAt(t, s, alice.Session("s"), noon)
	grow(t, s, alice)
	user := alice.Session("")
	for _, view := range []memory.View{memory.ViewVectors, memory.ViewFacts} {
		f := feedOf(t, s, view, user)
		if f.Since.IsZero() || f.Head.Revision == 0 || len(feeds(t, s, view, 9)) != 1 {
			t.Errorf("the feed of %s does not wait: %+v", view, f)
		}
		mark(t, s, f, f.Head)
		wantEqual(t, len(feeds(t, s, view, 9)), 0)
		wantEqual(t, feedOf(t, s, view, user).Checkpoint, store.Checkpoint{Build: 1, FeedPosition: f.Head})
	}
	wantEqual(t, factsSince(t, s, alice, 0).Checkpoint, feedOf(t, s, memory.ViewVectors, user).Checkpoint)
	fact := factsSince(t, s, alice, 0).Facts[0]
	putVector(t, s, activeVersion(t, s), alice, fact.ID, fact.Revision, 1, 2)
	wantEqual(t, len(feeds(t, s, memory.ViewVectors, 9)), 1)
	wantEqual(t, len(feeds(t, s, memory.ViewFacts, 9)), 0)
}

func testRebuildView(t *testing.T, s store.PrimaryStore) {
	refs := []memory.SessionRef{alice.Session("a"), bob.Session("b")}
	for i, ref := range refs {
		appendAt(t, s, ref, minute(i))
		f := feedOf(t, s, memory.ViewTranscript, ref)
		mark(t, s, f, f.Head)
	}
	wantBuild(t, s, 1)
	build, err := s.RebuildView(t.Context(), memory.ViewTranscript, minute(9))
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, build, int64(2))
	wantBuild(t, s, 2)
	pending, all, err := s.CountFeeds(t.Context(), memory.ViewTranscript)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, []int64{pending, all}, []int64{2, 2})
	for _, f := range feeds(t, s, memory.ViewTranscript, 9) {
		wantEqual(t, f.Checkpoint, store.Checkpoint{})
	}
	f := feedOf(t, s, memory.ViewTranscript, refs[0])
	if err := s.SetCheckpoint(t.Context(), store.CheckpointUpdate{Feed: f, Build: 2, Checkpoint: f.Head, Seen: f.Head}); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, feedOf(t, s, memory.ViewTranscript, refs[0]).Checkpoint, store.Checkpoint{Build: 2, FeedPosition: f.Head})
	wantEqual(t, len(feeds(t, s, memory.ViewTranscript, 9)), 1)
}

func wantBuild(t *testing.T, s store.ChangeFeed, want int64) {
	t.Helper()
	build, err := s.ViewBuild(t.Context(), memory.ViewTranscript)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, build, want)
}

func testLeases(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("Lease must give the name to the owner until then, unless another owner's lease runs; the owner may extend it", func(t *testing.T) {
		s := open(t)
		steps := []struct {
			owner      string
			now, until int
			held       bool
		}{
			{"a", 0, 2, true}, {"b", 1, 9, false}, {"a", 1, 4, true}, {"b", 3, 9, false}, {"b", 4, 6, true}, {"a", 5, 9, false},
		}
		for _, x := range steps {
			wantEqual(t, lease(t, s, "feed-vectors", x.owner, minute(x.now), minute(x.until)), x.held)
		}
		wantEqual(t, lease(t, s, "feed-facts", "a", minute(5), minute(9)), true)
	})
	t.Run("a lease that has more than LongestLease to go must count as over: a clock that was ahead took it", func(t *testing.T) {
		s := open(t)
		wantEqual(t, lease(t, s, "embed", "a", noon.AddDate(1, 0, 0), noon.AddDate(1, 0, 1)), true)
		wantEqual(t, lease(t, s, "embed", "b", noon, minute(2)), true)
		wantEqual(t, lease(t, s, "embed", "a", minute(1), minute(3)), false)
	})
	t.Run("Now must return the time by a clock that all processes have in common", func(t *testing.T) {
		s := open(t)
		first := s.Now()
		if s.Now().Before(first) || time.Until(first).Abs() > time.Minute { // the machine's own, where the server is on it
			t.Errorf("it is %v", first)
		}
	})
	t.Run("a zero Until gives it back, to its owner only", func(t *testing.T) {
		s := open(t)
		lease(t, s, "embed", "a", noon, minute(9))
		wantEqual(t, lease(t, s, "embed", "b", noon, time.Time{}), false)
		wantEqual(t, lease(t, s, "embed", "b", noon, minute(1)), false)
		lease(t, s, "embed", "a", noon, time.Time{})
		wantEqual(t, lease(t, s, "embed", "b", noon, minute(1)), true)
	})
	t.Run("of many who ask at once one gets it", func(t *testing.T) {
		s, won := open(t), make(chan bool)
		for i := range 16 {
			go func() {
				held, err := s.Lease(t.Context(), store.Lease{Name: "race", Owner: string(rune('a' + i)), Now: noon, Until: minute(1)})
				won <- held && err == nil
			}()
		}
		winners := 0
		for range 16 {
			if <-won {
				winners++
			}
		}
		wantEqual(t, winners, 1)
	})
}

func lease(t *testing.T, s store.Leases, name, owner string, now, until time.Time) bool {
	t.Helper()
	held, err := s.Lease(t.Context(), store.Lease{Name: name, Owner: owner, Now: now, Until: until})
	if err != nil {
		t.Fatalf("Lease: %v", err)
	}
	return held
}

func feeds(t *testing.T, s store.ChangeFeed, view memory.View, limit int) []store.Feed {
	t.Helper()
	found, err := s.PendingFeeds(t.Context(), view, limit)
	if err != nil {
		t.Fatalf("PendingFeeds: %v", err)
	}
	return found
}

func feedOf(t *testing.T, s store.ChangeFeed, view memory.View, ref memory.SessionRef) store.Feed {
	t.Helper()
	f, err := s.Feed(t.Context(), view, ref)
	if err != nil {
		t.Fatalf("Feed: %v", err)
	}
	return f
}

// mark sets the view's checkpoint, as of when the feed was read, in the first build.
func mark(t *testing.T, s store.ChangeFeed, f store.Feed, fed store.FeedPosition) {
	t.Helper()
	if err := s.SetCheckpoint(t.Context(), store.CheckpointUpdate{Feed: f, Build: 1, Checkpoint: fed, Seen: f.Head}); err != nil {
		t.Fatalf("SetCheckpoint: %v", err)
	}
}

func sessionsOf(feeds []store.Feed) []memory.SessionRef {
	var refs []memory.SessionRef
	for _, f := range feeds {
		refs = append(refs, f.Session)
	}
	return refs
}

func activeVersion(t *testing.T, s store.Vectors) int {
	t.Helper()
	for _, e := range embeddings(t, s) {
		if e.Active {
			return e.Version
		}
	}
	t.Fatal("no version is active")
	return 0
}
