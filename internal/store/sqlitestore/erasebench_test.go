package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
)

// benchErased is how many messages and how many facts the user has who is erased.
const benchErased = 10_000

// fillErased gives bob 10,000 messages in 20 sessions, 10,000 facts with evidence and vectors, and the summaries and jobs of so
// many messages.
func fillErased(tb testing.TB, s *sqlitestore.Store) {
	tb.Helper()
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	bob := memory.UserRef{Tenant: "t", UserID: "bob"}
	words := strings.Repeat("what people say about tea and coffee and the weather of the day ", 5)
	var g errgroup.Group
	g.SetLimit(64)
	for i := range benchErased / 2 {
		g.Go(func() error {
			p := benchTurn(bob.Session(fmt.Sprint("s", i%20)), i, words)
			p.RequestID, p.RequestDigest = fmt.Sprint("r", i), memory.IDDigest(words)
			_, err := s.Append(context.Background(), p)
			return err
		})
	}
	must(g.Wait())
	user, err := s.User(tb.Context(), bob)
	must(err)
	embedding, err := s.AddEmbedding(tb.Context(), memory.Embedding{Model: "m", Dimension: 256, Metric: "cosine", CreateTime: benchTime})
	must(err)
	rng := rand.New(rand.NewPCG(1, 2))
	for from := 0; from < benchErased; from += 500 {
		w := store.FactWrite{User: bob, Scope: user.Scope, Base: int64(from / 500), Time: benchTime}
		v := store.VectorWrite{Version: embedding.Version, Time: benchTime}
		for i := from; i < from+500; i++ {
			f := benchFact(i)
			w.Changes = append(w.Changes, store.FactChange{Fact: f, Cause: memory.CauseExtracted})
			vector := make([]float32, 256)
			for j := range vector {
				vector[j] = rng.Float32()
			}
			v.Vectors = append(v.Vectors, store.NewVector{User: bob, FactID: f.ID, Revision: 1, Vector: vector})
		}
		_, err := s.ApplyFacts(tb.Context(), w)
		must(err)
		must(s.PutFactVectors(tb.Context(), v))
	}
	for i := range 20 {
		head, err := s.Session(tb.Context(), bob.Session(fmt.Sprint("s", i)))
		must(err)
		for from := int64(1); from+9 <= head.LastSeq; from += 10 {
			for _, kind := range []memory.JobKind{memory.JobExtract, memory.JobLeaf} {
				job, err := s.OpenJob(tb.Context(), store.JobOpening{
					JobKey: memory.JobKey{Scope: head.ScopeKey, Session: head.Key, Kind: kind, From: from, Generation: 1},
					User:   bob, To: from + 9, Owner: "w", Until: benchTime, Time: benchTime,
				})
				must(err)
				if kind == memory.JobExtract {
					_, err = s.FinishJob(tb.Context(), store.JobFinish{JobRef: store.JobRef{User: bob, ID: job.ID()}, State: memory.JobApplied, Time: benchTime})
					must(err)
					continue
				}
				must(s.PutNode(tb.Context(), store.NodeWrite{User: bob, Scope: head.ScopeKey, JobID: job.ID(), Time: benchTime, Node: memory.SummaryNode{
					ID: memory.EffectID(job.ID(), 0), Kind: memory.SummarySession, Session: head.Key, Range: job.Range(), Generation: 1,
					Text: words, CreateTime: benchTime, ToTime: benchTime,
				}}))
			}
		}
	}
	for from := 0; from < benchErased; from += 2000 {
		_, err := s.PutSegment(tb.Context(), store.SegmentWrite{
			User: bob, Scope: user.Scope, Analyzer: "v1", Messages: 2000, Data: []byte(strings.Repeat(words, 2000)), Time: benchTime,
		})
		must(err)
	}
}

