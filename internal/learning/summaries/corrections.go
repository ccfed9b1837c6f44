package summaries

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/contexts/contextprofile/sessionguards"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/learning/summary/standing"
	"github.com/stratamem/strata/internal/learning/work"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// SummaryEditor changes summaries for people. Its methods may be called concurrently.
type SummaryEditor struct {
	store     SummaryEditorStore
	summaries *SummaryReader
	profiles  contextprofile.Set
	secrets   sessionguards.Masks
	runner    work.Runner
	now       store.Now
}

// SummaryEditorStore is what a SummaryEditor reads and writes of the primary store.
type SummaryEditorStore interface {
	Session(ctx context.Context, ref memory.SessionRef) (memory.Session, error)
	User(ctx context.Context, ref memory.UserRef) (memory.User, error)
	standing.MarkReader
	TopNodes(ctx context.Context, ref memory.SessionRef, upTo int64) ([]memory.SummaryNode, error)
	Periods(ctx context.Context, q store.PeriodQuery) ([]memory.SummaryNode, error)
	LeavesBetween(ctx context.Context, q store.LeafQuery) ([]memory.SummaryNode, error)
	SummaryRevisions(ctx context.Context, q store.RevisionQuery) ([]memory.SummaryRevision, error)
	ChangeSummary(ctx context.Context, w store.SummaryWrite) (memory.SummaryRevision, error)
}

// SummaryEditorOptions are what a SummaryEditor needs.
type SummaryEditorOptions struct {
	Store     SummaryEditorStore
	Summaries *SummaryReader
	Profiles  contextprofile.Set
	Runner    work.Runner
	Now       func() time.Time
}

// NewSummaryEditor makes a SummaryEditor.
func NewSummaryEditor(o SummaryEditorOptions) *SummaryEditor {
	return &SummaryEditor{
		store: o.Store, summaries: o.Summaries, profiles: o.Profiles, secrets: sessionguards.NewMasks(o.Store, o.Profiles), runner: o.Runner,
		now: o.Now,
	}
}

// SummaryChange is what a person does to a summary.
type SummaryChange struct {
	SummaryRef
	Cause     memory.SummaryCause
	Text      string // of SummaryCorrected
	Restore   int64  // the revision whose text SummaryRestored takes back into use
	ETag      string // "" to change whatever is there
	Author    string `json:"-"` // "" for none; a repeat is one whoever makes it
	RequestID string // "" for none; a repeat changes nothing and returns the summary as it is now
}

// ETag changes with what the summary says, whoever changed it.
func (s Summary) ETag() string {
	ids := make([]string, len(s.Nodes))
	for i, n := range s.Nodes {
		ids[i] = n.ID
	}
	sum := memory.IDDigest(fmt.Sprint(s.Revision.Revision, s.Withheld, ids))
	return fmt.Sprintf("%x", sum[:8])
}

// ChangeSummary does what a person wants done to a summary, and returns it as it is now: none where background work has yet to
// write it.
func (s *SummaryEditor) ChangeSummary(ctx context.Context, c SummaryChange) (*Summary, error) {
	if c.Text != "" {
		mask, err := s.maskOf(ctx, c.SummaryRef)
		if err != nil {
			return nil, err
		}
		c.Text = mask.Words(c.Text) // before a digest is made of it
	}
	digest, err := c.digest()
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		done, err := s.changeSummary(ctx, c, digest)
		if memory.ReasonOf(err) == memory.ReasonContention && try < store.MaxDecisions {
			continue
		}
		if err != nil {
			return nil, err
		}
		s.runner.LookAgain(c.User, c.SessionID)
		return done, nil
	}
}

// maskOf returns where the secrets of a summary are masked; those of weeks and months follow the default profile.
func (s *SummaryEditor) maskOf(ctx context.Context, ref SummaryRef) (contextprofile.MaskSecrets, error) {
	if ref.Kind == memory.SummarySession {
		return s.secrets.OfSession(ctx, ref.User.Session(ref.SessionID))
	}
	return s.profiles.SecretsOf(""), nil
}

