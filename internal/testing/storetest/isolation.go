package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testIsolation(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("no method returns anything of another user or tenant, however alike their ids", func(t *testing.T) {
		s := open(t)
		users := twins()
		for _, u := range users {
			mustAppend(t, s, request("r", "b", turn(u.Session("s"), canaried(u), calling("call", "c-"+canary(u)))))
			put(t, s, segmentOf(t, s, u))
			mustAppend(t, s, turn(u.Session("s"), say("later", memory.RoleUser, canary(u))))
			grow(t, s, u)
		}
		for _, u := range users {
			if heard := everythingOf(t, s, u, users); strings.Count(heard, "canary-") == 0 {
				t.Errorf("%q finds nothing of its own", u)
			} else if left := strings.ReplaceAll(heard, canary(u), ""); strings.Contains(left, "canary-") {
				t.Errorf("%q finds another user's words", u)
			}
		}
	})
	t.Run("no two users share a scope key, no two sessions a session key", func(t *testing.T) {
		s, seen := open(t), map[string]bool{}
		for _, u := range twins() {
			mustAppend(t, s, turn(u.Session("s"), chat("a", 1)...))
			head := mustSession(t, s, u.Session("s"))
			for _, k := range []string{string(head.ScopeKey), string(head.Key)} {
				if seen[k] {
					t.Errorf("key %s was given twice", k)
				}
				seen[k] = true
			}
		}
	})
	t.Run("a user cannot change another's session or message", func(t *testing.T) {
		s := open(t)
		mustAppend(t, s, turn(alice.Session("s"), chat("a", 1)...))
		mustAppend(t, s, turn(bob.Session("mine"), chat("b", 1)...))
		before := mustSession(t, s, alice.Session("s"))
		_, err := s.UpdateSession(t.Context(), store.SessionUpdate{Ref: bob.Session("s"), Title: ptr("stolen"), Time: noon})
		wantReason(t, err, memory.ReasonSessionNotFound)
		_, err = s.UpdateMessage(t.Context(), store.MessageUpdate{Ref: bob.Session("mine"), MessageID: "a-1", Pinned: ptr(true)})
		wantReason(t, err, memory.ReasonMessageNotFound)
		w := segmentOf(t, s, alice)
		w.User, w.Scope = bob, mustSession(t, s, bob.Session("mine")).ScopeKey
		_, err = s.PutSegment(t.Context(), w)
		wantReason(t, err, memory.ReasonContention)
		wantEqual(t, len(pending(t, s, alice, 10)), 1)
		wantEqual(t, mustSession(t, s, alice.Session("s")), before)
	})
	t.Run("a user cannot change another's facts, vectors, summaries or jobs", func(t *testing.T) { testNoTheft(t, open(t)) })
	t.Run("jobs of a tenant must not show those of another", func(t *testing.T) {
		s := open(t)
		for _, u := range twins() {
			appendN(t, s, u.Session("s"), "a", 1)
			mustOpen(t, s, opening(t, s, u.Session("s"), memory.JobExtract, 1, 1))
		}
		for _, job := range allJobs(t, s, store.JobQuery{Tenant: "acme", Limit: 100}) {
			wantEqual(t, job.User.Tenant, "acme")
		}
	})
}

