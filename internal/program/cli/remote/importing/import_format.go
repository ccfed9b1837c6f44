package importing

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/chatformats"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// formatsHelp lists the formats of other programs.
func formatsHelp() string {
	var b strings.Builder
	for _, f := range chatformats.Formats() {
		fmt.Fprintf(&b, "  %-16s %s\n", f.Name, f.What)
	}
	return strings.TrimRight(b.String(), "\n")
}

// foreignImport is an import of another program's file under way.
type foreignImport struct {
	*terminal.Run
	messages memoryv1.MemoryServiceClient
	facts    memoryv1.FactServiceClient
	counts   foreignCounts
}

// foreignCounts is what an import of another program's file did.
type foreignCounts struct {
	Sessions int `json:"sessions"`
	Stored   int `json:"messages_stored"`
	Skipped  int `json:"messages_skipped"`
	Facts    int `json:"facts"`
}

// foreignSession is a conversation with the calls that record it.
type foreignSession struct {
	id, title string
	requests  []*memoryv1.RecordRequest
}

// runForeign reads the whole file, then records it.
func (c *ImportCmd) runForeign(r *terminal.Run) error {
	export, err := c.readForeign(r.Env)
	if err != nil {
		return terminal.UsageError{Err: err}
	}
	sessions, err := c.sessions(export)
	if err != nil {
		return terminal.UsageError{Err: err}
	}
	if names := export.NamesUnused(); names != "" {
		fmt.Fprintf(r.Env.Stderr, "not imported, since there is no place for it: %s\n", terminal.Clean(names))
	}
	server, err := r.Dial()
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	job := &foreignImport{Run: r, messages: server.Memory, facts: server.Facts}
	for _, s := range sessions {
		if err := job.record(c.User, s); err != nil {
			return fmt.Errorf("the import stopped at session %s; run it again to go on: %w", s.id, err)
		}
	}
	for i, f := range export.Facts {
		if err := job.learn(c.User, f); err != nil {
			return fmt.Errorf("the import stopped at fact %d; run it again to go on: %w", i+1, err)
		}
	}
	return job.finish()
}

func (c *ImportCmd) readForeign(env terminal.Env) (chatformats.Export, error) {
	formats := chatformats.Formats()
	i := slices.IndexFunc(formats, func(f chatformats.Format) bool { return f.Name == c.Format })
	in, err := terminal.OpenInput(env, c.File)
	if err != nil {
		return chatformats.Export{}, err
	}
	defer in.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(in)
	if err != nil {
		return chatformats.Export{}, fmt.Errorf("read the file: %w", err)
	}
	export, err := formats[i].Read(data)
	if err != nil {
		return export, fmt.Errorf("it is no file of --format %s, nothing was imported: %w", c.Format, err)
	}
	if c.User == "" && slices.ContainsFunc(export.Facts, func(f chatformats.Fact) bool { return f.UserID == "" }) || c.User == "" && len(export.Conversations) > 0 {
		return export, fmt.Errorf("--user is missing: the file does not say whose it is")
	}
	return export, nil
}

// sessions are the calls for all conversations: that they can be made is known before the first is sent.
func (c *ImportCmd) sessions(export chatformats.Export) ([]foreignSession, error) {
	im := newImporter()
	var all []foreignSession
	for i, conversation := range export.Conversations {
		if len(conversation.Messages) == 0 {
			continue
		}
		s := foreignSession{id: c.sessionID(export, i), title: conversation.Title}
		key := hash(c.User, s.id)
		if err := im.Name(key, conversation.Messages); err != nil {
			return nil, fmt.Errorf("conversation %d: %w", i+1, err)
		}
		var err error
		s.requests, err = im.identified(batches(importLine{UserID: c.User, SessionID: s.id}, conversation.Messages, nil))
		if err != nil {
			return nil, fmt.Errorf("conversation %d: %w", i+1, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// sessionID is the conversation's own id, or one made of --session or the file's name.
func (c *ImportCmd) sessionID(export chatformats.Export, i int) string {
	if id := export.Conversations[i].ID; id != "" {
		return id
	}
	name := c.Session
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(c.File), filepath.Ext(c.File))
	}
	if name == "-" || name == "" {
		name = "import"
	}
	if len(export.Conversations) == 1 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, i+1)
}

func (j *foreignImport) record(user string, s foreignSession) error {
	for _, req := range s.requests {
		if err := j.within(func(ctx context.Context) error {
			reply, err := j.messages.Record(ctx, req)
			if err == nil {
				stored, known := recordedOf(req, reply)
				j.counts.Stored += stored
				j.counts.Skipped += known
			}
			return err
		}); err != nil {
			return err
		}
	}
	j.counts.Sessions++
	if s.title == "" {
		return nil
	}
	return j.within(func(ctx context.Context) error {
		_, err := j.messages.UpdateSession(ctx, titled(user, s))
		return err
	})
}

// learn stores a fact. A repeat finds it by its request id.
func (j *foreignImport) learn(user string, f chatformats.Fact) error {
	if user == "" {
		user = f.UserID
	}
	id := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", user, f.ID, f.Text))
	req := &memoryv1.CreateFactRequest{
		RequestId: fmt.Sprintf("import-%x", id[:16]),
		Fact:      &memoryv1.Fact{UserId: user, Text: f.Text, Tags: f.Tags, ValidFrom: terminal.Instant{Time: f.Time}.Proto()},
	}
	return j.within(func(ctx context.Context) error {
		_, err := j.facts.CreateFact(ctx, req)
		if err == nil {
			j.counts.Facts++
		}
		return err
	})
}

func (j *foreignImport) within(do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(j.Ctx, j.Timeout)
	defer cancel()
	return j.Explained(do(ctx))
}

func (j *foreignImport) finish() error {
	if j.Output == "json" {
		return j.ShowValue(j.counts)
	}
	if j.Output == "table" {
		fmt.Fprintf(j.Env.Stdout, "%d sessions: %d messages stored, %d known already; %d facts\n",
			j.counts.Sessions, j.counts.Stored, j.counts.Skipped, j.counts.Facts)
	}
	return nil
}

// maxTitle is how many bytes a title may have.
const maxTitle = 255

// titled gives a session the title of its conversation, as far as a title may go.
func titled(user string, s foreignSession) *memoryv1.UpdateSessionRequest {
	title := terminal.OneLine(s.title)
	for len(title) > maxTitle {
		_, size := utf8.DecodeLastRuneInString(title)
		title = title[:len(title)-size]
	}
	return &memoryv1.UpdateSessionRequest{
		Session:    &memoryv1.Session{UserId: user, SessionId: s.id, Title: title},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"title"}},
	}
}
