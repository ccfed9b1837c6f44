package storetest

import (
	"bytes"
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

// carol is whom tests import.
var carol = memory.UserRef{Tenant: "acme", UserID: "carol"}

func testImports(t *testing.T, open Open[store.PrimaryStore]) {
	used := func(t *testing.T) (store.PrimaryStore, string) {
		s := open(t)
		Fill(t, s)
		useKept(t, s)
		return s, exportFile(t, s, alice)
	}
	t.Run("PublishImport must make the life that of the user, so that a second export is equal byte for byte", func(t *testing.T) {
		s, file := used(t)
		published(t, s, file, carol, "c0")
		want := strings.Replace(file, `"user_id":"alice"`, `"user_id":"carol"`, 1)
		wantSameFile(t, exportFile(t, s, carol), want)
		wantSameFile(t, exportFile(t, s, alice), file)
		t.Run("also of a life that was imported itself", func(t *testing.T) {
			published(t, s, exportFile(t, s, carol), memory.UserRef{Tenant: "other", UserID: "alice"}, "c1")
			wantSameFile(t, exportFile(t, s, memory.UserRef{Tenant: "other", UserID: "alice"}), file)
		})
	})
	t.Run("PublishImport must leave nothing of the old life's keys in the new one", func(t *testing.T) {
		s, file := used(t)
		published(t, s, file, carol, "c0")
		old := map[string]bool{string(mustUser(t, s, alice).Scope): true}
		each(t, s, alice, func(r store.Record) {
			if r.Session != nil {
				old[string(r.Session.Key)] = true
			}
			if r.Job != nil {
				old[r.Job.ID()] = true
			}
		})
		each(t, s, carol, func(r store.Record) {
			if r.User != nil {
				r.User.HashKey = "" // which is kept
			}
			encoded, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			for key := range old {
				if bytes.Contains(encoded, []byte(key)) {
					t.Errorf("a record of the new life holds a key of the old one: %s", encoded)
				}
			}
		})
	})
	t.Run("hashes hold in the new life: what was recorded, requested and forgotten before is known", func(t *testing.T) {
		s, file := used(t)
		published(t, s, file, carol, "c0")
		p := request("r", "b", turn(carol.Session("s"), message(everything()), chat("a", 1)[0]))
		p.StatePatch = json.RawMessage(`{"a":1}`)
		if got := mustAppend(t, s, p); !got.Replayed {
			t.Errorf("a known request was stored again: %+v", got)
		}
		if got := mustAppend(t, s, turn(carol.Session("s"), chat("a", 2)...)); len(got.Deduplicated) != 2 {
			t.Errorf("known messages were stored again: %+v", got)
		}
		_, err := s.Append(t.Context(), turn(carol.Session("s"), say("a-1", memory.RoleUser, "other words")))
		wantReason(t, err, memory.ReasonMessageIDReused)
		was, is := factsSince(t, s, alice, 0), factsSince(t, s, carol, 0)
		if was.HashKey != is.HashKey || was.Scope == is.Scope {
			t.Errorf("the hash key is %s, want %s; the scope key is %s", is.HashKey, was.HashKey, is.Scope)
		}
		wantEqual(t, is.Forgotten, was.Forgotten)
		fresh := mustAppend(t, s, turn(carol.Session("new"), chat("a", 1)...))
		again := mustAppend(t, s, turn(carol.Session("new"), chat("a", 1)...))
		if fresh.LastSeq != 1 || len(again.Deduplicated) != 1 {
			t.Errorf("a new session of an imported user: %+v, then %+v", fresh, again)
		}
		_, err = s.UpdateMessage(t.Context(), store.MessageUpdate{Ref: carol.Session("new"), MessageID: "a-1", Pinned: ptr(true)})
		if err != nil {
			t.Errorf("UpdateMessage: %v", err)
		}
	})
	t.Run("a deleted message's id stays known in the new life, unless it was free again", func(t *testing.T) {
		s, file := used(t)
		published(t, s, file, carol, "c0")
		again := append(chat("e", 4), say("e-3", memory.RoleUser, "again"))
		for i, known := range map[int]bool{0: true, 1: true, 3: false, 4: true} {
			got := mustAppend(t, s, turn(carol.Session("erased"), again[i]))
			if (len(got.Deduplicated) == 1) != known {
				t.Errorf("%s: %+v, want it known: %t", again[i].ID, got, known)
			}
		}
	})
	t.Run("nobody must know of the life until PublishImport", func(t *testing.T) {
		s, file := used(t)
		tenants, pending := allTenants(t, s), pendingSessions(t, s, minute(9000), 99)
		listed, err := s.ListTenants(t.Context(), store.TenantQuery{Limit: 99})
		failing(t)(nil, err)
		var counts []int64
		for _, view := range memory.Views() {
			_, all, err := s.CountFeeds(t.Context(), view)
			failing(t)(nil, err)
			counts = append(counts, all)
		}
		jobs := allJobs(t, s, store.JobQuery{Tenant: "acme", Limit: 999})
		embed := len(waiting(t, s, store.EmbedQuery{Version: 2, Limit: 999}))
		r := begun(t, s, file, carol, "c0")
		addAll(t, s, r, carol)
		_, err = s.User(t.Context(), carol)
		wantReason(t, err, memory.ReasonUserNotFound)
		_, err = s.UserOfScope(t.Context(), "c0")
		wantReason(t, err, memory.ReasonUserNotFound)
		wantEqual(t, allTenants(t, s), tenants)
		now, err := s.ListTenants(t.Context(), store.TenantQuery{Limit: 99})
		failing(t)(nil, err)
		wantEqual(t, now, listed)
		wantEqual(t, pendingSessions(t, s, minute(9000), 99), pending)
		wantEqual(t, allJobs(t, s, store.JobQuery{Tenant: "acme", Limit: 999}), jobs)
		if got := len(waiting(t, s, store.EmbedQuery{Version: 2, Limit: 999})); got != embed {
			t.Errorf("%d facts wait to be embedded, want %d", got, embed)
		}
		users, err := s.PendingUsers(t.Context(), 9)
		failing(t)(nil, err)
		for _, u := range users {
			if u != alice && u != bob {
				t.Errorf("%v waits for the search index", u)
			}
		}
		for _, view := range memory.Views() {
			failing(t)(s.RebuildView(t.Context(), view, minute(1)))
			for _, f := range feeds(t, s, view, 99) {
				if f.User != alice && f.User != bob {
					t.Errorf("a feed of %v waits", f.User)
				}
			}
			waiting, all, err := s.CountFeeds(t.Context(), view)
			failing(t)(nil, err)
			wantEqual(t, []any{all, waiting <= all}, []any{counts[slices.Index(memory.Views(), view)], true})
		}
	})
	t.Run("from PublishImport on everything waits for what follows from it", func(t *testing.T) {
		s, file := used(t)
		published(t, s, file, carol, "c0")
		state := searchIndex(t, s, carol)
		if len(state.Segments) != 0 || len(state.Unindexed) == 0 {
			t.Errorf("%d segments, %d unindexed messages", len(state.Segments), len(state.Unindexed))
		}
		users, err := s.PendingUsers(t.Context(), 99)
		failing(t)(nil, err)
		if !slices.Contains(users, carol) {
			t.Errorf("%v wait for the search index, without %v", users, carol)
		}
		if !slices.Contains(pendingSessions(t, s, minute(9000), 99), carol.Session("s")) {
			t.Error("the session does not wait for background work")
		}
		if n := len(waiting(t, s, store.EmbedQuery{Version: 2, User: &carol, Limit: 99})); n == 0 {
			t.Error("no fact waits for its vector")
		}
		was, is := mustWork(t, s, inS), mustWork(t, s, carol.Session("s"))
		if was.ExtractCursor != is.ExtractCursor || was.LeafCursor != is.LeafCursor || len(was.Jobs) != len(is.Jobs) {
			t.Errorf("work is %+v, want as %+v", is, was)
		}
	})
	t.Run("PublishImport must refuse a user whom the tenant has, and leave both as they are", func(t *testing.T) {
		s, file := used(t)
		r := begun(t, s, file, alice, "c0")
		addAll(t, s, r, alice)
		err := s.PublishImport(t.Context(), store.ImportEnd{User: *r.User(), Time: minute(100)})
		wantReason(t, err, memory.ReasonUserExists)
		wantSameFile(t, exportFile(t, s, alice), file)
		abandon(t, s, 5)
		wantSameFile(t, exportFile(t, s, alice), file)
	})
	t.Run("AbandonImport must delete a life that was not published, in pieces, and nothing else", func(t *testing.T) {
		s, file := used(t)
		addAll(t, s, begun(t, s, file, carol, "c0"), carol)
		stale, err := s.StaleImports(t.Context(), minute(9000), 9)
		failing(t)(nil, err)
		wantEqual(t, stale, []store.StaleImport{{Scope: "c0"}})
		if done, err := s.AbandonImport(t.Context(), "c0", 3); done || err != nil {
			t.Errorf("3 rows were all: %t, %v", done, err)
		}
		abandon(t, s, 3)
		stale, err = s.StaleImports(t.Context(), minute(9000), 9)
		failing(t)(nil, err)
		wantEqual(t, stale, []store.StaleImport(nil))
		err = s.AddImported(t.Context(), store.ImportedRecords{User: carol, Scope: "c0", Time: minute(9)})
		wantReason(t, err, memory.ReasonContention)
		wantSameFile(t, exportFile(t, s, alice), file)
		published(t, s, file, carol, "c0")
		for range 3 {
			if done, err := s.AbandonImport(t.Context(), "c0", 1); !done || err != nil {
				t.Errorf("AbandonImport of a published life: %t, %v", done, err)
			}
		}
		wantSameFile(t, exportFile(t, s, carol), strings.Replace(file, `"user_id":"alice"`, `"user_id":"carol"`, 1))
	})
	t.Run("vectors that come with an import must serve from PublishImport on, and nothing of the life wait before", func(t *testing.T) {
		s, file := used(t)
		v := mustAdd(t, s, embedding("travels", 2)).Version
		came := stagedVectors(t, s, begun(t, s, file, carol, importScope), v)
		isStaged := func(u memory.UserRef) bool { return u.Tenant == store.ImportTenant }
		texts := waiting(t, s, store.EmbedQuery{Version: v, Limit: 1000})
		if slices.ContainsFunc(texts, func(f store.FactText) bool { return isStaged(f.User) }) {
			t.Errorf("a fact of the import waits for its vector: %v", texts)
		}
		segments, err := s.SegmentsToEmbed(t.Context(), v, 1000)
		failing(t)(nil, err)
		if slices.ContainsFunc(segments, func(r store.SegmentRef) bool { return isStaged(r.User) }) {
			t.Errorf("messages of the import wait for their vectors: %v", segments)
		}
		users, err := s.PendingUsers(t.Context(), 1000)
		failing(t)(nil, err)
		if slices.ContainsFunc(users, isStaged) {
			t.Errorf("messages of the import wait for the search index: %v", users)
		}
		failing(t)(nil, s.PublishImport(t.Context(), store.ImportEnd{User: came.user, Time: minute(100)}))
		vectors, err := s.FactVectors(t.Context(), store.FactVectorQuery{User: carol, Version: v})
		failing(t)(nil, err)
		wantEqual(t, len(vectors), came.facts)
		var lacking []string
		for _, f := range waiting(t, s, store.EmbedQuery{Version: v, User: &carol, Limit: 1000}) {
			lacking = append(lacking, f.FactID)
		}
		wantEqual(t, lacking, []string{came.without})
		wantEqual(t, len(searchIndex(t, s, carol).Segments), 1)
		wantEqual(t, refs(pending(t, s, carol, 1000)), []store.TurnRef{came.last})
		users, err = s.PendingUsers(t.Context(), 1000)
		failing(t)(nil, err)
		if !slices.Contains(users, carol) {
			t.Error("the turn that came without a vector does not wait for the search index")
		}
	})
	t.Run("AbandonImport must delete vectors that came with the import", func(t *testing.T) {
		s, file := used(t)
		v := mustAdd(t, s, embedding("travels", 2)).Version
		messages, err := s.CountIndexedMessages(t.Context())
		failing(t)(nil, err)
		stagedVectors(t, s, begun(t, s, file, carol, importScope), v)
		abandon(t, s, 3)
		left, err := s.CountIndexedMessages(t.Context())
		failing(t)(nil, err)
		wantEqual(t, left, messages)
		published(t, s, file, carol, importScope)
		vectors, err := s.FactVectors(t.Context(), store.FactVectorQuery{User: carol, Version: v})
		failing(t)(nil, err)
		wantEqual(t, vectors, []store.FactVector(nil))
	})
	t.Run("StaleImports must leave out what was added to since", func(t *testing.T) {
		s := open(t)
		failing(t)(nil, s.BeginImport(t.Context(), store.ImportStart{Scope: "c0", HashKey: "h", Time: noon}))
		failing(t)(nil, s.AddImported(t.Context(), store.ImportedRecords{User: carol, Scope: "c0", Time: minute(5)}))
		stale, err := s.StaleImports(t.Context(), minute(5), 9)
		failing(t)(nil, err)
		wantEqual(t, stale, []store.StaleImport(nil))
		stale, err = s.StaleImports(t.Context(), minute(6), 9)
		failing(t)(nil, err)
		wantEqual(t, stale, []store.StaleImport{{Scope: "c0"}})
	})
	t.Run("what was stored before is not stored again: that is an error", func(t *testing.T) {
		s, file := used(t)
		r := begun(t, s, file, carol, "c0")
		for {
			record, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			failing(t)(nil, err)
			p := store.ImportedRecords{User: carol, Scope: "c0", Records: []store.Record{record}, Time: noon}
			failing(t)(nil, s.AddImported(t.Context(), p))
			if record.Turn != nil && len(record.Turn.Messages) > 0 || record.Fact != nil {
				wantReason(t, s.AddImported(t.Context(), p), memory.ReasonFieldInvalid)
			}
		}
	})
}

// useKept adds what Use leaves none of: a fact of a job with what that refused, and a summary of a correction.
func useKept(t *testing.T, s store.PrimaryStore) {
	t.Helper()
	job := mustAnswer(t, s, mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 5, 6)), "x")
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
		w.JobID = job.ID()
		f := fact("of a job")
		f.Evidence = []memory.Evidence{{Session: job.Session, SessionID: "s", Seq: 5, MessageID: "a-1", Quote: "words", Time: noon}}
		w.Changes = []store.FactChange{{Fact: f, Cause: memory.CauseExtracted}}
		w.Quarantined = []memory.Quarantined{{ID: "of a job", SessionID: "s", JobID: job.ID(), Reason: "malformed", Operation: "{}", Time: noon}}
	}))
	corrected := current(t, s, alice)[0].Node()
	weekly := week("2026-W48", 9)
	o := opening(t, s, inS, memory.JobWeek, weekly.Start.Unix()/86400, weekly.End.Unix()/86400-1)
	o.Session = ""
	ofWeek := mustOpen(t, s, o)
	mustPut(t, s, store.NodeWrite{User: alice, Scope: ofWeek.Scope, JobID: ofWeek.ID(), Time: noon, Node: memory.SummaryNode{
		ID: memory.EffectID(ofWeek.ID(), 0), Kind: memory.SummaryWeek, Range: ofWeek.Range(), Period: weekly, Generation: 1,
		Children: []string{corrected.ID, "x"}, Text: "words of the week", FromTime: weekly.Start, ToTime: weekly.End, CreateTime: noon,
	}})
	mustHide(t, s, inS, "a-2", true)
	appendN(t, s, alice.Session("another"), "b", 3)
	erased := alice.Session("erased")
	appendN(t, s, erased, "e", 4)
	eraseSeqs(t, s, "popped", erased, memory.FreeIDs, 3, 4)
	mustAppend(t, s, turn(erased, say("e-3", memory.RoleUser, "again"))) // at 5
	eraseSeqs(t, s, "deleted", erased, memory.KeepIDs, 5, 5)
	eraseSeqs(t, s, "deleted first", erased, memory.KeepIDs, 1, 1)
}

