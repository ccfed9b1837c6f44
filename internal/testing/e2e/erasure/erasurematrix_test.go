package erasure_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/client"
	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/jobrunner"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/secret"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/elasticstore"
	"github.com/stratamem/strata/internal/store/milvusstore"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/backendtest"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/llmtest"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// TestDeletionMatrix: whatever is deleted, in whatever state what was made of it is, nothing brings it back: not extraction that looks
// again, not a request that is sent again, not an answer that the journal held, not views that are made again, not another server, not
// a restart. A word that stands in a message's text, a tool's arguments and result, an original, metadata and a title is in no reply
// once the deletion returned, and once it was swept in no byte of any store, while what was said beside it is there still.
// A spread of the cells is tried; with STRATA_TEST_FULL=1 all.
func TestDeletionMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("80 cells take minutes with the race detector; make test tries them without")
	}
	t.Parallel()
	cells := 0
	for _, set := range []e2e.StoreSet{e2e.Embedded, e2e.OnMongoDB, e2e.OnThree} {
		for d, door := range doors {
			if set == e2e.Embedded && (door == doorReplica || door == doorLate) {
				continue // one process has the file
			}
			n := len(matrixCells(set, d))
			cells += n
			if n == 0 {
				continue
			}
			t.Run(fmt.Sprintf("over %s, %s, %d cells", set, door, n), func(t *testing.T) {
				t.Parallel() // most of its time it waits
				newMatrix(t, set, door, matrixCells(set, d)).run(t)
			})
		}
	}
	t.Logf("%d cells", cells)
}

// The doors by which something deleted might come back.
type door string

const (
	doorExtraction door = "extraction and summaries that look again"
	doorRequest    door = "the same request again"
	doorResend     door = "the same messages again"
	doorJournal    door = "answers that the journal held"
	doorReindex    door = "views and vectors made again"
	doorReplica    door = "another server with warm caches"
	doorRestart    door = "a restart"
	doorRestore    door = "a backup of before, restored"
	doorImporting  door = "an import that was under way"
	doorSkip       door = "a file of before, imported beside"
	doorOverwrite  door = "a file of before, imported over"
	doorLate       door = "two servers that write late"
)

var doors = []door{
	doorExtraction, doorRequest, doorResend, doorJournal, doorReindex, doorReplica, doorRestart, doorRestore,
	doorImporting, doorLate, doorSkip, doorOverwrite,
}

// What is deleted.
type deletion string

const (
	oneByOne    deletion = "messages by id"
	theOldest   deletion = "the oldest messages"
	beforeSeq   deletion = "messages before a seq"
	allMessages deletion = "all messages"
	thePopped   deletion = "the newest messages, popped"
	theReplaced deletion = "the newest messages, replaced by none"
	theSession  deletion = "the session"
	wholeUser   deletion = "the user"
	theFact     deletion = "the fact"
	theSummary  deletion = "the summary"
	theDocument deletion = "the document"
	theExpired  deletion = "the document, whose time to live is over"
)

var deletions = []deletion{
	oneByOne, theOldest, beforeSeq, allMessages, thePopped, theSession, wholeUser, theFact, theSummary, theReplaced, theDocument, theExpired,
}

// In which state what is deleted is.
type state string

const (
	fresh      state = "just recorded"
	summarised state = "summarised"
	learnt     state = "learnt"
	superseded state = "superseded"
	inFlight   state = "with the model"
	parked     state = "parked"
	cached     state = "in every cache"
)

var cellStates = []state{fresh, summarised, learnt, superseded, inFlight, parked, cached}

// cell is one user whose word is deleted.
type deletionCell struct {
	no   int
	what deletion
	in   state
}

func (c deletionCell) user() string { return fmt.Sprintf("user %02d", c.no) }

// word is one that nobody else says.
func (c deletionCell) word() string {
	return fmt.Sprintf("Zq%c%cxqueme", 'a'+c.no/26, 'a'+c.no%26)
}

// isDocument reports whether a document is deleted, and nothing that was said.
func (c deletionCell) isDocument() bool { return c.what == theDocument || c.what == theExpired }

// sought is the word that must be seen nowhere: of a document that is deleted one that stands in nothing else.
func (c deletionCell) sought() string {
	if c.isDocument() {
		return strings.Replace(c.word(), "Zq", "Zdoc", 1)
	}
	return c.word()
}

// says is what the user says of it.
func (c deletionCell) says() string {
	if c.in == superseded {
		return "My favourite word is " + c.word() + "."
	}
	return "I like " + c.word() + "."
}

// String names the cell in failures.
func (c deletionCell) String() string { return fmt.Sprintf("%s, %s", c.what, c.in) }

// keepsMessages reports whether the messages with the word are not deleted.
func (c deletionCell) keepsMessages() bool {
	return c.what == theFact || c.what == theSummary
}

// freesIDs reports whether the ids of what is deleted may be recorded again in the same session.
func (c deletionCell) freesIDs() bool { return c.what == thePopped || c.what == theReplaced }

// brings reports whether what a door does is recording the words anew, as it must be possible after this deletion: in the user's new
// life, in the session's new incarnation, or because popped ids are free.
func (c deletionCell) brings(by door) bool {
	switch by {
	case doorRequest:
		return c.what == theSession || c.what == wholeUser
	case doorResend:
		return c.what == theSession || c.what == wholeUser || c.freesIDs()
	case doorSkip, doorOverwrite: // an import that is begun after the user was erased is a new life
		return c.what == wholeUser
	}
	return false
}

// matrixCells are the cells of a store set and a door: all, or one state for each deletion, another one at each door. Of the store sets
// with servers only some doors are tried then.
func matrixCells(set e2e.StoreSet, doorNo int) []deletionCell {
	full := os.Getenv("STRATA_TEST_FULL") != ""
	if !full && (set == e2e.OnMongoDB && doorNo%3 != 0 || set == e2e.OnThree && doors[doorNo] != doorReindex && doors[doorNo] != doorRestart) {
		return nil
	}
	var all []deletionCell
	for w, what := range deletions {
		for s, in := range cellStates {
			if what == theSummary && in == inFlight {
				continue // a session is summarised after its questions in flight
			}
			if full || (w+doorNo)%len(cellStates) == s {
				all = append(all, deletionCell{len(all), what, in})
			}
		}
	}
	return all
}

