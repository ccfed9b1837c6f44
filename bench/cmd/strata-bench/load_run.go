package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/mixedload"
	"github.com/stratamem/strata/client"
	"github.com/stratamem/strata/internal/memory/retry"
	"github.com/stratamem/strata/internal/testing/conversations"
)

const (
	sentAgainFor   = 3 * time.Minute  // a write whose outcome is unknown: no try of it begins later
	sentAgainFirst = 2 * time.Second  // the longest wait before a write that the client gave up is sent again; twice as long each time
	sentAgainLast  = 30 * time.Second // and no longer than this
	statesOneOf    = 4                // Records: so many have a statement that can be learnt
	sessionRecords = 40               // of a user, before the next session begins
	loadReaders    = 8                // sessions that are read at once in the end
	sampledEvery   = time.Second
)

// mixedRun is a load while it runs, and what came of it.
type mixedRun struct {
	options
	name     string
	plan     mixedload.Plan
	serve    func(n int) *running // the server of a user, or another while that is dead
	client   *client.Client
	texts    [][2]string
	queries  []string
	duration time.Duration

	mu       sync.Mutex
	begin    time.Time
	ledger   *mixedload.Ledger
	users    map[int]*loadUser
	outcomes []mixedload.Outcome
	samples  []mixedload.Sample
	failures map[string]int
	deleted  []*memoryv1.DeleteFactRequest // that succeeded
	written  int64
	degraded int
	attempts int // of all calls, each of which is sent once or more
}

// loadUser is what a user's client remembers.
type loadUser struct {
	records int
	fact    string // found last
}

func newMixedRun(o options, plan mixedload.Plan, serve func(int) *running) (*mixedRun, error) {
	r := &mixedRun{
		options: o, name: "mixed load", plan: plan, serve: serve, texts: manyTexts(), queries: conversations.Shape{Seed: 9}.Queries(1024),
		duration: o.duration, ledger: mixedload.NewLedger(), users: map[int]*loadUser{}, failures: map[string]int{},
	}
	var err error
	r.client, err = client.New("passthrough:///each-user-has-a-server", client.Options{
		Dial: []grpc.DialOption{grpc.WithChainUnaryInterceptor(r.attempt)},
	})
	return r, err
}

// attempt sends a call to the server that serves its user now, as a balancer before several would. When a call is made again, and for how
// long, is left to the client: what its defaults are for every application.
func (r *mixedRun) attempt(
	ctx context.Context, method string, request, reply any, _ *grpc.ClientConn, _ grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	r.mu.Lock()
	r.attempts++
	r.mu.Unlock()
	user, _ := ctx.Value(loadUserKey{}).(int)
	return r.serve(user).conn.Invoke(ctx, method, request, reply, opts...)
}

// loadUserKey is the key of a context for the user, an int, that a call is for.
type loadUserKey struct{}

func forLoadUser(ctx context.Context, user int) context.Context {
	return context.WithValue(ctx, loadUserKey{}, user)
}

// untilPart is the time until a part of the load has passed. The load has begun, or begins now.
func (r *mixedRun) untilPart(part float64) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := time.Duration(part * float64(r.duration))
	if r.begin.IsZero() {
		return at
	}
	return time.Until(r.begin.Add(at))
}

// run makes the calls of the plan, each at its time whether earlier ones have returned or not, and returns when all have.
func (r *mixedRun) run(ctx context.Context, w watched) error {
	if r.duration < time.Second {
		return fmt.Errorf("-duration is %s: give at least 1s", r.duration)
	}
	r.mu.Lock()
	r.begin = time.Now()
	r.mu.Unlock()
	watching, stop := context.WithCancel(ctx)
	var watcher errgroup.Group
	watcher.Go(func() error { return r.watch(watching, w) })
	var calls sync.WaitGroup
	for n := range mixedload.Due(r.rate, r.duration, r.duration) {
		at := mixedload.At(r.rate, n)
		sleepUntil(r.begin.Add(at))
		if ctx.Err() != nil {
			break
		}
		calls.Go(func() {
			c := r.plan.Call(n)
			kind, err := r.call(ctx, c)
			r.note(mixedload.Outcome{Kind: kind, At: at, Took: time.Since(r.begin) - at, Failed: err != nil}, err)
		})
	}
	calls.Wait()
	stop()
	return errors.Join(watcher.Wait(), ctx.Err())
}

