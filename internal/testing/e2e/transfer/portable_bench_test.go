package transfer_test

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/access/quota"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/sessions/portable"
	"github.com/stratamem/strata/internal/sessions/porter"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
)

// BenchmarkPortable imports a user of STRATA_BENCH_MESSAGES messages (100000) into a data file and exports him again, without a
// network and without background work, once without vectors and once with those of all messages and facts, of 384 dimensions. It
// reports messages a second, and by how much the process grew, in MiB.
func BenchmarkPortable(b *testing.B) {
	n := 100_000
	if s := os.Getenv("STRATA_BENCH_MESSAGES"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("plain", func(b *testing.B) { benchmarkPortable(b, n, portable.Vectors{}) })
	b.Run("vectors", func(b *testing.B) {
		values := make([]int8, 384)
		for i := range values {
			values[i] = int8(i%255 - 127)
		}
		benchmarkPortable(b, n, portable.Vectors{
			Embedding: memory.Embedding{Version: 1, Model: "bench", Dimension: len(values), Metric: "cosine"},
			OfMessage: func(memory.Place) ([]int8, error) { return values, nil },
		})
	})
}

func benchmarkPortable(b *testing.B, n int, vectors portable.Vectors) {
	b.Helper()
	file := filepath.Join(b.TempDir(), "user.jsonl")
	writeUser(b, file, n, vectors)
	wanted := int64(0)
	if vectors.OfMessage != nil {
		wanted = int64(n + n/100)
	}
	for b.Loop() {
		data := filepath.Join(b.TempDir(), "strata.db")
		s, err := sqlitestore.Open(b.Context(), sqlitestore.Options{Path: data})
		if err != nil {
			b.Fatal(err)
		}
		var embedding memory.Embedding
		if wanted > 0 {
			if embedding, err = s.AddEmbedding(b.Context(), vectors.Embedding); err != nil {
				b.Fatal(err)
			}
		}
		keys := 0
		mover := porter.NewPorter(porter.Options{
			Store: s, Now: time.Now, Log: slog.New(slog.DiscardHandler), Version: "bench",
			Tenancy: quota.Unlimited{},
			NewKey:  func() string { keys++; return fmt.Sprintf("%032x", keys) },
			Vectors: porter.Vectors{Embedding: func() memory.Embedding { return embedding }},
		})
		ref := memory.UserRef{Tenant: "default", UserID: "ada"}
		in, err := os.Open(file)
		if err != nil {
			b.Fatal(err)
		}
		measure(b, "import", n, func() error {
			got, err := mover.Import(b.Context(), ref, 0, in)
			if err == nil && got.Vectors != wanted {
				err = fmt.Errorf("%d vectors came of %d", got.Vectors, wanted)
			}
			return err
		})
		var end lastBytes
		measure(b, "export", n, func() error {
			return mover.Export(b.Context(), porter.Exporting{User: ref, Vectors: wanted > 0}, &end)
		})
		if !strings.Contains(string(end), fmt.Sprintf(`"vectors":%d,`, wanted)) && wanted > 0 {
			b.Errorf("the export ends with %s", end)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		_ = in.Close()
	}
}

// lastBytes keeps the last line that was written to it.
type lastBytes []byte

func (l *lastBytes) Write(line []byte) (int, error) {
	*l = append((*l)[:0], line...)
	return len(line), nil
}

// measure reports how fast do was and by how much the process grew meanwhile.
func measure(b *testing.B, what string, messages int, do func() error) {
	b.Helper()
	debug.FreeOSMemory()
	base := resident(b)
	var most atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
				most.Store(max(most.Load(), resident(b)))
			}
		}
	}()
	began := time.Now()
	err := do()
	took := time.Since(began)
	close(stop)
	<-stopped
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(messages)/took.Seconds(), what+"-messages/s")
	b.ReportMetric(float64(most.Load()-base)/(1<<20), what+"-MiB")
}

