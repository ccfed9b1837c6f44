package indexing_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stratamem/strata/internal/indexing"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/rank"
)

// panicky panics when it analyses a message with the word.
type panicky struct {
	wordsOnly
	word string
}

func (p panicky) Analyze(ctx context.Context, messages []memory.PlacedMessage) ([]rank.Doc, int, error) {
	for _, m := range messages {
		if strings.Contains(m.Message.PlainText(), p.word) {
			panic(m.Message.PlainText())
		}
	}
	return p.wordsOnly.Analyze(ctx, messages)
}

func TestAMessageWhoseAnalysisPanics(t *testing.T) {
	s := open(t)
	say(t, s, memory.RoleUser, "a", "the night train to Vienna")
	say(t, s, memory.RoleUser, "b", "a poisoned apple")
	say(t, s, memory.RoleUser, "c", "a ferry to Naxos")
	var log strings.Builder
	x := indexing.NewIndexer(indexing.IndexerOptions{
		Store: s, Delay: time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Turns: indexing.Contained{Analyzer: panicky{word: "poisoned"}, Log: slog.New(slog.NewTextHandler(&log, nil))},
	})
	if _, err := x.Index(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	t.Run("keeps none of the others from being found", func(t *testing.T) {
		if found(t, s, "Vienna") != 1 || found(t, s, "Naxos") != 1 || found(t, s, "apple") != 0 {
			t.Errorf("found Vienna %d, Naxos %d, apple %d times", found(t, s, "Vienna"), found(t, s, "Naxos"), found(t, s, "apple"))
		}
	})
	t.Run("is not tried again", func(t *testing.T) {
		if state := searchIndex(t, s); len(state.Unindexed) != 0 || state.Segments[0].Messages != 3 {
			t.Errorf("state %+v", state)
		}
	})
	t.Run("is named in the log by its place, never by its words", func(t *testing.T) {
		if out := log.String(); strings.Count(out, "seq=2") != 1 || !strings.Contains(out, "panic of type string") || strings.Contains(out, "apple") {
			t.Errorf("the log says %s", out)
		}
	})
}

func TestAnIndexerWhoseWorkPanicsGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		say(t, s, memory.RoleUser, "a", "the night train to Vienna")
		var log strings.Builder
		panics := 0
		x := indexing.NewIndexer(indexing.IndexerOptions{
			Store: s, Turns: wordsOnly{}, Log: slog.New(slog.NewTextHandler(&log, nil)),
			Failpoints: func(point string) {
				if point == indexing.FailpointBeforeIndex && panics < 2 {
					panics++
					panic("a user's words")
				}
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- x.Run(ctx) }()
		time.Sleep(5 * time.Minute) // sweeps find the user again
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
		if found(t, s, "Vienna") != 1 {
			t.Error("the message was not indexed")
		}
		if out := log.String(); strings.Count(out, "panic of type string") != 2 || strings.Contains(out, "words") {
			t.Errorf("the log says %s", out)
		}
	})
}
