package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// erasureFlags are the flags of every command that erases.
type erasureFlags struct {
	RequestID string        `name:"request-id" placeholder:"ID" help:"Your id of this call: a repeat erases nothing and shows the receipt."`
	Wait      time.Duration `default:"2s" help:"Wait so long at most until every store was swept; strata jobs get waits on."`
}

// confirmFlags are the flags of commands that ask before they erase.
type confirmFlags struct {
	DryRun bool `name:"dry-run" help:"Only show what would go."`
	Yes    bool `short:"y" help:"Do not ask."`
}

func (f erasureFlags) wait() *durationpb.Duration {
	if f.Wait == 0 {
		return nil
	}
	return durationpb.New(f.Wait)
}

// erased is the reply of a call that erases.
type erased interface {
	GetJob() *memoryv1.Job
	GetExtent() *memoryv1.ErasureExtent
}

// erasing is something that is to be erased.
type erasing struct {
	what string // in words
	name string // what is typed to confirm
	call func(validateOnly bool) (erased, error)
}

// erase shows what would go, asks, erases, and shows the receipt.
func (r *run) erase(f confirmFlags, e erasing) error {
	if f.DryRun || !f.Yes {
		would, err := e.call(true)
		if err != nil {
			return err
		}
		if f.DryRun {
			return r.showExtent(would.GetExtent())
		}
		if err := r.confirm(e, would.GetExtent()); err != nil {
			return err
		}
	}
	reply, err := e.call(false)
	if err != nil {
		return err
	}
	return r.showErasure(reply.GetJob())
}

func extentText(x *memoryv1.ErasureExtent) string {
	if x.GetSummaries() > 0 {
		return counted(x.GetSummaries(), "summary")
	}
	text := counted(x.GetMessages(), "message") + ", " + counted(x.GetFacts(), "fact")
	if x.GetSessions() > 0 {
		text = counted(x.GetSessions(), "session") + ", " + text
	}
	return text
}

func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (r *run) showExtent(x *memoryv1.ErasureExtent) error {
	return r.show(x, views{
		table: func(w io.Writer) { fmt.Fprintf(w, "would erase %s, and what was made of them\n", extentText(x)) },
		quiet: func(w io.Writer) { fmt.Fprintln(w, x.GetMessages()) },
	})
}

// confirm has a person type the name of what is erased.
func (r *run) confirm(e erasing, extent *memoryv1.ErasureExtent) error {
	fmt.Fprintf(r.env.Stderr, "This erases %s for good: %s, and what was made of them.\n", e.what, extentText(extent))
	fmt.Fprintf(r.env.Stderr, "Type %s to go on: ", oneLine(e.name))
	line, err := bufio.NewReader(r.env.Stdin).ReadString('\n')
	if err != nil && line == "" {
		return usagef("nothing was typed, and nothing erased: give --yes where nobody can be asked, --dry-run to look")
	}
	if strings.TrimSpace(line) != e.name {
		return usagef("that is not %s: nothing was erased", oneLine(e.name))
	}
	return nil
}

// showErasure prints the receipt.
func (r *run) showErasure(j *memoryv1.Job) error {
	return r.show(j, views{
		table: func(w io.Writer) {
			r.printReceipt(w, j)
			if j.GetState() == memoryv1.JobState_JOB_STATE_OPEN {
				fmt.Fprintf(r.env.Stderr, "erased; what is left in the stores is deleted in the background: strata jobs get %s %s --wait 30s\n",
					shellWord(j.GetUserId()), j.GetJobId())
			}
		},
		quiet: func(w io.Writer) { fmt.Fprintln(w, j.GetJobId()) },
	})
}

func (r *run) printReceipt(w io.Writer, j *memoryv1.Job) {
	r.table(w, []string{"field", "value"}, erasureFields(j))
	var rows [][]string
	for _, s := range j.GetErasure().GetStores() {
		rows = append(rows, []string{
			s.GetStore(), fmt.Sprint(s.GetFound()), fmt.Sprint(s.GetDeleted()), fmt.Sprint(s.GetRemaining()),
			strings.ToLower(strings.TrimPrefix(s.GetPurgedBy().String(), "PURGED_BY_")),
		})
	}
	if len(rows) > 0 {
		r.table(w, []string{"store", "found", "deleted", "remaining", "purged by"}, rows)
	}
}

func erasureFields(j *memoryv1.Job) [][]string {
	fields := [][]string{
		{"job", j.GetJobId()},
		{"erased", strings.ToLower(strings.TrimPrefix(j.GetErasure().GetKind().String(), "ERASURE_KIND_"))},
		{"state", jobStateName(j)},
	}
	if n := j.GetErasure().GetMessages(); n > 0 {
		fields = append(fields, []string{"messages", fmt.Sprintf("%d, of %s", n, spanText(j.GetFromSeq(), j.GetToSeq()))})
	}
	if j.GetReason() != "" {
		fields = append(fields, []string{"failed last", fmt.Sprintf("%s, tries again %s", oneLine(j.GetReason()), clock(j.GetNotBefore()))})
	}
	if done := j.GetErasure().GetDoneTime(); done != nil {
		fields = append(fields, []string{"done", clock(done)})
	}
	return fields
}

type usersEraseCmd struct {
	User string `arg:"" help:"The user."`
	confirmFlags
	erasureFlags
}

// Help says more than the command's one line.
func (usersEraseCmd) Help() string {
	return "All sessions, messages, facts, summaries and jobs of the user are gone from every reply at once, and then deleted from every " +
		"store. The user's id is free: whoever comes back under it begins with nothing."
}

