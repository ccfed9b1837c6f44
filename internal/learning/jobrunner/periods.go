package jobrunner

import (
	"context"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/learning/summary/standing"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// periodRun is one look at the weeks and months of a user.
type periodRun struct{ journal *journal }

func (r *periodRun) writer() summaryWriter { return summaryWriter{r.journal} }

// maxPeriods is how many weeks or months of a user are looked at: forty years of weeks.
const maxPeriods = 2100

// periods is what is to be done about a user's weeks and months.
type periods struct {
	plans []summary.PeriodPlan // due now
	next  time.Time            // when a week or month that has something to summarise is over; zero when none has
}

// run summarises the weeks and months that are due. When none is, it stores when to look again.
func (r *periodRun) run(ctx context.Context, ref memory.UserRef) (outcome, error) {
	user, err := r.journal.o.Store.User(ctx, ref)
	if err != nil {
		return outcome{}, fmt.Errorf("read a user: %w", err)
	}
	found, err := r.due(ctx, user)
	if err != nil {
		return outcome{}, err
	}
	next, again := found.next, false
	for _, plan := range found.plans {
		if err := ctx.Err(); err != nil {
			return outcome{}, err
		}
		did, at, err := r.makeNext(ctx, user, plan)
		if err != nil {
			return outcome{}, err
		}
		next, again = earliest(next, at), again || did
	}
	if again { // months wait for their weeks
		return outcome{again: true}, nil
	}
	return r.deferUser(ctx, user, found, next)
}

// deferUser defers the user. A leaf that is stored meanwhile, and a change of the timezone or of what is hidden, sets a time
// that the deferral must not overwrite. So everything is looked at once more after a time is set that is later than any of
// theirs, and the deferral changes nothing but that time. Should the server end between the two, the next sweep finds a time
// that only a clock that was ahead can have set, and looks at the user at once.
func (r *periodRun) deferUser(ctx context.Context, user memory.User, found periods, next time.Time) (outcome, error) {
	seen := r.journal.now().Add(2 * store.LongestPeriodsLook)
	next = r.journal.latest(next, store.LongestPeriodsLook)
	deferral := store.PeriodsDeferral{User: user.Ref, Scope: user.Scope, Until: seen}
	if err := r.journal.o.Store.DeferPeriods(ctx, deferral); err != nil {
		return outcome{}, fmt.Errorf("mark a user whose weeks and months are looked at: %w", err)
	}
	user, err := r.journal.o.Store.User(ctx, user.Ref) // the timezone may have changed too
	if err != nil {
		return outcome{}, fmt.Errorf("read a user: %w", err)
	}
	now, err := r.due(ctx, user)
	if err != nil {
		return outcome{}, err
	}
	if len(now.plans) != len(found.plans) || !now.next.Equal(found.next) {
		return outcome{again: true}, nil
	}
	deferral.Seen, deferral.Until = seen, next
	if err := r.journal.o.Store.DeferPeriods(ctx, deferral); err != nil {
		return outcome{}, fmt.Errorf("set when weeks and months are looked at again: %w", err)
	}
	return outcome{next: next}, nil
}

// due reads a user's summaries and plans weeks and months.
func (r *periodRun) due(ctx context.Context, user memory.User) (periods, error) {
	marks, err := standing.ReadMarks(ctx, r.journal.o.Store, user.Ref)
	if err != nil {
		return periods{}, err
	}
	in := summary.PeriodInput{
		Now: r.journal.now(), Location: user.Location(), Checkpoint: map[string]bool{}, Corrected: marks.Corrected(), Rebuilds: marks.Rebuilds(),
	}
	weeks := store.PeriodQuery{User: user.Ref, Kind: memory.SummaryWeek, Limit: maxPeriods}
	if in.Weeks, err = r.journal.o.Store.Periods(ctx, weeks); err != nil {
		return periods{}, fmt.Errorf("read weeks: %w", err)
	}
	months := store.PeriodQuery{User: user.Ref, Kind: memory.SummaryMonth, Limit: maxPeriods}
	if in.Months, err = r.journal.o.Store.Periods(ctx, months); err != nil {
		return periods{}, fmt.Errorf("read months: %w", err)
	}
	var next time.Time
	var due []memory.SummaryNode
	err = r.eachWindow(ctx, user, func(leaves []memory.SummaryNode) {
		in.Leaves = marks.Sources(leaves)
		for _, week := range in.WeekNames() {
			in.Checkpoint[week] = true
		}
		next = earliest(next, nextEnd(in))
		due = append(due, ofDueWeeks(in)...)
	})
	in.Leaves = due
	return periods{plans: summary.PeriodsDue(in), next: next}, err
}

// leafWeeks is how many weeks of leaves are held at once.
const leafWeeks = 8

// eachWindow reads the outlines of a user's leaves, some whole weeks at a time, oldest first.
func (r *periodRun) eachWindow(ctx context.Context, user memory.User, visit func(leaves []memory.SummaryNode)) error {
	loc := user.Location()
	for q := (store.LeafQuery{User: user.Ref, Limit: 1}); ; {
		first, err := r.journal.o.Store.LeavesBetween(ctx, q)
		if err != nil {
			return fmt.Errorf("find the next leaf: %w", err)
		}
		if len(first) == 0 {
			return nil
		}
		week := summary.WeekOf(first[0].ToTime, loc)
		q.From = week.End
		for range leafWeeks - 1 {
			q.From = summary.WeekOf(q.From, loc).End
		}
		leaves, err := r.journal.o.Store.LeavesBetween(ctx, store.LeafQuery{User: user.Ref, From: week.Start, To: q.From})
		if err != nil {
			return fmt.Errorf("read leaves: %w", err)
		}
		visit(leaves)
	}
}

// ofDueWeeks are the leaves that weeks are to be made of now.
func ofDueWeeks(in summary.PeriodInput) []memory.SummaryNode {
	var out []memory.SummaryNode
	for _, plan := range summary.PeriodsDue(in) {
		if plan.Kind == memory.SummaryWeek {
			out = append(out, plan.Sources...)
		}
	}
	return out
}

// nextEnd is when the first of those weeks and months is over that are not yet and have something to summarise.
func nextEnd(in summary.PeriodInput) time.Time {
	var next time.Time
	end := func(p memory.Period) {
		if p.End.After(in.Now) {
			next = earliest(next, p.End.UTC())
		}
	}
	for _, leaf := range in.Leaves {
		week := summary.WeekOf(leaf.ToTime, in.Location)
		end(week)
		end(summary.MonthOf(week))
	}
	return next
}

// makeNext summarises a week or a month. It reports false, and when to try, where that cannot be done now.
func (r *periodRun) makeNext(ctx context.Context, user memory.User, plan summary.PeriodPlan) (did bool, at time.Time, err error) {
	now := r.journal.now()
	kind := memory.JobWeek
	if plan.Kind == memory.SummaryMonth {
		kind = memory.JobMonth
	}
	if paused := r.journal.models.pausedFor(user.Ref.Tenant, kind); paused.After(now) {
		return false, paused, nil
	}
	key := memory.JobKey{Scope: user.Scope, Kind: kind, From: summary.DayNumber(plan.Period.Start), Generation: plan.Generation}
	job, err := r.journal.open(ctx, user.Ref, key, summary.DayNumber(plan.Period.End)-1)
	if err != nil || job.State >= memory.JobParked {
		return false, time.Time{}, err
	}
	if at := r.journal.readyAt(job); at.After(now) {
		return false, at, nil
	}
	if job.Owner != r.journal.o.Owner { // it failed before, or was left behind
		if job, err = r.journal.claim(ctx, job); err != nil {
			return false, now.Add(r.journal.o.Pace.Lease), ignoreContention(err)
		}
	}
	return true, time.Time{}, r.summarize(ctx, user, plan, job)
}

// ignoreContention makes nothing of somebody else having been faster.
func ignoreContention(err error) error {
	if memory.ReasonOf(err) == memory.ReasonContention {
		return nil
	}
	return err
}

func (r *periodRun) summarize(ctx context.Context, user memory.User, plan summary.PeriodPlan, job memory.Job) (err error) {
	defer r.journal.parkPanic(ctx, job, &err)
	policy := r.journal.o.WorkOf("").Summary
	job = asAsked(job, summary.PromptID(policy.PeriodStyle, policy.MaxTokens))
	if job.State == memory.JobOpen {
		p, err := r.newPiece(ctx, user, plan, job)
		if err != nil {
			return err
		}
		if job, err = r.writer().write(ctx, p); err != nil {
			return err
		}
	}
	if job.State != memory.JobAnswered {
		return nil // put off, parked, or finished by somebody else
	}
	return r.writer().store(context.WithoutCancel(ctx), job, user.Location())
}

// newPiece is what a week or month is made of. Parts that are too much for one call are shortened, each to its
// share.
func (r *periodRun) newPiece(ctx context.Context, user memory.User, plan summary.PeriodPlan, job memory.Job) (piece, error) {
	policy := r.journal.o.WorkOf("").Summary
	start, end := plan.Period.Start.UTC(), plan.Period.End.UTC()
	p := piece{
		job: job,
		task: summary.Task{
			Kind: plan.Kind, Period: plan.Period, MaxTokens: policy.MaxTokens, Location: user.Location(), Style: policy.PeriodStyle,
		},
		node: memory.SummaryNode{
			ID: memory.EffectID(job.ID(), 0), Kind: plan.Kind, Generation: job.Generation, Rebuild: plan.Rebuild,
			Period: memory.Period{Name: plan.Period.Name, Start: start, End: end},
		},
	}
	texts, err := r.textsOf(ctx, user.Ref, plan.Sources)
	if err != nil {
		return piece{}, err
	}
	titles := map[string]string{}
	for _, n := range plan.Sources {
		if n.Text == "" { // but for a correction's
			n.Text = texts[n.ID]
		}
		title, err := r.sourceTitle(ctx, user, n, titles)
		if err != nil {
			return piece{}, err
		}
		p.add(n, title)
	}
	shorten(p.task.Parts, policy.ChunkTokens)
	return p, nil
}

// textsOf reads what summaries say, by their ids: those of a user's plans have no text.
func (r *periodRun) textsOf(ctx context.Context, user memory.UserRef, nodes []memory.SummaryNode) (map[string]string, error) {
	ids := make([]string, len(nodes))
	for i, n := range nodes {
		ids[i] = n.ID
	}
	found, err := r.journal.o.Store.Nodes(ctx, user, ids)
	if err != nil {
		return nil, fmt.Errorf("read the summaries of a week or month: %w", err)
	}
	texts := make(map[string]string, len(found))
	for _, n := range found {
		texts[n.ID] = n.Text
	}
	return texts, nil
}

// sourceTitle is a week's name, or the title of a leaf's session.
func (r *periodRun) sourceTitle(ctx context.Context, user memory.User, n memory.SummaryNode, titles map[string]string) (string, error) {
	if n.Kind != memory.SummarySession {
		return n.Period.Name, nil
	}
	if known, ok := titles[n.SessionID]; ok {
		return known, nil
	}
	work, err := r.journal.o.Store.SessionWork(ctx, user.Ref.Session(n.SessionID))
	switch {
	case memory.IsGone(err):
		titles[n.SessionID] = n.SessionID
	case err != nil:
		return "", fmt.Errorf("read a session's title: %w", err)
	default:
		titles[n.SessionID] = title(work.Session)
	}
	return titles[n.SessionID], nil
}

// shorten makes parts fit into so many tokens together; 0 is no limit.
func shorten(parts []summary.Part, room int64) {
	sum := int64(0)
	for _, p := range parts {
		sum += countTokens(p.Text)
	}
	if room <= 0 || sum <= room {
		return
	}
	for i, p := range parts {
		parts[i].Text, _ = summary.Fit(p.Text, room/int64(len(parts)), countTokens)
	}
}