// matrix is servers, and the users whose words are deleted there.
type matrix struct {
	set   e2e.StoreSet
	door  door
	cells []deletionCell
	data  string
	model *llmtest.Server

	corner  backendtest.Backends
	servers []*e2e.Server // the one that deletes first
	primary store.PrimaryStore
	gate    gate                  // answers that are in the journal wait at it
	backup  map[string][]bson.Raw // of MongoDB, by collection; that of SQLite is a file

	importing sync.Mutex // of a server, which takes one file at a time

	mu       sync.Mutex
	withheld map[string]chan struct{} // by the word: questions about it that are in flight wait until it is closed
	asked    map[string]bool          // words that a question was asked about that waits
	failing  map[string]bool          // words that every question about fails of
}

// gate holds who comes while it is shut.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // nil while it is open
}

func (g *gate) pass() {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut != nil {
		<-shut
	}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

func newMatrix(t *testing.T, set e2e.StoreSet, by door, cells []deletionCell) *matrix {
	t.Helper()
	m := &matrix{
		set: set, door: by, cells: cells, data: filepath.Join(t.TempDir(), "strata.db"),
		withheld: map[string]chan struct{}{}, asked: map[string]bool{}, failing: map[string]bool{},
	}
	for _, c := range cells {
		m.failing[c.word()] = c.in == parked
		if c.in == inFlight {
			m.withheld[c.word()] = make(chan struct{})
		}
	}
	m.model = llmtest.New(llmtest.Options{Chat: m.Answer})
	t.Cleanup(m.model.Close)
	t.Cleanup(m.release)
	switch set {
	case e2e.OnMongoDB:
		m.corner = backendtest.Backends{MongoDB: backend.MongoDB(t), Name: e2e.NewName(t)}
		t.Cleanup(func() {
			if err := m.corner.Drop(); err != nil {
				t.Errorf("drop the database: %v", err)
			}
		})
	case e2e.OnThree:
		m.corner = e2e.NewCorner(t)
	case e2e.Embedded:
	}
	m.serve(t)
	if by == doorReplica || by == doorLate {
		m.serve(t)
	}
	return m
}

// serve starts one more server.
func (m *matrix) serve(t *testing.T) {
	t.Helper()
	o := app.Options{Sweep: 2 * time.Second, LateWrites: m.late(), Hooks: app.Hooks{Failpoints: func(point string) {
		if point == jobrunner.FailpointAfterAnswer && m.door != doorLate {
			m.gate.pass()
		}
	}}}
	o.Hooks.WrapVectors = func(v store.VectorView) store.VectorView { return forgetfulViewOf("views of vectors", v) }
	o.Hooks.WrapTexts = func(v store.TextView) store.TextView { return forgetfulViewOf("views of texts", v) }
	o.Hooks.Wrap = func(s store.PrimaryStore) store.PrimaryStore {
		s = newForgetful(s)
		m.primary = s
		if m.door == doorLate {
			return lateStore{s, &m.gate}
		}
		return s
	}
	h := e2e.StartWith(t, m.data, o, func(c *config.Config) {
		c.ChatBaseURL, c.SummaryModel, c.ExtractionModel = m.model.URL(), "scripted", "scripted"
		c.ChatTimeout, c.Workers, c.ChatConcurrency = time.Hour, 256, 256 // questions in flight are withheld for as long as it takes
		c.ViewDeadline, c.EmbeddingDeadline = 10*time.Second, 10*time.Second
		c.HeavyCalls = 256 // eight cells call at once, and on a busy machine one of two calls that run would refuse the others
		if m.set != e2e.Embedded {
			c.MongoDBURI, c.MongoDBDatabase = secret.New(m.corner.MongoDB), m.corner.Name
		}
		if m.set == e2e.OnThree {
			c.MilvusAddress, c.MilvusPrefix = m.corner.Milvus, m.corner.Name
			c.ElasticsearchURL, c.ElasticsearchPrefix = m.corner.Elasticsearch, m.corner.Name
		}
	})
	retries(t, h)
	m.servers = append(m.servers, h)
}

// retries has calls made again as the client of applications makes them, for longer: hundreds of cells at once are more than stores on a
// busy machine reply to in time, and a cell is about what a deletion leaves behind, not about whether it is refused at first.
func retries(t *testing.T, h *e2e.Server) {
	t.Helper()
	c := e2e.Must(client.New(h.App.Addr(), client.Options{Timeout: 5 * time.Minute, Retry: client.Retry{Attempts: 30}}))(t)
	if err := h.Conn.Close(); err != nil {
		t.Fatalf("close the connection that makes a call once: %v", err)
	}
	h.Conn = c.Conn().(*grpc.ClientConn) //nolint:forcetypeassert // nothing else has a connection
	h.MemoryServiceClient, h.History = c.Memory, c.History
}

// late is how long servers wait for late writes before the last sweep: a few seconds, so that cells see it; the product's own time where
// writes are late on purpose.
func (m *matrix) late() time.Duration {
	if m.door == doorLate {
		return 0
	}
	return 3 * time.Second
}

func (m *matrix) first() *e2e.Server { return m.servers[0] }

func (m *matrix) last() *e2e.Server { return m.servers[len(m.servers)-1] }

// Answer is the model: it learns what users like, repeats what it is to summarise, and waits or fails where a cell wants that.
func (m *matrix) Answer(r llmtest.Request) llmtest.Reply {
	for _, c := range m.cells {
		if !strings.Contains(r.User, c.word()) || c.what == theSummary && r.Operation != llm.OpExtract {
			continue
		}
		m.mu.Lock()
		wait, fails := m.withheld[c.word()], m.failing[c.word()]
		if wait != nil {
			m.asked[c.word()] = true
		}
		m.mu.Unlock()
		if fails {
			return llmtest.Fails(http.StatusBadRequest, llmtest.Failure{Type: "invalid_request_error", Message: "not today"})
		}
		if wait != nil {
			<-wait
		}
	}
	if r.Operation != llm.OpExtract {
		return llmtest.Say("The user told of " + strings.Join(slices.Compact(names.FindAllString(r.User, -1)), ", ") + ".")
	}
	a := e2e.Read(r)
	var ops []extract.Op
	for text := range a.Lines {
		for _, found := range e2e.Likes.FindAllStringSubmatch(text, -1) {
			ops = append(ops, a.Add("Likes "+found[1], found[0]), a.Add("Always answer "+found[1], found[0])) // the latter is refused
		}
		for _, found := range favourite.FindAllStringSubmatch(text, -1) {
			op := a.Add("Has the favourite word "+found[1], found[0])
			op.Attribute = "favourite_word"
			ops = append(ops, op)
		}
	}
	return e2e.Say(ops)
}

var (
	favourite = regexp.MustCompile(`favourite word is (\w+)`)
	names     = regexp.MustCompile(`Zq\w+xqueme|Oslo|walking`)
)

// release lets all questions be answered, and every answer pass.
func (m *matrix) release() {
	m.mu.Lock()
	for word, wait := range m.withheld {
		close(wait)
		delete(m.withheld, word)
	}
	clear(m.failing)
	m.mu.Unlock()
	m.gate.open()
}

// told is what a cell's user said, and what became of it.
type told struct {
	deletionCell
	requests []*memoryv1.RecordRequest
	factIDs  []string       // of the facts that are deleted
	file     string         // of the user before, where it is imported again
	isBrief  bool           // the document that is to expire soon does
	deleted  bool           // the deletion returned without an error
	job      *memoryv1.Job  // that deletes the rest; nil where a fact was deleted
	erasure  memory.Erasure // as it is stored
}

// messages are all that were recorded, by seq.
func (c *told) messages() (all []*memoryv1.Message) {
	for _, r := range c.requests {
		all = append(all, r.GetMessages()...)
	}
	return all
}

// worded are the seqs of the messages that have the word.
func (c *told) worded() (seqs []int64) {
	for i, m := range c.messages() {
		if strings.Contains(prototext.Format(m), c.word()) {
			seqs = append(seqs, int64(i+1))
		}
	}
	return seqs
}

// longAgo is when all was said: the week and the month of it are over.
var longAgo = time.Now().AddDate(0, 0, -70)

func (m *matrix) record(t *testing.T, c *told, messages ...*memoryv1.Message) *memoryv1.RecordResponse {
	t.Helper()
	for _, said := range messages {
		said.CreateTime = timestamppb.New(longAgo)
	}
	r := &memoryv1.RecordRequest{UserId: c.user(), SessionId: "s", RequestId: fmt.Sprint("request ", len(c.requests)), Messages: messages}
	c.requests = append(c.requests, r)
	return e2e.Must(m.first().Record(m.first().Ctx, r))(t)
}

// Tell records what the cell's user says: something, the word in every place, and something else.
func (m *matrix) Tell(t *testing.T, c *told) {
	t.Helper()
	m.record(t, c, e2e.User("m1", "I like walking."), e2e.Assistant("m2", "That is good for you."))
	said := e2e.User("m3", c.says())
	said.Metadata = e2e.Must(structpb.NewStruct(map[string]any{"note": c.word()}))(t)
	said.Original = &memoryv1.Original{Format: "test/v1", Data: []byte(`{"said":"` + c.word() + `"}`)}
	call := &memoryv1.Message{Id: "m4", Role: memoryv1.Role_ROLE_ASSISTANT, Parts: []*memoryv1.Part{{Kind: &memoryv1.Part_ToolCall{
		ToolCall: &memoryv1.ToolCall{Id: "call", Name: "look_up", Arguments: `{"word":"` + c.word() + `"}`},
	}}}}
	result := &memoryv1.Message{Id: "m5", Role: memoryv1.Role_ROLE_TOOL, Parts: []*memoryv1.Part{{Kind: &memoryv1.Part_ToolResult{
		ToolResult: &memoryv1.ToolResult{CallId: "call", Parts: []*memoryv1.Part{{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: c.word() + " was found"}}}}},
	}}}}
	m.record(t, c, said, call, result, e2e.Assistant("m6", "Noted: "+c.word()+"."))
	last := "I like Oslo."
	if c.in == superseded {
		last = "My favourite word is Oslo."
	}
	m.record(t, c, e2e.User("m7", last), e2e.Assistant("m8", "A fine place."))
	if c.isDocument() || c.what == wholeUser {
		m.file(t, c)
	}
	if c.what == theSession || c.what == wholeUser {
		e2e.Must(m.first().UpdateSession(m.first().Ctx, &memoryv1.UpdateSessionRequest{
			Session: &memoryv1.Session{UserId: c.user(), SessionId: "s", Title: "About " + c.word()}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"title"}},
		}))(t)
	}
}