func eraseSeqs(t *testing.T, s store.PrimaryStore, id string, ref memory.SessionRef, ids memory.ErasedIDs, from, to int64) {
	t.Helper()
	p := erasing(id, from, to)
	p.SessionID, p.IDs = ref.SessionID, ids
	begin(t, s, p)
	sweepAll(t, s, id, 9)
}

func exportFile(t *testing.T, s store.PrimaryStore, user memory.UserRef) string {
	t.Helper()
	var out bytes.Buffer
	w, err := portable.NewWriter(&out, "test", portable.Vectors{})
	failing(t)(nil, err)
	failing(t)(nil, s.Export(t.Context(), user, w.Write))
	failing(t)(nil, w.Close())
	return out.String()
}

// wantSameFile compares line by line, but for the checksum of the last one, which says nothing to a reader.
func wantSameFile(t *testing.T, got, want string) {
	t.Helper()
	lines := func(file string) []string {
		all := strings.Split(strings.TrimSpace(file), "\n")
		return all[:len(all)-1]
	}
	wantEqual(t, lines(got), lines(want))
}

func each(t *testing.T, s store.PrimaryStore, user memory.UserRef, do func(store.Record)) {
	t.Helper()
	failing(t)(nil, s.Export(t.Context(), user, func(r store.Record) error { do(r); return nil }))
}

