package sqlitestore_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
)

// BenchmarkSummaries reads what the running summary of a session is made of, as every context does: of an ordinary
// session and of a very long one, whose leaves of five messages are merged by ten.
func BenchmarkSummaries(b *testing.B) {
	for _, messages := range []int64{200, 50_000} {
		path := filepath.Join(b.TempDir(), "strata.db")
		s := open(b, sqlitestore.Options{Path: path})
		ref := memory.UserRef{Tenant: "t", UserID: "u"}.Session("s")
		if _, err := s.Append(b.Context(), benchTurn(ref, 0, "words")); err != nil {
			b.Fatal(err)
		}
		seedNodes(b, path, messages)
		b.Run(fmt.Sprintf("running/messages=%d", messages), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				nodes, err := s.TopNodes(b.Context(), ref, messages-20)
				if err != nil {
					b.Fatal(err)
				}
				through := summary.Boundary(nodes, messages, 20)
				if len(summary.Frontier(nodes, through)) == 0 {
					b.Fatal("no running summary")
				}
			}
		})
		b.Run(fmt.Sprintf("recent/messages=%d", messages), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				found, err := s.RecentSessions(b.Context(), store.RecentQuery{User: ref.UserRef, Limit: 3})
				if err != nil || len(found) != 1 {
					b.Fatalf("%d sessions, error %v", len(found), err)
				}
			}
		})
		b.Run(fmt.Sprintf("leaves/messages=%d", messages), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				found, err := s.LeavesBetween(b.Context(), store.LeafQuery{User: ref.UserRef})
				if err != nil || int64(len(found)) != messages/5 {
					b.Fatalf("%d leaves, error %v", len(found), err)
				}
			}
		})
	}
}

// seedNodes writes the tree of the file's only session beside the store: by PutNode it would take minutes.
func seedNodes(b *testing.B, path string, messages int64) {
	b.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	run := func(query string, args ...any) {
		if _, err := tx.ExecContext(b.Context(), query, args...); err != nil {
			b.Fatal(err)
		}
	}
	run(`UPDATE sessions SET last_seq = ?, covered_seq = ?, covered_time = ?`, messages, messages, benchTime.UnixMicro())
	level, children := 0, 0
	for span := int64(5); span <= messages; span *= 10 {
		for from := int64(1); from+span-1 <= messages; from += span {
			made := strings.TrimSuffix(strings.Repeat(`"0123456789abcdef01234567",`, children), ",")
			run(`INSERT INTO nodes (uid, sid, id, kind, level, from_no, to_no, generation, cumulative, appended, o200k, cl100k,
				create_time, from_time, to_time, language, model, children, text)
				SELECT uid, sid, ?, 1, ?, ?, ?, 1, 0, 0, 100, 100, 0, ?, ?, 'en', 'm', ?, ? FROM sessions`,
				fmt.Sprintf("%024d", from*10+int64(level)), level, from, from+span-1, benchTime.Add(time.Duration(from)*time.Minute).UnixMicro(),
				benchTime.Add(time.Duration(from+span-1)*time.Minute).UnixMicro(), "["+made+"]", strings.Repeat("They spoke of it. ", 25))
		}
		level, children = level+1, 10
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}
