package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/bench/internal/scripted"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

const (
	slowAnswer  = 5 * time.Second
	slowReplays = 3 // replays in which an answer really takes that long; in the others it is held back until it comes last
)

// replay is one user with two sessions in the same minute. Both say the same three things, and where the user lives:
// the later one is right, whichever is learnt first.
type replay struct {
	no      int
	held    int           // the session whose answer comes last
	release chan struct{} // closed when it may come
	slow    bool          // it takes slowAnswer besides
}

// restart says when the server is killed in a replay: before the held answer is given, while it is, or not at all.
type restart int

const (
	never restart = iota
	beforeRelease
	afterRelease
)

func (r replay) restart() restart {
	switch r.no % 4 {
	case 1:
		return beforeRelease
	case 2:
		return afterRelease
	}
	return never
}

func newReplay(no int) replay {
	return replay{no: no, held: no / 4 % 2, release: make(chan struct{}), slow: no < slowReplays}
}

func (r replay) user() string { return fmt.Sprintf("conflict-%02d", r.no) }

func (r replay) session(i int) string { return [2]string{"first", "second"}[i] }

// statements are what a session says, the conflicting one last.
func (r replay) statements(session int) []string {
	return []string{"I like ripe plums.", "I play the old cello.", "My cat sleeps all day.", moves + [2]string{"Lisbon.", "Porto."}[session]}
}

// mark says to the model which session of which replay it reads.
func (r replay) mark(session int) string {
	return fmt.Sprintf("Replay %d, %s session.", r.no, r.session(session))
}

func (r replay) request(session int) *memoryv1.RecordRequest {
	said := time.Date(2025, time.March, 3, 8, 0, 30*session, 0, time.UTC)
	text := r.mark(session) + "\n" + strings.Join(r.statements(session), "\n")
	return &memoryv1.RecordRequest{UserId: r.user(), SessionId: r.session(session), Messages: []*memoryv1.Message{
		{Role: memoryv1.Role_ROLE_USER, Text: text, CreateTime: timestamppb.New(said)},
		{Role: memoryv1.Role_ROLE_ASSISTANT, Text: "Good to know.", CreateTime: timestamppb.New(said.Add(time.Second))},
	}}
}

// witness is the script of the model: it learns every statement, and holds one answer of each replay back.
type witness struct {
	mu      sync.Mutex
	replays []replay
}

func (w *witness) add(r replay) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.replays = append(w.replays, r)
}

func (w *witness) answer(r llmtest.Request) llmtest.Reply {
	if r.Operation != llm.OpExtract {
		return repeat(r)
	}
	var all []scripted.Proposal
	var mark string
	for _, m := range learnable(r.User) {
		lines := strings.Split(m.Text, "\n")
		mark = lines[0]
		for _, statement := range lines[1:] {
			all = append(all, propose(m.Message, statement))
		}
	}
	reply := scripted.Propose(all)
	reply.Delays = w.delays(mark)
	return reply
}

func (w *witness) delays(mark string) llmtest.Delays {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.replays {
		if mark != r.mark(r.held) {
			continue
		}
		d := llmtest.Delays{Hold: r.release}
		if r.slow {
			d.Delay = slowAnswer
		}
		return d
	}
	return llmtest.Delays{}
}

// verdict counts the replays that ended wrong.
type verdict struct{ replays, current, past, history, shared int }

// conflictFigure has two sessions of one user learnt at once, with kills in half of the replays.
func conflictFigure(ctx context.Context, o options) (err error) {
	data, err := o.path("conflict.db")
	if err != nil {
		return err
	}
	w := &witness{}
	model := llmtest.New(llmtest.Options{Chat: w.answer})
	defer model.Close()
	again := func() (*running, error) {
		return start(ctx, o.binary, data, scripted.ChatFlags(model.URL())...)
	}
	s, err := again()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.kill()) }()
	wrong := verdict{replays: o.replays}
	kills, began := 0, time.Now()
	for no := range o.replays {
		r := newReplay(no)
		w.add(r)
		if r.restart() != never {
			kills++
		}
		if s, err = r.run(ctx, s, again); err != nil {
			return fmt.Errorf("replay %d: %w", no, err)
		}
		if err := r.judge(ctx, s, &wrong); err != nil {
			return fmt.Errorf("replay %d: %w", no, err)
		}
	}
	o.report.Note("   %d replays in %s with %d × kill -9; an answer took %s in %d, and was held back until the other was applied in %d",
		o.replays, time.Since(began).Round(time.Second), kills, slowAnswer, min(slowReplays, o.replays), max(0, o.replays-slowReplays))
	wrong.report(o.report)
	return nil
}

