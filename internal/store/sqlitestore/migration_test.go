package sqlitestore_test

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/migrations"
)

// A file that was written before there was background work must be served, and what it holds is work.
func TestAFileOfTheFirstSchemaIsBroughtUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	writeFirstSchema(t, path)
	s := open(t, sqlitestore.Options{Path: path})

	t.Run("users and sessions are as they were", func(t *testing.T) {
		user, err := s.User(t.Context(), alice)
		if err != nil {
			t.Fatal(err)
		}
		if !user.CreateTime.Equal(time.UnixMicro(1000)) || user.UpdateTime != user.CreateTime || user.Extract != memory.ExtractAllow {
			t.Errorf("the user is %+v", user)
		}
		if head := session(t, s); head.LastSeq != 1 || head.Title != "kept" || head.Extract != memory.ExtractAllow ||
			!head.LastMessageTime.Equal(time.UnixMicro(2000)) {
			t.Errorf("the session is %+v", head)
		}
	})
	t.Run("sessions with messages are to be looked at, from their first message on", func(t *testing.T) {
		refs, err := s.PendingSessions(t.Context(), benchTime, 9)
		if err != nil || len(refs) != 1 || refs[0] != alice.Session("s") {
			t.Errorf("pending are %v, error %v", refs, err)
		}
		work, err := s.SessionWork(t.Context(), alice.Session("s"))
		if err != nil {
			t.Fatal(err)
		}
		if work.ExtractCursor != 0 || work.LeafCursor != 0 || work.UnindexedFrom != 1 || !work.LookAt.Equal(time.UnixMicro(2000)) {
			t.Errorf("the work is %+v", work)
		}
	})
	t.Run("facts and turns can be stored", func(t *testing.T) {
		record(t, s, "m2")
		user, err := s.User(t.Context(), alice)
		if err != nil {
			t.Fatal(err)
		}
		w := store.FactWrite{User: alice, Scope: user.Scope, Time: benchTime, Changes: []store.FactChange{{Fact: benchFact(1), Cause: memory.CauseExtracted}}}
		if _, err := s.ApplyFacts(t.Context(), w); err != nil {
			t.Error(err)
		}
	})
}

func TestMessagesThatWereStoredBeforeSecretsWereNotedAreLookedThrough(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	writeFirstSchema(t, path)
	execSQL(t, path, `UPDATE messages SET text = 'my password is hunter2, ok?'`,
		`INSERT INTO messages (key, turn_no, id, role, origin, extract, pinned, create_time, record_time, o200k, cl100k, parts)
			VALUES (1 << 32 | 2, 1, 'm2', 4, 1, 1, 0, 2000, 2000, 1, 1, '[{"k":3,"c":"c1","n":"login","a":"{\"password\":\"hunter2\"}"},{"k":1,"t":"done"}]')`)
	messages, err := open(t, sqlitestore.Options{Path: path}).Messages(t.Context(), store.MessageQuery{Ref: alice.Session("s"), Limit: 9})
	if err != nil || len(messages) != 2 {
		t.Fatalf("%v, %v", messages, err)
	}
	if m := messages[0]; m.SaidText() != "my password is [secret: password], ok?" || m.PlainText() != "my password is hunter2, ok?" {
		t.Errorf("%q", m.SaidText())
	}
	if p := messages[1].Parts; p[0].Said() != `{"password":"[secret: password]"}` || p[0].Arguments != `{"password":"hunter2"}` || p[1].Said() != "done" {
		t.Errorf("%+v", p)
	}
}

func TestOfWhatWasDeletedBeforeItWasOverwrittenNoByteIsLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	writeFirstSchema(t, path)
	execSQL(t, path, `WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
		INSERT INTO messages (key, turn_no, id, role, origin, extract, pinned, create_time, record_time, o200k, cl100k, text)
		SELECT 1 << 32 | i, 1, 'm' || i, 3, 1, 1, 0, 2000, 2000, 1, 1, '`+canary+`' || i FROM n`,
		`DELETE FROM messages WHERE text LIKE '`+canary+`%'`)
	h := &house{t: t, path: path}
	for _, suffix := range []string{"-wal", "-shm", ".lock"} { // so that all files are there
		h.must(os.WriteFile(path+suffix, nil, 0o600))
	}
	if h.found() == 0 {
		t.Fatal("nothing is left of what was deleted")
	}
	h.Store = open(t, sqlitestore.Options{Path: path})
	record(t, h.Store, "m501")
	if n := h.found(); n != 0 {
		t.Errorf("what was deleted is left %d times", n)
	}
	h.integrity()
	if got := session(t, h.Store).LastSeq; got != 2 {
		t.Errorf("the last seq is %d", got)
	}
}

// writeFirstSchema makes a file as the first version of the program left it: a user with a session of one message and
// one of none.
func writeFirstSchema(t *testing.T, path string) {
	t.Helper()
	schema, err := fs.ReadFile(migrations.SQLite, "sqlite/0001_record.sql")
	if err != nil {
		t.Fatal(err)
	}
	execSQL(t, path, "PRAGMA application_id = 0x53747261", string(schema), "PRAGMA user_version = 1",
		`INSERT INTO users (uid, tenant, user_id, scope_key, create_time, pending_since) VALUES (1, 't', 'alice', 'scope', 1000, 2000)`,
		`INSERT INTO sessions (sid, uid, session_id, session_key, title, last_turn_no, last_seq, create_time, update_time)
			VALUES (1, 1, 's', 'session', 'kept', 1, 1, 1000, 2000), (2, 1, 'empty', 'other', '', 1, 0, 1000, 3000)`,
		`INSERT INTO turns (key, sid, uid, first_seq, n, recallable, record_time, pending) VALUES (1 << 32 | 1, 1, 1, 1, 1, 1, 2000, 1)`,
		`INSERT INTO messages (key, turn_no, id, role, origin, extract, pinned, create_time, record_time, o200k, cl100k, text)
			VALUES (1 << 32 | 1, 1, 'm1', 3, 1, 1, 0, 2000, 2000, 1, 1, 'words')`,
		`INSERT INTO message_ids (sid, id_hash, seq, body_hash) VALUES (1, x'00', 1, x'00')`,
	)
}

// Whoever starts for the first time reads one line about the file, not one for each version that there ever was.
func TestANewFileIsLoggedOnce(t *testing.T) {
	var logged bytes.Buffer
	open(t, sqlitestore.Options{Path: filepath.Join(t.TempDir(), "strata.db"), Log: slog.New(slog.NewTextHandler(&logged, nil))})
	if got := logged.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "data file created") {
		t.Errorf("logged:\n%s", got)
	}
}
