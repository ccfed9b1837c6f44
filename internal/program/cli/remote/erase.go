package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// erasureFlags are the flags of every command that erases.
type erasureFlags struct {
	RequestID string        `name:"request-id" placeholder:"ID" help:"Your id of this call: a repeat erases nothing and shows the receipt."`
	Wait      time.Duration `default:"2s" help:"Wait so long at most until every store was swept, whatever --timeout and the server's request-timeout are; strata jobs show waits on."`
}

func (f erasureFlags) wait() *durationpb.Duration { return terminal.SentWait(f.Wait) }

// erased is the reply of a call that erases.
type erased interface {
	GetJob() *memoryv1.Job
	GetExtent() *memoryv1.ErasureExtent
}

// erasing is something that is to be erased.
type erasing struct {
	what string // in words
	name string // what is typed to confirm
	wait time.Duration
	call func(validateOnly bool) (erased, error)
}

// erasingBy is the call of one of the server's services that erases.
func erasingBy[C, Q any, P erased](
	r *terminal.Run, newClient func(grpc.ClientConnInterface) C, rpc func(C, context.Context, Q, ...grpc.CallOption) (P, error),
	request func(validateOnly bool) Q,
) func(validateOnly bool) (erased, error) {
	return func(validateOnly bool) (erased, error) { return terminal.Ask(r, newClient, rpc, request(validateOnly)) }
}

// erase shows what would go, asks, erases, and shows the receipt.
func erase(r *terminal.Run, f terminal.ConfirmFlags, e erasing) error {
	if f.DryRun || !f.Yes {
		would, err := e.call(true)
		if err != nil {
			return err
		}
		if f.DryRun {
			return showExtent(r, would.GetExtent())
		}
		asked := fmt.Sprintf("This erases %s for good: %s, and what was made of them.", e.what, extentText(would.GetExtent()))
		if err := terminal.Confirm(r, asked, e.name); err != nil {
			return err
		}
	}
	until := r.Env.Now().Add(e.wait)
	reply, err := e.call(false)
	if err != nil {
		return err
	}
	job, err := waited(r, reply.GetJob(), until)
	return errors.Join(err, showErasure(r, job))
}

// waited returns the job once it is done or parked, or as it is when the time is up: the server waits no longer in one call than its
// request-timeout, so it is asked again. After an error the job is returned as it was last seen.
func waited(r *terminal.Run, j *memoryv1.Job, until time.Time) (*memoryv1.Job, error) {
	for since := r.Env.Now(); isUnderWay(j); {
		left := terminal.BeforeNext(r, since, until)
		if left <= 0 {
			break
		}
		reply, err := terminal.Ask(r, memoryv1.NewWorkServiceClient, memoryv1.WorkServiceClient.GetJob,
			&memoryv1.GetJobRequest{UserId: j.GetUserId(), JobId: j.GetJobId(), Wait: durationpb.New(left)})
		if err != nil {
			return j, err
		}
		j = reply.GetJob()
	}
	return j, nil
}

// isUnderWay reports whether a job goes on by itself.
func isUnderWay(j *memoryv1.Job) bool {
	return j.GetState() == memoryv1.JobState_JOB_STATE_OPEN || j.GetState() == memoryv1.JobState_JOB_STATE_ANSWERED
}

func extentText(x *memoryv1.ErasureExtent) string {
	if x.GetSummaries() > 0 {
		return terminal.Counted(x.GetSummaries(), "summary")
	}
	text := terminal.Counted(x.GetMessages(), "message") + ", " + terminal.Counted(x.GetFacts(), "fact")
	if x.GetSessions() > 0 {
		text = terminal.Counted(x.GetSessions(), "session") + ", " + text
	}
	if x.GetDocuments() > 0 {
		text += ", " + terminal.Counted(x.GetDocuments(), "document")
	}
	return text
}

func showExtent(r *terminal.Run, x *memoryv1.ErasureExtent) error {
	return r.Show(x, terminal.Views{
		Table: func(w io.Writer) { fmt.Fprintf(w, "would erase %s, and what was made of them\n", extentText(x)) },
		Quiet: func(w io.Writer) { fmt.Fprintln(w, x.GetMessages()) },
	})
}

