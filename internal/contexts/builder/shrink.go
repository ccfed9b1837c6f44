package builder

import (
	"context"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/contexts/assembly"
	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/compactmodel"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/memory"
)

// shrunk is what a context policy makes of a session's messages.
type shrunk struct {
	compaction.Result
	running *assembly.Summary
	kept    []memory.Message // what stays of the messages before the tail
	tail    []memory.Message // contiguous, to the end of the session
	dropped []memory.SeqRange
}

// shrink applies the context policy to what of the session no running summary covers. No model is asked: what the policy
// wants summarised and the background has not summarised yet, the built-in summariser does, so that equal contexts are
// equal and none waits.
func (s *ContextBuilder) shrink(ctx context.Context, p ContextParams, g gathered, r contextprofile.Resolved) (shrunk, error) {
	out := shrunk{running: g.running, tail: g.tail, kept: g.head}
	if !r.History.IsSet() || len(g.tail) == 0 {
		return out, nil
	}
	if err := validOverride(p, r); err != nil {
		return out, err
	}
	recorded := visible(slices.Concat(g.head, g.tail))
	plan, err := g.promise.planFor(ctx, compaction.History{
		Messages: withPending(recorded, p.Pending), Counter: r.TokenCounter, Window: r.Window, Location: g.location,
	}, r.History)
	if err != nil {
		return out, err
	}
	asked := s.models.Call()
	if out.Result, err = asked.Run(ctx, plan); err != nil {
		return out, err
	}
	s.meter.HistoryShrunk(compaction.CallContext, out.Result)
	if out.Changed {
		out.take(recorded, g)
		out.dropped = memory.Union(out.dropped, unread(g, r))
	}
	return out, nil
}

// planFor returns the plan of a policy for what stands in the context: the promise's own where that holds, with the trimming that
// it was decided without.
func (d promise) planFor(ctx context.Context, h compaction.History, policy compaction.Policy) (*compaction.Plan, error) {
	if d.plan != nil {
		return d.plan.WithTrim(policy.Trim)
	}
	return compaction.Decide(ctx, h, d.due(withoutModel(policy)))
}

// due is a policy of which what was found to be due for the whole session is done, whatever is left of it.
func (d promise) due(p compaction.Policy) compaction.Policy {
	if d.compresses {
		p.Compress.Triggers = nil
	}
	if d.clears {
		p.Clear.Triggers = nil
	}
	return p
}

// unread are the messages between those that a summary covers and the tail, where the tail is no longer because the policy
// keeps no more.
func unread(g gathered, r contextprofile.Resolved) []memory.SeqRange {
	mostTokens, mostMessages := trimReach(r)
	if mostTokens >= r.Available*slack(r.Counter) && len(g.tail) < mostMessages {
		return nil
	}
	from, to := beforeStart(g.session)+1, g.tail[0].Seq-1
	if g.running != nil {
		from = max(from, g.running.To+1)
	}
	if from > to {
		return nil
	}
	return []memory.SeqRange{{From: from, To: to}}
}

// withoutModel returns the policy changed so that it needs no chat model and drops nothing.
func withoutModel(p compaction.Policy) compaction.Policy {
	if !p.Compresses() {
		return p
	}
	c := &p.Compress
	c.Lossy, c.Fallback = false, compaction.FallbackExtract
	if c.Prompt != "" || c.Strategy == compaction.StrategyFacts {
		c.Prompt = ""
		if c.Strategy == compaction.StrategyFacts || c.Strategy.IsCustom() {
			c.Strategy = compaction.StrategyWhole
		}
	}
	c.Model, c.Prefix = compactmodel.BuiltinOnly, ""
	return p
}

