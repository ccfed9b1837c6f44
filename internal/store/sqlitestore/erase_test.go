package sqlitestore_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/storetest"
)

// canary is found byte by byte wherever it is left: no text that a store makes contains it.
const canary = "Zanzibar-quokka-4711"

// house is a file with a user whose every kind of row bears the canary, between messages of the same session and of others.
type house struct {
	*sqlitestore.Store
	t    *testing.T
	path string
	user memory.User
	key  memory.SessionKey
}

func build(t *testing.T) *house {
	t.Helper()
	path := filepath.Join(t.TempDir(), "strata.db")
	h := newHouse(t, path)
	h.purge() // so that later passes look at written pages alone
	for i := range 40 {
		h.append("s", i+1, fmt.Sprintf("harmless words %d", i), false)
		h.append("other", i+1, fmt.Sprintf("words of another session %d", i), false)
	}
	for i := range 20 {
		h.append("s", 41+i, canary, true)
	}
	for i := range 40 {
		h.append("s", 61+i, fmt.Sprintf("later words %d", i), false)
	}
	user, err := h.User(t.Context(), alice)
	h.must(err)
	h.user, h.key = user, session(t, h.Store).Key
	h.grow()
	return h
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// append records a message; one that bears the canary does so in every part.
func (h *house) append(sessionID string, n int, words string, everywhere bool) {
	h.t.Helper()
	m := memory.Message{
		ID: fmt.Sprintf("m%d", n), Role: memory.RoleUser, Origin: memory.OriginUser, Extract: memory.ExtractAllow,
		Parts: []memory.Part{memory.TextPart(words + strings.Repeat(" and more", n))}, CreateTime: benchTime,
	}
	if everywhere {
		m.Name, m.Tags, m.Metadata = words, []string{words}, json.RawMessage(`{"k":"`+words+`"}`)
		m.Original = &memory.Original{Format: "openai", Data: []byte(words + strings.Repeat("x", 100*n))}
		m.Parts = append(m.Parts, memory.Part{
			Kind: memory.PartToolCall, CallID: words + fmt.Sprint(n), Name: "f", Arguments: `{"a":"` + words + strings.Repeat("y", 200*n) + `"}`,
		})
	}
	p := store.AppendParams{
		Ref: alice.Session(sessionID), Time: benchTime, RequestID: fmt.Sprintf("r%d", n), RequestDigest: memory.IDDigest(m.ID),
		Messages: []store.NewMessage{{Message: m, BodyDigest: memory.IDDigest(m.ID)}},
		Findings: []memory.Finding{{MessageID: m.ID, Rule: words}},
	}
	_, err := h.Append(h.t.Context(), p)
	h.must(err)
}

// grow makes of messages 41 to 60 what background work and persons make of messages.
func (h *house) grow() {
	h.t.Helper()
	ctx := h.t.Context()
	leaf := h.node(memory.JobLeaf, 0, 1, 60, memory.SummarySession)
	h.node(memory.JobMerge, 1, 1, 60, memory.SummarySession)
	week := h.node(memory.JobWeek, 0, 7, 13, memory.SummaryWeek, leaf)
	h.node(memory.JobMonth, 0, 1, 30, memory.SummaryMonth, week)
	for _, kind := range []memory.SummaryKind{memory.SummarySession, memory.SummaryWeek} {
		r := memory.SummaryRevision{
			Kind: kind, Session: h.key, SessionID: "s", Cause: memory.SummaryCorrected, Text: canary,
			Covers: []memory.Covered{{Session: h.key, Range: memory.SeqRange{From: 1, To: 60}}},
		}
		if kind == memory.SummaryWeek {
			r.Session, r.SessionID, r.Period = "", "", "2026-W45"
		}
		_, err := h.ChangeSummary(ctx, store.SummaryWrite{User: alice, Scope: h.user.Scope, Revision: r, Time: benchTime})
		h.must(err)
	}
	h.answer(h.open(memory.JobExtract, 0, 1, 40), "harmless")
	h.answer(h.open(memory.JobExtract, 0, 41, 60), canary)
	job := h.open(memory.JobExtract, 0, 61, 62)
	h.answer(job, canary)
	w := store.FactWrite{User: alice, Scope: h.user.Scope, JobID: job.ID(), Time: benchTime}
	w.Quarantined = []memory.Quarantined{{ID: "q", JobID: job.ID(), SessionID: "s", Reason: "x", Operation: canary, Time: benchTime}}
	for i := range 50 {
		f := benchFact(i)
		f.Text, f.Evidence = canary, []memory.Evidence{{Session: h.key, SessionID: "s", Seq: 41, MessageID: "m41", Quote: canary}}
		w.Changes = append(w.Changes, store.FactChange{Fact: f, Cause: memory.CauseExtracted})
	}
	_, err := h.ApplyFacts(ctx, w)
	h.must(err)
	again := store.FactWrite{User: alice, Scope: h.user.Scope, Base: 1, Time: benchTime}
	for _, ch := range w.Changes { // so that there are earlier revisions
		ch.Fact.Revision, ch.Cause = 2, memory.CauseEdited
		again.Changes = append(again.Changes, ch)
	}
	_, err = h.ApplyFacts(ctx, again)
	h.must(err)
	title, metadata := canary, json.RawMessage(`{"k":"`+canary+`"}`)
	_, err = h.UpdateSession(ctx, store.SessionUpdate{Ref: alice.Session("s"), Title: &title, Metadata: &metadata, Time: benchTime})
	h.must(err)
}

func (h *house) open(kind memory.JobKind, level int, from, to int64) memory.Job {
	h.t.Helper()
	p := store.JobOpening{
		JobKey: memory.JobKey{Scope: h.user.Scope, Session: h.key, Kind: kind, Level: level, From: from, Generation: 1},
		User:   alice, To: to, Owner: "w", Until: benchTime, Time: benchTime,
	}
	if kind == memory.JobWeek || kind == memory.JobMonth {
		p.Session = ""
	}
	job, err := h.OpenJob(h.t.Context(), p)
	h.must(err)
	return job
}

func (h *house) answer(job memory.Job, words string) {
	h.t.Helper()
	_, err := h.AnswerJob(h.t.Context(), store.JobAnswer{
		JobRef: store.JobRef{User: alice, ID: job.ID()}, Answer: []byte(words + strings.Repeat("z", 3000)), Time: benchTime,
	})
	h.must(err)
}

func (h *house) node(job memory.JobKind, level int, from, to int64, kind memory.SummaryKind, children ...string) string {
	h.t.Helper()
	j := h.open(job, level, from, to)
	h.answer(j, canary)
	n := memory.SummaryNode{
		ID: memory.EffectID(j.ID(), 0), Kind: kind, Level: level, Range: j.Range(), Generation: 1, Text: canary + strings.Repeat("s", 2000),
		Children: children, CreateTime: benchTime, FromTime: benchTime, ToTime: benchTime,
	}
	if kind == memory.SummarySession {
		n.Session, n.SessionID = h.key, "s"
	} else {
		n.Period = memory.Period{Name: fmt.Sprintf("2026-W%d", 40+from), Start: benchTime, End: benchTime.Add(time.Hour)}
	}
	h.must(h.PutNode(h.t.Context(), store.NodeWrite{User: alice, Scope: h.user.Scope, JobID: j.ID(), Node: n, Time: benchTime}))
	return n.ID
}

// erase erases, and deletes what a sweeper deletes of the target's facts.
func (h *house) erase(p store.ErasureStart) {
	h.t.Helper()
	p.ID, p.User, p.Time = "e", alice, benchTime
	_, err := h.BeginErasure(h.t.Context(), p)
	h.must(err)
	if p.Kind != memory.EraseUser {
		state, err := h.FactsSince(h.t.Context(), alice, 0)
		h.must(err)
		w := store.FactWrite{User: alice, Scope: state.Scope, Base: state.Revision, Time: benchTime}
		for i, f := range state.Facts {
			if i%2 == 0 {
				w.Forget = append(w.Forget, store.ForgetFact{FactID: f.ID})
				continue
			}
			f.Revision, f.Text, f.Evidence = 3, "harmless", nil
			w.Changes, w.DropEarlier = append(w.Changes, store.FactChange{Fact: f, Cause: memory.CauseErased}), append(w.DropEarlier, f.ID)
		}
		_, err = h.ApplyFacts(h.t.Context(), w)
		h.must(err)
	}
	h.sweep("e")
}

func (h *house) sweep(id string) {
	h.t.Helper()
	for range 1000 {
		_, done, err := h.SweepErasure(h.t.Context(), id, 100)
		h.must(err)
		if done {
			return
		}
	}
	h.t.Fatal("the sweep does not end")
}

// purge has a pass over the file, as at the end of a sweep.
func (h *house) purge() {
	h.t.Helper()
	for range 1000 {
		done, err := h.EndErasures(h.t.Context())
		h.must(err)
		if done {
			return
		}
	}
	h.t.Fatal("the WAL is never cut")
}

// found counts the canary in the files.
func (h *house) found() (n int) {
	h.t.Helper()
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		b, err := os.ReadFile(h.path + suffix)
		h.must(err)
		n += bytes.Count(b, []byte(canary))
	}
	return n
}

