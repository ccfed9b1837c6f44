package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// SessionsCmd groups the commands about sessions.
type SessionsCmd struct {
	List   sessionsListCmd   `cmd:"" help:"List a user's sessions, the one last spoken in first."`
	Show   sessionsShowCmd   `cmd:"" aliases:"get" help:"Show a session with its state."`
	Edit   sessionsEditCmd   `cmd:"" aliases:"update" help:"Change a session's title, metadata or profile, where its contexts start, and whether facts are learnt from it."`
	Delete sessionsDeleteCmd `cmd:"" help:"Erase a session and what was made of it, for good."`
}

type sessionsListCmd struct {
	User  string          `arg:"" help:"The user."`
	Limit terminal.AtMost `default:"50" help:"The most sessions to list; 0 for all."`
}

// Run prints the sessions, page by page from the server.
func (c *sessionsListCmd) Run(r *terminal.Run) error {
	all, err := terminal.ListAll(
		r, memoryv1.NewMemoryServiceClient, memoryv1.MemoryServiceClient.ListSessions, &memoryv1.ListSessionsRequest{UserId: c.User},
		(*memoryv1.ListSessionsResponse).GetSessions, c.Limit, terminal.MaxSessions,
	)
	if err != nil {
		return err
	}
	return r.Show(all, terminal.Views{
		Table: func(w io.Writer) {
			r.Table(w, slices.Concat(terminal.Cut.Columns("session"), terminal.Whole.Columns("last seq", "last message"), terminal.Cut.Columns("profile", "title")),
				sessionRows(all.GetSessions()))
			terminal.More(r, all.GetNextPageToken())
		},
		Quiet: func(w io.Writer) {
			for _, s := range all.GetSessions() {
				fmt.Fprintln(w, s.GetSessionId())
			}
		},
	})
}

func sessionRows(sessions []*memoryv1.Session) [][]string {
	var rows [][]string
	for _, s := range sessions {
		rows = append(rows, []string{
			terminal.OneLine(s.GetSessionId()), fmt.Sprint(s.GetLastSeq()), terminal.Clock(s.GetLastMessageTime()),
			terminal.OneLine(s.GetProfile()), terminal.OneLine(s.GetTitle()),
		})
	}
	return rows
}

type sessionsShowCmd struct {
	User    string `arg:"" help:"The user."`
	Session string `arg:"" help:"The session, or the beginning of its id."`
}

// Run prints the session.
func (c *sessionsShowCmd) Run(r *terminal.Run) error {
	session, err := r.Session(c.User, c.Session)
	if err != nil {
		return err
	}
	reply, err := terminal.Ask(r, memoryv1.NewMemoryServiceClient, memoryv1.MemoryServiceClient.GetSession,
		&memoryv1.GetSessionRequest{UserId: c.User, SessionId: session})
	if err != nil {
		return err
	}
	return showSession(r, reply.GetSession())
}

type sessionsEditCmd struct {
	User     string  `arg:"" help:"The user."`
	Session  string  `arg:"" help:"The session, or the beginning of its id."`
	Title    *string `help:"The new title; empty to take it away."`
	Metadata *string `placeholder:"JSON" help:"The new metadata, a JSON object; empty to take it away."`
	Profile  *string `help:"The new policy profile; empty for the server's default."`
	Extract  string  `default:"" enum:",allow,none" placeholder:"MODE" help:"Whether facts are learnt from the session: allow or none."`
	Start    string  `name:"context-start" placeholder:"SEQ" help:"Keep the messages before this one out of every context; end for all so far, 0 to take it back. The transcript stays."`
	ETag     string  `name:"etag" help:"Refuse the change unless this is the session's etag."`
}

// Help says what labels a session may have.
func (c *sessionsEditCmd) Help() string {
	return "A session has no tags of its own: its metadata is the place for labels, such as --metadata '{\"tags\": [\"work\"]}'. " +
		"What is set replaces what was there; strata sessions show prints it, and its etag."
}

// Run changes the session and prints it.
func (c *sessionsEditCmd) Run(r *terminal.Run) error {
	req, err := c.request()
	if err != nil {
		return err
	}
	var reply *memoryv1.UpdateSessionResponse
	err = r.Call(func(ctx context.Context, client memoryv1.MemoryServiceClient) (err error) {
		if req.Session.SessionId, err = r.SessionOf(ctx, client, c.User, c.Session); err != nil {
			return err
		}
		if c.Start == startAtEnd {
			if err := startAtTheEnd(ctx, client, req.GetSession()); err != nil {
				return err
			}
		}
		reply, err = client.UpdateSession(ctx, req)
		return err
	})
	if err != nil {
		return err
	}
	return showSession(r, reply.GetSession())
}

