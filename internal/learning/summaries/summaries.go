// Package summaries reads the summaries of sessions, weeks and months, and changes them for people.
package summaries

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/learning/summary/standing"
	"github.com/stratamem/strata/internal/learning/work"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// SummaryReader reads the summaries of sessions, weeks and months. Its methods may be called concurrently.
type SummaryReader struct {
	store   SummaryStore
	work    *work.Work
	runner  work.Runner
	budgets Budgets
}

// SummaryStore is what a SummaryReader reads of the primary store.
type SummaryStore interface {
	Session(ctx context.Context, ref memory.SessionRef) (memory.Session, error)
	User(ctx context.Context, ref memory.UserRef) (memory.User, error)
	Messages(ctx context.Context, q store.MessageQuery) ([]memory.Message, error)
	standing.NodeReader
	standing.MarkReader
	TopNodes(ctx context.Context, ref memory.SessionRef, upTo int64) ([]memory.SummaryNode, error)
	Periods(ctx context.Context, q store.PeriodQuery) ([]memory.SummaryNode, error)
	RecentSessions(ctx context.Context, q store.RecentQuery) ([]store.SessionSummary, error)
	SummaryRevisions(ctx context.Context, q store.RevisionQuery) ([]memory.SummaryRevision, error)
}

// Budgets are the tenants' budgets of models.
type Budgets interface {
	// Check must refuse with LIMIT_EXCEEDED where the tenant may ask no model now.
	Check(ctx context.Context, tenant string) error
}

// SummaryReaderOptions are what a SummaryReader needs.
type SummaryReaderOptions struct {
	Store   SummaryStore
	Work    *work.Work
	Runner  work.Runner
	Budgets Budgets
}

// NewSummaryReader makes a SummaryReader.
func NewSummaryReader(o SummaryReaderOptions) *SummaryReader {
	return &SummaryReader{store: o.Store, work: o.Work, runner: o.Runner, budgets: o.Budgets}
}

// SummaryRef names what a summary is of: a session, or a week or month by its name.
type SummaryRef struct {
	User      memory.UserRef
	Kind      memory.SummaryKind
	SessionID string // of a SummarySession
	Name      string // of a week or month: 2026-W47 or 2026-11
}

// Summary is the summary of a session, a week or a month.
type Summary struct {
	Kind       memory.SummaryKind
	SessionID  string
	Name       string // the session's title, or the period's name
	Text       string
	Through    int64 // the last message that is covered; 0 of periods
	Start, End time.Time
	Nodes      []memory.SummaryNode   // what it is made of, oldest first
	Rebuilding bool                   // it is to be written anew, or a part of it
	Revision   memory.SummaryRevision // what persons made of it; the zero one for nothing
	Withheld   bool                   // its correction must not stand: see summary.Marks.IsWithheld
	Tokens     int64                  // of Text by o200k_base
	Place      SummaryCursor          // in the order of ListSummaries
}

// Summary returns the running summary of a session, or that of a week or month; SUMMARY_NOT_FOUND when there is none yet.
func (s *SummaryReader) Summary(ctx context.Context, ref SummaryRef) (Summary, error) {
	if ref.Kind == memory.SummarySession {
		return s.sessionSummary(ctx, ref.User.Session(ref.SessionID))
	}
	return s.periodSummary(ctx, ref)
}

func (s *SummaryReader) sessionSummary(ctx context.Context, ref memory.SessionRef) (Summary, error) {
	session, err := s.store.Session(ctx, ref)
	if err != nil {
		return Summary{}, fmt.Errorf("read session: %w", err)
	}
	nodes, err := s.store.TopNodes(ctx, ref, session.LastSeq)
	if err != nil {
		return Summary{}, fmt.Errorf("read summaries: %w", err)
	}
	marks, err := standing.ReadMarks(ctx, s.store, ref.UserRef)
	if err != nil {
		return Summary{}, err
	}
	out, ok, err := s.Running(ctx, ref.UserRef, store.SessionSummary{
		SessionID: ref.SessionID, Title: session.Title, LastSeq: session.LastSeq, Nodes: nodes,
	}, marks)
	if err != nil {
		return Summary{}, err
	}
	if !ok {
		return Summary{}, NoSessionSummary(ref.SessionID)
	}
	return out.worded(), nil
}

