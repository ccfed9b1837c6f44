// Package builder builds the context of the next model call: it gathers what is stored about a session and its user, searches,
// and lets assembly choose within the budget.
package builder

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/stratamem/strata/internal/access/quota"
	"github.com/stratamem/strata/internal/contexts/assembly"
	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/compactmodel"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/contexts/contextprofile/sessionguards"
	"github.com/stratamem/strata/internal/language/prompttags"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/learning/summaries"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/learning/summary/standing"
	"github.com/stratamem/strata/internal/learning/work"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/factrank"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/messagereader"
)

// ContextBuilder builds the contexts of model calls from what is known of a session and its user. Its methods may be called
// concurrently.
type ContextBuilder struct {
	store     ContextStore
	reads     messagereader.Reader
	search    *recall.Searcher
	summaries *summaries.SummaryReader
	work      *work.Work
	profiles  contextprofile.Set
	models    compactmodel.Models
	fences    sessionguards.Fences
	usage     *Usage
	meter     Meter
	gate      Gate
	tenancy   quota.Tenancy
	now       store.Now
	sentences sentenceCache
}

// ContextStore is what a ContextBuilder reads of the primary store, beside what it has others read.
type ContextStore interface {
	User(ctx context.Context, ref memory.UserRef) (memory.User, error)
	messagereader.Store
	standing.MarkReader
	SessionHead(ctx context.Context, ref memory.SessionRef) (memory.Session, memory.User, error)
	SessionWork(ctx context.Context, ref memory.SessionRef) (store.SessionWork, error)
	WaitingSessions(ctx context.Context, user memory.UserRef, limit int) ([]memory.SessionRef, error)
	TopNodes(ctx context.Context, ref memory.SessionRef, upTo int64) ([]memory.SummaryNode, error)
	Periods(ctx context.Context, q store.PeriodQuery) ([]memory.SummaryNode, error)
	RecentSessions(ctx context.Context, q store.RecentQuery) ([]store.SessionSummary, error)
}

// Gate admits calls that take much processor time or memory.
type Gate interface {
	messagereader.Gate
	// Aside must run do, a part of the call of ctx that computes; for a call that was admitted, so that small calls do not wait for it.
	Aside(ctx context.Context, do func() error) error
}

// ContextSources are the use cases that a context is gathered from.
type ContextSources struct {
	Search    *recall.Searcher
	Summaries *summaries.SummaryReader
	Work      *work.Work
}

// ContextBuilderOptions are what a ContextBuilder needs.
type ContextBuilderOptions struct {
	Store    ContextStore
	Sources  ContextSources
	Profiles contextprofile.Set
	Models   compactmodel.Models
	Fences   sessionguards.Fences
	Usage    *Usage
	Meter    Meter
	Gate     Gate
	Tenancy  quota.Tenancy
	Now      func() time.Time
}

// NewContextBuilder makes a ContextBuilder.
func NewContextBuilder(o ContextBuilderOptions) *ContextBuilder {
	return &ContextBuilder{
		store: o.Store, reads: messagereader.New(o.Store, o.Gate), search: o.Sources.Search, summaries: o.Sources.Summaries,
		work: o.Sources.Work, profiles: o.Profiles, models: o.Models, fences: o.Fences, usage: o.Usage,
		meter: o.Meter, gate: o.Gate, tenancy: o.Tenancy, now: o.Now, sentences: newSentenceCache(),
	}
}

// Meter counts what was not as it should be, and what a context policy did. It must not block.
type Meter interface {
	recall.Meter
	compaction.Meter
}

// ContextParams asks for the context of the next model call, checked.
type ContextParams struct {
	Ref          memory.SessionRef
	Query        string // "" for the last words of the user
	Pending      []memory.Message
	Instructions string
	Template     string          // instructions with places for values, in place of Instructions; "" for none
	Variables    json.RawMessage // values of this call for the Template: a JSON object; nil for none
	Tools        string          // the tools that the model may call, as JSON; "" for none
	Policy       contextprofile.Call
	Render       assembly.Render
	AsOf         time.Time  // zero for now
	Fresh        *work.Wait // background work to wait for; nil for none. Its Ref is not looked at
	Explain      bool
	MaxBytes     int // the most bytes the reply may take
}

// ContextResult is a context with what is to be said about it.
type ContextResult struct {
	assembly.Result
	UserID           string
	Policy           contextprofile.Resolved
	ToolsTokens      int64 // kept free for tools
	AsOf             time.Time
	Watermarks       work.Watermarks
	StepsSinceUser   int
	StepLimitReached bool
	History          compaction.Result // what the context policy did to the session's messages
	Found            recall.Found
	Recalled         []*rank.Hit      // what assembly.Item.Rank counts in
	Ranks            []int            // the rank of each of them, from 1
	Facts            []recall.FactHit // what the Rank of an item of SectionFacts counts in
	FactsScored      int
	Embedder         string // whose vectors ranked; "" when words alone did
	Degraded         []memory.Degradation
}

