package jobrunner_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/jobrunner"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/storetest/datafile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ada = memory.UserRef{Tenant: "default", UserID: "ada"}

// rig is a runner over a real store with scripted models. Its tests run in a bubble of package synctest: time is
// virtual, and passes only while everybody waits.
type rig struct {
	t         *testing.T
	store     *sqlitestore.Store
	summaries *summarizer
	learner   *extractor
	meter     *meter
	policy    contextprofile.Work
	options   jobrunner.RunnerOptions

	runner  *jobrunner.Runner
	restart func()
	starts  int
}

// inBubble runs a promise with a rig.
func inBubble(t *testing.T, promise string, f func(*testing.T, *rig)) {
	t.Helper()
	t.Run(promise, func(t *testing.T) {
		t.Parallel() // each has a data file of its own, and waits for the disk
		synctest.Test(t, func(t *testing.T) {
			f(t, newRig(t))
		})
	})
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, summaries: &summarizer{}, learner: &extractor{}, meter: &meter{counts: map[string]int{}}}
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Path: datafile.New(t), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	r.store = s
	r.policy = contextprofile.Work{
		Summary: summary.Policy{
			Form: summary.FormTree, TriggerMessages: 11, Idle: 5 * time.Minute, KeepMessages: 5, Merge: 4, MaxTokens: 500, ChunkTokens: 6000,
		},
		Extract: extract.Triggers{AtReply: true, Messages: 6, Idle: 30 * time.Second, MaxMessages: 40, MaxTokens: 4000},
	}
	r.options = jobrunner.RunnerOptions{
		Store: s, Facts: factsOf{s}, Meter: r.meter,
		Models: jobrunner.Models{Summarizer: r.summaries, Extractor: r.learner, Fallback: fallback{}},
		WorkOf: func(string) contextprofile.Work { return r.policy }, Log: slog.New(slog.DiscardHandler),
		Pace: jobrunner.Pace{Rand: func() float64 { return 0.5 }},
	}
	return r
}

// start starts a runner as a process of its own would. It is stopped at the latest when the test ends.
func (r *rig) start() {
	r.starts++
	o := r.options
	if o.Owner == "" {
		o.Owner = fmt.Sprintf("process %d", r.starts)
	}
	r.runner = jobrunner.NewRunner(o)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.runner.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Errorf("run: %v", err)
		}
	})
	r.restart = func() { stop(); r.start() }
	r.t.Cleanup(stop)
}

// pass lets virtual time pass and waits until nobody has anything to do.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// say records one turn of one message without a nudge.
func (r *rig) say(ref memory.SessionRef, role memory.Role, words string) {
	r.t.Helper()
	now := time.Now().UTC().Truncate(time.Microsecond)
	m := memory.Message{
		ID: fmt.Sprintf("%s-%s-%d", ref.SessionID, words, now.UnixNano()), Role: role, Parts: []memory.Part{memory.TextPart(words)},
		Origin: memory.DefaultOrigin(role), Extract: memory.ExtractAllow, CreateTime: now,
	}
	m.Tokens = tokens.CountMessage(m)
	_, err := r.store.Append(context.Background(), store.AppendParams{Ref: ref, Messages: []store.NewMessage{{Message: m}}, Time: now})
	if err != nil {
		r.t.Fatal(err)
	}
}

// chat records a question and a reply and nudges after each, as Record does.
func (r *rig) chat(ref memory.SessionRef, words string) {
	r.t.Helper()
	r.say(ref, memory.RoleUser, words)
	r.runner.Nudge(ref)
	r.say(ref, memory.RoleAssistant, "Thank you, that is noted: "+words)
	r.runner.Nudge(ref)
}

func (r *rig) work(ref memory.SessionRef) store.SessionWork {
	r.t.Helper()
	w, err := r.store.SessionWork(context.Background(), ref)
	if err != nil {
		r.t.Fatal(err)
	}
	return w
}