// watched is what is looked at while a load runs.
type watched struct {
	sample  func() (mixedload.Sample, error)
	waiting func(context.Context) string // what background work has still to do, for people; nil where nobody asks
}

func (r *mixedRun) watch(ctx context.Context, w watched) error {
	tick := time.NewTicker(sampledEvery)
	defer tick.Stop()
	printed := time.Duration(0)
	for {
		s, err := w.sample()
		if err != nil {
			return err
		}
		r.mu.Lock()
		s.At, s.Written = time.Since(r.begin), r.written
		r.samples = append(r.samples, s)
		r.mu.Unlock()
		if s.At >= printed+r.window() {
			r.progress(ctx, w, printed, s)
			printed = s.At
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// progress prints how the load stands.
func (r *mixedRun) progress(ctx context.Context, w watched, from time.Duration, s mixedload.Sample) {
	r.mu.Lock()
	p := mixedload.ProgressOf(r.outcomes, mixedload.Due(r.rate, s.At, r.duration), from, s.At)
	again := r.attempts - len(r.outcomes) - p.Open
	r.mu.Unlock()
	line := fmt.Sprintf("   %8s %6.1f calls/s  p50/p99 %s/%s ms  %d failed  %d under way  %d sent again  memory",
		s.At.Round(time.Second), p.Rate, inWholeMillis(p.P50), inWholeMillis(p.P99), p.Failed, p.Open, max(again, 0))
	for _, memory := range s.OfEach() {
		line += fmt.Sprintf(" %d", memory>>20)
	}
	line += " MiB"
	if w.waiting != nil {
		line += "  " + w.waiting(ctx)
	}
	r.report.Note("%s", line)
}

func inWholeMillis(d time.Duration) string { return fmt.Sprintf("%.0f", inMillis(d)) }

func (r *mixedRun) note(o mixedload.Outcome, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes = append(r.outcomes, o)
	if err != nil {
		r.failures[fmt.Sprintf("%s: %s", o.Kind, status.Code(err))]++
	}
}

// call makes a call. A user without a session of this load has nothing to pop and records instead; one who has not found a fact
// searches for one instead of deleting it.
func (r *mixedRun) call(ctx context.Context, c mixedload.Call) (mixedload.Kind, error) {
	user, session, fact := loadUserID(c.User), "", ""
	r.mu.Lock()
	u := r.users[c.User]
	if u == nil {
		u = &loadUser{}
		r.users[c.User] = u
	}
	if c.Kind == mixedload.PopMessages && u.records == 0 {
		c.Kind = mixedload.Record
	}
	if fact = u.fact; c.Kind == mixedload.DeleteFact && fact == "" {
		c.Kind = mixedload.SearchFacts
	}
	if c.Kind == mixedload.DeleteFact {
		u.fact = ""
	}
	session = liveSession(u.records)
	if c.Kind == mixedload.Record {
		u.records++
	} else if u.records > 0 {
		session = liveSession(u.records - 1)
	}
	r.mu.Unlock()
	query := r.queries[c.Pick%len(r.queries)]
	switch c.Kind {
	case mixedload.Record:
		return c.Kind, r.record(ctx, c, mixedload.SessionName{User: user, Session: session})
	case mixedload.BuildContext:
		return c.Kind, r.buildContext(ctx, c, &memoryv1.BuildContextRequest{UserId: user, SessionId: session, Query: query})
	case mixedload.SearchFacts:
		return c.Kind, r.searchFacts(ctx, c, u, &memoryv1.SearchFactsRequest{UserId: user, Query: query})
	case mixedload.SearchMessages:
		return c.Kind, r.read(ctx, c, func(ctx context.Context) error {
			_, err := r.client.Memory.SearchMessages(ctx, &memoryv1.SearchMessagesRequest{UserId: user, Query: query})
			return err
		})
	case mixedload.ListMessages:
		return c.Kind, r.read(ctx, c, func(ctx context.Context) error {
			req := &memoryv1.ListMessagesRequest{UserId: user, SessionId: session, NewestFirst: true, PageSize: 20}
			_, err := r.client.Memory.ListMessages(ctx, req)
			return unlessGone(err) // a user who has recorded nothing yet has no session of this load
		})
	case mixedload.PopMessages:
		return c.Kind, r.pop(ctx, c, mixedload.SessionName{User: user, Session: session})
	default:
		return c.Kind, r.deleteFact(ctx, c, &memoryv1.DeleteFactRequest{UserId: user, FactId: fact})
	}
}

func loadUserID(rank int) string { return fmt.Sprintf("load-%06d", rank) }

// liveSession is the session of a user's n-th Record, from 0.
func liveSession(n int) string { return fmt.Sprintf("live-%04d", n/sessionRecords) }

// unlessGone drops the error about something that is not there.
func unlessGone(err error) error {
	if status.Code(err) == codes.NotFound {
		return nil
	}
	return err
}

// read makes a call as the client does.
func (r *mixedRun) read(ctx context.Context, c mixedload.Call, call func(context.Context) error) error {
	return call(forLoadUser(ctx, c.User))
}

// write makes a call until its outcome is known: one that the client gave up is sent again with its request id, as an application does
// that must not lose it, after a wait that grows, has jitter, and is not shorter than the service asks for.
func (r *mixedRun) write(ctx context.Context, c mixedload.Call, call func(context.Context) error) error {
	until := time.Now().Add(sentAgainFor)
	bound := retry.Exponential{First: sentAgainFirst, Last: sentAgainLast}
	for failures := 1; ; failures++ {
		err := r.read(ctx, c, call)
		wait := time.Duration(rand.Float64()*float64(bound.After(failures))) + retryAfter(err) //nolint:gosec // jitter
		if !isUncertain(err) || time.Now().Add(wait).After(until) || !retry.Pause(ctx, wait) {
			return err
		}
	}
}

// retryAfter is how long the service asks to be left alone; 0 where it does not.
func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*client.Error](err); ok && e.RetryAfter != nil {
		return *e.RetryAfter
	}
	return 0
}

// isUncertain reports that a call may or may not have been carried out, or was refused only for now.
func isUncertain(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.Aborted, codes.Canceled, codes.DeadlineExceeded, codes.ResourceExhausted:
		return true
	default:
		return false
	}
}

