// Package storetest is the conformance suite of package store: each "must" of a contract has a subtest that bears its
// sentence. A driver passes it, or is not a driver.
package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Options fit the suite to a driver.
type Options struct {
	Writers int // concurrent writers on one session; 0 for 16
}

// Open returns a store with nothing in it that lives as long as the test.
type Open[S any] func(t *testing.T) S

// Turns is the contract of a turn alone.
type Turns interface {
	Append(ctx context.Context, p store.AppendParams) (store.AppendResult, error)
	Messages(ctx context.Context, q store.MessageQuery) ([]memory.Message, error)
}

// Run runs the whole suite, its parts side by side.
func Run(t *testing.T, open Open[store.PrimaryStore], o Options) {
	if o.Writers == 0 {
		o.Writers = 16
	}
	turns := func(t *testing.T) Turns { return open(t) }
	for _, part := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"Turns", func(t *testing.T) { testTurns(t, turns, o.Writers) }},
		{"Append", func(t *testing.T) { testAppend(t, open) }},
		{"Paging", func(t *testing.T) { testPaging(t, open) }},
		{"Messages", func(t *testing.T) { testMessages(t, open); testEchoes(t, open) }},
		{"Hidden", func(t *testing.T) { testHidden(t, open) }},
		{"Sessions", func(t *testing.T) { testSessions(t, open) }},
		{"SearchIndex", func(t *testing.T) { testSearchIndex(t, open) }},
		{"Users", func(t *testing.T) { testUsers(t, open) }},
		{"Work", func(t *testing.T) { testWork(t, open) }},
		{"Journal", func(t *testing.T) { testJournal(t, open) }},
		{"Facts", func(t *testing.T) { testFacts(t, open) }},
		{"Vectors", func(t *testing.T) { testVectors(t, open) }},
		{"Summaries", func(t *testing.T) { testSummaries(t, open); testCorrections(t, open) }},
		{"Erasures", func(t *testing.T) { testErasures(t, open) }},
		{"Feeds", func(t *testing.T) { testFeeds(t, open) }},
		{"Imports", func(t *testing.T) { testImports(t, open) }},
		{"Adoptions", func(t *testing.T) { testAdoptions(t, open) }},
		{"Secrets", func(t *testing.T) { testSecrets(t, open) }},
		{"Keys", func(t *testing.T) { testKeys(t, open) }},
		{"Usage", func(t *testing.T) { testUsage(t, open) }},
		{"Audit", func(t *testing.T) { testAudit(t, open) }},
		{"Documents", func(t *testing.T) { testDocuments(t, open) }},
		{"Leases", func(t *testing.T) { testLeases(t, open) }},
		{"Isolation", func(t *testing.T) { testIsolation(t, open) }},
		{"Concurrency", func(t *testing.T) { testConcurrency(t, open, o.Writers) }},
		{"Model", func(t *testing.T) { testModel(t, open) }},
		{"JournalModel", func(t *testing.T) { testJournalModel(t, open) }},
		{"Context", func(t *testing.T) { testContext(t, open) }},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel() // a part opens stores of its own, and most of its time it waits for them
			part.test(t)
		})
	}
}

func testTurns(t *testing.T, open Open[Turns], writers int) {
	testInsert(t, open)
	testRequestIDs(t, open)
	testMessageIDs(t, open)
	testOrder(t, open, writers)
}

var (
	alice = memory.UserRef{Tenant: "acme", UserID: "alice"}
	bob   = memory.UserRef{Tenant: "acme", UserID: "bob"}
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
)

// minute returns the n-th minute after noon.
func minute(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

// say is a message of plain words.
func say(id string, role memory.Role, words string) store.NewMessage {
	return message(memory.Message{ID: id, Role: role, Parts: []memory.Part{memory.TextPart(words)}})
}

// message fills in what the service always sets.
func message(m memory.Message) store.NewMessage {
	if m.Origin == 0 {
		m.Origin = memory.DefaultOrigin(m.Role)
	}
	if m.Extract == 0 {
		m.Extract = memory.ExtractAllow
	}
	if m.CreateTime.IsZero() {
		m.CreateTime = noon
	}
	digest, err := memory.BodyDigest(m)
	if err != nil {
		panic(err) // a part that JSON cannot hold: the test is wrong
	}
	return store.NewMessage{Message: m, BodyDigest: digest}
}

// chat is n messages with ids and words from prefix, users and assistants in turn.
func chat(prefix string, n int) []store.NewMessage {
	out := make([]store.NewMessage, n)
	for i := range out {
		id := fmt.Sprintf("%s-%d", prefix, i+1)
		role := memory.RoleUser
		if i%2 == 1 {
			role = memory.RoleAssistant
		}
		out[i] = say(id, role, "words of "+id)
		out[i].Tokens = memory.TokenCounts{O200K: 10, CL100K: 11}
	}
	return out
}

func turn(ref memory.SessionRef, messages ...store.NewMessage) store.AppendParams {
	return store.AppendParams{Ref: ref, Messages: messages, Time: noon}
}

// request is a turn with a request id; equal bodies have equal digests.
func request(id, body string, p store.AppendParams) store.AppendParams {
	p.RequestID, p.RequestDigest = id, memory.IDDigest(body)
	return p
}

func mustAppend(t *testing.T, s Turns, p store.AppendParams) store.AppendResult {
	t.Helper()
	res, err := s.Append(t.Context(), p)
	if err != nil {
		t.Fatalf("Append: %v", err)
	}
	return res
}

func mustSession(t *testing.T, s store.Sessions, ref memory.SessionRef) memory.Session {
	t.Helper()
	head, err := s.Session(t.Context(), ref)
	if err != nil {
		t.Fatalf("Session: %v", err)
	}
	return head
}

// all returns the whole session, oldest first.
func all(t *testing.T, s Turns, ref memory.SessionRef) []memory.Message {
	t.Helper()
	got, err := s.Messages(t.Context(), store.MessageQuery{Ref: ref, Limit: 100_000})
	if err != nil {
		t.Fatalf("Messages: %v", err)
	}
	return got
}

// ids returns the messages' ids in order, and fails when their seqs are not 1..n.
func ids(t *testing.T, messages []memory.Message) []string {
	t.Helper()
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = m.ID
		if want := int64(i) + 1; m.Seq != want {
			t.Errorf("message %s has seq %d, want %d", m.ID, m.Seq, want)
		}
	}
	return out
}

func wantReason(t *testing.T, err error, want memory.Reason) {
	t.Helper()
	if got := memory.ReasonOf(err); got != want {
		t.Fatalf("error is %v (reason %q), want reason %s", err, got, want)
	}
}

func wantEqual(t *testing.T, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

func ptr[T any](v T) *T { return &v }
