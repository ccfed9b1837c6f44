package remote

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// ContextCmd builds a context and prints it.
type ContextCmd struct {
	User         string           `arg:"" help:"The user."`
	Session      string           `arg:"" help:"The session the agent is in; it need not exist."`
	Query        string           `short:"q" help:"What to look for in memory; the user's last message when empty."`
	Budget       int64            `placeholder:"TOKENS" help:"The most tokens the prompt may take; the profile's when 0."`
	Render       string           `default:"text" enum:"structured,text,openai,anthropic,responses" help:"The form: structured (a table of its items), text, openai or anthropic messages, or items of OpenAI's responses."`
	MemoryRole   string           `default:"" enum:",system,developer,user" placeholder:"ROLE" help:"In whose voice memory stands: system, developer or user."`
	MemoryPlace  string           `default:"" enum:",before,after" placeholder:"PLACE" help:"Where memory stands: before the session's messages, or after them, just before the user's last."`
	Model        string           `help:"The model the context is for: gives its window and token counter."`
	Profile      string           `help:"The policy profile."`
	Instructions string           `xor:"instructions" help:"The instructions to begin with."`
	Template     string           `xor:"instructions" help:"Instructions with places for values, such as {{vars.name}}, {{state.goal}} or {{user.language | \"en\"}}."`
	Vars         string           `placeholder:"JSON" help:"A JSON object of values for the template; they are not stored."`
	AsOf         terminal.Instant `placeholder:"TIME" help:"The time to build it for, such as 2026-03-12T18:30:00Z."`
	Explain      bool             `help:"Say how each fact and each recalled line was found."`
	Fresh        bool             `help:"Wait, up to 2 s, until facts are learnt from all that was recorded."`
}

// Run prints the context on stdout, and what it took and left out on stderr.
func (c *ContextCmd) Run(r *terminal.Run) error {
	vars, err := parseObject("--vars", c.Vars)
	if err != nil {
		return err
	}
	req := c.request()
	req.Variables = vars
	var reply *memoryv1.BuildContextResponse
	err = r.Call(func(ctx context.Context, client memoryv1.MemoryServiceClient) (err error) {
		reply, err = client.BuildContext(ctx, req)
		return err
	})
	if err != nil {
		return err
	}
	return r.Show(reply, terminal.Views{
		Table: func(w io.Writer) {
			c.print(r, w, reply)
			printUsage(r.Env.Stderr, reply)
		},
		Quiet: func(w io.Writer) { c.print(r, w, reply) },
	})
}

func (c *ContextCmd) request() *memoryv1.BuildContextRequest {
	o := &memoryv1.ContextOverrides{
		MemoryRole:  memoryv1.MemoryRole(memoryv1.MemoryRole_value["MEMORY_ROLE_"+strings.ToUpper(c.MemoryRole)]),
		MemoryPlace: memoryv1.MemoryPlace(memoryv1.MemoryPlace_value["MEMORY_PLACE_"+strings.ToUpper(c.MemoryPlace)]),
	}
	if c.Budget != 0 {
		o.BudgetTokens = &c.Budget
	}
	var fresh *memoryv1.Freshness
	if c.Fresh {
		fresh = &memoryv1.Freshness{}
	}
	return &memoryv1.BuildContextRequest{
		UserId: c.User, SessionId: c.Session, Query: c.Query, Instructions: c.Instructions, InstructionsTemplate: c.Template, Profile: c.Profile,
		Render: memoryv1.Render(memoryv1.Render_value["RENDER_"+strings.ToUpper(c.Render)]),
		Model:  c.Model, AsOf: c.AsOf.Proto(), Explain: c.Explain, Overrides: o, Fresh: fresh,
	}
}

func (c *ContextCmd) print(r *terminal.Run, w io.Writer, reply *memoryv1.BuildContextResponse) {
	if c.Render == "structured" {
		columns := slices.Concat(terminal.Whole.Columns("section"), terminal.Cut.Columns("session"), terminal.Whole.Columns("seq"), terminal.Cut.Columns("who"),
			terminal.Whole.Columns("tokens"), terminal.Cut.Columns("text"))
		r.Table(w, columns, itemRows(reply))
	} else if s := reply.GetRendering(); s != "" {
		fmt.Fprintln(w, strings.TrimSuffix(terminal.Clean(s), "\n"))
	}
	if c.Explain && r.Output == "table" {
		explainTables(r, reply)
	}
}

