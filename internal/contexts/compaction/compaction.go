package compaction

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// History is a conversation, or the part of one that a model would be given.
type History struct {
	Messages []memory.Message // oldest first
	// Tokens are those of each message as MessageTokens counts them; nil to have them counted, from the stored counts of
	// a message where it has them.
	Tokens  []int64
	Counter tokens.Counter
	Window  int64 // the tokens that the model reads; 0 when unknown
	// Location is the timezone in which the days of messages are meant; nil for UTC.
	Location *time.Location
}

// Stage names what a policy does.
type Stage string

// The stages, in the order in which they are done.
const (
	StageMend     Stage = "mend" // makes the list valid for providers, where another stage did something
	StageHide     Stage = "hide"
	StageClear    Stage = "clear"
	StageCompress Stage = "compress"
	StageTrim     Stage = "trim"
)

// Reason is why a message is not, or not as it was, in the result.
type Reason string

// The reasons.
const (
	ReasonHidden     Reason = "hidden"          // before the context's start, or excluded by id
	ReasonTied       Reason = "tied"            // tied to a hidden message by a tool call
	ReasonSummarised Reason = "summarised"      // a summary replaces it
	ReasonFacts      Reason = "facts"           // the facts that were found in it replace it
	ReasonRecalled   Reason = "recalled"        // a memory service had put it into the prompt, and can again
	ReasonDropped    Reason = "dropped"         // before what the strategy looks at, or by the fallback
	ReasonFiltered   Reason = "filtered"        // not selected by the filter of a custom strategy
	ReasonLossy      Reason = "lossy"           // left out of what the summariser was given
	ReasonMessages   Reason = "messages"        // over the limit of messages
	ReasonBudget     Reason = "budget"          // over the limit of tokens
	ReasonRepeated   Reason = "repeated"        // a system message that is in the list already
	ReasonOrphan     Reason = "orphan_result"   // it, or a result in it, belongs to no call of the list
	ReasonUnanswered Reason = "unanswered_call" // it, or a call in it with its reasoning, has no result and can get none
	ReasonEmpty      Reason = "empty"           // nothing in it can be part of a model's input
)

// Omission is a message of the history that is not, or not as a whole, in the result.
type Omission struct {
	Index  int    // in History.Messages
	ID     string // derived where the message had none
	Stage  Stage
	Reason Reason
}

// Cleared is a tool use whose result, or result and arguments, were replaced by a placeholder.
type Cleared struct {
	Index     int    // of the message with the result, in History.Messages
	MessageID string // of the same
	CallID    string
	Tool      string
	Tokens    int64 // that it gave free
	Input     bool  // the arguments too
}

// Written is a message that a policy wrote.
type Written struct {
	Index    int    // in Result.Messages
	ID       string // derived from its content
	Replaces []int  // the messages it replaces, in History.Messages
	Tokens   int64
	Model    string // the Model of its Answer
	Fallback bool   // whether the fallback wrote it
}

// Effect is what one stage did.
type Effect struct {
	Stage         Stage
	Triggered     bool // its triggers or limits were reached
	Before, After toolcalls.Size
	// Fallback is why the strategy's fallback was taken, "" when it was not: the Failure of an Answer, "nothing_found", or
	// a summary.RefusalReason.
	Fallback string
}

// Result is what a policy made of a history.
type Result struct {
	// Changed is false where no stage had anything to do; then Messages is nil, and what follows it is empty.
	Changed  bool
	Messages []memory.Message
	Sources  []int // the index of each message in History.Messages, -1 for one that was written
	Tokens   []int64
	Omitted  []Omission // by index, then stage
	Cleared  []Cleared
	Written  []Written
	// Effects are of every stage that is set, in order, whether or not it did anything.
	Effects       []Effect
	Before, After toolcalls.Size
	Window        int64
	Counter       string
}

// Share is the share of the window that so many tokens take; 0 without a known window.
func (r Result) Share(n int64) float64 {
	if r.Window <= 0 {
		return 0
	}
	return float64(n) / float64(r.Window)
}