// take turns what the policy made of the messages into what a context is assembled from: up to the last message that it
// took out, what stays is kept by itself; behind it the tail goes on without a gap.
func (out *shrunk) take(all []memory.Message, g gathered) {
	stays := make(map[int64]memory.Message, len(out.Messages))
	for i, m := range out.Messages {
		if at := out.Sources[i]; at >= 0 && at < len(all) {
			m.Seq = all[at].Seq
			stays[m.Seq] = m
		}
	}
	cut := int64(0) // the last message that is gone
	covered := map[int64]bool{}
	for _, o := range out.Omitted {
		if o.Stage == compaction.StageMend || o.Index >= len(all) {
			continue // assembly mends what it renders, and says so
		}
		seq := all[o.Index].Seq
		if _, altered := stays[seq]; altered {
			continue
		}
		cut = max(cut, seq)
		covered[seq] = o.Reason == compaction.ReasonSummarised || o.Reason == compaction.ReasonFacts
	}
	if g.running != nil {
		for _, m := range g.head {
			covered[m.Seq] = covered[m.Seq] || m.Seq <= g.running.To
		}
	}
	out.split(all, g, stays, cut)
	out.dropped = uncovered(all, stays, covered, cut)
	out.running = out.withWritten(g.running, cut)
}

// split parts the messages at the cut.
func (out *shrunk) split(all []memory.Message, g gathered, stays map[int64]memory.Message, cut int64) {
	first := cut + 1
	if len(g.tail) > 0 {
		first = max(first, g.tail[0].Seq)
	}
	out.kept, out.tail = nil, nil
	for _, m := range all {
		if now, ok := stays[m.Seq]; ok && m.Seq < first {
			out.kept = append(out.kept, now)
		}
	}
	for _, m := range g.tail {
		if m.Seq < first {
			continue
		}
		if now, ok := stays[m.Seq]; ok {
			m = now
		}
		out.tail = append(out.tail, m)
	}
}

// uncovered are the messages up to the cut that are gone and in no summary.
func uncovered(all []memory.Message, stays map[int64]memory.Message, covered map[int64]bool, cut int64) []memory.SeqRange {
	var out []memory.SeqRange
	for _, m := range all {
		if _, there := stays[m.Seq]; m.Seq <= cut && !there && !covered[m.Seq] {
			out = memory.WithSeq(out, m.Seq)
		}
	}
	return out
}

// withWritten is the running summary with what the policy wrote behind it.
func (out *shrunk) withWritten(running *assembly.Summary, cut int64) *assembly.Summary {
	if len(out.Written) == 0 {
		return running
	}
	sum := assembly.Summary{From: 1, Start: out.Messages[out.Written[0].Index].SaidTime()}
	var said, models []string
	if running != nil {
		sum, said, models = *running, []string{running.Text}, []string{running.Model}
	}
	for _, w := range out.Written {
		m := out.Messages[w.Index]
		said = append(said, strings.TrimPrefix(m.PlainText(), compaction.DefaultPrefix))
		sum.End = m.SaidTime()
		if !slices.Contains(models, w.Model) {
			models = append(models, w.Model)
		}
	}
	sum.Text, sum.Model = strings.Join(said, "\n"), strings.Join(models, ", ")
	sum.To, sum.Tokens = cut, memory.TokenCounts{}
	return &sum
}

// degradedConcepts is why a context has no sections of a profile's concepts.
const degradedConcepts = "the profile's history strategy is facts, which asks a model about each of its concepts, and BuildContext waits for no model: " +
	"the session's summary stands in place of the concepts' sections; call Compact with this profile and the session's messages to have them"

// withoutModelDegradation returns a degradation if the policy's strategy is due and would have a model write: the context has an
// ordinary summary in place of the model's text, since no context waits for a model.
func withoutModelDegradation(r contextprofile.Resolved, d promise) []memory.Degradation {
	if !d.compresses {
		return nil
	}
	switch c := r.History.Compress; {
	case c.Strategy == compaction.StrategyFacts:
		return []memory.Degradation{{Tier: memory.TierSummariser, Reason: degradedConcepts}}
	case c.Prompt != "":
		return []memory.Degradation{{
			Tier:   memory.TierSummariser,
			Reason: "the policy's own prompt asks a model, and no context waits for a model: the session's summary stands in its place; Compact uses the prompt",
		}}
	}
	return nil
}
