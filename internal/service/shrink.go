package service

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/assembly"
	"github.com/stratamem/strata/internal/compaction"
	"github.com/stratamem/strata/internal/contextprofile"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/messagereader"
	"github.com/stratamem/strata/internal/tokens"
)

// shrunk is what a context policy makes of a session's messages.
type shrunk struct {
	compaction.Result
	running *assembly.Summary
	kept    []memory.Message // what stays of the messages before the tail
	tail    []memory.Message // contiguous, to the end of the session
	dropped []memory.SeqRange
}

// policyReach is how many times further back the tail is read where a context policy is applied: what it clears or
// summarises takes little of the budget.
const policyReach = 20

// policyTokens bounds what is read of a session for a context policy, beyond what fits the budget: the built-in summariser
// works through all of it within the call (BenchmarkCompact).
const policyTokens = 250_000

// promise is what a context policy comes to for a session as a whole, whatever of it is summarised already.
type promise struct {
	raw        bool // its strategy is not due: no summary need stand in the context
	compresses bool // it is due
	clears     bool // so is clearing
}

// gatherPromised reads what a policy with a strategy makes of the session as a whole, as Compact would: before the strategy is
// due all messages and no summary, then the summary of just what the strategy takes, as far as there is one, and the messages
// after it.
func (s *ContextBuilder) gatherPromised(ctx context.Context, p ContextParams, r contextprofile.Resolved, g *gathered) (err error) {
	if g.tail, err = s.tail(ctx, g.session, nil, r); err != nil {
		return err
	}
	through, err := s.promised(ctx, p, r, g)
	if err != nil {
		return err
	}
	if g.promise.compresses && r.Summaries.Running {
		latest := int(g.session.LastSeq - through)
		if g.running, err = s.runningBefore(ctx, g.session, latest, g.edits); err != nil {
			return err
		}
	}
	if g.running != nil {
		g.tail = slices.DeleteFunc(g.tail, func(m memory.Message) bool { return m.Seq <= g.running.To })
	}
	return s.gatherHead(ctx, r, g)
}

// validOverride refuses a call's own policy that cannot be applied, by the API's name of what is wrong with it.
func validOverride(p ContextParams, r contextprofile.Resolved) error {
	if !p.Policy.Overrides.Has(contextprofile.History) {
		return nil
	}
	return r.History.CheckWindow("overrides.policy", r.Window)
}

// promised finds out whether the policy's strategy is due for the session, and returns the last message that it takes. Of a
// session that is longer than what is read, it is.
func (s *ContextBuilder) promised(ctx context.Context, p ContextParams, r contextprofile.Resolved, g *gathered) (through int64, err error) {
	if err := validOverride(p, r); err != nil {
		return 0, err
	}
	all := visible(g.tail)
	recorded := len(all)
	for _, m := range p.Pending {
		m.Pinned = true
		all = append(all, m)
	}
	trial := unasked(r.History)
	trial.Trim = compaction.Trim{}
	if len(g.tail) > 0 && g.tail[0].Seq > beforeStart(g.session)+1 {
		trial.Compress.Triggers = nil
	}
	if !trial.Compress.Strategy.IsCustom() {
		trial.Compress.Prompt = anySummary // what it is answered is of no interest
	}
	counter := tokens.Within(ctx, r.TokenCounter)
	plan, err := compaction.Decide(ctx, compaction.History{Messages: all, Counter: counter, Window: r.Window}, trial)
	if err != nil {
		return 0, err
	}
	out, err := plan.Run(ctx, func(compaction.Request) compaction.Answer { return compaction.Answer{Text: anySummary} })
	if err != nil {
		return 0, err
	}
	for _, e := range out.Effects {
		g.promise.clears = g.promise.clears || e.Stage == compaction.StageClear && e.Triggered
		g.promise.compresses = g.promise.compresses || e.Stage == compaction.StageCompress && e.Triggered
	}
	for _, o := range out.Omitted {
		if o.Stage == compaction.StageCompress && o.Index < recorded {
			through = max(through, all[o.Index].Seq)
		}
	}
	g.promise.raw = !g.promise.compresses
	return through, nil
}

// anySummary is put in place of a summary's words where only its place is of interest.
const anySummary = "…"