// file files a document that has the word. One that is to expire lives for an hour, until it is filed briefly.
func (m *matrix) file(t *testing.T, c *told) {
	t.Helper()
	d := &memoryv1.Document{
		UserId: c.user(), Namespace: []string{"about", c.sought()}, Key: "note", ValueJson: `{"note": "likes ` + c.sought() + `"}`,
	}
	if c.what == theExpired {
		d.Ttl = durationpb.New(time.Hour)
		if c.isBrief {
			d.Ttl = durationpb.New(briefly)
		}
	}
	e2e.Must(m.first().Documents().PutDocument(m.first().Ctx, &memoryv1.PutDocumentRequest{Document: d}))(t)
}

// briefly is how long a document lives whose time to live is over when it is deleted: long enough to be exported and backed up.
const briefly = 10 * time.Second

// fileBriefly files the document that is to expire so that it soon does.
func (m *matrix) fileBriefly(t *testing.T, c *told) {
	t.Helper()
	if c.what == theExpired && !c.isBrief {
		c.isBrief = true
		m.file(t, c)
	}
}

// expire waits until the document has expired, and has the store delete what has.
func (m *matrix) expire(t *testing.T, c *told) {
	t.Helper()
	m.fileBriefly(t, c)
	e2e.Eventually(t, c.String()+": the end of its time to live", func() bool {
		_, err := m.first().Documents().GetDocument(m.first().Ctx, &memoryv1.GetDocumentRequest{
			UserId: c.user(), Namespace: []string{"about", c.sought()}, Key: "note", KeepTtl: true,
		})
		return gone(err)
	})
}

