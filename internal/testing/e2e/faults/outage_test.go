package faults_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/memory/secret"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/backendtest"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// What eve said, who shares words with ada and nothing else.
const (
	canaryOfEve = "canary5c1f09canary"
	factOfEve   = "Likes waffles and " + canaryOfEve
)

// backendName is what a server of ours asks.
type backendName string

const (
	theTruth    backendName = "MongoDB"
	theVectors  backendName = "Milvus"
	theTexts    backendName = "Elasticsearch"
	theChat     backendName = "chat model"
	theEmbedder backendName = "embedder"
)

var allBackends = []backendName{theTruth, theVectors, theTexts, theChat, theEmbedder}

// The deadlines of the matrix. None is a bound on how fast this machine is: who waits for what hangs ends by another one, and so in
// another way, than who does not.
const (
	// ofRequests is how long the server works on a call: longer than MongoDB's driver waits for a server, so that a call ends with what
	// the driver says, and not with the deadline.
	ofRequests = 20 * time.Second
	ofCallers  = time.Minute // what every call is given
	// ofAnswers is how long an answer waits for the embedding of its query, and for a view: what is well has it in time on a machine that
	// runs all other tests too.
	ofAnswers = 600 * time.Millisecond
)

// outage is a server over the three real backends and two scripted models, where each can be broken.
type outage struct {
	*e2e.Server
	proxies map[backendName]*backendtest.Proxy
	truth   *moodyMongo
	vectors *moodyVectors
	texts   *moodyTexts
	model   *moodyModel
	asks    int    // so far
	fact    string // that is updated
}

// newOutage starts one. What is down names backends that are broken before the server starts.
func newOutage(t *testing.T, fault backendtest.Fault, down ...backendName) *outage {
	t.Helper()
	corner := e2e.NewCorner(t)
	o := &outage{proxies: map[backendName]*backendtest.Proxy{}, model: &moodyModel{}, truth: &moodyMongo{server: backendtest.HostOf(corner.MongoDB)}}
	model := o.model.serve(t)
	for name, address := range map[backendName]string{
		theTruth: o.truth.serve(t), theVectors: corner.Milvus, theTexts: corner.Elasticsearch, theChat: model.URL(), theEmbedder: model.URL(),
	} {
		p := e2e.Must(backendtest.NewProxy(backendtest.HostOf(address)))(t)
		t.Cleanup(p.Close)
		o.proxies[name] = p
	}
	for _, name := range down {
		o.breaks(t, name, fault)
	}
	o.Server = e2e.StartWith(t, filepath.Join(t.TempDir(), "unused.db"), o.between(), func(c *config.Config) {
		c.MongoDBURI, c.MongoDBDatabase = secret.New(o.proxies[theTruth].In(corner.MongoDB)), corner.Name
		c.MilvusAddress, c.MilvusPrefix = o.proxies[theVectors].Addr(), corner.Name
		c.ElasticsearchURL, c.ElasticsearchPrefix = o.proxies[theTexts].In(corner.Elasticsearch), corner.Name
		c.ChatBaseURL, c.SummaryModel, c.ExtractionModel = o.proxies[theChat].In(model.URL()), "scripted", "scripted"
		c.EmbeddingBaseURL, c.EmbeddingModel = o.proxies[theEmbedder].In(model.URL()), "scripted-embedder"
		c.RequestTimeout, c.ChatTimeout, c.MetricsListen = ofRequests, time.Second, "127.0.0.1:0"
		c.EmbeddingDeadline, c.ViewDeadline = ofAnswers, ofAnswers
	})
	return o
}

// between puts views that can err and lie between the server and the real ones.
func (o *outage) between() app.Options {
	return app.Options{
		Hooks: app.Hooks{
			WrapVectors: func(v store.VectorView) store.VectorView {
				o.vectors = &moodyVectors{VectorView: v, mood: &mood{}}
				return o.vectors
			},
			WrapTexts: func(v store.TextView) store.TextView {
				o.texts = &moodyTexts{TextView: v, mood: &mood{}}
				return o.texts
			},
		},
	}
}