// resident is how much memory the process holds, in bytes.
func resident(b *testing.B) int64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip("needs /proc/self/statm")
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// writeUser writes the file of a user with sessions of 200 messages, an extraction for each turn, a summary for every ten
// messages and a fact for every hundred.
func writeUser(b *testing.B, path string, messages int, vectors portable.Vectors) {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriterSize(f, 1<<20)
	w, err := portable.NewWriter(out, "bench", vectors)
	if err != nil {
		b.Fatal(err)
	}
	u := madeUp{scope: "scope", messages: messages, at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	if err := u.each(w.Write); err != nil {
		b.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

type madeUp struct {
	scope    memory.ScopeKey
	messages int
	at       time.Time
}

const ofSession = 200

func (u madeUp) session(i int) (memory.SessionKey, string) {
	return memory.SessionKey(fmt.Sprintf("key%08d", i)), fmt.Sprintf("session %08d", i)
}

func (u madeUp) each(write func(store.Record) error) error {
	sessions := u.messages / ofSession
	ref := memory.UserRef{UserID: "ada"}
	records := []func(i int) []store.Record{
		func(i int) []store.Record {
			key, id := u.session(i)
			return []store.Record{{Session: &store.SessionRecord{Revision: 1, Session: memory.Session{
				Ref: ref.Session(id), Key: key, Extract: memory.ExtractAllow, LastTurnNo: ofSession / 2, LastSeq: ofSession,
				CreateTime: u.at, UpdateTime: u.at, LastMessageTime: u.at,
			}}}}
		},
		u.turns, u.nodes, u.Jobs, u.Facts,
	}
	err := write(store.Record{User: &store.UserRecord{Revision: 1, User: memory.User{
		Ref: ref, Scope: u.scope, HashKey: "hash", Extract: memory.ExtractAllow, FactRevision: 1, CreateTime: u.at, UpdateTime: u.at,
	}}})
	for _, of := range records {
		for i := range sessions {
			for _, r := range of(i) {
				if err == nil {
					err = write(r)
				}
			}
		}
	}
	return err
}

func (u madeUp) turns(i int) (all []store.Record) {
	key, _ := u.session(i)
	words := strings.Repeat("words of a message ", 10)
	for turn := range int64(ofSession / 2) {
		t := &store.TurnRecord{Session: key, TurnNo: turn + 1, FirstSeq: 2*turn + 1, RecordTime: u.at}
		for n, role := range []memory.Role{memory.RoleUser, memory.RoleAssistant} {
			t.Messages = append(t.Messages, store.MessageRecord{BodyHash: make([]byte, 16), Message: memory.Message{
				ID: fmt.Sprintf("m-%d-%d", turn, n), Seq: 2*turn + 1 + int64(n), Role: role, Parts: []memory.Part{memory.TextPart(words)},
				Origin: memory.DefaultOrigin(role), Extract: memory.ExtractAllow, CreateTime: u.at, RecordTime: u.at,
			}})
		}
		all = append(all, store.Record{Turn: t})
	}
	return all
}

func (u madeUp) nodes(i int) (all []store.Record) {
	key, id := u.session(i)
	for n := range int64(ofSession / 10) {
		all = append(all, store.Record{Node: &memory.SummaryNode{
			ID: fmt.Sprintf("%08d%024d", i, n), Kind: memory.SummarySession, Session: key, SessionID: id, Generation: 1,
			Range: memory.SeqRange{From: 10*n + 1, To: 10*n + 10}, Text: strings.Repeat("words of a summary ", 20), CreateTime: u.at,
		}})
	}
	return all
}

func (u madeUp) Jobs(i int) (all []store.Record) {
	key, id := u.session(i)
	for n := range int64(ofSession / 2) {
		all = append(all, store.Record{Job: &memory.Job{
			JobKey:    memory.JobKey{Scope: u.scope, Session: key, Kind: memory.JobExtract, From: 2*n + 1, Generation: 1},
			SessionID: id, To: 2*n + 2, State: memory.JobApplied, CreateTime: u.at, UpdateTime: u.at,
		}})
	}
	return all
}

func (u madeUp) Facts(i int) (all []store.Record) {
	key, id := u.session(i)
	for n := range ofSession / 100 {
		f := memory.Fact{
			ID: fmt.Sprintf("%08d%024d", i, n), Text: "Likes the number " + strconv.Itoa(n), Category: memory.CategoryOther, Significance: 5,
			Origin: memory.FactExtracted, CreateTime: u.at, UpdateTime: u.at, Revision: 1, Change: 1,
			Evidence: []memory.Evidence{{Session: key, SessionID: id, Seq: 1, MessageID: "m-0-0", Quote: "words", Time: u.at}},
		}
		job := memory.JobKey{Scope: u.scope, Session: key, Kind: memory.JobExtract, From: 1, Generation: 1}
		all = append(all, store.Record{Fact: &store.FactRecord{
			Fact: f, Revisions: []memory.FactRevision{{Fact: f, Cause: memory.CauseExtracted, JobID: job.ID()}},
			Vectors: []store.VersionedVector{{Version: 1, No: 1, Vector: make([]float32, 384)}}, // left out of a file without vectors
		}})
	}
	return all
}
