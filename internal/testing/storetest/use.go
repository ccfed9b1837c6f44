package storetest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Use calls every method once on a fresh store, so that a driver's test can look at what it did.
func Use(t *testing.T, s store.PrimaryStore) {
	t.Helper()
	Fill(t, s)
	useErasures(t, s)
}

// Fill is Use without what erases: what it stored is there after it.
func Fill(t *testing.T, s store.PrimaryStore) {
	t.Helper()
	ref := alice.Session("s")
	p := request("r", "b", turn(ref, message(everything()), chat("a", 1)[0]))
	p.StatePatch = json.RawMessage(`{"a":1}`)
	mustAppend(t, s, p)
	mustAppend(t, s, p)
	mustAppend(t, s, turn(ref, chat("a", 2)...))
	head := mustSession(t, s, ref)
	hear := failing(t)
	ctx := t.Context()
	for _, newest := range []bool{false, true} {
		for _, original := range []bool{false, true} {
			hear(s.Messages(ctx, store.MessageQuery{Ref: ref, Limit: 9, NewestFirst: newest, WithOriginal: original}))
		}
	}
	hear(s.MessagesAt(ctx, store.PlacesQuery{User: alice, Places: []memory.Place{{Session: head.Key, Seq: 1}}}))
	hear(s.KnownToolCalls(ctx, ref, []string{"c1"}))
	hear(s.KnownMessages(ctx, ref, []string{"a-1"}))
	labels := store.MessageUpdate{
		Ref:       ref,
		MessageID: "a-1",
		Tags:      &[]string{"x"},
		Metadata:  ptr(json.RawMessage(`{"a":1}`)),
		Pinned:    ptr(true),
	}
	hear(s.UpdateMessage(ctx, labels))
	for _, hide := range []bool{true, false} {
		mustHide(t, s, ref, "a-2", hide)
	}
	hear(s.Hidden(ctx, alice))
	hear(s.ListSessions(ctx, store.SessionQuery{User: alice, Limit: 9}))
	hear(s.ListSessions(ctx, store.SessionQuery{User: alice, Limit: 9, After: &store.SessionCursor{Time: minute(9)}}))
	hear(s.UpdateSession(ctx, store.SessionUpdate{Ref: ref, Title: ptr("x"), Metadata: ptr(json.RawMessage(`{"a":1}`)), Time: noon}))
	hear(s.PendingUsers(ctx, 9))
	no := put(t, s, segment(t, s, alice, "one"))
	put(t, s, store.SegmentWrite{User: alice, Scope: head.ScopeKey, Analyzer: "v1", Data: []byte("m"), Replaces: []int64{no}})
	hear(s.Segments(ctx, alice, []int64{no}))
	hear(s.SearchIndex(ctx, store.SearchIndexQuery{User: alice, SessionID: "s", MaxUnindexed: 9}))
	hear(s.SegmentsToEmbed(ctx, 9, 9))
	hear(s.CountMessagesToEmbed(ctx, 9))
	hear(s.CountIndexedMessages(ctx))
	hear(s.RetireSegments(ctx, store.RetireQuery{Analyzer: "v2"}))
	hear(s.RetireSegments(ctx, store.RetireQuery{User: &alice}))
	hear(s.SearchIndex(ctx, store.SearchIndexQuery{User: alice, SessionID: "s", MaxUnindexed: 9}))
	hear(s.FenceSecret(ctx, []byte("x")))
	hear(nil, s.Check(ctx))
	useWork(t, s)
	useFacts(t, s)
	useSummaries(t, s)
	useKeys(t, s)
	useUsage(t, s)
	useDocuments(t, s)
	useAudit(t, s)
	useFeeds(t, s)
}

func useErasures(t *testing.T, s store.PrimaryStore) {
	t.Helper()
	ctx := t.Context()
	hash := memory.KeyedHash{}
	appendN(t, s, alice.Session("t"), "t", 2)
	for _, p := range []store.ErasureStart{
		erasing("messages", 2, 3), {Kind: memory.EraseSession, SessionID: "t"}, {Kind: memory.EraseSession, SessionID: "s"}, {Kind: memory.EraseUser},
	} {
		p.ID, p.User, p.Time = p.Kind.String()+p.SessionID, alice, noon
		e := begin(t, s, p)
		sweepAll(t, s, e.ID, 3)
		failing(t)(nil, s.UpdateErasure(ctx, e))
		failing(t)(s.PendingErasures(ctx, minute(9), 9))
		failing(t)(nil, s.Purge(ctx))
		failing(t)(s.ListErasures(ctx, store.ErasureQuery{Tenant: "acme", Limit: 9}))
		failing(t)(s.ListErasures(ctx, store.ErasureQuery{
			Tenant: "acme", UserHash: &hash, Session: e.Session, States: []memory.ErasureState{memory.ErasureDone}, Limit: 9,
			After: &store.JobCursor{CreateTime: noon},
		}))
	}
}

func useFeeds(t *testing.T, s store.PrimaryStore) {
	t.Helper()
	for _, view := range memory.Views() {
		feeds(t, s, view, 9)
		f := feedOf(t, s, view, inS)
		mark(t, s, f, f.Head)
		_, _, err := s.CountFeeds(t.Context(), view)
		failing(t)(s.RebuildView(t.Context(), view, noon))
		failing(t)(nil, err)
	}
	lease(t, s, "use", "a", noon, minute(1))
	lease(t, s, "use", "a", noon, time.Time{})
}