// Run erases the user.
func (c *usersEraseCmd) Run(r *run) error {
	return r.erase(c.confirmFlags, erasing{
		what: "user " + oneLine(c.User), name: c.User,
		call: func(validateOnly bool) (reply erased, err error) {
			req := &memoryv1.EraseUserRequest{
				UserId: c.User, RequestId: c.RequestID, Wait: c.wait(), ValidateOnly: validateOnly,
			}
			err = callOn(r, memoryv1.NewUserServiceClient, func(ctx context.Context, client memoryv1.UserServiceClient) (err error) {
				reply, err = client.EraseUser(ctx, req)
				return err
			})
			return reply, err
		},
	})
}

type sessionsDeleteCmd struct {
	User    string `arg:"" help:"The user."`
	Session string `arg:"" help:"The session."`
	confirmFlags
	erasureFlags
}

// Run erases the session.
func (c *sessionsDeleteCmd) Run(r *run) error {
	return r.erase(c.confirmFlags, erasing{
		what: "session " + oneLine(c.Session), name: c.Session,
		call: func(validateOnly bool) (reply erased, err error) {
			req := &memoryv1.DeleteSessionRequest{
				UserId: c.User, SessionId: c.Session, RequestId: c.RequestID, Wait: c.wait(), ValidateOnly: validateOnly,
			}
			err = callOn(r, memoryv1.NewMemoryServiceClient, func(ctx context.Context, client memoryv1.MemoryServiceClient) (err error) {
				reply, err = client.DeleteSession(ctx, req)
				return err
			})
			return reply, err
		},
	})
}

type messagesDeleteCmd struct {
	User     string   `arg:"" help:"The user."`
	Session  string   `arg:"" help:"The session."`
	Messages []string `arg:"" optional:"" name:"message" help:"The messages' ids, as messages list -o quiet prints them."`
	Oldest   int64    `placeholder:"N" help:"The oldest N instead."`
	Before   int64    `placeholder:"SEQ" help:"Those before this seq instead."`
	All      bool     `help:"All of the session instead."`
	confirmFlags
	erasureFlags
}

// Help says more than the command's one line.
func (messagesDeleteCmd) Help() string {
	return "A tool call goes with its result. What was learnt from the messages alone is forgotten, and summaries that tell of them are " +
		"written anew. Their ids stay known: a history that is sent again brings none of them back. To keep messages out of contexts " +
		"alone: strata messages update --hidden."
}

// Run erases the messages.
func (c *messagesDeleteCmd) Run(r *run) error {
	set := 0
	for _, is := range []bool{len(c.Messages) > 0, c.Oldest != 0, c.Before != 0, c.All} {
		if is {
			set++
		}
	}
	if set != 1 {
		return usagef("name messages, or give one of --oldest, --before and --all")
	}
	return r.erase(c.confirmFlags, erasing{
		what: "messages of session " + oneLine(c.Session), name: c.Session,
		call: func(validateOnly bool) (reply erased, err error) {
			req := &memoryv1.DeleteMessagesRequest{
				UserId: c.User, SessionId: c.Session, MessageIds: c.Messages, Oldest: c.Oldest, BeforeSeq: c.Before, All: c.All,
				RequestId: c.RequestID, Wait: c.wait(), ValidateOnly: validateOnly,
			}
			err = callOn(r, memoryv1.NewMemoryServiceClient, func(ctx context.Context, client memoryv1.MemoryServiceClient) (err error) {
				reply, err = client.DeleteMessages(ctx, req)
				return err
			})
			return reply, err
		},
	})
}

type messagesPopCmd struct {
	User     string `arg:"" help:"The user."`
	Session  string `arg:"" help:"The session."`
	Count    int32  `short:"n" default:"1" help:"How many, from the newest."`
	Original bool   `help:"With each message's original form (seen in JSON output)."`
	erasureFlags
}

// Run takes the messages and prints them.
func (c *messagesPopCmd) Run(r *run) error {
	var reply *memoryv1.PopMessagesResponse
	err := r.call(func(ctx context.Context, client memoryv1.MemoryServiceClient) (err error) {
		reply, err = client.PopMessages(ctx, &memoryv1.PopMessagesRequest{
			UserId: c.User, SessionId: c.Session, Count: c.Count, RequestId: c.RequestID, Wait: c.wait(), IncludeOriginal: c.Original,
		})
		return err
	})
	if err != nil {
		return err
	}
	return r.show(reply, views{
		table: func(w io.Writer) {
			if reply.GetReplayed() {
				fmt.Fprintln(r.env.Stderr, "a call with this request id took them before: they are erased")
				r.printReceipt(w, reply.GetJob())
				return
			}
			r.table(w, []string{"seq", "turn", "time", "who", "text"}, messageRows(reply.GetMessages()))
		},
		quiet: func(w io.Writer) {
			for _, m := range reply.GetMessages() {
				fmt.Fprintln(w, m.GetId())
			}
		},
	})
}

type jobsGetCmd struct {
	User string        `arg:"" help:"The user; of an erasure the one that was erased."`
	Job  string        `arg:"" help:"The job's id."`
	Wait time.Duration `placeholder:"5s" help:"Wait so long at most until it is done."`
}

// Run prints the job, of an erasure with its receipt.
func (c *jobsGetCmd) Run(r *run) error {
	req := &memoryv1.GetJobRequest{UserId: c.User, JobId: c.Job, Wait: erasureFlags{Wait: c.Wait}.wait()}
	var reply *memoryv1.GetJobResponse
	err := callOn(r, memoryv1.NewWorkServiceClient, func(ctx context.Context, client memoryv1.WorkServiceClient) (err error) {
		reply, err = client.GetJob(ctx, req)
		return err
	})
	if err != nil {
		return err
	}
	if reply.GetJob().GetErasure() != nil {
		return r.showErasure(reply.GetJob())
	}
	return r.showJob(reply.GetJob())
}
