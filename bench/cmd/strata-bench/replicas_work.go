package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/bench/internal/scripted"
	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/mongostore"
	"github.com/stratamem/strata/internal/testing/backendtest"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

const (
	thinkTime   = 300 * time.Millisecond // of the scripted model
	roundPause  = 500 * time.Millisecond // between ten messages of a session and the next ten
	killAfter   = 1500 * time.Millisecond
	killWithin  = 3 * time.Second
	victim      = 1           // the number of the server that is killed
	journalTime = time.Second // within which an answer that was given has surely been journalled
	settleLimit = 5 * time.Minute
)

// workRemarks are conversations in which no session has more to be learnt than one answer may hold: the session of a server
// that dies is learnt in one piece when its lease has ended.
func workRemarks() [][]remark {
	all := remarks()
	for _, session := range all {
		for i := range session {
			if said := session[i].statement; session[i].seq%6 != 1 && strings.HasPrefix(said, "Item ") {
				session[i].statement = ""
			}
		}
	}
	return all
}

// hearing is the model of one server. What it was asked when that server was killed may be asked again, once.
type hearing struct {
	chats, texts *listener // shared by all servers

	mu      sync.Mutex
	calls   map[string]time.Time // by what was asked: when it was answered; zero while it is not
	stopped map[string]bool      // what may be asked again
}

func (h *hearing) answer(r llmtest.Request) llmtest.Reply {
	key := string(r.Operation) + material(r)
	h.note(key, time.Time{})
	time.Sleep(thinkTime)
	reply := h.chats.answer(r)
	h.note(key, time.Now())
	return reply
}

func (h *hearing) embed(r llmtest.EmbedRequest) llmtest.EmbedReply {
	for _, text := range r.Texts {
		h.note(text, time.Time{})
	}
	time.Sleep(thinkTime)
	for _, text := range r.Texts {
		h.texts.hear(text)
		h.note(text, time.Now())
	}
	return llmtest.EmbedReply{}
}

func (l *listener) hear(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked[what]++
}

func (h *hearing) note(key string, answered time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls[key] = answered
}

// busy reports whether the model is being asked something.
func (h *hearing) busy() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, answered := range h.calls {
		if answered.IsZero() {
			return true
		}
	}
	return false
}

// stop notes what is not sure to be journalled now.
func (h *hearing) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = map[string]bool{}
	for key, answered := range h.calls {
		if answered.IsZero() || time.Since(answered) < journalTime {
			h.stopped[key] = true
		}
	}
}

// again counts what was asked more than once: what the dead server had not journalled, once each, and the rest.
func (h *hearing) again(l *listener, keep func(string) bool) (calls, lost, wasted int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, n := range l.asked {
		if !keep(key) {
			continue
		}
		calls += n
		if more := n - 1; more > 0 && h.stopped[key] {
			lost, wasted = lost+1, wasted+more-1
		} else {
			wasted += more
		}
	}
	return calls, lost, wasted
}

// workLoad is conversations of several users, each of which is written through every server.
type workLoad struct {
	fleet    *fleet
	backends backendtest.Backends
	models   []*hearing
	written  []time.Time     // by session: when its last message was
	complete []time.Duration // by session: from then, until everything was learnt, indexed and summarised

	mu              sync.Mutex
	contexts, holes int
}

// replicasWork has three servers extract, summarise, embed and feed what is written through all of them.
func replicasWork(ctx context.Context, o options) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*settleLimit)
	defer cancel()
	b, err := backendtest.NewBackends()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Drop()) }()
	w := &workLoad{
		fleet: &fleet{}, backends: b, written: make([]time.Time, remarkSessions), complete: make([]time.Duration, remarkSessions),
	}
	chats, texts := &listener{asked: map[string]int{}}, &listener{asked: map[string]int{}}
	defer func() { err = errors.Join(err, w.fleet.stop()) }()
	for range replicaCount {
		h := &hearing{chats: chats, texts: texts, calls: map[string]time.Time{}}
		model := llmtest.New(llmtest.Options{Chat: h.answer, Embed: h.embed})
		defer model.Close()
		w.models = append(w.models, h)
		if err := w.fleet.start(ctx, measure.ServerOptions{Binary: o.binary, Env: b.Env(), Args: workArgs(model)}); err != nil {
			return err
		}
	}
	if err := w.run(ctx); err != nil {
		return err
	}
	return w.report(ctx, o)
}

