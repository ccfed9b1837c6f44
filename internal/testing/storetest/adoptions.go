package storetest

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/sessions/portable"
	"github.com/stratamem/strata/internal/store"
)

// merging is an import of alice that goes to carol, who was there before with a session of another id.
type merging struct {
	store.PrimaryStore
	file string // of alice
	into store.Merge
}

const importScope = memory.ScopeKey("c0")

func testAdoptions(t *testing.T, open Open[store.PrimaryStore]) {
	start := func(t *testing.T) merging {
		s := open(t)
		Fill(t, s)
		useKept(t, s)
		appendN(t, s, carol.Session("hers"), "h", 2)
		u, err := s.User(t.Context(), carol)
		failing(t)(nil, err)
		return merging{s, exportFile(t, s, alice), store.Merge{User: carol, Scope: u.Scope, OnConflict: memory.ConflictSkipped, Time: minute(60)}}
	}
	t.Run("CommitImport must keep whom all that has come goes to", func(t *testing.T) {
		m := start(t)
		m.commit(t)
		stale, err := m.StaleImports(t.Context(), minute(9000), 9)
		failing(t)(nil, err)
		wantEqual(t, stale, []store.StaleImport{{Scope: importScope, Into: &m.into}})
		if _, err := m.Session(t.Context(), carol.Session("s")); memory.ReasonOf(err) != memory.ReasonSessionNotFound {
			t.Errorf("a session is served before it was adopted: %v", err)
		}
	})
	t.Run("CommitImport must refuse with CONTENTION when the user lives another life", func(t *testing.T) {
		m := start(t)
		m.into.Scope = "another"
		wantReason(t, m.CommitImport(t.Context(), store.ImportCommit{Scope: importScope, Into: m.into, Time: noon}), memory.ReasonContention)
	})
	t.Run("AdoptSession must make a session one of the life, with its turns, summaries and jobs", func(t *testing.T) {
		m := start(t)
		hers := linesOf(t, exportFile(t, m, carol), "hers")
		for _, session := range m.commit(t) {
			m.adopt(t, session, store.SessionAdopted)
		}
		for _, id := range []string{"s", "another", "erased"} {
			want, got := linesOf(t, m.file, id), linesOf(t, exportFile(t, m, carol), id)
			if len(want) < 2 {
				t.Errorf("%d lines of the session %s", len(want), id)
			}
			wantEqual(t, got, want)
		}
		wantEqual(t, linesOf(t, exportFile(t, m, carol), "hers"), hers)
		wantSameFile(t, exportFile(t, m, alice), m.file)
		left, err := m.StaleImports(t.Context(), minute(9000), 9)
		failing(t)(nil, err)
		wantEqual(t, len(left), 1)
	})
	t.Run("AdoptSession must have hashes hold: what was recorded, requested and deleted before is known", func(t *testing.T) {
		m := start(t)
		m.adoptAll(t)
		p := request("r", "b", turn(carol.Session("s"), message(everything()), chat("a", 1)[0]))
		p.StatePatch = json.RawMessage(`{"a":1}`)
		if got := mustAppend(t, m, p); !got.Replayed {
			t.Errorf("a known request was stored again: %+v", got)
		}
		for _, c := range []struct {
			session string
			message store.NewMessage
		}{{"s", chat("a", 2)[1]}, {"erased", chat("e", 1)[0]}, {"hers", chat("h", 2)[0]}} {
			if got := mustAppend(t, m, turn(carol.Session(c.session), c.message)); len(got.Deduplicated) != 1 {
				t.Errorf("a message that %s knew was stored again: %+v", c.session, got)
			}
		}
		_, err := m.UpdateMessage(t.Context(), store.MessageUpdate{Ref: carol.Session("s"), MessageID: "a-1", Pinned: ptr(true)})
		failing(t)(nil, err)
		again := exportFile(t, m, carol)
		published(t, m, again, memory.UserRef{Tenant: "other", UserID: "carol"}, "c9")
		wantSameFile(t, exportFile(t, m, memory.UserRef{Tenant: "other", UserID: "carol"}), again)
		if got := mustAppend(t, m, turn(memory.UserRef{Tenant: "other", UserID: "carol"}.Session("s"), chat("a", 2)[1])); len(got.Deduplicated) != 1 {
			t.Errorf("a known message was stored again after another import: %+v", got)
		}
	})
	t.Run("AdoptSession must schedule the session, the views and the user's periods at Time", func(t *testing.T) {
		m := start(t)
		m.adoptAll(t)
		if state := searchIndex(t, m, carol); len(state.Unindexed) < 3 {
			t.Errorf("%d unindexed messages", len(state.Unindexed))
		}
		if !slices.Contains(pendingSessions(t, m, minute(9000), 99), carol.Session("s")) {
			t.Error("the session does not wait for background work")
		}
		users, err := m.PendingPeriods(t.Context(), minute(9000), 99)
		failing(t)(nil, err)
		if !slices.Contains(users, carol) {
			t.Errorf("periods of %v wait", users)
		}
		was, is := mustWork(t, m, inS), mustWork(t, m, carol.Session("s"))
		if was.ExtractCursor != is.ExtractCursor || was.LeafCursor != is.LeafCursor || len(was.Jobs) != len(is.Jobs) {
			t.Errorf("work is %+v, want as %+v", is, was)
		}
	})
	t.Run("segments that came with an import must stay its own, and turns of adopted sessions must wait for the search index", func(t *testing.T) {
		m, staged := start(t), store.ImportUser(importScope)
		sessions := m.commit(t)
		var turns []store.TurnRef
		each(t, m, staged, func(r store.Record) {
			if r.Turn != nil && len(r.Turn.Messages) > 0 {
				turns = append(turns, store.TurnRef{Session: r.Turn.Session, TurnNo: r.Turn.TurnNo})
			}
		})
		came := put(t, m, store.SegmentWrite{
			User: staged, Scope: importScope, Analyzer: "v1", Messages: len(turns), Data: []byte("came along"), Time: noon,
		})
		for _, session := range sessions {
			m.adopt(t, session, store.SessionAdopted)
		}
		wantEqual(t, len(searchIndex(t, m, carol).Segments), 0)
		waits := refs(pending(t, m, carol, 1000))
		for _, turn := range turns {
			if !slices.Contains(waits, turn) {
				t.Errorf("turn %d of %s does not wait", turn.TurnNo, turn.Session)
			}
		}
		segments, err := m.Segments(t.Context(), staged, []int64{came})
		failing(t)(nil, err)
		if len(segments) != 1 || string(segments[0].Data) != "came along" {
			t.Errorf("of the import's segments %d are there", len(segments))
		}
		put(t, m, store.SegmentWrite{
			User: carol, Scope: m.into.Scope, Analyzer: "v1", Messages: len(turns), Data: []byte("its own"), Turns: turns, Time: minute(101),
		})
		wantEqual(t, len(pending(t, m, carol, 1000)), len(waits)-len(turns))
		abandon(t, m, 500)
		if segments, err := m.Segments(t.Context(), staged, []int64{came}); err == nil && len(segments) > 0 {
			t.Error("the import's segment outlives it")
		}
		wantEqual(t, len(searchIndex(t, m, carol).Segments), 1)
	})
	t.Run("AdoptSession must have the session's jobs be the user's: they are listed, and one that is open can be claimed", func(t *testing.T) {
		m := start(t)
		appendN(t, m, inS, "waits", 2)
		work := mustWork(t, m, inS)
		mustOpen(t, m, opening(t, m, inS, memory.JobExtract, work.ExtractCursor+1, work.Session.LastSeq))
		m.file = exportFile(t, m, alice)
		m.adoptAll(t)
		abandon(t, m, 500)
		listed, err := m.ListJobs(t.Context(), store.JobQuery{Tenant: carol.Tenant, UserID: carol.UserID, Limit: 1000})
		failing(t)(nil, err)
		open := 0
		for _, job := range mustWork(t, m, carol.Session("s")).Jobs {
			if job.User != carol || !slices.ContainsFunc(listed, func(l memory.Job) bool { return l.ID() == job.ID() }) {
				t.Errorf("job %v of %v, or it is not listed", job.JobKey, job.User)
			}
			if job.State != memory.JobOpen {
				continue
			}
			open++
			_, err := m.ClaimJob(t.Context(), store.JobClaim{
				JobRef: store.JobRef{User: carol, ID: job.ID()}, Owner: "one", Now: minute(9000), Until: minute(9001),
			})
			failing(t)(nil, err)
		}
		if open == 0 {
			t.Error("no job was open")
		}
	})
	t.Run("AdoptSession must change nothing and return SessionThere where the life has a session of the id", func(t *testing.T) {
		m := start(t)
		sessions := m.commit(t)
		appendN(t, m, carol.Session("s"), "later", 2)
		before := exportFile(t, m, carol)
		m.adopt(t, sessionS(t, sessions), store.SessionThere)
		wantSameFile(t, exportFile(t, m, carol), before)
		abandon(t, m, 50)
		wantSameFile(t, exportFile(t, m, carol), before)
	})
	t.Run("AdoptSession must change nothing and return SessionErased where the session was erased since it was created", func(t *testing.T) {
		m := start(t)
		session := sessionS(t, m.commit(t))
		appendN(t, m, carol.Session("s"), "later", 2)
		begin(t, m, store.ErasureStart{ID: "gone", Kind: memory.EraseSession, User: carol, SessionID: "s", Time: session.CreateTime})
		before := exportFile(t, m, carol)
		m.adopt(t, session, store.SessionErased)
		wantSameFile(t, exportFile(t, m, carol), before)
		session.CreateTime = session.CreateTime.Add(1000)
		m.adopt(t, session, store.SessionAdopted)
	})
	t.Run("the erasures of Replaces do not count, for later calls either", func(t *testing.T) {
		m := start(t)
		session := sessionS(t, m.commit(t))
		for _, id := range []string{"once", "twice"} {
			appendN(t, m, carol.Session("s"), "later", 2)
			begin(t, m, store.ErasureStart{ID: id, Kind: memory.EraseSession, User: carol, SessionID: "s", Time: minute(500)})
		}
		p := store.Adoption{Import: importScope, Into: m.into, Session: session, Replaces: []string{"once"}, Time: minute(100)}
		outcome, err := m.AdoptSession(t.Context(), p)
		failing(t)(nil, err)
		wantEqual(t, outcome, store.SessionErased)
		p.Replaces = []string{"twice", "never begun"}
		outcome, err = m.AdoptSession(t.Context(), p)
		failing(t)(nil, err)
		wantEqual(t, outcome, store.SessionAdopted)
	})
	t.Run("AdoptSession must return CONTENTION of a life that has ended", func(t *testing.T) {
		m := start(t)
		session := sessionS(t, m.commit(t))
		begin(t, m, store.ErasureStart{ID: "gone", Kind: memory.EraseUser, User: carol, Time: minute(5)})
		appendN(t, m, carol.Session("new"), "n", 1)
		_, err := m.AdoptSession(t.Context(), store.Adoption{Import: importScope, Into: m.into, Session: session, Time: minute(100)})
		wantReason(t, err, memory.ReasonContention)
		abandon(t, m, 50)
	})
	t.Run("AbandonImport must delete all of an import that was committed, so that it can be made again", func(t *testing.T) {
		m := start(t)
		before := exportFile(t, m, carol)
		m.commit(t)
		abandon(t, m, 50)
		wantSameFile(t, exportFile(t, m, carol), before)
		m.adoptAll(t) // under the same keys
	})
	t.Run("AbandonImport must delete nothing of what was adopted, and from the first call on the import is not committed", func(t *testing.T) {
		m := start(t)
		m.adopt(t, sessionS(t, m.commit(t)), store.SessionAdopted)
		before := exportFile(t, m, carol)
		if done, err := m.AbandonImport(t.Context(), importScope, 1); done || err != nil {
			t.Errorf("one row was all: %t, %v", done, err)
		}
		stale, err := m.StaleImports(t.Context(), minute(9000), 9)
		failing(t)(nil, err)
		wantEqual(t, stale, []store.StaleImport{{Scope: importScope}})
		abandon(t, m, 5)
		wantSameFile(t, exportFile(t, m, carol), before)
		begin(t, m, store.ErasureStart{ID: "gone", Kind: memory.EraseSession, User: carol, SessionID: "s", Time: minute(500)})
		sweepAll(t, m, "gone", 9)
		wantEqual(t, linesOf(t, exportFile(t, m, carol), "s"), []string(nil))
	})
}

