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
	"github.com/stratamem/strata/client"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/memory/secret"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/cli/remote"
	"github.com/stratamem/strata/internal/program/cli/terminal"
	"github.com/stratamem/strata/internal/program/config"
)

// demoCmd replays a conversation against a real server and prints what an agent would get.
type demoCmd struct {
	Budget         int64  `default:"1500" help:"The token budget of each context."`
	BaseURL        string `name:"base-url" placeholder:"URL" help:"An OpenAI-compatible endpoint, such as http://127.0.0.1:11434/v1; its key comes from STRATA_CHAT_API_KEY. Empty: no model, no network."`
	Model          string `help:"The chat model there that summarises and extracts facts."`
	EmbeddingModel string `help:"The embedding model there; the built-in one when empty."`
}

// The demo's contexts are small and its summaries early, so that a short conversation shows both.
const (
	demoRecent  = 2
	demoTrigger = 6
	demoPatient = 90 * time.Second // for background work: a model, or a machine that does other work
)

// config is the server of the demo: a file in the directory, the defaults, and the models of the command line.
func (c *demoCmd) config(dir string, env terminal.Env) (config.Config, error) {
	if (c.BaseURL == "") != (c.Model == "") || c.EmbeddingModel != "" && c.BaseURL == "" {
		return config.Config{}, terminal.Usagef("--base-url and --model go together, and --embedding-model with them")
	}
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.MetricsListen = filepath.Join(dir, "demo.db"), "127.0.0.1:0", ""
	p := cfg.Profiles[config.BuiltinProfile]
	p.RecentN, p.Summaries.TriggerMessages, p.Summaries.KeepMessages = demoRecent, demoTrigger, demoRecent
	cfg.Profiles[config.BuiltinProfile] = p
	cfg.RequestTimeout = 2 * demoPatient
	if c.BaseURL == "" {
		return cfg, nil
	}
	key, _ := env.Getenv("STRATA_CHAT_API_KEY")
	cfg.ChatBaseURL, cfg.ChatAPIKey, cfg.SummaryModel, cfg.ExtractionModel = c.BaseURL, secret.New(key), c.Model, c.Model
	if c.EmbeddingModel != "" {
		cfg.EmbeddingBaseURL, cfg.EmbeddingAPIKey, cfg.EmbeddingModel = c.BaseURL, secret.New(key), c.EmbeddingModel
	}
	return cfg, cfg.Validate()
}

// Run starts a server over a temporary file, runs the script through gRPC and takes everything away again.
func (c *demoCmd) Run(r *terminal.Run) error {
	dir, err := os.MkdirTemp("", "strata-demo-*")
	if err != nil {
		return fmt.Errorf("make a directory for the demo: %w", err)
	}
	defer os.RemoveAll(dir)
	cfg, err := c.config(dir, r.Env)
	if err != nil {
		return err
	}
	d := &demo{Run: r, Palette: r.Palette(), budget: c.Budget, known: map[string]bool{}}
	return d.play(cfg, c.Model)
}

