package remote

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// JobsCmd groups the commands about background work.
type JobsCmd struct {
	List   jobsListCmd   `cmd:"" help:"List jobs that are not done, the latest first."`
	Show   jobsShowCmd   `cmd:"" aliases:"get" help:"Show a job; of an erasure its receipt. It can wait until the job is done."`
	Retry  jobsRetryCmd  `cmd:"" help:"Give a job that waits or is parked a new try, or all parked ones."`
	Skip   jobsSkipCmd   `cmd:"" help:"End an extraction that is not done: nothing is learnt from its messages. Of a message that cannot be indexed: it stays unfound."`
	Revert jobsRevertCmd `cmd:"" help:"Take back what an applied extraction did to the user's facts."`
	Wait   jobsWaitCmd   `cmd:"" help:"Wait until a session's work has come as far as asked."`
}

type jobsListCmd struct {
	User    string          `help:"Only of this user."`
	Session string          `short:"s" help:"Only of this session; needs --user."`
	Kind    []string        `enum:"extract,summarize,merge,rebuild,week,month,index,reembed,reindex,verify,erase" placeholder:"KIND" help:"Only this kind: ${enum}; may be repeated."`
	State   []string        `enum:"open,answered,parked,applied,skipped,split,reverted,replaced" placeholder:"STATE" help:"Only this state: ${enum}; may be repeated. Those that are not done when none is given."`
	Limit   terminal.AtMost `default:"50" help:"The most jobs to list; 0 for all."`
}

// Run prints the jobs, page by page from the server.
func (c *jobsListCmd) Run(r *terminal.Run) error {
	if c.Session != "" && c.User == "" {
		return terminal.Usagef("--session: give --user too")
	}
	session, err := r.Session(c.User, c.Session)
	if err != nil {
		return err
	}
	c.Session = session
	all, err := terminal.ListAll(
		r, memoryv1.NewWorkServiceClient, memoryv1.WorkServiceClient.ListJobs, c.request(),
		(*memoryv1.ListJobsResponse).GetJobs, c.Limit, terminal.MaxJobs,
	)
	if err != nil {
		return err
	}
	return r.Show(all, jobViews(r, all.GetJobs(), all.GetNextPageToken()))
}

// jobViews are the forms of a list of jobs.
func jobViews(r *terminal.Run, jobs []*memoryv1.Job, nextPage string) terminal.Views {
	return terminal.Views{
		Table: func(w io.Writer) {
			r.Table(w, slices.Concat(terminal.Whole.Columns("job", "kind", "state"), terminal.Cut.Columns("user", "session"), terminal.Whole.Columns("messages", "tries"),
				terminal.Cut.Columns("again"), terminal.Whole.Columns("reason")), jobRows(jobs))
			terminal.More(r, nextPage)
		},
		Quiet: func(w io.Writer) {
			for _, j := range jobs {
				fmt.Fprintln(w, j.GetJobId())
			}
		},
	}
}

func (c *jobsListCmd) request() *memoryv1.ListJobsRequest {
	req := &memoryv1.ListJobsRequest{
		UserId: c.User, SessionId: c.Session, Kinds: jobKinds(c.Kind),
	}
	for _, s := range c.State {
		req.States = append(req.States, memoryv1.JobState(memoryv1.JobState_value["JOB_STATE_"+strings.ToUpper(s)]))
	}
	return req
}

func jobKinds(names []string) []memoryv1.JobKind {
	var kinds []memoryv1.JobKind
	for _, name := range names {
		kinds = append(kinds, memoryv1.JobKind(memoryv1.JobKind_value["JOB_KIND_"+strings.ToUpper(name)]))
	}
	return kinds
}

func jobRows(jobs []*memoryv1.Job) [][]string {
	var rows [][]string
	ids := make([]string, len(jobs))
	for i, j := range jobs {
		ids[i] = j.GetJobId()
	}
	short := terminal.ShortIDs(ids)
	for i, j := range jobs {
		rows = append(rows, []string{
			short[i], JobKindName(j), JobStateName(j), terminal.OneLine(j.GetUserId()), terminal.OneLine(j.GetSessionId()), JobSpan(j),
			fmt.Sprint(j.GetAttempts()), jobAgain(j), terminal.OneLine(j.GetReason()),
		})
	}
	return rows
}

// jobAgain is when the job is tried again by itself: "" for a parked one that waits for a person.
func jobAgain(j *memoryv1.Job) string {
	if j.GetState() == memoryv1.JobState_JOB_STATE_PARKED && !j.GetNotBefore().AsTime().After(j.GetUpdateTime().AsTime()) {
		return ""
	}
	return terminal.Clock(j.GetNotBefore())
}

// JobKindName returns the name of a kind of job.
func JobKindName(j *memoryv1.Job) string {
	return strings.ToLower(strings.TrimPrefix(j.GetKind().String(), "JOB_KIND_"))
}

// JobStateName returns the name of a job's state.
func JobStateName(j *memoryv1.Job) string {
	return strings.ToLower(strings.TrimPrefix(j.GetState().String(), "JOB_STATE_"))
}

