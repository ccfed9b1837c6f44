package main

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/measure"
)

const (
	depth        = 20   // the most hits looked at
	maxPerRecord = 1000 // the limit of a Record call
)

// budgets are in tokens of four characters.
var budgets = [3]int64{1000, 2000, 4000}

// replay records a dialogue as one user: both speakers are people.
func replay(ctx context.Context, c memoryv1.MemoryServiceClient, d dialogue) error {
	for _, s := range d.sessions {
		req := &memoryv1.RecordRequest{UserId: userID(d), SessionId: s.id}
		for _, t := range s.turns {
			req.Messages = append(req.Messages, &memoryv1.Message{
				Id: t.ID, Role: memoryv1.Role_ROLE_USER, Name: t.Speaker, Text: t.text(), CreateTime: timestamppb.New(s.begin),
			})
		}
		if len(req.GetMessages()) > maxPerRecord {
			return fmt.Errorf("%s has %d turns, more than one Record call takes", s.id, len(req.GetMessages()))
		}
		if _, err := c.Record(ctx, req); err != nil {
			return fmt.Errorf("record %s of %s: %w", s.id, d.name, err)
		}
	}
	return nil
}

func userID(d dialogue) string { return "locomo-" + d.name }

// learn waits until a session is indexed and extracted, and has it summarised.
func learn(ctx context.Context, conn *grpc.ClientConn, user, session string) error {
	work := memoryv1.NewWorkServiceClient(conn)
	err := measure.Until(ctx, "wait for what is learnt from "+session, func(ctx context.Context) (bool, error) {
		r, err := work.WaitForWatermark(ctx, &memoryv1.WaitForWatermarkRequest{UserId: user, SessionId: session})
		if r.GetParkedJobId() != "" {
			return false, fmt.Errorf("job %s is parked", r.GetParkedJobId())
		}
		return r.GetReached(), err
	})
	if err != nil {
		return err
	}
	return measure.Until(ctx, "wait for the summary of "+session, func(ctx context.Context) (bool, error) {
		r, err := memoryv1.NewSummaryServiceClient(conn).Summarize(ctx, &memoryv1.SummarizeRequest{UserId: user, SessionId: session})
		return r.GetComplete(), err
	})
}

func countFacts(ctx context.Context, c memoryv1.FactServiceClient, user string) (int, error) {
	n := 0
	for token := ""; ; {
		r, err := c.ListFacts(ctx, &memoryv1.ListFactsRequest{UserId: user, PageSize: 500, PageToken: token})
		if err != nil {
			return 0, fmt.Errorf("list facts: %w", err)
		}
		n += len(r.GetFacts())
		if token = r.GetNextPageToken(); token == "" {
			return n, nil
		}
	}
}

// observed is how many observations the dialogue's file holds.
func (d dialogue) observed() int {
	n := 0
	for _, s := range d.sessions {
		n += len(s.observations)
	}
	return n
}

// answer is what the server found for one question, as shares of its evidence.
type answer struct {
	Dialogue string     `json:"dialogue"`
	Category int        `json:"category"`
	Recall5  float64    `json:"recall_5"`
	Recall10 float64    `json:"recall_10"`
	Recall20 float64    `json:"recall_20"`
	Rendered [3]float64 `json:"turns_1k_2k_4k"`     // sections of turns alone
	FactsOff [3]float64 `json:"facts_off_1k_2k_4k"` // every section but facts
	FactsOn  [3]float64 `json:"facts_on_1k_2k_4k"`  // every section
	Known    [3]float64 `json:"known_1k_2k_4k"`     // the same, a turn counting too when a fact learnt from it stands there
}

// ask puts one question to SearchMessages and, as a new session, to BuildContext.
func ask(ctx context.Context, c memoryv1.MemoryServiceClient, d dialogue, q question) (answer, error) {
	a := answer{Dialogue: d.name, Category: q.category}
	r, err := c.SearchMessages(ctx, &memoryv1.SearchMessagesRequest{UserId: userID(d), Query: q.text, PageSize: depth})
	if err != nil {
		return a, fmt.Errorf("search: %w", err)
	}
	var ids []string
	for _, h := range r.GetHits() {
		ids = append(ids, h.GetMessage().GetId())
	}
	a.Recall5, a.Recall10, a.Recall20 = found(q, ids, 5), found(q, ids, 10), found(q, ids, 20)
	for i, budget := range budgets {
		if err := a.render(ctx, c, d, q, i, budget); err != nil {
			return a, fmt.Errorf("build context of %d tokens: %w", budget, err)
		}
	}
	return a, nil
}

// Sections that are switched off to see what they are worth.
var (
	factSections    = []memoryv1.SectionKind{memoryv1.SectionKind_SECTION_KIND_FACTS, memoryv1.SectionKind_SECTION_KIND_SESSION_FACTS}
	summarySections = []memoryv1.SectionKind{
		memoryv1.SectionKind_SECTION_KIND_PERIODS, memoryv1.SectionKind_SECTION_KIND_PREVIOUS_SESSIONS, memoryv1.SectionKind_SECTION_KIND_SUMMARY,
	}
)

// render builds the context of a budget with fewer and more sections.
func (a *answer) render(ctx context.Context, c memoryv1.MemoryServiceClient, d dialogue, q question, i int, budget int64) error {
	for _, v := range []struct {
		off   []memoryv1.SectionKind
		turns *float64
		known *float64
	}{{slices.Concat(factSections, summarySections), &a.Rendered[i], nil}, {factSections, &a.FactsOff[i], nil}, {nil, &a.FactsOn[i], &a.Known[i]}} {
		turns, known, err := rendered(ctx, c, d, q, budget, v.off)
		if err != nil {
			return err
		}
		*v.turns = found(q, turns, len(turns))
		if v.known != nil {
			*v.known = found(q, known, len(known))
		}
	}
	return nil
}

// rendered lists the turns that the context shows, whole or as their best passage, and those together with the turns
// that its facts were learnt from.
func rendered(ctx context.Context, c memoryv1.MemoryServiceClient, d dialogue, q question, budget int64, off []memoryv1.SectionKind) (turns, known []string, err error) {
	overrides := &memoryv1.ContextOverrides{BudgetTokens: &budget, Counter: memoryv1.TokenCounter_TOKEN_COUNTER_CHARS_4}
	for _, s := range off {
		overrides.Sections = append(overrides.Sections, &memoryv1.SectionSwitch{Section: s})
	}
	r, err := c.BuildContext(ctx, &memoryv1.BuildContextRequest{
		UserId: userID(d), SessionId: "question", Query: q.text, AsOf: timestamppb.New(d.end()), Overrides: overrides,
	})
	if err != nil {
		return nil, nil, err
	}
	if used := r.GetUsage().GetTokens(); used > budget {
		return nil, nil, fmt.Errorf("the context takes %d tokens of %d", used, budget)
	}
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

// found is the share of the evidence among the first k ids.
func found(q question, ids []string, k int) float64 {
	first := map[string]bool{}
	for _, id := range ids[:min(k, len(ids))] {
		first[id] = true
	}
	hits := 0
	for _, id := range q.evidence {
		if first[id] {
			hits++
		}
	}
	return float64(hits) / float64(len(q.evidence))
}
