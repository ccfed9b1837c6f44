package mongostore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/mongostore"
)

var (
	learner = memory.UserRef{Tenant: "acme", UserID: "learner"}
	morning = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
)

func learntFact(id string) store.FactChange {
	return store.FactChange{Cause: memory.CauseExtracted, Fact: memory.Fact{
		ID: id, Text: "text of " + id, Category: memory.CategoryPreference, Revision: 1, CreateTime: morning, UpdateTime: morning,
	}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t testing.TB, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

func factsOf(t testing.TB, s *mongostore.Store) store.FactState {
	t.Helper()
	state, err := s.FactsSince(t.Context(), learner, 0)
	must(t, err)
	return state
}

// against is a write against what is stored.
func against(t testing.TB, s *mongostore.Store, changes ...store.FactChange) store.FactWrite {
	t.Helper()
	state := factsOf(t, s)
	return store.FactWrite{User: learner, Scope: state.Scope, Base: state.Revision, Changes: changes, Time: morning}
}

func applied(t testing.TB, s *mongostore.Store, w store.FactWrite) {
	t.Helper()
	_, err := s.ApplyFacts(t.Context(), w)
	must(t, err)
}

func added(t testing.TB, s *mongostore.Store, model string) int {
	t.Helper()
	e, err := s.AddEmbedding(t.Context(), memory.Embedding{Model: model, Dimension: 2, Metric: "cosine", CreateTime: morning})
	must(t, err)
	return e.Version
}

func embed(ctx context.Context, s *mongostore.Store, version int, id string, revision int64) error {
	v := store.NewVector{User: learner, FactID: id, Revision: revision, Vector: []float32{1, 2}}
	return s.PutFactVectors(ctx, store.VectorWrite{Version: version, Vectors: []store.NewVector{v}, Time: morning})
}

func TestAServerDiesAfterItCommittedAWriteToFacts(t *testing.T) {
	t.Run("the next reader of another server sees it, and its job is final", func(t *testing.T) {
		name := database(t)
		dead, next := open(t, name), open(t, name)
		ref := learner.Session("s")
		mustAppend(t, dead, say(ref, "1", "2"))
		opening := jobFrom(mustSession(t, dead, ref), 1, 2)
		opening.Kind = memory.JobExtract
		job := mustOpen(t, dead, opening)
		w := against(t, dead, learntFact("a"))
		w.JobID, w.Quarantined = job.ID(), []memory.Quarantined{{ID: "q", Reason: "malformed", Operation: "{}", Time: morning}}
		raw, err := dead.CommitFacts(t.Context(), w)
		must(t, err)
		after := factsOf(t, next)
		same(t, []any{after.Revision, len(after.Facts)}, []any{int64(1), 1})
		done, err := next.Job(t.Context(), store.JobRef{User: learner, ID: job.ID()})
		must(t, err)
		same(t, done.State, memory.JobApplied)

		must(t, dead.Spread(t.Context(), after.Scope, raw)) // done twice
		applied(t, next, w)                                 // repeated by whoever takes the job up
		same(t, factsOf(t, next), after)
		again, err := next.Job(t.Context(), store.JobRef{User: learner, ID: job.ID()})
		must(t, err)
		same(t, again, done)
		stats, err := next.WorkStats(t.Context())
		must(t, err)
		same(t, stats.Quarantined, map[string]int64{"malformed": 1})
	})
	t.Run("a latecomer does not bring back revisions that were purged since", func(t *testing.T) {
		s := open(t, database(t))
		applied(t, s, store.FactWrite{User: learner, Changes: []store.FactChange{learntFact("a")}, Time: morning})
		edit := learntFact("a")
		edit.Fact.Revision, edit.Fact.Text = 2, "of an erased message"
		raw, err := s.CommitFacts(t.Context(), against(t, s, edit))
		must(t, err)
		edit.Fact.Revision, edit.Fact.Text, edit.Cause = 3, "of what is left", memory.CauseErased
		purging := against(t, s, edit)
		purging.DropEarlier = []string{"a"}
		applied(t, s, purging)
		must(t, s.Spread(t.Context(), purging.Scope, raw))
		history, err := s.FactRevisions(t.Context(), learner, "a")
		must(t, err)
		if len(history) != 1 || history[0].Fact.Text != "of what is left" {
			t.Errorf("the history is %+v", history)
		}
	})
	t.Run("a latecomer does not bring back what was forgotten since, nor its history or an older text", func(t *testing.T) {
		s := open(t, database(t))
		applied(t, s, store.FactWrite{User: learner, Changes: []store.FactChange{learntFact("kept")}, Time: morning})
		edit := learntFact("kept")
		edit.Fact.Revision, edit.Fact.Text = 2, "second text"
		raw, err := s.CommitFacts(t.Context(), against(t, s)) // nothing, only to read the scope
		must(t, err)
		must(t, s.Spread(t.Context(), factsOf(t, s).Scope, raw))
		raw, err = s.CommitFacts(t.Context(), against(t, s, learntFact("gone"), edit))
		must(t, err)
		edit.Fact.Revision, edit.Fact.Text = 3, "third text"
		applied(t, s, against(t, s, edit))
		w := against(t, s)
		w.Forget = []store.ForgetFact{{FactID: "gone"}}
		applied(t, s, w)
		before := factsOf(t, s)
		must(t, s.Spread(t.Context(), before.Scope, raw))
		same(t, factsOf(t, s), before)
		if _, err := s.FactRevisions(t.Context(), learner, "gone"); memory.ReasonOf(err) != memory.ReasonFactNotFound {
			t.Errorf("the history of a forgotten fact is back: %v", err)
		}
	})
}

func TestTwoServersApplyFactsAtOnce(t *testing.T) {
	t.Run("one wins each revision, and nothing is lost or doubled", func(t *testing.T) {
		name := database(t)
		servers := []*mongostore.Store{open(t, name), open(t, name)}
		applied(t, servers[0], store.FactWrite{User: learner, Changes: []store.FactChange{learntFact("first")}, Time: morning})
		const writers, each = 16, 3
		var group sync.WaitGroup
		for i := range writers {
			group.Go(func() {
				for n := range each {
					until(t, func() error { return tryLearn(t.Context(), servers[i%2], fmt.Sprintf("%02d-%d", i, n)) })
				}
			})
		}
		group.Wait()
		state := factsOf(t, servers[0])
		same(t, []any{state.Revision, len(state.Facts)}, []any{int64(writers*each + 1), writers*each + 1})
		for i, f := range state.Facts {
			same(t, f.Change, int64(i+1)) // each revision has one write
		}
	})
}

// tryLearn decides anew and applies once.
func tryLearn(ctx context.Context, s *mongostore.Store, id string) error {
	state, err := s.FactsSince(ctx, learner, 0)
	if err != nil {
		return err
	}
	w := store.FactWrite{User: learner, Scope: state.Scope, Base: state.Revision, Changes: []store.FactChange{learntFact(id)}, Time: morning}
	_, err = s.ApplyFacts(ctx, w)
	return err
}

// until repeats what others got in the way of.
func until(t *testing.T, do func() error) {
	for range 1000 {
		err := do()
		if err == nil {
			return
		}
		if memory.ReasonOf(err) != memory.ReasonContention {
			t.Errorf("a write failed: %v", err)
			return
		}
	}
	t.Error("a write was outrun a thousand times")
}

func TestTwoServersStoreVectorsAtOnce(t *testing.T) {
	t.Run("a reader that asks from the last number on misses none", func(t *testing.T) {
		name := database(t)
		servers := []*mongostore.Store{open(t, name), open(t, name)}
		version := added(t, servers[0], "m")
		const writers, each = 8, 4
		w := store.FactWrite{User: learner, Time: morning}
		for i := range writers * each {
			w.Changes = append(w.Changes, learntFact(fmt.Sprint(i)))
		}
		applied(t, servers[0], w)
		ctx, stop := context.WithCancel(t.Context())
		seen := make(chan map[string]int64, 1)
		go func() { seen <- poll(ctx, servers[1], version) }()
		var group sync.WaitGroup
		for i := range writers {
			group.Go(func() {
				for n := range each {
					until(t, func() error { return embed(t.Context(), servers[i%2], version, fmt.Sprint(i*each+n), 1) })
				}
			})
		}
		group.Wait()
		stop()
		all, err := servers[0].FactVectors(t.Context(), store.FactVectorQuery{User: learner, Version: version})
		must(t, err)
		got := <-seen
		same(t, len(all), writers*each)
		for _, v := range all {
			same(t, got[v.FactID], v.No)
		}
		left, err := servers[0].CountFactsToEmbed(t.Context(), version)
		must(t, err)
		same(t, left, int64(0))
	})
}

func TestAServerThatStoresVectorsLate(t *testing.T) {
	// halted is a server that read two facts to embed, before another one stored the vector of one of them.
	halted := func(t *testing.T) (s *mongostore.Store, version int, goOn mongostore.Halted) {
		s = open(t, database(t))
		version = added(t, s, "m")
		applied(t, s, store.FactWrite{User: learner, Time: morning, Changes: []store.FactChange{learntFact("1"), learntFact("2")}})
		w := store.VectorWrite{Version: version, Time: morning}
		for _, id := range []string{"1", "2"} {
			w.Vectors = append(w.Vectors, store.NewVector{User: learner, FactID: id, Revision: 1, Vector: []float32{1, 2}})
		}
		goOn, err := s.HaltedVectors(t.Context(), learner, w)
		must(t, err)
		must(t, embed(t.Context(), s, version, "1", 1))
		return s, version, goOn
	}
	t.Run("leaves nothing of a fact that was forgotten meanwhile", func(t *testing.T) {
		s, _, goOn := halted(t)
		w := against(t, s)
		w.Forget = []store.ForgetFact{{FactID: "2"}}
		applied(t, s, w)
		must(t, goOn(t.Context()))
		n, err := s.VectorsStored(t.Context())
		must(t, err)
		same(t, n, int64(1))
	})
	t.Run("has a fact embedded again whose vector it took away", func(t *testing.T) {
		s, version, goOn := halted(t)
		again := learntFact("1")
		again.Fact.Revision, again.Fact.Significance = 2, 5
		applied(t, s, against(t, s, again))
		must(t, goOn(t.Context()))
		n, err := s.CountFactsToEmbed(t.Context(), version)
		must(t, err)
		same(t, n, int64(2))
	})
}

// poll reads vectors from the last number on until the context ends, and once more.
func poll(ctx context.Context, s *mongostore.Store, version int) map[string]int64 {
	seen, last := map[string]int64{}, int64(0)
	for ended := false; ; ended = ctx.Err() != nil {
		vectors, err := s.FactVectors(context.WithoutCancel(ctx), store.FactVectorQuery{User: learner, Version: version, After: last})
		for _, v := range vectors {
			seen[v.FactID], last = v.No, v.No
		}
		if err != nil || ended {
			return seen
		}
	}
}

func TestAVersionIsAddedWhileFactsAreWritten(t *testing.T) {
	t.Run("no fact is left without its mark", func(t *testing.T) {
		name := database(t)
		writer, admin := open(t, name), open(t, name)
		var group sync.WaitGroup
		group.Go(func() {
			for i := range 20 {
				if i == 0 {
					if _, err := writer.ApplyFacts(t.Context(), store.FactWrite{User: learner, Changes: []store.FactChange{learntFact("0")}, Time: morning}); err != nil {
						t.Error(err)
					}
					continue
				}
				until(t, func() error { return tryLearn(t.Context(), writer, fmt.Sprint(i)) })
			}
		})
		group.Go(func() {
			for i := range 5 {
				if _, err := admin.AddEmbedding(t.Context(), memory.Embedding{Model: fmt.Sprint(i), Dimension: 2, CreateTime: morning}); err != nil {
					t.Error(err)
				}
			}
		})
		group.Wait()
		for version := 1; version <= 5; version++ {
			left, err := admin.CountFactsToEmbed(t.Context(), version)
			must(t, err)
			same(t, left, int64(20))
		}
	})
	t.Run("a server that dies before it marked the facts leaves that to whoever reads the versions", func(t *testing.T) {
		name := database(t)
		s := open(t, name)
		applied(t, s, store.FactWrite{User: learner, Changes: []store.FactChange{learntFact("a")}, Time: morning})
		version := added(t, s, "m")
		db := client(t).Database(name)
		_, err := db.Collection("facts").UpdateMany(t.Context(), bson.D{}, bson.D{{Key: "$unset", Value: bson.D{{Key: "missing", Value: ""}}}})
		must(t, err)
		_, err = db.Collection("embeddings").UpdateMany(t.Context(), bson.D{}, bson.D{{Key: "$set", Value: bson.D{{Key: "marking", Value: true}}}})
		must(t, err)
		_, err = s.Embeddings(t.Context())
		must(t, err)
		left, err := s.CountFactsToEmbed(t.Context(), version)
		must(t, err)
		same(t, left, int64(1))
	})
	t.Run("the number of a version that was dropped is not used again", func(t *testing.T) {
		s := open(t, database(t))
		added(t, s, "m")
		must(t, s.DropEmbedding(t.Context(), added(t, s, "n")))
		same(t, added(t, s, "n"), 3)
	})
}

func TestAWriteToFactsThatDoesNotFit(t *testing.T) {
	t.Run("is refused with the limit, and changes nothing", func(t *testing.T) {
		s := open(t, database(t))
		w := store.FactWrite{User: learner, Time: morning}
		for i := range 9 {
			ch := learntFact(fmt.Sprint(i))
			ch.Fact.Text = strings.Repeat("x", 1<<20)
			w.Changes = append(w.Changes, ch)
		}
		_, err := s.ApplyFacts(t.Context(), w)
		if e, ok := errors.AsType[*memory.Error](err); !ok || e.Kind != memory.KindInvalid || !strings.Contains(e.Message, "fewer") {
			t.Errorf("the error is %v", err)
		}
		same(t, factsOf(t, s).Revision, int64(0))
	})
}