// explainTables prints on stderr how facts and recalled lines were found.
func explainTables(r *terminal.Run, reply *memoryv1.BuildContextResponse) {
	if rows := factScoreRows(reply); len(rows) > 0 {
		fmt.Fprintln(r.Env.Stderr)
		r.Table(r.Env.Stderr, scoreColumns(), rows)
	}
	fmt.Fprintln(r.Env.Stderr)
	columns := slices.Concat(terminal.Whole.Columns("rank", "score"), terminal.Cut.Columns("session"), terminal.Whole.Columns("seq"), terminal.Cut.Columns("who"),
		terminal.Wrapped.Columns("found by"))
	r.Table(r.Env.Stderr, columns, explainRows(reply))
	if g := reply.GetRetrieval(); g != nil {
		fmt.Fprintf(r.Env.Stderr, "\n%d facts scored; embedder: %s\n", g.GetFacts(), embedderName(g.GetEmbedder()))
	}
}

func embedderName(model string) string {
	if model == "" {
		return "none served"
	}
	return terminal.OneLine(model)
}

// factScoreRows are the facts of other sessions with their scores.
func factScoreRows(reply *memoryv1.BuildContextResponse) [][]string {
	var rows [][]string
	items := ItemsOf(reply, memoryv1.SectionKind_SECTION_KIND_FACTS)
	ids := make([]string, len(items))
	for i, it := range items {
		ids[i] = it.GetFact().GetFactId()
	}
	short := terminal.ShortIDs(ids)
	for i, it := range items {
		row := scoreRow(it.GetFact(), it.GetFactScore(), short[i])
		if s := it.GetSelection(); s > memoryv1.Selection_SELECTION_FOUND {
			row[foundByColumn] = selectionName(s)
		}
		rows = append(rows, row)
	}
	return rows
}

func itemRows(reply *memoryv1.BuildContextResponse) [][]string {
	var rows [][]string
	for _, s := range reply.GetSections() {
		for _, it := range s.GetItems() {
			rows = append(rows, []string{
				SectionName(s.GetKind()), terminal.OneLine(it.GetSessionId()), itemSpan(it), itemAuthor(it), fmt.Sprint(it.GetTokens()), itemText(it),
			})
		}
	}
	return rows
}

// itemSpan is the message an item is, or the messages that a summary covers.
func itemSpan(it *memoryv1.ContextItem) string {
	switch {
	case it.GetSummary() != nil:
		return spanText(it.GetSummary().GetFromSeq(), it.GetSummary().GetToSeq())
	case it.GetSeq() > 0:
		return fmt.Sprint(it.GetSeq())
	}
	return ""
}

// itemAuthor is who said a message, or what wrote a fact or summary.
func itemAuthor(it *memoryv1.ContextItem) string {
	switch {
	case it.GetFact() != nil || it.GetSummary() != nil:
		return Author(it.GetModel())
	case it.GetRole() != 0:
		return terminal.Speaker(&memoryv1.Message{Role: it.GetRole(), Name: it.GetName()})
	}
	return ""
}

func itemText(it *memoryv1.ContextItem) string {
	switch {
	case it.GetText() != "":
		return terminal.OneLine(it.GetText())
	case it.GetFact() != nil:
		return terminal.OneLine(it.GetFact().GetText())
	}
	return terminal.Summary(it.GetMessage())
}

func explainRows(reply *memoryv1.BuildContextResponse) [][]string {
	var rows [][]string
	for _, it := range Recalled(reply) {
		e := it.GetExplanation()
		found := Why(e)
		if it.GetSelection() > memoryv1.Selection_SELECTION_FOUND {
			found = selectionName(it.GetSelection())
		}
		rows = append(rows, []string{
			fmt.Sprint(e.GetRank()), fmt.Sprintf("%.2f", e.GetScore()), terminal.OneLine(it.GetSessionId()), fmt.Sprint(it.GetSeq()),
			terminal.Speaker(&memoryv1.Message{Role: it.GetRole(), Name: it.GetName()}), found,
		})
	}
	return rows
}

