package remote

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// CompactCmd makes a history smaller that no server holds.
type CompactCmd struct {
	File    string `arg:"" optional:"" help:"The history as JSON: an array of messages, one message per line, or an object with messages, as strata messages -o json prints it; stdin without it or with -."`
	Profile string `help:"The profile whose policy is applied: chat, agent, langchain-default, koog-default, cost-saver or one of the server's own."`
	Policy  string `placeholder:"PATH" help:"A policy in place of the profile's, as JSON, such as {\"trim\": {\"messages\": 20}}."`
	Model   string `help:"The model the history is for: gives its window and token counter."`
	Window  int64  `placeholder:"TOKENS" help:"The window, where no model is given or its own is not known."`
}

// Run prints the history as it is then on stdout, as one message per line, and what was done to it on stderr.
func (c *CompactCmd) Run(r *terminal.Run) error {
	req, err := c.request(r.Env)
	if err != nil {
		return terminal.UsageError{Err: err}
	}
	reply, err := terminal.Ask(r, memoryv1.NewHistoryServiceClient, memoryv1.HistoryServiceClient.Compact, req)
	if err != nil {
		return err
	}
	if r.Output == "json" {
		return r.ShowJSON(reply)
	}
	if err := printHistory(r.Env.Stdout, req, reply); err != nil {
		return err
	}
	if r.Output == "table" {
		printCompacted(r, reply)
	}
	return nil
}

// readHistory reads what parseHistory takes apart. Nobody types it.
func readHistory(env terminal.Env, file, to string) ([]byte, error) {
	if file == "" && env.StdinTerminal {
		return nil, fmt.Errorf("nothing to %s: give FILE, or messages as JSON by stdin", to)
	}
	return readInput(env, file)
}

// printHistory prints the messages of a reply, or those of the request where they are as they were.
func printHistory(w io.Writer, req interface{ GetMessages() []*memoryv1.Message }, reply interface {
	GetMessages() []*memoryv1.Message
	GetChanged() bool
},
) error {
	if !reply.GetChanged() {
		return printMessages(w, req.GetMessages())
	}
	return printMessages(w, reply.GetMessages())
}

func (c *CompactCmd) request(env terminal.Env) (*memoryv1.CompactRequest, error) {
	data, err := readHistory(env, c.File, "compact")
	if err != nil {
		return nil, err
	}
	req := &memoryv1.CompactRequest{Profile: c.Profile, Model: c.Model, WindowTokens: c.Window}
	if req.Messages, err = parseHistory(data); err != nil {
		return nil, err
	}
	if c.Policy == "" {
		return req, nil
	}
	if data, err = os.ReadFile(c.Policy); err != nil {
		return nil, err
	}
	req.Policy = &memoryv1.ContextPolicy{}
	if err := protojson.Unmarshal(data, req.Policy); err != nil {
		return nil, fmt.Errorf("%s: it is not a context policy such as {\"trim\": {\"messages\": 20}}: %w", c.Policy, err)
	}
	return req, nil
}

// parseHistory reads messages, also within an object that holds them and nothing else that matters.
func parseHistory(data []byte) ([]*memoryv1.Message, error) {
	var whole struct {
		Messages json.RawMessage `json:"messages"`
	}
	if json.Unmarshal(data, &whole) == nil && whole.Messages != nil {
		data = whole.Messages
	}
	return terminal.ParseMessages(bytes.NewReader(data))
}

// printMessages writes one message per line, in the form that parseMessages reads.
func printMessages(w io.Writer, all []*memoryv1.Message) error {
	for _, m := range all {
		raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
		if err != nil {
			return fmt.Errorf("encode message: %w", err)
		}
		var line bytes.Buffer
		if err := json.Compact(&line, raw); err != nil { // protojson puts blanks where it likes
			return fmt.Errorf("encode message: %w", err)
		}
		fmt.Fprintln(w, line.String())
	}
	return nil
}

// printCompacted prints what was done, on stderr.
func printCompacted(r *terminal.Run, reply *memoryv1.CompactResponse) {
	w, u := r.Env.Stderr, reply.GetUsage()
	if !reply.GetChanged() {
		fmt.Fprintf(
			w,
			"\nnothing to do: %d messages, %d tokens (%s)%s\n",
			u.GetMessagesBefore(),
			u.GetTokensBefore(),
			u.GetCounter(),
			windowShare(u.GetShareBefore()),
		)
		return
	}
	fmt.Fprintf(w, "\n%d messages, %d tokens → %d messages, %d tokens (%s)%s\n",
		u.GetMessagesBefore(), u.GetTokensBefore(), u.GetMessagesAfter(), u.GetTokensAfter(), u.GetCounter(), windowShare(u.GetShareAfter()))
	var rows [][]string
	for _, e := range u.GetEffects() {
		rows = append(rows, []string{
			e.GetStage(), fmt.Sprint(e.GetMessagesBefore()), fmt.Sprint(e.GetMessagesAfter()),
			fmt.Sprint(e.GetTokensBefore()), fmt.Sprint(e.GetTokensAfter()), strings.ReplaceAll(e.GetFallback(), "_", " "),
		})
	}
	r.Table(w, slices.Concat(terminal.Cut.Columns("policy"), terminal.Whole.Columns("messages", "after", "tokens", "after"), terminal.Wrapped.Columns("fallback")), rows)
	for _, s := range reply.GetSummaries() {
		fmt.Fprintf(w, "%d messages in a summary of %d tokens by %s\n", len(s.GetOfMessageIds()), s.GetTokens(), Author(s.GetModel()))
	}
	if n := len(reply.GetCleared()); n > 0 {
		fmt.Fprintf(w, "%d tool results cleared\n", n)
	}
	PrintDegraded(w, reply.GetDegraded())
}

// windowShare returns which part of a known window something takes.
func windowShare(share float64) string {
	if share == 0 {
		return ""
	}
	return fmt.Sprintf(", %.0f %% of the window", 100*share)
}