// RequestKind is what a model is asked for.
type RequestKind string

// The kinds.
const (
	RequestSummary RequestKind = "summary"
	RequestFacts   RequestKind = "facts" // facts for one concept; what Prompt asks for
)

// Request is one call of a model.
type Request struct {
	Kind RequestKind
	// Task is what the service's own summariser is asked. Prompt, where it is not "", is to be asked instead, as it is.
	Task   summary.Task
	Prompt string
	Model  string // "" for the summariser's
	// Extract asks for the built-in summariser, which needs no model.
	Extract   bool
	MaxTokens int64 // of the answer
	Messages  []int // those that it is about, in History.Messages
}

// Answer is a model's reply.
type Answer struct {
	Text    string
	Cut     bool   // it ran out of tokens
	Refused bool   // it declined
	Failure string // why there is none: a word such as timeout, which the Result repeats; "" when there is one
	Model   string // its name
	// Verbatim is set when the text consists of the source's own sentences, as the built-in summariser's does: nothing in
	// it is invented, so it is accepted without the checks for models.
	Verbatim bool
}

// Decide plans what a policy does to a history, as far as no model is needed for that. A fault in either is a memory.Error
// that names the field. When ctx ends meanwhile, its error is returned: counting the tokens of a long history takes
// seconds.
func Decide(ctx context.Context, h History, p Policy) (*Plan, error) {
	if err := p.CheckWindow("policy", h.Window); err != nil {
		return nil, err
	}
	if h.Tokens != nil && len(h.Tokens) != len(h.Messages) {
		return nil, memory.InvalidField(
			"tokens",
			"holds %d counts for %d messages; give one for each, or none to have them counted",
			len(h.Tokens),
			len(h.Messages),
		)
	}
	return newPlan(ctx, h, p)
}

// Plan is what a policy makes of a history as far as no model has to be asked. It never changes, so it may be used
// concurrently if its counter may.
type Plan struct {
	ready *run // hidden, mended and cleared
}

func newPlan(ctx context.Context, h History, p Policy) (*Plan, error) {
	r := newRun(ctx, h, p)
	if err := stopped(ctx); err != nil {
		return nil, err
	}
	r.items.nameCalls(r.ended)
	var tied map[int]bool
	if p.Hide.StartSeq > 0 || p.Hide.StartID != "" || len(p.Hide.Exclude) > 0 {
		r.do(StageHide, func(e *Effect) { tied = r.hide(e) })
	}
	r.mend(tied)
	if p.Clear.Enabled {
		r.do(StageClear, func(e *Effect) { r.clear(e) })
	}
	return &Plan{ready: r}, stopped(ctx)
}

// Run asks the model and completes the result. It asks one thing after the other, since a question may depend on the answer
// before. Equal answers give equal requests and results. The only errors are a memory.Error of reason BUDGET_TOO_SMALL,
// when what must stay takes more than the limit of Trim, and that of ctx, once it has ended.
func (p *Plan) Run(ctx context.Context, ask func(Request) Answer) (Result, error) {
	return p.ready.clone().finish(ctx, ask)
}

// placeholder stands for the words of a summary where only its place is of interest.
const placeholder = "…"

// Trial returns the result that the plan comes to when every summary is a placeholder: no model is asked. Its Effects say which
// stages are due, and its Omitted which messages the strategy takes.
func (p *Plan) Trial(ctx context.Context) (Result, error) {
	r := p.ready.clone()
	if !r.policy.Compress.Strategy.IsCustom() {
		r.policy.Compress.Prompt = placeholder // answers to an own prompt are not checked
	}
	return r.finish(ctx, func(Request) Answer { return Answer{Text: placeholder} })
}

// WithTrim returns the plan with another limit for what it keeps. It returns a memory.Error where the limit is a share of a
// window that is not known. Trimming comes last: nothing that was decided depends on the limit.
func (p *Plan) WithTrim(t Trim) (*Plan, error) {
	r := p.ready.clone()
	r.policy.Trim = t
	return &Plan{ready: r}, r.policy.CheckWindow("policy", r.history.Window)
}