// Running returns the running summary of a session, not worded yet: the fewest nodes that cover all of its messages
// up to one but for those that cover hidden ones, false when there are none.
func (s *SummaryReader) Running(
	ctx context.Context,
	user memory.UserRef,
	in store.SessionSummary,
	marks summary.Marks,
) (Summary, bool, error) {
	frontier := summary.Frontier(in.Nodes, summary.Boundary(in.Nodes, in.LastSeq, 0))
	if len(frontier) == 0 {
		return Summary{}, false, nil
	}
	covered := frontier[len(frontier)-1].Range.To
	view := marks.Of(frontier[0].Session)
	nodes, err := standing.Summaries(ctx, s.store, user.Session(in.SessionID), view, frontier)
	if err != nil || len(nodes) == 0 {
		return Summary{}, false, err
	}
	if last := &nodes[len(nodes)-1]; last.Range.To > covered { // a correction that stands for what is to stand raw, too
		last.Range.To = covered
	}
	start, err := s.begin(ctx, user.Session(in.SessionID), nodes)
	if err != nil {
		return Summary{}, false, err
	}
	revision := marks.OfSession(frontier[0].Session)
	return Summary{
		Kind: memory.SummarySession, SessionID: in.SessionID, Name: in.Title, Through: nodes[len(nodes)-1].Range.To,
		Start: start, End: nodes[len(nodes)-1].ToTime, Nodes: nodes, Place: SummaryCursor{Time: in.LastTime, SessionID: in.SessionID},
		Rebuilding: slices.ContainsFunc(frontier, view.IsDue), Revision: revision, Withheld: marks.IsWithheld(revision),
	}, true, nil
}

// begin is when the first message was created that nodes cover: the one node of the recursive form names only the
// time of its own messages.
func (s *SummaryReader) begin(ctx context.Context, ref memory.SessionRef, nodes []memory.SummaryNode) (time.Time, error) {
	first := nodes[0].FromTime
	for _, n := range nodes[1:] {
		if n.FromTime.Before(first) {
			first = n.FromTime
		}
	}
	if !nodes[0].Cumulative || nodes[0].Range.From == 1 {
		return first, nil
	}
	messages, err := s.store.Messages(ctx, store.MessageQuery{Ref: ref, Before: nodes[0].Range.From, Limit: 1})
	if err != nil {
		return time.Time{}, fmt.Errorf("read the first message: %w", err)
	}
	if len(messages) > 0 && messages[0].SaidTime().Before(first) {
		first = messages[0].SaidTime()
	}
	return first, nil
}

// worded fills in the text and its tokens.
func (s Summary) worded() Summary {
	s.Text = Joined(s.Nodes)
	s.Tokens = textTokens(s.Text, s.Nodes)
	return s
}

// Joined returns the texts of summaries as one.
func Joined(nodes []memory.SummaryNode) string {
	texts := make([]string, len(nodes))
	for i, n := range nodes {
		texts[i] = n.Text
	}
	return strings.Join(texts, "\n\n")
}

// textTokens counts joined texts; the count of a single one is stored with it.
func textTokens(text string, nodes []memory.SummaryNode) int64 {
	if len(nodes) == 1 {
		return nodes[0].Tokens.O200K
	}
	return tokens.CountMessage(memory.Message{Parts: []memory.Part{memory.TextPart(text)}}).O200K
}

// periodReach is how far a stored period's start may lie from the same period's start in another timezone.
const periodReach = 36 * time.Hour