func (o *outage) mood(name backendName) *mood {
	switch name {
	case theTruth:
		return &o.truth.mood
	case theVectors:
		return o.vectors.mood
	case theTexts:
		return o.texts.mood
	case theChat:
		return &o.model.chat
	default:
		return &o.model.embedder
	}
}

func (o *outage) breaks(t *testing.T, name backendName, fault backendtest.Fault) {
	t.Helper()
	if fault == erring || fault == foreign {
		o.mood(name).set(fault)
		return
	}
	if err := o.proxies[name].Break(fault); err != nil {
		t.Fatal(err)
	}
}

func (o *outage) heals(t *testing.T, name backendName) {
	t.Helper()
	if o.vectors != nil {
		o.mood(name).set("")
	}
	if err := o.proxies[name].Heal(); err != nil {
		t.Fatal(err)
	}
}

// settle has two users say and know things, and waits until every tier is asked for them.
func (o *outage) settle(t *testing.T) {
	t.Helper()
	for user, words := range map[string]string{"ada": "maple syrup", "eve": canaryOfEve} {
		e2e.Must(o.Record(o.Ctx, &memoryv1.RecordRequest{UserId: user, SessionId: "s", Messages: []*memoryv1.Message{
			{Role: memoryv1.Role_ROLE_USER, Text: "We had waffles and " + words + " in the kitchen."}, {Role: memoryv1.Role_ROLE_ASSISTANT, Text: "I see."},
		}}))(t)
		for _, text := range []string{"Likes waffles and " + words, "Plays the cello and " + words} {
			f := e2e.Must(o.Facts().CreateFact(o.Ctx, &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{UserId: user, Text: text, Significance: 9}}))(t).GetFact()
			if user == "ada" {
				o.fact = f.GetFactId()
			}
		}
	}
	e2e.Eventually(t, "that all tiers are asked", func() bool { return o.isWhole(t) })
}

// isWhole reports whether every tier does its part in the answers of all five calls.
func (o *outage) isWhole(t *testing.T) bool {
	t.Helper()
	vectors, texts := o.vectors.asked.Load(), o.texts.asked.Load()
	embedder := o.model.embedder.asked.Load()
	for _, a := range o.ask(t) {
		if a.err != nil || len(a.degraded) > 0 {
			return false
		}
	}
	return o.vectors.asked.Load() > vectors && o.texts.asked.Load() > texts && o.model.embedder.asked.Load() > embedder
}

// answered is how a call ended.
type answered struct {
	call     string
	degraded []string // its tiers, sorted
	took     time.Duration
	err      error
	reply    proto.Message
}

// degradable is a reply that says what it lacks.
type degradable interface {
	GetDegraded() []*memoryv1.Degradation
}

// The five calls.
const (
	callRecord         = "Record"
	callBuildContext   = "BuildContext"
	callSearchMessages = "SearchMessages"
	callSearchFacts    = "SearchFacts"
	callUpdateFact     = "UpdateFact"
)

var fiveCalls = []string{callRecord, callBuildContext, callSearchMessages, callSearchFacts, callUpdateFact}

// ask makes the five calls at once, and looks for what no answer may hold.
func (o *outage) ask(t *testing.T) map[string]answered {
	t.Helper()
	o.asks++
	out := make([]answered, len(fiveCalls))
	var all sync.WaitGroup
	for i, call := range fiveCalls {
		all.Go(func() { out[i] = o.Call(t, call, o.asks) })
	}
	all.Wait()
	byName := map[string]answered{}
	for _, a := range out {
		byName[a.call] = a
	}
	return byName
}

