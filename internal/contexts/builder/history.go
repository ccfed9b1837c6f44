package builder

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/contexts/assembly"
	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/compactmodel"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/learning/summaries"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/messagereader"
)

// history is what a context may have of its session's messages, before its context policy is applied to them.
type history struct {
	running *assembly.Summary
	tail    []memory.Message // after what running stands for, oldest first
	head    []memory.Message // what the session begins with, before the tail; only where a context policy keeps it
	promise promise
	edits   summary.Marks // what persons made of the user's messages and summaries
}

// history reads the session's summary and the messages after those that it covers, as its context policy promises.
func (s *ContextBuilder) history(
	ctx context.Context, p ContextParams, of subject, r contextprofile.Resolved, marks func() (summary.Marks, error),
) (history, error) {
	switch {
	case of.session.LastSeq == 0:
		return history{}, nil
	case r.History.Compresses():
		return s.promisedHistory(ctx, p, of, r, marks)
	}
	running, edits, err := s.keptSummary(ctx, of.session, r, marks)
	if err != nil {
		return history{}, err
	}
	return s.behind(ctx, of.session, r, history{running: running, edits: edits})
}

// keptSummary reads the session's summary of all but its latest messages, nil for none, beside the marks.
func (s *ContextBuilder) keptSummary(
	ctx context.Context, session memory.Session, r contextprofile.Resolved, marks func() (summary.Marks, error),
) (running *assembly.Summary, edits summary.Marks, err error) {
	var nodes []memory.SummaryNode
	both, part := safegroup.WithContext(ctx)
	if r.Summaries.Running {
		both.Go(func() (err error) {
			nodes, err = s.topNodes(part, session, keptRaw(r))
			return err
		})
	}
	err = both.WaitWith(func() (err error) {
		edits, err = marks()
		return err
	})
	if err != nil {
		return nil, edits, err
	}
	running, err = s.runningOf(ctx, session, nodes, edits)
	return running, edits, err
}

// behind returns the history with the messages after its summary, and those before them that the context policy keeps.
func (s *ContextBuilder) behind(
	ctx context.Context, session memory.Session, r contextprofile.Resolved, h history,
) (_ history, err error) {
	if h.tail, err = s.tail(ctx, session, h.running, r); err != nil {
		return h, err
	}
	h.head, err = s.head(ctx, session, h.tail, r)
	return h, err
}

// promise is what a context policy comes to for a session as a whole, whatever of it is summarised already.
type promise struct {
	raw        bool // its strategy is not due: no summary need stand in the context
	compresses bool // it is due
	clears     bool // so is clearing
	// plan is what the policy decided of the session as a whole, where it holds for the context too: before the strategy is due.
	// After that the context has a summary in place of messages, and the policy is applied to other messages.
	plan *compaction.Plan
}

// promisedHistory reads what a policy with a strategy makes of the session as a whole, as Compact would: before the strategy is
// due all messages and no summary, then the summary of just what the strategy takes, as far as there is one, and the messages
// after it.
func (s *ContextBuilder) promisedHistory(
	ctx context.Context, p ContextParams, of subject, r contextprofile.Resolved, marks func() (summary.Marks, error),
) (h history, err error) {
	if h.edits, err = marks(); err != nil {
		return h, err
	}
	if h.tail, err = s.tail(ctx, of.session, nil, r); err != nil {
		return h, err
	}
	through := int64(0)
	if h.promise, through, err = promised(ctx, p, of, r, h.tail); err != nil {
		return h, err
	}
	if h.promise.compresses && r.Summaries.Running {
		nodes, err := s.topNodes(ctx, of.session, int(of.session.LastSeq-through))
		if err != nil {
			return h, err
		}
		if h.running, err = s.runningOf(ctx, of.session, nodes, h.edits); err != nil {
			return h, err
		}
	}
	if h.running != nil {
		h.tail = slices.DeleteFunc(h.tail, func(m memory.Message) bool { return m.Seq <= h.running.To })
	}
	h.head, err = s.head(ctx, of.session, h.tail, r)
	return h, err
}

// promised finds out whether the policy's strategy is due for the session, whose messages are the tail, and returns the last
// message that it takes. Of a session that is longer than what is read, it is.
func promised(
	ctx context.Context, p ContextParams, of subject, r contextprofile.Resolved, tail []memory.Message,
) (out promise, through int64, err error) {
	if err := validOverride(p, r); err != nil {
		return out, 0, err
	}
	policy := withoutModel(r.History)
	policy.Trim = compaction.Trim{} // comes after the strategy; see promise.planFor
	if len(tail) > 0 && tail[0].Seq > beforeStart(of.session)+1 {
		policy.Compress.Triggers = nil
	}
	recorded := visible(tail)
	plan, err := compaction.Decide(ctx, compaction.History{
		Messages: withPending(recorded, p.Pending), Counter: r.TokenCounter, Window: r.Window, Location: of.user.Location(),
	}, policy)
	if err != nil {
		return out, 0, err
	}
	trial, err := plan.Trial(ctx)
	if err != nil {
		return out, 0, err
	}
	for _, e := range trial.Effects {
		out.clears = out.clears || e.Stage == compaction.StageClear && e.Triggered
		out.compresses = out.compresses || e.Stage == compaction.StageCompress && e.Triggered
	}
	for _, o := range trial.Omitted {
		if o.Stage == compaction.StageCompress && o.Index < len(recorded) {
			through = max(through, recorded[o.Index].Seq)
		}
	}
	if out.raw = !out.compresses; out.raw {
		out.plan = plan
	}
	return out, through, nil
}

