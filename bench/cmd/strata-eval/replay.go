package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/eval"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/internal/memory"
)

const (
	hits         = 200              // the most hits of a search: sessions are ranked by them
	maxPerRecord = 1000             // the limit of a Record call
	maxRecord    = 3 << 19          // bytes of text in a Record call, below the limit of 2 MiB
	learnWithin  = 30 * time.Minute // how long a dialogue's work may take
)

// replay records the dialogues, each as one user, waits until all is learnt, and then asks. The rows are in the order of
// the questions.
func replay(ctx context.Context, o options, set eval.Set, r *measure.Report) ([]eval.Row, error) {
	conn, err := measure.Dial(o.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var players []*player
	for _, d := range set.Dialogues {
		if len(d.Questions) > 0 {
			players = append(players, &player{options: o, conn: conn, memory: memoryv1.NewMemoryServiceClient(conn), dialogue: d, index: d.Index()})
		}
	}
	for some := range slices.Chunk(players, o.clients) {
		if err := replayAll(ctx, some, r); err != nil {
			return nil, err
		}
	}
	if err := settle(ctx, conn, o, players); err != nil {
		return nil, err
	}
	return askAll(ctx, o, players)
}

// replayAll replays dialogues at once and notes them in their order.
func replayAll(ctx context.Context, players []*player, r *measure.Report) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, p := range players {
		g.Go(func() error {
			if err := p.replay(ctx); err != nil {
				return fmt.Errorf("dialogue %s: %w", p.dialogue.Name, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, p := range players {
		d := p.dialogue
		r.Note("dialogue %s: %d sessions, %d questions, %d without evidence skipped; the user has %d facts",
			d.Name, len(d.Sessions), len(d.Questions), d.Skipped, p.learnt)
	}
	return nil
}

// askAll asks every question, so many at once as there are clients.
func askAll(ctx context.Context, o options, players []*player) ([]eval.Row, error) {
	n := 0
	for _, p := range players {
		n += len(p.dialogue.Questions)
	}
	rows := make([]eval.Row, n)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(o.clients)
	at := 0
	for _, p := range players {
		for _, q := range p.dialogue.Questions {
			row := &rows[at]
			at++
			g.Go(func() (err error) {
				if *row, err = p.ask(ctx, q); err != nil {
					return fmt.Errorf("question %s: %w", q.ID, err)
				}
				return nil
			})
		}
	}
	return rows, g.Wait()
}

// player replays one dialogue.
type player struct {
	options
	conn     *grpc.ClientConn
	memory   memoryv1.MemoryServiceClient
	dialogue eval.Dialogue
	index    eval.Index
	learnt   int // facts
}

func (p *player) user() string { return p.benchmark + "-" + p.dialogue.Name }

// replay records the dialogue and waits for what is learnt from it.
func (p *player) replay(ctx context.Context) error {
	if err := p.settleIn(ctx); err != nil {
		return err
	}
	if err := p.record(ctx); err != nil {
		return err
	}
	return p.learn(ctx)
}

// settleIn gives the user the dialogue's timezone, which "yesterday" counts by. Its language is left for the server to find.
func (p *player) settleIn(ctx context.Context) error {
	if p.dialogue.Timezone == "" {
		return nil
	}
	_, err := memoryv1.NewUserServiceClient(p.conn).UpdateUser(ctx, &memoryv1.UpdateUserRequest{
		User: &memoryv1.User{UserId: p.user(), Timezone: p.dialogue.Timezone},
	})
	if err != nil {
		return fmt.Errorf("set the user's timezone: %w", err)
	}
	return nil
}

func (p *player) record(ctx context.Context) error {
	for _, s := range p.dialogue.Sessions {
		for turns := range batches(s.Turns) {
			if _, err := p.memory.Record(ctx, p.turn(s, turns)); err != nil {
				return fmt.Errorf("record %s: %w", s.ID, err)
			}
		}
	}
	return nil
}

func (p *player) turn(s eval.Session, turns []eval.Turn) *memoryv1.RecordRequest {
	req := &memoryv1.RecordRequest{UserId: p.user(), SessionId: s.ID}
	if p.facts == factsNone {
		req.Extract = memoryv1.ExtractMode_EXTRACT_MODE_NONE
	}
	for _, t := range turns {
		m := &memoryv1.Message{Id: t.ID, Role: memoryv1.Role_ROLE_USER, Name: t.Name, Text: t.Text}
		if t.Role == memory.RoleAssistant {
			m.Role = memoryv1.Role_ROLE_ASSISTANT
		}
		at := t.At
		if at.IsZero() {
			at = s.Begin
		}
		if !at.IsZero() {
			m.CreateTime = timestamppb.New(at)
		}
		req.Messages = append(req.Messages, m)
	}
	return req
}

// batches cuts turns so that each piece fits into a Record call.
func batches(turns []eval.Turn) func(yield func([]eval.Turn) bool) {
	return func(yield func([]eval.Turn) bool) {
		begin, size := 0, 0
		for i, t := range turns {
			if i > begin && (size+len(t.Text) > maxRecord || i-begin == maxPerRecord) {
				if !yield(turns[begin:i]) {
					return
				}
				begin, size = i, 0
			}
			size += len(t.Text)
		}
		if begin < len(turns) {
			yield(turns[begin:])
		}
	}
}

// learn waits until all is indexed, learnt and summarised, and counts the facts.
func (p *player) learn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, learnWithin)
	defer cancel()
	g, inner := errgroup.WithContext(ctx)
	g.SetLimit(p.clients)
	for _, s := range p.dialogue.Sessions {
		g.Go(func() error { return p.learnSession(inner, s.ID) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return p.countFacts(ctx)
}

func (p *player) learnSession(ctx context.Context, session string) error {
	work := memoryv1.NewWorkServiceClient(p.conn)
	err := measure.Until(ctx, "wait for what is learnt from "+session, func(ctx context.Context) (bool, error) {
		r, err := work.WaitForWatermark(ctx, &memoryv1.WaitForWatermarkRequest{UserId: p.user(), SessionId: session})
		if r.GetParkedJobId() != "" {
			return false, fmt.Errorf("job %s is parked", r.GetParkedJobId())
		}
		return r.GetReached(), err
	})
	if err != nil {
		return err
	}
	summaries := memoryv1.NewSummaryServiceClient(p.conn)
	return measure.Until(ctx, "wait for the summary of "+session, func(ctx context.Context) (bool, error) {
		r, err := summaries.Summarize(ctx, &memoryv1.SummarizeRequest{UserId: p.user(), SessionId: session})
		return r.GetComplete(), err
	})
}

func (p *player) countFacts(ctx context.Context) error {
	facts := memoryv1.NewFactServiceClient(p.conn)
	for token := ""; ; {
		r, err := facts.ListFacts(ctx, &memoryv1.ListFactsRequest{UserId: p.user(), PageSize: 500, PageToken: token})
		if err != nil {
			return fmt.Errorf("list facts: %w", err)
		}
		p.learnt += len(r.GetFacts())
		if token = r.GetNextPageToken(); token == "" {
			return nil
		}
	}
}

// ask puts one question to SearchMessages and, as a new session, to BuildContext.
func (p *player) ask(ctx context.Context, q eval.Question) (eval.Row, error) {
	row := eval.Row{
		Question: q.ID, Dialogue: p.dialogue.Name, Type: q.Type, Apart: q.Apart, Evidence: len(q.Evidence), Scores: eval.Scores{},
	}
	r, err := p.memory.SearchMessages(ctx, p.search(q))
	if err != nil {
		return row, fmt.Errorf("search: %w", err)
	}
	var ids []string
	for _, h := range r.GetHits() {
		ids = append(ids, h.GetMessage().GetId())
	}
	row.Scores.Ranked(q, p.index, ids)
	row.Degraded = degraded(row.Degraded, r.GetDegraded())
	for _, budget := range eval.Budgets() {
		if err := p.render(ctx, &row, q, budget); err != nil {
			return row, fmt.Errorf("build a context of %d tokens: %w", budget, err)
		}
	}
	return row, nil
}

// degraded adds tiers, each once, in order.
func degraded(tiers []string, more []*memoryv1.Degradation) []string {
	for _, d := range more {
		tiers = append(tiers, d.GetTier())
	}
	slices.Sort(tiers)
	return slices.Compact(tiers)
}

func factSections() []memoryv1.SectionKind {
	return []memoryv1.SectionKind{memoryv1.SectionKind_SECTION_KIND_FACTS, memoryv1.SectionKind_SECTION_KIND_SESSION_FACTS}
}

func summarySections() []memoryv1.SectionKind {
	return []memoryv1.SectionKind{
		memoryv1.SectionKind_SECTION_KIND_PERIODS, memoryv1.SectionKind_SECTION_KIND_PREVIOUS_SESSIONS, memoryv1.SectionKind_SECTION_KIND_SUMMARY,
	}
}

// render builds the context of a budget, and those with fewer sections where the options ask for them.
func (p *player) render(ctx context.Context, row *eval.Row, q eval.Question, budget int64) error {
	turns, known, err := p.context(ctx, row, q, budget, nil)
	if err != nil {
		return err
	}
	row.Scores.Rendered(q, p.index, eval.Evidence, budget, turns)
	row.Scores.Rendered(q, p.index, eval.Known, budget, known)
	if !p.sections {
		return nil
	}
	if turns, _, err = p.context(ctx, row, q, budget, factSections()); err != nil {
		return err
	}
	row.Scores.Rendered(q, p.index, eval.NoFacts, budget, turns)
	if turns, _, err = p.context(ctx, row, q, budget, slices.Concat(factSections(), summarySections())); err != nil {
		return err
	}
	row.Scores.Rendered(q, p.index, eval.Turns, budget, turns)
	return nil
}

// context lists the turns that a context shows, whole or as their best passage, and those together with the turns that its
// facts were learnt from.
func (p *player) context(
	ctx context.Context,
	row *eval.Row,
	q eval.Question,
	budget int64,
	off []memoryv1.SectionKind,
) (turns, known []string, err error) {
	r, err := p.memory.BuildContext(ctx, p.build(q, budget, off))
	if err != nil {
		return nil, nil, err
	}
	if used := r.GetUsage().GetTokens(); used > budget {
		return nil, nil, fmt.Errorf("the context takes %d tokens of %d", used, budget)
	}
	row.Degraded = degraded(row.Degraded, r.GetDegraded())
	for _, s := range r.GetSections() {
		for _, item := range s.GetItems() {
			turns = append(turns, item.GetMessageId())
			for _, e := range item.GetFact().GetEvidence() {
				known = append(known, e.GetMessageId())
			}
		}
	}
	return turns, append(known, turns...), nil
}

func (p *player) search(q eval.Question) *memoryv1.SearchMessagesRequest {
	req := &memoryv1.SearchMessagesRequest{UserId: p.user(), Query: q.Text, PageSize: hits}
	if !q.AsOf.IsZero() {
		req.AsOf = timestamppb.New(q.AsOf)
	}
	return req
}

// build asks for a context in a new session, at the time of the question.
func (p *player) build(q eval.Question, budget int64, off []memoryv1.SectionKind) *memoryv1.BuildContextRequest {
	overrides := &memoryv1.ContextOverrides{BudgetTokens: &budget, Counter: memoryv1.TokenCounter_TOKEN_COUNTER_CHARS_4}
	for _, s := range off {
		overrides.Sections = append(overrides.Sections, &memoryv1.SectionSwitch{Section: s})
	}
	req := &memoryv1.BuildContextRequest{UserId: p.user(), SessionId: "question", Query: q.Text, Overrides: overrides}
	asked := q.AsOf
	if asked.IsZero() {
		asked = p.dialogue.Asked
	}
	if !asked.IsZero() {
		req.AsOf = timestamppb.New(asked)
	}
	return req
}
