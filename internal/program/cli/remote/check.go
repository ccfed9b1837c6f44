package remote

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// CheckCmd checks messages that no server holds.
type CheckCmd struct {
	File    string `arg:"" optional:"" help:"The messages as JSON: an array, one message per line, or an object with messages, as strata messages -o json prints it; stdin without it or with -."`
	Profile string `help:"The profile whose checks are used."`
	Rules   string `placeholder:"PATH" help:"Rules in place of the profile's, as a JSON array, such as [{\"name\": \"json\", \"json\": {}, \"action\": \"CHECK_ACTION_REMOVE\"}]."`
	Model   string `help:"The model that tokens are counted for."`
}

// Run prints the messages as they are then on stdout, one per line, and what was found on stderr.
func (c *CheckCmd) Run(r *terminal.Run) error {
	req, err := c.request(r.Env)
	if err != nil {
		return terminal.UsageError{Err: err}
	}
	reply, err := terminal.Ask(r, memoryv1.NewHistoryServiceClient, memoryv1.HistoryServiceClient.CheckMessages, req)
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
		for _, f := range reply.GetFindings() {
			fmt.Fprintln(r.Env.Stderr, checkLine(f))
		}
	}
	return nil
}

func (c *CheckCmd) request(env terminal.Env) (*memoryv1.CheckMessagesRequest, error) {
	data, err := readHistory(env, c.File, "check")
	if err != nil {
		return nil, err
	}
	req := &memoryv1.CheckMessagesRequest{Profile: c.Profile, Model: c.Model}
	if c.Rules != "" {
		if err := readRules(c.Rules, req); err != nil {
			return nil, err
		}
	}
	req.Messages, err = parseHistory(data)
	return req, err
}

// readRules reads an array of rules into a request.
func readRules(path string, req *memoryv1.CheckMessagesRequest) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	rules := &memoryv1.CheckMessagesRequest{}
	if !json.Valid(data) {
		err = fmt.Errorf("it is not JSON")
	} else {
		err = protojson.Unmarshal(bytes.Join([][]byte{[]byte(`{"rules":`), data, []byte(`}`)}, nil), rules)
	}
	if err != nil {
		return fmt.Errorf(
			"%s: it is not an array of rules such as [{\"name\": \"json\", \"json\": {}, \"action\": \"CHECK_ACTION_REMOVE\"}]: %w",
			path,
			err,
		)
	}
	req.Rules = rules.GetRules()
	return nil
}

// checkLine returns what a check did.
func checkLine(f *memoryv1.CheckFinding) string {
	action := strings.ToLower(strings.TrimPrefix(f.GetAction().String(), "CHECK_ACTION_"))
	line := fmt.Sprintf("check %s: %s in message %s", terminal.Clean(f.GetRule()), action, terminal.Clean(f.GetMessageId()))
	if f.GetRemoved() {
		line += ", of which nothing was left"
	}
	if f.GetHint() != "" {
		line += ": " + terminal.Clean(f.GetHint())
	}
	return line
}

// printFindings prints what was odd about recorded messages.
func printFindings(w io.Writer, all []*memoryv1.Finding) {
	for _, f := range all {
		if f.GetCheck() != nil {
			fmt.Fprintln(w, checkLine(f.GetCheck()))
			continue
		}
		kind := strings.ToLower(strings.TrimPrefix(f.GetKind().String(), "FINDING_KIND_"))
		fmt.Fprintf(w, "odd: %s in message %s%s\n", strings.ReplaceAll(kind, "_", " "), terminal.Clean(f.GetMessageId()), ofCall(f.GetCallId()))
	}
}

// ofCall names a tool call behind what is said of a message; nothing where none is concerned.
func ofCall(id string) string {
	if id == "" {
		return ""
	}
	return ", call " + terminal.Clean(id)
}
