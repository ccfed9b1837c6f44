package llm

import (
	"context"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
)

// Prompted summarises and extracts by prompting chat models, which may be two or one. It implements the Summarizer and
// the Extractor of package jobrunner, and the CompactModel of package service. The answers are not checked here.
type Prompted struct {
	Summaries  Chat
	Extraction Chat
}

// extractTokens is the most tokens of an extraction's answer: extract.MaxOps operations of a hundred tokens each.
const extractTokens = 2000

// summarySlack is how many times longer than asked for a summary may get before it is cut off. A cut answer is lost and
// paid for, and models do not count well.
const summarySlack = 2

// Summarize asks for a summary in prose.
func (p Prompted) Summarize(ctx context.Context, t summary.Task) (Answer, error) {
	system, user := summary.Prompt(t)
	return p.Summaries.Complete(ctx, Prompt{
		Operation: operation(t), System: system, User: user, MaxTokens: int(t.MaxTokens) * summarySlack,
		Temperature: t.Style.Temperature,
	})
}

// Extract asks for operations in the schema of package extract.
func (p Prompted) Extract(ctx context.Context, t extract.Task) (Answer, error) {
	system, user := extract.Prompt(t)
	return p.Extraction.Complete(ctx, Prompt{
		Operation: OpExtract, System: system, User: user, MaxTokens: extractTokens,
		Schema: &Schema{Name: extractSchema, JSON: extract.Schema()}, Temperature: t.Temperature,
	})
}

// Write asks for prose by a prompt of the caller's own.
func (p Prompted) Write(ctx context.Context, prompt string, maxTokens int64) (Answer, error) {
	return p.Summaries.Complete(ctx, Prompt{Operation: OpCompact, User: prompt, MaxTokens: int(maxTokens) * summarySlack})
}

// extractSchema is the name of the schema of extractions.
const extractSchema = "facts"

func operation(t summary.Task) Operation {
	switch {
	case t.Kind != memory.SummarySession:
		return OpPeriod
	case len(t.Parts) > 0:
		return OpMerge
	}
	return OpSummarize
}