// periodSummary finds a period by its name: the user's timezone may have changed since it was summarised.
func (s *SummaryReader) periodSummary(ctx context.Context, ref SummaryRef) (Summary, error) {
	user, err := s.store.User(ctx, ref.User)
	if err != nil {
		return Summary{}, fmt.Errorf("read user: %w", err)
	}
	period, err := ParsePeriod(ref, user)
	if err != nil {
		return Summary{}, err
	}
	found, err := s.store.Periods(ctx, PeriodsNear(ref, period))
	if err != nil {
		return Summary{}, fmt.Errorf("read summaries of periods: %w", err)
	}
	marks, err := standing.ReadMarks(ctx, s.store, ref.User)
	if err != nil {
		return Summary{}, err
	}
	found, err = s.StandingPeriods(ctx, PeriodReader{User: ref.User, Location: user.Location(), Marks: marks}, found)
	if err != nil {
		return Summary{}, err
	}
	for _, node := range found {
		if node.Period.Name == period.Name {
			return ofPeriod(node, marks), nil
		}
	}
	return Summary{}, NoPeriodSummary(period.Name)
}

// ParsePeriod returns the week or month that a reference names, in the timezone of the user.
func ParsePeriod(ref SummaryRef, user memory.User) (memory.Period, error) {
	period, err := summary.ParsePeriod(ref.Kind, ref.Name, user.Location())
	if err != nil {
		return period, memory.InvalidField("name", "names no week such as 2026-W47 or month such as 2026-11 of the kind asked for")
	}
	return period, nil
}

// PeriodsNear asks for a period, in whichever timezone it was written.
func PeriodsNear(ref SummaryRef, period memory.Period) store.PeriodQuery {
	return store.PeriodQuery{
		User: ref.User, Kind: ref.Kind, From: period.Start.Add(-periodReach), Before: period.Start.Add(periodReach), Limit: 2,
	}
}

func ofPeriod(n memory.SummaryNode, marks summary.Marks) Summary {
	revision := marks.OfPeriod(n.Kind, n.Period.Name)
	return Summary{
		Revision: revision, Withheld: marks.IsWithheld(revision), Rebuilding: n.Model != memory.PersonModel && n.Rebuild < revision.Rebuilds,
		Kind: n.Kind, Name: n.Period.Name, Text: n.Text, Start: n.Period.Start, End: n.Period.End,
		Nodes: []memory.SummaryNode{n}, Tokens: n.Tokens.O200K, Place: SummaryCursor{Time: n.Period.Start},
	}
}

// NoSessionSummary is the error of a session that has no summary, and says how there comes to be one.
func NoSessionSummary(id string) error {
	return noSummary("session "+id,
		"it is summarised in the background once it has enough messages, or at once by Summarize: strata summaries now USER "+id)
}

// NoPeriodSummary is the error of a week or month that has no summary, and says how there comes to be one.
func NoPeriodSummary(name string) error {
	return noSummary(name,
		"weeks and months are summarised in the background once they are over, from the summaries of their sessions, which "+
			"strata summaries now USER SESSION makes at once")
}

func noSummary(of, hint string) error {
	return &memory.Error{
		Kind: memory.KindNotFound, Reason: memory.ReasonSummaryNotFound,
		Message: "there is no summary of " + of + " yet; " + hint, Metadata: map[string]string{"of": of},
	}
}

// SummaryQuery asks for a page of a user's summaries of one kind.
type SummaryQuery struct {
	User memory.UserRef
	Kind memory.SummaryKind
	// Review asks for those whose correction is withheld, the latest written first, whatever stands in its place.
	Review bool
	Limit  int
	After  *SummaryCursor // nil for the first page
}

// SummaryCursor is a place in the order of ListSummaries.
type SummaryCursor struct {
	// Time is the create time of a session's last covered message, or the start of a period; where Review is asked for, when the
	// correction was written.
	Time      time.Time
	SessionID string // "" of a period; where Review is asked for, its name
}

