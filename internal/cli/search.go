package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// searchCmd finds messages by their words.
type searchCmd struct {
	User       string   `arg:"" help:"The user."`
	Query      string   `arg:"" optional:"" help:"What to look for; may be left out with --phrase."`
	Transcript bool     `help:"Look for the written words alone, without meaning: most of the words first, then the latest."`
	Phrase     []string `sep:"none" placeholder:"WORDS" help:"Only messages with these words in this order, as they are written; with --transcript, which it implies; may be repeated."`
	Role       []string `enum:"user,assistant" placeholder:"ROLE" help:"Only what this role said, user or assistant; may be repeated."`
	Session    []string `short:"s" sep:"none" placeholder:"SESSION" help:"Only in this session; may be repeated."`
	Since      instant  `placeholder:"TIME" help:"Only messages created at or after it, such as 2026-03-12."`
	Until      instant  `placeholder:"TIME" help:"Only messages created before it."`
	AsOf       instant  `placeholder:"TIME" help:"The time that \"last week\" and the like count from, such as 2026-03-12; now when not given."`
	Limit      atMost   `default:"20" help:"The most hits to list; 0 for all."`
	Explain    bool     `help:"Say how each message was found."`
}

// maxHits is the most that the API returns of hits at once.
const maxHits = 200

// Run prints the hits, best first.
func (c *searchCmd) Run(r *run) error {
	for i, given := range c.Session {
		session, err := r.session(c.User, given)
		if err != nil {
			return err
		}
		c.Session[i] = session
	}
	all := &memoryv1.SearchMessagesResponse{}
	err := r.call(func(ctx context.Context, client memoryv1.MemoryServiceClient) error {
		return c.collect(ctx, client, all)
	})
	if err != nil {
		return err
	}
	return r.show(all, views{
		table: func(w io.Writer) { c.print(r, w, all) },
		quiet: func(w io.Writer) {
			for _, h := range all.GetHits() {
				fmt.Fprintf(w, "%s\t%s\n", h.GetSessionId(), h.GetMessage().GetId())
			}
		},
	})
}

func (c *searchCmd) collect(ctx context.Context, client memoryv1.MemoryServiceClient, all *memoryv1.SearchMessagesResponse) (err error) {
	in := &memoryv1.SearchMessagesRequest{
		UserId: c.User, Query: c.Query, Phrases: c.Phrase, SessionIds: c.Session,
		StartTime: c.Since.proto(), EndTime: c.Until.proto(), AsOf: c.AsOf.proto(), Explain: c.Explain,
	}
	if c.Transcript || len(c.Phrase) > 0 {
		in.Mode = memoryv1.SearchMode_SEARCH_MODE_TRANSCRIPT
	}
	for _, role := range c.Role {
		in.Roles = append(in.Roles, memoryv1.Role(memoryv1.Role_value["ROLE_"+strings.ToUpper(role)]))
	}
	all.NextPageToken, err = pages(c.Limit, maxHits, func(size int32, token string) (int, string, error) {
		in.PageSize, in.PageToken = size, token
		page, err := client.SearchMessages(ctx, in)
		all.Hits = append(all.Hits, page.GetHits()...)
		all.Degraded = page.GetDegraded()
		return len(all.Hits), page.GetNextPageToken(), err
	})
	return err
}

func (c *searchCmd) print(r *run, w io.Writer, all *memoryv1.SearchMessagesResponse) {
	p := r.palette()
	for i, h := range all.GetHits() {
		m := h.GetMessage()
		head := fmt.Sprintf(
			"%d. %s, message %d, %s, %s",
			i+1,
			oneLine(h.GetSessionId()),
			m.GetSeq(),
			clock(m.GetCreateTime()),
			speaker(m)+hiddenMark(h.GetHidden()),
		)
		fmt.Fprintln(w, strings.TrimSpace(p.bold(head)+" "+p.dim(scoreText(h.GetScore()))))
		fmt.Fprintln(w, "   "+strings.ReplaceAll(highlighted(p, h), "\n", "\n   "))
		if c.Explain {
			fmt.Fprintln(w, p.dim("   found by "+why(h.GetExplanation())))
		}
	}
	if len(all.GetHits()) == 0 {
		fmt.Fprintln(r.env.Stderr, "nothing found")
	}
	more(r, all.GetNextPageToken())
	printDegraded(r.env.Stderr, all.GetDegraded())
}

// scoreText names a score; "" for none, which a hit without a word of the query has: such hits are in the order of their time.
func scoreText(score float64) string {
	if score == 0 {
		return ""
	}
	return fmt.Sprintf("(score %.2f)", score)
}

// highlighted is a hit's snippet with the words of the query coloured. Ranges count code points.
func highlighted(p palette, h *memoryv1.MessageHit) string {
	points := []rune(h.GetSnippet())
	var b strings.Builder
	from := 0
	for _, g := range h.GetHighlights() {
		start, end := int(g.GetStart()), int(g.GetEnd())
		if start < from || end < start || end > len(points) {
			continue
		}
		b.WriteString(clean(string(points[from:start])))
		b.WriteString(p.yellow(clean(string(points[start:end]))))
		from = end
	}
	b.WriteString(clean(string(points[from:])))
	return b.String()
}