// digest differs for another request of the same id.
func (c SummaryChange) digest() (memory.Digest, error) {
	c.RequestID = ""
	body, err := json.Marshal(c)
	if err != nil {
		return memory.Digest{}, fmt.Errorf("encode a change of a summary: %w", err)
	}
	return memory.IDDigest(string(body)), nil
}

func (s *SummaryEditor) changeSummary(ctx context.Context, c SummaryChange, digest memory.Digest) (*Summary, error) {
	found, err := s.changing(ctx, c.SummaryRef)
	if err != nil {
		return nil, err
	}
	w := store.SummaryWrite{
		User: c.User, Scope: found.scope, Base: found.last.Revision, RequestID: c.RequestID, RequestDigest: digest, Time: s.now.Stored(),
	}
	refusal := found.refuses(c)
	if refusal == nil {
		w.Revision, refusal = s.revise(ctx, c, found)
	}
	if refusal != nil {
		if c.RequestID == "" {
			return nil, refusal
		}
		w.Base, w.Revision = never, found.last // the repeat of a call that was done is known all the same
	}
	_, err = s.store.ChangeSummary(ctx, w)
	if refusal != nil && memory.ReasonOf(err) == memory.ReasonContention {
		return nil, refusal
	}
	if err != nil {
		return nil, fmt.Errorf("change summary: %w", err)
	}
	now, err := s.summaries.Summary(ctx, c.SummaryRef)
	if memory.ReasonOf(err) == memory.ReasonSummaryNotFound {
		return nil, nil //nolint:nilnil // there is none until it is rebuilt
	}
	return &now, err
}

// never is no revision's number.
const never = -1

// changing is what a change of a summary is decided against.
type changing struct {
	scope   memory.ScopeKey
	marks   summary.Marks
	last    memory.SummaryRevision // names the summary, also where no person changed it yet
	now     *Summary               // nil when none stands
	session memory.Session         // of a session's
	period  memory.Period          // of a week or month
	maximum int64                  // tokens of a correction
}

func (s *SummaryEditor) changing(ctx context.Context, ref SummaryRef) (c changing, err error) {
	if c.marks, err = standing.ReadMarks(ctx, s.store, ref.User); err != nil {
		return c, err
	}
	profile := ""
	if ref.Kind == memory.SummarySession {
		if c.session, err = s.store.Session(ctx, ref.User.Session(ref.SessionID)); err != nil {
			return c, fmt.Errorf("read session: %w", err)
		}
		c.scope, profile = c.session.ScopeKey, c.session.Profile
		c.last = c.marks.OfSession(c.session.Key)
		c.last.Session, c.last.SessionID = c.session.Key, ref.SessionID
	} else {
		user, err := s.store.User(ctx, ref.User)
		if err != nil {
			return c, fmt.Errorf("read user: %w", err)
		}
		if c.period, err = ParsePeriod(ref, user); err != nil {
			return c, err
		}
		c.scope = user.Scope
		c.last = c.marks.OfPeriod(ref.Kind, c.period.Name)
		c.last.Period = c.period.Name
	}
	c.last.Kind, c.maximum = ref.Kind, s.profiles.WorkOf(profile).Summary.MaxTokens
	now, err := s.summaries.Summary(ctx, ref)
	switch {
	case err == nil:
		c.now = &now
	case memory.ReasonOf(err) != memory.ReasonSummaryNotFound:
		return c, err
	case c.last.Revision == 0:
		if written, lookErr := s.wasWritten(ctx, ref, c); lookErr != nil || !written {
			return c, cmp.Or(lookErr, err)
		}
	}
	return c, nil
}

