package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// contextCmd builds a context and prints it.
type contextCmd struct {
	User         string  `arg:"" help:"The user."`
	Session      string  `arg:"" help:"The session the agent is in; it need not exist."`
	Query        string  `short:"q" help:"What to look for in memory; the user's last message when empty."`
	Budget       int64   `placeholder:"TOKENS" help:"The most tokens the prompt may take; the profile's when 0."`
	Render       string  `default:"text" enum:"structured,text,openai,anthropic" help:"The form: structured (a table of its items), text, openai or anthropic messages."`
	MemoryRole   string  `default:"" enum:",system,developer,user" placeholder:"ROLE" help:"In whose voice memory stands: system, developer or user."`
	Model        string  `help:"The model the context is for: gives its window and token counter."`
	Profile      string  `help:"The policy profile."`
	Instructions string  `help:"The instructions to begin with."`
	AsOf         instant `placeholder:"TIME" help:"The time to build it for, such as 2026-03-12T18:30:00Z."`
	Explain      bool    `help:"Say how each recalled line was found."`
}

// Run prints the context on stdout, and what it took and left out on stderr.
func (c *contextCmd) Run(r *run) error {
	var reply *memoryv1.BuildContextResponse
	err := r.call(func(ctx context.Context, client memoryv1.MemoryServiceClient) (err error) {
		reply, err = client.BuildContext(ctx, c.request())
		return err
	})
	if err != nil {
		return err
	}
	return r.show(reply, views{
		table: func(w io.Writer) {
			c.print(r, w, reply)
			printUsage(r.env.Stderr, reply)
		},
		quiet: func(w io.Writer) { c.print(r, w, reply) },
	})
}

func (c *contextCmd) request() *memoryv1.BuildContextRequest {
	o := &memoryv1.ContextOverrides{
		MemoryRole: memoryv1.MemoryRole(memoryv1.MemoryRole_value["MEMORY_ROLE_"+strings.ToUpper(c.MemoryRole)]),
	}
	if c.Budget != 0 {
		o.BudgetTokens = &c.Budget
	}
	return &memoryv1.BuildContextRequest{
		UserId: c.User, SessionId: c.Session, Query: c.Query, Instructions: c.Instructions, Profile: c.Profile,
		Render: memoryv1.Render(memoryv1.Render_value["RENDER_"+strings.ToUpper(c.Render)]),
		Model:  c.Model, AsOf: c.AsOf.proto(), Explain: c.Explain, Overrides: o,
	}
}

func (c *contextCmd) print(r *run, w io.Writer, reply *memoryv1.BuildContextResponse) {
	if c.Render == "structured" {
		r.table(w, []string{"section", "session", "seq", "who", "tokens", "text"}, itemRows(reply))
	} else if s := reply.GetRendering(); s != "" {
		fmt.Fprintln(w, strings.TrimSuffix(clean(s), "\n"))
	}
	if c.Explain && r.Output == "table" {
		fmt.Fprintln(r.env.Stderr)
		r.table(r.env.Stderr, []string{"rank", "score", "session", "seq", "who", "found by"}, explainRows(reply))
	}
}

func itemRows(reply *memoryv1.BuildContextResponse) [][]string {
	var rows [][]string
	for _, s := range reply.GetSections() {
		for _, it := range s.GetItems() {
			seq, who := "", ""
			if it.GetSeq() > 0 {
				seq = fmt.Sprint(it.GetSeq())
			}
			if it.GetRole() != 0 {
				who = speaker(&memoryv1.Message{Role: it.GetRole(), Name: it.GetName()})
			}
			rows = append(rows, []string{sectionName(s.GetKind()), clean(it.GetSessionId()), seq, who, fmt.Sprint(it.GetTokens()), itemText(it)})
		}
	}
	return rows
}

func itemText(it *memoryv1.ContextItem) string {
	if it.GetText() != "" {
		return oneLine(it.GetText())
	}
	return summary(it.GetMessage())
}

func explainRows(reply *memoryv1.BuildContextResponse) [][]string {
	var rows [][]string
	for _, it := range recalled(reply) {
		e := it.GetExplanation()
		rows = append(rows, []string{
			fmt.Sprint(e.GetRank()), fmt.Sprintf("%.2f", e.GetScore()), oneLine(it.GetSessionId()), fmt.Sprint(it.GetSeq()),
			speaker(&memoryv1.Message{Role: it.GetRole(), Name: it.GetName()}), why(e),
		})
	}
	return rows
}

// recalled are the items of the recalled section.
func recalled(reply *memoryv1.BuildContextResponse) []*memoryv1.ContextItem {
	for _, s := range reply.GetSections() {
		if s.GetKind() == memoryv1.SectionKind_SECTION_KIND_RECALLED {
			return s.GetItems()
		}
	}
	return nil
}

// why names the terms that found a message with what each adds, then what multiplies their sum.
func why(e *memoryv1.Explanation) string {
	var words []string
	for _, t := range e.GetTerms() {
		words = append(words, fmt.Sprintf("%s %.2f", oneLine(t.GetTerm()), t.GetScore()))
	}
	for _, f := range e.GetFactors() {
		if f.GetValue() != 1 {
			words = append(words, fmt.Sprintf("%s ×%.2f", oneLine(f.GetName()), f.GetValue()))
		}
	}
	return strings.Join(words, ", ")
}

func sectionName(k memoryv1.SectionKind) string {
	return strings.ToLower(strings.TrimPrefix(k.String(), "SECTION_KIND_"))
}

// printUsage says what the context takes, covers and leaves out.
func printUsage(w io.Writer, reply *memoryv1.BuildContextResponse) {
	u, cov := reply.GetUsage(), reply.GetCoverage()
	fmt.Fprintf(w, "\n%d of %d tokens (%s)", u.GetTokens(), u.GetAvailableTokens(), u.GetCounter())
	if last := reply.GetWatermarks().GetRecorded(); last == 0 {
		fmt.Fprint(w, "; the session is new")
	} else if cov.GetRawFrom() <= last {
		fmt.Fprintf(w, "; messages %d to %d verbatim%s", cov.GetRawFrom(), last, exceptions(cov))
	}
	fmt.Fprintln(w)
	for _, o := range reply.GetOmitted() {
		reason := strings.ToLower(strings.TrimPrefix(o.GetReason().String(), "OMIT_REASON_"))
		fmt.Fprintf(w, "left out: %s %d to %d (%s)\n", clean(o.GetSessionId()), o.GetFromSeq(), o.GetToSeq(), strings.ReplaceAll(reason, "_", " "))
	}
	printDegraded(w, reply.GetDegraded())
}

// exceptions names the spans that are missing among the messages that stand verbatim.
func exceptions(cov *memoryv1.Coverage) string {
	var spans []string
	for _, g := range cov.GetGaps() {
		switch from := max(g.GetFromSeq(), cov.GetRawFrom()); {
		case g.GetToSeq() == from:
			spans = append(spans, fmt.Sprint(from))
		case g.GetToSeq() > from:
			spans = append(spans, fmt.Sprintf("%d to %d", from, g.GetToSeq()))
		}
	}
	if len(spans) == 0 {
		return ""
	}
	return " but for " + strings.Join(spans, ", ")
}

func printDegraded(w io.Writer, all []*memoryv1.Degradation) {
	for _, d := range all {
		fmt.Fprintf(w, "degraded: %s: %s\n", clean(d.GetTier()), clean(d.GetReason()))
	}
}