// commit stores all of the file as an import that goes to carol, and returns its sessions.
func (m merging) commit(t *testing.T) (sessions []memory.Session) {
	t.Helper()
	r, err := portable.NewReader(strings.NewReader(m.file), portable.Life{User: carol, Scope: importScope, Seed: "seed"})
	failing(t)(nil, err)
	failing(t)(nil, r.Begin())
	r.Into(m.into.Scope, portable.Beside)
	failing(t)(nil, m.BeginImport(t.Context(), store.ImportStart{Scope: importScope, HashKey: r.User().HashKey, Time: noon}))
	p := store.ImportedRecords{User: carol, Scope: importScope, Time: noon}
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		failing(t)(nil, err)
		if record.Session != nil {
			sessions = append(sessions, record.Session.Session)
		}
		ofPeriod := record.Node != nil && record.Node.Session == "" || record.Job != nil && record.Job.Session == "" ||
			record.Revised != nil && record.Revised.Revisions[0].Session == ""
		if !ofPeriod {
			p.Records = append(p.Records, record)
		}
	}
	failing(t)(nil, m.AddImported(t.Context(), p))
	failing(t)(nil, m.CommitImport(t.Context(), store.ImportCommit{Scope: importScope, Into: m.into, Time: noon}))
	return sessions
}