func (v verdict) report(r *measure.Report) {
	at := fmt.Sprintf("%d replays of two sessions: ", v.replays)
	r.Zero(at+"current value other than the later one", v.current)
	r.Zero(at+"superseded value missing or doubled", v.past)
	r.Zero(at+"superseded value without history", v.history)
	r.Zero(at+"shared facts missing or doubled", v.shared)
}

// run records both sessions and waits until both are learnt, the held one last. It returns the server that runs then.
func (r replay) run(ctx context.Context, s *running, again func() (*running, error)) (*running, error) {
	first := r.no / 8 % 2
	for _, session := range []int{first, 1 - first} {
		if _, err := s.Record(ctx, r.request(session)); err != nil {
			return s, err
		}
	}
	if err := r.learnt(ctx, s, 1-r.held); err != nil {
		return s, err
	}
	var err error
	if r.restart() == beforeRelease {
		if s, err = reborn(s, again); err != nil {
			return s, err
		}
	}
	close(r.release)
	if r.restart() == afterRelease {
		if s, err = reborn(s, again); err != nil {
			return s, err
		}
	}
	return s, r.learnt(ctx, s, r.held)
}

func reborn(s *running, again func() (*running, error)) (*running, error) {
	if err := s.kill(); err != nil {
		return s, err
	}
	next, err := again()
	if err != nil {
		return s, err
	}
	return next, nil
}

// learnt waits until a session's facts are learnt.
func (r replay) learnt(ctx context.Context, s *running, session int) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	work := memoryv1.NewWorkServiceClient(s.conn)
	return measure.Until(ctx, "wait for extraction", func(ctx context.Context) (bool, error) {
		w, err := work.WaitForWatermark(ctx, &memoryv1.WaitForWatermarkRequest{
			UserId: r.user(), SessionId: r.session(session), Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED},
		})
		return w.GetReached(), err
	})
}

// judge compares a user's facts with what was said.
func (r replay) judge(ctx context.Context, s *running, v *verdict) error {
	facts, err := allFacts(ctx, s, r.user())
	if err != nil {
		return err
	}
	said := map[string][]*memoryv1.Fact{}
	for _, f := range facts {
		said[f.GetText()] = append(said[f.GetText()], f)
	}
	then, now := r.statements(0), r.statements(1)
	last := len(now) - 1
	past, current := said[then[last]], said[now[last]]
	v.current += count(len(current) != 1 || !holds(current[0]))
	v.past += count(len(past) != 1 || holds(past[0]))
	for _, shared := range now[:last] {
		found := said[shared]
		v.shared += count(len(found) != 1 || !holds(found[0]) || len(found[0].GetEvidence()) != 2)
	}
	v.shared += count(len(facts) != len(now)+1)
	if len(past) != 1 || len(current) != 1 {
		return nil
	}
	ok, err := hasHistory(ctx, s, past[0], current[0])
	v.history += count(!ok)
	return err
}

func holds(f *memoryv1.Fact) bool { return f.GetValidTo() == nil && f.GetSupersededBy() == "" }

func count(wrong bool) int {
	if wrong {
		return 1
	}
	return 0
}

// hasHistory reports whether the past fact says what took its place, in its latest revision too. One that was learnt
// before the other has a revision in which it still held.
func hasHistory(ctx context.Context, s *running, past, current *memoryv1.Fact) (bool, error) {
	r, err := memoryv1.NewFactServiceClient(s.conn).ListFactRevisions(ctx, &memoryv1.ListFactRevisionsRequest{
		UserId: past.GetUserId(), FactId: past.GetFactId(),
	})
	if err != nil {
		return false, fmt.Errorf("list revisions: %w", err)
	}
	revisions := r.GetRevisions()
	if len(revisions) == 0 || int64(len(revisions)) != past.GetRevision() {
		return false, nil
	}
	latest := revisions[0].GetFact()
	before := revisions[len(revisions)-1].GetFact()
	learntFirst := past.GetCreateTime().AsTime().Before(current.GetCreateTime().AsTime())
	return past.GetSupersededBy() == current.GetFactId() && latest.GetSupersededBy() == current.GetFactId() &&
		holds(before) == learntFirst, nil
}
