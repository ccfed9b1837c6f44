package mongostore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store/mongostore"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// BenchmarkEraseUser erases a user of 10,000 messages in ten sessions, with a job for each ten of them, and of 10,000 facts: begin is
// until nobody sees the user, sweep until nothing is left in this store.
func BenchmarkEraseUser(b *testing.B) {
	backend.MongoDB(b)
	s := open(b, database(b))
	var begin, sweep time.Duration
	n := 0
	for b.Loop() {
		b.StopTimer()
		fill(b, s)
		b.StartTimer()
		p := erasing(memory.EraseUser, fmt.Sprint("e", n))
		p.User = learner
		at := time.Now()
		mustErase(b, s, p)
		begin += time.Since(at)
		mustSweep(b, s, p.ID)
		sweep += time.Since(at)
		n++
	}
	b.ReportMetric(begin.Seconds()*1000/float64(n), "begin-ms")
	b.ReportMetric(sweep.Seconds()/float64(n), "sweep-s")
}

// BenchmarkEraseMessages erases 1,000 of 10,000 messages.
func BenchmarkEraseMessages(b *testing.B) {
	backend.MongoDB(b)
	s := open(b, database(b))
	fill(b, s)
	n := int64(0)
	for b.Loop() {
		p := erasing(memory.EraseMessages, fmt.Sprint("e", n), memory.SeqRange{From: 1, To: 1000})
		p.User, p.SessionID = learner, fmt.Sprint("s", n%10)
		mustErase(b, s, p)
		n++
	}
}

func fill(b *testing.B, s *mongostore.Store) {
	b.Helper()
	const sessions, turns, messages, facts, atOnce = 10, 100, 10, 10_000, 1000
	for i := range sessions {
		ref := learner.Session(fmt.Sprint("s", i))
		for n := range turns {
			ids := make([]string, messages)
			for m := range ids {
				ids[m] = fmt.Sprintf("%d-%d", n, m)
			}
			mustAppend(b, s, say(ref, ids...))
		}
		head := mustSession(b, s, ref)
		for n := range int64(turns) {
			o := jobFrom(head, n*messages+1, (n+1)*messages)
			mustOpen(b, s, o)
		}
	}
	for n := 0; n < facts; n += atOnce {
		w := against(b, s)
		for i := range atOnce {
			w.Changes = append(w.Changes, learntFact(fmt.Sprint("f", n+i)))
		}
		applied(b, s, w)
	}
}