// finish does what is left after a plan.
func (r *run) finish(ctx context.Context, ask func(Request) Answer) (Result, error) {
	r.within(ctx)
	if r.policy.Compresses() {
		r.do(StageCompress, func(e *Effect) { r.compress(ctx, ask, e) })
	}
	if err := stopped(ctx); err != nil {
		return Result{}, err
	}
	if r.policy.Clear.Enabled && len(r.written) > 0 {
		r.clearAgain()
	}
	if r.policy.Trims() {
		var err error
		if r.do(StageTrim, func(e *Effect) { err = r.trim(ctx, e) }); err != nil {
			return Result{}, err
		}
	}
	if err := stopped(ctx); err != nil {
		return Result{}, err
	}
	return r.result(), nil
}

// clearAgain clears what a summary's own length makes due, so that a second run finds nothing to do.
func (r *run) clearAgain() {
	n := len(r.cleared)
	r.do(StageClear, func(e *Effect) { r.clear(e) })
	if len(r.cleared) == n {
		r.effects = r.effects[:len(r.effects)-1]
	}
}

// run is a policy at work on a history. Behind mending, its stages replace items and never change one: clones share them.
type run struct {
	history History
	policy  Policy
	items   list
	before  toolcalls.Size // of the history
	slack   toolcalls.Size // what mending took away: triggers and limits are those of the list that was given
	acted   bool           // a stage did something
	omitted []Omission
	cleared []Cleared
	written []Written // Index is found at the end, by ID
	effects []Effect
	ended   func() bool // whether nobody waits any more: then what the run comes to means nothing
}

// stopped is the error of a context that ended: then what a run has come to means nothing.
func stopped(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("apply a context policy: %w", err)
	}
	return nil
}

// newRun makes items of the messages.
func newRun(ctx context.Context, h History, p Policy) *run {
	r := &run{history: h, policy: p, items: make(list, len(h.Messages))}
	r.within(ctx)
	all := make([]item, len(h.Messages))
	for i, m := range EnsureIDs(h.Messages) {
		it := &all[i]
		r.items[i] = it
		if ctx.Err() != nil {
			continue
		}
		*it = item{msg: m, source: i, pinned: p.Survives(m), summary: p.isSummary(m)}
		if h.Tokens != nil {
			it.tokens = h.Tokens[i]
		} else {
			it.tokens = MessageTokens(m, r.history.Counter)
		}
	}
	r.before = r.actual()
	return r
}

// within lets the run stop soon after ctx has ended. Clones of a plan go on within the context of their own call.
func (r *run) within(ctx context.Context) {
	r.ended = func() bool { return ctx.Err() != nil }
	r.history.Counter = tokens.Within(ctx, r.history.Counter)
}

// clone is a run that goes on by itself.
func (r *run) clone() *run {
	c := *r
	c.items, c.omitted, c.cleared = slices.Clone(r.items), slices.Clone(r.omitted), slices.Clone(r.cleared)
	c.written, c.effects = slices.Clone(r.written), slices.Clone(r.effects)
	return &c
}

// Survives reports whether a message is pinned, tagged or preserved.
func (p Policy) Survives(m memory.Message) bool {
	return m.Pinned || p.PreserveMemory && m.Origin == memory.OriginRecalled ||
		slices.ContainsFunc(m.Tags, func(t string) bool { return slices.Contains(p.KeepTags, t) })
}

// isSummary reports whether a message replaces messages that are gone. A client may lose the tag, or trim the text.
func (p Policy) isSummary(m memory.Message) bool {
	if slices.Contains(m.Tags, SummaryTag) {
		return true
	}
	if m.Role == memory.RoleTool || m.Role == memory.RoleDeveloper || len(m.Parts) == 0 || m.Parts[0].Kind != memory.PartText {
		return false
	}
	said := m.Parts[0].Text
	own := strings.TrimSpace(p.prefix())
	return strings.HasPrefix(said, strings.TrimSpace(DefaultPrefix)) || own != "" && strings.HasPrefix(said, own)
}

