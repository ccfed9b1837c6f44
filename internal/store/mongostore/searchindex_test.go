package mongostore_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/backendlatency"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/mongostore"
)

// segmentOf is a segment of the turns of a session that stores one message each.
func segmentOf(head memory.Session, data string, turns ...int64) store.SegmentWrite {
	w := store.SegmentWrite{
		User: head.Ref.UserRef, Scope: head.ScopeKey, Analyzer: "v1", Messages: len(turns), Data: []byte(data),
	}
	for _, n := range turns {
		w.Turns = append(w.Turns, store.TurnRef{Session: head.Key, TurnNo: n})
	}
	return w
}

func mustPut(t testing.TB, s *mongostore.Store, w store.SegmentWrite) int64 {
	t.Helper()
	no, err := s.PutSegment(t.Context(), w)
	if err != nil {
		t.Fatalf("PutSegment: %v", err)
	}
	return no
}

func mustRetire(t testing.TB, s *mongostore.Store) {
	t.Helper()
	if _, err := s.RetireSegments(t.Context(), store.RetireQuery{User: &alice}); err != nil {
		t.Fatalf("RetireSegments: %v", err)
	}
}

// census is how many messages the segments have, and which are outside.
type census struct {
	Indexed   int
	Unindexed []string
}

func count(t testing.TB, s *mongostore.Store) census {
	t.Helper()
	return countIn(t.Context(), t, s)
}

func countIn(ctx context.Context, t testing.TB, s *mongostore.Store) census {
	t.Helper()
	state, err := s.SearchIndex(ctx, store.SearchIndexQuery{User: alice, MaxUnindexed: 1000})
	if err != nil {
		t.Fatalf("SearchIndex: %v", err)
	}
	c := census{Indexed: 0}
	for _, segment := range state.Segments {
		c.Indexed += segment.Messages
	}
	for _, m := range state.Unindexed {
		c.Unindexed = append(c.Unindexed, m.Message.ID)
	}
	return c
}

func wantCensus(t testing.TB, s *mongostore.Store, want census) {
	t.Helper()
	if diff := cmp.Diff(want, count(t, s)); diff != "" {
		t.Errorf("the index (-want +got):\n%s", diff)
	}
}

// threeTurns is a session of the turns 1, 2 and 3 with one message each, before two replicas.
func threeTurns(t *testing.T) (a, b *mongostore.Store, head memory.Session) {
	a, b, ref := pair(t)
	for _, id := range []string{"one", "two", "three"} {
		mustAppend(t, a, say(ref, id))
	}
	return a, b, mustSession(t, a, ref)
}