// ListSummaries returns a page of summaries, the latest first, and where the next page begins: nil at the end. A session
// whose first messages are not summarised yet has no running summary and is passed over.
func (s *SummaryReader) ListSummaries(ctx context.Context, q SummaryQuery) ([]Summary, *SummaryCursor, error) {
	if q.Review {
		return s.listWithheld(ctx, q)
	}
	if q.Kind == memory.SummarySession {
		return s.listSessionSummaries(ctx, q)
	}
	return s.listPeriods(ctx, q)
}

func (s *SummaryReader) listSessionSummaries(ctx context.Context, q SummaryQuery) ([]Summary, *SummaryCursor, error) {
	recent := store.RecentQuery{User: q.User, Limit: q.Limit + 1}
	if q.After != nil {
		recent.After = &store.SessionCursor{Time: q.After.Time, SessionID: q.After.SessionID}
	}
	found, err := s.store.RecentSessions(ctx, recent)
	if err != nil {
		return nil, nil, fmt.Errorf("list summaries of sessions: %w", err)
	}
	var next *SummaryCursor
	if len(found) > q.Limit {
		found = found[:q.Limit]
		next = &SummaryCursor{Time: found[q.Limit-1].LastTime, SessionID: found[q.Limit-1].SessionID}
	}
	marks, err := standing.ReadMarks(ctx, s.store, q.User)
	if err != nil {
		return nil, nil, err
	}
	var out []Summary
	for _, f := range found {
		r, ok, err := s.Running(ctx, q.User, f, marks)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			out = append(out, r.worded())
		}
	}
	return out, next, nil
}

func (s *SummaryReader) listPeriods(ctx context.Context, q SummaryQuery) ([]Summary, *SummaryCursor, error) {
	periods := store.PeriodQuery{User: q.User, Kind: q.Kind, Limit: q.Limit + 1}
	if q.After != nil {
		periods.Before = q.After.Time
	}
	found, err := s.store.Periods(ctx, periods)
	if err != nil {
		return nil, nil, fmt.Errorf("list summaries of periods: %w", err)
	}
	var next *SummaryCursor
	if len(found) > q.Limit {
		found = found[:q.Limit]
		next = &SummaryCursor{Time: found[q.Limit-1].Period.Start}
	}
	user, err := s.store.User(ctx, q.User)
	if err != nil && !memory.IsGone(err) {
		return nil, nil, fmt.Errorf("read user: %w", err)
	}
	marks, err := standing.ReadMarks(ctx, s.store, q.User)
	if err != nil {
		return nil, nil, err
	}
	found, err = s.StandingPeriods(ctx, PeriodReader{User: q.User, Location: user.Location(), Marks: marks}, found)
	if err != nil {
		return nil, nil, err
	}
	out := make([]Summary, len(found))
	for i, n := range found {
		out[i] = ofPeriod(n, marks)
	}
	return out, next, nil
}

// Summarize summarises now what the session holds and no summary covers. It returns the summary as it is once every
// message is covered, or, with complete false, when a parked job is in the way or the call's time is almost up.
func (s *SummaryReader) Summarize(ctx context.Context, ref memory.SessionRef) (out *Summary, complete bool, err error) {
	s.runner.Hurry(ref, memory.JobLeaf)
	wait := work.Wait{Ref: ref, Of: []work.Watermark{work.WatermarkSummarised}}
	now, err := s.work.WaitForWatermark(ctx, wait)
	if err == nil && !now.Reached { // else no model is needed
		err = s.budgets.Check(ctx, ref.Tenant)
	}
	if err != nil {
		return nil, false, err
	}
	wait.Timeout = work.LongestWait
	waited, err := s.work.WaitForWatermark(ctx, wait)
	if err != nil {
		return nil, false, err
	}
	found, err := s.sessionSummary(ctx, ref)
	if memory.ReasonOf(err) == memory.ReasonSummaryNotFound {
		return nil, waited.Reached, nil
	}
	if err != nil {
		return nil, false, err
	}
	return &found, waited.Reached, nil
}