// prefix is what the policy's summaries begin with.
func (p Policy) prefix() string {
	if !p.Compresses() {
		return DefaultPrefix
	}
	return cmp.Or(p.Compress.Prefix, DefaultPrefix)
}

// size is what triggers and limits look at: the list as it is, and what mending took from it.
func (r *run) size() toolcalls.Size {
	s := r.slack
	for i := range r.items {
		s.Messages++
		s.Tokens += r.items[i].tokens
	}
	return s
}

// actual is the size of the list as it is.
func (r *run) actual() toolcalls.Size {
	s := r.size()
	return toolcalls.Size{Messages: s.Messages - r.slack.Messages, Tokens: s.Tokens - r.slack.Tokens}
}

// do does what cannot fail and notes its effect.
func (r *run) do(name Stage, do func(*Effect)) {
	e := Effect{Stage: name, Before: r.actual()}
	do(&e)
	e.After = r.actual()
	r.effects = append(r.effects, e)
}

// omit notes what becomes of an item. A message that a policy wrote is of no interest to the caller.
func (r *run) omit(it *item, stage Stage, why Reason) {
	if it.source < 0 {
		return
	}
	r.omitted = append(r.omitted, Omission{Index: it.source, ID: it.msg.ID, Stage: stage, Reason: why})
}

// keep leaves only the items for which keep holds, and notes the others. The items are copied: a run never changes
// what its clones look at.
func (r *run) keep(stage Stage, why func(i int) Reason, keep func(i int) bool) {
	var kept list
	for i := range r.items {
		if keep(i) {
			kept = append(kept, r.items[i])
			continue
		}
		r.acted = true
		r.omit(r.items[i], stage, why(i))
	}
	r.items = kept
}

// keepUnits leaves only the units that are kept.
func (r *run) keepUnits(units []unit, keep []bool, stage Stage, why Reason) {
	kept := make([]bool, len(r.items))
	for i, u := range units {
		for j := u.from; j < u.to; j++ {
			kept[j] = keep[i]
		}
	}
	r.keep(stage, func(int) Reason { return why }, func(i int) bool { return kept[i] })
}

// units are the units of the list as it is.
func (r *run) units() []unit { return r.items.units(r.policy.Head, r.ended) }

// replaceParts gives an item other parts, and counts it anew.
func (r *run) replaceParts(it *item, parts []memory.Part) {
	it.msg.Parts = parts
	it.msg.Tokens = memory.TokenCounts{}
	it.tokens = MessageTokens(it.msg, r.history.Counter)
}

// result is what the run came to.
func (r *run) result() Result {
	out := Result{
		Effects: slices.DeleteFunc(r.effects, func(e Effect) bool { return e.Stage == StageMend && !r.acted }), Before: r.before, After: r.before,
		Window: r.history.Window, Counter: r.history.Counter.Name(),
	}
	if !r.acted {
		return out
	}
	out.Changed, out.After = true, r.actual()
	out.Omitted, out.Cleared, out.Written = r.omitted, r.cleared, r.written
	slices.SortStableFunc(out.Omitted, func(a, b Omission) int { return cmp.Compare(a.Index, b.Index) })
	at := make(map[string]int, len(r.written))
	for i, it := range r.items {
		out.Messages = append(out.Messages, it.msg)
		out.Sources = append(out.Sources, it.source)
		out.Tokens = append(out.Tokens, it.tokens)
		if it.source < 0 {
			at[it.msg.ID] = i
		}
	}
	out.Written = slices.DeleteFunc(slices.Clone(r.written), func(w Written) bool { _, stands := at[w.ID]; return !stands })
	for i := range out.Written {
		out.Written[i].Index = at[out.Written[i].ID]
	}
	return out
}

// EnsureIDs returns the messages with an id each. A missing one is derived from role, name and parts, and from how many
// messages without an id before it say the same: so it is the same on every call, also when messages follow, and two that
// say the same differ. The messages given are not changed.
func EnsureIDs(messages []memory.Message) []memory.Message {
	out := make([]memory.Message, len(messages))
	copy(out, messages)
	var ids *minter
	for i := range out {
		if out[i].ID != "" {
			continue
		}
		if ids == nil {
			ids = newMinter("message", slices.Values(messages))
		}
		out[i].ID = ids.mint(out[i])
	}
	return out
}

