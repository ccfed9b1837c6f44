package sessions_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/access/quota"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/contexts/contextprofile/sessionguards"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/sessions"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/conversations"
)

// BenchmarkRecord records turns of two messages, 1 kB together, in 64 sessions of a data file, one after the other. The baseline is a
// durable insert of as many bytes into an otherwise empty file of the same disk, after each of them.
func BenchmarkRecord(b *testing.B) {
	ours, bare := recorder(b), bareInsert(b)
	texts := make([]string, 512)
	for i := range texts {
		texts[i] = conversations.Text(uint64(i), 500)
	}
	record := func(n int) error {
		p := sessions.RecordParams{Ref: memory.UserRef{Tenant: "t", UserID: "u"}.Session(fmt.Sprint("s", n%64))}
		for i, role := range []memory.Role{memory.RoleUser, memory.RoleAssistant} {
			p.Messages = append(p.Messages, memory.Message{
				Role: role, Origin: memory.DefaultOrigin(role), Parts: []memory.Part{memory.TextPart(texts[(2*n+i)%len(texts)])},
			})
		}
		_, err := ours.Record(b.Context(), p)
		return err
	}
	for n := range 64 { // statements are prepared, and sessions are there
		if err := record(n); err != nil {
			b.Fatal(err)
		}
	}
	var records, inserts []time.Duration
	n := 0
	for b.Loop() {
		began := time.Now()
		err := record(n)
		records = append(records, time.Since(began))
		if err != nil {
			b.Fatal(err)
		}
		began = time.Now()
		err = bare(texts[n%len(texts)] + texts[(n+1)%len(texts)])
		inserts = append(inserts, time.Since(began))
		if err != nil {
			b.Fatal(err)
		}
		n++
	}
	median := func(all []time.Duration) float64 {
		return float64(slices.Sorted(slices.Values(all))[len(all)/2].Microseconds())
	}
	b.ReportMetric(median(records), "p50-µs")
	b.ReportMetric(median(inserts), "baseline-p50-µs")
	b.ReportMetric(median(records)/median(inserts), "times-baseline")
}

// recorder is a Recorder over a data file, and nothing works in its background.
func recorder(b *testing.B) *sessions.Recorder {
	b.Helper()
	s, err := sqlitestore.Open(b.Context(), sqlitestore.Options{Path: filepath.Join(b.TempDir(), "strata.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	id := 0
	return sessions.NewRecorder(sessions.RecorderOptions{
		Store: s, Fences: sessionguards.NewFences(s, nil), Runner: alone{}, Meter: alone{}, Tenancy: quota.Unlimited{}, Now: time.Now,
		NewID: func() string { id++; return fmt.Sprint("id-", id) },
		Profiles: contextprofile.Set{
			Default: "default", Profiles: map[string]contextprofile.Profile{"default": {Counter: "o200k_base", StepLimit: 25}},
		},
	})
}

// bareInsert inserts a text durably.
func bareInsert(b *testing.B) func(words string) error {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "bare.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(b.Context(), "CREATE TABLE t (id INTEGER PRIMARY KEY, words TEXT)"); err != nil {
		b.Fatal(err)
	}
	insert, err := db.PrepareContext(b.Context(), "INSERT INTO t (words) VALUES (?)")
	if err != nil {
		b.Fatal(err)
	}
	return func(words string) error {
		_, err := insert.ExecContext(b.Context(), words)
		return err
	}
}

// alone has no background work, and counts nothing.
type alone struct{}

func (alone) Nudge(memory.SessionRef)                    {}
func (alone) Hurry(memory.SessionRef, ...memory.JobKind) {}
func (alone) LookAgain(memory.UserRef, string)           {}
func (alone) Changed(memory.SessionRef) <-chan struct{}  { return nil }
func (alone) Rebuild(memory.UserRef)                     {}
func (alone) WordsChecked(string, memory.CheckAction)    {}
