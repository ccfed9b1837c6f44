package builder

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/contexts/assembly"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/contexts/template"
	"github.com/stratamem/strata/internal/language/prompttags"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/learning/summaries"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/learning/summary/standing"
	"github.com/stratamem/strata/internal/learning/work"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/factrank"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/store"
)

// subject is whose context is built.
type subject struct {
	session memory.Session  // of an unknown one only its Ref is set
	user    memory.User     // without State; the zero one where the session is unknown
	fences  []prompttags.ID // by which the service knows what it rendered for the user; the first is that of new contexts
	steps   int             // messages of the assistant since the user spoke, with the pending ones
}

// gathered is what a context is decided from.
type gathered struct {
	subject
	location *time.Location // the user's timezone
	language string         // the user's, as it is set; "" when it is not
	marks    work.Watermarks
	facts    recall.RankedFacts
	degraded []memory.Degradation

	history
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
	ahead    *readAhead           // of what was found; nil where a context policy has yet to shrink the tail beside it
	fill     []rank.Hit           // messages that may fill, the best first
}

// gather reads what was said and summarised, and searches. All of it runs side by side, each part for itself; only a query that
// has to be taken from the tail is waited for by what needs it. The caller must end what is read ahead, also after an error.
func (s *ContextBuilder) gather(ctx context.Context, p ContextParams, of subject, r contextprofile.Resolved) (g gathered, err error) {
	g.subject = of
	all, part := safegroup.WithContext(ctx)
	var session func() (history, error)
	query := sync.OnceValues(func() (string, error) { return s.query(part, p, of.session, session) })
	in := s.search.NewLookups(part, p.Ref.UserRef, query)
	in.Marks = sync.OnceValues(func() (summary.Marks, error) { return standing.ReadMarks(part, s.store, p.Ref.UserRef) })
	session = sync.OnceValues(func() (history, error) { return s.history(part, p, of, r, in.Marks) })
	if of.session.Key != "" { // its user was read with it
		in.User = func() (memory.User, error) { return of.user, nil }
	}
	in.Hidden = func() (memory.Hidden, error) {
		m, err := in.Marks()
		return m.Hidden, err
	}
	in.Found = sync.OnceValues(func() (recall.RankedFacts, error) { return s.contextFacts(part, p, in, r, of.session.Key) })
	all.Go(func() (err error) {
		g.marks, err = s.contextMarks(part, of.session)
		return err
	})
	all.Go(func() error {
		user, err := in.User()
		g.location, g.language = user.Location(), user.Language
		return err
	})
	all.Go(func() (err error) {
		g.states, err = s.gatherStates(part, p, r, of.session.State, of.fences[0])
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
		g.recalledHits, err = s.gatherHits(ctx, part, p, in, r, of, session)
		return err
	})
	err = all.WaitWith(func() (err error) {
		g.history, err = session()
		return err
	})
	g.degraded = distinct(slices.Concat(g.facts.Degraded, g.found.Degradations(), g.late))
	g.marks.Indexed = min(g.marks.Indexed, indexedThrough(g))
	return g, err
}

// query returns what is asked: the query of the call, else the last words of the user.
func (s *ContextBuilder) query(
	ctx context.Context, p ContextParams, session memory.Session, said func() (history, error),
) (string, error) {
	if words := cmp.Or(p.Query, lastWords(p.Pending)); words != "" {
		return words, nil
	}
	h, err := said()
	if err != nil {
		return "", err
	}
	return s.recordedWords(ctx, session, h.tail)
}

// gatherHits searches the user's messages, and looks for those that may fill. Where no context policy shrinks the tail it begins
// to read what was found, within the context of the call: that outlives what is gathered.
func (s *ContextBuilder) gatherHits(
	call, ctx context.Context, p ContextParams, in recall.Lookups, r contextprofile.Resolved, of subject, said func() (history, error),
) (recalledHits, error) {
	out, err := s.recall(ctx, p, in, r, of.session)
	if err != nil {
		return out, err
	}
	h, err := said()
	if err != nil {
		return out, err
	}
	if !r.History.IsSet() {
		out.ahead = s.readAhead(call, p.Ref.UserRef, out.found, h.tail, r)
	}
	if fills(r) {
		out.fill, err = s.gatherFill(r, in.Hidden, out.found, firstSeq(of.session, h.tail))
	}
	return out, err
}

