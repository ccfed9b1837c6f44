package ledger_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/erasure"
	"github.com/stratamem/strata/internal/erasure/ledger"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/storetest/datafile"
)

var (
	ada = memory.UserRef{Tenant: "default", UserID: "ada"}
	bob = memory.UserRef{Tenant: "default", UserID: "bob"}
)

// world is a data file, its ledger, and the time.
type world struct {
	t      *testing.T
	path   string
	store  *sqlitestore.Store
	ledger *ledger.Ledger
	now    time.Time
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: noon, ledger: ledger.New(ledger.OpenFile(filepath.Join(t.TempDir(), "ledger")))}
	w.open(filepath.Join(t.TempDir(), "strata.db"))
	if _, err := w.store.FenceSecret(t.Context(), []byte("secret")); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) open(path string) {
	w.t.Helper()
	datafile.At(w.t, path)
	s, err := sqlitestore.Open(w.t.Context(), sqlitestore.Options{Path: path})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			w.t.Errorf("Close: %v", err)
		}
	})
	w.path, w.store = path, s
}

// say records a message, a minute after what was done before.
func (w *world) say(ref memory.SessionRef, id string) {
	w.t.Helper()
	w.now = w.now.Add(time.Minute)
	m := memory.Message{
		ID: id, Role: memory.RoleUser, Origin: memory.OriginUser, Extract: memory.ExtractAllow,
		Parts: []memory.Part{memory.TextPart(id)}, CreateTime: w.now,
	}
	if _, err := w.store.Append(w.t.Context(), store.AppendParams{
		Ref: ref, Time: w.now, Messages: []store.NewMessage{{Message: m, BodyDigest: memory.IDDigest(id)}},
	}); err != nil {
		w.t.Fatal(err)
	}
}

