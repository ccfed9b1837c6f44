package remote

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// MessagesCmd groups the commands about messages.
type MessagesCmd struct {
	List    messagesListCmd    `cmd:"" default:"withargs" help:"List a session's messages in order."`
	Show    messagesShowCmd    `cmd:"" help:"Show a message whole."`
	Hide    messagesHideCmd    `cmd:"" help:"Keep a message out of every context; it stays in the transcript."`
	Unhide  messagesUnhideCmd  `cmd:"" help:"Have a message stand in contexts again."`
	Pin     messagesPinCmd     `cmd:"" help:"Mark a message as one to keep, whatever the retention says."`
	Unpin   messagesUnpinCmd   `cmd:"" help:"Pin a message no longer."`
	Edit    messagesEditCmd    `cmd:"" aliases:"update" help:"Change a message's tags and metadata, and whether facts are learnt from it; its words are never rewritten."`
	Delete  messagesDeleteCmd  `cmd:"" help:"Erase messages and what was made of them, for good."`
	Pop     messagesPopCmd     `cmd:"" help:"Take the newest messages off a session and print them."`
	Replace messagesReplaceCmd `cmd:"" help:"Make the messages of a session those of a file: what is the same stays, the rest is erased or recorded."`
}

type messagesListCmd struct {
	User     string          `arg:"" help:"The user."`
	Session  string          `arg:"" help:"The session, or the beginning of its id."`
	Limit    terminal.AtMost `default:"100" help:"The most messages to list; 0 for all."`
	Newest   bool            `help:"Begin with the latest."`
	Visible  bool            `help:"Without what contexts do not show: hidden messages and those before the context start."`
	Original bool            `help:"With each message's original form (seen in JSON output)."`
}

// Run prints the messages, page by page from the server.
func (c *messagesListCmd) Run(r *terminal.Run) error {
	all := &memoryv1.ListMessagesResponse{}
	err := r.Call(func(ctx context.Context, client memoryv1.MemoryServiceClient) (err error) {
		if c.Session, err = r.SessionOf(ctx, client, c.User, c.Session); err != nil {
			return err
		}
		return c.collect(ctx, client, all)
	})
	if err != nil {
		return err
	}
	return r.Show(all, terminal.Views{
		Table: func(w io.Writer) {
			r.Table(w, messageColumns(), messageRows(all.GetMessages()))
			terminal.More(r, all.GetNextPageToken())
		},
		Quiet: func(w io.Writer) {
			for _, m := range all.GetMessages() {
				fmt.Fprintln(w, m.GetId())
			}
		},
	})
}

// collect gathers pages until there are enough. next_page_token stays set where there is more.
func (c *messagesListCmd) collect(
	ctx context.Context, client memoryv1.MemoryServiceClient, all *memoryv1.ListMessagesResponse,
) (err error) {
	all.NextPageToken, err = terminal.Pages(c.Limit, terminal.MaxPage, func(size int32, token string) (int, string, error) {
		page, err := client.ListMessages(ctx, &memoryv1.ListMessagesRequest{
			UserId: c.User, SessionId: c.Session, PageSize: size, PageToken: token,
			NewestFirst: c.Newest, IncludeOriginal: c.Original, VisibleOnly: c.Visible,
		})
		all.Messages = append(all.Messages, page.GetMessages()...)
		all.Etag = cmp.Or(all.GetEtag(), page.GetEtag())
		return len(all.Messages), page.GetNextPageToken(), err
	})
	return err
}

// hiddenMark is printed behind the author of a message that contexts leave out.
func hiddenMark(hidden bool) string {
	if hidden {
		return " (hidden)"
	}
	return ""
}

// messageColumns are the columns of a table of messageRows.
func messageColumns() []terminal.Column {
	return slices.Concat(terminal.Whole.Columns("seq", "turn", "time"), terminal.Cut.Columns("who", "text"))
}

// messageRows name a message by its seq, which every command takes in place of its id.
func messageRows(messages []*memoryv1.Message) [][]string {
	var rows [][]string
	for _, m := range messages {
		rows = append(rows, []string{
			fmt.Sprint(m.GetSeq()), fmt.Sprint(m.GetTurnNo()), terminal.Clock(m.GetCreateTime()),
			terminal.Speaker(m) + hiddenMark(m.GetHidden()), terminal.Summary(m),
		})
	}
	return rows
}

// messageArgs name a message.
type messageArgs struct {
	User    string `arg:"" help:"The user."`
	Session string `arg:"" help:"The session, or the beginning of its id."`
	Message string `arg:"" help:"The message: its seq as messages list prints it, its id, or the beginning of its id."`
}

type messagesShowCmd struct {
	messageArgs
	Original bool `help:"With the message's original form (seen in JSON output)."`
}

