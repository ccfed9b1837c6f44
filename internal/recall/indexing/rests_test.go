package indexing_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/indexing"
	"github.com/stratamem/strata/internal/recall/segment"
)

// slowly takes a second for each call, and notes when it began and how many messages it was given.
type slowly struct {
	wordsOnly
	begun  *[]time.Time
	pieces *[]int
}

func (s slowly) Analyze(ctx context.Context, messages []memory.PlacedMessage) ([]segment.Doc, int, error) {
	*s.begun, *s.pieces = append(*s.begun, time.Now()), append(*s.pieces, len(messages))
	time.Sleep(time.Second)
	return s.wordsOnly.Analyze(ctx, messages)
}

func TestWhileSomebodyWaits(t *testing.T) {
	for _, c := range []struct {
		promise string
		busy    bool
		between time.Duration // the beginnings of two pieces
	}{
		{"the indexer rests after each few messages as long as they took", true, 2 * time.Second},
		{"and not while nobody does", false, time.Second},
	} {
		t.Run(c.promise, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t)
				for i := range 8 {
					say(t, s, memory.RoleUser, fmt.Sprint(i), strings.Repeat("the night train to Vienna ", 8<<10/26))
				}
				var begun []time.Time
				var pieces []int
				x := indexing.NewIndexer(indexing.IndexerOptions{
					Store: s, Turns: slowly{begun: &begun, pieces: &pieces}, Log: slog.New(slog.DiscardHandler), Busy: func() bool { return c.busy },
				})
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- x.Run(ctx) }()
				time.Sleep(time.Minute)
				cancel()
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(pieces, []int{2, 2, 2, 2}) {
					t.Fatalf("it was given pieces of %v messages, want four of two", pieces)
				}
				for i := range 3 {
					if d := begun[i+1].Sub(begun[i]); d != c.between {
						t.Errorf("piece %d began %s after the one before, want %s", i+2, d, c.between)
					}
				}
				if found(t, s, "Vienna") != 8 {
					t.Errorf("%d of 8 messages are found", found(t, s, "Vienna"))
				}
			})
		})
	}
}
