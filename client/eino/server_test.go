package eino_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/client"
	"github.com/stratamem/strata/client/eino"
)

var address string

// TestMain starts one server for all tests, which have users of their own: the program STRATA_BINARY, else one that is built here.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "strata-eino-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	found, stop, err := serve(folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer stop()
	address = found
	return m.Run()
}

func serve(folder string) (address string, stop func(), err error) {
	binary := os.Getenv("STRATA_BINARY")
	if binary == "" {
		binary = filepath.Join(folder, "strata")
		built := exec.CommandContext(context.Background(), "go", "build", "-C", "../..", "-o", binary, "./cmd/strata")
		if out, err := built.CombinedOutput(); err != nil {
			return "", nil, fmt.Errorf("build the server: %w\n%s", err, out)
		}
	}
	server := exec.CommandContext(context.Background(), binary, "serve", "--data", filepath.Join(folder, "strata.db"),
		"--listen", "127.0.0.1:0", "--metrics-listen", "",
		"--request-timeout", "2m", "--embedding-deadline", "10s") // a slow machine fails no test
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "STRATA_") {
			server.Env = append(server.Env, variable)
		}
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return "", nil, fmt.Errorf("start the server: %w", err)
	}
	server.Stderr = server.Stdout
	if err := server.Start(); err != nil {
		return "", nil, fmt.Errorf("start the server: %w", err)
	}
	var printed []string
	lines := bufio.NewScanner(out)
	for address == "" && lines.Scan() {
		printed = append(printed, lines.Text())
		if words := strings.Fields(lines.Text()); len(words) > 1 && words[0] == "address" {
			address = words[1]
		}
	}
	var drained sync.WaitGroup
	drained.Go(func() {
		for lines.Scan() { // so that the server never waits for a reader
		}
	})
	stop = func() {
		_ = server.Process.Signal(os.Interrupt)
		drained.Wait()
		_ = server.Wait()
	}
	if address == "" {
		stop()
		return "", nil, fmt.Errorf("the server did not start:\n%s", strings.Join(printed, "\n"))
	}
	return address, stop, nil
}

// dial returns a client of the server, and the user of this test.
func dial(t *testing.T) (c *client.Client, user string) {
	t.Helper()
	c, err := client.New(address, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, t.Name()
}

// told records words of the user in another session, and waits until they are learnt.
func told(t *testing.T, c *client.Client, user, words string) {
	t.Helper()
	said := []*memoryv1.Message{{Role: memoryv1.Role_ROLE_USER, Text: words}}
	if _, err := c.Memory.Record(t.Context(), &memoryv1.RecordRequest{UserId: user, SessionId: "earlier", Messages: said}); err != nil {
		t.Fatal(err)
	}
	_, err := c.Work.WaitForWatermark(t.Context(), &memoryv1.WaitForWatermarkRequest{
		UserId: user, SessionId: "earlier", Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED},
		Timeout: durationpb.New(20 * time.Second),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// scripted is a model that returns the replies of its list in order, and keeps what it was asked.
type scripted struct {
	mu      sync.Mutex
	answers []*schema.Message
	asked   [][]*schema.Message
}

func script(answers ...*schema.Message) *scripted { return &scripted{answers: answers} }

func (s *scripted) Generate(_ context.Context, input []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, input)
	if len(s.answers) == 0 {
		return nil, errFailed
	}
	next := s.answers[0]
	s.answers = s.answers[1:]
	return next, nil
}

// Stream sends its reply letter by letter; a call of a tool in one piece.
func (s *scripted) Stream(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	whole, err := s.Generate(ctx, input, opts...)
	if err != nil {
		return nil, err
	}
	pieces := []*schema.Message{whole}
	if len(whole.ToolCalls) == 0 {
		pieces = nil
		for _, letter := range whole.Content {
			pieces = append(pieces, schema.AssistantMessage(string(letter), nil))
		}
	}
	return schema.StreamReaderFromArray(pieces), nil
}

func (s *scripted) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return s, nil }

// prompt returns the messages of a call, a line each.
func prompt(messages []*schema.Message) string {
	lines := make([]string, len(messages))
	for n, m := range messages {
		lines[n] = string(m.Role) + ": " + m.Content
		for _, c := range m.ToolCalls {
			lines[n] += " " + c.Function.Name + c.Function.Arguments
		}
	}
	return strings.Join(lines, "\n")
}

// transcript returns the session's messages, a line each.
func transcript(t *testing.T, memory *eino.Memory, ctx context.Context) string { //nolint:revive // t comes first in tests
	t.Helper()
	messages, err := memory.Messages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return prompt(messages)
}

func call(id, name, arguments string) *schema.Message {
	return schema.AssistantMessage("", []schema.ToolCall{
		{ID: id, Type: "function", Function: schema.FunctionCall{Name: name, Arguments: arguments}},
	})
}