// begun begins the import of a file.
func begun(t *testing.T, s store.PrimaryStore, file string, user memory.UserRef, scope memory.ScopeKey) *portable.Reader {
	t.Helper()
	r, err := portable.NewReader(strings.NewReader(file), portable.Life{User: user, Scope: scope, Seed: "seed of " + string(scope)})
	failing(t)(nil, err)
	failing(t)(nil, r.Begin())
	start := store.ImportStart{Scope: scope, HashKey: r.User().HashKey, Time: noon}
	failing(t)(nil, s.BeginImport(t.Context(), start))
	return r
}

func addAll(t *testing.T, s store.PrimaryStore, r *portable.Reader, user memory.UserRef) {
	t.Helper()
	var records []store.Record
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		failing(t)(nil, err)
		records = append(records, record)
	}
	if len(records) < 20 {
		t.Fatalf("only %d records", len(records))
	}
	for _, some := range [][]store.Record{records[:7], records[7:]} {
		failing(t)(nil, s.AddImported(t.Context(), store.ImportedRecords{User: user, Scope: r.User().Scope, Records: some, Time: noon}))
	}
}

// cameWithVectors is an import with vectors of all facts but one, and a segment of all turns but the last.
type cameWithVectors struct {
	user    store.UserRecord
	facts   int
	without string
	last    store.TurnRef
}

