package viewfeed_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/viewfeed"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/elasticstore"
	"github.com/stratamem/strata/internal/store/milvusstore"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// What a benchmark of feeding stores: few users with many facts would hide what a feed costs.
const (
	benchUsers     = 100
	benchFacts     = 200 // of each user
	benchTurns     = 100 // of each user, of two messages
	benchDimension = 256
)

// BenchmarkFeedVectors rebuilds Milvus from the embedded primary store; fed/s counts facts.
func BenchmarkFeedVectors(b *testing.B) {
	address := backend.Milvus(b)
	prefix := fmt.Sprintf("strata_bench_%d", rand.Uint64())
	view, err := milvusstore.Open(b.Context(), milvusstore.Options{Address: address, Prefix: prefix})
	if err != nil {
		b.Fatal(err)
	}
	dropAtEnd(b, view)
	st := benchStore(b)
	benchFactsOf(b, st)
	feedAll(b, st, viewfeed.VectorTarget(view), benchUsers*benchFacts)
}

// BenchmarkFeedTranscript rebuilds the transcript in Elasticsearch from the embedded primary store; fed/s counts turns.
func BenchmarkFeedTranscript(b *testing.B) {
	url := backend.Elasticsearch(b)
	view, err := elasticstore.Open(b.Context(), elasticstore.Options{URL: url, Prefix: fmt.Sprintf("strata-bench-%d", rand.Uint64())})
	if err != nil {
		b.Fatal(err)
	}
	dropAtEnd(b, view)
	st := benchStore(b)
	benchTurnsOf(b, st)
	feedAll(b, st, viewfeed.TranscriptTarget(view), benchUsers*benchTurns)
}

// dropAtEnd drops what a benchmark fed to a view, and closes it.
func dropAtEnd[Space, Row, Search, Hit any](b *testing.B, view store.View[Space, Row, Search, Hit]) {
	b.Helper()
	b.Cleanup(func() {
		ctx := context.Background()
		spaces, err := view.Spaces(ctx)
		for _, s := range spaces {
			err = errors.Join(err, view.Drop(ctx, s))
		}
		if err = errors.Join(err, view.Close()); err != nil {
			b.Error(err)
		}
	})
}

func benchStore(b *testing.B) *sqlitestore.Store {
	b.Helper()
	st, err := sqlitestore.Open(b.Context(), sqlitestore.Options{Path: filepath.Join(b.TempDir(), "x.db"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = st.Close() })
	return st
}

func benchUser(n int) memory.UserRef {
	return memory.UserRef{Tenant: "t", UserID: fmt.Sprint("user-", n)}
}

func benchFactsOf(b *testing.B, st *sqlitestore.Store) {
	b.Helper()
	ctx, now := context.Background(), time.Now().UTC().Truncate(time.Microsecond)
	_, err := st.AddEmbedding(ctx, memory.Embedding{Model: "m", Dimension: benchDimension, Metric: "cosine", CreateTime: now})
	if err != nil {
		b.Fatal(err)
	}
	draw := rand.New(rand.NewPCG(1, 2))
	for n := range benchUsers {
		w := store.FactWrite{User: benchUser(n), Time: now}
		vectors := store.VectorWrite{Version: 1}
		for i := range benchFacts {
			f := memory.Fact{
				ID: fmt.Sprintf("f-%d-%d", n, i), Text: fmt.Sprint("likes tea ", i), Category: memory.CategoryOther, Significance: 5,
				Confidence: 1, Origin: memory.FactByUser, ValidFrom: now, CreateTime: now, UpdateTime: now, Revision: 1,
			}
			w.Changes = append(w.Changes, store.FactChange{Fact: f, Cause: memory.CauseCreated})
			vector := make([]float32, benchDimension)
			for d := range vector {
				vector[d] = draw.Float32() - 0.5
			}
			vectors.Vectors = append(vectors.Vectors, store.NewVector{User: w.User, FactID: f.ID, Revision: 1, Vector: vector})
		}
		if _, err := st.ApplyFacts(ctx, w); err != nil {
			b.Fatal(err)
		}
		if err := st.PutFactVectors(ctx, vectors); err != nil {
			b.Fatal(err)
		}
	}
}

func benchTurnsOf(b *testing.B, st *sqlitestore.Store) {
	b.Helper()
	now := time.Now().UTC().Truncate(time.Microsecond)
	for n := range benchUsers {
		for i := range benchTurns {
			p := store.AppendParams{Ref: benchUser(n).Session(fmt.Sprint("s", i%4)), Time: now}
			for k, role := range []memory.Role{memory.RoleUser, memory.RoleAssistant} {
				p.Messages = append(p.Messages, store.NewMessage{Message: memory.Message{
					ID: fmt.Sprintf("m-%d-%d", i, k), Role: role, Origin: memory.DefaultOrigin(role), Extract: memory.ExtractAllow, CreateTime: now,
					Parts: []memory.Part{memory.TextPart(fmt.Sprintf("The train to Lisbon number %d leaves platform %d at nine, and the tickets are in the blue bag with the maps of the old town.", i, n))},
				}})
			}
			if _, err := st.Append(context.Background(), p); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// fedMeter reports when all rows were put.
type fedMeter struct {
	mu   sync.Mutex
	left int
	done chan struct{}
}

func (m *fedMeter) Fed(_ memory.View, rows int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left -= rows; m.left <= 0 {
		close(m.done)
	}
}

func (m *fedMeter) FeedFailed(memory.View) {}

// feedAll rebuilds the view as often as the benchmark asks, and reports how much a second was put. What it counts are
// facts, one row each, or turns, two.
func feedAll(b *testing.B, st *sqlitestore.Store, target viewfeed.Target, count int) {
	b.Helper()
	rows := count
	if target.View() == memory.ViewTranscript {
		rows *= 2
	}
	for b.Loop() {
		if _, err := st.RebuildView(b.Context(), target.View(), time.Now().UTC()); err != nil {
			b.Fatal(err)
		}
		m := &fedMeter{left: rows, done: make(chan struct{})}
		f := viewfeed.NewFeeder(viewfeed.FeederOptions{Store: st, Target: target, Owner: "bench", Meter: m, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
		ctx, cancel := context.WithCancel(b.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = f.Run(ctx) })
		<-m.done
		cancel()
		running.Wait()
	}
	b.ReportMetric(float64(count*b.N)/b.Elapsed().Seconds(), "fed/s")
}