// Call makes one of the calls, in words of its own: a query that was embedded is remembered.
func (o *outage) Call(t *testing.T, call string, n int) answered {
	t.Helper()
	ctx, cancel := context.WithTimeout(o.Ctx, ofCallers)
	defer cancel()
	began := time.Now()
	reply, err := o.makeCall(ctx, call, n)
	a := answered{call: call, took: time.Since(began), err: err, reply: reply}
	if d, ok := reply.(degradable); ok && err == nil {
		for _, d := range d.GetDegraded() {
			// What was recorded a moment before may wait for its vectors, whatever is down.
			if !strings.Contains(d.GetReason(), "wait for their vectors") {
				a.degraded = append(a.degraded, d.GetTier())
			}
		}
		slices.Sort(a.degraded)
		a.degraded = slices.Compact(a.degraded)
	}
	if said := fmt.Sprint(reply, err); strings.Contains(said, "canary") {
		t.Errorf("%s holds what only eve knows: %s", call, said)
	}
	return a
}

func (o *outage) makeCall(ctx context.Context, call string, n int) (proto.Message, error) {
	query := fmt.Sprintf("waffles in the kitchen of day%d", n)
	switch call {
	case callRecord:
		return o.Record(ctx, o.recordRequest(n))
	case callBuildContext:
		return o.BuildContext(ctx, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "s", Query: query, Render: memoryv1.Render_RENDER_TEXT, Explain: true})
	case callSearchMessages:
		return o.SearchMessages(ctx, &memoryv1.SearchMessagesRequest{UserId: "ada", Query: query})
	case callSearchFacts:
		return o.Facts().SearchFacts(ctx, &memoryv1.SearchFactsRequest{UserId: "ada", Query: "about the " + query})
	default:
		return o.Facts().UpdateFact(ctx, &memoryv1.UpdateFactRequest{
			Fact:       &memoryv1.Fact{UserId: "ada", FactId: o.fact, Text: fmt.Sprintf("Plays the cello since day%d", n)},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"text"}},
		})
	}
}

// recordRequest is the same request for the same number.
func (o *outage) recordRequest(n int) *memoryv1.RecordRequest {
	return &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", RequestId: fmt.Sprintf("request-%d", n), Messages: []*memoryv1.Message{
		{Role: memoryv1.Role_ROLE_USER, Text: fmt.Sprintf("I like topic%d", n)}, {Role: memoryv1.Role_ROLE_ASSISTANT, Text: "I see."},
	}}
}

// promise is what must come of the calls while a backend has a fault.
type promise struct {
	down     bool                // all calls answer UNAVAILABLE
	mayFail  bool                // they may
	degraded map[string][]string // tiers by call
}

// promised is the table of outcomes.
func promised(name backendName, fault backendtest.Fault) promise {
	if fault == foreign {
		return promise{}
	}
	switch name {
	case theTruth:
		return promise{down: fault != backendtest.Slow, mayFail: fault == backendtest.Slow}
	case theVectors:
		return promise{degraded: map[string][]string{
			callBuildContext: {"vectors"}, callSearchMessages: {"vectors"}, callSearchFacts: {"vectors"},
		}}
	case theTexts:
		return promise{degraded: map[string][]string{
			callBuildContext: {"facts", "transcript"}, callSearchMessages: {"transcript"}, callSearchFacts: {"facts"},
		}}
	case theEmbedder:
		return promise{degraded: map[string][]string{
			callBuildContext: {"embedding"}, callSearchMessages: {"embedding"}, callSearchFacts: {"embedding"},
		}}
	default:
		return promise{}
	}
}

// check holds an answer to the promise.
func (p promise) check(t *testing.T, a answered) {
	t.Helper()
	code := status.Code(a.err)
	switch {
	case p.down && code != codes.Unavailable, p.mayFail && code != codes.Unavailable && code != codes.OK, !p.down && !p.mayFail && code != codes.OK:
		t.Errorf("%s after %v: %v", a.call, a.took, a.err)
	case a.err == nil && !slices.Equal(a.degraded, p.degraded[a.call]):
		t.Errorf("%s lacks %q, want %q", a.call, a.degraded, p.degraded[a.call])
	}
	if a.err == nil {
		checkKnows(t, a)
	}
}