func testNoTheft(t *testing.T, s store.PrimaryStore) {
	ctx := t.Context()
	thief := memory.UserRef{Tenant: "other", UserID: "alice"}
	appendN(t, s, inS, "a", 4)
	appendN(t, s, thief.Session("s"), "a", 4)
	v := mustAdd(t, s, embedding("m", 2)).Version
	learn(t, s, alice, fact("f"))
	putVector(t, s, v, alice, "f", 1, 1, 1)
	job := mustOpen(t, s, opening(t, s, inS, memory.JobLeaf, 1, 2))
	before := []any{factsSince(t, s, alice, 0), vectors(t, s, alice, v, 0), mustWork(t, s, inS)}

	stolen := store.JobRef{User: thief, ID: job.ID()}
	calls := map[string]func() error{
		"Job": func() error { _, err := s.Job(ctx, stolen); return err },
		"ClaimJob": func() error {
			_, err := s.ClaimJob(ctx, store.JobClaim{JobRef: stolen, Now: minute(99)})
			return err
		},
		"AnswerJob": func() error { _, err := s.AnswerJob(ctx, store.JobAnswer{JobRef: stolen}); return err },
		"FailJob":   func() error { _, err := s.FailJob(ctx, store.JobFailure{JobRef: stolen}); return err },
		"SplitJob":  func() error { _, err := s.SplitJob(ctx, store.JobSplit{JobRef: stolen, At: 1}); return err },
		"FinishJob": func() error { _, err := s.FinishJob(ctx, store.JobFinish{JobRef: stolen}); return err },
		"RetryJob":  func() error { _, err := s.RetryJob(ctx, store.JobRetry{JobRef: stolen, Time: noon}); return err },
		"PutNode": func() error {
			return s.PutNode(ctx, store.NodeWrite{User: thief, Scope: mustUser(t, s, thief).Scope, JobID: job.ID()})
		},
		"ApplyFacts": func() error {
			_, err := s.ApplyFacts(ctx, write(t, s, thief, func(w *store.FactWrite) { w.JobID = job.ID() }))
			return err
		},
		"ApplyFacts that reverts": func() error {
			_, err := s.ApplyFacts(ctx, write(t, s, thief, func(w *store.FactWrite) { w.Reverts = job.ID() }))
			return err
		},
	}
	for name, call := range calls {
		if got := memory.ReasonOf(call()); got != memory.ReasonJobNotFound {
			t.Errorf("%s of another's job: reason %q", name, got)
		}
	}
	_, err := s.OpenJob(ctx, store.JobOpening{JobKey: job.JobKey, User: thief, To: 2, Time: noon})
	wantReason(t, err, memory.ReasonUserNotFound)
	_, err = s.Fact(ctx, thief, "f")
	wantReason(t, err, memory.ReasonFactNotFound)
	_, err = s.ApplyFacts(ctx, write(t, s, thief, func(w *store.FactWrite) { w.Forget = []store.ForgetFact{{FactID: "f"}} }))
	wantReason(t, err, memory.ReasonFactNotFound)
	putVector(t, s, v, thief, "f", 1, 9, 9)
	if err := s.TouchFacts(ctx, thief, []string{"f"}, minute(9)); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, []any{factsSince(t, s, alice, 0), vectors(t, s, alice, v, 0), mustWork(t, s, inS)}, before)
}

// twins are users whose ids are easily taken for each other, and the same ids in another tenant.
func twins() []memory.UserRef {
	var users []memory.UserRef
	for _, id := range hostile() {
		users = append(users, memory.UserRef{Tenant: "acme", UserID: id}, memory.UserRef{Tenant: "acme2", UserID: id})
	}
	return append(users, memory.UserRef{Tenant: "ac", UserID: "mea"}, memory.UserRef{Tenant: "acmea", UserID: ""})
}

func canary(u memory.UserRef) string {
	return fmt.Sprintf("canary-%x.", memory.IDDigest(u.Tenant+"\x00"+u.UserID))
}

func canaried(u memory.UserRef) store.NewMessage {
	m := say("m", memory.RoleUser, "my secret is "+canary(u))
	m.Original = &memory.Original{Format: "f", Data: []byte(canary(u))}
	return m
}

func segmentOf(t *testing.T, s store.PrimaryStore, u memory.UserRef) store.SegmentWrite {
	t.Helper()
	return store.SegmentWrite{
		User: u, Scope: searchIndex(t, s, u).Scope, Analyzer: "v1", Messages: 1, Data: []byte(canary(u)), Turns: refs(pending(t, s, u, 100)),
	}
}