// A word that was erased must not be found in the bytes of any file, as one who steals the disk looks for it.
func TestOfWhatWasErasedNoByteIsLeftInTheFiles(t *testing.T) {
	session, title := "s", ""
	for name, p := range map[string]store.ErasureStart{
		"messages": {Kind: memory.EraseMessages, SessionID: "s", Seqs: []memory.SeqRange{{From: 41, To: 60}}},
		"session":  {Kind: memory.EraseSession, SessionID: "s"},
		"user":     {Kind: memory.EraseUser},
	} {
		t.Run(name, func(t *testing.T) {
			h := build(t)
			if n := h.found(); n < 100 {
				t.Fatalf("the canary was planted %d times only", n)
			}
			if p.Kind == memory.EraseMessages { // what is about the session is a person's to change
				empty := json.RawMessage(nil)
				_, err := h.UpdateSession(t.Context(), store.SessionUpdate{Ref: alice.Session(session), Title: &title, Metadata: &empty, Time: benchTime})
				h.must(err)
			}
			h.erase(p)
			if n := h.found(); n != 0 {
				t.Errorf("the canary is left %d times", n)
			}
			if p.Kind != memory.EraseUser {
				got, err := h.Messages(t.Context(), store.MessageQuery{Ref: alice.Session("other"), Limit: 99})
				if err != nil || len(got) != 40 {
					t.Errorf("the other session has %d messages, %v", len(got), err)
				}
			}
			h.integrity()
		})
	}
}

