package edge_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// TestHostileStrings: whatever stands in whatever string of whatever call, a caller sees and changes the data of the
// user that the call names and of nobody else, and is never answered INTERNAL.
func TestHostileStrings(t *testing.T) {
	every := 20
	if testing.Short() {
		every = 100 // with the race detector: another string is no other way through the code
	}
	t.Run("over SQLite", func(t *testing.T) {
		t.Parallel()
		newSiege(t, func(change func(*config.Config)) *e2e.Rig {
			return &e2e.Rig{Server: e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), change)}
		}).run(t, every)
	})
	t.Run("over MongoDB, Milvus and Elasticsearch", func(t *testing.T) {
		t.Parallel()
		newSiege(t, func(change func(*config.Config)) *e2e.Rig { return e2e.OnBackends(t, change) }).run(t, every)
	})
}

// siege is a server with the data of an attacker, of victims, and of every hostile string that can be a user's id.
type siege struct {
	*e2e.Rig
	own     map[string]int // the number of each user's canary
	base    map[string]proto.Message
	strings []string

	mu       sync.Mutex
	codes    map[codes.Code]int
	accepted map[string]bool // fields that a call was accepted with
	degraded map[string]int  // replies by the tier that they lack
	wrong    int
}

// newSiege starts a server whose sessions come to rest: nothing is done to them for being idle. Its endpoint embeds with
// one model alone, so that no hostile string becomes a version of all vectors.
func newSiege(t *testing.T, on func(func(*config.Config)) *e2e.Rig) *siege {
	t.Helper()
	model := llmtest.New(llmtest.Options{Chat: e2e.Indiscreet, Embed: func(r llmtest.EmbedRequest) llmtest.EmbedReply {
		if r.Model != "embedder" {
			return llmtest.EmbedReply{Status: 404, Failure: llmtest.Failure{Type: "invalid_request_error", Message: "There is no such model."}}
		}
		return llmtest.EmbedReply{}
	}})
	t.Cleanup(model.Close)
	s := &siege{own: map[string]int{}, codes: map[codes.Code]int{}, accepted: map[string]bool{}, degraded: map[string]int{}}
	s.Rig = on(func(c *config.Config) {
		c.ChatBaseURL, c.SummaryModel, c.ExtractionModel = model.URL(), "scripted", "scripted"
		c.EmbeddingBaseURL, c.EmbeddingModel = model.URL(), "embedder"
		c.MetricsListen = "127.0.0.1:0"
		c.EmbeddingDeadline, c.ViewDeadline = 5*time.Second, 5*time.Second // what views answer is looked at, so it is waited for
		p := c.Profiles[config.BuiltinProfile]
		p.Extraction.Idle = 0
		c.Profiles[config.BuiltinProfile] = p
	})
	return s
}

// run takes every so many strings; all of them with STRATA_TEST_FULL=1.
func (s *siege) run(t *testing.T, every int) {
	for i, v := range e2e.Victims {
		s.furnish(t, v, i+1)
	}
	for _, v := range e2e.Victims {
		s.settle(t, v)
	}
	viewed := s.rows(t)
	before := s.snapshots(t)
	s.furnish(t, e2e.Attacker, 0)
	s.settle(t, e2e.Attacker)
	s.base = s.requests(t)
	s.strings = append(e2e.Sampled(e2e.HostileStrings(), every), s.stolen(t)...)
	s.moveIn(t)
	s.mustAccept(t)
	calls := s.calls(t)
	started := time.Now()
	s.send(t, calls)
	t.Logf("%d hostile strings, %d string fields of %d RPCs, %d calls in %v: %d wrong; codes %v; replies that lack a tier %v",
		len(s.strings), len(s.accepted), len(s.base), len(calls), time.Since(started).Round(100*time.Millisecond), s.wrong, s.codes, s.degraded)
	if diff := cmp.Diff(before, s.snapshots(t)); diff != "" {
		t.Errorf("what the victims have changed (-before +after):\n%s", diff)
	}
	s.mustHoldStill(t, viewed)
	s.mustKeepApart(t)
}

// canary is a word that stands in all that the user of this number has.
func canary(owner int) string { return fmt.Sprintf("canary%04dx", owner) }

var canaries = regexp.MustCompile(`canary\d{4}x`)

// sessionsOf are the sessions of the user of this number: one that everybody has, and one of a name of its own.
func sessionsOf(owner int) []string { return []string{"s1", fmt.Sprintf("private-%02d", owner)} }