// withPending returns recorded messages and then the pending ones, which stand as they are: what they answer must stay.
func withPending(recorded, pending []memory.Message) []memory.Message {
	all := slices.Clip(recorded)
	for _, m := range pending {
		m.Pinned = true
		all = append(all, m)
	}
	return all
}

// visible are the messages that are not hidden.
func visible(all []memory.Message) []memory.Message {
	return slices.DeleteFunc(slices.Clone(all), func(m memory.Message) bool { return m.Hidden })
}

// validOverride refuses a call's own policy that cannot be applied, by the API's name of what is wrong with it.
func validOverride(p ContextParams, r contextprofile.Resolved) error {
	if !p.Policy.Overrides.Has(contextprofile.History) {
		return nil
	}
	return r.History.CheckWindow("overrides.policy", r.Window)
}

// headMessages is how many of a session's first messages are looked at for its head.
const headMessages = 10

// head reads what a context policy keeps of the messages before the tail: those that the session begins with, and those that
// are pinned or tagged, however far back.
func (s *ContextBuilder) head(
	ctx context.Context, session memory.Session, tail []memory.Message, r contextprofile.Resolved,
) ([]memory.Message, error) {
	first := firstSeq(session, tail).Seq
	from := beforeStart(session)
	if !r.History.IsSet() || first <= from+1 {
		return nil, nil
	}
	q := store.MessageQuery{Ref: session.Ref, After: from, Before: first, Limit: headMessages, MaxBytes: messagereader.MaxTailBytes}
	begun, err := s.reads.Messages(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read first messages: %w", err)
	}
	head := headOf(begun, r.History.Head)
	kept, err := s.kept(ctx, q, r)
	if err != nil {
		return nil, err
	}
	for _, m := range kept {
		if !slices.ContainsFunc(head, func(h memory.Message) bool { return h.Seq == m.Seq }) {
			head = append(head, m)
		}
	}
	slices.SortFunc(head, func(a, b memory.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return head, nil
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

// topNodes reads the summaries of all but a session's latest messages at least.
func (s *ContextBuilder) topNodes(ctx context.Context, session memory.Session, latest int) ([]memory.SummaryNode, error) {
	nodes, err := s.store.TopNodes(ctx, session.Ref, session.LastSeq-int64(latest))
	if err != nil {
		return nil, fmt.Errorf("read summaries: %w", err)
	}
	return nodes, nil
}

// runningOf is what a session's summaries say together, without what was made of hidden messages, nil for none.
func (s *ContextBuilder) runningOf(
	ctx context.Context,
	session memory.Session,
	nodes []memory.SummaryNode,
	marks summary.Marks,
) (*assembly.Summary, error) {
	out, ok, err := s.summaries.Running(ctx, session.Ref.UserRef, store.SessionSummary{
		SessionID: session.Ref.SessionID, Title: session.Title, LastSeq: session.LastSeq, Nodes: nodes,
	}, marks)
	if !ok || err != nil {
		return nil, err
	}
	return runningItem(out), nil
}

// keptRaw is how many of the latest messages stand raw whatever summaries cover.
func keptRaw(r contextprofile.Resolved) int { return max(r.RecentN, r.Summaries.KeepMessages) }

// runningItem is what assembly is given of a session's running summary.
func runningItem(in summaries.Summary) *assembly.Summary {
	out := summaryItem(in.Nodes)
	out.SessionID, out.Name, out.To, out.Start = in.SessionID, in.Name, in.Through, in.Start
	return withHoles(out, summary.Holes(in.Nodes))
}

// withHoles is a summary of the messages up to its last but for the holes.
func withHoles(s assembly.Summary, holes []memory.SeqRange) *assembly.Summary {
	s.From, s.Holes = 1, holes
	if len(holes) > 0 && holes[0].From == 1 {
		s.From = holes[0].To + 1
	}
	return &s
}

// summaryItem is what assembly is given of nodes that cover something together, oldest first.
func summaryItem(nodes []memory.SummaryNode) assembly.Summary {
	out := assembly.Summary{Text: summaries.Joined(nodes), Start: nodes[0].FromTime, End: nodes[len(nodes)-1].ToTime, Model: models(nodes)}
	for _, n := range nodes {
		out.Nodes = append(out.Nodes, n.ID)
		out.Tokens.O200K += n.Tokens.O200K
		out.Tokens.CL100K += n.Tokens.CL100K
	}
	return out
}

// models names what wrote the nodes, each once, in their order.
func models(nodes []memory.SummaryNode) string {
	var names []string
	for _, n := range nodes {
		if !slices.Contains(names, n.Model) {
			names = append(names, n.Model)
		}
	}
	return strings.Join(names, ", ")
}

// beforeStart is the last message before those that the session's contexts may have; 0 when they may have all.
func beforeStart(session memory.Session) int64 { return max(session.ContextStart-1, 0) }

// tail reads as many of the latest messages as could fit the budget, oldest first, none that the summary covers, and
// none from before where the session's contexts start. It is read even where the section is off: pending tool results
// need their calls.
func (s *ContextBuilder) tail(
	ctx context.Context,
	session memory.Session,
	running *assembly.Summary,
	r contextprofile.Resolved,
) ([]memory.Message, error) {
	q := store.MessageQuery{
		Ref: session.Ref, After: beforeStart(session), Before: session.LastSeq + 1, Limit: maxTail,
		MaxTokens: max(r.Available*slack(r.Counter), 1), MinMessages: r.RecentN,
	}
	if running != nil {
		q.After = max(q.After, running.To)
	}
	if r.History.IsSet() {
		q.MaxTokens = max(q.MaxTokens, min(q.MaxTokens*policyReach, policyTokens))
		mostTokens, mostMessages := trimReach(r)
		q.MaxTokens, q.Limit = min(q.MaxTokens, mostTokens), min(q.Limit, mostMessages)
	}
	return s.before(ctx, q)
}

// before reads messages backwards and returns them oldest first.
func (s *ContextBuilder) before(ctx context.Context, q store.MessageQuery) ([]memory.Message, error) {
	q.NewestFirst, q.MaxBytes = true, messagereader.MaxTailBytes
	messages, err := s.reads.Messages(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read latest messages: %w", err)
	}
	slices.Reverse(messages)
	return messages, nil
}

// maxTail is the most messages of a tail that one call holds in memory, far above what a reply can show.
const maxTail = 100_000

// firstSeq is where the session's tail begins: behind its last message where there is none.
func firstSeq(session memory.Session, tail []memory.Message) memory.Place {
	if len(tail) > 0 {
		return memory.Place{Session: session.Key, Seq: tail[0].Seq}
	}
	return memory.Place{Session: session.Key, Seq: session.LastSeq + 1}
}

// policyReach is how many times further back the tail is read where a context policy is applied: what it clears or
// summarises takes little of the budget.
const policyReach = 20

// policyTokens bounds what is read of a session for a context policy, beyond what fits the budget: the built-in summariser
// works through all of it within the call (BenchmarkCompact).
const policyTokens = 250_000

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

// slack is how many o200k tokens of stored counts may come to one token of the counter: four characters are one
// token of chars_4, and may be four of o200k in scripts without blanks. The other counters count about as much, or more.
func slack(counter string) int64 {
	if counter == tokens.Chars4 {
		return 4
	}
	return 1
}

// originalsPage is how many messages are read at once for their originals.
const originalsPage = 1000

// addOriginals reads what the provider gave of the messages that a rendering for Responses passes on as they came, the latest
// first, up to messagereader.MaxTailBytes. Earlier ones lack theirs then, and are left out of the rendering.
func (s *ContextBuilder) addOriginals(ctx context.Context, p ContextParams, h *history) error {
	if p.Render != assembly.RenderResponses {
		return nil
	}
	wanted := passedOn(h)
	if len(wanted) == 0 {
		return nil
	}
	h.promise.plan = nil // it was decided without originals
	seqs := slices.Sorted(maps.Keys(wanted))
	first, before := seqs[0], seqs[len(seqs)-1]+1
	for room := int64(messagereader.MaxTailBytes); before > first && room > 0; {
		page, err := s.reads.Messages(ctx, store.MessageQuery{
			Ref: p.Ref, After: first - 1, Before: before, NewestFirst: true, Limit: originalsPage, MaxBytes: room, WithOriginal: true,
		})
		if err != nil {
			return fmt.Errorf("read originals: %w", err)
		}
		if len(page) == 0 {
			return nil // they were erased since
		}
		for _, read := range page {
			before = read.Seq
			if read.Original == nil {
				continue
			}
			room -= int64(len(read.Original.Data))
			if m := wanted[read.Seq]; m != nil {
				m.Original = read.Original
			}
		}
	}
	return nil
}

// passedOn are the messages that nothing but their originals can render, by seq.
func passedOn(h *history) map[int64]*memory.Message {
	out := map[int64]*memory.Message{}
	for _, part := range [][]memory.Message{h.head, h.tail} {
		for i := range part {
			if m := &part[i]; !m.Hidden && assembly.OnlyProviderReads(m) {
				out[m.Seq] = m
			}
		}
	}
	return out
}

// shrunk is what a context policy makes of a session's messages.
type shrunk struct {
	compaction.Result
	running *assembly.Summary
	kept    []memory.Message // what stays of the messages before the tail
	tail    []memory.Message // contiguous, to the end of the session
	dropped []memory.SeqRange
	unread  []memory.SeqRange // before the tail, since the policy keeps no more
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
		out.unread = unread(g, r)
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