// JobSpan is what a job is about: messages, or how far it came.
func JobSpan(j *memoryv1.Job) string {
	switch j.GetKind() {
	case memoryv1.JobKind_JOB_KIND_REEMBED:
		return fmt.Sprintf("%d of %d facts", j.GetDone(), j.GetTotal())
	case memoryv1.JobKind_JOB_KIND_REINDEX:
		return fmt.Sprintf("%d of %d feeds", j.GetDone(), j.GetTotal())
	case memoryv1.JobKind_JOB_KIND_VERIFY:
		return fmt.Sprintf("%d users", j.GetDone())
	case memoryv1.JobKind_JOB_KIND_ERASE:
		if j.GetErasure().GetKind() != memoryv1.ErasureKind_ERASURE_KIND_MESSAGES {
			return strings.ToLower(strings.TrimPrefix(j.GetErasure().GetKind().String(), "ERASURE_KIND_"))
		}
	}
	return spanText(j.GetFromSeq(), j.GetToSeq())
}

func showJob(r *terminal.Run, j *memoryv1.Job) error {
	return r.Show(j, terminal.Views{
		Table: func(w io.Writer) { r.Fields(w, jobFields(j)) },
		Quiet: func(w io.Writer) { fmt.Fprintln(w, j.GetJobId()) },
	})
}

func jobFields(j *memoryv1.Job) [][]string {
	return [][]string{
		{"job", j.GetJobId()},
		{"kind", JobKindName(j)},
		{"state", JobStateName(j)},
		{"user", terminal.OneLine(j.GetUserId())},
		{"session", terminal.OneLine(j.GetSessionId())},
		{"messages", JobSpan(j)},
		{"tries", fmt.Sprint(j.GetAttempts())},
		{"again", jobAgain(j)},
		{"reason", terminal.OneLine(j.GetReason())},
		{"model calls", fmt.Sprintf("%d, %d tokens read, %d written", j.GetModelCalls(), j.GetInputTokens(), j.GetOutputTokens())},
		{"created", terminal.Clock(j.GetCreateTime())},
		{"updated", terminal.Clock(j.GetUpdateTime())},
	}
}

type jobsRetryCmd struct {
	User   string   `arg:"" optional:"" help:"The user."`
	Job    string   `arg:"" optional:"" help:"The job's id, or the beginning of it; with --all none."`
	All    bool     `help:"Retry every parked job, of the user or of all."`
	Kind   []string `enum:"extract,summarize,merge,rebuild,week,month" placeholder:"KIND" help:"With --all only this kind: ${enum}; may be repeated."`
	Reason string   `help:"With --all only those with exactly this reason, such as transient_exhausted."`
}

// Run retries the job and prints it, or those that are parked and prints them.
func (c *jobsRetryCmd) Run(r *terminal.Run) error {
	switch {
	case c.All && c.Job != "":
		return terminal.Usagef("--all: name no job")
	case c.All:
		return c.all(r)
	case c.Job == "":
		return terminal.Usagef("name a user and a job, or give --all")
	case len(c.Kind) > 0 || c.Reason != "":
		return terminal.Usagef("--kind, --reason: give --all too")
	}
	var reply *memoryv1.RetryJobResponse
	err := terminal.CallOn(r, memoryv1.NewWorkServiceClient, func(ctx context.Context, client memoryv1.WorkServiceClient) error {
		return terminal.WithJob(ctx, client, c.User, c.Job, func(id string) (err error) {
			reply, err = client.RetryJob(ctx, &memoryv1.RetryJobRequest{UserId: c.User, JobId: id})
			return err
		})
	})
	if err != nil {
		return err
	}
	return showJob(r, reply.GetJob())
}

// all retries page by page, each job once.
func (c *jobsRetryCmd) all(r *terminal.Run) error {
	retried := &memoryv1.RetryJobsResponse{}
	req := &memoryv1.RetryJobsRequest{UserId: c.User, Kinds: jobKinds(c.Kind), Reason: c.Reason, PageSize: terminal.MaxJobs}
	err := terminal.CallOn(r, memoryv1.NewWorkServiceClient, func(ctx context.Context, client memoryv1.WorkServiceClient) error {
		for {
			page, err := client.RetryJobs(ctx, req)
			if err != nil {
				return err
			}
			retried.Jobs = append(retried.Jobs, page.GetJobs()...)
			if req.PageToken = page.GetNextPageToken(); req.PageToken == "" {
				return nil
			}
		}
	})
	if err != nil {
		return err
	}
	return r.Show(retried, jobViews(r, retried.GetJobs(), ""))
}

type jobsSkipCmd struct {
	User string `arg:"" help:"The user."`
	Job  string `arg:"" help:"The job's id, or the beginning of it."`
}