func workArgs(model *llmtest.Server) []string {
	return append(scripted.ChatFlags(model.URL()), scripted.EmbeddingFlags(model.URL(), embedStub)...)
}

// run writes everything, kills a server while its model is being asked, and waits until nothing is left to do.
func (w *workLoad) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return w.killOne(ctx) })
	for s, session := range workRemarks() {
		g.Go(func() error {
			if err := w.talk(ctx, session); err != nil {
				return err
			}
			w.written[s] = time.Now()
			return w.settle(ctx, s)
		})
	}
	return g.Wait()
}

func (w *workLoad) killOne(ctx context.Context) error {
	time.Sleep(killAfter + rand.N(killWithin-killAfter))
	model := w.models[victim]
	if err := measure.Until(ctx, "wait for a model call", func(context.Context) (bool, error) { return model.busy(), nil }); err != nil {
		return err
	}
	model.stop()
	return w.fleet.kill(victim)
}

// talk records a session, each turn through another server, and looks at its context after each round.
func (w *workLoad) talk(ctx context.Context, session []remark) error {
	n := session[0].session
	for round := range slices.Chunk(session, remarkRound) {
		for i, req := range turns(round) {
			if _, err := w.fleet.record(ctx, n+i, req); err != nil {
				return fmt.Errorf("record: %w", err)
			}
		}
		if err := w.look(ctx, n); err != nil {
			return err
		}
		time.Sleep(roundPause)
	}
	return nil
}

