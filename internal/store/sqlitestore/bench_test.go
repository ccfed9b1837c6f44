package sqlitestore_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
)

var benchTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// BenchmarkBareInsert is the baseline of this disk: one durable insert of 1 kB at a time.
func BenchmarkBareInsert(b *testing.B) {
	db, err := sql.Open("sqlite", filepath.Join(b.TempDir(), "bare.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)"); err != nil {
		b.Fatal(err)
	}
	insert, err := db.Prepare("INSERT INTO t (v) VALUES (?)")
	if err != nil {
		b.Fatal(err)
	}
	defer insert.Close()
	var took latencies
	for b.Loop() {
		began := time.Now()
		if _, err := insert.Exec(strings.Repeat("x", 1000)); err != nil {
			b.Fatal(err)
		}
		took.add(time.Since(began))
	}
	took.report(b)
}

// BenchmarkAppend records turns of two messages, 1 kB together, closed loop.
func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct{ clients, sessions int }{{1, 1}, {64, 64}, {64, 1}} {
		b.Run(fmt.Sprintf("clients=%d/sessions=%d", c.clients, c.sessions), func(b *testing.B) {
			benchmarkAppend(b, c.clients, c.sessions)
		})
	}
}

func benchmarkAppend(b *testing.B, clients, sessions int) {
	s := open(b, sqlitestore.Options{})
	user := memory.UserRef{Tenant: "t", UserID: "u"}
	var took latencies
	var group sync.WaitGroup
	work := make(chan int)
	for range clients {
		group.Go(func() {
			for n := range work {
				began := time.Now()
				p := benchTurn(user.Session(fmt.Sprint("s", n%sessions)), n, strings.Repeat("words ", 83))
				p.RequestID, p.RequestDigest = fmt.Sprint("request-", n), memory.IDDigest(fmt.Sprint(n))
				if _, err := s.Append(b.Context(), p); err != nil {
					b.Error(err)
				}
				took.add(time.Since(began))
			}
		})
	}
	before, n := s.Stats(), 0
	for b.Loop() {
		work <- n
		n++
	}
	close(work)
	group.Wait()
	after := s.Stats()
	took.report(b)
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "turns/s")
	b.ReportMetric(float64(after.Requests-before.Requests)/float64(after.Commits-before.Commits), "turns/fsync")
}

// BenchmarkReadContext does the reads of one BuildContext on a user with 10,000 messages in 50 sessions: the head,
// the newest 200 messages, the search index's state and 60 hits all over the user's sessions.
func BenchmarkReadContext(b *testing.B) {
	s := open(b, sqlitestore.Options{})
	user := memory.UserRef{Tenant: "t", UserID: "u"}
	places := seed(b, s, user)
	ctx, ref := b.Context(), user.Session("s49")
	parts := map[string]func() error{
		"head": func() error { _, err := s.Session(ctx, ref); return err },
		"tail": func() error {
			_, err := s.Messages(ctx, store.MessageQuery{Ref: ref, NewestFirst: true, Limit: 200})
			return err
		},
		"search index": func() error {
			_, err := s.SearchIndex(ctx, store.SearchIndexQuery{User: user, MaxUnindexed: 2000})
			return err
		},
		"verified": func() error { _, err := s.MessagesAt(ctx, store.PlacesQuery{User: user, Places: places}); return err },
	}
	names := []string{"head", "tail", "search index", "verified"}
	b.Run("all", func(b *testing.B) {
		b.ReportAllocs()
		var took latencies
		for b.Loop() {
			began := time.Now()
			for _, name := range names {
				if err := parts[name](); err != nil {
					b.Fatal(err)
				}
			}
			took.add(time.Since(began))
		}
		took.report(b)
	})
	for _, name := range names {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := parts[name](); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// seed records 50 sessions of 200 messages, indexes all but the last 40, and returns 60 places spread over them.
func seed(b *testing.B, s *sqlitestore.Store, user memory.UserRef) (places []memory.Place) {
	for session := range 50 {
		ref := user.Session(fmt.Sprint("s", session))
		for n := range 100 {
			if _, err := s.Append(b.Context(), benchTurn(ref, n, strings.Repeat("word ", 25))); err != nil {
				b.Fatal(err)
			}
		}
		head, err := s.Session(b.Context(), ref)
		if err != nil {
			b.Fatal(err)
		}
		places = append(places, memory.Place{Session: head.Key, Seq: int64(1 + session*3)})
		if session < 10 {
			places = append(places, memory.Place{Session: head.Key, Seq: 200})
		}
	}
	turns, err := s.PendingTurns(b.Context(), store.PendingQuery{User: user, MaxMessages: 9960})
	if err != nil {
		b.Fatal(err)
	}
	w := store.SegmentWrite{User: user, Scope: turns[0].Scope, Analyzer: "v1", Messages: 9960, Data: make([]byte, 1<<20)}
	for _, t := range turns {
		w.Turns = append(w.Turns, t.TurnRef)
	}
	if _, err := s.PutSegment(b.Context(), w); err != nil {
		b.Fatal(err)
	}
	return places
}

func benchTurn(ref memory.SessionRef, n int, words string) store.AppendParams {
	p := store.AppendParams{Ref: ref, Time: benchTime.Add(time.Duration(n) * time.Second)}
	for i, role := range []memory.Role{memory.RoleUser, memory.RoleAssistant} {
		m := memory.Message{
			ID: fmt.Sprintf("0197-%012d-%d", n, i), Role: role, Origin: memory.DefaultOrigin(role), Extract: memory.ExtractAllow,
			Parts: []memory.Part{memory.TextPart(words)}, CreateTime: benchTime, Tokens: memory.TokenCounts{O200K: 30, CL100K: 30},
		}
		p.Messages = append(p.Messages, store.NewMessage{Message: m, BodyDigest: memory.IDDigest(m.ID)})
	}
	return p
}

// latencies collects how long calls took.
type latencies struct {
	mu   sync.Mutex
	took []time.Duration
}

func (l *latencies) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, d)
}

func (l *latencies) report(b *testing.B) {
	slices.Sort(l.took)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(l.took[(len(l.took)-1)*p/100].Microseconds()), fmt.Sprintf("p%d-µs", p))
	}
}
