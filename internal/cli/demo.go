package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/app"
	"github.com/stratamem/strata/internal/config"
)

// demoCmd replays a conversation against a real server and prints what an agent would get.
type demoCmd struct {
	Budget int64 `default:"600" help:"The token budget of each context."`
}

// Run starts a server over a temporary file, runs the script through gRPC and takes everything away again.
func (c *demoCmd) Run(r *run) error {
	dir, err := os.MkdirTemp("", "strata-demo-*")
	if err != nil {
		return fmt.Errorf("make a directory for the demo: %w", err)
	}
	defer os.RemoveAll(dir)
	cfg := config.Default()
	cfg.Data, cfg.Listen = filepath.Join(dir, "demo.db"), "127.0.0.1:0"
	started := r.env.Now()
	return withServer(r.ctx, cfg, func(ctx context.Context, addr string) error {
		conn, err := dial(addr)
		if err != nil {
			return err
		}
		defer conn.Close()
		d := &demo{run: r, palette: r.palette(), client: memoryv1.NewMemoryServiceClient(conn), budget: c.Budget}
		return r.explained(d.play(ctx, addr, started))
	})
}

// withServer runs a server while f runs.
func withServer(ctx context.Context, cfg config.Config, f func(ctx context.Context, addr string) error) error {
	a, err := app.New(ctx, cfg, app.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	serving, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- a.Run(serving) }()
	err = f(ctx, a.Addr())
	stop()
	return errors.Join(err, <-stopped)
}

// demo prints as it goes.
type demo struct {
	*run
	palette
	client memoryv1.MemoryServiceClient
	budget int64
}

func (d *demo) printf(format string, args ...any) { fmt.Fprintf(d.env.Stdout, format, args...) }

func (d *demo) play(ctx context.Context, addr string, started time.Time) error {
	d.printf("%s\n", d.bold("strata demo: what an agent remembers"))
	d.printf("%s\n", d.dim("A real server on "+addr+", a temporary file; no key, no network, no model."))
	if err := d.past(ctx); err != nil {
		return err
	}
	for i, q := range demoQuestions() {
		if err := d.ask(ctx, i, q); err != nil {
			return err
		}
	}
	d.printf("\n%s  %s\n", d.bold("That is all there is to it:"), d.dim(fmt.Sprintf("the whole demo took %s", d.since(started))))
	d.printf("  an agent calls Record after each turn and BuildContext before the next.\n\n")
	d.printf("  strata serve                                  %s\n", d.dim("run it for your own agent"))
	d.printf("  strata record ada s1 \"I am vegan\"             %s\n", d.dim("tell it something"))
	d.printf("  strata context ada s2 -q \"what can I eat?\" --explain\n")
	return nil
}

func (d *demo) since(t time.Time) time.Duration {
	took := d.env.Now().Sub(t)
	if took > time.Second {
		return took.Round(10 * time.Millisecond)
	}
	return took.Round(100 * time.Microsecond)
}

// past records the first session.
func (d *demo) past(ctx context.Context) error {
	turns := demoPast()
	d.head("1", fmt.Sprintf("%s: Ada plans a dinner (session %s)", turns[0].at.Format("Monday, 2 January 2006"), demoPlans))
	var spent time.Duration
	messages := 0
	for _, t := range turns {
		took, err := d.record(ctx, demoPlans, t)
		if err != nil {
			return err
		}
		spent += took
		messages += len(t.messages)
		d.turn(t)
	}
	d.printf("\n  %s %d messages in %d calls of Record, %s per call,\n           each on disk before it was answered\n",
		d.green("recorded"), messages, len(turns), (spent / time.Duration(len(turns))).Round(10*time.Microsecond))
	return nil
}

func (d *demo) record(ctx context.Context, session string, t demoTurn) (time.Duration, error) {
	req, err := t.request(session)
	if err != nil {
		return 0, fmt.Errorf("encode state: %w", err)
	}
	start := d.env.Now()
	_, err = d.client.Record(ctx, req)
	return d.env.Now().Sub(start), err
}

// ask builds the context for a question that is not recorded yet, prints it, then records the turn.
func (d *demo) ask(ctx context.Context, i int, t demoTurn) error {
	question, answer := t.messages[0], t.messages[1]
	title := "Ada asks again"
	if i == 0 {
		title = fmt.Sprintf("%s: ten days later, a new session (%s)", t.at.Format("Monday, 2 January 2006"), demoCheckup)
	}
	d.head(fmt.Sprint(i+2), title)
	d.line(question)
	start := d.env.Now()
	reply, err := d.client.BuildContext(ctx, &memoryv1.BuildContextRequest{
		UserId: demoUser, SessionId: demoCheckup, Pending: []*memoryv1.Message{question}, Explain: true,
		Instructions: "You are Ada's assistant.", Render: memoryv1.Render_RENDER_TEXT, AsOf: timestamppb.New(t.at),
		Overrides: &memoryv1.ContextOverrides{BudgetTokens: &d.budget},
	})
	took := d.since(start)
	if err != nil {
		return err
	}
	d.printContext(reply, took)
	d.line(answer)
	d.state(t)
	_, err = d.record(ctx, demoCheckup, t)
	return err
}