// everythingOf calls every reading method as u, asking for the places and segments of all users.
func everythingOf(t *testing.T, s store.PrimaryStore, u memory.UserRef, users []memory.UserRef) string {
	t.Helper()
	var places []memory.Place
	var nos []int64
	var calls []string
	for _, other := range users {
		places = append(places, memory.Place{Session: mustSession(t, s, other.Session("s")).Key, Seq: 1})
		nos = append(nos, searchIndex(t, s, other).Segments[0].No)
		calls = append(calls, "c-"+canary(other))
	}
	var heard strings.Builder
	hear := func(v any, err error) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&heard, "%s\n", v)
	}
	ctx := t.Context()
	hear(s.Session(ctx, u.Session("s")))
	hear(s.ListSessions(ctx, store.SessionQuery{User: u, Limit: 1000}))
	hear(s.Messages(ctx, store.MessageQuery{Ref: u.Session("s"), Limit: 1000, WithOriginal: true}))
	hear(s.MessagesAt(ctx, store.PlacesQuery{User: u, Places: places}))
	hear(s.KnownToolCalls(ctx, u.Session("s"), calls))
	hear(s.KnownMessages(ctx, u.Session("s"), []string{"m", canary(u)}))
	hear(s.Hidden(ctx, u))
	hear(s.SearchIndex(ctx, store.SearchIndexQuery{User: u, SessionID: "s", MaxUnindexed: 1000}))
	hear(s.Segments(ctx, u, nos))
	hear(s.PendingTurns(ctx, store.PendingQuery{User: u, MaxMessages: 1000}))
	hearGrown(t, s, u, hear)
	return heard.String()
}

// grow stores a fact, a vector, summaries, a parked job and a refused operation that bear the user's canary. All users'
// facts and jobs of weeks have the same ids, as far as a caller can give them.
func grow(t *testing.T, s store.PrimaryStore, u memory.UserRef) {
	t.Helper()
	ref := u.Session("s")
	mustAdd(t, s, embedding("m", 2))
	f := fact("f")
	f.Text = canary(u)
	apply(t, s, write(t, s, u, func(w *store.FactWrite) {
		q := refused("q", "malformed", noon)
		q.Operation = canary(u)
		w.Changes, w.Quarantined = []store.FactChange{learnt(f)}, []memory.Quarantined{q}
	}))
	mustUpdateUser(t, s, store.UserUpdate{Ref: u, StatePatch: json.RawMessage(`{"notes/n":"` + canary(u) + `"}`), Time: noon})
	embedAll(t, s, 1)
	leaf(t, s, ref, 1, 1, func(w *store.NodeWrite) { w.Node.Text = canary(u) })
	job := mustOpen(t, s, opening(t, s, ref, memory.JobExtract, 1, 1))
	park(t, s, mustAnswer(t, s, job, canary(u)))
}

// hearGrown calls the reading methods of what grows out of the transcript.
func hearGrown(t *testing.T, s store.PrimaryStore, u memory.UserRef, hear func(any, error)) {
	t.Helper()
	ctx, ref := t.Context(), u.Session("s")
	hear(s.User(ctx, u))
	hear(s.FactsSince(ctx, u, 0))
	hear(s.Fact(ctx, u, "f"))
	hear(s.FactRevisions(ctx, u, "f"))
	for _, session := range []string{"", "s"} {
		hear(s.ListFacts(ctx, store.FactQuery{User: u, SessionID: session, Limit: 1000}))
		hear(s.ListJobs(ctx, store.JobQuery{Tenant: u.Tenant, UserID: u.UserID, SessionID: session, Limit: 1000}))
	}
	hear(s.ListQuarantined(ctx, store.QuarantineQuery{User: u, Limit: 1000}))
	hear(s.FactsToEmbed(ctx, store.EmbedQuery{Version: 1, User: &u, Limit: 1000}))
	wantEqual(t, len(vectors(t, s, u, 1, 0)), 1)
	hear(s.SessionWork(ctx, ref))
	session, user, err := s.SessionHead(ctx, ref)
	hear([]any{session, user}, err)
	hear(s.TopNodes(ctx, ref, 99))
	hear(s.RecentSessions(ctx, store.RecentQuery{User: u, Limit: 1000}))
	hear(s.LeavesBetween(ctx, store.LeafQuery{User: u}))
	hear(s.NodesWithin(ctx, ref, memory.SeqRange{From: 1, To: 99}))
	hear(s.CurrentSummaries(ctx, u))
	if head, err := s.Session(ctx, ref); err == nil {
		hear(s.SummaryRevisions(ctx, store.RevisionQuery{User: u, Kind: memory.SummarySession, Session: head.Key, Limit: 99}))
	}
}