// minter derives ids that no message of a list has. Messages of equal content are numbered.
type minter struct {
	kind  string
	taken map[string]bool
	seen  map[memory.Digest]int
}

func newMinter(kind string, messages iter.Seq[memory.Message]) *minter {
	m := &minter{kind: kind, taken: map[string]bool{"": true}, seen: map[memory.Digest]int{}}
	for msg := range messages {
		m.taken[msg.ID] = true
	}
	return m
}

func (m *minter) mint(msg memory.Message) string {
	body := bodyOf(msg)
	id := ""
	for m.taken[id] {
		id = derivedID(m.kind, body, m.seen[body])
		m.seen[body]++
	}
	m.taken[id] = true
	return id
}

// bodyOf returns the digest of a message's content.
func bodyOf(m memory.Message) memory.Digest {
	body, _ := memory.BodyDigest(m) // parts always encode: they hold strings, bytes and parts
	return body
}

// derivedID is an id of 128 bits of a body and its place among equal ones.
func derivedID(kind string, body memory.Digest, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %x %d", kind, body, n))
	return kind + "-" + hex.EncodeToString(sum[:16])
}

// nameCalls gives calls without an id, and their results, an id that depends on the call's place. That happens first, so
// that they stay the same pairs when other messages are removed.
func (l list) nameCalls(ended func() bool) {
	unnamed := func(p memory.Part) bool { return p.Kind == memory.PartToolCall && p.CallID == "" }
	if !slices.ContainsFunc(l, func(it *item) bool { return slices.ContainsFunc(it.msg.Parts, unnamed) }) {
		return
	}
	for _, c := range l.pair(ended).Calls {
		at := l[c.At.Message]
		if at.msg.Parts[c.At.Part].CallID != "" {
			continue
		}
		id := derivedID("call", memory.IDDigest(at.msg.ID), c.At.Part)
		l.nameCall(c.At, id)
		if c.Answered {
			l.nameCall(c.Result, id)
		}
	}
}

// nameCall changes a copy of the message's parts. The tokens stay as they are: ids are part of what is added to calls.
func (l list) nameCall(at toolcalls.Ref, id string) {
	parts := slices.Clone(l[at.Message].msg.Parts)
	parts[at.Part].CallID = id
	l[at.Message].msg.Parts = parts
}

// aroundResult is the most that is added to a result's words: that it is an error, or that there are none.
const aroundResult = "Error: (no output)"

// MessageTokens is what a message takes in a model's input: its content, from its stored counts where it has the
// counter's, its reasoning, and what providers add around messages, names, calls and results. It is an upper estimate:
// a provider that drops old reasoning takes less.
func MessageTokens(m memory.Message, c tokens.Counter) int64 {
	cost, ok := tokens.FromStored(m.Tokens, c)
	if !ok {
		cost = tokens.Content(m, c)
	}
	extra := int64(tokens.MessageOverhead)
	if m.Name != "" {
		cost += c.Cost(m.Name + ": ") // as words where a provider has no names
		extra += tokens.NameOverhead
	}
	for _, p := range m.Parts {
		switch p.Kind {
		case memory.PartReasoning:
			cost += c.Cost(p.Text)
			extra += tokens.MessageOverhead + int64(len(p.Data)+1)/2
		case memory.PartToolCall:
			extra += tokens.CallOverhead
		case memory.PartToolResult:
			extra += tokens.MessageOverhead
			if p.IsError || !slices.ContainsFunc(p.Parts, toolcalls.Says) {
				cost += c.Cost(aroundResult)
			}
		}
	}
	return tokens.Tokens(c, cost) + extra
}

// countText is what a text takes.
func countText(s string, c tokens.Counter) int64 { return tokens.Tokens(c, c.Cost(s)) }
