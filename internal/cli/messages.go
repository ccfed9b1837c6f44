package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// messagesCmd groups the commands about messages.
type messagesCmd struct {
	List   messagesListCmd   `cmd:"" default:"withargs" help:"List a session's messages in order."`
	Update messagesUpdateCmd `cmd:"" help:"Hide a message from contexts or show it again; pin it, tag it, and say whether facts are learnt from it."`
	Delete messagesDeleteCmd `cmd:"" help:"Erase messages and what was made of them, for good."`
	Pop    messagesPopCmd    `cmd:"" help:"Take the newest messages off a session and print them."`
}

type messagesListCmd struct {
	User     string `arg:"" help:"The user."`
	Session  string `arg:"" help:"The session."`
	Limit    int    `default:"100" help:"The most messages to list; 0 for all."`
	Newest   bool   `help:"Begin with the latest."`
	Original bool   `help:"With each message's original form (seen in JSON output)."`
}

// maxPage is the most that the API returns of messages at once.
const maxPage = 1000

// Run prints the messages, page by page from the server.
func (c *messagesListCmd) Run(r *run) error {
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
func (c *messagesListCmd) collect(ctx context.Context, client memoryv1.MemoryServiceClient, all *memoryv1.ListMessagesResponse) error {
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

// more prints on stderr that a limit cut the list.
func (r *run) more(token string) {
	if token != "" {
		fmt.Fprintln(r.env.Stderr, "there is more: raise --limit")
	}
}

// hiddenMark is printed behind the author of a message that contexts leave out.
func hiddenMark(hidden bool) string {
	if hidden {
		return " (hidden)"
	}
	return ""
}

func messageRows(messages []*memoryv1.Message) [][]string {
	var rows [][]string
	for _, m := range messages {
		rows = append(
			rows,
			[]string{
				fmt.Sprint(m.GetSeq()),
				fmt.Sprint(m.GetTurnNo()),
				clock(m.GetCreateTime()),
				speaker(m) + hiddenMark(m.GetHidden()),
				summary(m),
			},
		)
	}
	return rows
}

type messagesUpdateCmd struct {
	User     string    `arg:"" help:"The user."`
	Session  string    `arg:"" help:"The session."`
	Message  string    `arg:"" help:"The message's id, as messages -o quiet lists them."`
	Hidden   *bool     `negatable:"" help:"Keep it out of every context, or not any more. It stays in the transcript and is found."`
	Pinned   *bool     `negatable:"" help:"Mark it as one to keep, or not any more."`
	Tag      *[]string `sep:"none" placeholder:"TAG" help:"Its tags from now on; may be repeated; one empty tag takes all away."`
	Metadata *string   `placeholder:"JSON" help:"The new metadata, a JSON object; empty to take it away."`
	Extract  string    `default:"" enum:",allow,none" placeholder:"MODE" help:"Whether facts are learnt from it: allow or none."`
}

// Run changes the message and prints it.
func (c *messagesUpdateCmd) Run(r *run) error {
	req, err := c.request()
	if err != nil {
		return err
	}
	var reply *memoryv1.UpdateMessageResponse
	err = r.call(func(ctx context.Context, client memoryv1.MemoryServiceClient) (err error) {
		reply, err = client.UpdateMessage(ctx, req)
		return err
	})
	if err != nil {
		return err
	}
	m := reply.GetMessage()
	return r.show(m, views{
		table: func(w io.Writer) { r.table(w, []string{"field", "value"}, messageFieldRows(m)) },
		quiet: func(w io.Writer) { fmt.Fprintln(w, m.GetId()) },
	})
}

func (c *messagesUpdateCmd) request() (*memoryv1.UpdateMessageRequest, error) {
	m, mask := &memoryv1.Message{Id: c.Message}, &fieldmaskpb.FieldMask{}
	if c.Hidden != nil {
		m.Hidden, mask.Paths = *c.Hidden, append(mask.Paths, "hidden")
	}
	if c.Pinned != nil {
		m.Pinned, mask.Paths = *c.Pinned, append(mask.Paths, "pinned")
	}
	if c.Tag != nil {
		none := func(tag string) bool { return tag == "" }
		m.Tags, mask.Paths = slices.DeleteFunc(slices.Clone(*c.Tag), none), append(mask.Paths, "tags")
	}
	if c.Metadata != nil {
		object, err := parseObject("--metadata", *c.Metadata)
		if err != nil {
			return nil, err
		}
		m.Metadata, mask.Paths = object, append(mask.Paths, "metadata")
	}
	if c.Extract != "" {
		m.Extract, mask.Paths = extractOf(c.Extract), append(mask.Paths, "extract")
	}
	if len(mask.Paths) == 0 {
		return nil, usagef("nothing to change: give --[no-]hidden, --[no-]pinned, --tag, --metadata or --extract")
	}
	return &memoryv1.UpdateMessageRequest{UserId: c.User, SessionId: c.Session, Message: m, UpdateMask: mask}, nil
}

func messageFieldRows(m *memoryv1.Message) [][]string {
	return [][]string{
		{"message", oneLine(m.GetId())},
		{"seq", fmt.Sprint(m.GetSeq())},
		{"who", speaker(m)},
		{"hidden", fmt.Sprint(m.GetHidden())},
		{"pinned", fmt.Sprint(m.GetPinned())},
		{"tags", oneLine(strings.Join(m.GetTags(), ", "))},
		{"extract", extractName(m.GetExtract())},
		{"metadata", objectText(m.GetMetadata())},
		{"text", summary(m)},
	}
}
