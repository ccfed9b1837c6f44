package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/assembly"
	"github.com/stratamem/strata/internal/contextprofile"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/prompttags"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/safegroup"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/messagereader"
	"github.com/stratamem/strata/internal/summary"
	"github.com/stratamem/strata/internal/summary/standing"
	"github.com/stratamem/strata/internal/text"
	"github.com/stratamem/strata/internal/tokens"
)

// gathered is what a context is decided from.
type gathered struct {
	session  memory.Session  // of an unknown one only its Ref is set
	user     memory.User     // without State; the zero one where the session is unknown
	location *time.Location  // the user's timezone
	language string          // the user's, as it is set; "" when it is not
	fences   []prompttags.ID // by which the service knows what it rendered for the user; the first is that of new contexts
	marks    Watermarks
	running  *assembly.Summary
	tail     []memory.Message // after what running stands for, oldest first
	head     []memory.Message // what the session begins with, before the tail; only where a context policy keeps it
	promise  promise
	edits    summary.Marks // what persons made of the user's messages and summaries
	facts    recall.RankedFacts
	ahead    *readAhead // of the messages that were found; nil where a context policy has yet to shrink the tail beside them
	fill     []rank.Hit // messages that may fill, the best first
	degraded []memory.Degradation

	otherSummaries
	recalledHits
	states
}

// otherSummaries are the summaries of a context beside that of its session, oldest first.
type otherSummaries struct {
	previous []assembly.Summary // of the latest sessions
	periods  []assembly.Summary // of months, then of weeks
}

// recalledHits are what a search of the user's messages found.
type recalledHits struct {
	found    recall.Found
	late     []memory.Degradation // what the search lacked
	embedder string               // whose vectors ranked messages; "" when words alone did
}

// gather adds to the session, its user and the fences what was said and summarised, and searches. All of it runs side by side;
// only a query that has to be taken from the tail is waited for by what needs it.
func (s *ContextBuilder) gather(ctx context.Context, p ContextParams, g gathered, r contextprofile.Resolved) (gathered, error) {
	all, part := safegroup.WithContext(ctx)
	marks := sync.OnceValues(func() (summary.Marks, error) { return standing.ReadMarks(part, s.store, p.Ref.UserRef) })
	history := sync.OnceValue(func() error { return s.gatherHistory(part, p, r, marks, &g) })
	query := sync.OnceValues(func() (string, error) {
		if words := cmp.Or(p.Query, lastWords(p.Pending)); words != "" {
			return words, nil
		}
		if err := history(); err != nil {
			return "", err
		}
		return s.recordedWords(part, g.session, g.tail)
	})
	in := s.search.NewLookups(part, p.Ref.UserRef, query)
	if g.session.Key != "" { // its user was read with it
		in.User = func() (memory.User, error) { return g.user, nil }
	}
	in.Marks = marks
	in.Hidden = func() (memory.Hidden, error) {
		m, err := marks()
		return m.Hidden, err
	}
	in.Found = sync.OnceValues(func() (recall.RankedFacts, error) { return s.contextFacts(part, p, in, r, g.session.Key) })
	all.Go(func() (err error) {
		g.marks, err = s.contextMarks(part, g.session)
		return err
	})
	all.Go(func() error {
		user, err := in.User()
		g.location, g.language = user.Location(), user.Language
		return err
	})
	all.Go(func() (err error) {
		g.states, err = s.gatherStates(part, p, r, g.session.State, g.fences[0])
		return err
	})
	all.Go(func() (err error) {
		g.otherSummaries, err = s.gatherSummaries(part, p, in, r)
		return err
	})
	all.Go(func() (err error) {
		g.facts, err = in.Found()
		return err
	})
	all.Go(func() (err error) {
		if g.recalledHits, err = s.recall(part, p, in, r, g.session); err != nil {
			return err
		}
		if err := history(); err != nil {
			return err
		}
		if !r.History.IsSet() {
			g.ahead = s.readAhead(ctx, p.Ref.UserRef, g.found, g.tail, r)
		}
		if !fills(r) {
			return nil
		}
		g.fill, err = s.gatherFill(r, in.Hidden, g.found, firstSeq(g.session, g.tail))
		return err
	})
	err := all.WaitWith(history)
	g.degraded = distinct(slices.Concat(g.facts.Degraded, g.found.Degradations(), g.late))
	g.marks.Indexed = min(g.marks.Indexed, indexedThrough(g))
	return g, err
}