func (c *sessionsEditCmd) request() (*memoryv1.UpdateSessionRequest, error) {
	s := &memoryv1.Session{UserId: c.User, SessionId: c.Session, Etag: c.ETag}
	mask := &fieldmaskpb.FieldMask{}
	if c.Title != nil {
		s.Title, mask.Paths = *c.Title, append(mask.Paths, "title")
	}
	if c.Profile != nil {
		s.Profile, mask.Paths = *c.Profile, append(mask.Paths, "profile")
	}
	if c.Metadata != nil {
		m, err := parseObject("--metadata", *c.Metadata)
		if err != nil {
			return nil, err
		}
		s.Metadata, mask.Paths = m, append(mask.Paths, "metadata")
	}
	if c.Extract != "" {
		s.Extract, mask.Paths = extractOf(c.Extract), append(mask.Paths, "extract")
	}
	if c.Start != "" {
		seq, err := strconv.ParseInt(c.Start, 10, 64)
		if err != nil && c.Start != startAtEnd {
			return nil, terminal.Usagef("--context-start: give the seq of the first message that contexts may have, end, or 0 to take it back")
		}
		s.ContextStartSeq, mask.Paths = seq, append(mask.Paths, "context_start_seq")
	}
	if len(mask.Paths) == 0 {
		return nil, terminal.Usagef("nothing to change: give --title, --metadata, --profile, --extract or --context-start")
	}
	return &memoryv1.UpdateSessionRequest{Session: s, UpdateMask: mask}, nil
}

// startAtEnd is what --context-start says to hide all that was said so far.
const startAtEnd = "end"

// startAtTheEnd has contexts start behind the session's last message.
func startAtTheEnd(ctx context.Context, client memoryv1.MemoryServiceClient, s *memoryv1.Session) error {
	now, err := client.GetSession(ctx, &memoryv1.GetSessionRequest{UserId: s.GetUserId(), SessionId: s.GetSessionId()})
	if err != nil {
		return err
	}
	s.ContextStartSeq = now.GetSession().GetLastSeq() + 1
	return nil
}

// startText is where contexts start, for people.
func startText(s *memoryv1.Session) string {
	if s.GetContextStartSeq() == 0 {
		return ""
	}
	return fmt.Sprintf("at message %d", s.GetContextStartSeq())
}

func showSession(r *terminal.Run, s *memoryv1.Session) error {
	return r.Show(s, terminal.Views{
		Table: func(w io.Writer) { r.Fields(w, fieldRows(s)) },
		Quiet: func(w io.Writer) { fmt.Fprintln(w, s.GetSessionId()) },
	})
}

func fieldRows(s *memoryv1.Session) [][]string {
	return [][]string{
		{"user", terminal.OneLine(s.GetUserId())},
		{"session", terminal.OneLine(s.GetSessionId())},
		{"title", terminal.OneLine(s.GetTitle())},
		{"profile", terminal.OneLine(s.GetProfile())},
		{"extract", extractName(s.GetExtract())},
		{"contexts start", startText(s)},
		{"last seq", fmt.Sprint(s.GetLastSeq())}, // not how many messages there are: deleted ones keep their places
		{"turns", fmt.Sprint(s.GetLastTurnNo())},
		{"last message", terminal.Clock(s.GetLastMessageTime())},
		{"created", terminal.Clock(s.GetCreateTime())},
		{"updated", terminal.Clock(s.GetUpdateTime())},
		{"metadata", objectText(s.GetMetadata())},
		{"state", objectText(s.GetState())},
		{"etag", terminal.OneLine(s.GetEtag())},
	}
}

// objectText is a JSON object in one line; "" when there is none.
func objectText(s *structpb.Struct) string {
	if s == nil {
		return ""
	}
	raw, err := protojson.Marshal(s)
	if err != nil {
		return "(cannot be shown: " + err.Error() + ")"
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return "(cannot be shown: " + err.Error() + ")"
	}
	return terminal.OneLine(b.String())
}
