package mongostore_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/mongostore"
)

var (
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	alice = memory.UserRef{Tenant: "acme", UserID: "alice"}
)

// say is a turn of messages by a user, with words from their ids.
func say(ref memory.SessionRef, ids ...string) store.AppendParams {
	p := store.AppendParams{Ref: ref, Time: noon}
	for _, id := range ids {
		m := memory.Message{
			ID: id, Role: memory.RoleUser, Origin: memory.OriginUser, Extract: memory.ExtractAllow,
			Parts: []memory.Part{memory.TextPart("words of " + id)}, CreateTime: noon,
		}
		p.Messages = append(p.Messages, store.NewMessage{Message: m, BodyDigest: memory.IDDigest(id)})
	}
	return p
}

func mustAppend(t testing.TB, s *mongostore.Store, p store.AppendParams) store.AppendResult {
	t.Helper()
	res, err := s.Append(t.Context(), p)
	if err != nil {
		t.Fatalf("Append: %v", err)
	}
	return res
}

func mustSession(t testing.TB, s *mongostore.Store, ref memory.SessionRef) memory.Session {
	t.Helper()
	head, err := s.Session(t.Context(), ref)
	if err != nil {
		t.Fatalf("Session: %v", err)
	}
	return head
}

// TestSequenceConflicts: a server whose turn finds its place taken counts that, and stores the turn behind the other's.
func TestSequenceConflicts(t *testing.T) {
	t.Parallel()
	name := database(t)
	a, b := open(t, name), open(t, name)
	ref := alice.Session("s")
	mustAppend(t, a, say(ref, "a1"))
	mustAppend(t, b, say(ref, "b1"))
	if n := a.SequenceConflicts() + b.SequenceConflicts(); n != 0 {
		t.Fatalf("%d conflicts of servers that read the session's end first", n)
	}
	mustAppend(t, a, say(ref, "a2"))
	if a.SequenceConflicts() != 1 || b.SequenceConflicts() != 0 {
		t.Errorf("conflicts: %d and %d, want 1 of the server that did not know of the other's turn", a.SequenceConflicts(), b.SequenceConflicts())
	}
	if got := stored(t, b, ref); !slices.Equal(got, []string{"a1", "b1", "a2"}) {
		t.Errorf("stored %v", got)
	}
}

// stored returns the ids of the session's messages, and fails when their seqs are not 1..n.
func stored(t testing.TB, s *mongostore.Store, ref memory.SessionRef) []string {
	t.Helper()
	messages, err := s.Messages(t.Context(), store.MessageQuery{Ref: ref, Limit: 100_000})
	if err != nil {
		t.Fatalf("Messages: %v", err)
	}
	ids := make([]string, len(messages))
	for i, m := range messages {
		if ids[i] = m.ID; m.Seq != int64(i)+1 {
			t.Errorf("message %d has seq %d", i+1, m.Seq)
		}
	}
	return ids
}

func TestThreeReplicasWriteOneSessionInOneOrder(t *testing.T) {
	const writers, turns = 16, 5
	name, ref := database(t), alice.Session("shared")
	var replicas []*mongostore.Store
	for range 3 {
		replicas = append(replicas, open(t, name))
	}
	var group sync.WaitGroup
	for r, s := range replicas {
		for w := range writers {
			group.Go(func() {
				for n := range turns {
					id := fmt.Sprintf("r%d-w%d-%d", r, w, n)
					p := say(ref, id+"-a", id+"-b")
					p.RequestID, p.RequestDigest = id, memory.IDDigest(id)
					first := appendUntilDone(t, s, p)
					if again := appendUntilDone(t, replicas[(r+n)%3], p); again.FirstSeq != first.FirstSeq || !again.Replayed {
						t.Errorf("a repeat of %s was answered seq %d (replayed %v), the first seq %d", id, again.FirstSeq, again.Replayed, first.FirstSeq)
					}
				}
			})
		}
	}
	group.Wait()
	ids := stored(t, replicas[0], ref)
	if want := 3 * writers * turns * 2; len(ids) != want {
		t.Errorf("%d messages are stored, want %d", len(ids), want)
	}
	slices.Sort(ids)
	if unique := len(slices.Compact(ids)); unique != 3*writers*turns*2 {
		t.Errorf("%d ids are stored, want each once", unique)
	}
	if head := mustSession(t, replicas[1], ref); head.LastTurnNo != 3*writers*turns || head.LastSeq != 2*head.LastTurnNo {
		t.Errorf("the head says turn %d and seq %d", head.LastTurnNo, head.LastSeq)
	}
}

// appendUntilDone repeats a call that others outran, as clients do.
func appendUntilDone(t *testing.T, s *mongostore.Store, p store.AppendParams) store.AppendResult {
	for range 20 {
		res, err := s.Append(t.Context(), p)
		if memory.ReasonOf(err) != memory.ReasonContention {
			if err != nil {
				t.Errorf("Append: %v", err)
			}
			return res
		}
	}
	t.Error("Append was refused 20 times")
	return store.AppendResult{}
}