// contextMarks are the watermarks of the session as the context has it: turns that came since it was read count for nothing. A
// session without messages has none.
func (s *ContextBuilder) contextMarks(ctx context.Context, session memory.Session) (work.Watermarks, error) {
	if session.LastSeq == 0 {
		return work.Watermarks{}, nil
	}
	waiting, err := s.store.SessionWork(ctx, session.Ref)
	if memory.IsGone(err) { // it was erased since
		return work.Watermarks{}, nil
	}
	if err != nil {
		return work.Watermarks{}, fmt.Errorf("read how far the session's work has come: %w", err)
	}
	return work.WatermarksOf(waiting).UpTo(session.LastSeq), nil
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
	reader        summaries.PeriodReader
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
func (s *ContextBuilder) repeats(ctx context.Context, r summaries.PeriodReader, period memory.SummaryNode, seen shown) (bool, error) {
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
	r summaries.PeriodReader,
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
func periodItem(r summaries.PeriodReader, n memory.SummaryNode) assembly.Summary {
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
	ask := recall.FactQuestion{Query: factrank.Query{
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

// distinct keeps each degradation once: two parts of a call may lack the same.
func distinct(all []memory.Degradation) (out []memory.Degradation) {
	for _, d := range all {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// states are what a context shows of the states of its session and user.
type states struct {
	instructions string          // with the values of the template
	state        json.RawMessage // of the session, without its notes
	notes        []assembly.Note
}

// gatherStates takes from the states of the session and the user what stands in the context, and fills the template. The
// user is read only where somebody asks for it.
func (s *ContextBuilder) gatherStates(
	ctx context.Context, p ContextParams, r contextprofile.Resolved, session json.RawMessage, id prompttags.ID,
) (out states, err error) {
	var notes []memory.Note
	out.instructions = p.Instructions
	out.state, notes = memory.SplitNotes(session)
	out.notes = notesOf(notes)
	if !r.Sections.Notes && p.Template == "" {
		return out, nil
	}
	user, err := s.store.User(ctx, p.Ref.UserRef)
	if err != nil && !memory.IsGone(err) {
		return out, fmt.Errorf("read the user's state: %w", err)
	}
	_, notes = memory.SplitNotes(user.State)
	ofUser := notesOf(notes)
	for i := range ofUser {
		ofUser[i].OfUser = true
	}
	out.notes = append(out.notes, ofUser...)
	if p.Template == "" {
		return out, nil
	}
	user.Ref = p.Ref.UserRef
	out.instructions, err = instructions(p, user, session, id)
	return out, err
}

// notesOf are the notes of a session as a context shows them.
func notesOf(notes []memory.Note) []assembly.Note {
	out := make([]assembly.Note, len(notes))
	for i, n := range notes {
		n.Time = n.Time.UTC()
		out[i] = assembly.Note{Note: n}
	}
	return out
}

// templateField is the request's field for the template of instructions.
const templateField = "instructions_template"

// instructions fills the template of a call.
func instructions(p ContextParams, user memory.User, state json.RawMessage, id prompttags.ID) (string, error) {
	who, err := memory.EncodeJSON(struct {
		ID       string          `json:"id"`
		Timezone string          `json:"timezone"`
		Language string          `json:"language,omitempty"`
		State    json.RawMessage `json:"state,omitempty"`
	}{user.Ref.UserID, cmp.Or(user.Timezone, time.UTC.String()), user.Language, memory.PlainState(user.State)})
	if err != nil {
		return "", fmt.Errorf("encode the user for a template: %w", err)
	}
	return template.Fill(p.Template, template.Options{
		Field: templateField, Fence: assembly.FencedValue(id),
		Values: template.Values{"state": memory.PlainState(state), "vars": p.Variables, "user": who},
	})
}