// nodes are all nodes of a session, by level, then range: its leaves, and what is made of them.
func (r *rig) nodes(ref memory.SessionRef) []memory.SummaryNode {
	r.t.Helper()
	leaves, err := r.store.LeavesBetween(context.Background(), store.LeafQuery{User: ref.UserRef})
	if err != nil {
		r.t.Fatal(err)
	}
	var ids []string
	for _, n := range leaves {
		if n.SessionID == ref.SessionID {
			ids = append(ids, n.ID)
		}
	}
	all := r.nodesOf(ref.UserRef, ids)
	above, err := r.store.TopNodes(context.Background(), ref, math.MaxInt64)
	if err != nil {
		r.t.Fatal(err)
	}
	for len(above) > 0 {
		above = slices.DeleteFunc(above, func(n memory.SummaryNode) bool { return n.Level == 0 })
		all = append(all, above...)
		ids = nil
		for _, n := range above {
			ids = append(ids, n.Children...)
		}
		above = r.nodesOf(ref.UserRef, ids)
	}
	slices.SortStableFunc(all, func(a, b memory.SummaryNode) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Range.From, b.Range.From))
	})
	return all
}

func (r *rig) nodesOf(user memory.UserRef, ids []string) []memory.SummaryNode {
	r.t.Helper()
	nodes, err := r.store.Nodes(context.Background(), user, ids)
	if err != nil {
		r.t.Fatal(err)
	}
	return nodes
}