// furnish gives a user everything that can be had.
func (s *siege) furnish(t *testing.T, user string, owner int) {
	t.Helper()
	s.own[user] = owner
	mark := canary(owner)
	for _, session := range sessionsOf(owner) {
		e2e.Must(s.Record(s.Ctx, &memoryv1.RecordRequest{
			UserId: user, SessionId: session, RequestId: "r1", StatePatch: e2e.Object("harbour", e2e.StructString(mark)),
			Messages: []*memoryv1.Message{
				{
					Id: "m1", Role: memoryv1.Role_ROLE_USER, Name: mark, Text: "I like " + mark + " at the harbour.", Tags: []string{mark},
					Metadata: e2e.Object("harbour", e2e.StructString(mark)), Original: &memoryv1.Original{Format: "text", Data: []byte(mark)},
				},
				e2e.Assistant("m2", "The harbour has "+mark+"."),
			},
		}))(t)
		e2e.Must(s.UpdateSession(s.Ctx, &memoryv1.UpdateSessionRequest{Session: &memoryv1.Session{UserId: user, SessionId: session, Title: mark}, UpdateMask: e2e.MaskOf("title")}))(t)
		e2e.Must(s.Summaries().Summarize(s.Ctx, &memoryv1.SummarizeRequest{UserId: user, SessionId: session}))(t)
	}
	e2e.Must(s.Facts().CreateFact(s.Ctx, &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{UserId: user, Text: "Keeps a boat named " + mark + " in the harbour", Subject: mark}}))(t)
}

// settle waits until all is done that follows from what a user has.
func (s *siege) settle(t *testing.T, user string) {
	t.Helper()
	for _, session := range sessionsOf(s.own[user]) {
		e2e.Must(s.Work().WaitForWatermark(s.Ctx, &memoryv1.WaitForWatermarkRequest{
			UserId: user, SessionId: session, Timeout: e2e.LongWait,
			Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_INDEXED, memoryv1.Watermark_WATERMARK_EXTRACTED, memoryv1.Watermark_WATERMARK_SUMMARISED},
		}))(t)
	}
}

// moveIn makes a user of every hostile string that can be an id.
func (s *siege) moveIn(t *testing.T) {
	t.Helper()
	for i, id := range s.strings {
		mark := canary(100 + i)
		_, err := s.Record(s.Ctx, &memoryv1.RecordRequest{UserId: id, SessionId: "s1", Messages: []*memoryv1.Message{e2e.User("m1", "Moored in the harbour: "+mark)}})
		if status.Code(err) == codes.InvalidArgument {
			continue
		}
		if err != nil {
			t.Fatalf("%q cannot be a user's id: %v", clip(id), err)
		}
		s.own[id] = 100 + i
		e2e.Must(s.Facts().CreateFact(s.Ctx, &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{UserId: id, Text: "Sails from the harbour to " + mark}}))(t)
	}
}

// stolen is what a victim knows: ids, tokens and etags.
func (s *siege) stolen(t *testing.T) []string {
	t.Helper()
	v := e2e.Victims[0]
	facts := e2e.Must(s.Facts().ListFacts(s.Ctx, &memoryv1.ListFactsRequest{UserId: v, PageSize: 1}))(t)
	messages := e2e.Must(s.ListMessages(s.Ctx, &memoryv1.ListMessagesRequest{UserId: v, SessionId: "s1", PageSize: 1}))(t)
	session := e2e.Must(s.GetSession(s.Ctx, &memoryv1.GetSessionRequest{UserId: v, SessionId: "s1"}))(t).GetSession()
	summary := e2e.Must(s.Summaries().GetSummary(s.Ctx, &memoryv1.GetSummaryRequest{UserId: v, SessionId: "s1"}))(t).GetSummary()
	jobs := e2e.Must(s.Work().ListJobs(s.Ctx, &memoryv1.ListJobsRequest{UserId: v, States: e2e.AllStates}))(t).GetJobs()
	return []string{
		facts.GetFacts()[0].GetFactId(), facts.GetFacts()[0].GetEtag(), facts.GetNextPageToken(), messages.GetNextPageToken(),
		session.GetEtag(), summary.GetNodes()[0].GetNodeId(), jobs[0].GetJobId(), "private-01",
	}
}