// Recalled are the items of the recalled section.
func Recalled(reply *memoryv1.BuildContextResponse) []*memoryv1.ContextItem {
	return ItemsOf(reply, memoryv1.SectionKind_SECTION_KIND_RECALLED)
}

// ItemsOf are the items of a section.
func ItemsOf(reply *memoryv1.BuildContextResponse, kind memoryv1.SectionKind) []*memoryv1.ContextItem {
	for _, s := range reply.GetSections() {
		if s.GetKind() == kind {
			return s.GetItems()
		}
	}
	return nil
}

// Why names the terms that found a message with what each adds, then what multiplies their sum.
func Why(e *memoryv1.Explanation) string {
	var words []string
	for _, a := range e.GetArms() {
		if a.GetArm() != lexicalRetriever { // that one's terms say more
			words = append(words, fmt.Sprintf("%s #%d", terminal.OneLine(a.GetArm()), a.GetRank()))
		}
	}
	for _, t := range e.GetTerms() {
		words = append(words, fmt.Sprintf("%s %.2f", terminal.OneLine(t.GetTerm()), t.GetScore()))
	}
	for _, f := range e.GetFactors() {
		if f.GetValue() != 1 {
			words = append(words, fmt.Sprintf("%s ×%.2f", terminal.OneLine(f.GetName()), f.GetValue()))
		}
	}
	if len(words) == 0 && len(e.GetArms()) > 0 { // phrases have no terms
		return lexicalRetriever
	}
	return strings.Join(words, ", ")
}

// lexicalRetriever is the name of the retriever that finds by words.
const lexicalRetriever = "lexical"

// selectionName returns why something is in a context, such as "fill: stated".
func selectionName(s memoryv1.Selection) string {
	return strings.Replace(strings.ToLower(strings.TrimPrefix(s.String(), "SELECTION_")), "fill_", "fill: ", 1)
}

// SectionName returns what a section is called for people.
func SectionName(k memoryv1.SectionKind) string {
	return strings.ToLower(strings.TrimPrefix(k.String(), "SECTION_KIND_"))
}

// printUsage prints what the context takes, covers and leaves out.
func printUsage(w io.Writer, reply *memoryv1.BuildContextResponse) {
	u, cov := reply.GetUsage(), reply.GetCoverage()
	fmt.Fprintf(w, "\n%d of %d tokens (%s)", u.GetTokens(), u.GetAvailableTokens(), u.GetCounter())
	last := reply.GetWatermarks().GetRecorded()
	if last == 0 {
		fmt.Fprint(w, "; the session is new")
	}
	if through := cov.GetSummaryThrough(); through > 0 {
		fmt.Fprintf(w, "; messages 1 to %d in a summary", through)
	}
	if last > 0 && cov.GetRawFrom() <= last {
		fmt.Fprintf(w, "; messages %d to %d verbatim%s", cov.GetRawFrom(), last, exceptions(cov))
	}
	fmt.Fprintln(w)
	for _, o := range reply.GetOmitted() {
		reason := strings.ToLower(strings.TrimPrefix(o.GetReason().String(), "OMIT_REASON_"))
		fmt.Fprintf(
			w,
			"left out: %s %d to %d (%s)\n",
			terminal.Clean(o.GetSessionId()),
			o.GetFromSeq(),
			o.GetToSeq(),
			strings.ReplaceAll(reason, "_", " "),
		)
	}
	if n := len(reply.GetCleared()); n > 0 {
		fmt.Fprintf(w, "%d tool results cleared\n", n)
	}
	if reply.GetStepLimitReached() {
		fmt.Fprintf(w, "%d replies without a message of the user: the step limit is reached\n", reply.GetStepsSinceUser())
	}
	PrintDegraded(w, reply.GetDegraded())
}

// exceptions names the spans that are missing among the verbatim messages.
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

// PrintDegraded prints what a reply lacks.
func PrintDegraded(w io.Writer, all []*memoryv1.Degradation) {
	for _, d := range all {
		fmt.Fprintf(w, "degraded: %s: %s\n", terminal.Clean(d.GetTier()), terminal.Clean(d.GetReason()))
	}
}