// learn stores a fact.
func (w *world) learn(user memory.UserRef, f memory.Fact) {
	w.t.Helper()
	state, err := w.store.FactsSince(w.t.Context(), user, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	f.Category, f.Significance, f.Origin, f.Revision = memory.CategoryOther, 5, memory.FactExtracted, 1
	f.CreateTime, f.UpdateTime = w.now, w.now
	if _, err := w.store.ApplyFacts(w.t.Context(), store.FactWrite{
		User: user, Scope: state.Scope, Base: state.Revision, Time: w.now,
		Changes: []store.FactChange{{Fact: f, Cause: memory.CauseExtracted}},
	}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) sweeper() *erasure.Sweeper {
	facts, err := recall.NewFactCache(w.store, 1<<20)
	if err != nil {
		w.t.Fatal(err)
	}
	return erasure.NewSweeper(erasure.Options{
		Store: w.store, Facts: facts, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return w.now },
		Hooks: erasure.Hooks{
			Note: func(ctx context.Context, e memory.Erasure) error { return w.ledger.Append(ctx, ledger.OfErasure(e)) },
		},
	})
}

// file puts a document of ada's.
func (w *world) file(key string) {
	w.t.Helper()
	w.now = w.now.Add(time.Minute)
	if _, err := w.store.PutDocument(w.t.Context(), store.DocumentWrite{
		User: ada, Document: memory.Document{DocumentPlace: filedAt(key), Value: json.RawMessage(`{}`)}, Most: 10, Time: w.now,
	}); err != nil {
		w.t.Fatal(err)
	}
}

func filedAt(key string) memory.DocumentPlace {
	return memory.DocumentPlace{Namespace: []string{"n"}, Key: key}
}

// deleteDocument deletes a document as a person has it done.
func (w *world) deleteDocument(key string) {
	w.t.Helper()
	w.now = w.now.Add(time.Minute)
	q := store.DocumentQuery{User: ada, Place: filedAt(key), Time: w.now}
	d, err := w.store.Document(w.t.Context(), q)
	if err != nil {
		w.t.Fatal(err)
	}
	u, err := w.store.User(w.t.Context(), ada)
	if err != nil {
		w.t.Fatal(err)
	}
	noted := ledger.OfDocument(u.Scope, store.DeletedDocumentHash(u.HashKey, q.Place), d.ETag, w.now)
	if err := w.ledger.Append(w.t.Context(), noted); err != nil {
		w.t.Fatal(err)
	}
	if err := w.store.DeleteDocument(w.t.Context(), q); err != nil {
		w.t.Fatal(err)
	}
}

// wantFiled wants the keys of ada's documents.
func (w *world) wantFiled(want string) {
	w.t.Helper()
	heads, err := w.store.DocumentHeads(w.t.Context(), ada, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	var keys []string
	for _, h := range heads.Heads {
		keys = append(keys, h.Place.Key)
	}
	if got := strings.Join(keys, " "); got != want {
		w.t.Errorf("the documents are %q, want %q", got, want)
	}
}

// countingHeads counts how often it is asked what documents there are.
type countingHeads struct {
	*sqlitestore.Store
	reads int
}

func (s *countingHeads) DocumentHeads(ctx context.Context, user memory.UserRef, now time.Time) (store.DocumentHeads, error) {
	s.reads++
	return s.Store.DocumentHeads(ctx, user, now)
}

// erase erases as a person has it done.
func (w *world) erase(start store.ErasureStart) {
	w.t.Helper()
	w.now = w.now.Add(time.Minute)
	start.ID, start.Time = "e"+w.now.Format("150405"), w.now
	if _, err := w.sweeper().Begin(w.t.Context(), start); err != nil {
		w.t.Fatal(err)
	}
}

// backup takes a backup, and returns what goes on with it as it was then.
func (w *world) backup() (restore func()) {
	path := filepath.Join(w.t.TempDir(), "backup.db")
	if _, err := sqlitestore.Backup(w.t.Context(), w.path, path); err != nil {
		w.t.Fatal(err)
	}
	return func() { w.open(path) }
}

func (w *world) replay() ledger.Result {
	w.t.Helper()
	w.now = w.now.Add(time.Minute)
	entries, err := w.ledger.Entries(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	done, err := ledger.Replay{Store: w.store, Begin: w.sweeper().Begin, Now: func() time.Time { return w.now }}.Run(w.t.Context(), entries)
	if err != nil {
		w.t.Fatal(err)
	}
	return done
}

// said are the ids of a session's messages; "none" where there is no such session.
func (w *world) said(ref memory.SessionRef) string {
	w.t.Helper()
	all, err := w.store.Messages(w.t.Context(), store.MessageQuery{Ref: ref, Limit: 100})
	if memory.IsGone(err) {
		return "none"
	}
	if err != nil {
		w.t.Fatal(err)
	}
	var ids []string
	for _, m := range all {
		if !m.Deleted {
			ids = append(ids, m.ID)
		}
	}
	return strings.Join(ids, " ")
}

func (w *world) wantSaid(ref memory.SessionRef, want string) {
	w.t.Helper()
	if got := w.said(ref); got != want {
		w.t.Errorf("%s in %s has %q, want %q", ref.UserID, ref.SessionID, got, want)
	}
}

func (w *world) wantRepeated(want int) {
	w.t.Helper()
	if got := w.replay(); got.Repeated != want {
		w.t.Errorf("%d of %d entries were repeated, want %d", got.Repeated, got.Entries, want)
	}
}

func TestReplay(t *testing.T) {
	t.Run("a summary that was deleted says nothing, and one that was written after it stays", func(t *testing.T) {
		w := newWorld(t)
		w.say(ada.Session("s"), "a1")
		head, err := w.store.Session(t.Context(), ada.Session("s"))
		if err != nil {
			t.Fatal(err)
		}
		covers := []memory.Covered{{Session: head.Key, Range: memory.SeqRange{From: 1, To: 1}}}
		write := func(base int64, text string) {
			if _, err := w.store.ChangeSummary(t.Context(), store.SummaryWrite{
				User: ada, Scope: head.ScopeKey, Base: base, Time: w.now, Revision: memory.SummaryRevision{
					Kind: memory.SummarySession, Session: head.Key, SessionID: "s", Cause: memory.SummaryCorrected, Text: text, Covers: covers,
				},
			}); err != nil {
				t.Fatal(err)
			}
		}
		wantText := func(want string) {
			all, err := w.store.CurrentSummaries(t.Context(), ada)
			if err != nil || len(all) != 1 || all[0].Text != want {
				t.Errorf("%v, want %q, error %v", all, want, err)
			}
		}
		write(0, "before")
		restore := w.backup()
		w.erase(store.ErasureStart{
			Kind: memory.EraseSummary, User: ada, SessionID: "s", Summary: memory.ErasedSummary{Kind: memory.SummarySession, Covers: covers},
		})
		write(2, "after")
		w.wantRepeated(0)
		wantText("after")
		restore()
		wantText("before")
		w.wantRepeated(1)
		wantText("")
		w.wantRepeated(0)
	})
	t.Run("a user who was erased after the backup is gone, and others are not", func(t *testing.T) {
		w := newWorld(t)
		w.say(ada.Session("s"), "a1")
		w.say(bob.Session("s"), "b1")
		restore := w.backup()
		w.erase(store.ErasureStart{Kind: memory.EraseUser, User: ada})
		restore()
		w.wantSaid(ada.Session("s"), "a1")
		w.wantRepeated(1)
		w.wantSaid(ada.Session("s"), "none")
		w.wantSaid(bob.Session("s"), "b1")
		w.wantRepeated(0)
	})
	t.Run("who came back after the erasure stays", func(t *testing.T) {
		w := newWorld(t)
		w.say(ada.Session("s"), "a1")
		w.erase(store.ErasureStart{Kind: memory.EraseUser, User: ada})
		w.say(ada.Session("s"), "again")
		restore := w.backup()
		restore()
		w.wantRepeated(0)
		w.wantSaid(ada.Session("s"), "again")
	})
	t.Run("a session that was deleted is gone, and a later one of its name is not", func(t *testing.T) {
		w := newWorld(t)
		w.say(ada.Session("s"), "a1")
		w.say(ada.Session("other"), "o1")
		restore := w.backup()
		w.erase(store.ErasureStart{Kind: memory.EraseSession, User: ada, SessionID: "s"})
		w.say(ada.Session("s"), "later")
		w.wantRepeated(0)
		w.wantSaid(ada.Session("s"), "later")
		restore()
		w.wantRepeated(1)
		w.wantSaid(ada.Session("s"), "none")
		w.wantSaid(ada.Session("other"), "o1")
	})
	t.Run("messages that were deleted are gone with what they taught, and those that took their places since are not", func(t *testing.T) {
		w := newWorld(t)
		for _, id := range []string{"a1", "a2", "a3"} {
			w.say(ada.Session("s"), id)
		}
		head, err := w.store.Session(t.Context(), ada.Session("s"))
		if err != nil {
			t.Fatal(err)
		}
		w.learn(ada, memory.Fact{ID: "f1", Text: "Said a2.", Evidence: []memory.Evidence{{
			Session: head.Key, SessionID: "s", Seq: 2, MessageID: "a2", Quote: "a2", Time: w.now,
		}}})
		restore := w.backup()
		w.say(ada.Session("s"), "a4")
		w.erase(store.ErasureStart{
			Kind: memory.EraseMessages, User: ada, SessionID: "s", Seqs: []memory.SeqRange{{From: 2, To: 2}, {From: 4, To: 4}},
		})
		restore()
		w.say(ada.Session("s"), "new4")
		w.wantRepeated(1)
		w.wantSaid(ada.Session("s"), "a1 a3 new4")
		if _, err := w.store.Fact(t.Context(), ada, "f1"); memory.ReasonOf(err) != memory.ReasonFactNotFound {
			t.Errorf("the fact: %v", err)
		}
		w.wantRepeated(0)
	})
	t.Run("a fact that was deleted is gone, and is not learnt again in its words", func(t *testing.T) {
		w := newWorld(t)
		w.say(ada.Session("s"), "a1")
		w.learn(ada, memory.Fact{ID: "f1", Text: "Is vegan."})
		restore := w.backup()
		state, err := w.store.FactsSince(t.Context(), ada, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.ledger.Append(t.Context(), ledger.OfFact(state.Scope, "f1", w.now)); err != nil {
			t.Fatal(err)
		}
		restore()
		w.wantRepeated(1)
		after, err := w.store.FactsSince(t.Context(), ada, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(after.Facts) != 0 || len(after.Forgotten) != 1 {
			t.Errorf("%d facts, %d forgotten", len(after.Facts), len(after.Forgotten))
		}
		w.wantRepeated(0)
	})
	t.Run("documents that were deleted are gone, and one that was put at their place since is not", func(t *testing.T) {
		w := newWorld(t)
		for _, key := range []string{"stays", "gone", "again"} {
			w.file(key)
		}
		restore := w.backup()
		w.deleteDocument("gone")
		w.deleteDocument("again")
		w.file("again")
		w.wantRepeated(0)
		w.wantFiled("again stays")
		restore()
		w.wantFiled("again gone stays")
		w.wantRepeated(2)
		w.wantFiled("stays")
		w.wantRepeated(0)
	})
	t.Run("what documents a user has is read once, however many of them were deleted", func(t *testing.T) {
		w := newWorld(t)
		for _, key := range []string{"a", "b", "c"} {
			w.file(key)
			w.deleteDocument(key)
		}
		entries, err := w.ledger.Entries(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		counted := &countingHeads{Store: w.store}
		replay := ledger.Replay{Store: counted, Begin: w.sweeper().Begin, Now: func() time.Time { return w.now }}
		if done, err := replay.Run(t.Context(), entries); err != nil || done.Entries != 3 || counted.reads != 1 {
			t.Errorf("%+v after %d reads, error %v", done, counted.reads, err)
		}
	})
}