// BuildContext gathers what is known of the session and the user, and lets assembly decide. An unknown user or session
// has an empty context; a store that cannot be reached fails the call, so that unavailable never looks like empty.
func (s *ContextBuilder) BuildContext(ctx context.Context, p ContextParams) (ContextResult, error) {
	late, err := s.awaitFresh(ctx, p)
	if err != nil {
		return ContextResult{}, err
	}
	if p.AsOf.IsZero() {
		p.AsOf = s.now.Stored()
	}
	ctx = store.OneRequest(ctx)
	head, user, err := s.store.SessionHead(ctx, p.Ref)
	if err != nil && !memory.IsGone(err) {
		return ContextResult{}, fmt.Errorf("read session: %w", err)
	}
	head.Ref = p.Ref
	p.Policy.SessionProfile = head.Profile
	if p.Policy.SessionProfile == "" {
		if p.Policy.SessionProfile, err = s.tenancy.Profile(ctx, p.Ref.Tenant); err != nil {
			return ContextResult{}, err
		}
	}
	p.Policy.Tools = p.Tools
	resolved, err := s.profiles.Resolve(p.Policy)
	if err != nil {
		return ContextResult{}, err
	}
	fences, err := s.fences.Of(ctx, p.Ref.UserRef, user.Scope)
	if err != nil {
		return ContextResult{}, err
	}
	p.Pending = prompttags.WithEchoes(p.Pending, fences)
	of := subject{session: head, user: user, fences: fences, steps: memory.StepsSinceUser(head.StepsSinceUser, p.Pending)}
	p.Pending = resolved.MaskSecrets.Noted(p.Pending)
	p.Query = resolved.MaskSecrets.Words(p.Query)
	g, err := s.gather(ctx, p, of, resolved)
	defer g.ahead.end()
	if err != nil {
		return ContextResult{}, err
	}
	g.degraded = append(late, g.degraded...)
	out, err := s.shrinkAndDecide(ctx, p, g, resolved)
	if err == nil && g.promise.raw && leftOut(out.Result, p.Ref.SessionID) {
		out, err = s.decideAgain(ctx, p, g, resolved, out)
	}
	recall.CountDegraded(s.meter, out.Degraded)
	s.usage.note(p.Ref.UserRef, out.Sections, s.now.Stored())
	return out, err
}

// decideAgain decides a context in which not all of the session's messages found room with the session's summary, though no
// policy asks for one yet. What the summary covers is left to it, so that the policy is applied to the messages after it. Where
// there is no summary, the context stays as it was decided.
func (s *ContextBuilder) decideAgain(
	ctx context.Context, p ContextParams, g gathered, r contextprofile.Resolved, decided ContextResult,
) (ContextResult, error) {
	edits := func() (summary.Marks, error) { return g.edits, nil }
	running, _, err := s.keptSummary(ctx, g.session, r, edits)
	if err != nil {
		return ContextResult{}, err
	}
	if running == nil {
		return decided, nil
	}
	if g.history, err = s.behind(ctx, g.session, r, history{running: running, edits: g.edits}); err != nil {
		return ContextResult{}, err
	}
	return s.shrinkAndDecide(ctx, p, g, r)
}

// leftOut reports whether some of the session's messages found no room in the budget.
func leftOut(r assembly.Result, session string) bool {
	return slices.ContainsFunc(r.Omitted, func(o assembly.Omission) bool { return o.SessionID == session && o.Reason == assembly.OmitBudget })
}

// shrinkAndDecide reads the originals of what was gathered, applies the context policy to it and assembles.
func (s *ContextBuilder) shrinkAndDecide(
	ctx context.Context,
	p ContextParams,
	g gathered,
	r contextprofile.Resolved,
) (out ContextResult, err error) {
	if err := s.addOriginals(ctx, p, &g.history); err != nil {
		return out, err
	}
	err = s.gate.Aside(ctx, func() error {
		smaller, err := s.shrink(ctx, p, g, r)
		if err != nil {
			return err
		}
		g.degraded = append(slices.Clone(g.degraded), withoutModelDegradation(r, g.promise)...)
		out, err = s.decide(ctx, p, g, smaller, r)
		return err
	})
	return out, err
}

