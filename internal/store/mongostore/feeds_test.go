package mongostore_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/mongostore"
)

// A mark that comes while the view is rebuilt must not make a feed of the new build look as if it had been told.
func TestMarksThatMeetARebuildLeaveEveryFeedPending(t *testing.T) {
	const sessions = 20
	name := database(t)
	s, other := open(t, name), open(t, name)
	for n := range sessions {
		mustAppend(t, s, say(alice.Session(fmt.Sprint(n)), "1"))
	}
	found, err := s.PendingFeeds(t.Context(), memory.ViewTranscript, sessions)
	if err != nil || len(found) != sessions {
		t.Fatalf("%d feeds wait, error %v", len(found), err)
	}
	var group sync.WaitGroup
	for _, f := range found {
		group.Go(func() { markOld(t, other, f) })
	}
	if _, err := s.RebuildView(t.Context(), memory.ViewTranscript, noon); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	pending, all, err := s.CountFeeds(t.Context(), memory.ViewTranscript)
	if err != nil || pending != sessions || all != sessions {
		t.Errorf("%d of %d feeds wait, error %v", pending, all, err)
	}
	again, err := s.PendingFeeds(t.Context(), memory.ViewTranscript, sessions)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range again {
		if f.Checkpoint != (store.Checkpoint{}) {
			t.Errorf("a feed of the new build says it was told %+v", f.Checkpoint)
		}
	}
}

// markOld marks the feed as told in the first build until that is refused.
func markOld(t *testing.T, s *mongostore.Store, f store.Feed) {
	for {
		err := s.SetCheckpoint(t.Context(), store.CheckpointUpdate{Feed: f, Build: 1, Checkpoint: f.Head, Seen: f.Head})
		if memory.ReasonOf(err) == memory.ReasonContention {
			return
		}
		if err != nil {
			t.Errorf("SetCheckpoint: %v", err)
			return
		}
	}
}

func TestARebuild(t *testing.T) {
	const sessions = 2500 // more than one write changes
	name := database(t)
	s := open(t, name)
	var docs []bson.D
	for n := range sessions {
		key := fmt.Sprintf("%032x", n)
		docs = append(docs, bson.D{{Key: "_id", Value: key}, {Key: "scope", Value: "a"}, {Key: "session_id", Value: key}, {Key: "last_seq", Value: 1}})
	}
	later := bson.D{{Key: "reset", Value: 9}, {Key: "build", Value: 9}, {Key: "seq", Value: 1}}
	docs[0] = append(docs[0], bson.E{Key: "feed", Value: later})
	_, err := client(t).Database(name).Collection("conversations").InsertMany(t.Context(), docs)
	must(t, err)
	_, err = s.RebuildView(t.Context(), memory.ViewTranscript, noon)
	must(t, err)
	t.Run("makes every feed wait but one that a later rebuild has had", func(t *testing.T) {
		pending, all, err := s.CountFeeds(t.Context(), memory.ViewTranscript)
		must(t, err)
		same(t, []int64{pending, all}, []int64{sessions - 1, sessions})
	})
}

// The erasure of a user deletes the index, then the user; an index that was written meanwhile is left until the erasure is swept.
func TestFeedsOfUsersWhoAreGoneTakeNoPlaceOfOthers(t *testing.T) {
	name := database(t)
	s := open(t, name)
	mustAppend(t, s, say(alice.Session("s"), "1"))
	scope := mustSession(t, s, alice.Session("s")).ScopeKey
	_, err := s.PutSegment(t.Context(), store.SegmentWrite{
		User: alice, Scope: scope, Analyzer: "a", Messages: 1, Data: []byte("1"), Time: noon,
	})
	must(t, err)
	var left []bson.D
	for _, scope := range []string{"1", "2"} {
		feed := bson.D{{Key: "at", Value: noon.Add(-time.Minute).UnixMicro()}}
		left = append(left, bson.D{{Key: "_id", Value: scope}, {Key: "last_no", Value: 1}, {Key: "feed", Value: feed}})
	}
	_, err = client(t).Database(name).Collection("lexicons").InsertMany(t.Context(), left)
	must(t, err)
	for limit := 1; limit <= 3; limit++ {
		found, err := s.PendingFeeds(t.Context(), memory.ViewMessageVectors, limit)
		must(t, err)
		if len(found) != 1 || found[0].User != alice {
			t.Errorf("of %d at most, found %+v", limit, found)
		}
	}
}