// calls is every hostile string in every string field of every RPC, in one mixed order.
func (s *siege) calls(t *testing.T) []hostileCall {
	t.Helper()
	var all []hostileCall
	for _, r := range rpcs() {
		for _, f := range stringFields(r.in) {
			s.accepted[r.name+" "+f.String()] = false
			for _, hostile := range s.strings {
				all = append(all, hostileCall{rpc: r, field: f.String(), hostile: hostile, req: f.with(s.base[r.name], hostile)})
			}
		}
	}
	rand.New(rand.NewPCG(6, 6)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// senders is how many calls run at once.
const senders = 8

func (s *siege) send(t *testing.T, calls []hostileCall) {
	t.Helper()
	waiting := make(chan hostileCall)
	var sending sync.WaitGroup
	for range senders {
		sending.Go(func() {
			for c := range waiting {
				s.judge(t, c)
			}
		})
	}
	for _, c := range calls {
		waiting <- c
	}
	close(waiting)
	sending.Wait()
}

// tooMuch is after how many wrong replies no more are told.
const tooMuch = 30

func (s *siege) judge(t *testing.T, c hostileCall) {
	reply := c.rpc.reply()
	err := s.Conn.Invoke(s.Ctx, c.rpc.name, c.req, reply)
	fault := s.faultOf(c, reply, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes[status.Code(err)]++
	if err == nil {
		s.accepted[c.rpc.name+" "+c.field] = true
	}
	if r, ok := reply.(interface {
		GetDegraded() []*memoryv1.Degradation
	}); ok {
		for _, d := range r.GetDegraded() {
			s.degraded[d.GetTier()]++
		}
	}
	if fault == "" {
		return
	}
	if s.wrong++; s.wrong <= tooMuch {
		t.Errorf("%s %s = %q: %s", c.rpc.name, c.field, clip(c.hostile), fault)
	}
}

// faultOf says what is wrong with a reply: a code that no caller's string may cause, or what is somebody else's.
func (s *siege) faultOf(c hostileCall, reply proto.Message, err error) string {
	st := status.Convert(err)
	switch st.Code() {
	case codes.OK, codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition, codes.Aborted:
	case codes.Unavailable:
		if c.rpc.name != memoryv1.MaintenanceService_Reembed_FullMethodName {
			return st.String()
		}
	default:
		return st.String()
	}
	of := userOf(c.req)
	for _, shown := range []proto.Message{reply, st.Proto()} {
		for _, found := range canaries.FindAll(wire(shown), -1) {
			if owner, ok := s.own[of]; !ok || string(found) != canary(owner) {
				return fmt.Sprintf("the reply to %q holds %s", clip(of), found)
			}
		}
	}
	return ""
}

// wire is a message with its strings as they are.
func wire(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err) // it came from the wire
	}
	return b
}

// clip is the beginning of a long string.
func clip(s string) string {
	if len(s) <= 80 {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:80], len(s))
}

// snapshots is all that each victim can see.
func (s *siege) snapshots(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, v := range e2e.Victims {
		all[v] = s.snapshot(t, v)
	}
	return all
}

func (s *siege) snapshot(t *testing.T, user string) string {
	t.Helper()
	sessions := e2e.Must(s.ListSessions(s.Ctx, &memoryv1.ListSessionsRequest{UserId: user}))(t)
	facts := e2e.Must(s.Facts().ListFacts(s.Ctx, &memoryv1.ListFactsRequest{UserId: user, IncludePast: true}))(t)
	seen := []proto.Message{
		e2e.Must(s.Users().GetUser(s.Ctx, &memoryv1.GetUserRequest{UserId: user}))(t), sessions, facts,
		e2e.Must(s.Facts().ListQuarantined(s.Ctx, &memoryv1.ListQuarantinedRequest{UserId: user}))(t),
		e2e.Must(s.Summaries().ListSummaries(s.Ctx, &memoryv1.ListSummariesRequest{UserId: user}))(t),
		e2e.Must(s.Work().ListJobs(s.Ctx, &memoryv1.ListJobsRequest{UserId: user, States: e2e.AllStates}))(t),
	}
	for _, c := range sessions.GetSessions() {
		seen = append(seen,
			e2e.Must(s.ListMessages(s.Ctx, &memoryv1.ListMessagesRequest{UserId: user, SessionId: c.GetSessionId(), IncludeOriginal: true}))(t),
			e2e.Must(s.Summaries().GetSummary(s.Ctx, &memoryv1.GetSummaryRequest{UserId: user, SessionId: c.GetSessionId()}))(t))
	}
	for _, f := range facts.GetFacts() {
		seen = append(seen, e2e.Must(s.Facts().ListFactRevisions(s.Ctx, &memoryv1.ListFactRevisionsRequest{UserId: user, FactId: f.GetFactId()}))(t))
	}
	var b strings.Builder
	for _, m := range seen {
		if !canaries.Match(wire(m)) && m.ProtoReflect().Descriptor().Name() != "GetUserResponse" && m.ProtoReflect().Descriptor().Name() != "ListJobsResponse" {
			t.Errorf("%q has nothing of its own in %s", user, m.ProtoReflect().Descriptor().Name())
		}
		fmt.Fprintln(&b, prototext.MarshalOptions{Multiline: true}.Format(m))
	}
	return b.String()
}

// viewed is what the views hold, by space.
type viewed map[string][]store.RowState