// look counts what is wrong with a session's context. A server that dies meanwhile is passed over.
func (w *workLoad) look(ctx context.Context, session int) error {
	v := &survivor{server: w.fleet.serve(session)}
	if _, err := v.look(ctx, session); err != nil {
		if w.fleet.isDead(v.server) {
			return nil
		}
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.contexts, w.holes = w.contexts+v.contexts, w.holes+v.holes
	return nil
}

// settle has a session's work done through a server that lives, and waits for it.
func (w *workLoad) settle(ctx context.Context, session int) error {
	user, id := remarkUser(session), remarkSession(session)
	err := measure.Until(ctx, "summarise", func(ctx context.Context) (bool, error) {
		s := w.fleet.serve(session)
		r, err := memoryv1.NewSummaryServiceClient(s.conn).Summarize(ctx, &memoryv1.SummarizeRequest{UserId: user, SessionId: id})
		return r.GetComplete(), w.unlessDead(s, err)
	})
	if err != nil {
		return err
	}
	req := &memoryv1.WaitForWatermarkRequest{UserId: user, SessionId: id, Timeout: durationpb.New(time.Second), Of: []memoryv1.Watermark{
		memoryv1.Watermark_WATERMARK_EXTRACTED, memoryv1.Watermark_WATERMARK_INDEXED, memoryv1.Watermark_WATERMARK_SUMMARISED,
	}}
	err = measure.Until(ctx, "wait for background work", func(ctx context.Context) (bool, error) {
		s := w.fleet.serve(session)
		r, err := memoryv1.NewWorkServiceClient(s.conn).WaitForWatermark(ctx, req)
		return r.GetReached(), w.unlessDead(s, err)
	})
	w.complete[session] = time.Since(w.written[session])
	if err != nil {
		return err
	}
	return w.look(ctx, session)
}

// unlessDead drops the error of a server that was killed.
func (w *workLoad) unlessDead(s *running, err error) error {
	if w.fleet.isDead(s) {
		return nil
	}
	return err
}

func (w *workLoad) report(ctx context.Context, o options) (err error) {
	st, err := mongostore.Open(ctx, mongostore.Options{URI: w.backends.MongoDB, Database: w.backends.Name})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	begin := time.Now()
	left, err := w.drain(ctx, st)
	if err != nil {
		return err
	}
	o.report.Note(
		"   background work of %d sessions of %d users over %d replicas, one killed -9: a session was learnt, indexed and summarised within %s to %s of its last message; jobs, vectors and views were done %s later",
		remarkSessions,
		remarkUsers,
		replicaCount,
		measure.Millis(slices.Min(w.complete)),
		measure.Millis(slices.Max(w.complete)),
		time.Since(begin).Round(time.Millisecond),
	)
	o.report.Zero("three replicas: jobs that nobody works on", left.jobs)
	o.report.Zero("three replicas: facts without a vector, feeds that the views lack", left.vectors+left.feeds)
	if err := w.reportFacts(ctx, o); err != nil {
		return err
	}
	return w.reportSummaries(ctx, o, st)
}

// leftover is what is not done though nothing keeps it from being done.
type leftover struct{ jobs, vectors, feeds int }

// drain waits until no job, no vector and no feed is left to do, and returns what is left when the time is up.
func (w *workLoad) drain(ctx context.Context, st *mongostore.Store) (left leftover, err error) {
	waiting, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	err = measure.Until(waiting, "wait until nothing is left to do", func(context.Context) (done bool, err error) {
		left, err = w.left(ctx, st)
		return left == leftover{}, err
	})
	if waiting.Err() != nil && ctx.Err() == nil {
		return left, nil
	}
	return left, err
}

func (w *workLoad) left(ctx context.Context, st *mongostore.Store) (left leftover, err error) {
	r, err := memoryv1.NewWorkServiceClient(w.fleet.serve(0).conn).ListJobs(ctx, &memoryv1.ListJobsRequest{})
	if err != nil {
		return left, fmt.Errorf("list jobs: %w", err)
	}
	left.jobs = len(r.GetJobs())
	versions, err := st.Embeddings(ctx)
	if err != nil {
		return left, fmt.Errorf("read embedding versions: %w", err)
	}
	for _, v := range versions {
		n, err := st.CountFactsToEmbed(ctx, v.Version)
		if err != nil {
			return left, fmt.Errorf("count facts to embed: %w", err)
		}
		left.vectors += int(n)
	}
	for _, view := range memory.Views() {
		n, _, err := st.CountFeeds(ctx, view)
		if err != nil {
			return left, fmt.Errorf("count feeds: %w", err)
		}
		left.feeds += int(n)
	}
	return left, nil
}

// reportFacts compares the facts of each user with what was said, and what models were paid for with what was needed.
func (w *workLoad) reportFacts(ctx context.Context, o options) error {
	wrong, unexplained, facts := 0, 0, map[string]bool{}
	v := &survivor{server: w.fleet.serve(0)}
	for user, want := range oracles(workRemarks()) {
		n, err := v.compare(ctx, user, want)
		if err != nil {
			return err
		}
		wrong += n
		found, err := allFacts(ctx, v.server, user)
		if err != nil {
			return err
		}
		for _, f := range found {
			unexplained += count(f.GetValidTo() != nil && f.GetSupersededBy() == "")
		}
		maps.Copy(facts, want.current)
		maps.Copy(facts, want.past)
	}
	o.report.Zero("three replicas: facts that are missing, wrong or doubled", wrong)
	o.report.Zero("three replicas: past facts that do not say what took their place", unexplained)
	dead := w.models[victim]
	calls, lost, wasted := dead.again(dead.chats, func(string) bool { return true })
	o.report.Note("   %d calls of the chat model, %d of them again since their answer died with the server", calls, lost)
	o.report.Zero("three replicas: calls of the chat model paid again though nothing was lost", wasted)
	embedded, lost, wasted := dead.again(dead.texts, func(text string) bool { return facts[text] })
	o.report.Note("   %d facts, %d texts embedded, %d of them again since their vector died with the server", len(facts), embedded, lost)
	o.report.Zero("three replicas: facts embedded again though nothing was lost, or never", wasted+max(0, len(facts)-embedded))
	return nil
}

func (w *workLoad) reportSummaries(ctx context.Context, o options, st *mongostore.Store) error {
	torn := 0
	for s := range remarkSessions {
		user := memory.UserRef{Tenant: auth.DefaultTenant, UserID: remarkUser(s)}
		nodes, err := st.LeavesBetween(ctx, store.LeafQuery{User: user})
		if err != nil {
			return fmt.Errorf("read the summaries: %w", err)
		}
		found := leaves(nodes, remarkSession(s))
		torn += count(!tile(found) || end(found) != remarksEach)
	}
	o.report.Zero(fmt.Sprintf("three replicas: of %d contexts those with a hole or overlap", w.contexts), w.holes)
	o.report.Zero("three replicas: sessions of which a message is in no summary, or in two", torn)
	return nil
}