// checkKnows: what is known stands in an answer, whatever is down.
func checkKnows(t *testing.T, a answered) {
	t.Helper()
	said := fmt.Sprint(a.reply)
	switch a.call {
	case callBuildContext, callSearchFacts:
		if !strings.Contains(said, "Likes waffles and maple syrup") {
			t.Errorf("%s does not have the fact: %s", a.call, said)
		}
	case callSearchMessages:
		if !strings.Contains(said, "We had waffles") {
			t.Errorf("%s does not find the message: %s", a.call, said)
		}
	}
}

// cell is a line of the matrix.
type cell struct {
	backend   backendName
	fault     backendtest.Fault
	answers   map[string]answered
	healthy   time.Duration // median of a context
	quickest  time.Duration // of three contexts during the outage
	calls     int64         // that reached the backend, or its driver, in the outage; -1 where nobody counts
	rounds    int           // of the five calls
	contexts  int           // built after them
	recovered time.Duration // until all was used again
}

func (c cell) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-14s %-12s", c.backend, c.fault)
	for _, call := range fiveCalls {
		a := c.answers[call]
		outcome := status.Code(a.err).String()
		if len(a.degraded) > 0 {
			outcome += " -" + strings.Join(a.degraded, ",")
		}
		fmt.Fprintf(&b, " | %s %d ms", outcome, a.took.Milliseconds())
	}
	fmt.Fprintf(&b, " | context %d ms, healthy %d ms", c.quickest.Milliseconds(), c.healthy.Milliseconds())
	if c.calls >= 0 {
		fmt.Fprintf(&b, " | asked %d in %d contexts", c.calls, c.contexts)
	}
	return b.String() + fmt.Sprintf(" | whole after %d ms", c.recovered.Milliseconds())
}

// isLate reports whether an answer lacks more than what is broken, or did not come: on a busy machine what is well may be late, though not
// each time.
func (p promise) isLate(answers map[string]answered) bool {
	for call, a := range answers {
		if status.Code(a.err) == codes.DeadlineExceeded && !p.down && !p.mayFail {
			return true
		}
		if slices.ContainsFunc(a.degraded, func(tier string) bool { return !slices.Contains(p.degraded[call], tier) }) {
			return true
		}
	}
	return false
}

// contexts builds n contexts one after the other, each of which must be answered, and returns how long each took.
func (o *outage) contexts(t *testing.T, n int) []time.Duration {
	t.Helper()
	var took []time.Duration
	for range n {
		o.asks++
		a := o.Call(t, callBuildContext, o.asks)
		if a.err != nil {
			t.Errorf("a context after %v: %v", a.took, a.err)
		}
		took = append(took, a.took)
	}
	return took
}

// mostRounds is how often calls are made until nothing that is well is late.
const mostRounds = 10

// afterwards is how many contexts are built when a circuit is, or should be, open.
const afterwards = 12

// perContext is how often a context asks a backend that is well.
var perContext = map[backendName]int64{theVectors: 1, theTexts: 2, theEmbedder: 1}

// suffers breaks a backend, holds every call to its promise, and heals it.
func (o *outage) suffers(t *testing.T, name backendName, fault backendtest.Fault) cell {
	t.Helper()
	c := cell{backend: name, fault: fault, calls: -1, rounds: 1}
	healthy := o.contexts(t, 3)
	slices.Sort(healthy)
	c.healthy = healthy[1]
	before := o.mood(name).asked.Load()
	o.breaks(t, name, fault)
	broken := time.Now()
	p := promised(name, fault)
	c.answers = o.ask(t)
	for ; p.isLate(c.answers) && c.rounds < mostRounds; c.rounds++ {
		c.answers = o.ask(t)
	}
	n := o.asks
	for _, call := range fiveCalls {
		p.check(t, c.answers[call])
	}
	if name != theTruth {
		o.insists(t, &c)
		if per := perContext[name]; per > 0 {
			c.calls = o.mood(name).asked.Load() - before
			o.spares(t, c, per, time.Since(broken))
		}
	}
	o.heals(t, name)
	healed := time.Now()
	o.recovers(t, name, n)
	c.recovered = time.Since(healed)
	o.keptItsWord(t, n)
	return c
}