// wasWritten reports whether background work ever wrote a summary, that does not stand now.
func (s *SummaryEditor) wasWritten(ctx context.Context, ref SummaryRef, c changing) (bool, error) {
	if ref.Kind == memory.SummarySession {
		nodes, err := s.store.TopNodes(ctx, ref.User.Session(ref.SessionID), c.session.LastSeq)
		if err != nil {
			return false, fmt.Errorf("read summaries: %w", err)
		}
		return len(nodes) > 0, nil
	}
	found, err := s.store.Periods(ctx, PeriodsNear(ref, c.period))
	if err != nil {
		return false, fmt.Errorf("read summaries of periods: %w", err)
	}
	return slices.ContainsFunc(found, func(n memory.SummaryNode) bool { return n.Period.Name == c.period.Name }), nil
}

// refuses checks a change against the summary as it is.
func (c changing) refuses(change SummaryChange) error {
	etag := ""
	if c.now != nil {
		etag = c.now.ETag()
	}
	if change.ETag == "" || change.ETag == etag {
		return nil
	}
	return &memory.Error{
		Kind: memory.KindConflict, Reason: memory.ReasonETagMismatch,
		Message:  "the summary's etag is " + strconv.Quote(etag) + ", not " + strconv.Quote(change.ETag) + "; read it again and retry",
		Metadata: map[string]string{"etag": change.ETag, "current_etag": etag},
	}
}

// revise is the next revision.
func (s *SummaryEditor) revise(ctx context.Context, change SummaryChange, c changing) (r memory.SummaryRevision, err error) {
	r = c.last
	r.Cause, r.Author = change.Cause, change.Author
	switch change.Cause {
	case memory.SummaryRebuilt:
		r.Rebuilds++
		if r.Text == "" { // what was deleted may be written again
			r.Covers = nil
		}
		return r, nil
	case memory.SummaryLifted:
		if r.Text == "" {
			return r, memory.InvalidField(
				"revision",
				"is 0, which takes back a correction, and the summary has none; ListSummaryRevisions names what may be restored",
			)
		}
		r.Text, r.Tokens, r.Covers = "", memory.TokenCounts{}, nil
		return r, nil
	case memory.SummaryRestored:
		return s.restored(ctx, change, r)
	}
	r.Text = change.Text
	r.Tokens = tokens.CountMessage(memory.Message{Parts: []memory.Part{memory.TextPart(r.Text)}})
	if r.Tokens.O200K > c.maximum {
		return r, memory.InvalidField(
			"summary.text",
			"has %d tokens; the summaries of this profile have at most %d (summaries.max-tokens): shorten it",
			r.Tokens.O200K,
			c.maximum,
		)
	}
	if change.Kind == memory.SummarySession {
		return c.ofSession(r)
	}
	return s.ofPeriod(ctx, change, c, r)
}

// restored takes an earlier correction back into use, with what it stood for: what was hidden since still withholds it.
func (s *SummaryEditor) restored(ctx context.Context, change SummaryChange, r memory.SummaryRevision) (memory.SummaryRevision, error) {
	all, err := s.store.SummaryRevisions(
		ctx,
		store.RevisionQuery{User: change.User, Kind: r.Kind, Session: r.Session, Period: r.Period, Limit: MaxSummaryRevisions},
	)
	if err != nil {
		return r, fmt.Errorf("read revisions of a summary: %w", err)
	}
	for _, old := range all {
		if old.Revision == change.Restore && old.Text != "" {
			r.Text, r.Tokens, r.Covers, r.FromTime, r.ToTime = old.Text, old.Tokens, old.Covers, old.FromTime, old.ToTime
			return r, nil
		}
	}
	return r, memory.InvalidField(
		"revision",
		"is %d, which is no correction of the summary; ListSummaryRevisions names those it has",
		change.Restore,
	)
}