func (r *mixedRun) record(ctx context.Context, c mixedload.Call, name mixedload.SessionName) error {
	texts := r.texts[c.Pick%len(r.texts)]
	if c.Pick%statesOneOf == 0 {
		texts[0] = item(c.N, r.queries[c.Pick%len(r.queries)]) + " " + texts[0]
	}
	ids := []string{fmt.Sprintf("m-%d-0", c.N), fmt.Sprintf("m-%d-1", c.N)}
	req := &memoryv1.RecordRequest{
		UserId: name.User, SessionId: name.Session, RequestId: fmt.Sprintf("r-%d", c.N),
		Messages: []*memoryv1.Message{
			{Id: ids[0], Role: memoryv1.Role_ROLE_USER, Text: texts[0]}, {Id: ids[1], Role: memoryv1.Role_ROLE_ASSISTANT, Text: texts[1]},
		},
	}
	r.mu.Lock()
	after := r.ledger.Sent(name)
	r.mu.Unlock()
	var got *memoryv1.RecordResponse
	err := r.write(ctx, c, func(ctx context.Context) (err error) {
		got, err = r.client.Memory.Record(ctx, req)
		return err
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.ledger.Failed(name, ids)
		return err
	}
	r.ledger.Acknowledged(name, ids, got.GetFirstSeq(), after)
	r.written += int64(len(texts[0]) + len(texts[1]))
	return nil
}

func (r *mixedRun) buildContext(ctx context.Context, c mixedload.Call, req *memoryv1.BuildContextRequest) error {
	return r.read(ctx, c, func(ctx context.Context) error {
		got, err := r.client.Memory.BuildContext(ctx, req)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.degraded += count(len(got.GetDegraded()) > 0)
		return err
	})
}

func (r *mixedRun) searchFacts(ctx context.Context, c mixedload.Call, u *loadUser, req *memoryv1.SearchFactsRequest) error {
	return r.read(ctx, c, func(ctx context.Context) error {
		got, err := r.client.Facts.SearchFacts(ctx, req)
		if hits := got.GetHits(); len(hits) > 0 {
			r.mu.Lock()
			defer r.mu.Unlock()
			u.fact = hits[0].GetFact().GetFactId()
		}
		return err
	})
}

func (r *mixedRun) pop(ctx context.Context, c mixedload.Call, name mixedload.SessionName) error {
	var got *memoryv1.PopMessagesResponse
	err := r.write(ctx, c, func(ctx context.Context) (err error) {
		got, err = r.client.Memory.PopMessages(ctx, &memoryv1.PopMessagesRequest{
			UserId: name.User, SessionId: name.Session, Count: 1, RequestId: fmt.Sprintf("p-%d", c.N),
		})
		return err
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || got.GetReplayed() {
		r.ledger.MayBePopped(name, 1)
		return unlessGone(err) // its session's first Record may be on its way
	}
	for _, m := range got.GetMessages() {
		r.ledger.Popped(name, []string{m.GetId()})
	}
	return nil
}

func (r *mixedRun) deleteFact(ctx context.Context, c mixedload.Call, req *memoryv1.DeleteFactRequest) error {
	err := r.write(ctx, c, func(ctx context.Context) error {
		_, err := r.client.Facts.DeleteFact(ctx, req)
		return unlessGone(err) // another call of the user, or an earlier try, has deleted it
	})
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.deleted = append(r.deleted, req)
	}
	return err
}

// item is a statement that can be learnt. Each is another one.
func item(n int, words string) string { return fmt.Sprintf("Item %d is about %s.", n, words) }

// itemIn finds the statement that a message begins with.
func itemIn(text string) (string, bool) {
	statement, _, ok := strings.Cut(text, ".")
	return statement + ".", ok && strings.HasPrefix(statement, "Item ")
}

// verify reads every session that was written to, and looks for the facts that were deleted. What cannot be read is a fault as well.
func (r *mixedRun) verify(ctx context.Context) error {
	begin, sessions := time.Now(), r.ledger.Sessions()
	toll, back, unread := r.ledger.Disordered(), 0, 0
	var g errgroup.Group
	g.SetLimit(loadReaders)
	for i, name := range sessions {
		g.Go(func() error {
			messages, err := listSession(forLoadUser(ctx, i), r.client.Memory, name.User, name.Session)
			r.mu.Lock()
			defer r.mu.Unlock()
			if err != nil {
				unread++
				return err
			}
			toll = toll.Add(r.ledger.Compare(name, placed(messages)))
			return nil
		})
	}
	for i, d := range r.deleted {
		g.Go(func() error {
			_, err := r.client.Facts.GetFact(forLoadUser(ctx, i), &memoryv1.GetFactRequest{UserId: d.GetUserId(), FactId: d.GetFactId()})
			r.mu.Lock()
			defer r.mu.Unlock()
			back += count(err == nil)
			unread += count(unlessGone(err) != nil)
			return unlessGone(err)
		})
	}
	err := g.Wait()
	r.report.Note("   looked for %d acknowledged messages in %d sessions and for %d deleted facts in %s",
		toll.Messages, len(sessions), len(r.deleted), time.Since(begin).Round(time.Millisecond))
	r.report.Zero(r.name+": acknowledged messages lost", toll.Lost)
	r.report.Zero(r.name+": messages doubled", toll.Doubled)
	r.report.Zero(r.name+": messages out of order, or at another place than acknowledged", toll.Disordered)
	r.report.Zero(r.name+": messages that nobody sent there", toll.Foreign)
	r.report.Zero(r.name+": popped messages and deleted facts that are there again", toll.Back+back)
	r.report.Zero(r.name+": sessions and facts that could not be read in the end", unread)
	if err != nil {
		return fmt.Errorf("look for what was promised: %w", err)
	}
	return nil
}