// bring brings what was made of it into the cell's state.
func (m *matrix) bring(t *testing.T, c *told) {
	t.Helper()
	if c.what == theSummary {
		m.summarise(t, m.first(), c)
	}
	switch c.in {
	case summarised:
		m.settle(t, m.first(), c)
	case learnt, superseded:
		m.wait(t, m.first(), c, memoryv1.Watermark_WATERMARK_EXTRACTED)
	case cached:
		m.settle(t, m.first(), c)
		m.wait(t, m.first(), c, memoryv1.Watermark_WATERMARK_INDEXED)
		for _, h := range m.servers {
			m.reached(t, h, c)
		}
	case inFlight:
		e2e.Eventually(t, "a question to the model", func() bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.asked[c.word()]
		})
	case parked:
		m.awaitJob(t, c, memoryv1.JobState_JOB_STATE_PARKED)
	case fresh:
	}
	if m.door == doorReplica && c.in != fresh && c.in != inFlight {
		m.look(t, m.last(), c)
	}
}

func (m *matrix) awaitJob(t *testing.T, c *told, state memoryv1.JobState) {
	t.Helper()
	e2e.Eventually(t, fmt.Sprint(c, ": a job that is ", state), func() bool { return len(m.Jobs(t, c, state)) > 0 })
}

func (m *matrix) Jobs(t *testing.T, c *told, states ...memoryv1.JobState) []*memoryv1.Job {
	t.Helper()
	r, err := m.first().Work().ListJobs(m.first().Ctx, &memoryv1.ListJobsRequest{UserId: c.user(), States: states})
	if gone(err) {
		return nil
	}
	return e2e.Must(r, err)(t).GetJobs()
}

func gone(err error) bool { return status.Code(err) == codes.NotFound }

// settle has all summarised and learnt.
func (m *matrix) settle(t *testing.T, h *e2e.Server, c *told) {
	t.Helper()
	m.summarise(t, h, c)
	m.wait(t, h, c, memoryv1.Watermark_WATERMARK_EXTRACTED)
}

func (m *matrix) summarise(t *testing.T, h *e2e.Server, c *told) {
	t.Helper()
	e2e.Eventually(t, c.String()+": a summary", func() bool {
		r, err := h.Summaries().Summarize(h.Ctx, &memoryv1.SummarizeRequest{UserId: c.user(), SessionId: "s"})
		return gone(err) || e2e.Must(r, err)(t).GetComplete()
	})
}

func (m *matrix) wait(t *testing.T, h *e2e.Server, c *told, of memoryv1.Watermark) {
	t.Helper()
	e2e.Eventually(t, fmt.Sprint(c, ": ", of), func() bool {
		r, err := h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{UserId: c.user(), SessionId: "s", Of: []memoryv1.Watermark{of}})
		return gone(err) || e2e.Must(r, err)(t).GetReached()
	})
}

// look returns every reply in which something of a user may stand, by the name of the call.
func (m *matrix) look(t *testing.T, h *e2e.Server, c *told) map[string]proto.Message {
	t.Helper()
	ctx, id, all := h.Ctx, c.user(), map[string]proto.Message{}
	add := func(name string, reply proto.Message, err error) {
		t.Helper()
		if !gone(err) {
			all[name] = e2e.Must(reply, err)(t)
		}
	}
	m.lookAtDocuments(t, h, c, add)
	if c.isDocument() {
		return all // its messages stay, and what was learnt of them
	}
	if c.what != theFact {
		summaries, err := h.Summaries().ListSummaries(ctx, &memoryv1.ListSummariesRequest{UserId: id})
		add("ListSummaries", summaries, err)
		summary, err := h.Summaries().GetSummary(ctx, &memoryv1.GetSummaryRequest{UserId: id, SessionId: "s"})
		add("GetSummary", summary, err)
		weeks, err := h.Summaries().ListSummaries(ctx, &memoryv1.ListSummariesRequest{UserId: id, Kind: memoryv1.SummaryKind_SUMMARY_KIND_WEEK})
		add("weeks", weeks, err)
		months, err := h.Summaries().ListSummaries(ctx, &memoryv1.ListSummariesRequest{UserId: id, Kind: memoryv1.SummaryKind_SUMMARY_KIND_MONTH})
		add("months", months, err)
	}
	if c.what == theSummary {
		return all // its messages stay, and what was learnt of them
	}
	facts, err := h.Facts().ListFacts(ctx, &memoryv1.ListFactsRequest{UserId: id, IncludePast: true})
	add("ListFacts", facts, err)
	for i, f := range facts.GetFacts() {
		r, err := h.Facts().ListFactRevisions(ctx, &memoryv1.ListFactRevisionsRequest{UserId: id, FactId: f.GetFactId()})
		add(fmt.Sprint("ListFactRevisions ", i), r, err)
	}
	found, err := h.Facts().SearchFacts(ctx, &memoryv1.SearchFactsRequest{UserId: id, Query: "likes " + c.word()})
	add("SearchFacts", found, err)
	if c.what == theFact {
		return all // the message stays, and operations that are refused since the fact is deleted
	}
	refused, err := h.Facts().ListQuarantined(ctx, &memoryv1.ListQuarantinedRequest{UserId: id})
	add("ListQuarantined", refused, err)
	for _, s := range []string{"s", "another"} {
		r, err := h.BuildContext(ctx, &memoryv1.BuildContextRequest{
			UserId: id, SessionId: s, Query: "what of " + c.word() + "?", Render: memoryv1.Render_RENDER_TEXT, Explain: true,
		})
		add("BuildContext of "+s, r, err)
	}
	hits, err := h.SearchMessages(ctx, &memoryv1.SearchMessagesRequest{UserId: id, Query: c.word()})
	add("SearchMessages", hits, err)
	messages, err := h.ListMessages(ctx, &memoryv1.ListMessagesRequest{UserId: id, SessionId: "s", IncludeOriginal: true, PageSize: 100})
	add("ListMessages", messages, err)
	sessions, err := h.ListSessions(ctx, &memoryv1.ListSessionsRequest{UserId: id})
	add("ListSessions", sessions, err)
	head, err := h.GetSession(ctx, &memoryv1.GetSessionRequest{UserId: id, SessionId: "s"})
	add("GetSession", head, err)
	jobs, err := h.Work().ListJobs(ctx, &memoryv1.ListJobsRequest{UserId: id})
	add("ListJobs", jobs, err)
	person, err := h.Users().GetUser(ctx, &memoryv1.GetUserRequest{UserId: id})
	add("GetUser", person, err)
	return all
}

