package history

import (
	"cmp"
	"context"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/language/secretscan"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
)

// CompactParams is a history and what to do with it, checked.
type CompactParams struct {
	Messages  []memory.Message
	Tokens    []int64            // of each message's content by the counter, nil to have them counted
	Policy    *compaction.Policy // nil for the profile's
	Profile   string             // "" for the default
	Model     string             // gives window and counter; "" for none
	Window    int64              // tokens, in place of the model's; 0 for that
	Counter   string             // where no model is given; "" for the profile's
	StepLimit int                // 0 for the profile's
}

// Compacted is what became of a history.
type Compacted struct {
	compaction.Result
	Usage            memory.ModelUsage
	Degraded         []memory.Degradation
	StepsSinceUser   int
	StepLimitReached bool
}

// Compact applies a context policy to a history. Nothing is stored. A model that fails does not fail the call: the
// policy's fallback is taken, and the result says so. Where the tenant's budget is used up it does, with LIMIT_EXCEEDED.
func (s *Histories) Compact(ctx context.Context, p CompactParams) (Compacted, error) {
	resolved, err := s.profiles.Resolve(compactCall(p))
	if err != nil {
		return Compacted{}, err
	}
	counter := resolved.TokenCounter
	plan, err := compaction.Decide(ctx, compaction.History{
		Messages: counted(
			resolved.MaskSecrets.Noted(p.Messages),
			p.Tokens,
			counter,
		),
		Counter: counter,
		Window:  cmp.Or(p.Window, resolved.Window),
	}, resolved.History)
	if err != nil {
		return Compacted{}, err
	}
	asked := s.models.Call()
	out := Compacted{StepsSinceUser: memory.StepsSinceUser(0, p.Messages)}
	out.StepLimitReached = out.StepsSinceUser >= resolved.StepLimit
	if out.Result, err = asked.Run(ctx, plan); err != nil {
		return Compacted{}, err
	}
	if asked.Over != nil {
		return Compacted{}, asked.Over
	}
	out.Messages = secretscan.AsSent(out.Messages)
	out.Usage, out.Degraded = asked.Usage, append(fallbacks(out.Effects), resolved.Degradations()...)
	recall.CountDegraded(s.meter, out.Degraded)
	s.meter.HistoryShrunk(compaction.CallCompact, out.Result)
	return out, nil
}

func compactCall(p CompactParams) contextprofile.Call {
	c := countedFor(p.Profile, p.Model, p.Counter)
	if p.Policy != nil {
		c.Overrides = c.Overrides.With(contextprofile.History, *p.Policy)
	}
	if p.StepLimit > 0 {
		c.Overrides = c.Overrides.With(contextprofile.StepLimit, p.StepLimit)
	}
	return c
}

// counted are messages with the counts that were given, as if they were stored. Counters whose counts are not stored
// are quick, so that what is given for them is not needed.
func counted(messages []memory.Message, given []int64, c tokens.Counter) []memory.Message {
	if given == nil || c.Name() != tokens.O200K && c.Name() != tokens.CL100K {
		return messages
	}
	out := make([]memory.Message, len(messages))
	for i, m := range messages {
		if c.Name() == tokens.O200K {
			m.Tokens = memory.TokenCounts{O200K: given[i]}
		} else {
			m.Tokens = memory.TokenCounts{CL100K: given[i]}
		}
		out[i] = m
	}
	return out
}

// foundNothing is the fallback of an effect whose strategy had nothing to show.
const foundNothing = "nothing_found"

// fallbacks says where a fallback was used in place of what was wanted. That nothing was found is no lack.
func fallbacks(effects []compaction.Effect) []memory.Degradation {
	var out []memory.Degradation
	for _, e := range effects {
		if e.Fallback != "" && e.Fallback != foundNothing {
			out = append(
				out,
				memory.Degradation{Tier: memory.TierSummariser, Reason: "the model's summary was not to be had (" + e.Fallback + "): the policy's fallback was taken"},
			)
		}
	}
	return out
}