// leftOut reports whether some of the session's messages found no room in the budget.
func leftOut(r assembly.Result, session string) bool {
	return slices.ContainsFunc(r.Omitted, func(o assembly.Omission) bool { return o.SessionID == session && o.Reason == assembly.OmitBudget })
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

// trimReach is how much of the tail is read where the policy only clears and trims: a bound more than what it may keep, so
// that it sees that there is more.
func trimReach(r contextprofile.Resolved) (mostTokens int64, mostMessages int) {
	mostTokens, mostMessages = math.MaxInt64, maxTail
	t := r.History.Trim
	if !r.History.Trims() || r.History.Compresses() {
		return mostTokens, mostMessages
	}
	if limit := t.Limit(r.Window); limit > 0 {
		reach := int64(2)
		if r.History.Clear.Enabled { // what is cleared takes little of the limit
			reach = policyReach
		}
		mostTokens = limit * reach * slack(r.Counter)
	}
	if t.Messages > 0 {
		mostMessages = min(mostMessages, t.Messages+turnReach)
	}
	return mostTokens, mostMessages
}

// turnReach is how many messages before the last ones are looked through for where their turn begins.
const turnReach = 2000

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

// headMessages is how many of a session's first messages are looked at for its head.
const headMessages = 10

// gatherHead reads what a context policy keeps of the messages before the tail: those that the session begins with, and
// those that are pinned or tagged, however far back.
func (s *ContextBuilder) gatherHead(ctx context.Context, r contextprofile.Resolved, g *gathered) error {
	first := g.session.LastSeq + 1
	if len(g.tail) > 0 {
		first = g.tail[0].Seq
	}
	from := beforeStart(g.session)
	if !r.History.IsSet() || first <= from+1 {
		return nil
	}
	q := store.MessageQuery{Ref: g.session.Ref, After: from, Before: first, Limit: headMessages, MaxBytes: maxTailBytes}
	begun, err := s.reads.Messages(ctx, q)
	if err != nil {
		return fmt.Errorf("read first messages: %w", err)
	}
	g.head = headOf(begun, r.History.Head)
	kept, err := s.kept(ctx, q, r)
	if err != nil {
		return err
	}
	for _, m := range kept {
		if !slices.ContainsFunc(g.head, func(h memory.Message) bool { return h.Seq == m.Seq }) {
			g.head = append(g.head, m)
		}
	}
	slices.SortFunc(g.head, func(a, b memory.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return nil
}

// markedPage is how many marked messages are read at once, lightPages how many such pages a call may read before it has to be
// admitted as a heavy one. The last page is always empty.
const (
	markedPage = 500
	lightPages = 2
)

// kept reads those of a run that the context policy keeps whatever it does, the newest first, until they are more than a
// context can hold.
func (s *ContextBuilder) kept(ctx context.Context, q store.MessageQuery, r contextprofile.Resolved) (kept []memory.Message, err error) {
	q.Marked, q.NewestFirst, q.Limit, q.MaxBytes = true, true, markedPage, messagereader.LightBytes
	most := max(r.Available, r.Most) * slack(r.Counter)
	tokens := int64(0)
	for pages := 0; tokens <= most; pages++ {
		if pages == lightPages {
			if err := s.gate.Heavy(ctx, messagereader.HeavyCallBytes); err != nil {
				return nil, err
			}
		}
		page, err := s.store.Messages(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("read messages that are kept: %w", err)
		}
		if len(page) == 0 {
			return kept, nil
		}
		for _, m := range page {
			if !m.Hidden && r.History.Survives(m) {
				kept, tokens = append(kept, m), tokens+m.Tokens.O200K
			}
		}
		q.Before = page[len(page)-1].Seq
	}
	return kept, nil
}

// headOf are the system and developer messages at the beginning, and what else of it a policy keeps.
func headOf(messages []memory.Message, keeps compaction.Head) []memory.Message {
	var head []memory.Message
	leading := true
	for _, m := range messages {
		operator := m.Role == memory.RoleSystem || m.Role == memory.RoleDeveloper
		leading = leading && operator
		switch {
		case m.Hidden:
		case leading:
			head = append(head, m)
		case keeps == compaction.HeadSystem, keeps == compaction.HeadSystemOrFirst && len(head) > 0:
			return head
		case keeps == compaction.HeadSystemOrFirst, m.Role == memory.RoleUser && m.PlainText() != "":
			return append(head, m)
		}
	}
	return head
}

// shrink applies the context policy to what of the session no running summary covers. No model is asked: what the policy
// wants summarised and the background has not summarised yet, the built-in summariser does, so that equal contexts are
// equal and none waits.
func (s *ContextBuilder) shrink(ctx context.Context, p ContextParams, g gathered, r contextprofile.Resolved) (shrunk, error) {
	out := shrunk{running: g.running, tail: g.tail, kept: g.head}
	if !r.History.IsSet() || len(g.tail) == 0 {
		return out, nil
	}
	all := visible(slices.Concat(g.head, g.tail))
	recorded := len(all)
	for _, m := range p.Pending { // they stand as they are; what they answer must stay
		m.Pinned = true
		all = append(all, m)
	}
	if err := validOverride(p, r); err != nil {
		return out, err
	}
	plan, err := compaction.Decide(
		ctx,
		compaction.History{Messages: all, Counter: tokens.Within(ctx, r.TokenCounter), Window: r.Window, Location: g.location},
		g.promise.due(unasked(r.History)),
	)
	if err != nil {
		return out, err
	}
	asked := s.models.Call()
	if out.Result, err = asked.Run(ctx, plan); err != nil {
		return out, err
	}
	s.meter.HistoryShrunk(compaction.CallContext, out.Result)
	if out.Changed {
		out.take(all[:recorded], g)
		out.dropped = memory.Union(out.dropped, unread(g, r))
	}
	return out, nil
}

// visible are the messages that are not hidden.
func visible(all []memory.Message) []memory.Message {
	return slices.DeleteFunc(slices.Clone(all), func(m memory.Message) bool { return m.Hidden })
}

// unasked is a policy for which no model has to be asked, and which loses nothing.
func unasked(p compaction.Policy) compaction.Policy {
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
	c.Model, c.Prefix = builtinOnly, ""
	return p
}

// builtinOnly names a model that there is not, so that the built-in summariser is asked.
const builtinOnly = "builtin:extractive"

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
