package storecopy_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/storecopy"
)

var day = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// copied is a full file that was copied, with the copy as what is written to from now on.
func copied(t *testing.T) *copying {
	t.Helper()
	c := newCopying(t)
	c.mustRun()
	c.filler.s = c.to
	return c
}

func wantReason(t *testing.T, err error, want memory.Reason) {
	t.Helper()
	if memory.ReasonOf(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func wantSame[T any](t *testing.T, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

func TestASessionGoesOnInTheCopy(t *testing.T) {
	c := copied(t)
	for _, ref := range []memory.SessionRef{full.Session("s"), hostile} {
		t.Run("a request that was answered is answered the same again", func(t *testing.T) {
			p := c.turn(ref, 1)
			first := done[store.AppendResult](t)(c.from.Append(t.Context(), p))
			if again := c.append(p); !again.Replayed || again.TurnNo != 2 {
				t.Errorf("the answer was %+v", again)
			} else {
				wantSame(t, again, first)
			}
			p.RequestDigest = memory.IDDigest("another body")
			_, err := c.to.Append(t.Context(), p)
			wantReason(t, err, memory.ReasonRequestIDReused)
		})
		t.Run("a message that is known is passed over, and refused with another body", func(t *testing.T) {
			p := c.turn(ref, 0)
			p.RequestID = "another"
			res := c.append(p)
			wantSame(t, res.Deduplicated, []string{"m-0-0", "m-0-1"})
			p.RequestID, p.Messages[0].BodyDigest = "", memory.IDDigest("another body")
			_, err := c.to.Append(t.Context(), p)
			wantReason(t, err, memory.ReasonMessageIDReused)
		})
		t.Run("the next turn follows the last one, with its state and steps", func(t *testing.T) {
			before := done[memory.Session](t)(c.to.Session(t.Context(), ref))
			p := c.turn(ref, 100)
			p.Messages = p.Messages[1:]
			p.ExpectedLastSeq = &before.LastSeq
			p.StatePatch = []byte(`{"new":1,"n":null}`)
			res := c.append(p)
			wantSame(t, []int64{res.TurnNo, res.FirstSeq, int64(res.StepsSinceUser)}, []int64{before.LastTurnNo + 1, before.LastSeq + 1, int64(before.StepsSinceUser) + 1})
			after := done[memory.Session](t)(c.to.Session(t.Context(), ref))
			wantSame(t, string(after.State), `{"last":{"k":"v"},"new":1}`)
			wantSame(t, after.ETag, before.ETag)
		})
		t.Run("its tool calls are known", func(t *testing.T) {
			known := done[[]string](t)(c.to.KnownToolCalls(t.Context(), ref, []string{"call-0", "call-99"}))
			wantSame(t, known, []string{"call-0"})
		})
	}
}

func TestTheWorkOfASessionGoesOnInTheCopy(t *testing.T) {
	c := copied(t)
	ref := full.Session("s")
	want := done[store.SessionWork](t)(c.from.SessionWork(t.Context(), ref))
	got := done[store.SessionWork](t)(c.to.SessionWork(t.Context(), ref))
	wantSame(t, got.UnindexedFrom, int64(1))
	got.UnindexedFrom = want.UnindexedFrom
	wantSame(t, got, want)
	wantStats := done[store.WorkStats](t)(c.from.WorkStats(t.Context()))
	wantSame(t, done[store.WorkStats](t)(c.to.WorkStats(t.Context())), wantStats)
	t.Run("a job that does not follow the last one is refused", func(t *testing.T) {
		head := done[memory.Session](t)(c.to.Session(t.Context(), ref))
		_, err := c.to.OpenJob(t.Context(), store.JobOpening{User: full, To: 20, Time: c.now(), JobKey: memory.JobKey{
			Scope: head.ScopeKey, Session: head.Key, Kind: memory.JobExtract, From: 16, Generation: 1,
		}})
		wantReason(t, err, memory.ReasonContention)
	})
	t.Run("the next job follows the last one", func(t *testing.T) {
		job := c.open(ref, memory.JobExtract, 0, 17, 18)
		wantSame(t, job.State, memory.JobOpen)
		wantSame(t, done[store.SessionWork](t)(c.to.SessionWork(t.Context(), ref)).ExtractCursor, int64(18))
	})
	t.Run("a parked job is retried with the answer that it has", func(t *testing.T) {
		parked := done[[]memory.Job](t)(c.to.ListJobs(t.Context(), store.JobQuery{
			Tenant: full.Tenant, UserID: full.UserID, States: []memory.JobState{memory.JobParked}, Limit: 9,
		}))
		job := done[memory.Job](t)(c.to.RetryJob(t.Context(), store.JobRetry{JobRef: store.JobRef{User: full, ID: parked[0].ID()}, Time: c.now()}))
		wantSame(t, job.State, memory.JobAnswered)
	})
	t.Run("summaries are read as from the source, and those above pass over those below", func(t *testing.T) {
		for through := range int64(23) {
			want := done[[]memory.SummaryNode](t)(c.from.TopNodes(t.Context(), ref, through))
			got := done[[]memory.SummaryNode](t)(c.to.TopNodes(t.Context(), ref, through))
			wantSame(t, nodeIDs(got), nodeIDs(want))
		}
		tops, err := c.db.Collection("nodes").CountDocuments(t.Context(), bson.D{
			{Key: "level", Value: 0},
			{Key: "leaf", Value: true},
			{Key: "under", Value: bson.D{{Key: "$in", Value: bson.A{int64(8), int64(16)}}}},
		})
		wantSame(t, done[int64](t)(tops, err), int64(4))
	})
	t.Run("a leaf covers more of the session", func(t *testing.T) {
		c.node(ref, memory.JobLeaf, 0, 17, 18, func(*memory.SummaryNode) {})
		recent := done[[]store.SessionSummary](t)(c.to.RecentSessions(t.Context(), store.RecentQuery{User: full, Limit: 9}))
		wantSame(t, len(recent[0].Nodes), 2)
	})
}

func nodeIDs(nodes []memory.SummaryNode) (ids []string) {
	for _, n := range nodes {
		ids = append(ids, n.ID)
	}
	return ids
}

func TestFactsGoOnInTheCopy(t *testing.T) {
	c := copied(t)
	ctx := t.Context()
	before := done[store.FactState](t)(c.to.FactsSince(ctx, full, 0))
	source := done[store.FactState](t)(c.from.FactsSince(ctx, full, 0))
	source.Checkpoint = store.Checkpoint{}
	if diff := cmp.Diff(source, before); diff != "" {
		t.Errorf("facts (-source +copy):\n%s", diff)
	}
	for _, e := range done[[]memory.Embedding](t)(c.from.Embeddings(ctx)) {
		wantTexts := done[[]store.FactText](t)(c.from.FactsToEmbed(ctx, store.EmbedQuery{Version: e.Version, User: &full, Limit: 99}))
		gotTexts := done[[]store.FactText](t)(c.to.FactsToEmbed(ctx, store.EmbedQuery{Version: e.Version, User: &full, Limit: 99}))
		byID := func(a, b store.FactText) int { return strings.Compare(a.FactID, b.FactID) }
		slices.SortFunc(wantTexts, byID)
		slices.SortFunc(gotTexts, byID)
		wantSame(t, gotTexts, wantTexts)
		wantSame(t, done[[]store.FactVector](t)(c.to.FactVectors(ctx, store.FactVectorQuery{User: full, Version: e.Version})),
			done[[]store.FactVector](t)(c.from.FactVectors(ctx, store.FactVectorQuery{User: full, Version: e.Version})))
	}
	t.Run("a vector gets the next number", func(t *testing.T) {
		c.vectors(full, 2, "f1")
		c.vectors(full, 2, "f3")
		var numbers []int64
		for _, v := range done[[]store.FactVector](t)(c.to.FactVectors(ctx, store.FactVectorQuery{User: full, Version: 2, After: 6})) {
			numbers = append(numbers, v.No)
		}
		wantSame(t, numbers[len(numbers)-2:], []int64{9, 10})
	})
	t.Run("a change is the next revision, and takes the vectors of the old text", func(t *testing.T) {
		c.change(full, "f3", func(f *memory.Fact) { f.Text = "new words" })
		after := done[store.FactState](t)(c.to.FactsSince(ctx, full, before.Revision))
		wantSame(t, after.Revision, before.Revision+1)
		wantSame(t, []string{after.Facts[0].ID, after.Facts[0].Text}, []string{"f3", "new words"})
		for _, v := range done[[]store.FactVector](t)(c.to.FactVectors(ctx, store.FactVectorQuery{User: full, Version: 2})) {
			if v.FactID == "f3" {
				t.Error("the vector of the old text is still there")
			}
		}
	})
	t.Run("a refused operation comes after those that were copied", func(t *testing.T) {
		const new = 997 // so that two of the five that were copied must go
		c.write(full, func(w *store.FactWrite) { w.Quarantined = refusals(w.Time, 0, 500) })
		c.write(full, func(w *store.FactWrite) { w.Quarantined = refusals(w.Time, 500, new) })
		page := done[[]memory.Quarantined](t)(c.to.ListQuarantined(ctx, store.QuarantineQuery{User: full, Limit: 2000}))
		var old []string
		for _, q := range page {
			if strings.HasPrefix(q.ID, "q") {
				old = append(old, q.ID)
			}
		}
		wantSame(t, []any{len(page), old}, []any{1000, []string{"q5", "q6", "q7"}})
	})
}

func refusals(at time.Time, from, to int) (all []memory.Quarantined) {
	for i := from; i < to; i++ {
		all = append(all, memory.Quarantined{ID: fmt.Sprint("new", i), Reason: "malformed", Operation: "{}", Time: at})
	}
	return all
}

func TestTheCopyIsNotIndexedAndViewsAreToldOfAllOfIt(t *testing.T) {
	c := copied(t)
	ctx := t.Context()
	state := done[store.SearchIndexState](t)(c.to.SearchIndex(ctx, store.SearchIndexQuery{User: full, MaxUnindexed: 999}))
	wantSame(t, []int{len(state.Segments), len(state.Unindexed), state.More}, []int{0, 26, 0})
	pending := done[[]store.Turn](t)(c.to.PendingTurns(ctx, store.PendingQuery{User: full, MaxMessages: 999}))
	write := store.SegmentWrite{User: full, Scope: state.Scope, Analyzer: "v1", Messages: 26, Data: []byte("data")}
	for _, turn := range pending {
		write.Turns = append(write.Turns, turn.TurnRef)
	}
	done[int64](t)(c.to.PutSegment(ctx, write))
	state = done[store.SearchIndexState](t)(c.to.SearchIndex(ctx, store.SearchIndexQuery{User: full, MaxUnindexed: 999}))
	wantSame(t, []int{len(state.Segments), len(state.Unindexed), state.More}, []int{1, 0, 0})
	for _, view := range memory.Views() {
		waiting, all, err := c.to.CountFeeds(ctx, view)
		_, want, wantErr := c.from.CountFeeds(ctx, view)
		if err := errors.Join(err, wantErr); err != nil || waiting != all || all != want || all == 0 {
			t.Errorf("%s: %d of %d feeds wait, the source has %d: %v", view, waiting, all, want, err)
		}
	}
}

func TestACopyThatDiffersIsNoticed(t *testing.T) {
	for name, change := range map[string]func(c *copying) error{
		"one turn too many": func(c *copying) error {
			head := done[memory.Session](c.t)(c.from.Session(c.t.Context(), full.Session("s")))
			_, err := c.db.Collection("turns").InsertOne(c.t.Context(), bson.D{{Key: "_id", Value: string(head.Key) + "/00000000000000ff"}})
			return err
		},
		"another text": func(c *copying) error {
			_, err := c.db.Collection("facts").UpdateOne(c.t.Context(), bson.D{{Key: "id", Value: "f3"}},
				bson.D{{Key: "$set", Value: bson.D{{Key: "text", Value: "SECRET"}}}})
			return err
		},
		"a turn that is gone": func(c *copying) error {
			_, err := c.db.Collection("turns").DeleteOne(c.t.Context(), bson.D{{Key: "turn", Value: 12}})
			return err
		},
		"one bit of a vector": func(c *copying) error {
			_, err := c.db.Collection("fact_vectors").UpdateOne(c.t.Context(), bson.D{{Key: "fact", Value: "f3"}},
				bson.D{{Key: "$set", Value: bson.D{{Key: "vector", Value: []byte{1, 2, 3, 4, 5, 6, 7, 8}}}}})
			return err
		},
	} {
		t.Run(name+" while it is copied", func(t *testing.T) {
			c := newCopying(t)
			_, err := c.run(&meddling{Target: c.to, user: full, change: func() error { return change(c) }})
			wantTold(t, err)
			_, err = c.to.User(t.Context(), full)
			wantReason(t, err, memory.ReasonStoreUnavailable)
		})
		t.Run(name+" in a copy that may be served", func(t *testing.T) {
			c := copied(t)
			if err := change(c); err != nil {
				t.Fatal(err)
			}
			before := records(t, c.to, full)
			_, err := c.run(c.to)
			wantTold(t, err)
			wantSame(t, records(t, c.to, full), before)
		})
	}
}

// wantTold wants an error that says what to do and nothing of what is stored.
func wantTold(t *testing.T, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "copy into an empty database") {
		t.Fatalf("the error is %v", err)
	}
	for _, secret := range []string{"SECRET", "text of", full.UserID, "globex", "words"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error has %q in it: %v", secret, err)
		}
	}
}

func TestAUserWhoIsHalfCopiedIsNotServed(t *testing.T) {
	c := newCopying(t)
	_, err := c.run(&flaky{Target: c.to})
	if !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	first := users(t, c.to)[0]
	_, err = c.to.User(t.Context(), first)
	wantReason(t, err, memory.ReasonStoreUnavailable)
	_, err = c.to.Session(t.Context(), first.Session("s"))
	wantReason(t, err, memory.ReasonStoreUnavailable)
	_, err = c.to.FactsSince(t.Context(), first, 0)
	wantReason(t, err, memory.ReasonStoreUnavailable)
	p := c.turn(first.Session("s"), 0)
	_, err = c.to.Append(t.Context(), p)
	wantReason(t, err, memory.ReasonStoreUnavailable)
}

func TestWhatIsServedAlreadyIsNotCopiedOver(t *testing.T) {
	t.Run("a user who was written to since the copy stays", func(t *testing.T) {
		c := copied(t)
		c.append(c.turn(full.Session("s"), 50))
		before := records(t, c.to, full)
		_, err := c.run(c.to)
		wantTold(t, err)
		wantSame(t, records(t, c.to, full), before)
	})
	t.Run("a user of the same id who was made there stays", func(t *testing.T) {
		c := newCopying(t)
		there := filler{t: t, s: c.to}
		there.append(there.turn(full.Session("s"), 0))
		before := records(t, c.to, full)
		_, err := c.run(c.to)
		wantTold(t, err)
		wantSame(t, records(t, c.to, full), before)
	})
	t.Run("embedding versions of other models stay", func(t *testing.T) {
		c := newCopying(t)
		done[memory.Embedding](t)(c.to.AddEmbedding(t.Context(), memory.Embedding{Model: "another", Dimension: 3, Metric: "cosine", CreateTime: day}))
		_, err := c.run(c.to)
		wantTold(t, err)
	})
	t.Run("a version that an idle server made of the same model is no hindrance", func(t *testing.T) {
		from, to := openFile(t, filepath.Join(t.TempDir(), "strata.db")), newTarget(t)
		e := memory.Embedding{Model: "small", Dimension: 2, Metric: "cosine", CreateTime: day}
		done[memory.Embedding](t)(from.AddEmbedding(t.Context(), e))
		e.CreateTime = day.AddDate(0, 0, 1)
		done[memory.Embedding](t)(to.AddEmbedding(t.Context(), e))
		done[storecopy.Progress](t)(storecopy.Copy{From: from, To: to}.Run(t.Context()))
	})
}

func newTarget(t *testing.T) interface {
	store.Target
	store.Vectors
} {
	t.Helper()
	to, _ := openDatabase(t)
	return to
}