func TestAWriteToTheIndexThatEndedAtItsCommitPoint(t *testing.T) {
	t.Run("is seen whole by the next reader, who completes it", func(t *testing.T) {
		a, b, head := threeTurns(t)
		if _, err := a.HaltedPut(t.Context(), segmentOf(head, "x", 1, 2)); err != nil {
			t.Fatal(err)
		}
		wantCensus(t, b, census{Indexed: 2, Unindexed: []string{"three"}})
		work, err := b.SessionWork(t.Context(), head.Ref)
		if err != nil || work.UnindexedFrom != 3 {
			t.Errorf("unindexed from %d, error %v, want 3", work.UnindexedFrom, err)
		}
	})
	t.Run("leaves nothing to whoever looks for turns to index", func(t *testing.T) {
		a, b, head := threeTurns(t)
		if _, err := a.HaltedPut(t.Context(), segmentOf(head, "x", 1, 2, 3)); err != nil {
			t.Fatal(err)
		}
		turns, err := b.PendingTurns(t.Context(), store.PendingQuery{User: alice, MaxMessages: 100})
		if err != nil || len(turns) != 0 {
			t.Errorf("%d turns are pending, error %v", len(turns), err)
		}
		users, err := b.PendingUsers(t.Context(), 10)
		if err != nil || len(users) != 0 {
			t.Errorf("%d users are pending, error %v", len(users), err)
		}
	})
	t.Run("answers its number when it is repeated", func(t *testing.T) {
		a, b, head := threeTurns(t)
		w := segmentOf(head, "x", 1, 2)
		if _, err := a.HaltedPut(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		first := mustPut(t, b, w)
		if again := mustPut(t, a, w); again != first {
			t.Errorf("repeated, it is segment %d, then %d", first, again)
		}
		wantCensus(t, a, census{Indexed: 2, Unindexed: []string{"three"}})
	})
	t.Run("of all segments' retirement brings every message back", func(t *testing.T) {
		a, b, head := threeTurns(t)
		mustPut(t, a, segmentOf(head, "x", 1, 2))
		if _, err := a.HaltedRetirement(t.Context(), head.ScopeKey); err != nil {
			t.Fatal(err)
		}
		wantCensus(t, b, census{Unindexed: []string{"one", "two", "three"}})
	})
	t.Run("of a retirement is found by the next one, whatever its analyzer", func(t *testing.T) {
		a, b, head := threeTurns(t)
		mustPut(t, a, segmentOf(head, "x", 1, 2, 3))
		if _, err := a.HaltedRetirement(t.Context(), head.ScopeKey); err != nil {
			t.Fatal(err)
		}
		if _, err := b.RetireSegments(t.Context(), store.RetireQuery{Analyzer: "v1"}); err != nil {
			t.Fatal(err)
		}
		users, err := b.PendingUsers(t.Context(), 10)
		if diff := cmp.Diff([]memory.UserRef{alice}, users); diff != "" || err != nil {
			t.Errorf("pending users, error %v (-want +got):\n%s", err, diff)
		}
	})
	t.Run("before it leaves data that the next write neither takes for its own nor keeps", func(t *testing.T) {
		a, b, head := threeTurns(t)
		if err := a.UncommittedPut(t.Context(), segmentOf(head, "never committed", 1)); err != nil {
			t.Fatal(err)
		}
		no := mustPut(t, b, segmentOf(head, "committed", 1))
		got, err := b.Segments(t.Context(), alice, []int64{no})
		if diff := cmp.Diff([]store.Segment{{No: no, Data: []byte("committed")}}, got); diff != "" || err != nil {
			t.Errorf("segments, error %v (-want +got):\n%s", err, diff)
		}
		if n, err := b.SegmentData(t.Context()); n != 1 || err != nil {
			t.Errorf("%d documents with data, error %v, want 1", n, err)
		}
	})
}

// A server that hangs in the middle of a write and goes on after others did its work, and more, must do no harm.
func TestAServerThatGoesOnLateChangesNothing(t *testing.T) {
	goOn := func(t *testing.T, halted mongostore.Halted) {
		t.Helper()
		if err := halted(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("with clearing marks that were set again since", func(t *testing.T) {
		a, b, head := threeTurns(t)
		halted, err := a.HaltedPut(t.Context(), segmentOf(head, "x", 1, 2))
		if err != nil {
			t.Fatal(err)
		}
		mustRetire(t, b)
		goOn(t, halted)
		wantCensus(t, b, census{Unindexed: []string{"one", "two", "three"}})
	})
	t.Run("with the end of a write of which there is another one now", func(t *testing.T) {
		a, b, head := threeTurns(t)
		halted, err := a.HaltedPut(t.Context(), segmentOf(head, "x", 1, 2))
		if err != nil {
			t.Fatal(err)
		}
		mustRetire(t, b)
		if _, err := b.HaltedPut(t.Context(), segmentOf(head, "y", 1, 2, 3)); err != nil {
			t.Fatal(err)
		}
		goOn(t, halted)
		wantCensus(t, b, census{Indexed: 3})
	})
	t.Run("with marking turns that were indexed since", func(t *testing.T) {
		a, b, head := threeTurns(t)
		mustPut(t, a, segmentOf(head, "x", 1, 2))
		halted, err := a.HaltedRetirement(t.Context(), head.ScopeKey)
		if err != nil {
			t.Fatal(err)
		}
		mustPut(t, b, segmentOf(head, "y", 1, 2, 3))
		mustAppend(t, b, say(head.Ref, "four"))
		mustPut(t, b, segmentOf(head, "z", 4))
		goOn(t, halted)
		wantCensus(t, b, census{Indexed: 4})
		if n, err := b.SegmentData(t.Context()); n != 2 || err != nil {
			t.Errorf("%d documents with data, error %v, want 2", n, err)
		}
	})
}

func TestOfTwoReplicasThatIndexTheSameTurnsOneWins(t *testing.T) {
	a, b, ref := pair(t)
	for round := range int64(10) {
		mustAppend(t, a, say(ref, fmt.Sprint(round)))
		head := mustSession(t, a, ref)
		errs := make([]error, 2)
		var group sync.WaitGroup
		for i, s := range []*mongostore.Store{a, b} {
			group.Go(func() {
				_, errs[i] = s.PutSegment(context.Background(), segmentOf(head, fmt.Sprint(round, " of ", i), round+1))
			})
		}
		group.Wait()
		reasons := []memory.Reason{memory.ReasonOf(errs[0]), memory.ReasonOf(errs[1])}
		slices.Sort(reasons)
		if (errs[0] == nil) == (errs[1] == nil) || reasons[1] != memory.ReasonContention {
			t.Fatalf("round %d: errors %v and %v, want one CONTENTION", round, errs[0], errs[1])
		}
		wantCensus(t, b, census{Indexed: int(round) + 1})
	}
}

func TestSegmentsToEmbedAreFoundBehindManifestsOfUsersWhoAreGone(t *testing.T) {
	name := database(t)
	s := open(t, name)
	for i := range 3 { // as a write leaves them that comes after the erasure
		gone := bson.D{
			{Key: "_id", Value: fmt.Sprintf("%032d", i)},
			{Key: "rev", Value: 1},
			{Key: "segments", Value: bson.A{bson.D{{Key: "no", Value: 1}, {Key: "embedding", Value: 0}}}},
		}
		if _, err := client(t).Database(name).Collection("lexicons").InsertOne(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
	}
	ref := alice.Session("s")
	mustAppend(t, s, say(ref, "one"))
	head := mustSession(t, s, ref)
	no := mustPut(t, s, segmentOf(head, "segment", 1))
	for _, limit := range []int{1, 2, 9} {
		got, err := s.SegmentsToEmbed(t.Context(), 1, limit)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]store.SegmentRef{{User: alice, Scope: head.ScopeKey, No: no}}, got); diff != "" {
			t.Errorf("at most %d (-want +got):\n%s", limit, diff)
		}
	}
}

func TestReplicasThatIndexDifferentTurnsAtOnceBothSucceed(t *testing.T) {
	a, b, head := threeTurns(t)
	errs := make([]error, 2)
	var group sync.WaitGroup
	for i, s := range []*mongostore.Store{a, b} {
		group.Go(func() {
			_, errs[i] = s.PutSegment(context.Background(), segmentOf(head, fmt.Sprint(i), int64(i+1)))
		})
	}
	group.Wait()
	if errs[0] != nil || errs[1] != nil {
		t.Fatalf("errors %v and %v", errs[0], errs[1])
	}
	wantCensus(t, a, census{Indexed: 2, Unindexed: []string{"three"}})
}

// Every read must find each of the messages once, in a segment or outside, while another replica indexes them one by one,
// merges segments and retires them all.
func TestSearchIndexNeverMissesNorDoublesAMessageWhileAnotherReplicaWrites(t *testing.T) {
	const turns = 24
	a, b, ref := pair(t)
	for n := range turns {
		mustAppend(t, a, say(ref, fmt.Sprint(n+1)))
	}
	head, done := mustSession(t, a, ref), make(chan struct{})
	go func() {
		defer close(done)
		for round := range 3 {
			if err := indexOneByOne(a, head, turns, round); err != nil {
				t.Errorf("round %d: %v", round, err)
				return
			}
		}
	}()
	reads := 0
	for ended := false; !ended; reads++ {
		select {
		case <-done:
			ended = true
		default:
		}
		c := count(t, b)
		if distinct := slices.Compact(slices.Sorted(slices.Values(c.Unindexed))); c.Indexed+len(distinct) != turns {
			t.Fatalf("read %d: %d messages in segments, %d outside, want %d together", reads, c.Indexed, len(distinct), turns)
		}
	}
	t.Logf("%d reads", reads)
}

func TestWhatIsPendingIsReadAgainWhenTheIndexChangedMeanwhile(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *mongostore.Store, memory.Session){
		"by a segment": func(t *testing.T, s *mongostore.Store, head memory.Session) {
			mustPut(t, s, segmentOf(head, "y", 2))
		},
		"by a retirement": func(t *testing.T, s *mongostore.Store, _ memory.Session) { mustRetire(t, s) },
	} {
		t.Run(name, func(t *testing.T) {
			a, b, head := threeTurns(t)
			mustPut(t, a, segmentOf(head, "x", 1))
			request := store.OneRequest(t.Context())
			countIn(request, t, a) // from here on the store knows a revision
			change(t, b, head)
			for name, ctx := range map[string]context.Context{"alone": t.Context(), "searched again in a request": request} {
				if diff := cmp.Diff(count(t, b), countIn(ctx, t, a)); diff != "" {
					t.Errorf("%s: what was found of the index (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// commands counts the commands of a context.
type commands struct{ atomic.Int64 }

func (c *commands) IdleBegins() { c.Add(1) }
func (c *commands) IdleEnds()   {}

// TestCommandsOfTheReadsOfAContext holds how many commands the reads of a warm context send: how many of them wait for each other
// is held by package service.
func TestCommandsOfTheReadsOfAContext(t *testing.T) {
	a, _, head := threeTurns(t)
	mustPut(t, a, segmentOf(head, "x", 1, 2))
	count(t, a) // from here on the store knows a revision
	search := store.SearchIndexQuery{User: alice, SessionID: head.Ref.SessionID, MaxUnindexed: 9}
	tail := store.MessageQuery{Ref: head.Ref, Before: head.LastSeq + 1, NewestFirst: true, Limit: 9}
	covered := tail
	covered.After = 1
	request := store.OneRequest(t.Context())
	for _, read := range []struct {
		name     string
		commands int64
		do       func(context.Context) error
	}{
		{"the user and the session", 2, func(ctx context.Context) error { _, _, err := a.SessionHead(ctx, head.Ref); return err }},
		{"two cursors; the jobs; pending turns, then the manifest", 5, func(ctx context.Context) error {
			_, err := a.SessionWork(ctx, head.Ref)
			return err
		}},
		{"sessions and turns of those that are pending, read with the work", 2, func(ctx context.Context) error {
			_, err := a.SearchIndex(ctx, search)
			return err
		}},
		{"the turns to the session's end", 1, func(ctx context.Context) error { _, err := a.Messages(ctx, tail); return err }},
		{"those after a summary", 1, func(ctx context.Context) error { _, err := a.Messages(ctx, covered); return err }},
		{"the summaries of a session", 1, func(ctx context.Context) error { _, err := a.TopNodes(ctx, head.Ref, 9); return err }},
		{"facts that have not changed", 0, func(ctx context.Context) error { _, err := a.FactsSince(ctx, alice, 0); return err }},
		{"where contexts start; hidden messages", 2, func(ctx context.Context) error { _, err := a.Hidden(ctx, alice); return err }},
		{"turns; their sessions", 2, func(ctx context.Context) error {
			_, err := a.MessagesAt(ctx, store.PlacesQuery{User: alice, Places: []memory.Place{{Session: head.Key, Seq: 1}}})
			return err
		}},
	} {
		sent := &commands{}
		if err := read.do(backendlatency.Notify(request, sent)); err != nil {
			t.Fatal(err)
		}
		if sent.Load() != read.commands {
			t.Errorf("%s: %d commands, want %d", read.name, sent.Load(), read.commands)
		}
	}
}

// TestCommandsOfTheLooksForWork holds what a server sends again and again though there is nothing to do.
func TestCommandsOfTheLooksForWork(t *testing.T) {
	s := open(t, database(t))
	looks := map[string]func(context.Context) error{
		"turns to index": func(ctx context.Context) error { _, err := s.PendingUsers(ctx, 9); return err },
		"parked jobs": func(ctx context.Context) error {
			_, err := s.ParkedJobs(ctx, store.ParkedQuery{Reason: "r", Before: noon, Limit: 9})
			return err
		},
	}
	for _, view := range memory.Views() {
		looks["feeds of "+view.String()] = func(ctx context.Context) error { _, err := s.PendingFeeds(ctx, view, 9); return err }
	}
	for name, look := range looks {
		sent := &commands{}
		must(t, look(backendlatency.Notify(t.Context(), sent)))
		if sent.Load() != 1 {
			t.Errorf("%s: %d commands, want 1", name, sent.Load())
		}
	}
}

func TestTheFirstPendingTurnOfASessionIsTheSameInARequest(t *testing.T) {
	a, _, head := threeTurns(t)
	other := alice.Session("other")
	mustAppend(t, a, say(other, "before"))
	mustPut(t, a, segmentOf(head, "x", 1))
	for _, want := range []struct {
		ref  memory.SessionRef
		from int64
	}{{head.Ref, 2}, {other, 1}} {
		for name, ctx := range map[string]context.Context{"alone": t.Context(), "in a request": store.OneRequest(t.Context())} {
			if work, err := a.SessionWork(ctx, want.ref); err != nil || work.UnindexedFrom != want.from {
				t.Errorf("%s: session %s: unindexed from %d, error %v, want %d", name, want.ref.SessionID, work.UnindexedFrom, err, want.from)
			}
		}
	}
}

// indexOneByOne writes a segment for each turn, merges four at a time, and retires them at the end.
func indexOneByOne(s *mongostore.Store, head memory.Session, turns, round int) error {
	ctx, nos := context.Background(), []int64{}
	for n := range turns {
		no, err := s.PutSegment(ctx, segmentOf(head, fmt.Sprint(round, " ", n), int64(n+1)))
		if err != nil {
			return fmt.Errorf("put segment: %w", err)
		}
		if nos = append(nos, no); len(nos) < 4 {
			continue
		}
		merge := segmentOf(head, fmt.Sprint(round, " merged ", n))
		merge.Messages, merge.Replaces, nos = len(nos), nos, nil
		if _, err := s.PutSegment(ctx, merge); err != nil {
			return fmt.Errorf("merge: %w", err)
		}
	}
	_, err := s.RetireSegments(ctx, store.RetireQuery{User: &head.Ref.UserRef})
	return err
}

func TestPutSegmentTellsHeadsOfTurnsThatTheyDoNotKnowOf(t *testing.T) {
	name, ref := database(t), alice.Session("s")
	a, b := open(t, name), open(t, name)
	mustAppend(t, a, say(ref, "one"))
	sessions := client(t).Database(name).Collection("conversations")
	before := document(t, sessions)
	mustAppend(t, a, say(ref, "two"))
	restore(t, sessions, before) // as if the server had died after it inserted the turn
	mustPut(t, b, segmentOf(mustSession(t, b, ref), "x", 1, 2))
	if got := mustSession(t, b, ref).LastSeq; got != 2 {
		t.Errorf("the head ends at %d, want 2", got)
	}
}

// BenchmarkSearchIndex reads the index of a user with eight segments and two pending messages.
func BenchmarkSearchIndex(b *testing.B) {
	s, ref := open(b, database(b)), alice.Session("s")
	for n := range 10 {
		mustAppend(b, s, say(ref, fmt.Sprint(n)))
	}
	head := mustSession(b, s, ref)
	for n := range int64(8) {
		mustPut(b, s, segmentOf(head, fmt.Sprint(n), n+1))
	}
	drive(b, 1, func(int) error {
		got, err := s.SearchIndex(b.Context(), store.SearchIndexQuery{User: alice, SessionID: "s", MaxUnindexed: 100})
		if len(got.Unindexed) != 2 {
			b.Errorf("%d messages are unindexed", len(got.Unindexed))
		}
		return err
	})
}

// BenchmarkPutSegment indexes one turn at a time.
func BenchmarkPutSegment(b *testing.B) {
	s, ref := open(b, database(b)), alice.Session("s")
	mustAppend(b, s, say(ref, "0"))
	head := mustSession(b, s, ref)
	for n := int64(2); b.Loop(); n++ {
		b.StopTimer()
		mustAppend(b, s, say(ref, fmt.Sprint("message ", n)))
		b.StartTimer()
		mustPut(b, s, segmentOf(head, fmt.Sprint(n), n))
	}
}