// stagedVectors adds all of a file with vectors of two numbers.
func stagedVectors(t *testing.T, s store.PrimaryStore, r *portable.Reader, version int) (out cameWithVectors) {
	t.Helper()
	staged := store.ImportUser(r.User().Scope)
	out.user = *r.User()
	w := store.VectorWrite{Version: version, Time: noon}
	segment := store.SegmentWrite{User: staged, Scope: r.User().Scope, Analyzer: "v1", Data: []byte("came along"), Time: noon}
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		failing(t)(nil, err)
		p := store.ImportedRecords{User: out.user.Ref, Scope: out.user.Scope, Records: []store.Record{record}, Time: noon}
		failing(t)(nil, s.AddImported(t.Context(), p))
		switch {
		case record.Fact != nil && out.without == "":
			out.without = record.Fact.ID
		case record.Fact != nil:
			w.Vectors = append(w.Vectors, store.NewVector{
				User: staged, FactID: record.Fact.ID, Revision: record.Fact.Revision, Vector: []float32{1, float32(len(w.Vectors))},
			})
		case record.Turn != nil && len(record.Turn.Messages) > 0:
			if out.last.Session != "" {
				segment.Turns = append(segment.Turns, out.last)
			}
			out.last = store.TurnRef{Session: record.Turn.Session, TurnNo: record.Turn.TurnNo}
		}
	}
	segment.Messages, out.facts = len(segment.Turns), len(w.Vectors)
	if out.facts == 0 || len(segment.Turns) == 0 {
		t.Fatalf("%d facts and %d turns came", out.facts, len(segment.Turns))
	}
	failing(t)(nil, s.PutFactVectors(t.Context(), w))
	put(t, s, segment)
	return out
}

func published(t *testing.T, s store.PrimaryStore, file string, user memory.UserRef, scope memory.ScopeKey) {
	t.Helper()
	r := begun(t, s, file, user, scope)
	addAll(t, s, r, user)
	failing(t)(nil, s.PublishImport(t.Context(), store.ImportEnd{User: *r.User(), Time: minute(100)}))
}

func abandon(t *testing.T, s store.PrimaryStore, limit int) {
	t.Helper()
	for range 1000 {
		done, err := s.AbandonImport(t.Context(), importScope, limit)
		failing(t)(nil, err)
		if done {
			return
		}
	}
	t.Fatal("the import is never gone")
}

func allTenants(t *testing.T, s store.PrimaryStore) []string {
	t.Helper()
	tenants, err := s.Tenants(t.Context())
	failing(t)(nil, err)
	return tenants
}
