package remote

import (
	"context"
	"fmt"
	"io"
	"strings"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// SearchCmd finds messages by their words.
type SearchCmd struct {
	User       string           `arg:"" help:"The user."`
	Query      string           `arg:"" optional:"" help:"What to look for; may be left out with --phrase."`
	Transcript bool             `help:"Look for the written words alone, without meaning: most of the words first, then the latest."`
	Phrase     []string         `sep:"none" placeholder:"WORDS" help:"Only messages with these words in this order, as they are written; with --transcript, which it implies; may be repeated."`
	Role       []string         `enum:"user,assistant" placeholder:"ROLE" help:"Only what this role said, user or assistant; may be repeated."`
	Session    []string         `short:"s" sep:"none" placeholder:"SESSION" help:"Only in this session; may be repeated."`
	Since      terminal.Instant `placeholder:"TIME" help:"Only messages created at or after it, such as 2026-03-12."`
	Until      terminal.Instant `placeholder:"TIME" help:"Only messages created before it."`
	AsOf       terminal.Instant `placeholder:"TIME" help:"The time that \"last week\" and the like count from, such as 2026-03-12; now when not given."`
	Limit      terminal.AtMost  `default:"20" help:"The most hits to list; 0 for all."`
	Explain    bool             `help:"Say how each message was found."`
}

// maxHits is the most that the API returns of hits at once.
const maxHits = 200

// Run prints the hits, best first.
func (c *SearchCmd) Run(r *terminal.Run) error {
	for i, given := range c.Session {
		session, err := r.Session(c.User, given)
		if err != nil {
			return err
		}
		c.Session[i] = session
	}
	all := &memoryv1.SearchMessagesResponse{}
	err := r.Call(func(ctx context.Context, client memoryv1.MemoryServiceClient) error {
		return c.collect(ctx, client, all)
	})
	if err != nil {
		return err
	}
	return r.Show(all, terminal.Views{
		Table: func(w io.Writer) { c.print(r, w, all) },
		Quiet: func(w io.Writer) {
			for _, h := range all.GetHits() {
				fmt.Fprintf(w, "%s\t%s\n", h.GetSessionId(), h.GetMessage().GetId())
			}
		},
	})
}

func (c *SearchCmd) collect(ctx context.Context, client memoryv1.MemoryServiceClient, all *memoryv1.SearchMessagesResponse) (err error) {
	in := &memoryv1.SearchMessagesRequest{
		UserId: c.User, Query: c.Query, Phrases: c.Phrase, SessionIds: c.Session,
		StartTime: c.Since.Proto(), EndTime: c.Until.Proto(), AsOf: c.AsOf.Proto(), Explain: c.Explain,
	}
	if c.Transcript || len(c.Phrase) > 0 {
		in.Mode = memoryv1.SearchMode_SEARCH_MODE_TRANSCRIPT
	}
	for _, role := range c.Role {
		in.Roles = append(in.Roles, memoryv1.Role(memoryv1.Role_value["ROLE_"+strings.ToUpper(role)]))
	}
	all.NextPageToken, err = terminal.Pages(c.Limit, maxHits, func(size int32, token string) (int, string, error) {
		in.PageSize, in.PageToken = size, token
		page, err := client.SearchMessages(ctx, in)
		all.Hits = append(all.Hits, page.GetHits()...)
		all.Degraded = page.GetDegraded()
		return len(all.Hits), page.GetNextPageToken(), err
	})
	return err
}

func (c *SearchCmd) print(r *terminal.Run, w io.Writer, all *memoryv1.SearchMessagesResponse) {
	p := r.Palette()
	for i, h := range all.GetHits() {
		m := h.GetMessage()
		head := fmt.Sprintf(
			"%d. %s, message %d, %s, %s",
			i+1,
			terminal.OneLine(h.GetSessionId()),
			m.GetSeq(),
			terminal.Clock(m.GetCreateTime()),
			terminal.Speaker(m)+hiddenMark(h.GetHidden()),
		)
		fmt.Fprintln(w, strings.TrimSpace(p.Bold(head)+" "+p.Dim(scoreText(h.GetScore()))))
		fmt.Fprintln(w, "   "+strings.ReplaceAll(highlighted(p, h), "\n", "\n   "))
		if c.Explain {
			fmt.Fprintln(w, p.Dim("   found by "+Why(h.GetExplanation())))
		}
	}
	if len(all.GetHits()) == 0 {
		fmt.Fprintln(r.Env.Stderr, "nothing found")
	}
	terminal.More(r, all.GetNextPageToken())
	PrintDegraded(r.Env.Stderr, all.GetDegraded())
}

// scoreText names a score; "" for none, which a hit without a word of the query has: such hits are in the order of their time.
func scoreText(score float64) string {
	if score == 0 {
		return ""
	}
	return fmt.Sprintf("(score %.2f)", score)
}

// highlighted is a hit's snippet with the words of the query coloured. Ranges count code points.
func highlighted(p terminal.Palette, h *memoryv1.MessageHit) string {
	points := []rune(h.GetSnippet())
	var b strings.Builder
	from := 0
	for _, g := range h.GetHighlights() {
		start, end := int(g.GetStart()), int(g.GetEnd())
		if start < from || end < start || end > len(points) {
			continue
		}
		b.WriteString(terminal.Clean(string(points[from:start])))
		b.WriteString(p.Yellow(terminal.Clean(string(points[start:end]))))
		from = end
	}
	b.WriteString(terminal.Clean(string(points[from:])))
	return b.String()
}
