package main

import (
	"context"
	"fmt"

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

// waitIndexed waits until every session of the dialogue is in the index.
func waitIndexed(ctx context.Context, c memoryv1.MemoryServiceClient, d dialogue) error {
	for _, s := range d.sessions {
		err := measure.Until(ctx, "wait for the index of "+s.id, func(ctx context.Context) (bool, error) {
			r, err := c.BuildContext(ctx, &memoryv1.BuildContextRequest{UserId: userID(d), SessionId: s.id, Query: "index"})
			w := r.GetWatermarks()
			return w.GetIndexed() >= w.GetRecorded(), err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// answer is what the server found for one question, as shares of its evidence.
type answer struct {
	Dialogue string     `json:"dialogue"`
	Category int        `json:"category"`
	Recall5  float64    `json:"recall_5"`
	Recall10 float64    `json:"recall_10"`
	Recall20 float64    `json:"recall_20"`
	Rendered [3]float64 `json:"rendered_1k_2k_4k"`
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
		if ids, err = rendered(ctx, c, d, q, budget); err != nil {
			return a, fmt.Errorf("build context of %d tokens: %w", budget, err)
		}
		a.Rendered[i] = found(q, ids, len(ids))
	}
	return a, nil
}

// rendered lists the turns that the context shows, whole or as their best passage.
func rendered(ctx context.Context, c memoryv1.MemoryServiceClient, d dialogue, q question, budget int64) ([]string, error) {
	r, err := c.BuildContext(ctx, &memoryv1.BuildContextRequest{
		UserId: userID(d), SessionId: "question", Query: q.text, AsOf: timestamppb.New(d.end()),
		Overrides: &memoryv1.ContextOverrides{BudgetTokens: &budget, Counter: memoryv1.TokenCounter_TOKEN_COUNTER_CHARS_4},
	})
	if err != nil {
		return nil, err
	}
	if used := r.GetUsage().GetTokens(); used > budget {
		return nil, fmt.Errorf("the context takes %d tokens of %d", used, budget)
	}
	var ids []string
	for _, s := range r.GetSections() {
		for _, item := range s.GetItems() {
			ids = append(ids, item.GetMessageId())
		}
	}
	return ids, nil
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
