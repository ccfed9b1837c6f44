package remote

import (
	"fmt"
	"io"
	"slices"
	"strings"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// SummariesCmd groups the commands about summaries.
type SummariesCmd struct {
	List summariesListCmd `cmd:"" help:"List a user's summaries of one kind, the latest first."`
	Show summariesShowCmd `cmd:"" aliases:"get" help:"Show the summary of a session, a week or a month."`
	Now  summariesNowCmd  `cmd:"" help:"Summarise now what a session holds and no summary covers."`

	Rebuild summariesRebuildCmd `cmd:"" help:"Have a summary written anew in the background."`
	Delete  summariesDeleteCmd  `cmd:"" help:"Erase a summary for good."`
	Edit    summariesEditCmd    `cmd:"" aliases:"correct" help:"Write a text that stands in place of a summary, whatever is summarised later."`
	History summariesHistoryCmd `cmd:"" help:"Show what persons made of a summary, the latest first."`
	Restore summariesRestoreCmd `cmd:"" help:"Take an earlier correction of a summary back into use, or take the correction back."`
}

// maxSummaries is the most that the API returns of summaries at once.
const maxSummaries = 100

type summariesListCmd struct {
	User  string          `arg:"" help:"The user."`
	Kind  string          `default:"session" enum:"session,week,month" help:"What they stand for: ${enum}."`
	Limit terminal.AtMost `default:"20" help:"The most summaries to list; 0 for all."`

	Withheld bool `help:"Only those whose correction is withheld, since a message that it stands for was hidden after it was written."`
}

// Run prints the summaries, page by page from the server.
func (c *summariesListCmd) Run(r *terminal.Run) error {
	req := &memoryv1.ListSummariesRequest{UserId: c.User, Kind: summaryKindOf(c.Kind), Withheld: c.Withheld}
	all, err := terminal.ListAll(
		r, memoryv1.NewSummaryServiceClient, memoryv1.SummaryServiceClient.ListSummaries, req,
		(*memoryv1.ListSummariesResponse).GetSummaries, c.Limit, maxSummaries,
	)
	if err != nil {
		return err
	}
	return r.Show(all, terminal.Views{
		Table: func(w io.Writer) {
			r.Table(w, slices.Concat(terminal.Cut.Columns("summary"), terminal.Whole.Columns("through", "from", "to", "tokens"), terminal.Cut.Columns("text")),
				summaryRows(all.GetSummaries()))
			terminal.More(r, all.GetNextPageToken())
		},
		Quiet: func(w io.Writer) {
			for _, s := range all.GetSummaries() {
				fmt.Fprintln(w, summaryName(s))
			}
		},
	})
}

func summaryKindOf(name string) memoryv1.SummaryKind {
	return memoryv1.SummaryKind(memoryv1.SummaryKind_value["SUMMARY_KIND_"+strings.ToUpper(name)])
}

// summaryName is what summaries get calls a summary: the session's id, the week or the month.
func summaryName(s *memoryv1.Summary) string {
	if s.GetSessionId() != "" {
		return terminal.OneLine(s.GetSessionId())
	}
	return terminal.OneLine(s.GetName())
}

func summaryRows(all []*memoryv1.Summary) [][]string {
	var rows [][]string
	for _, s := range all {
		rows = append(rows, []string{
			summaryName(s), throughText(s), DateText(s.GetStartTime()), DateText(s.GetEndTime()), fmt.Sprint(s.GetTokens()),
			terminal.OneLine(s.GetText()),
		})
	}
	return rows
}

// throughText is the last message that a session's summary covers.
func throughText(s *memoryv1.Summary) string {
	if s.GetThroughSeq() == 0 {
		return ""
	}
	return fmt.Sprint(s.GetThroughSeq())
}

// summaryArgs name a summary.
type summaryArgs struct {
	User string `arg:"" help:"The user."`
	Name string `arg:"" help:"The session, or the beginning of its id; with --kind the week as 2026-W47 or the month as 2026-11."`
	Kind string `default:"session" enum:"session,week,month" help:"What it stands for: ${enum}."`
}

// find takes the beginning of a session's id for the session.
func (a *summaryArgs) find(r *terminal.Run) (err error) {
	if a.Kind == "session" {
		a.Name, err = r.Session(a.User, a.Name)
	}
	return err
}

// names are the session or the name of a week or month.
func (a summaryArgs) names() (session, name string) {
	if a.Kind == "session" {
		return a.Name, ""
	}
	return "", a.Name
}

type summariesShowCmd struct {
	summaryArgs
	Nodes bool `help:"List the nodes that it is made of."`
}

// Run prints the summary.
func (c *summariesShowCmd) Run(r *terminal.Run) error {
	if err := c.find(r); err != nil {
		return err
	}
	req := &memoryv1.GetSummaryRequest{UserId: c.User, Kind: summaryKindOf(c.Kind)}
	req.SessionId, req.Name = c.names()
	reply, err := terminal.Ask(r, memoryv1.NewSummaryServiceClient, memoryv1.SummaryServiceClient.GetSummary, req)
	if err != nil {
		return err
	}
	s := reply.GetSummary()
	return r.Show(s, terminal.Views{
		Table: func(w io.Writer) {
			printSummary(r, w, s)
			if c.Nodes {
				fmt.Fprintln(w)
				r.Table(w, slices.Concat(terminal.Whole.Columns("node", "level", "messages", "gen", "added"), terminal.Cut.Columns("model", "text")),
					nodeRows(s.GetNodes()))
			}
		},
		Quiet: func(w io.Writer) { fmt.Fprintln(w, terminal.Clean(s.GetText())) },
	})
}

// printSummary prints a summary's text, then what it covers and what wrote it.
func printSummary(r *terminal.Run, w io.Writer, s *memoryv1.Summary) {
	fmt.Fprintln(w, strings.TrimSuffix(terminal.Clean(s.GetText()), "\n"))
	about := fmt.Sprintf("%s, %s to %s, %d tokens", summaryName(s), DateText(s.GetStartTime()), DateText(s.GetEndTime()), s.GetTokens())
	if through := throughText(s); through != "" {
		about = fmt.Sprintf("messages up to %s of %s", through, about)
	}
	if models := SummaryModels(s); len(models) > 0 {
		about += ", by " + strings.Join(models, ", ")
	}
	fmt.Fprintln(w, r.Palette().Dim(about))
	if s.GetWithheld() {
		fmt.Fprintln(
			r.Env.Stderr,
			"its correction is withheld, since a message that it stands for was hidden: write it again by strata summaries edit",
		)
	}
	if s.GetRebuilding() {
		fmt.Fprintln(r.Env.Stderr, "it is being written anew in the background")
	}
}

// SummaryModels are what wrote the nodes of a summary, each once.
func SummaryModels(s *memoryv1.Summary) []string {
	var all []string
	seen := map[string]bool{}
	for _, n := range s.GetNodes() {
		if m := terminal.OneLine(n.GetModel()); !seen[m] {
			seen[m] = true
			all = append(all, m)
		}
	}
	return all
}

func nodeRows(nodes []*memoryv1.SummaryNode) [][]string {
	var rows [][]string
	ids := make([]string, len(nodes))
	for i, n := range nodes {
		ids[i] = n.GetNodeId()
	}
	short := terminal.ShortIDs(ids)
	for i, n := range nodes {
		rows = append(rows, []string{
			short[i], fmt.Sprint(n.GetLevel()), spanText(n.GetFromSeq(), n.GetToSeq()), fmt.Sprint(n.GetGeneration()),
			fmt.Sprint(n.GetAppended()), terminal.OneLine(n.GetModel()), terminal.OneLine(n.GetText()),
		})
	}
	return rows
}

// spanText is a range of messages; "" for none.
func spanText(from, to int64) string {
	if to == 0 {
		return ""
	}
	return fmt.Sprintf("%d to %d", from, to)
}

type summariesNowCmd struct {
	User    string `arg:"" help:"The user."`
	Session string `arg:"" help:"The session, or the beginning of its id."`
}

// Run summarises the session and prints its summary.
func (c *summariesNowCmd) Run(r *terminal.Run) error {
	session, err := r.Session(c.User, c.Session)
	if err != nil {
		return err
	}
	reply, err := terminal.Ask(r, memoryv1.NewSummaryServiceClient, memoryv1.SummaryServiceClient.Summarize,
		&memoryv1.SummarizeRequest{UserId: c.User, SessionId: session})
	if err != nil {
		return err
	}
	return r.Show(reply, terminal.Views{
		Table: func(w io.Writer) { printSummarized(r, w, reply) },
		Quiet: func(w io.Writer) { fmt.Fprintln(w, terminal.Clean(reply.GetSummary().GetText())) },
	})
}

func printSummarized(r *terminal.Run, w io.Writer, reply *memoryv1.SummarizeResponse) {
	if reply.GetSummary() == nil {
		fmt.Fprintln(r.Env.Stderr, "there is nothing to summarise")
		return
	}
	printSummary(r, w, reply.GetSummary())
	if !reply.GetComplete() {
		fmt.Fprintln(r.Env.Stderr, "not all messages are covered yet; the work goes on: see strata jobs list")
	}
}