// showErasure prints the receipt.
func showErasure(r *terminal.Run, j *memoryv1.Job) error {
	return r.Show(j, terminal.Views{
		Table: func(w io.Writer) {
			printReceipt(r, w, j)
			if j.GetState() == memoryv1.JobState_JOB_STATE_OPEN {
				fmt.Fprintf(r.Env.Stderr, "erased; what is left in the stores is deleted in the background: strata jobs show %s %s --wait 30s\n",
					terminal.ShellWord(j.GetUserId()), j.GetJobId())
			}
		},
		Quiet: func(w io.Writer) { fmt.Fprintln(w, j.GetJobId()) },
	})
}

func printReceipt(r *terminal.Run, w io.Writer, j *memoryv1.Job) {
	r.Fields(w, erasureFields(j))
	terminal.PrintStores(r, w, j.GetErasure().GetStores())
}

func erasureFields(j *memoryv1.Job) [][]string {
	fields := [][]string{
		{"job", j.GetJobId()},
		{"erased", strings.ToLower(strings.TrimPrefix(j.GetErasure().GetKind().String(), "ERASURE_KIND_"))},
		{"state", JobStateName(j)},
	}
	if n := j.GetErasure().GetMessages(); n > 0 {
		fields = append(fields, []string{"messages", fmt.Sprintf("%d, of %s", n, spanText(j.GetFromSeq(), j.GetToSeq()))})
	}
	if j.GetReason() != "" {
		fields = append(fields, []string{"failed last", fmt.Sprintf("%s, tries again %s", terminal.OneLine(j.GetReason()), terminal.Clock(j.GetNotBefore()))})
	}
	if done := j.GetErasure().GetDoneTime(); done != nil {
		fields = append(fields, []string{"done", terminal.Clock(done)})
	}
	return fields
}

// sessionToErase takes the beginning of a session's id for the session where a person sees the whole id before it is erased; else
// the id is taken as it is.
func sessionToErase(r *terminal.Run, f terminal.ConfirmFlags, user, given string) (string, error) {
	if f.Yes && !f.DryRun {
		return given, nil
	}
	return r.Session(user, given)
}

type usersEraseCmd struct {
	User string `arg:"" help:"The user."`
	terminal.ConfirmFlags
	erasureFlags
}

// Help says more than the command's one line.
func (usersEraseCmd) Help() string {
	return "All sessions, messages, facts, summaries and jobs of the user are gone from every reply at once, and then deleted from every " +
		"store. The user's id is free: whoever comes back under it begins with nothing."
}

// Run erases the user.
func (c *usersEraseCmd) Run(r *terminal.Run) error {
	return erase(r, c.ConfirmFlags, erasing{
		what: "user " + terminal.OneLine(c.User), name: c.User, wait: c.Wait,
		call: erasingBy(r, memoryv1.NewUserServiceClient, memoryv1.UserServiceClient.EraseUser,
			func(validateOnly bool) *memoryv1.EraseUserRequest {
				return &memoryv1.EraseUserRequest{UserId: c.User, RequestId: c.RequestID, Wait: c.wait(), ValidateOnly: validateOnly}
			}),
	})
}

type sessionsDeleteCmd struct {
	User    string `arg:"" help:"The user."`
	Session string `arg:"" help:"The session; the beginning of its id is enough where you are asked."`
	terminal.ConfirmFlags
	erasureFlags
}

// Run erases the session.
func (c *sessionsDeleteCmd) Run(r *terminal.Run) (err error) {
	if c.Session, err = sessionToErase(r, c.ConfirmFlags, c.User, c.Session); err != nil {
		return err
	}
	return erase(r, c.ConfirmFlags, erasing{
		what: "session " + terminal.OneLine(c.Session), name: c.Session, wait: c.Wait,
		call: erasingBy(r, memoryv1.NewMemoryServiceClient, memoryv1.MemoryServiceClient.DeleteSession,
			func(validateOnly bool) *memoryv1.DeleteSessionRequest {
				return &memoryv1.DeleteSessionRequest{
					UserId: c.User, SessionId: c.Session, RequestId: c.RequestID, Wait: c.wait(), ValidateOnly: validateOnly,
				}
			}),
	})
}