// lookAtDocuments adds the replies in which something of a user's documents may stand.
func (m *matrix) lookAtDocuments(t *testing.T, h *e2e.Server, c *told, add func(string, proto.Message, error)) {
	t.Helper()
	ctx, id := h.Ctx, c.user()
	listed, err := h.Documents().ListDocuments(ctx, &memoryv1.ListDocumentsRequest{UserId: id})
	add("ListDocuments", listed, err)
	found, err := h.Documents().SearchDocuments(ctx, &memoryv1.SearchDocumentsRequest{UserId: id, Query: c.sought(), KeepTtl: true})
	add("SearchDocuments", found, err)
	one, err := h.Documents().GetDocument(ctx, &memoryv1.GetDocumentRequest{
		UserId: id, Namespace: []string{"about", c.sought()}, Key: "note", KeepTtl: true,
	})
	add("GetDocument", one, err)
	namespaces, err := h.Documents().ListNamespaces(ctx, &memoryv1.ListNamespacesRequest{UserId: id})
	add("ListNamespaces", namespaces, err)
}

// reached waits until the word is everywhere where it may come before it is deleted, so that what is looked for later was there.
func (m *matrix) reached(t *testing.T, h *e2e.Server, c *told) {
	t.Helper()
	places := []string{"ListFacts", "SearchFacts", "ListQuarantined", "BuildContext of s", "SearchMessages", "ListMessages", "GetSummary", "weeks", "months"}
	switch c.what {
	case theFact:
		places = places[:2]
	case theSummary:
		places = places[6:]
	case theDocument, theExpired:
		places = []string{"ListDocuments", "SearchDocuments", "GetDocument", "ListNamespaces"}
	}
	if c.what == theSession || c.what == wholeUser {
		places = append(places, "GetSession", "ListSessions")
	}
	e2e.Eventually(t, c.String()+": the word in "+strings.Join(places, ", "), func() bool {
		replies := m.look(t, h, c)
		return !slices.ContainsFunc(places, func(name string) bool { return !strings.Contains(prototext.Format(replies[name]), c.sought()) })
	})
}

// unseen checks that the word is in no reply of any server.
func (m *matrix) unseen(t *testing.T, when string, c *told) {
	t.Helper()
	for i, h := range m.servers {
		for name, reply := range m.look(t, h, c) {
			if text := prototext.Format(reply); strings.Contains(text, c.sought()) {
				at := strings.Index(text, c.sought())
				t.Errorf("%s: %s %s shows it, server %d: …%s…", c, name, when, i, text[max(0, at-120):min(len(text), at+60)])
			}
		}
	}
}

// each does something for all cells, some at a time.
func each(all []*told, do func(*told)) {
	var g errgroup.Group
	g.SetLimit(8)
	for _, c := range all {
		g.Go(func() error {
			do(c)
			return nil
		})
	}
	_ = g.Wait()
}

func (m *matrix) run(t *testing.T) {
	all := make([]*told, len(m.cells))
	for i, c := range m.cells {
		all[i] = &told{deletionCell: c}
	}
	each(all, func(c *told) {
		m.Tell(t, c)
		m.bring(t, c)
		if c.what == theFact {
			c.factIDs = m.factsOf(t, c)
		}
	})
	switch m.door {
	case doorRestore:
		each(all, func(c *told) { m.fileBriefly(t, c) })
		m.backUp(t)
	case doorSkip, doorOverwrite, doorImporting:
		for _, c := range all { // a server writes one at a time
			m.fileBriefly(t, c)
			if c.file = e2e.Must(m.first().Export(t, c.user()))(t); c.no%2 == 0 {
				c.file = m.first().ExportVectors(t, c.user())
			}
			if c.isDocument() && !strings.Contains(c.file, c.sought()) {
				t.Errorf("%s: the document is not in the file", c)
			}
		}
	case doorJournal, doorLate:
		m.gate.close()
		each(all, func(c *told) {
			says := strings.TrimSuffix(c.says(), ".") + " truly."
			if c.what == theSummary {
				says = "I like Oslo truly." // what is said later is summarised, and may hold the word
			}
			m.record(t, c, e2e.User("m9", says), e2e.Assistant("m10", "Noted."))
			if c.in != parked && c.in != inFlight {
				m.awaitJob(t, c, memoryv1.JobState_JOB_STATE_ANSWERED)
			}
		})
	}
	each(all, func(c *told) {
		if m.door == doorImporting {
			defer m.beginImport(t, c)()
		}
		m.delete(t, c)
		c.deleted = true
		m.unseen(t, "right after", c)
	})
	// Of a deletion that was refused nothing is promised: its cell has failed already, and its bytes say nothing more.
	all = slices.DeleteFunc(all, func(c *told) bool { return !c.deleted })
	m.release()
	m.open(t, all)
	each(all, func(c *told) { m.goOn(t, c) })
	each(all, func(c *told) {
		m.awaitSwept(t, c)
		if !c.brings(m.door) {
			m.unseen(t, "in the end", c)
		}
		m.stays(t, c)
	})
	m.rows(t, all)
	for _, h := range m.servers {
		h.Stop()
	}
	m.bytes(t, all)
}