func TestAReplicaThatIsBehind(t *testing.T) {
	t.Run("numbers on from what the other stored", func(t *testing.T) {
		a, b, ref := pair(t)
		mustAppend(t, a, say(ref, "1"))
		mustAppend(t, b, say(ref, "2"))
		if res := mustAppend(t, a, say(ref, "3")); res.FirstSeq != 3 || res.TurnNo != 3 {
			t.Errorf("the third message has seq %d in turn %d", res.FirstSeq, res.TurnNo)
		}
	})
	t.Run("skips messages that the other stored", func(t *testing.T) {
		a, b, ref := pair(t)
		mustAppend(t, a, say(ref, "1"))
		mustAppend(t, b, say(ref, "2"))
		res := mustAppend(t, a, say(ref, "1", "2", "3"))
		if res.FirstSeq != 3 || res.LastSeq != 3 || !slices.Equal(res.Deduplicated, []string{"1", "2"}) {
			t.Errorf("the result is %+v", res)
		}
	})
	t.Run("refuses an expectation that the other made wrong, and none that it made right", func(t *testing.T) {
		a, b, ref := pair(t)
		mustAppend(t, a, say(ref, "1"))
		mustAppend(t, b, say(ref, "2"))
		one, two := int64(1), int64(2)
		stale := say(ref, "3")
		stale.ExpectedLastSeq = &one
		if _, err := a.Append(t.Context(), stale); memory.ReasonOf(err) != memory.ReasonLastSeqMismatch {
			t.Errorf("the stale expectation gave %v", err)
		}
		mustAppend(t, b, say(ref, "4"))
		right, three := say(ref, "5"), int64(3)
		right.ExpectedLastSeq = &three
		mustAppend(t, a, right)
		right.ExpectedLastSeq = &two
		if _, err := b.Append(t.Context(), right); memory.ReasonOf(err) != memory.ReasonLastSeqMismatch {
			t.Errorf("the other stale expectation gave %v", err)
		}
	})
	t.Run("leaves alone what the other's turns were done with", func(t *testing.T) {
		a, b, ref := pair(t)
		at := func(s *mongostore.Store, id string, hour int) {
			p := say(ref, id)
			p.Time = noon.Add(time.Duration(hour) * time.Hour)
			mustAppend(t, s, p)
		}
		at(a, "1", 0)
		at(b, "2", 1)
		work := mustWork(t, b, ref)
		must(t, b.DeferSession(t.Context(), store.Deferral{Ref: ref, Session: work.Session.Key, LastSeq: 2, Seen: work.LookAt}))
		feed, err := b.Feed(t.Context(), memory.ViewTranscript, ref)
		must(t, err)
		must(t, b.SetCheckpoint(t.Context(), store.CheckpointUpdate{Feed: feed, Build: 1, Checkpoint: feed.Head, Seen: feed.Head}))
		at(a, "3", 2)
		feed, err = a.Feed(t.Context(), memory.ViewTranscript, ref)
		must(t, err)
		same(t, []time.Time{mustWork(t, a, ref).LookAt, feed.Since}, []time.Time{noon.Add(2 * time.Hour), noon.Add(2 * time.Hour)})
	})
	t.Run("merges patches into the state that the other left", func(t *testing.T) {
		a, b, ref := pair(t)
		for i, s := range []*mongostore.Store{a, b, a, b} {
			p := say(ref)
			p.StatePatch = fmt.Appendf(nil, `{"k%d":%d}`, i, i)
			mustAppend(t, s, p)
		}
		if got := string(mustSession(t, a, ref).State); got != `{"k0":0,"k1":1,"k2":2,"k3":3}` {
			t.Errorf("the state is %s", got)
		}
	})
}

func pair(t *testing.T) (a, b *mongostore.Store, ref memory.SessionRef) {
	name := database(t)
	return open(t, name), open(t, name), alice.Session("s")
}