// insists builds more contexts during the outage, three of them while nobody spares the backend.
func (o *outage) insists(t *testing.T, c *cell) {
	t.Helper()
	took := o.contexts(t, 3)
	c.quickest = slices.Min(took)
	c.contexts = len(took) + len(o.contexts(t, afterwards))
}

// spares: a backend that is sick is not asked more than one that is well; where a view fails, its circuit opens, and lets probes through
// for as long as the outage lasts.
func (o *outage) spares(t *testing.T, c cell, per int64, lasted time.Duration) {
	t.Helper()
	most := 2 * per * int64(c.contexts+3*c.rounds)
	if c.fault != foreign && c.backend != theEmbedder {
		most = most/4 + per*probes(lasted)
	}
	if c.calls > most {
		t.Errorf("the backend was asked %d times for %d contexts, want at most %d", c.calls, c.contexts, most)
	}
}

// probes is how often an open circuit lets a call through in so long a time: after a second, and after pauses that double up to five.
func probes(lasted time.Duration) (n int64) {
	pause := time.Second
	for at := pause; at <= lasted; at += pause {
		n, pause = n+1, min(2*pause, 5*time.Second)
	}
	return n
}

// recovers waits until all is used again.
func (o *outage) recovers(t *testing.T, name backendName, n int) {
	t.Helper()
	if name == theChat {
		learnt := fmt.Sprintf("Likes topic%d", n)
		e2e.Eventually(t, "that the jobs of the outage are done", func() bool { return slices.Contains(e2e.Texts(o.listAll(t)), learnt) })
		return
	}
	e2e.Eventually(t, "that "+string(name)+" is used, which is well again", func() bool { return o.isWhole(t) })
}

func (o *outage) listAll(t *testing.T) []*memoryv1.Fact {
	t.Helper()
	return e2e.Must(o.Facts().ListFacts(o.Ctx, &memoryv1.ListFactsRequest{UserId: "ada", PageSize: 500}))(t).GetFacts()
}

// keptItsWord: nothing is half-written. What was sent in the outage can be sent again and is stored once.
func (o *outage) keptItsWord(t *testing.T, n int) {
	t.Helper()
	first := e2e.Must(o.Record(o.Ctx, o.recordRequest(n)))(t)
	again := e2e.Must(o.Record(o.Ctx, o.recordRequest(n)))(t)
	if again.GetFirstSeq() != first.GetFirstSeq() || !again.GetReplayed() {
		t.Errorf("a repeated request was answered %v, then %v", first, again)
	}
	said := map[string]int{}
	for i, m := range o.wholeTranscript(t) {
		if m.GetSeq() != int64(i+1) {
			t.Fatalf("message %d has seq %d", i+1, m.GetSeq())
		}
		said[m.GetParts()[0].GetText().GetText()]++
	}
	if words := o.recordRequest(n).GetMessages()[0].GetText(); said[words] != 1 {
		t.Errorf("%q is stored %d times", words, said[words])
	}
	f := e2e.Must(o.Facts().GetFact(o.Ctx, &memoryv1.GetFactRequest{UserId: "ada", FactId: o.fact}))(t).GetFact()
	if !strings.HasPrefix(f.GetText(), "Plays the cello") {
		t.Errorf("the fact is %q", f.GetText())
	}
}