// awaitFresh waits for background work where the call asks for it, and says so when that was in vain: in the session asked
// for and, unless a seq of that is named, for what is to be learnt in all others of the user, up to what is recorded
// now. An unknown user or session has nothing to wait for.
func (s *ContextBuilder) awaitFresh(ctx context.Context, p ContextParams) ([]memory.Degradation, error) {
	if p.Fresh == nil {
		return nil, nil
	}
	wait := *p.Fresh
	wait.Ref = p.Ref
	if wait.Of == nil { // what is not indexed yet is found all the same
		wait.Of = []work.Watermark{work.WatermarkExtracted}
	}
	waits := []work.Wait{wait}
	if wait.MinSeq == 0 && slices.Contains(wait.Of, work.WatermarkExtracted) {
		others, err := s.store.WaitingSessions(ctx, p.Ref.UserRef, maxAwaited)
		if err != nil {
			return nil, fmt.Errorf("look for sessions to wait for: %w", err)
		}
		for _, ref := range others {
			if ref != p.Ref {
				waits = append(waits, work.Wait{Ref: ref, Of: []work.Watermark{work.WatermarkExtracted}})
			}
		}
	}
	return s.work.AwaitAll(ctx, waits, wait.Timeout)
}

// maxAwaited is for how many of a user's sessions a context waits at most, those first that wait longest.
const maxAwaited = 1000

// decide assembles; recalled messages are read from the primary store when it is known how many can find room.
func (s *ContextBuilder) decide(
	ctx context.Context, p ContextParams, g gathered, h shrunk, r contextprofile.Resolved,
) (ContextResult, error) {
	out := undecided(p, g, r)
	out.History = h.Result
	hits := s.newRecallReader(ctx, p.Ref.UserRef, g.recalledHits, h.tail, r)
	if g.ahead == nil {
		defer hits.ahead.end()
	}
	var err error
	out.Result, err = s.assemble(ctx, assemblyInput(p, g, h, r), hits)
	if ended := ctx.Err(); ended != nil {
		return ContextResult{}, fmt.Errorf("assemble a context: %w", ended)
	}
	out.Recalled, out.Ranks = hits.recalled, hits.ranks
	out.Degraded = append(out.Degraded, notesDegradation(out.NotesLeft)...)
	out.Degraded = append(out.Degraded, r.Degradations()...)
	return out, err
}

// assemble drives a draft: it reads recalled messages, and messages that may fill, as long as the draft has room for them.
func (s *ContextBuilder) assemble(ctx context.Context, in assembly.Input, hits *recallReader) (assembly.Result, error) {
	in.Counter = tokens.Within(ctx, in.Counter)
	in.TakeApart = s.sentences.by(ctx, in.Counter.Name())
	draft, err := assembly.Begin(ctx, in)
	if err != nil {
		return assembly.Result{}, err
	}
	for room := draft.RecallRoom(); room > 0; room = draft.RecallRoom() {
		found, err := hits.read(ctx, room)
		if err != nil {
			return assembly.Result{}, fmt.Errorf("recall messages of at most %d tokens: %w", room, err)
		}
		draft.Recall(found)
	}
	for room := draft.FillRoom(); room > 0; room = draft.FillRoom() {
		found, err := hits.fill(ctx, room)
		if err != nil {
			return assembly.Result{}, fmt.Errorf("fill a context with at most %d tokens: %w", room, err)
		}
		draft.Fill(found)
	}
	return draft.Finish(ctx)
}

// undecided is what is to be said of a context before its contents are chosen.
func undecided(p ContextParams, g gathered, r contextprofile.Resolved) ContextResult {
	return ContextResult{
		UserID:           p.Ref.UserID,
		Policy:           r,
		ToolsTokens:      r.Tools,
		AsOf:             p.AsOf,
		Found:            g.found,
		Facts:            g.facts.Hits,
		FactsScored:      g.facts.Scored,
		Embedder:         cmp.Or(g.facts.Embedder, g.embedder),
		Watermarks:       g.marks,
		Degraded:         g.degraded,
		StepsSinceUser:   g.steps,
		StepLimitReached: g.steps >= r.StepLimit,
	}
}

