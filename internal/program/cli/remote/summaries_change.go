package remote

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

type summariesRebuildCmd struct {
	summaryArgs
	RequestID string `name:"request-id" placeholder:"ID" help:"Your id of this call: a repeat asks for nothing more."`
	terminal.AuthorFlag
}

// Run asks for the rebuild and prints the summary as it is for now.
func (c *summariesRebuildCmd) Run(r *terminal.Run) error {
	if err := c.find(r); err != nil {
		return err
	}
	req := &memoryv1.RebuildSummaryRequest{UserId: c.User, Kind: summaryKindOf(c.Kind), RequestId: c.RequestID, Author: c.AuthorName(r.Env)}
	req.SessionId, req.Name = c.names()
	return changeSummary(r, func(ctx context.Context, client memoryv1.SummaryServiceClient) (*memoryv1.Summary, error) {
		reply, err := client.RebuildSummary(ctx, req)
		return reply.GetSummary(), err
	})
}

type summariesEditCmd struct {
	summaryArgs
	Text      string `arg:"" help:"What is to stand in its place."`
	ETag      string `name:"etag" help:"Refuse the change unless this is the summary's etag."`
	RequestID string `name:"request-id" placeholder:"ID" help:"Your id of this call: a repeat changes nothing."`
	terminal.AuthorFlag
}

// Run corrects the summary and prints it.
func (c *summariesEditCmd) Run(r *terminal.Run) error {
	if err := c.find(r); err != nil {
		return err
	}
	in := &memoryv1.Summary{UserId: c.User, Kind: summaryKindOf(c.Kind), Text: c.Text, Etag: c.ETag}
	in.SessionId, in.Name = c.names()
	return changeSummary(r, func(ctx context.Context, client memoryv1.SummaryServiceClient) (*memoryv1.Summary, error) {
		reply, err := client.UpdateSummary(ctx, &memoryv1.UpdateSummaryRequest{Summary: in, RequestId: c.RequestID, Author: c.AuthorName(r.Env)})
		return reply.GetSummary(), err
	})
}

type summariesRestoreCmd struct {
	summaryArgs
	Revision  int64  `placeholder:"N" help:"The revision whose text to take back into use; without it the correction is taken back, and what background work writes stands again."`
	ETag      string `name:"etag" help:"Refuse the change unless this is the summary's etag."`
	RequestID string `name:"request-id" placeholder:"ID" help:"Your id of this call: a repeat changes nothing."`
	terminal.AuthorFlag
}

// Run restores the summary and prints it.
func (c *summariesRestoreCmd) Run(r *terminal.Run) error {
	if err := c.find(r); err != nil {
		return err
	}
	req := &memoryv1.RestoreSummaryRequest{
		UserId: c.User, Kind: summaryKindOf(c.Kind), Revision: c.Revision, Etag: c.ETag, RequestId: c.RequestID, Author: c.AuthorName(r.Env),
	}
	req.SessionId, req.Name = c.names()
	return changeSummary(r, func(ctx context.Context, client memoryv1.SummaryServiceClient) (*memoryv1.Summary, error) {
		reply, err := client.RestoreSummary(ctx, req)
		return reply.GetSummary(), err
	})
}

// changeSummary makes a call that changes a summary, and prints the summary as it is then.
func changeSummary(r *terminal.Run, call func(context.Context, memoryv1.SummaryServiceClient) (*memoryv1.Summary, error)) error {
	var now *memoryv1.Summary
	err := terminal.CallOn(r, memoryv1.NewSummaryServiceClient, func(ctx context.Context, client memoryv1.SummaryServiceClient) (err error) {
		now, err = call(ctx, client)
		return err
	})
	if err != nil {
		return err
	}
	return r.Show(now, terminal.Views{
		Table: func(w io.Writer) {
			if now == nil {
				fmt.Fprintln(r.Env.Stderr, "none stands until it is written anew in the background")
				return
			}
			printSummary(r, w, now)
		},
		Quiet: func(w io.Writer) { fmt.Fprintln(w, terminal.Clean(now.GetText())) },
	})
}

type summariesDeleteCmd struct {
	summaryArgs
	terminal.ConfirmFlags
	erasureFlags
}

// Help says more than the command's one line.
func (summariesDeleteCmd) Help() string {
	return "Its text is gone from every reply at once, with all that persons wrote in its place, and what was made of it is written " +
		"anew. The messages stay, and are not summarised again until one of them is hidden or deleted, or strata summaries rebuild " +
		"asks for it."
}

// Run erases the summary.
func (c *summariesDeleteCmd) Run(r *terminal.Run) error {
	return erase(r, c.ConfirmFlags, erasing{
		what: "the summary of " + c.Kind + " " + terminal.OneLine(c.Name), name: c.Name, wait: c.Wait,
		call: erasingBy(r, memoryv1.NewSummaryServiceClient, memoryv1.SummaryServiceClient.DeleteSummary,
			func(validateOnly bool) *memoryv1.DeleteSummaryRequest {
				req := &memoryv1.DeleteSummaryRequest{
					UserId: c.User, Kind: summaryKindOf(c.Kind), RequestId: c.RequestID, Wait: c.wait(), ValidateOnly: validateOnly,
				}
				req.SessionId, req.Name = c.names()
				return req
			}),
	})
}

type summariesHistoryCmd struct {
	summaryArgs
}

// Run prints the revisions, the latest first.
func (c *summariesHistoryCmd) Run(r *terminal.Run) error {
	if err := c.find(r); err != nil {
		return err
	}
	req := &memoryv1.ListSummaryRevisionsRequest{UserId: c.User, Kind: summaryKindOf(c.Kind)}
	req.SessionId, req.Name = c.names()
	reply, err := terminal.Ask(r, memoryv1.NewSummaryServiceClient, memoryv1.SummaryServiceClient.ListSummaryRevisions, req)
	if err != nil {
		return err
	}
	return r.Show(reply, terminal.Views{
		Table: func(w io.Writer) {
			columns := slices.Concat(terminal.Whole.Columns("rev", "time", "cause"), terminal.Cut.Columns("by"), terminal.Whole.Columns("through", "tokens"),
				terminal.Cut.Columns("text"))
			r.Table(w, columns, summaryRevisionRows(reply.GetRevisions()))
		},
		Quiet: func(w io.Writer) {
			for _, v := range reply.GetRevisions() {
				fmt.Fprintln(w, v.GetRevision())
			}
		},
	})
}

func summaryRevisionRows(all []*memoryv1.SummaryRevision) [][]string {
	var rows [][]string
	for _, v := range all {
		through, tokens := "", ""
		if v.GetThroughSeq() > 0 {
			through = fmt.Sprint(v.GetThroughSeq())
		}
		if v.GetText() != "" {
			tokens = fmt.Sprint(v.GetTokens())
		}
		rows = append(rows, []string{
			fmt.Sprint(v.GetRevision()), terminal.Clock(v.GetCreateTime()),
			strings.ToLower(strings.TrimPrefix(v.GetCause().String(), "SUMMARY_CAUSE_")),
			terminal.OneLine(v.GetAuthor()), through, tokens, terminal.OneLine(v.GetText()),
		})
	}
	return rows
}