// BenchmarkEraseUser prints how long it takes until a user of 10,000 messages and 10,000 facts is out of sight, how long the sweep
// takes with another user's writes beside it, and how long one of these waited at most. Bars: 50 ms, 5 s; a piece of the sweep must
// not hold the writer for more than 20 ms.
func BenchmarkEraseUser(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s := open(b, sqlitestore.Options{Path: filepath.Join(b.TempDir(), "strata.db")})
		fillErased(b, s)
		bob := memory.UserRef{Tenant: "t", UserID: "bob"}
		b.StartTimer()
		began := time.Now()
		if _, err := s.BeginErasure(b.Context(), store.ErasureStart{ID: "e", Kind: memory.EraseUser, User: bob, Time: benchTime}); err != nil {
			b.Fatal(err)
		}
		invisible := time.Now()
		stop, alone := make(chan struct{}), time.Duration(0)
		var g errgroup.Group
		g.Go(func() error {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return nil
				default:
				}
				from := time.Now()
				if _, err := s.Append(context.Background(), benchTurn(alice.Session("s"), i, "words")); err != nil {
					return err
				}
				alone = max(alone, time.Since(from))
			}
		})
		var rows int64
		var pieces []time.Duration
		for done := false; !done; {
			from := time.Now()
			n, d, err := s.SweepErasure(b.Context(), "e", 250) // one piece
			if err != nil {
				b.Fatal(err)
			}
			rows, done = rows+n, d
			pieces = append(pieces, time.Since(from))
		}
		swept := time.Now()
		close(stop)
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
		pieces = pieces[:len(pieces)-1] // the last one cuts the WAL
		slices.Sort(pieces)
		b.ReportMetric(float64(invisible.Sub(began).Microseconds())/1000, "ms-until-invisible")
		b.ReportMetric(float64(swept.Sub(invisible).Milliseconds()), "ms-sweep")
		b.ReportMetric(float64(rows), "rows")
		b.ReportMetric(float64(alone.Microseconds())/1000, "ms-longest-append-beside")
		b.ReportMetric(float64(pieces[len(pieces)/2].Microseconds())/1000, "ms-median-piece")
		b.ReportMetric(float64(pieces[len(pieces)-1].Microseconds())/1000, "ms-longest-piece")
	}
}

// BenchmarkEraseMessages prints how long it takes until 10,000 messages of a session are out of sight, and how long the writes of
// others wait for it.
func BenchmarkEraseMessages(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s := open(b, sqlitestore.Options{Path: filepath.Join(b.TempDir(), "strata.db")})
		var g errgroup.Group
		g.SetLimit(64)
		for i := range benchErased / 2 {
			g.Go(func() error {
				_, err := s.Append(context.Background(), benchTurn(alice.Session("s"), i, strings.Repeat("what people say about the day ", 10)))
				return err
			})
		}
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		began := time.Now()
		e, err := s.BeginErasure(b.Context(), store.ErasureStart{
			ID: "e", Kind: memory.EraseMessages, User: alice, SessionID: "s", Seqs: []memory.SeqRange{{From: 1, To: benchErased}}, Time: benchTime,
		})
		if err != nil || len(e.Receipt) != 1 || e.Receipt[0].Deleted != benchErased {
			b.Fatal(e, err)
		}
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms-until-invisible")
	}
}

// BenchmarkPass prints what the pass at the end of an erasure takes in a file of 200 MB of which 20 sessions were written to since the
// last one, as a baseline in the same run what one over all pages takes, and the share of each of 50 erasures that end at the same time.
// Each pass has the WAL cut, with its fsyncs.
func BenchmarkPass(b *testing.B) {
	s := open(b, sqlitestore.Options{Path: filepath.Join(b.TempDir(), "strata.db")})
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	must(s.Write(b.Context(), func(c *sqlitestore.Conn) error {
		return c.Script(`CREATE TABLE filler (x); WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 450000)
			INSERT INTO filler SELECT hex(randomblob(200)) FROM n`)
	}))
	n := 0
	pass := func(erasures int) time.Duration {
		for i := range 20 {
			n++
			_, err := s.Append(b.Context(), benchTurn(alice.Session(fmt.Sprint("s", i)), n, "words that are said"))
			must(err)
		}
		began := time.Now()
		var g errgroup.Group
		for range erasures {
			g.Go(func() error {
				done, err := s.EndErasures(b.Context())
				if err == nil && !done {
					err = errors.New("nobody reads, but the WAL is not cut")
				}
				return err
			})
		}
		must(g.Wait())
		return time.Since(began)
	}
	pass(1)
	var everywhere, written, together time.Duration
	for b.Loop() {
		must(s.LookEverywhere(b.Context()))
		everywhere += pass(1)
		written += pass(1)
		together += pass(50)
	}
	per := func(took time.Duration) float64 { return float64(took.Microseconds()) / 1000 / float64(b.N) }
	b.ReportMetric(per(everywhere), "ms-all-pages")
	b.ReportMetric(per(written), "ms-written-pages")
	b.ReportMetric(float64(everywhere)/float64(written), "times-less")
	b.ReportMetric(per(together)/50, "ms-each-of-50")
}