// assemblyInput is what a context is chosen from, but for what is read meanwhile.
func assemblyInput(p ContextParams, g gathered, h shrunk, r contextprofile.Resolved) assembly.Input {
	hidden := g.edits.Hidden.Ranges(g.session.Key, g.session.LastSeq)
	return assembly.Input{
		Fence:        g.fences[0],
		Instructions: g.instructions,
		State:        g.state,
		Notes:        g.notes,
		Session:      g.session.Key,
		SessionID:    p.Ref.SessionID,
		Facts:        factsOf(g.facts.Hits, factrank.Found),
		CoreFacts:    factsOf(g.facts.Hits, factrank.Core),
		FillFacts:    factsOf(g.facts.Hits, factrank.Fill),
		SessionFacts: g.facts.Session,
		Periods:      g.periods,
		Previous:     g.previous,
		Running:      withoutHidden(h.running, hidden),
		Tail:         h.tail,
		Kept:         h.kept,
		LastSeq:      g.session.LastSeq,
		Location:     g.location,
		Language:     headingLanguage(p, g, r),
		Dropped:      memory.Union(h.dropped, h.unread),
		Hidden:       hidden,
		Pending:      p.Pending,
		Available:    r.Available,
		Most:         r.Most,
		Reserved:     r.Reserved,
		MaxBytes:     p.MaxBytes,
		Documents:    r.Documents || r.Window == 0 && p.Render == assembly.RenderAnthropic, // all of Anthropic's own models do
		Render:       p.Render,
		Policy:       r.Profile,
		Terms:        g.found.Terms,
		Counter:      r.TokenCounter,
	}
}

// withoutHidden returns the summary with the hidden messages up to its last one added to its holes. A nil summary stays nil.
func withoutHidden(s *assembly.Summary, hidden []memory.SeqRange) *assembly.Summary {
	if s == nil || len(hidden) == 0 {
		return s
	}
	last := slices.IndexFunc(hidden, func(r memory.SeqRange) bool { return r.From > s.To })
	if last < 0 {
		last = len(hidden)
	}
	return withHoles(*s, memory.Union(s.Holes, hidden[:last]))
}

// headingLanguage is the language of a context's headings: the profile's, else the user's, else that of what the user said
// lately.
func headingLanguage(p ContextParams, g gathered, r contextprofile.Resolved) string {
	if tag := cmp.Or(r.Headings, g.language); tag != "" {
		return tag
	}
	words := lastSaid(p.Pending, latestSaid)
	words = append(words, lastSaid(g.tail, latestSaid-len(words))...)
	if len(words) == 0 {
		words = []string{p.Query}
	}
	return assembly.LanguageOf(words)
}

// latestSaid is how many of a user's latest messages are read for their language: one alone may be a name or a number.
const latestSaid = 3

// lastSaid returns the words of the last messages in which a user says something, at most so many, the last first.
func lastSaid(messages []memory.Message, most int) (words []string) {
	for i := len(messages) - 1; i >= 0 && len(words) < most; i-- {
		m := &messages[i]
		if m.Role != memory.RoleUser || m.Hidden {
			continue
		}
		if said := m.SaidText(); said != "" {
			words = append(words, said)
		}
	}
	return words
}

// factsOf are the facts that are hits for a reason. Those of one reason stand together, in the order of the reasons.
func factsOf(hits []recall.FactHit, use factrank.Use) []memory.Fact {
	facts := make([]memory.Fact, 0, len(hits))
	for _, h := range hits {
		if h.Use == use {
			facts = append(facts, h.Fact)
		}
	}
	return facts
}

// notesDegradation says that notes had no room.
func notesDegradation(left int) []memory.Degradation {
	if left == 0 {
		return nil
	}
	return []memory.Degradation{{Tier: memory.TierNotes, Reason: fmt.Sprintf("%d notes had no room: raise the profile's notes-share or the budget, or delete some", left)}}
}

// sentenceCacheBytes is about how much memory the summaries take that were shortened lately.
const sentenceCacheBytes = 16 << 20

// sentenceCache keeps the summaries that were shortened lately as they were taken apart: contexts shorten the same ones again
// and again, and finding what deserves a place in one of 2,000 tokens takes milliseconds.
type sentenceCache struct {
	texts *otter.Cache[sentenceKey, *summary.Apart]
}

type sentenceKey struct{ counter, text string }

func newSentenceCache() sentenceCache {
	return sentenceCache{otter.Must(&otter.Options[sentenceKey, *summary.Apart]{
		MaximumWeight: sentenceCacheBytes,
		// The sentences of a text take about as much as the text.
		Weigher: func(k sentenceKey, _ *summary.Apart) uint32 { return uint32(2*len(k.text) + 512) },
	})}
}

// by returns assembly.Input.TakeApart for a counter. What is taken apart once ctx has ended is not kept: see tokens.Within.
func (c sentenceCache) by(ctx context.Context, counter string) func(string, func(string) int64) *summary.Apart {
	return func(text string, count func(string) int64) *summary.Apart {
		key := sentenceKey{counter, text}
		if known, ok := c.texts.GetIfPresent(key); ok {
			return known
		}
		a := summary.TakeApart(text, count)
		if ctx.Err() == nil {
			c.texts.Set(key, a)
		}
		return a
	}
}