func (m merging) adopt(t *testing.T, session memory.Session, want store.Adopted) {
	t.Helper()
	got, err := m.AdoptSession(t.Context(), store.Adoption{Import: importScope, Into: m.into, Session: session, Time: minute(100)})
	if err != nil || got != want {
		t.Errorf("AdoptSession of %s returned %d, %v; want %d", session.Ref.SessionID, got, err, want)
	}
}

func (m merging) adoptAll(t *testing.T) {
	t.Helper()
	for _, session := range m.commit(t) {
		m.adopt(t, session, store.SessionAdopted)
	}
}

// sessionS is the session s.
func sessionS(t *testing.T, sessions []memory.Session) memory.Session {
	t.Helper()
	at := slices.IndexFunc(sessions, func(s memory.Session) bool { return s.Ref.SessionID == "s" })
	if at < 0 {
		t.Fatal("the file has no session s")
	}
	return sessions[at]
}

// linesOf are the lines of a file about a session, without what an import gives it: ids of summaries and the key of its hashes.
func linesOf(t *testing.T, file, session string) (lines []string) {
	t.Helper()
	for line := range strings.Lines(file) {
		var l portable.Line
		failing(t)(nil, json.Unmarshal([]byte(line), &l))
		switch {
		case l.Session != nil && l.Session.SessionID == session:
			l.Session.HashKey = ""
		case l.Summary != nil && l.Summary.SessionID == session:
			l.Summary.ID, l.Summary.Children, l.Summary.Previous = "", nil, nil
		case l.Turn != nil && l.Turn.SessionID == session:
		case l.Edits != nil && l.Edits.SessionID == session:
		case l.Job != nil && l.Job.SessionID == session:
		default:
			continue
		}
		encoded, err := json.Marshal(l)
		failing(t)(nil, err)
		lines = append(lines, string(encoded))
	}
	slices.Sort(lines)
	return lines
}