func useWork(t *testing.T, s store.PrimaryStore) {
	t.Helper()
	ctx := t.Context()
	appendN(t, s, inS, "more", 20)
	mustUpdateUser(t, s, store.UserUpdate{Ref: alice, Timezone: ptr("Asia/Seoul"), Time: noon})
	mustUpdateUser(t, s, store.UserUpdate{Ref: bob, StatePatch: json.RawMessage(`{"a":1,"notes/b":2}`), Time: noon})
	mustUpdateUser(t, s, store.UserUpdate{Ref: bob, StatePatch: json.RawMessage(`{"a":null}`), Time: noon})
	mustUser(t, s, bob)
	for _, after := range []string{"", "a"} {
		failing(t)(s.ListUsers(ctx, store.UserQuery{Tenant: "acme", After: after, Limit: 9}))
	}
	job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4))
	mustSplit(t, s, job, 2)
	job = mustAnswer(t, s, mustOpen(t, s, opening(t, s, inS, memory.JobLeaf, 1, 4)), "x")
	failing(t)(s.RetryJob(ctx, store.JobRetry{JobRef: refOf(park(t, s, job)), Time: noon}))
	failing(t)(s.ClaimJob(ctx, store.JobClaim{JobRef: refOf(job), Owner: "w", Now: minute(20), Until: minute(30)}))
	finish(t, s, job)
	weekly := opening(t, s, inS, memory.JobWeek, 1, 7)
	weekly.Session = ""
	failing(t)(s.RetryJob(ctx, store.JobRetry{JobRef: refOf(park(t, s, mustOpen(t, s, weekly))), Time: noon}))
	for _, q := range []store.JobQuery{{}, {UserID: "alice"}, {UserID: "alice", SessionID: "s"}} {
		q.Tenant, q.Limit = "acme", 9
		allJobs(t, s, q)
		q.Kinds, q.States = []memory.JobKind{memory.JobLeaf}, []memory.JobState{memory.JobParked, memory.JobOpen}
		allJobs(t, s, q)
		q.States = append(q.States, memory.JobApplied)
		allJobs(t, s, q)
	}
	mustChange(t, s, correction(t, s, "words"))
	again := correction(t, s, "more words")
	again.Base, again.RequestID = 1, "r"
	mustChange(t, s, again)
	mustChange(t, s, ofWeek(t, s, "2026-W47", "the week"))
	current(t, s, alice)
	revisions(t, s, store.RevisionQuery{User: alice, Kind: memory.SummarySession, Session: job.Session, Limit: 9})
	failing(t)(s.NodesWithin(ctx, inS, memory.SeqRange{From: 1, To: 9}))
	mustWork(t, s, inS)
	mustDefer(t, s, deferral(t, s, inS, minute(1)))
	pendingSessions(t, s, minute(9), 9)
	pendingPeriods(t, s, minute(9), 9)
	failing(t)(nil, s.DeferPeriods(ctx, store.PeriodsDeferral{User: alice, Scope: job.Scope, Until: minute(1)}))
	failing(t)(s.WorkStats(ctx))
}

func useFacts(t *testing.T, s store.PrimaryStore) {
	t.Helper()
	ctx := t.Context()
	mustAdd(t, s, embedding("m", 2))
	learn(t, s, alice, everyField(), fact("b"))
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
		w.Changes = []store.FactChange{changed(mustFact(t, s, alice, "full"), memory.CauseEdited, func(f *memory.Fact) { f.Text = "x" })}
		w.Quarantined = []memory.Quarantined{refused("q", "malformed", noon)}
	}))
	mustAdd(t, s, embedding("n", 2))
	embedAll(t, s, 1)
	waiting(t, s, store.EmbedQuery{Version: 1, User: &alice, Limit: 9})
	toEmbed(t, s, 1)
	failing(t)(s.CountFacts(ctx))
	vectors(t, s, alice, 1, 0)
	failing(t)(s.FactRevisions(ctx, alice, "b"))
	failing(t)(nil, s.TouchFacts(ctx, alice, []string{"b"}, noon))
	for _, q := range []store.FactQuery{{}, {SessionID: "s"}} {
		q.User, q.Limit = alice, 9
		listFacts(t, s, q)
		q.Categories, q.WithPast, q.After = []memory.Category{memory.CategoryGoal}, true, &store.FactCursor{UpdateTime: noon}
		listFacts(t, s, q)
	}
	quarantined(t, s, store.QuarantineQuery{User: alice, Limit: 9, After: &store.JobCursor{CreateTime: noon}})
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) { w.Forget = []store.ForgetFact{{FactID: "b"}} }))
	failing(t)(nil, s.ActivateEmbedding(ctx, 2, noon))
	failing(t)(nil, s.DropEmbedding(ctx, 1))
	embeddings(t, s)
}

func useSummaries(t *testing.T, s store.PrimaryStore) {
	t.Helper()
	leaf(t, s, inS, 5, 8, func(w *store.NodeWrite) { w.LookAt = minute(1) })
	period(t, s, memory.SummaryMonth, week("2026-11", 2), 1)
	top(t, s, inS, 9)
	nodes(t, s, alice, "x")
	recent(t, s, store.RecentQuery{User: alice, Limit: 9})
	recent(t, s, store.RecentQuery{
		User: alice, Exclude: "x", Since: noon, Until: minute(99), After: &store.SessionCursor{Time: minute(99)}, Limit: 9,
	})
	leaves(t, s, store.LeafQuery{User: alice, From: noon, To: minute(99)})
	periods(t, s, store.PeriodQuery{User: alice, Kind: memory.SummaryMonth, Limit: 9})
}

// failing fails the test when a call failed.
func failing(t *testing.T) func(any, error) {
	return func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}