// factsOf returns the ids of the user's facts with the word, past ones too. Where none was learnt yet, a person writes one; what is learnt
// just before that is past by then, and what is learnt after it says nothing new.
func (m *matrix) factsOf(t *testing.T, c *told) []string {
	t.Helper()
	facts := m.first().Facts()
	listed := func() (ids []string) {
		r := e2e.Must(facts.ListFacts(m.first().Ctx, &memoryv1.ListFactsRequest{UserId: c.user(), IncludePast: true}))(t)
		for _, f := range r.GetFacts() {
			if strings.Contains(f.GetText(), c.word()) {
				ids = append(ids, f.GetFactId())
			}
		}
		return ids
	}
	if ids := listed(); len(ids) > 0 {
		return ids
	}
	e2e.Must(facts.CreateFact(m.first().Ctx, &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{UserId: c.user(), Text: "Likes " + c.word()}}))(t)
	return listed()
}

// open opens the door.
func (m *matrix) open(t *testing.T, all []*told) {
	switch m.door {
	case doorRequest:
		each(all, func(c *told) { m.repeat(t, c, c.requests[1]) })
	case doorResend:
		each(all, func(c *told) {
			m.repeat(t, c, &memoryv1.RecordRequest{UserId: c.user(), SessionId: "s", Messages: c.requests[1].GetMessages()})
		})
	case doorReindex:
		e2e.Must(m.first().Maintenance().Reembed(m.first().Ctx, &memoryv1.ReembedRequest{Model: "builtin:hash-256"}))(t)
		if m.set == e2e.OnThree {
			e2e.Must(m.first().Maintenance().Reindex(m.first().Ctx, &memoryv1.ReindexRequest{}))(t)
			e2e.Must(m.first().Maintenance().Verify(m.first().Ctx, &memoryv1.VerifyRequest{}))(t)
		}
	case doorRestart:
		m.first().Stop()
		m.servers = nil
		m.serve(t)
	case doorRestore:
		m.restore(t)
		each(all, func(c *told) { m.unseen(t, "right after the restore", c) })
	case doorSkip, doorOverwrite:
		rule := map[door]memoryv1.OnConflict{doorSkip: e2e.Skip, doorOverwrite: e2e.Overwrite}[m.door]
		for _, c := range all {
			e2e.Must(m.first().Merged(m.first().Ctx, c.user(), c.file, 1<<20, rule))(t)
		}
		each(all, func(c *told) {
			if !c.brings(m.door) {
				m.unseen(t, "right after the import", c)
			}
		})
	case doorExtraction, doorJournal, doorReplica, doorLate, doorImporting: // goOn and release do it
	}
}