// contextMarks are the watermarks of the session as the context has it: turns that came since it was read count for nothing. A
// session without messages has none.
func (s *ContextBuilder) contextMarks(ctx context.Context, session memory.Session) (Watermarks, error) {
	if session.LastSeq == 0 {
		return Watermarks{}, nil
	}
	work, err := s.store.SessionWork(ctx, session.Ref)
	if memory.IsGone(err) { // it was erased since
		return Watermarks{}, nil
	}
	if err != nil {
		return Watermarks{}, fmt.Errorf("read how far the session's work has come: %w", err)
	}
	return WatermarksOf(work).UpTo(session.LastSeq), nil
}

// gatherHistory reads the session's summary and the messages after those that it covers, as its context policy promises.
func (s *ContextBuilder) gatherHistory(
	ctx context.Context,
	p ContextParams,
	r contextprofile.Resolved,
	marks func() (summary.Marks, error),
	g *gathered,
) (err error) {
	if g.session.LastSeq == 0 {
		return nil
	}
	if !r.History.Compresses() {
		return s.gatherCovered(ctx, r, marks, g)
	}
	if g.edits, err = marks(); err != nil {
		return err
	}
	return s.gatherPromised(ctx, p, r, g)
}

// gatherCovered reads the session's summary of all but its latest messages, beside the marks, and then the messages after it.
func (s *ContextBuilder) gatherCovered(
	ctx context.Context, r contextprofile.Resolved, marks func() (summary.Marks, error), g *gathered,
) (err error) {
	g.running, g.promise = nil, promise{}
	var nodes []memory.SummaryNode
	both, part := safegroup.WithContext(ctx)
	if r.Summaries.Running {
		both.Go(func() (err error) {
			nodes, err = s.topNodes(part, g.session, keptRaw(r))
			return err
		})
	}
	err = both.WaitWith(func() (err error) {
		g.edits, err = marks()
		return err
	})
	if err != nil {
		return err
	}
	if g.running, err = s.runningOf(ctx, g.session, nodes, g.edits); err != nil {
		return err
	}
	if g.tail, err = s.tail(ctx, g.session, g.running, r); err != nil {
		return err
	}
	return s.gatherHead(ctx, r, g)
}