type messagesDeleteCmd struct {
	User     string   `arg:"" help:"The user."`
	Session  string   `arg:"" help:"The session; the beginning of its id is enough where you are asked."`
	Messages []string `arg:"" optional:"" name:"message" help:"The messages: their seqs as messages list prints them, their ids, or the beginnings of their ids."`
	Oldest   int64    `placeholder:"N" help:"The oldest N instead."`
	Before   int64    `placeholder:"SEQ" help:"Those before this seq instead."`
	All      bool     `help:"All of the session instead."`
	terminal.ConfirmFlags
	erasureFlags
}

// Help says more than the command's one line.
func (messagesDeleteCmd) Help() string {
	return "A tool call goes with its result. What was learnt from the messages alone is forgotten, and summaries made of them are " +
		"written anew. Their ids stay known: a history that is sent again brings none of them back. To keep messages out of contexts " +
		"alone: strata messages hide."
}

// Run erases the messages.
func (c *messagesDeleteCmd) Run(r *terminal.Run) (err error) {
	set := 0
	for _, is := range []bool{len(c.Messages) > 0, c.Oldest != 0, c.Before != 0, c.All} {
		if is {
			set++
		}
	}
	if set != 1 {
		return terminal.Usagef("name messages, or give one of --oldest, --before and --all")
	}
	if c.Session, err = sessionToErase(r, c.ConfirmFlags, c.User, c.Session); err != nil {
		return err
	}
	if len(c.Messages) > 0 {
		if err := c.find(r); err != nil {
			return err
		}
	}
	return erase(r, c.ConfirmFlags, erasing{
		what: "messages of session " + terminal.OneLine(c.Session), name: c.Session, wait: c.Wait,
		call: erasingBy(r, memoryv1.NewMemoryServiceClient, memoryv1.MemoryServiceClient.DeleteMessages, c.request),
	})
}

func (c *messagesDeleteCmd) request(validateOnly bool) *memoryv1.DeleteMessagesRequest {
	return &memoryv1.DeleteMessagesRequest{
		UserId: c.User, SessionId: c.Session, MessageIds: c.Messages, Oldest: c.Oldest, BeforeSeq: c.Before, All: c.All,
		RequestId: c.RequestID, Wait: c.wait(), ValidateOnly: validateOnly,
	}
}

// find takes seqs and the beginnings of ids for the messages that they name. What names none is left to the call that erases, which
// may be the repeat of one that has erased them.
func (c *messagesDeleteCmd) find(r *terminal.Run) error {
	err := r.Call(func(ctx context.Context, client memoryv1.MemoryServiceClient) error {
		return terminal.WithMessages(ctx, client, c.User, c.Session, c.Messages, func(ids []string) error {
			would := c.request(true)
			would.MessageIds = ids
			_, err := client.DeleteMessages(ctx, would)
			if err == nil {
				c.Messages = ids
			}
			return err
		})
	})
	if refused, ok := errors.AsType[*terminal.RPCError](err); ok && refused.Status.Code() == codes.NotFound {
		return nil
	}
	return err
}

type messagesPopCmd struct {
	User     string `arg:"" help:"The user."`
	Session  string `arg:"" help:"The session."`
	Count    int32  `short:"n" default:"1" help:"How many, from the newest."`
	Original bool   `help:"With each message's original form (seen in JSON output)."`
	erasureFlags
}

// Run takes the messages and prints them.
func (c *messagesPopCmd) Run(r *terminal.Run) error {
	if c.Count < 1 {
		return terminal.Usagef("--count: set it from 1 to 1000")
	}
	var reply *memoryv1.PopMessagesResponse
	until := r.Env.Now().Add(c.Wait)
	err := r.Call(func(ctx context.Context, client memoryv1.MemoryServiceClient) (err error) {
		reply, err = client.PopMessages(ctx, &memoryv1.PopMessagesRequest{
			UserId: c.User, SessionId: c.Session, Count: c.Count, RequestId: c.RequestID, Wait: c.wait(), IncludeOriginal: c.Original,
		})
		return err
	})
	if err != nil {
		return err
	}
	reply.Job, err = waited(r, reply.GetJob(), until)
	return errors.Join(err, r.Show(reply, terminal.Views{
		Table: func(w io.Writer) {
			if reply.GetReplayed() {
				fmt.Fprintln(r.Env.Stderr, "a call with this request id took them before: they are erased")
				printReceipt(r, w, reply.GetJob())
				return
			}
			r.Table(w, messageColumns(), messageRows(reply.GetMessages()))
		},
		Quiet: func(w io.Writer) {
			for _, m := range reply.GetMessages() {
				fmt.Fprintln(w, m.GetId())
			}
		},
	}))
}

