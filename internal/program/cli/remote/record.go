// Package remote has the commands that call a running server. None of them opens a store. The packages below it have the commands about
// access and the import.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// RecordCmd records one turn.
type RecordCmd struct {
	User      string           `arg:"" help:"The user."`
	Session   string           `arg:"" help:"The session; created when it does not exist."`
	Text      string           `arg:"" optional:"" help:"What was said. Without it, messages are read as JSON from --file or stdin."`
	Role      string           `enum:",system,developer,user,assistant,tool" default:"" help:"Who says TEXT: system, developer, user (when not given), assistant or tool."`
	Name      string           `help:"The speaker's name, beside TEXT."`
	ID        string           `name:"id" help:"The id of the message, beside TEXT."`
	At        terminal.Instant `placeholder:"TIME" help:"When TEXT was said, such as 2026-03-12T18:30:00Z."`
	File      string           `short:"f" placeholder:"PATH" help:"Messages as JSON: an object, an array, or one object per line, such as {\"role\": \"user\", \"text\": \"hello\"}; - for stdin."`
	State     string           `placeholder:"JSON" help:"A JSON object to merge into the session's state; null deletes a key."`
	RequestID string           `name:"request-id" help:"The id of this call: a repeat writes nothing and answers the same."`
	Profile   string           `help:"The policy profile of a new session."`
}

// Run records the turn and prints what was stored.
func (c *RecordCmd) Run(r *terminal.Run) error {
	req, err := c.request(r.Env)
	if err != nil {
		return err
	}
	var reply *memoryv1.RecordResponse
	err = r.Call(func(ctx context.Context, client memoryv1.MemoryServiceClient) (err error) {
		reply, err = client.Record(ctx, req)
		return err
	})
	if err != nil {
		return err
	}
	return r.Show(reply, terminal.Views{
		Table: func(w io.Writer) { printRecorded(w, reply) },
		Quiet: func(w io.Writer) {
			if ids := reply.GetMessageIds(); len(ids) > 0 {
				fmt.Fprintln(w, strings.Join(ids, "\n"))
			}
		},
	})
}

func (c *RecordCmd) request(env terminal.Env) (*memoryv1.RecordRequest, error) {
	messages, err := c.messages(env)
	if err != nil {
		return nil, terminal.UsageError{Err: err}
	}
	req := &memoryv1.RecordRequest{
		UserId: c.User, SessionId: c.Session, RequestId: c.RequestID, Messages: messages, Profile: c.Profile,
	}
	if req.StatePatch, err = parseObject("--state", c.State); err != nil {
		return nil, err
	}
	return req, nil
}

// check refuses arguments that would have no effect.
func (c *RecordCmd) check() error {
	if c.Text != "" && c.File != "" {
		return errors.New("TEXT and --file: give one of them")
	}
	if c.Text == "" && (c.Role != "" || c.Name != "" || c.ID != "" || !c.At.IsZero()) {
		return errors.New("--role, --name, --id and --at belong to TEXT: messages given as JSON carry their own")
	}
	return nil
}

// said is the message that TEXT makes.
func (c *RecordCmd) said() *memoryv1.Message {
	return &memoryv1.Message{
		Id: c.ID, Role: terminal.RoleOf(cmp.Or(c.Role, "user")), Name: c.Name, Text: c.Text, CreateTime: c.At.Proto(),
	}
}

func (c *RecordCmd) messages(env terminal.Env) ([]*memoryv1.Message, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Text != "" {
		return []*memoryv1.Message{c.said()}, nil
	}
	if c.File == "" && (env.StdinTerminal || c.State != "") {
		if c.State == "" {
			return nil, fmt.Errorf("nothing to record: give TEXT, messages as JSON by --file or stdin, or --state")
		}
		return nil, nil
	}
	data, err := readInput(env, c.File)
	if err != nil {
		return nil, err
	}
	return terminal.ParseMessages(bytes.NewReader(data))
}

// readInput reads a file, or stdin when the path is empty or -.
func readInput(env terminal.Env, path string) ([]byte, error) {
	if path == "" || path == "-" {
		return io.ReadAll(env.Stdin)
	}
	return os.ReadFile(path)
}

// parseObject reads a flag that holds a JSON object; nil when it is empty.
func parseObject(flag, text string) (*structpb.Struct, error) {
	if text == "" {
		return nil, nil
	}
	s := &structpb.Struct{}
	if !json.Valid([]byte(text)) || protojson.Unmarshal([]byte(text), s) != nil {
		return nil, terminal.Usagef("%s: it must be a JSON object, such as {\"step\": 2}", flag)
	}
	return s, nil
}

func printRecorded(w io.Writer, reply *memoryv1.RecordResponse) {
	stored := reply.GetLastSeq() - reply.GetFirstSeq() + 1
	switch {
	case reply.GetReplayed():
		fmt.Fprintf(w, "this request was recorded before, as turn %d: nothing written\n", reply.GetTurnNo())
	case reply.GetTurnNo() == 0 && len(reply.GetFindings()) > 0:
		fmt.Fprintln(w, "no new message is left: nothing written")
	case reply.GetTurnNo() == 0:
		fmt.Fprintln(w, "all messages are known: nothing written")
	case stored == 0:
		fmt.Fprintf(w, "turn %d\n", reply.GetTurnNo())
	default:
		fmt.Fprintf(w, "turn %d, messages %d to %d\n", reply.GetTurnNo(), reply.GetFirstSeq(), reply.GetLastSeq())
	}
	if n := len(reply.GetDeduplicatedIds()); n > 0 && !reply.GetReplayed() {
		fmt.Fprintf(w, "%d known already, skipped\n", n)
	}
	printFindings(w, reply.GetFindings())
}