// rows is what the views hold once they were told everything; nil without views.
func (s *siege) rows(t *testing.T) viewed {
	t.Helper()
	if s.Vectors == nil {
		return nil
	}
	facts, messages := 0, 0
	for _, v := range e2e.Victims {
		facts += len(e2e.Must(s.Facts().ListFacts(s.Ctx, &memoryv1.ListFactsRequest{UserId: v}))(t).GetFacts())
		messages += 4
	}
	var got viewed
	e2e.Eventually(t, fmt.Sprintf("the feeding of %d facts and %d messages", facts, messages), func() bool {
		got = s.viewed(t)
		return len(got["vectors"]) == facts && len(got["facts"]) == facts && len(got["transcript"]) == messages && len(got["turns"]) == messages
	})
	return got
}

func (s *siege) viewed(t *testing.T) viewed {
	t.Helper()
	got := viewed{}
	for _, space := range e2e.Must(s.Vectors.Spaces(s.Ctx))(t) {
		got[space.View.String()] = append(got[space.View.String()], pages(t, space, func(q store.RowQuery[store.VectorSpace]) ([]store.RowState, error) { return s.Vectors.Rows(s.Ctx, q) })...)
	}
	for _, space := range e2e.Must(s.Texts.Spaces(s.Ctx))(t) {
		got[space.View.String()] = append(got[space.View.String()], pages(t, space, func(q store.RowQuery[store.TextSpace]) ([]store.RowState, error) { return s.Texts.Rows(s.Ctx, q) })...)
	}
	return got
}

// pages is all rows of a space.
func pages[S any](t *testing.T, space S, read func(store.RowQuery[S]) ([]store.RowState, error)) []store.RowState {
	t.Helper()
	var all []store.RowState
	q := store.RowQuery[S]{Space: space, Limit: 1000}
	for {
		page := e2e.Must(read(q))(t)
		all = append(all, page...)
		if len(page) < q.Limit {
			return all
		}
		q.After = page[len(page)-1].Cursor
	}
}

// mustHoldStill checks that the victims' rows in the views are those of before, and that no view ever answered a row of
// another scope than the asked one.
func (s *siege) mustHoldStill(t *testing.T, before viewed) {
	t.Helper()
	if before == nil {
		return
	}
	after := s.viewed(t)
	for view, was := range before {
		scopes := map[memory.ScopeKey]bool{}
		for _, r := range was {
			scopes[r.Scope] = true
		}
		now := slices.DeleteFunc(slices.Clone(after[view]), func(r store.RowState) bool { return !scopes[r.Scope] })
		if diff := cmp.Diff(was, now); diff != "" {
			t.Errorf("the victims' rows of %s changed (-before +after):\n%s", view, diff)
		}
		if n := s.Sample(t, `strata_view_foreign_hits_total{view="`+view+`"}`); n != 0 {
			t.Errorf("%s answered %v rows of other scopes", view, n)
		}
		t.Logf("%s: %d rows of %d victims as before, %d rows in all", view, len(now), len(scopes), len(after[view]))
		if len(after[view]) == len(was) {
			t.Errorf("%s was told nothing of the others", view)
		}
	}
}

// mustKeepApart checks that everybody still has their own data, and sees nobody else's, however near the ids are.
func (s *siege) mustKeepApart(t *testing.T) {
	t.Helper()
	for id, owner := range s.own {
		for _, reply := range []proto.Message{
			e2e.Must(s.ListMessages(s.Ctx, &memoryv1.ListMessagesRequest{UserId: id, SessionId: "s1", PageSize: 10}))(t),
			e2e.Must(s.Facts().ListFacts(s.Ctx, &memoryv1.ListFactsRequest{UserId: id, PageSize: 500}))(t),
			e2e.Must(s.SearchMessages(s.Ctx, &memoryv1.SearchMessagesRequest{UserId: id, Query: "moored harbour " + canary(owner), PageSize: 20}))(t),
			e2e.Must(s.Facts().SearchFacts(s.Ctx, &memoryv1.SearchFactsRequest{UserId: id, Query: "boat harbour " + canary(owner), PageSize: 20}))(t),
			e2e.Must(s.BuildContext(s.Ctx, &memoryv1.BuildContextRequest{UserId: id, SessionId: "new", Query: "harbour " + canary(owner)}))(t),
		} {
			found := map[string]bool{}
			for _, c := range canaries.FindAll(wire(reply), -1) {
				found[string(c)] = true
			}
			if diff := cmp.Diff(map[string]bool{canary(owner): true}, found); diff != "" {
				t.Errorf("canaries in %T of %q (-want +got):\n%s", reply, clip(id), diff)
			}
		}
	}
}