// ofSession has a correction cover all that the summary covers, and what the one before it did.
func (c changing) ofSession(r memory.SummaryRevision) (memory.SummaryRevision, error) {
	last := int64(0)
	for _, covered := range r.Covers {
		last = covered.Range.To
	}
	if c.now != nil && c.now.Through >= last {
		last, r.FromTime, r.ToTime = c.now.Through, c.now.Start, c.now.End
	}
	if last == 0 {
		return r, NoSessionSummary(r.SessionID)
	}
	r.Covers = []memory.Covered{c.marks.Covered(r.Session, memory.SeqRange{From: 1, To: last})}
	return r, nil
}

// ofPeriod has a correction cover all that any summary of the period was or will be made of now.
func (s *SummaryEditor) ofPeriod(
	ctx context.Context,
	change SummaryChange,
	c changing,
	r memory.SummaryRevision,
) (memory.SummaryRevision, error) {
	leaves, err := s.store.LeavesBetween(ctx, store.LeafQuery{User: change.User, From: c.period.Start, To: c.period.End})
	if err != nil {
		return r, fmt.Errorf("read what the period is made of: %w", err)
	}
	r.FromTime, r.ToTime, r.Covers = c.period.Start.UTC(), c.period.End.UTC(), c.marks.CoversOf(leaves)
	return r, nil
}

// MaxSummaryRevisions is how many revisions of a summary are listed.
const MaxSummaryRevisions = 200

// SummaryRevisions returns what persons made of a summary, the latest first.
func (s *SummaryReader) SummaryRevisions(ctx context.Context, ref SummaryRef) ([]memory.SummaryRevision, error) {
	q := store.RevisionQuery{User: ref.User, Kind: ref.Kind, Limit: MaxSummaryRevisions}
	if ref.Kind == memory.SummarySession {
		session, err := s.store.Session(ctx, ref.User.Session(ref.SessionID))
		if err != nil {
			return nil, fmt.Errorf("read session: %w", err)
		}
		q.Session = session.Key
	} else {
		user, err := s.store.User(ctx, ref.User)
		if err != nil {
			return nil, fmt.Errorf("read user: %w", err)
		}
		period, err := ParsePeriod(ref, user)
		if err != nil {
			return nil, err
		}
		q.Period = period.Name
	}
	all, err := s.store.SummaryRevisions(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read revisions of a summary: %w", err)
	}
	return all, nil
}

// listWithheld lists the summaries whose correction is withheld.
func (s *SummaryReader) listWithheld(ctx context.Context, q SummaryQuery) ([]Summary, *SummaryCursor, error) {
	marks, err := standing.ReadMarks(ctx, s.store, q.User)
	if err != nil {
		return nil, nil, err
	}
	place := func(r memory.SummaryRevision) SummaryCursor {
		return SummaryCursor{Time: r.CreateTime, SessionID: cmp.Or(r.SessionID, r.Period)}
	}
	order := func(a, b SummaryCursor) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.SessionID, b.SessionID))
	}
	withheld := slices.DeleteFunc(slices.Clone(marks.Revisions), func(r memory.SummaryRevision) bool {
		return r.Kind != q.Kind || !marks.IsWithheld(r) || q.After != nil && order(place(r), *q.After) <= 0
	})
	slices.SortFunc(withheld, func(a, b memory.SummaryRevision) int { return order(place(a), place(b)) })
	var next *SummaryCursor
	if len(withheld) > q.Limit {
		withheld = withheld[:q.Limit]
		at := place(withheld[q.Limit-1])
		next = &at
	}
	var out []Summary
	for _, r := range withheld {
		found, err := s.Summary(ctx, SummaryRef{User: q.User, Kind: r.Kind, SessionID: r.SessionID, Name: r.Period})
		switch {
		case memory.ReasonOf(err) == memory.ReasonSummaryNotFound:
			found = Summary{Kind: r.Kind, SessionID: r.SessionID, Name: r.Period, Start: r.FromTime, End: r.ToTime, Revision: r, Withheld: true}
		case err != nil:
			return nil, nil, err
		}
		found.Place = place(r)
		out = append(out, found)
	}
	return out, next, nil
}