type messagesReplaceCmd struct {
	User    string `arg:"" help:"The user."`
	Session string `arg:"" help:"The session; created when it does not exist."`
	File    string `short:"f" placeholder:"PATH" help:"The messages as JSON, as strata record takes them; - or without it stdin."`
	After   int64  `placeholder:"SEQ" help:"Messages up to this seq stay as they are."`
	ETag    string `name:"etag" help:"Refuse where the list is not the one with this etag, which messages list --visible -o json prints."`
	Profile string `help:"The policy profile of a new session."`
	erasureFlags
}

// Help says more than the command's one line.
func (messagesReplaceCmd) Help() string {
	return "The longest beginning that the session has already, in this order, stays with its ids and all that was learnt from it. Other " +
		"messages that contexts show are erased, with the facts that only they taught; the rest of the file is recorded. Hidden messages stay."
}

// Run replaces the messages.
func (c *messagesReplaceCmd) Run(r *terminal.Run) error {
	if c.File == "" && r.Env.StdinTerminal {
		return terminal.Usagef("give the messages as JSON by --file or stdin")
	}
	data, err := readInput(r.Env, c.File)
	if err != nil {
		return terminal.UsageError{Err: err}
	}
	messages, err := terminal.ParseMessages(bytes.NewReader(data))
	if err != nil {
		return terminal.UsageError{Err: err}
	}
	var reply *memoryv1.ReplaceMessagesResponse
	until := r.Env.Now().Add(c.Wait)
	err = r.Call(func(ctx context.Context, client memoryv1.MemoryServiceClient) (err error) {
		reply, err = client.ReplaceMessages(ctx, &memoryv1.ReplaceMessagesRequest{
			UserId: c.User, SessionId: c.Session, Messages: messages, Etag: c.ETag, AfterSeq: c.After, Profile: c.Profile,
			RequestId: c.RequestID, Wait: c.wait(),
		})
		return err
	})
	if err != nil {
		return err
	}
	reply.Job, err = waited(r, reply.GetJob(), until)
	return errors.Join(err, r.Show(reply, terminal.Views{
		Table: func(w io.Writer) { printReplaced(r, w, reply) },
		Quiet: func(w io.Writer) {
			for _, id := range reply.GetMessageIds() {
				fmt.Fprintln(w, id)
			}
		},
	}))
}

func printReplaced(r *terminal.Run, w io.Writer, reply *memoryv1.ReplaceMessagesResponse) {
	if reply.GetReplayed() {
		fmt.Fprintln(w, "a call with this request id replaced the messages before: nothing was changed")
		return
	}
	fmt.Fprintf(w, "%s stayed, %s erased, %s recorded\n", terminal.Counted(int64(reply.GetKept()), "message"),
		terminal.Counted(reply.GetJob().GetErasure().GetMessages(), "message"), terminal.Counted(reply.GetLastSeq()-reply.GetFirstSeq()+1, "message"))
	if reply.GetJob() != nil {
		printReceipt(r, w, reply.GetJob())
	}
}

type jobsShowCmd struct {
	User string        `arg:"" help:"The user; of an erasure the one that was erased."`
	Job  string        `arg:"" help:"The job's id, or the beginning of it."`
	Wait time.Duration `placeholder:"5s" help:"Wait so long at most until it is done, whatever --timeout and the server's request-timeout are."`
}

// Run prints the job, of an erasure with its receipt.
func (c *jobsShowCmd) Run(r *terminal.Run) error {
	var reply *memoryv1.GetJobResponse
	until := r.Env.Now().Add(c.Wait)
	err := terminal.CallOn(r, memoryv1.NewWorkServiceClient, func(ctx context.Context, client memoryv1.WorkServiceClient) error {
		return terminal.WithJob(ctx, client, c.User, c.Job, func(id string) (err error) {
			reply, err = client.GetJob(ctx, &memoryv1.GetJobRequest{UserId: c.User, JobId: id, Wait: terminal.SentWait(c.Wait)})
			return err
		})
	})
	if err != nil {
		return err
	}
	job, err := waited(r, reply.GetJob(), until)
	if job.GetErasure() != nil {
		return errors.Join(err, showErasure(r, job))
	}
	return errors.Join(err, showJob(r, job))
}