func (r *rig) facts(user memory.UserRef) []memory.Fact {
	r.t.Helper()
	state, err := r.store.FactsSince(context.Background(), user, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	return state.Facts
}

func (r *rig) jobs(q store.JobQuery) []memory.Job {
	r.t.Helper()
	q.Tenant, q.Limit = ada.Tenant, 10_000
	jobs, err := r.store.ListJobs(context.Background(), q)
	if err != nil {
		r.t.Fatal(err)
	}
	return jobs
}

// texts are the facts' texts, sorted, those that do not hold any more in parentheses.
func texts(facts []memory.Fact) []string {
	var out []string
	for _, f := range facts {
		s := f.Text
		if !f.IsCurrent() {
			s = "(" + s + ")"
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// covered checks that each message is in exactly one leaf or in the tail, and returns the last one that leaves cover.
func covered(nodes []memory.SummaryNode) (int64, error) {
	var leaves []memory.SummaryNode
	for _, n := range nodes {
		if n.Level == 0 {
			leaves = append(leaves, n)
		}
	}
	slices.SortFunc(leaves, func(a, b memory.SummaryNode) int { return cmp.Compare(a.Range.From, b.Range.From) })
	var end int64
	for _, n := range leaves {
		if n.Range.From != end+1 {
			return 0, fmt.Errorf("a leaf begins at %d, but the one before it ends at %d", n.Range.From, end)
		}
		end = n.Range.To
	}
	return end, nil
}

func mustCover(t *testing.T, r *rig, ref memory.SessionRef, through int64) {
	t.Helper()
	end, err := covered(r.nodes(ref))
	if err != nil {
		t.Error(err)
	}
	if end != through {
		t.Errorf("leaves cover messages up to %d, want %d", end, through)
	}
	if got := r.work(ref).SummarisedThrough(); got != end {
		t.Errorf("the watermark is %d, want %d", got, end)
	}
}

// factsOf returns facts straight from the store.
type factsOf struct{ store store.Facts }

func (f factsOf) State(ctx context.Context, user memory.UserRef) (extract.State, int64, error) {
	s, err := f.store.FactsSince(ctx, user, 0)
	state := extract.State{Scope: s.Scope, Facts: extract.NewFacts(s.Facts...), Forgotten: map[memory.KeyedHash]time.Time{}}
	for _, g := range s.Forgotten {
		state.Forgotten[g.Key] = g.Time
	}
	return state, s.Revision, err
}

func (f factsOf) Related(ctx context.Context, user memory.UserRef, _ string, limit int) ([]memory.Fact, error) {
	state, _, err := f.State(ctx, user)
	current := slices.DeleteFunc(state.Facts.All(), func(f memory.Fact) bool { return !f.IsCurrent() })
	return current[:min(len(current), limit)], err
}

// meter counts what became of work.
type meter struct {
	mu     sync.Mutex
	counts map[string]int
}

func (m *meter) add(name string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[name] += n
}

func (m *meter) of(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counts[name]
}

func (m *meter) JobDone(kind memory.JobKind, outcome string) { m.add(kind.String()+" "+outcome, 1) }

func (m *meter) Quarantined(reason extract.RejectReason) { m.add("quarantined "+string(reason), 1) }

func (m *meter) Refused(reason summary.RefusalReason) { m.add("refused "+string(reason), 1) }
func (m *meter) Appended(anchors int)                 { m.add("appended", anchors) }

// summarizer is a scripted model. Without a script it returns what it reads, shortened.
type summarizer struct {
	mu     sync.Mutex
	tasks  []summary.Task
	script func(ctx context.Context, call int, t summary.Task) (llm.Answer, error)
}

func (s *summarizer) Summarize(ctx context.Context, t summary.Task) (llm.Answer, error) {
	s.mu.Lock()
	s.tasks = append(s.tasks, t)
	call, script := len(s.tasks), s.script
	s.mu.Unlock()
	if script != nil {
		return script(ctx, call, t)
	}
	return faithful(t), nil
}

func (s *summarizer) calls(level int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, t := range s.tasks {
		if t.Kind == memory.SummarySession && (t.Level > 0) == (level > 0) {
			n++
		}
	}
	return n
}

// faithful is a summary in the source's words.
func faithful(t summary.Task) llm.Answer {
	var said []string
	if t.Rewrite {
		said = append(said, t.Previous)
	}
	for _, l := range t.Lines {
		said = append(said, l.Text)
	}
	for _, p := range t.Parts {
		said = append(said, p.Text)
	}
	sentences := strings.SplitAfter(strings.Join(said, " "), ". ")
	return llm.Answer{
		Text: strings.TrimSpace(strings.Join(sentences[:min(len(sentences), 30)], "")), Finish: llm.FinishStop, Model: "scripted",
		Usage: memory.ModelUsage{Calls: 1, InputTokens: 100, OutputTokens: 10},
	}
}

// fallback stands for the built-in summariser.
type fallback struct{}

func (fallback) Summarize(_ context.Context, t summary.Task) (llm.Answer, error) {
	a := faithful(t)
	a.Model, a.Usage = "builtin:test", memory.ModelUsage{}
	return a, nil
}

// extractor is a scripted model. Without a script it learns from "I live in X." and "I like X.".
type extractor struct {
	mu     sync.Mutex
	tasks  []extract.Task
	times  []time.Time
	script func(ctx context.Context, call int, t extract.Task) (llm.Answer, error)
}

func (e *extractor) Extract(ctx context.Context, t extract.Task) (llm.Answer, error) {
	e.mu.Lock()
	e.tasks, e.times = append(e.tasks, t), append(e.times, time.Now())
	call, script := len(e.tasks), e.script
	e.mu.Unlock()
	if script != nil {
		return script(ctx, call, t)
	}
	return learn(t), nil
}

func (e *extractor) calls() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.tasks)
}

// asked counts the calls for each first message that was to be learnt from.
func (e *extractor) asked() map[memory.Place]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := map[memory.Place]int{}
	for _, t := range e.tasks {
		for _, l := range t.Lines {
			if l.Learn {
				out[l.Place]++
				break
			}
		}
	}
	return out
}

var statement = regexp.MustCompile(`I (live in|like) ([\p{L}]+)\.`)

// learn returns the facts that lines state.
func learn(t extract.Task) llm.Answer {
	ops := []extract.Op{}
	for _, l := range t.Lines {
		for _, m := range statement.FindAllStringSubmatch(l.Text, -1) {
			if !l.Learn {
				continue
			}
			op := extract.Op{
				Op: "add", Text: "likes " + m[2], Category: "preference", Significance: 5, Confidence: 0.9, Message: l.Alias, Quote: m[0],
			}
			if m[1] == "live in" {
				op.Text, op.Category, op.Attribute = "lives in "+m[2], "personal_info", "home_city"
			}
			ops = append(ops, op)
		}
	}
	return opsAnswer(ops)
}

func opsAnswer(ops []extract.Op) llm.Answer {
	data, err := json.Marshal(map[string]any{"operations": ops})
	if err != nil {
		panic(err)
	}
	return llm.Answer{
		Text: string(data), Finish: llm.FinishStop, Model: "scripted", Usage: memory.ModelUsage{Calls: 1, InputTokens: 100, OutputTokens: 10},
	}
}

// mentions reports whether a line that is to be learnt from has the word.
func mentions(t extract.Task, word string) bool {
	return slices.ContainsFunc(t.Lines, func(l extract.Line) bool { return l.Learn && strings.Contains(l.Text, word) })
}

func failed(class llm.Class, after time.Duration) error {
	return &llm.Error{Class: class, RetryAfter: after, Usage: memory.ModelUsage{Calls: 1}, Err: errors.New("scripted")}
}