func (o *outage) wholeTranscript(t *testing.T) []*memoryv1.Message {
	t.Helper()
	var out []*memoryv1.Message
	for page := ""; ; {
		r := e2e.Must(o.ListMessages(o.Ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s", PageSize: 1000, PageToken: page}))(t)
		out = append(out, r.GetMessages()...)
		if page = r.GetNextPageToken(); page == "" {
			return out
		}
	}
}

// outageFaults are the faults to be tried: three, or with STRATA_TEST_FULL all.
func outageFaults() []backendtest.Fault {
	if os.Getenv("STRATA_TEST_FULL") == "" {
		return []backendtest.Fault{backendtest.Refused, backendtest.Hanging, foreign}
	}
	return append(backendtest.Faults(), erring, foreign)
}

// foreignTruth is why there is no such line in the matrix.
const foreignTruth = "MongoDB        foreign rows | not applicable: what the primary store says is what all others are checked against"

// TestOutages breaks each backend in each way, and holds the five calls to what they promise then. STRATA_TEST_FULL=1
// tries every way.
func TestOutages(t *testing.T) {
	t.Parallel()
	lines := map[backendName][]string{}
	var mu sync.Mutex
	t.Run("while", func(t *testing.T) {
		for _, name := range allBackends {
			t.Run(string(name), func(t *testing.T) {
				t.Parallel()
				o := newOutage(t, "")
				o.settle(t)
				for _, fault := range outageFaults() {
					line := foreignTruth
					if name != theTruth || fault != foreign {
						t.Run("has the fault "+string(fault), func(t *testing.T) { line = o.suffers(t, name, fault).String() })
					}
					mu.Lock()
					lines[name] = append(lines[name], line)
					mu.Unlock()
				}
				o.countsForeign(t, name)
				o.Log.KeepsQuiet(t)
			})
		}
	})
	if len(lines) == 0 {
		return // skipped
	}
	header := "backend        fault        | " + strings.Join(fiveCalls, " | ")
	for _, name := range allBackends {
		header += "\n" + strings.Join(lines[name], "\n")
	}
	t.Log("\n" + header)
}

// countsForeign: what a view answered of others was dropped and counted.
func (o *outage) countsForeign(t *testing.T, name backendName) {
	t.Helper()
	for view, of := range map[string]backendName{"vectors": theVectors, "facts": theTexts, "transcript": theTexts} {
		for _, kind := range []string{"foreign", "stale"} {
			if view == "transcript" && kind == "stale" {
				continue // a hit that the primary store does not have is looked for only where it finds room
			}
			if n := o.Sample(t, fmt.Sprintf("strata_view_%s_hits_total{view=%q}", kind, view)); of == name && n == 0 {
				t.Errorf("no %s hits of the view %s were counted", kind, view)
			}
		}
	}
}

// TestViewsThatComeLater: a server that starts without its views serves, says what it lacks, and takes them up.
func TestViewsThatComeLater(t *testing.T) {
	t.Parallel()
	for _, fault := range []backendtest.Fault{backendtest.Refused, backendtest.Hanging} {
		t.Run("after they were "+string(fault)+" at the start", func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			o := newOutage(t, fault, theVectors, theTexts)
			started := time.Since(began)
			o.fact = o.States(t, "Likes waffles and maple syrup", "").GetFactId()
			lacking := promise{degraded: map[string][]string{}}
			for call, tiers := range promised(theTexts, fault).degraded {
				lacking.degraded[call] = append(slices.Clone(tiers), "vectors")
			}
			for _, call := range fiveCalls {
				var a answered
				for rounds := 0; rounds == 0 || lacking.isLate(map[string]answered{call: a}) && rounds < mostRounds; rounds++ {
					o.asks++
					a = o.Call(t, call, o.asks)
				}
				if a.err != nil {
					t.Errorf("%s after %v: %v", call, a.took, a.err)
				}
				// Vectors that were never there are compared here, so they lack only where the view has just been asked in vain.
				lacks := slices.DeleteFunc(slices.Clone(a.degraded), func(tier string) bool { return tier == "vectors" })
				if want := promised(theTexts, fault).degraded[call]; !slices.Equal(lacks, want) {
					t.Errorf("%s lacks %q, want %q", call, a.degraded, want)
				}
			}
			o.heals(t, theVectors)
			o.heals(t, theTexts)
			healed := time.Now()
			e2e.Eventually(t, "that the views are asked", func() bool { return o.isWhole(t) })
			t.Logf("started after %v, the views are asked %v after they came", started, time.Since(healed))
		})
	}
}
