package cli

import (
	"context"
	"fmt"
	"io"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// messagesCmd lists messages.
type messagesCmd struct {
	User     string `arg:"" help:"The user."`
	Session  string `arg:"" help:"The session."`
	Limit    int    `default:"100" help:"The most messages to list; 0 for all."`
	Newest   bool   `help:"Begin with the latest."`
	Original bool   `help:"With each message's original form (seen in JSON output)."`
}

// maxPage is the most that the API returns of messages at once.
const maxPage = 1000

// Run prints the messages, page by page from the server.
func (c *messagesCmd) Run(r *run) error {
	all := &memoryv1.ListMessagesResponse{}
	err := r.call(func(ctx context.Context, client memoryv1.MemoryServiceClient) error {
		return c.collect(ctx, client, all)
	})
	if err != nil {
		return err
	}
	return r.show(all, views{
		table: func(w io.Writer) {
			r.table(w, []string{"seq", "turn", "time", "who", "text"}, messageRows(all.GetMessages()))
			r.more(all.GetNextPageToken())
		},
		quiet: func(w io.Writer) {
			for _, m := range all.GetMessages() {
				fmt.Fprintln(w, m.GetId())
			}
		},
	})
}

// collect gathers pages until there are enough. next_page_token stays set where there is more.
func (c *messagesCmd) collect(ctx context.Context, client memoryv1.MemoryServiceClient, all *memoryv1.ListMessagesResponse) error {
	for {
		page, err := client.ListMessages(ctx, &memoryv1.ListMessagesRequest{
			UserId: c.User, SessionId: c.Session, PageSize: pageSize(c.Limit, len(all.GetMessages()), maxPage),
			PageToken: all.GetNextPageToken(), NewestFirst: c.Newest, IncludeOriginal: c.Original,
		})
		if err != nil {
			return err
		}
		all.Messages = append(all.Messages, page.GetMessages()...)
		all.NextPageToken = page.GetNextPageToken()
		if all.NextPageToken == "" || c.Limit > 0 && len(all.Messages) >= c.Limit {
			return nil
		}
	}
}

// pageSize is how many things to ask for when some of a limit are there; a limit of 0 means all.
func pageSize(limit, have, most int) int32 {
	if limit <= 0 {
		return int32(most)
	}
	return int32(min(limit-have, most))
}

// more says on stderr that a limit cut the list.
func (r *run) more(token string) {
	if token != "" {
		fmt.Fprintln(r.env.Stderr, "there is more: raise --limit")
	}
}

func messageRows(messages []*memoryv1.Message) [][]string {
	var rows [][]string
	for _, m := range messages {
		rows = append(rows, []string{fmt.Sprint(m.GetSeq()), fmt.Sprint(m.GetTurnNo()), clock(m.GetCreateTime()), speaker(m), summary(m)})
	}
	return rows
}