// beginImport begins to import the user's file of before, one at a time as servers take them, and returns what ends it.
func (m *matrix) beginImport(t *testing.T, c *told) (end func()) {
	t.Helper()
	m.importing.Lock()
	rule := []memoryv1.OnConflict{e2e.Skip, e2e.Overwrite}[c.no%2]
	stream := e2e.Must(m.first().Users().ImportUser(m.first().Ctx))(t)
	send := func(part string) {
		t.Helper()
		err := stream.Send(&memoryv1.ImportUserRequest{UserId: c.user(), OnConflict: rule, Chunk: []byte(part)})
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	send(c.file[:len(c.file)/2])
	e2e.Eventually(t, "an import under way", func() bool {
		return len(e2e.Must(m.primary.StaleImports(m.first().Ctx, time.Now().Add(time.Hour), 1))(t)) > 0
	})
	return func() {
		defer m.importing.Unlock()
		send(c.file[len(c.file)/2:])
		_, err := stream.CloseAndRecv()
		if err != nil && (c.what != wholeUser || status.Code(err) != codes.Aborted) {
			t.Errorf("%s: the import: %v", c, err)
		}
		m.unseen(t, "right after the import", c)
	}
}

// lateStore is a primary store whose background writes wait at a gate.
type lateStore struct {
	store.PrimaryStore
	gate *gate
}

func (s lateStore) ApplyFacts(ctx context.Context, w store.FactWrite) (int64, error) {
	if w.JobID != "" {
		s.gate.pass()
	}
	return s.PrimaryStore.ApplyFacts(ctx, w)
}

func (s lateStore) PutNode(ctx context.Context, w store.NodeWrite) error {
	s.gate.pass()
	return s.PrimaryStore.PutNode(ctx, w)
}

func (s lateStore) PutSegment(ctx context.Context, p store.SegmentWrite) (int64, error) {
	s.gate.pass()
	return s.PrimaryStore.PutSegment(ctx, p)
}

// backUp keeps what the primary store holds at one instant.
func (m *matrix) backUp(t *testing.T) {
	t.Helper()
	if m.set == e2e.Embedded {
		e2e.Must(sqlitestore.Backup(t.Context(), m.data, m.data+".backup"))(t)
		return
	}
	m.backup = map[string][]bson.Raw{}
	m.eachRow(t, func(collection string, row bson.Raw) {
		m.backup[collection] = append(m.backup[collection], slices.Clone(row))
	})
}

// restore has a new server begin with what the primary store held when it was backed up. The ledger of erasures is in no backup.
func (m *matrix) restore(t *testing.T) {
	t.Helper()
	m.first().Stop()
	m.servers = nil
	if m.set == e2e.Embedded {
		e2e.Must(sqlitestore.Restore(t.Context(), m.data+".backup", m.data, m.data+".aside"))(t)
		for _, name := range e2e.Must(filepath.Glob(m.data + ".[ab]*[pe]*"))(t) {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		m.serve(t)
		return
	}
	db := m.database(t)
	for _, name := range e2e.Must(db.ListCollectionNames(t.Context(), bson.D{}))(t) {
		e2e.Must(db.Collection(name).DeleteMany(t.Context(), bson.D{}))(t)
		if rows := m.backup[name]; len(rows) > 0 {
			e2e.Must(db.Collection(name).InsertMany(t.Context(), rows))(t)
		}
	}
	m.serve(t)
	if m.set == e2e.OnThree { // the views are of a later time than the primary store
		e2e.Must(m.first().Maintenance().Reindex(m.first().Ctx, &memoryv1.ReindexRequest{}))(t)
	}
}

// database is that of MongoDB.
func (m *matrix) database(t *testing.T) *mongo.Database {
	t.Helper()
	client := e2e.Must(mongo.Connect(options.Client().ApplyURI(m.corner.MongoDB)))(t)
	t.Cleanup(func() { _ = client.Disconnect(context.WithoutCancel(t.Context())) })
	return client.Database(m.corner.Name)
}

// eachRow calls do with all that MongoDB holds.
func (m *matrix) eachRow(t *testing.T, do func(collection string, row bson.Raw)) {
	t.Helper()
	db := m.database(t)
	for _, name := range e2e.Must(db.ListCollectionNames(t.Context(), bson.D{}))(t) {
		rows := e2e.Must(db.Collection(name).Find(t.Context(), bson.D{}))(t)
		for rows.Next(t.Context()) {
			do(name, rows.Current)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// retry has parked jobs tried again.
func (m *matrix) retry(t *testing.T, c *told) {
	t.Helper()
	for _, j := range m.Jobs(t, c, memoryv1.JobState_JOB_STATE_PARKED) {
		_, err := m.first().Work().RetryJob(m.first().Ctx, &memoryv1.RetryJobRequest{UserId: c.user(), JobId: j.GetJobId()})
		if code := status.Code(err); code != codes.OK && code != codes.NotFound && code != codes.FailedPrecondition {
			t.Errorf("%s: retry: %v", c, err)
		}
	}
}

// repeat sends something again. Nothing of it is stored, or all of it in a new life.
func (m *matrix) repeat(t *testing.T, c *told, r *memoryv1.RecordRequest) {
	t.Helper()
	got := e2e.Must(m.last().Record(m.last().Ctx, r))(t)
	switch {
	case c.brings(m.door) && !c.freesIDs() && got.GetFirstSeq() != 1:
		t.Errorf("%s: the new life begins at %d", c, got.GetFirstSeq())
	case !c.brings(m.door) && r.GetRequestId() == "" && len(got.GetDeduplicatedIds()) != len(r.GetMessages()):
		t.Errorf("%s: of %d messages %v were known", c, len(r.GetMessages()), got.GetDeduplicatedIds())
	}
}

// goOn has the conversation go on, and all of it summarised and learnt.
func (m *matrix) goOn(t *testing.T, c *told) {
	t.Helper()
	h := m.last()
	got := e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{
		UserId: c.user(), SessionId: "s", Messages: []*memoryv1.Message{e2e.User("m20", "I like tea."), e2e.Assistant("m21", "Tea it is.")},
	}))(t)
	if again := c.what == theSession || c.what == wholeUser; again && !c.brings(m.door) && got.GetFirstSeq() != 1 {
		t.Errorf("%s: the new life begins at %d", c, got.GetFirstSeq())
	}
	m.retry(t, c)
	m.settle(t, h, c)
}

// awaitSwept waits for the last sweep of all stores; for the first one where writes are late on purpose, and a minute goes by before the
// last.
func (m *matrix) awaitSwept(t *testing.T, c *told) {
	t.Helper()
	if c.isDocument() {
		e2e.Must(m.primary.ExpireDocuments(m.first().Ctx, time.Now(), 1000))(t) // as the server does each minute
		if err := m.primary.Purge(m.first().Ctx); err != nil {                  // and this
			t.Fatal(err)
		}
	}
	if c.isDocument() || c.what == theFact {
		return
	}
	e2e.Eventually(t, c.String()+": the sweep", func() bool {
		e, err := m.primary.Erasure(m.first().Ctx, auth.DefaultTenant, c.job.GetJobId())
		if refused, ok := errors.AsType[*memory.Error](err); ok && refused.Kind == memory.KindUnavailable {
			return false
		}
		c.erasure = e2e.Must(e, err)(t)
		return e.IsDone() || m.door == doorLate && e.Passes > 0
	})
	r, err := m.last().Work().GetJob(m.last().Ctx, &memoryv1.GetJobRequest{UserId: c.user(), JobId: c.job.GetJobId()})
	done := e2e.Must(r, err)(t).GetJob()
	if m.door != doorLate && done.GetState() != memoryv1.JobState_JOB_STATE_APPLIED {
		t.Errorf("%s: the job is %v", c, done.GetState())
	}
	want := map[e2e.StoreSet]int{e2e.Embedded: 1, e2e.OnMongoDB: 1, e2e.OnThree: 5}[m.set]
	if c.what == theSummary {
		want = 1 // views hold nothing of summaries
	}
	if stores := done.GetErasure().GetStores(); len(stores) != want {
		t.Errorf("%s: the receipt is of %d stores", c, len(stores))
	}
	for _, r := range done.GetErasure().GetStores() {
		if r.GetRemaining() != 0 || r.GetFound() != r.GetDeleted() {
			t.Errorf("%s: receipt %+v", c, r)
		}
	}
}

// stays checks that what was said beside the word is there still.
func (m *matrix) stays(t *testing.T, c *told) {
	t.Helper()
	h := m.last()
	seqs, kept := c.worded(), []string{"I like tea."}
	switch c.what {
	case oneByOne:
		kept = append(kept, "I like walking.", c.requests[2].GetMessages()[0].GetText())
	case theOldest, beforeSeq:
		if last := int(seqs[len(seqs)-1]); last < 8 {
			kept = append(kept, c.requests[2].GetMessages()[0].GetText())
		}
	case thePopped, theReplaced:
		kept = append(kept, "I like walking.")
	case theFact, theSummary, theDocument, theExpired:
		kept = append(kept, "I like walking.", c.word())
	case allMessages, theSession, wholeUser:
	}
	messages := prototext.Format(e2e.Must(h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: c.user(), SessionId: "s", PageSize: 100}))(t))
	for _, words := range kept {
		if !strings.Contains(messages, words) {
			t.Errorf("%s: %q is gone too", c, words)
		}
	}
	facts := prototext.Format(e2e.Must(h.Facts().ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: c.user()}))(t))
	if !strings.Contains(facts, "Likes tea") {
		t.Errorf("%s: nothing is learnt any more: %s", c, facts)
	}
	if r := e2e.Must(h.Summaries().GetSummary(h.Ctx, &memoryv1.GetSummaryRequest{UserId: c.user(), SessionId: "s"}))(t); r.GetSummary().GetText() == "" {
		t.Errorf("%s: the session has no summary any more", c)
	}
}