// runningBefore is the session's summary of all but its latest messages at least, without what was made of hidden ones, nil
// for none.
func (s *ContextBuilder) runningBefore(
	ctx context.Context,
	session memory.Session,
	latest int,
	marks summary.Marks,
) (*assembly.Summary, error) {
	nodes, err := s.topNodes(ctx, session, latest)
	if err != nil {
		return nil, err
	}
	return s.runningOf(ctx, session, nodes, marks)
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
func runningItem(in Summary) *assembly.Summary {
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

// passingOver is a summary that was written of what is not hidden, and says so: nil for none.
func passingOver(s *assembly.Summary, hidden []memory.SeqRange) *assembly.Summary {
	if s == nil || len(hidden) == 0 {
		return s
	}
	last := slices.IndexFunc(hidden, func(r memory.SeqRange) bool { return r.From > s.To })
	if last < 0 {
		last = len(hidden)
	}
	return withHoles(*s, memory.Union(s.Holes, hidden[:last]))
}

// summaryItem is what assembly is given of nodes that cover something together, oldest first.
func summaryItem(nodes []memory.SummaryNode) assembly.Summary {
	out := assembly.Summary{Text: Joined(nodes), Start: nodes[0].FromTime, End: nodes[len(nodes)-1].ToTime, Model: models(nodes)}
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

// gatherSummaries reads the summaries of previous sessions, and of weeks and months, oldest first.
func (s *ContextBuilder) gatherSummaries(
	ctx context.Context,
	p ContextParams,
	in recall.Lookups,
	r contextprofile.Resolved,
) (out otherSummaries, err error) {
	seen := newShown(p.Ref.UserRef)
	var periods standingPeriods
	reads, part := safegroup.WithContext(ctx)
	if wantsPrevious(r) {
		reads.Go(func() (err error) {
			out.previous, err = s.previousItems(part, p, in, r, seen)
			return err
		})
	}
	if r.Summaries.Periods && r.Summaries.Weeks+r.Summaries.Months > 0 {
		reads.Go(func() (err error) {
			periods, err = s.gatherPeriods(part, p, in, r)
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return out, err
	}
	seen.oldest = periods.oldest
	ofWeeks, err := s.periodItems(ctx, periods.reader, periods.weeks, seen)
	if err != nil {
		return out, err
	}
	ofMonths, err := s.periodItems(ctx, periods.reader, periods.months, seen)
	out.periods = append(ofMonths, ofWeeks...)
	return out, err
}

// wantsPrevious reports whether summaries of previous sessions may stand in a context.
func wantsPrevious(r contextprofile.Resolved) bool {
	return r.Summaries.Previous && r.Summaries.MaxSessions > 0
}

// standingPeriods are the weeks and months that may be read, the latest first, with what finds out whether they repeat what is shown.
type standingPeriods struct {
	reader        PeriodReader
	weeks, months []memory.SummaryNode
	oldest        map[string]memory.SummaryNode // the oldest part of each, by id
}

// gatherPeriods reads the latest weeks and months, side by side. Their oldest parts are read beside the summaries of previous
// sessions: without those no period can repeat what is shown.
func (s *ContextBuilder) gatherPeriods(
	ctx context.Context, p ContextParams, in recall.Lookups, r contextprofile.Resolved,
) (out standingPeriods, err error) {
	out.reader.User = p.Ref.UserRef
	reads, part := safegroup.WithContext(ctx)
	reads.Go(func() error {
		user, err := in.User()
		out.reader.Location = user.Location()
		return err
	})
	reads.Go(func() (err error) {
		out.reader.Marks, err = in.Marks()
		return err
	})
	reads.Go(func() (err error) {
		out.weeks, err = s.periods(part, p, periodsAsked{memory.SummaryWeek, r.Summaries.Weeks})
		return err
	})
	reads.Go(func() (err error) {
		out.months, err = s.periods(part, p, periodsAsked{memory.SummaryMonth, r.Summaries.Months})
		return err
	})
	if err := reads.Wait(); err != nil {
		return out, err
	}
	if out.weeks, err = s.summaries.StandingPeriods(ctx, out.reader, out.weeks); err != nil {
		return out, err
	}
	if out.months, err = s.summaries.StandingPeriods(ctx, out.reader, out.months); err != nil || !wantsPrevious(r) {
		return out, err
	}
	out.oldest, err = s.summaries.OldestParts(ctx, out.reader, slices.Concat(out.weeks, out.months))
	return out, err
}

// previousSessions reads the latest sessions but the current one, the latest first.
func (s *ContextBuilder) previousSessions(ctx context.Context, p ContextParams, r contextprofile.Resolved) ([]store.SessionSummary, error) {
	q := store.RecentQuery{User: p.Ref.UserRef, Exclude: p.Ref.SessionID, Limit: r.Summaries.MaxSessions, Until: p.AsOf}
	if r.Summaries.MaxAge > 0 {
		q.Since = p.AsOf.Add(-r.Summaries.MaxAge)
	}
	found, err := s.store.RecentSessions(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read summaries of previous sessions: %w", err)
	}
	return found, nil
}

// previousItems are the running summaries of the latest sessions, oldest first. It notes what they cover.
func (s *ContextBuilder) previousItems(
	ctx context.Context,
	p ContextParams,
	in recall.Lookups,
	r contextprofile.Resolved,
	seen shown,
) ([]assembly.Summary, error) {
	found, err := s.previousSessions(ctx, p, r)
	if err != nil {
		return nil, err
	}
	marks, err := in.Marks()
	if err != nil {
		return nil, err
	}
	var out []assembly.Summary
	for _, f := range slices.Backward(found) {
		r, ok, err := s.summaries.Running(ctx, seen.user, f, marks)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, *runningItem(r))
			seen.sessions[f.SessionID] = r.Through
		}
	}
	return out, nil
}

// shown is what a user's summaries in a context cover already.
type shown struct {
	user     memory.UserRef
	sessions map[string]int64              // up to this message
	periods  map[string]bool               // ids of weeks and months
	oldest   map[string]memory.SummaryNode // the oldest part of each week and month that may be in the context
}

func newShown(user memory.UserRef) shown {
	return shown{user: user, sessions: map[string]int64{}, periods: map[string]bool{}}
}

func (s shown) has(n memory.SummaryNode) bool {
	if n.Kind == memory.SummarySession {
		return n.Range.To <= s.sessions[n.SessionID]
	}
	return s.periods[n.ID]
}

// repeats reports whether a period was made of nothing but what is shown. Mostly its oldest part, which was read with those of
// all others, shows already that it was not, so that the many others are not read.
func (s *ContextBuilder) repeats(ctx context.Context, r PeriodReader, period memory.SummaryNode, seen shown) (bool, error) {
	if len(seen.sessions) == 0 || period.Model == memory.PersonModel {
		return false, nil
	}
	if len(period.Children) == 0 {
		return true, nil
	}
	if oldest, ok := seen.oldest[period.Children[0]]; !ok || !seen.has(oldest) {
		return false, nil
	}
	others := period.Children[1:]
	parts, err := s.summaries.Parts(ctx, r, others)
	if err != nil {
		return false, err
	}
	isNew := func(n memory.SummaryNode) bool { return !seen.has(n) }
	return len(parts) == len(others) && !slices.ContainsFunc(parts, isNew), nil
}

// periodsAsked are so many of the latest periods of a kind.
type periodsAsked struct {
	kind  memory.SummaryKind
	limit int
}

// periods reads the latest periods that are over, the latest first.
func (s *ContextBuilder) periods(ctx context.Context, p ContextParams, asked periodsAsked) ([]memory.SummaryNode, error) {
	if asked.limit == 0 {
		return nil, nil
	}
	found, err := s.store.Periods(ctx, store.PeriodQuery{User: p.Ref.UserRef, Kind: asked.kind, Before: p.AsOf, Limit: asked.limit})
	if err != nil {
		return nil, fmt.Errorf("read summaries of periods: %w", err)
	}
	return found, nil
}

// periodItems returns periods, oldest first. One that was made of nothing but what is shown would only say it again: it
// is left out, and counts as shown itself.
func (s *ContextBuilder) periodItems(
	ctx context.Context,
	r PeriodReader,
	found []memory.SummaryNode,
	seen shown,
) (out []assembly.Summary, err error) {
	for _, n := range slices.Backward(found) {
		if seen.periods[n.ID], err = s.repeats(ctx, r, n, seen); err != nil {
			return nil, err
		}
		if !seen.periods[n.ID] {
			out = append(out, periodItem(r, n))
		}
	}
	return out, nil
}

// periodItem is what assembly is given of a period: its days are those of the user's timezone, whichever it was made in.
func periodItem(r PeriodReader, n memory.SummaryNode) assembly.Summary {
	out := summaryItem([]memory.SummaryNode{n})
	out.Name, out.Start, out.End = n.Period.Name, n.Period.Start, n.Period.End
	if now, err := summary.ParsePeriod(n.Kind, n.Period.Name, r.Location); err == nil {
		out.Start, out.End = now.Start, now.End
	}
	return out
}

// contextFacts ranks the user's facts, by meaning too where the query's vector comes in time.
func (s *ContextBuilder) contextFacts(
	ctx context.Context,
	p ContextParams,
	in recall.Lookups,
	r contextprofile.Resolved,
	session memory.SessionKey,
) (recall.RankedFacts, error) {
	if !r.Facts.LongTerm && !r.Facts.OfSession {
		return recall.RankedFacts{}, nil
	}
	query, err := in.Query()
	if err != nil {
		return recall.RankedFacts{}, err
	}
	longTerm := r.Facts.LongTerm && r.Facts.Max > 0
	fill := 0
	if r.RecallFloor > 0 && r.Facts.MinScore == 0 {
		fill = r.Facts.Max
	}
	kept := s.profiles.RetentionOf("")
	ask := recall.FactQuestion{FactQuery: rank.FactQuery{
		Categories: r.Facts.Categories, MinSignificance: r.Facts.MinSignificance,
		AsOf: p.AsOf, Formula: recall.FormulaOf(r.Facts), MinScore: r.Facts.MinScore, Limit: r.Facts.Max,
		Core: r.Facts.Core, CoreSignificance: r.Facts.CoreSignificance, Wishes: min(r.Facts.Core, r.Facts.Wishes), Fill: fill,
	}}
	if kept.Unused > 0 {
		ask.Omits = func(f *memory.Fact) bool { return kept.HasFaded(*f, p.AsOf) }
	}
	if longTerm {
		ask.QueryVector, ask.Related, ask.WithSources, ask.Terms = in.Vector, true, true, text.Terms(query)
	}
	if r.Facts.OfSession {
		ask.Session, ask.Exclude = session, session
	}
	found, err := s.search.FindFacts(ctx, in.Facts, ask)
	if !longTerm {
		found.Hits = nil
	}
	return found, err
}

// maxQueryBytes is how much of a message serves as a query.
const maxQueryBytes = 64 << 10

// lastWords are the first words of the last message of a user, as many as a query may have.
func lastWords(messages []memory.Message) string {
	for _, m := range slices.Backward(messages) {
		if words := m.SaidText(); m.Role == memory.RoleUser && !m.Hidden && words != "" {
			return text.Clip(words, maxQueryBytes)
		}
	}
	return ""
}

// recordedWords are the lastWords of the tail, else of what lies before it: an agent may have gone many steps since
// the user spoke. What is hidden asks for nothing.
func (s *ContextBuilder) recordedWords(ctx context.Context, session memory.Session, tail []memory.Message) (string, error) {
	before := session.LastSeq + 1
	for {
		if words := lastWords(tail); words != "" {
			return words, nil
		}
		if len(tail) > 0 {
			before = tail[0].Seq
		}
		if before <= max(session.ContextStart, 1) {
			return "", nil
		}
		var err error
		tail, err = s.before(ctx, store.MessageQuery{Ref: session.Ref, After: beforeStart(session), Before: before, Limit: 200})
		if err != nil || len(tail) == 0 {
			return "", err
		}
	}
}

// Bounds of what one call holds in memory, far above what a reply can show.
const (
	maxTail        = 100_000 // messages
	maxTailBytes   = messagereader.MaxTailBytes
	maxRecallBytes = messagereader.MaxRecallBytes
)

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
	q.NewestFirst, q.MaxBytes = true, maxTailBytes
	messages, err := s.reads.Messages(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read latest messages: %w", err)
	}
	slices.Reverse(messages)
	return messages, nil
}

// slack is how many o200k tokens of stored counts may come to one token of the counter: four characters are one
// token of chars_4, and may be four of o200k in scripts without blanks. The other counters count about as much, or more.
func slack(counter string) int64 {
	if counter == tokens.Chars4 {
		return 4
	}
	return 1
}

// spareHits is how many hits are asked for beyond those that may stand in a context: of those that say the same only the
// best does.
const spareHits = 200

// recall searches the user's messages. The last recent_n mostly stand in the context anyway, so as many hits more are
// asked for, and spareHits. Where recall is off, only the watermark is read.
func (s *ContextBuilder) recall(
	ctx context.Context, p ContextParams, in recall.Lookups, r contextprofile.Resolved, session memory.Session,
) (out recalledHits, err error) {
	ask := recall.MessageQuestion{Ref: p.Ref, Fills: fills(r), Query: rank.Query{
		Current: session.Key, Limit: r.TopK + r.RecentN + spareHits, MinRelevance: r.MinScore, UserPrior: r.UserPrior, Explain: p.Explain,
	}}
	hidden := sync.OnceValue(func() memory.Hidden {
		all, _ := in.Hidden() // the error is reported below
		return all
	})
	ask.Exclude = func(at memory.Place) bool { return hidden().Has(at) } // asked of every message with a word of the query
	if r.Sections.Recalled && r.TopK > 0 {
		err = s.search.Understand(&ask, in, p.AsOf)
	}
	if err != nil {
		return out, err
	}
	if !r.Facts.LongTerm {
		ask.Attach, ask.Sources = nil, nil
	}
	if out.found, out.late, err = s.search.FindMessages(ctx, ask, session.ScopeKey); err != nil || ask.Vector == nil {
		return out, err
	}
	if _, err := in.Hidden(); err != nil {
		return out, err
	}
	vector, unembedded := in.Vector()
	out.embedder, out.late = vector.Model, append(unembedded, out.late...)
	return out, nil
}

// indexedThrough is the seq before the session's first turn that is not indexed.
func indexedThrough(g gathered) int64 {
	if g.found.PendingFrom > 0 {
		return g.found.PendingFrom - 1
	}
	return g.session.LastSeq
}