// A table that is added must be swept too, or be about nobody.
// Deleting facts leaves no erasure that a sweep ends: a purge overwrites what is left of them, once.
func TestOfDeletedFactsNoByteIsLeftAfterAPurge(t *testing.T) {
	h := newHouse(t, filepath.Join(t.TempDir(), "x.db"))
	w := store.FactWrite{User: alice, Scope: h.user.Scope, Time: benchTime}
	forget := store.FactWrite{User: alice, Scope: h.user.Scope, Base: 1, Time: benchTime}
	for i := range 300 {
		f := benchFact(i)
		if i%3 > 0 { // the others stay, and are moved
			f.Text = canary + strings.Repeat("f", 10*i)
			forget.Forget = append(forget.Forget, store.ForgetFact{FactID: f.ID})
		}
		w.Changes = append(w.Changes, store.FactChange{Fact: f, Cause: memory.CauseExtracted})
	}
	_, err := h.ApplyFacts(t.Context(), w)
	h.must(err)
	h.must(h.Purge(t.Context()))
	if h.found() == 0 {
		t.Fatal("the facts were in no file")
	}
	_, err = h.ApplyFacts(t.Context(), forget)
	h.must(err)
	h.must(h.Close())
	h.Store = open(t, sqlitestore.Options{Path: h.path}) // what is to be purged is known after a restart
	h.must(h.Purge(t.Context()))
	if n := h.found(); n > 0 {
		t.Errorf("%d canaries are left", n)
	}
	passes := h.Purges()
	h.must(h.Purge(t.Context()))
	if again := h.Purges() - passes; again > 0 {
		t.Errorf("%d passes though nothing was deleted since", again)
	}
}