func (d *demo) printContext(reply *memoryv1.BuildContextResponse, took time.Duration) {
	d.printf("\n  %s\n", d.bold("The context its agent gets from BuildContext"))
	for line := range strings.Lines(clean(reply.GetRendering())) {
		d.wrapped(d.cyan("  │ "), strings.TrimRight(line, "\n"))
	}
	u, cov := reply.GetUsage(), reply.GetCoverage()
	d.printf("\n  %s %d of %d tokens (%s), built in %s\n", d.green("fits"), u.GetTokens(), u.GetAvailableTokens(), u.GetCounter(), took)
	if last := reply.GetWatermarks().GetRecorded(); last > 0 {
		d.printf("  %s messages %d to %d of this session stand there verbatim\n", d.green("whole"), cov.GetRawFrom(), last)
	}
	d.printWhy(reply)
	printDegraded(d.env.Stdout, reply.GetDegraded())
	d.printf("\n  With it the agent can answer:\n")
}

// maxTerms is how many terms of an explanation are shown.
const maxTerms = 4

// printWhy says for each recalled line what found it.
func (d *demo) printWhy(reply *memoryv1.BuildContextResponse) {
	items := slices.Clone(recalled(reply))
	if len(items) == 0 {
		return
	}
	slices.SortFunc(items, func(a, b *memoryv1.ContextItem) int {
		return cmp.Compare(a.GetExplanation().GetRank(), b.GetExplanation().GetRank())
	})
	d.printf("\n  %s\n", d.bold("Why these lines came back"))
	d.printf("  %s\n", d.dim("rank, score, message; below it what each word of the question adds"))
	for _, it := range items {
		e := it.GetExplanation()
		line := fmt.Sprintf("#%d %s: %s", it.GetSeq(), roleName(it.GetRole()), demoText(it))
		d.printf("  %2d. %5.2f  %s\n", e.GetRank(), e.GetScore(), text.Snip(line, d.width()-13, "…"))
		d.printf("             %s\n", d.dim(topTerms(e)))
	}
}

// demoText is what an item's message says. A text rendering does not repeat it, but the script has it.
func demoText(it *memoryv1.ContextItem) string {
	turns := demoPast()
	if it.GetSessionId() == demoCheckup {
		turns = demoQuestions()
	}
	seq := int64(0)
	for _, t := range turns {
		for _, m := range t.messages {
			if seq++; seq == it.GetSeq() {
				return summary(m)
			}
		}
	}
	return ""
}

func topTerms(e *memoryv1.Explanation) string {
	words := strings.Split(why(e), ", ")
	if len(words) > maxTerms {
		words = append(words[:maxTerms], "…")
	}
	return strings.Join(words, ", ")
}

func (d *demo) head(no, title string) { d.printf("\n%s %s\n\n", d.cyan(no), d.bold(title)) }

// turn prints one Record call of the conversation.
func (d *demo) turn(t demoTurn) {
	for _, m := range t.messages {
		d.line(m)
	}
	d.state(t)
}

// state prints what the agent keeps about the session from now on.
func (d *demo) state(t demoTurn) {
	for _, key := range slices.Sorted(maps.Keys(t.state)) {
		d.printf("  %s %s = %v\n", d.yellow("state"), key, t.state[key])
	}
}

// line prints one message of the conversation.
func (d *demo) line(m *memoryv1.Message) {
	who := map[memoryv1.Role]string{memoryv1.Role_ROLE_USER: "Ada", memoryv1.Role_ROLE_ASSISTANT: "agent", memoryv1.Role_ROLE_TOOL: "tool"}[m.GetRole()]
	d.wrapped("  "+d.cyan(fmt.Sprintf("%-6s", who)), summary(m))
}

func (d *demo) width() int {
	if d.env.Width == 0 {
		return 110
	}
	return min(d.env.Width, 110)
}

// wrapped prints text after a prefix, its further lines under the first.
func (d *demo) wrapped(prefix, s string) {
	indent := text.StringWidthWithoutEscSequences(prefix)
	next := strings.Repeat(" ", indent)
	if strings.Contains(prefix, "│") {
		next = prefix
	}
	for i, line := range strings.Split(text.WrapSoft(s, max(d.width()-indent, 20)), "\n") {
		if i > 0 {
			prefix = next
		}
		d.printf("%s\n", strings.TrimRight(prefix+line, " "))
	}
}