// withServer runs a server while f runs.
func withServer(ctx context.Context, cfg config.Config, f func(ctx context.Context, a *app.App) error) error {
	a, err := app.New(ctx, cfg, app.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	serving, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	safegroup.Go(func() error { return a.Run(serving) }, func(err error) { stopped <- err })
	err = f(ctx, a)
	stop()
	return errors.Join(err, <-stopped)
}

// demo prints as it goes.
type demo struct {
	*terminal.Run
	terminal.Palette
	server *client.Client
	budget int64
	known  map[string]bool // facts that were shown
}

func (d *demo) printf(format string, args ...any) { fmt.Fprintf(d.Env.Stdout, format, args...) }

// play runs the script. The server is started anew in between: what is learnt is on disk, and what is over is
// summarised by weeks.
func (d *demo) play(cfg config.Config, model string) error {
	providers := "no key, no network, no model: rules find the facts, summaries are extracts."
	if model != "" {
		providers = terminal.OneLine(model) + " finds the facts and writes the summaries."
	}
	d.printf("%s\n", d.Bold("strata demo: what an agent remembers"))
	d.wrapped("", "A real server over a temporary file; "+providers)
	started := d.Env.Now()
	if err := d.acts(cfg, d.plans); err != nil {
		return err
	}
	if err := d.acts(cfg, d.returns, d.changesHerMind, d.asksAll); err != nil {
		return err
	}
	d.printf("\n%s  %s\n", d.Bold("That is all there is to it:"), d.Dim(fmt.Sprintf("the whole demo took %s", d.since(started))))
	d.printf("  an agent calls Record after each turn and BuildContext before the next.\n\n")
	d.printf("  strata serve                                  %s\n", d.Dim("run it for your own agent"))
	d.printf("  strata record ada s1 \"I am vegan\"             %s\n", d.Dim("record a message"))
	d.printf("  strata facts list ada                         %s\n", d.Dim("see what it learnt"))
	d.printf("  strata context ada s2 -q \"what can I eat?\" --explain\n")
	return nil
}

// acts plays parts of the script on one run of the server.
func (d *demo) acts(cfg config.Config, acts ...func(context.Context) error) error {
	return withServer(d.Ctx, cfg, func(ctx context.Context, a *app.App) error {
		var err error
		if d.server, err = terminal.Dial(terminal.Server{Address: a.Addr()}, ""); err != nil {
			return err
		}
		defer func() { _ = d.server.Close() }()
		for _, act := range acts {
			if err := act(ctx); err != nil {
				return d.Explained(err)
			}
		}
		return nil
	})
}

func (d *demo) since(t time.Time) time.Duration {
	took := d.Env.Now().Sub(t)
	if took > time.Second {
		return took.Round(10 * time.Millisecond)
	}
	return took.Round(100 * time.Microsecond)
}

// plans records the first session, and shows what the service makes of it in the background.
func (d *demo) plans(ctx context.Context) error {
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
		d.Green("recorded"), messages, len(turns), (spent / time.Duration(len(turns))).Round(10*time.Microsecond))
	if err := d.learnt(ctx, demoPlans); err != nil {
		return err
	}
	return d.summarised(ctx, demoPlans)
}

// returns asks about the first session in another one.
func (d *demo) returns(ctx context.Context) error {
	t := demoQuestions()[0]
	d.head("2", fmt.Sprintf("%s: another session (%s)", t.at.Format("Monday, 2 January 2006"), demoCheckup))
	d.wrapped("  ", "The server was started anew in between: all that it knows is on disk.")
	week, err := d.week(ctx)
	if err != nil {
		return err
	}
	d.summary("The summary of her week", week)
	d.printf("\n")
	return d.ask(ctx, t, d.printWhy)
}

// changesHerMind shows that a newer statement takes the place of an older one, which is kept.
func (d *demo) changesHerMind(ctx context.Context) error {
	d.head("3", "Ada changes her mind")
	for _, t := range demoQuestions()[1:3] {
		if _, err := d.record(ctx, demoCheckup, t); err != nil {
			return err
		}
		d.turn(t)
	}
	if err := d.learnt(ctx, demoCheckup); err != nil {
		return err
	}
	return d.superseded(ctx)
}

// asksAll asks once more, when there is something for every part of a context.
func (d *demo) asksAll(ctx context.Context) error {
	if err := d.await(ctx, demoCheckup, demoTrigger-demoRecent, memoryv1.Watermark_WATERMARK_SUMMARISED); err != nil {
		return err
	}
	d.head("4", "She asks again: facts, summaries, recalled and latest messages, within the budget")
	return d.ask(ctx, demoQuestions()[3], d.printScores)
}

func (d *demo) record(ctx context.Context, session string, t demoTurn) (time.Duration, error) {
	req, err := t.request(session)
	if err != nil {
		return 0, fmt.Errorf("encode state: %w", err)
	}
	start := d.Env.Now()
	_, err = d.server.Memory.Record(ctx, req)
	return d.Env.Now().Sub(start), err
}

// ask builds the context for a question that is not recorded yet, prints and explains it, then records the turn.
func (d *demo) ask(ctx context.Context, t demoTurn, explain func(*memoryv1.BuildContextResponse)) error {
	question, answer := t.messages[0], t.messages[1]
	d.line(question)
	start := d.Env.Now()
	reply, err := d.server.Memory.BuildContext(ctx, &memoryv1.BuildContextRequest{
		UserId: demoUser, SessionId: demoCheckup, Pending: []*memoryv1.Message{question}, Explain: true,
		Instructions: "You are Ada's assistant.", Render: memoryv1.Render_RENDER_TEXT, AsOf: timestamppb.New(t.at),
		Overrides: &memoryv1.ContextOverrides{BudgetTokens: &d.budget},
	})
	took := d.since(start)
	if err != nil {
		return err
	}
	d.printContext(reply, took)
	explain(reply)
	d.printf("\n  With it the agent can answer:\n")
	d.line(answer)
	d.state(t)
	_, err = d.record(ctx, demoCheckup, t)
	return err
}