// A server that dies between the two writes of an Append leaves a turn that its session's document does not know of.
func TestATurnWhoseHeadUpdateWasLostIsCaughtUp(t *testing.T) {
	for name, next := range map[string]func(*testing.T, *mongostore.Store, memory.Session){
		"by the next Append": func(t *testing.T, s *mongostore.Store, head memory.Session) {
			if res := mustAppend(t, s, say(head.Ref, "3")); res.TurnNo != 3 || res.FirstSeq != 3 || res.StateRevision != 2 {
				t.Errorf("the next turn is %+v", res)
			}
		},
		"by a repeat of its request": func(t *testing.T, s *mongostore.Store, head memory.Session) {
			if res := mustAppend(t, s, lost(head.Ref)); res.TurnNo != 2 || !res.Replayed {
				t.Errorf("the repeat was answered %+v", res)
			}
		},
		"when it is indexed": func(t *testing.T, s *mongostore.Store, head memory.Session) {
			if err := s.CatchUp(t.Context(), head.Key); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := database(t)
			before := open(t, db)
			ref := alice.Session("s")
			mustAppend(t, before, say(ref, "1"))
			old := document(t, client(t).Database(db).Collection("conversations"))
			mustAppend(t, before, lost(ref))
			restore(t, client(t).Database(db).Collection("conversations"), old)
			after := open(t, db)
			next(t, after, mustSession(t, after, ref))
			head := mustSession(t, after, ref)
			if head.LastTurnNo < 2 || head.LastSeq < 2 || string(head.State) != `{"a":1}` || head.StateRevision != 2 {
				t.Errorf("the head is %+v", head)
			}
			feed, err := after.Feed(t.Context(), memory.ViewTranscript, ref)
			if err != nil || feed.Head.Seq != head.LastSeq || feed.Since.IsZero() {
				t.Errorf("the feed is %+v, error %v", feed, err)
			}
		})
	}
}

func lost(ref memory.SessionRef) store.AppendParams {
	p := say(ref, "2")
	p.RequestID, p.RequestDigest, p.StatePatch = "lost", memory.IDDigest("lost"), []byte(`{"a":1}`)
	return p
}

// document returns the only document of a collection.
func document(t *testing.T, c *mongo.Collection) (d bson.D) {
	t.Helper()
	if err := c.FindOne(t.Context(), bson.D{}).Decode(&d); err != nil {
		t.Fatal(err)
	}
	return d
}

func restore(t *testing.T, c *mongo.Collection, d bson.D) {
	t.Helper()
	if _, err := c.ReplaceOne(t.Context(), bson.D{}, d); err != nil {
		t.Fatal(err)
	}
}

func TestAppendGoesOnInTheNextLifeOfAUserThatAnotherReplicaErased(t *testing.T) {
	name, ref := database(t), alice.Session("s")
	s := open(t, name)
	mustAppend(t, s, say(ref, "1"))
	old := mustSession(t, s, ref)
	for _, c := range []string{"turns", "conversations", "users"} {
		if _, err := client(t).Database(name).Collection(c).DeleteMany(t.Context(), bson.D{}); err != nil {
			t.Fatal(err)
		}
	}
	if res := mustAppend(t, s, say(ref, "2")); res.FirstSeq != 1 || res.TurnNo != 1 {
		t.Errorf("the first turn of the new life is %+v", res)
	}
	if head := mustSession(t, s, ref); head.Key == old.Key || head.ScopeKey == old.ScopeKey {
		t.Error("the new life has keys of the old one")
	}
	if n, err := client(t).Database(name).Collection("turns").CountDocuments(t.Context(), bson.D{}); n != 1 || err != nil {
		t.Errorf("%d turns are stored, error %v", n, err)
	}
	if got := stored(t, s, ref); !slices.Equal(got, []string{"2"}) {
		t.Errorf("the session holds %v", got)
	}
}

func TestARefusedCallCreatesNeitherUserNorSession(t *testing.T) {
	name, one := database(t), int64(1)
	s := open(t, name)
	p := say(alice.Session("s"), "1")
	p.ExpectedLastSeq = &one
	if _, err := s.Append(t.Context(), p); memory.ReasonOf(err) != memory.ReasonLastSeqMismatch {
		t.Fatalf("Append: %v", err)
	}
	if _, err := s.User(t.Context(), alice); memory.ReasonOf(err) != memory.ReasonUserNotFound {
		t.Errorf("User: %v", err)
	}
}

func TestACallThatIsRefusedFailsAlone(t *testing.T) {
	s, ref := open(t, database(t)), alice.Session("s")
	mustAppend(t, s, say(ref, "taken"))
	const good = 20
	var group sync.WaitGroup
	refused := make(chan error, good)
	for i := range good {
		group.Go(func() { mustAppendIn(t, s, say(ref, fmt.Sprint(i))) })
		group.Go(func() {
			p := say(ref, fmt.Sprint("bad-", i), "taken")
			p.Messages[1].BodyDigest = memory.IDDigest("another body")
			_, err := s.Append(context.WithoutCancel(t.Context()), p)
			refused <- err
		})
	}
	group.Wait()
	for range good {
		if err := <-refused; memory.ReasonOf(err) != memory.ReasonMessageIDReused {
			t.Errorf("a reused id gave %v", err)
		}
	}
	if got := len(stored(t, s, ref)); got != good+1 {
		t.Errorf("%d messages are stored, want %d", got, good+1)
	}
}

// mustAppendIn is mustAppend for goroutines.
func mustAppendIn(t *testing.T, s *mongostore.Store, p store.AppendParams) {
	if _, err := s.Append(t.Context(), p); err != nil {
		t.Errorf("Append: %v", err)
	}
}
