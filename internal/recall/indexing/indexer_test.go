package indexing_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/indexing"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/recall/segment"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/storetest/datafile"
)

var (
	ada = memory.UserRef{Tenant: "default", UserID: "ada"}
	day = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pass lets virtual time pass and waits until nobody has anything to do.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func open(t *testing.T) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Path: datafile.New(t), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func say(t *testing.T, s store.Transcript, role memory.Role, id, words string) {
	t.Helper()
	m := memory.Message{
		ID: id, Role: role, Parts: []memory.Part{memory.TextPart(words)}, Origin: memory.DefaultOrigin(role),
		Extract: memory.ExtractAllow, CreateTime: day,
	}
	_, err := s.Append(context.Background(), store.AppendParams{Ref: ada.Session("s"), Messages: []store.NewMessage{{Message: m}}, Time: day})
	if err != nil {
		t.Fatal(err)
	}
}

func searchIndex(t *testing.T, s store.SearchIndex) store.SearchIndexState {
	t.Helper()
	state, err := s.SearchIndex(t.Context(), store.SearchIndexQuery{User: ada, MaxUnindexed: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// wordsOnly makes no vectors.
type wordsOnly struct{}

func (wordsOnly) Embed(context.Context, memory.UserRef, memory.Message) (segment.Vector, error) {
	return segment.Vector{}, nil
}

func (wordsOnly) Analyze(_ context.Context, messages []memory.PlacedMessage) (docs []segment.Doc, version int, err error) {
	for _, m := range messages {
		docs = append(docs, segment.Analyze(m))
	}
	return docs, 0, nil
}

func (wordsOnly) Wake() {}

func newIndexer(s *sqlitestore.Store) *indexing.Indexer {
	return indexing.NewIndexer(indexing.IndexerOptions{Store: s, Turns: wordsOnly{}, Delay: time.Millisecond, Log: slog.New(slog.DiscardHandler)})
}

func TestIndexerOfErasedUsers(t *testing.T) {
	erase := func(t *testing.T, s *sqlitestore.Store) {
		t.Helper()
		if _, err := s.BeginErasure(t.Context(), store.ErasureStart{ID: "e", Kind: memory.EraseUser, User: ada, Time: day}); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("a user who was erased has nothing to index, and that is no failure", func(t *testing.T) {
		s := open(t)
		say(t, s, memory.RoleUser, "m", "a quiet river")
		erase(t, s)
		if more, err := newIndexer(s).Index(t.Context(), ada); more || err != nil {
			t.Errorf("more %v, error %v", more, err)
		}
	})
	t.Run("one who was erased and came back while it worked is looked at again", func(t *testing.T) {
		s := open(t)
		say(t, s, memory.RoleUser, "m", "a quiet river")
		x := indexing.NewIndexer(indexing.IndexerOptions{
			Store: s, Log: slog.New(slog.DiscardHandler), Turns: meanwhile{func() {
				erase(t, s)
				say(t, s, memory.RoleUser, "m", "a loud river")
			}},
		})
		if more, err := x.Index(t.Context(), ada); !more || err != nil {
			t.Errorf("more %v, error %v", more, err)
		}
		if got := searchIndex(t, s); len(got.Segments) != 0 || len(got.Unindexed) != 1 {
			t.Errorf("the new life has %d segments and %d messages without one", len(got.Segments), len(got.Unindexed))
		}
	})
}

// meanwhile makes no vectors, while something else happens.
type meanwhile struct{ happens func() }

func (m meanwhile) Analyze(ctx context.Context, messages []memory.PlacedMessage) ([]segment.Doc, int, error) {
	m.happens()
	return wordsOnly{}.Analyze(ctx, messages)
}

func (meanwhile) Embed(context.Context, memory.UserRef, memory.Message) (segment.Vector, error) {
	return segment.Vector{}, nil
}

func (meanwhile) Wake() {}

func TestIndexerFailpoints(t *testing.T) {
	s := open(t)
	say(t, s, memory.RoleUser, "m", "a quiet river")
	var passed []string
	x := indexing.NewIndexer(indexing.IndexerOptions{Store: s, Turns: wordsOnly{}, Log: slog.New(slog.DiscardHandler), Failpoints: func(point string) {
		passed = append(passed, fmt.Sprintf("%s: %d unindexed", point, len(searchIndex(t, s).Unindexed)))
	}})
	if _, err := x.Index(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	t.Run("before the index nothing of it is stored, after it everything is", func(t *testing.T) {
		if want := []string{"before index: 1 unindexed", "after index: 0 unindexed"}; !slices.Equal(passed, want) {
			t.Errorf("got %v, want %v", passed, want)
		}
	})
}

// found searches all segments for a word.
func found(t *testing.T, s store.SearchIndex, word string) int {
	t.Helper()
	index := rank.NewIndex()
	var nos []int64
	for _, info := range searchIndex(t, s).Segments {
		nos = append(nos, info.No)
	}
	segments, err := s.Segments(t.Context(), ada, nos)
	if err != nil {
		t.Fatal(err)
	}
	for _, seg := range segments {
		if err := index.AddSegment(seg.Data); err != nil {
			t.Fatal(err)
		}
	}
	return len(index.Search(rank.Query{Terms: text.Terms(word)}).Hits)
}

func TestIndex(t *testing.T) {
	t.Run("writes pending turns into a segment and clears their marks", func(t *testing.T) {
		s := open(t)
		say(t, s, memory.RoleUser, "a", "the night train to Vienna")
		if _, err := newIndexer(s).Index(t.Context(), ada); err != nil {
			t.Fatal(err)
		}
		if state := searchIndex(t, s); len(state.Segments) != 1 || len(state.Unindexed) != 0 {
			t.Errorf("state %+v", state)
		}
		if n := found(t, s, "Vienna"); n != 1 {
			t.Errorf("found %d", n)
		}
	})
	t.Run("clears the mark of a turn that has nothing to index", func(t *testing.T) {
		s := open(t)
		say(t, s, memory.RoleTool, "a", "42")
		if _, err := newIndexer(s).Index(t.Context(), ada); err != nil {
			t.Fatal(err)
		}
		users, err := s.PendingUsers(t.Context(), 10)
		if err != nil || len(users) != 0 {
			t.Errorf("pending users %v, %v", users, err)
		}
		if state := searchIndex(t, s); len(state.Segments) != 0 {
			t.Errorf("state %+v", state)
		}
	})
	t.Run("merges, so that segments grow with the logarithm of the turns, and nothing is lost", func(t *testing.T) {
		s := open(t)
		x := newIndexer(s)
		const turns = 100
		for i := range turns {
			say(t, s, memory.RoleUser, fmt.Sprint(i), fmt.Sprintf("rose number w%d", i))
			if _, err := x.Index(t.Context(), ada); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(searchIndex(t, s).Segments); n > 3*7 {
			t.Errorf("%d segments for %d turns", n, turns)
		}
		if n := found(t, s, "rose"); n != turns {
			t.Errorf("found %d of %d", n, turns)
		}
	})
}

func TestRebuild(t *testing.T) {
	t.Run("makes a user's segments again from the transcript when one is damaged", func(t *testing.T) {
		s := open(t)
		x := newIndexer(s)
		say(t, s, memory.RoleUser, "a", "the night train to Vienna")
		turns, err := s.PendingTurns(t.Context(), store.PendingQuery{User: ada, MaxMessages: 10})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.PutSegment(t.Context(), store.SegmentWrite{
			User: ada, Scope: turns[0].Scope, Analyzer: text.AnalyzerID, Messages: 1, Data: []byte("damaged"), Turns: []store.TurnRef{turns[0].TurnRef},
		})
		if err != nil {
			t.Fatal(err)
		}
		x.Rebuild(ada)
		if _, err := x.Index(t.Context(), ada); err != nil {
			t.Fatal(err)
		}
		if n := found(t, s, "Vienna"); n != 1 {
			t.Errorf("found %d", n)
		}
	})
}

func TestRun(t *testing.T) {
	t.Run("finds at its start what an earlier process left, and what a nudge announces", func(t *testing.T) {
		s := open(t)
		say(t, s, memory.RoleUser, "a", "left behind")
		x := newIndexer(s)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- x.Run(ctx) }()
		waitIndexed(t, s)
		say(t, s, memory.RoleUser, "b", "announced")
		x.Nudge(ada)
		waitIndexed(t, s)
		if n := found(t, s, "behind") + found(t, s, "announced"); n != 2 {
			t.Errorf("found %d of 2", n)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

func waitIndexed(t *testing.T, s store.SearchIndex) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(2 * time.Minute) // far above what it takes
	for len(searchIndex(t, s).Unindexed) > 0 {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("turns are still not indexed")
		}
	}
}

func TestPlanMerge(t *testing.T) {
	infos := func(n int, messages, bytes int) []store.SegmentInfo {
		var out []store.SegmentInfo
		for i := range n {
			out = append(out, store.SegmentInfo{No: int64(messages*1000 + i), Messages: messages, Bytes: bytes})
		}
		return out
	}
	rows := map[string]struct {
		segments []store.SegmentInfo
		want     int
	}{
		"no segments":                       {nil, 0},
		"a tier that is not full":           {infos(7, 1, 100), 0},
		"a full tier":                       {infos(8, 1, 100), 8},
		"the smallest full tier goes first": {append(infos(8, 100, 100), infos(9, 2, 100)...), 9},
		"sizes of one tier need not agree":  {append(infos(4, 8, 100), infos(4, 60, 100)...), 8},
		"large segments stay":               {infos(8, 1_000_000, 5<<20), 0},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			if got := indexing.PlanMerge(row.segments); len(got) != row.want {
				t.Errorf("merges %d, want %d", len(got), row.want)
			}
		})
	}
}