func (d *demo) printContext(reply *memoryv1.BuildContextResponse, took time.Duration) {
	d.printf("\n  %s\n", d.Bold("The context its agent gets from BuildContext"))
	for line := range strings.Lines(terminal.Clean(reply.GetRendering())) {
		d.wrapped(d.Cyan("  │ "), strings.TrimRight(line, "\n"))
	}
	u, cov := reply.GetUsage(), reply.GetCoverage()
	d.printf("\n  %s %d of %d tokens (%s), built in %s\n", d.Green("fits"), u.GetTokens(), u.GetAvailableTokens(), u.GetCounter(), took)
	d.wrapped("  "+d.Green("holds")+" ", sectionNames(reply))
	if last := reply.GetWatermarks().GetRecorded(); last > 0 && cov.GetRawFrom() <= last {
		d.wrapped(
			"  "+d.Green("whole")+" ",
			fmt.Sprintf("messages %d to %d of this session stand there verbatim%s", cov.GetRawFrom(), last, summarisedBefore(cov)),
		)
	}
	remote.PrintDegraded(d.Env.Stdout, reply.GetDegraded())
}

// summarisedBefore returns which messages the running summary covers.
func summarisedBefore(cov *memoryv1.Coverage) string {
	if cov.GetSummaryThrough() == 0 {
		return ""
	}
	return fmt.Sprintf(", those before in a summary (1 to %d)", cov.GetSummaryThrough())
}

// sectionNames are the parts of a context, in order.
func sectionNames(reply *memoryv1.BuildContextResponse) string {
	var names []string
	for _, s := range reply.GetSections() {
		names = append(names, strings.ReplaceAll(remote.SectionName(s.GetKind()), "_", " "))
	}
	return strings.Join(names, ", ")
}

// maxTerms is how many terms of an explanation are shown.
const maxTerms = 4

// printWhy prints for each recalled line what found it.
func (d *demo) printWhy(reply *memoryv1.BuildContextResponse) {
	items := slices.Clone(remote.Recalled(reply))
	if len(items) == 0 {
		return
	}
	slices.SortFunc(items, func(a, b *memoryv1.ContextItem) int {
		return cmp.Compare(a.GetExplanation().GetRank(), b.GetExplanation().GetRank())
	})
	d.printf("\n  %s\n", d.Bold("Why these lines came back"))
	d.printf("  %s\n", d.Dim("rank, score, message; below it what each word of the question adds"))
	for _, it := range items {
		e := it.GetExplanation()
		line := fmt.Sprintf("#%d %s: %s", it.GetSeq(), terminal.RoleName(it.GetRole()), demoText(it))
		d.printf("  %2d. %5.2f  %s\n", e.GetRank(), e.GetScore(), text.Snip(line, d.width()-13, "…"))
		d.printf("             %s\n", d.Dim(topTerms(e)))
	}
}

// demoText returns the text of an item's message. A text rendering does not repeat it, but the script has it.
func demoText(it *memoryv1.ContextItem) string {
	turns := demoPast()
	if it.GetSessionId() == demoCheckup {
		turns = demoQuestions()
	}
	seq := int64(0)
	for _, t := range turns {
		for _, m := range t.messages {
			if seq++; seq == it.GetSeq() {
				return terminal.Summary(m)
			}
		}
	}
	return ""
}

func topTerms(e *memoryv1.Explanation) string {
	words := strings.Split(remote.Why(e), ", ")
	if len(words) > maxTerms {
		words = append(words[:maxTerms], "…")
	}
	return strings.Join(words, ", ")
}

func (d *demo) head(no, title string) { d.printf("\n%s %s\n\n", d.Cyan(no), d.Bold(title)) }

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
		d.printf("  %s %s = %v\n", d.Yellow("state"), key, t.state[key])
	}
}

// line prints one message of the conversation.
func (d *demo) line(m *memoryv1.Message) {
	who := map[memoryv1.Role]string{memoryv1.Role_ROLE_USER: "Ada", memoryv1.Role_ROLE_ASSISTANT: "agent", memoryv1.Role_ROLE_TOOL: "tool"}[m.GetRole()]
	d.wrapped("  "+d.Cyan(fmt.Sprintf("%-6s", who)), terminal.Summary(m))
}

func (d *demo) width() int {
	if d.Env.Width == 0 {
		return 110
	}
	return min(d.Env.Width, 110)
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