func TestOfErasedUsersNoRowIsLeftInAnyTable(t *testing.T) {
	s := open(t, sqlitestore.Options{})
	storetest.Use(t, s)
	for _, u := range []memory.UserRef{{Tenant: "acme", UserID: "alice"}, {Tenant: "acme", UserID: "bob"}} {
		_, err := s.BeginErasure(t.Context(), store.ErasureStart{ID: u.UserID, Kind: memory.EraseUser, User: u, Time: benchTime})
		if memory.IsGone(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		(&house{Store: s, t: t}).sweep(u.UserID)
	}
	aboutNobody := []string{ // the audit outlives whom it is about, whom it knows by keyed hashes alone
		"api_keys", "audit", "embeddings", "erasures", "leases", "probe", "quarantine_counts", "secrets", "sqlite_sequence", "tenant_usage", "tenants", "views",
	}
	look := func(c *sqlitestore.Conn) error {
		var tables []string
		err := c.Each("SELECT name FROM sqlite_schema WHERE type = 'table'", func(name any) error {
			tables = append(tables, name.(string))
			return nil
		})
		for _, table := range tables {
			if n, err := c.Value("SELECT count(*) FROM " + table); !slices.Contains(aboutNobody, table) && n != int64(0) {
				t.Errorf("%v rows are left in %s, error %v", n, table, err)
			}
		}
		if len(tables) < 25 {
			t.Errorf("there are %d tables only", len(tables))
		}
		return err
	}
	if err := s.Read(t.Context(), look); err != nil {
		t.Fatal(err)
	}
}

// holdWAL has a reader keep the WAL from being cut until letGo is called; ended waits until it has stopped to read.
func (h *house) holdWAL() (letGo, ended func()) {
	h.t.Helper()
	reading, goOn := make(chan struct{}), make(chan struct{})
	var reader errgroup.Group
	reader.Go(func() error {
		return h.Read(h.t.Context(), func(c *sqlitestore.Conn) error {
			_, err := c.Value("SELECT count(*) FROM messages")
			close(reading)
			<-goOn
			return err
		})
	})
	<-reading
	return func() { close(goOn) }, func() { h.must(reader.Wait()) }
}

// A reader may see what was erased as long as it reads: until then the WAL keeps it, and nobody may be told that it is gone.
func TestASweepIsNotDoneWhileAReaderKeepsTheWAL(t *testing.T) {
	h := build(t)
	letGo, ended := h.holdWAL()
	_, err := h.BeginErasure(t.Context(), store.ErasureStart{ID: "e", Kind: memory.EraseUser, User: alice, Time: benchTime})
	h.must(err)
	for range 2 {
		if _, done, err := h.SweepErasure(t.Context(), "e", 100_000); done || err != nil {
			t.Errorf("beside a reader: done %v, error %v", done, err)
		}
	}
	_, err = h.Append(t.Context(), oneMessage("m1"))
	h.must(err) // others do not wait for the reader
	letGo()
	ended()
	h.sweep("e")
	if n := h.found(); n != 0 {
		t.Errorf("the canary is left %d times", n)
	}
}

// integrity has SQLite check the file.
func (h *house) integrity() {
	h.t.Helper()
	h.must(h.Read(h.t.Context(), func(c *sqlitestore.Conn) error {
		for _, pragma := range []string{"integrity_check", "foreign_key_check"} {
			v, err := c.Value("PRAGMA " + pragma)
			if err != nil || v != nil && v != "ok" {
				h.t.Errorf("%s says %v, %v", pragma, v, err)
			}
		}
		return nil
	}))
}

// Where rows come and go, SQLite moves others from page to page: what it leaves behind must be overwritten too.
func TestOfMessagesAmongManyNoByteIsLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	h := newHouse(t, path)
	h.purge() // so that later passes look at written pages alone
	const n = 600
	var seqs []memory.SeqRange
	for i := 1; i <= n; i++ {
		words := fmt.Sprint("harmless ", i)
		if i%3 == 0 {
			words = canary
			seqs = append(seqs, memory.SeqRange{From: int64(i), To: int64(i)})
		}
		h.append("s", i, words, i%2 == 0)
		if pinned := true; i%5 == 0 { // a row that grows moves
			metadata := json.RawMessage(`{"k":"` + strings.Repeat(words+" ", i/4) + `"}`)
			_, err := h.UpdateMessage(t.Context(), store.MessageUpdate{
				Ref: alice.Session("s"), MessageID: fmt.Sprint("m", i-i%3), Metadata: &metadata, Pinned: &pinned, Time: benchTime,
			})
			h.must(err)
		}
	}
	for i, part := range [][]memory.SeqRange{seqs[:50], seqs[50:]} {
		p := store.ErasureStart{ID: fmt.Sprint("e", i), Kind: memory.EraseMessages, User: alice, SessionID: "s", Seqs: part, Time: benchTime}
		_, err := h.BeginErasure(t.Context(), p)
		h.must(err)
	}
	h.sweep("e0")
	h.sweep("e1")
	if n := h.found(); n != 0 {
		t.Errorf("the canary is left %d times", n)
	}
	h.integrity()
}

func TestExportKeepsWhichIDsOfDeletedMessagesAreKnown(t *testing.T) {
	h := &house{Store: open(t, sqlitestore.Options{}), t: t}
	for n := 1; n <= 3; n++ {
		h.append("s", n, "words", false)
	}
	hashes := func() (ids, bodies []string) {
		h.must(h.Export(t.Context(), alice, func(r store.Record) error {
			if r.Turn != nil {
				ids = append(ids, string(r.Turn.Messages[0].IDHash))
				bodies = append(bodies, string(r.Turn.Messages[0].BodyHash))
			}
			return nil
		}))
		return ids, bodies
	}
	_, before := hashes()
	user, err := h.User(t.Context(), alice)
	h.must(err)
	for i, ids := range []memory.ErasedIDs{memory.KeepIDs, memory.FreeIDs} {
		seqs := []memory.SeqRange{{From: int64(i) + 2, To: int64(i) + 2}}
		_, err := h.BeginErasure(t.Context(), store.ErasureStart{
			ID: fmt.Sprint(i), Kind: memory.EraseMessages, User: alice, SessionID: "s", Seqs: seqs, IDs: ids, Time: benchTime,
		})
		h.must(err)
	}
	ids, bodies := hashes()
	known := user.HashKey.Keyed(memory.IDDigest("m2"))
	if want := []string{"", string(known[:]), ""}; !slices.Equal(ids, want) {
		t.Errorf("hashes of ids %x, want %x", ids, want)
	}
	if want := []string{before[0], before[1], ""}; !slices.Equal(bodies, want) {
		t.Errorf("hashes of bodies %x, want %x", bodies, want)
	}
}
