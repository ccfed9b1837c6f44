package mongostore_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/mongostore"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// BenchmarkBareInsert is the baseline of this server: one journaled insert of 1 kB at a time for each client.
func BenchmarkBareInsert(b *testing.B) {
	for _, clients := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			journal := true
			o := options.Collection().SetWriteConcern(&writeconcern.WriteConcern{W: writeconcern.WCMajority, Journal: &journal})
			bare := client(b).Database(database(b)).Collection("bare", o)
			drive(b, clients, func(n int) error { return insertBare(b, bare, n) })
		})
	}
}

func insertBare(b *testing.B, c *mongo.Collection, n int) error {
	_, err := c.InsertOne(b.Context(), bson.D{{Key: "_id", Value: fmt.Sprint(n)}, {Key: "v", Value: strings.Repeat("x", 1000)}})
	return err
}

// BenchmarkAppend records turns of two messages, 1 kB together, with request ids, closed loop.
func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct{ clients, sessions, replicas int }{{1, 1, 1}, {16, 1, 1}, {64, 1, 1}, {64, 64, 1}, {64, 1, 3}} {
		b.Run(fmt.Sprintf("clients=%d/sessions=%d/replicas=%d", c.clients, c.sessions, c.replicas), func(b *testing.B) {
			backend.MongoDB(b)
			name := database(b)
			var replicas []*mongostore.Store
			for range c.replicas {
				replicas = append(replicas, open(b, name))
			}
			for n := range c.sessions {
				mustAppend(b, replicas[0], say(alice.Session(fmt.Sprint(n)), "first"))
			}
			drive(b, c.clients, func(n int) error {
				_, err := replicas[n%c.replicas].Append(b.Context(), benchTurn(alice.Session(fmt.Sprint(n%c.sessions)), n))
				return err
			})
		})
	}
}

func benchTurn(ref memory.SessionRef, n int) store.AppendParams {
	p := say(ref, fmt.Sprint(n, "-user"), fmt.Sprint(n, "-model"))
	p.RequestID, p.RequestDigest = fmt.Sprint("request-", n), memory.IDDigest(fmt.Sprint(n))
	for i := range p.Messages {
		p.Messages[i].Parts[0].Text = strings.Repeat("words ", 83)
	}
	return p
}

// BenchmarkMessages reads the newest ten messages of a session of 500.
func BenchmarkMessages(b *testing.B) {
	backend.MongoDB(b)
	s, ref := open(b, database(b)), alice.Session("s")
	for n := range 250 {
		mustAppend(b, s, benchTurn(ref, n))
	}
	drive(b, 1, func(int) error {
		got, err := s.Messages(b.Context(), store.MessageQuery{Ref: ref, NewestFirst: true, Limit: 10})
		if len(got) != 10 {
			b.Errorf("%d messages were read", len(got))
		}
		return err
	})
}

// drive has clients do numbered things in a closed loop, and reports how long each took.
func drive(b *testing.B, clients int, do func(n int) error) {
	var mu sync.Mutex
	var took []time.Duration
	var group sync.WaitGroup
	work := make(chan int)
	for range clients {
		group.Go(func() {
			for n := range work {
				began := time.Now()
				if err := do(n); err != nil {
					b.Error(err)
				}
				mu.Lock()
				took = append(took, time.Since(began))
				mu.Unlock()
			}
		})
	}
	n := 0
	for b.Loop() {
		work <- n
		n++
	}
	close(work)
	group.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "ops/s")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