// Run skips the job and prints it.
func (c *jobsSkipCmd) Run(r *terminal.Run) error {
	var reply *memoryv1.SkipJobResponse
	err := terminal.CallOn(r, memoryv1.NewWorkServiceClient, func(ctx context.Context, client memoryv1.WorkServiceClient) error {
		return terminal.WithJob(ctx, client, c.User, c.Job, func(id string) (err error) {
			reply, err = client.SkipJob(ctx, &memoryv1.SkipJobRequest{UserId: c.User, JobId: id})
			return err
		})
	})
	if err != nil {
		return err
	}
	return showJob(r, reply.GetJob())
}

type jobsRevertCmd struct {
	User string `arg:"" help:"The user."`
	Job  string `arg:"" help:"The job's id, or the beginning of it."`
	terminal.AuthorFlag
}

// Run reverts the job and prints what became of the facts that it had changed.
func (c *jobsRevertCmd) Run(r *terminal.Run) error {
	var reply *memoryv1.RevertJobResponse
	err := terminal.CallOn(r, memoryv1.NewWorkServiceClient, func(ctx context.Context, client memoryv1.WorkServiceClient) error {
		return terminal.WithJob(ctx, client, c.User, c.Job, func(id string) (err error) {
			reply, err = client.RevertJob(ctx, &memoryv1.RevertJobRequest{UserId: c.User, JobId: id, Author: c.AuthorName(r.Env)})
			return err
		})
	})
	if err != nil {
		return err
	}
	return r.Show(reply, terminal.Views{
		Table: func(w io.Writer) {
			var rows [][]string
			for _, f := range reply.GetFacts() {
				rows = append(rows, []string{f.GetFactId(), revertOutcomeName(f.GetOutcome())})
			}
			r.Table(w, terminal.Whole.Columns("fact", "outcome"), rows)
		},
		Quiet: func(w io.Writer) { fmt.Fprintln(w, reply.GetJob().GetJobId()) },
	})
}

// revertOutcomeName is an outcome in words: kept changed by person.
func revertOutcomeName(o memoryv1.RevertOutcome) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(o.String(), "REVERT_OUTCOME_"), "_", " "))
}

type jobsWaitCmd struct {
	User    string        `arg:"" help:"The user."`
	Session string        `arg:"" help:"The session, or the beginning of its id."`
	Of      []string      `enum:"indexed,extracted,summarised" placeholder:"WORK" help:"Which work: ${enum}; may be repeated. indexed and extracted when none is given: summaries wait for a trigger."`
	Seq     int64         `help:"The message it must have come to; the last one when 0."`
	For     time.Duration `default:"5s" help:"How long to wait, whatever --timeout and the server's request-timeout are."`
}

// Run waits, prints how far the work has come, and fails when that is not far enough.
func (c *jobsWaitCmd) Run(r *terminal.Run) error {
	session, err := r.Session(c.User, c.Session)
	if err != nil {
		return err
	}
	req := &memoryv1.WaitForWatermarkRequest{UserId: c.User, SessionId: session, MinSeq: c.Seq, Timeout: durationpb.New(c.For)}
	for _, name := range c.Of {
		req.Of = append(req.Of, memoryv1.Watermark(memoryv1.Watermark_value["WATERMARK_"+strings.ToUpper(name)]))
	}
	reply, err := c.wait(r, req)
	if err != nil {
		return err
	}
	if err := r.Show(reply, terminal.Views{Table: func(w io.Writer) { c.print(r, w, reply) }, Quiet: func(io.Writer) {}}); err != nil {
		return err
	}
	if !reply.GetReached() {
		return terminal.ErrReported
	}
	return nil
}

// wait asks until the work has come as far as asked, a parked job keeps it from that, or the time is up: the server waits no longer in
// one call than its request-timeout.
func (c *jobsWaitCmd) wait(r *terminal.Run, req *memoryv1.WaitForWatermarkRequest) (*memoryv1.WaitForWatermarkResponse, error) {
	until := r.Env.Now().Add(c.For)
	for {
		reply, err := terminal.Ask(r, memoryv1.NewWorkServiceClient, memoryv1.WorkServiceClient.WaitForWatermark, req)
		left := until.Sub(r.Env.Now())
		if err != nil || reply.GetReached() || reply.GetParkedJobId() != "" || left <= 0 {
			return reply, err
		}
		req.Timeout = durationpb.New(left)
	}
}

func (c *jobsWaitCmd) print(r *terminal.Run, w io.Writer, reply *memoryv1.WaitForWatermarkResponse) {
	m := reply.GetWatermarks()
	r.Table(w, terminal.Whole.Columns("recorded", "indexed", "extracted", "summarised"), [][]string{{
		fmt.Sprint(m.GetRecorded()), fmt.Sprint(m.GetIndexed()), fmt.Sprint(m.GetExtracted()), fmt.Sprint(m.GetSummarised()),
	}})
	switch {
	case reply.GetReached():
	case reply.GetParkedJobId() != "":
		fmt.Fprintf(r.Env.Stderr, "a job is parked: strata jobs retry %s %s\n", terminal.ShellWord(c.User), reply.GetParkedJobId())
	default:
		fmt.Fprintf(r.Env.Stderr, "not reached within %s: see strata jobs list --user %s\n", c.For, terminal.ShellWord(c.User))
	}
}