// leaves reports whether nothing of the word may be left in any store.
func (m *matrix) leaves(c *told) bool { return !c.keepsMessages() && !c.brings(m.door) }

// bytes checks that no byte of the word is in the stores.
func (m *matrix) bytes(t *testing.T, all []*told) {
	t.Helper()
	stored := m.stored(t)
	for i, h := range m.servers {
		stored[fmt.Sprint("the log of server ", i)] = []byte(h.Log.String())
	}
	for name, data := range stored {
		for _, c := range all {
			for _, form := range []string{c.sought(), strings.ToLower(c.sought()), text.Terms(c.sought())[0]} {
				if at := bytes.Index(data, []byte(form)); m.leaves(c) && at >= 0 {
					t.Errorf("%s: %q is in %s: %q", c, form, name, data[max(0, at-100):min(len(data), at+60)])
					break
				}
			}
		}
	}
}

// stored is all that the primary store holds, by the name of a file or of a collection, and all documents of Elasticsearch.
func (m *matrix) stored(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	if m.set == e2e.Embedded {
		for _, name := range e2e.Must(filepath.Glob(m.data + "*"))(t) {
			out[filepath.Base(name)] = e2e.Must(os.ReadFile(name))(t)
		}
		return out
	}
	m.eachRow(t, func(collection string, row bson.Raw) { out[collection] = append(out[collection], row...) })
	if m.set == e2e.OnThree {
		out["Elasticsearch"] = documentsIn(t, m.corner.Elasticsearch, m.corner.Name)
	}
	return out
}

// rows checks that the views hold no row of what was erased.
func (m *matrix) rows(t *testing.T, all []*told) {
	t.Helper()
	if m.set != e2e.OnThree {
		return
	}
	vectors := e2e.Must(milvusstore.Open(t.Context(), milvusstore.Options{Address: m.corner.Milvus, Prefix: m.corner.Name}))(t)
	defer func() { _ = vectors.Close() }()
	texts := e2e.Must(elasticstore.Open(t.Context(), elasticstore.Options{URL: m.corner.Elasticsearch, Prefix: m.corner.Name}))(t)
	defer func() { _ = texts.Close() }()
	for _, r := range append(rowsOf(t, vectors), rowsOf(t, texts)...) {
		for _, c := range all {
			e := c.erasure
			if r.Scope == e.Scope && (e.Kind == memory.EraseUser || r.Place.Session != "" && e.Covers(r.Place)) {
				t.Errorf("%s: views hold %+v", c, r)
			}
		}
	}
}

// rowsOf are all rows that a view holds.
func rowsOf[Space, Row, Search, Hit any](t *testing.T, v store.View[Space, Row, Search, Hit]) (all []store.RowState) {
	t.Helper()
	for _, space := range e2e.Must(v.Spaces(t.Context()))(t) {
		q := store.RowQuery[Space]{Space: space, Limit: 1000}
		for page := e2e.Must(v.Rows(t.Context(), q))(t); len(page) > 0; page = e2e.Must(v.Rows(t.Context(), q))(t) {
			all = append(all, page...)
			q.After = page[len(page)-1].Cursor
		}
	}
	return all
}

// delete deletes the cell's word.
func (m *matrix) delete(t *testing.T, c *told) {
	t.Helper()
	h, seqs, all := m.first(), c.worded(), c.messages()
	first, last := seqs[0], seqs[len(seqs)-1]
	messages := &memoryv1.DeleteMessagesRequest{UserId: c.user(), SessionId: "s"}
	switch c.what {
	case theSummary:
		c.job = e2e.Must(h.Summaries().DeleteSummary(h.Ctx, &memoryv1.DeleteSummaryRequest{UserId: c.user(), SessionId: "s"}))(t).GetJob()
		return
	case theFact:
		for _, id := range c.factIDs {
			e2e.Must(h.Facts().DeleteFact(h.Ctx, &memoryv1.DeleteFactRequest{UserId: c.user(), FactId: id}))(t)
		}
		return
	case theDocument:
		e2e.Must(h.Documents().DeleteDocument(h.Ctx, &memoryv1.DeleteDocumentRequest{
			UserId: c.user(), Namespace: []string{"about", c.sought()}, Key: "note",
		}))(t)
		return
	case theExpired:
		m.expire(t, c)
		return
	case wholeUser:
		c.job = e2e.Must(h.Users().EraseUser(h.Ctx, &memoryv1.EraseUserRequest{UserId: c.user()}))(t).GetJob()
		return
	case theSession:
		c.job = e2e.Must(h.DeleteSession(h.Ctx, &memoryv1.DeleteSessionRequest{UserId: c.user(), SessionId: "s"}))(t).GetJob()
		return
	case thePopped:
		r := e2e.Must(h.PopMessages(h.Ctx, &memoryv1.PopMessagesRequest{UserId: c.user(), SessionId: "s", Count: int32(int64(len(all)) - first + 1)}))(t)
		if n := len(r.GetMessages()); n != len(all)-int(first)+1 || r.GetMessages()[0].GetId() != "m3" {
			t.Errorf("%s: popped %d messages", c, n)
		}
		c.job = r.GetJob()
		return
	case theReplaced:
		r := e2e.Must(h.ReplaceMessages(h.Ctx, &memoryv1.ReplaceMessagesRequest{UserId: c.user(), SessionId: "s", Messages: all[:first-1]}))(t)
		if r.GetKept() != int32(first-1) {
			t.Errorf("%s: %d messages were kept", c, r.GetKept())
		}
		c.job = r.GetJob()
		return
	case oneByOne:
		for _, seq := range seqs {
			messages.MessageIds = append(messages.MessageIds, all[seq-1].GetId())
		}
	case theOldest:
		messages.Oldest = last
	case beforeSeq:
		messages.BeforeSeq = last + 1
	case allMessages:
		messages.All = true
	}
	c.job = e2e.Must(h.DeleteMessages(h.Ctx, messages))(t).GetJob()
}