// Run prints the message.
func (c *messagesShowCmd) Run(r *terminal.Run) error {
	var m *memoryv1.Message
	err := r.Call(func(ctx context.Context, client memoryv1.MemoryServiceClient) (err error) {
		if c.Session, err = r.SessionOf(ctx, client, c.User, c.Session); err != nil {
			return err
		}
		req := &memoryv1.ListMessagesRequest{UserId: c.User, SessionId: c.Session, IncludeOriginal: c.Original}
		found, err := terminal.FindMessages(ctx, client, req, []string{c.Message})
		if err != nil {
			return err
		}
		if m = found[0]; m == nil {
			return fmt.Errorf("session %s has no message %s", terminal.OneLine(c.Session), terminal.OneLine(c.Message))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return showMessage(r, m)
}

func showMessage(r *terminal.Run, m *memoryv1.Message) error {
	return r.Show(m, terminal.Views{
		Table: func(w io.Writer) { r.Fields(w, messageFieldRows(m)) },
		Quiet: func(w io.Writer) { fmt.Fprintln(w, m.GetId()) },
	})
}

// change makes of a message what the fields of another say, and prints it.
func (a messageArgs) change(r *terminal.Run, to *memoryv1.Message, fields ...string) error {
	var reply *memoryv1.UpdateMessageResponse
	err := r.Call(func(ctx context.Context, client memoryv1.MemoryServiceClient) error {
		session, err := r.SessionOf(ctx, client, a.User, a.Session)
		if err != nil {
			return err
		}
		return terminal.WithMessages(ctx, client, a.User, session, []string{a.Message}, func(ids []string) (err error) {
			to.Id = ids[0]
			reply, err = client.UpdateMessage(ctx, &memoryv1.UpdateMessageRequest{
				UserId: a.User, SessionId: session, Message: to, UpdateMask: &fieldmaskpb.FieldMask{Paths: fields},
			})
			return err
		})
	})
	if err != nil {
		return err
	}
	return showMessage(r, reply.GetMessage())
}

type messagesHideCmd struct{ messageArgs }

// Help says more than the command's one line.
func (messagesHideCmd) Help() string {
	return "The message stands in no context any more, nor does what was made of it: summaries of it are written anew, and a " +
		"correction that covers it is withheld. It is found and listed all the same; strata messages unhide takes it back. What is to be " +
		"gone for good: strata messages delete."
}

// Run hides the message and prints it.
func (c *messagesHideCmd) Run(r *terminal.Run) error {
	return c.change(r, &memoryv1.Message{Hidden: true}, "hidden")
}

type messagesUnhideCmd struct{ messageArgs }

// Run shows the message in contexts again and prints it.
func (c *messagesUnhideCmd) Run(r *terminal.Run) error {
	return c.change(r, &memoryv1.Message{}, "hidden")
}

type messagesPinCmd struct{ messageArgs }

// Run pins the message and prints it.
func (c *messagesPinCmd) Run(r *terminal.Run) error {
	return c.change(r, &memoryv1.Message{Pinned: true}, "pinned")
}

type messagesUnpinCmd struct{ messageArgs }

// Run pins the message no longer and prints it.
func (c *messagesUnpinCmd) Run(r *terminal.Run) error {
	return c.change(r, &memoryv1.Message{}, "pinned")
}

type messagesEditCmd struct {
	messageArgs
	Hidden   *bool     `negatable:"" help:"Keep it out of every context, or not any more. It stays in the transcript and is found."`
	Pinned   *bool     `negatable:"" help:"Mark it as one to keep, or not any more."`
	Tag      *[]string `sep:"none" placeholder:"TAG" help:"Its tags from now on; may be repeated; one empty tag takes all away."`
	Metadata *string   `placeholder:"JSON" help:"The new metadata, a JSON object; empty to take it away."`
	Extract  string    `default:"" enum:",allow,none" placeholder:"MODE" help:"Whether facts are learnt from it: allow or none."`
}

// Run changes the message and prints it.
func (c *messagesEditCmd) Run(r *terminal.Run) error {
	m, fields, err := c.message()
	if err != nil {
		return err
	}
	return c.change(r, m, fields...)
}

// message is what the flags say of the message, with the fields that they name.
func (c *messagesEditCmd) message() (m *memoryv1.Message, fields []string, err error) {
	m = &memoryv1.Message{}
	if c.Hidden != nil {
		m.Hidden, fields = *c.Hidden, append(fields, "hidden")
	}
	if c.Pinned != nil {
		m.Pinned, fields = *c.Pinned, append(fields, "pinned")
	}
	if c.Tag != nil {
		none := func(tag string) bool { return tag == "" }
		m.Tags, fields = slices.DeleteFunc(slices.Clone(*c.Tag), none), append(fields, "tags")
	}
	if c.Metadata != nil {
		object, err := parseObject("--metadata", *c.Metadata)
		if err != nil {
			return nil, nil, err
		}
		m.Metadata, fields = object, append(fields, "metadata")
	}
	if c.Extract != "" {
		m.Extract, fields = extractOf(c.Extract), append(fields, "extract")
	}
	if len(fields) == 0 {
		return nil, nil, terminal.Usagef("nothing to change: give --[no-]hidden, --[no-]pinned, --tag, --metadata or --extract")
	}
	return m, fields, nil
}

func messageFieldRows(m *memoryv1.Message) [][]string {
	return [][]string{
		{"message", terminal.OneLine(m.GetId())},
		{"seq", fmt.Sprint(m.GetSeq())},
		{"turn", fmt.Sprint(m.GetTurnNo())},
		{"who", terminal.Speaker(m)},
		{"created", terminal.Clock(m.GetCreateTime())},
		{"recorded", terminal.Clock(m.GetRecordTime())},
		{"hidden", fmt.Sprint(m.GetHidden())},
		{"pinned", fmt.Sprint(m.GetPinned())},
		{"tags", terminal.OneLine(strings.Join(m.GetTags(), ", "))},
		{"extract", extractName(m.GetExtract())},
		{"metadata", objectText(m.GetMetadata())},
		{"text", terminal.Summary(m)},
	}
}
