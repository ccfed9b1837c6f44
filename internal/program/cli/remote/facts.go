package remote

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// FactsCmd groups the commands about what was learnt about a user.
type FactsCmd struct {
	List       factsListCmd       `cmd:"" help:"List a user's facts, the latest changed first."`
	Show       factsShowCmd       `cmd:"" aliases:"get" help:"Show a fact with where it was said."`
	Add        factsAddCmd        `cmd:"" help:"State a fact yourself; extraction never changes it."`
	Edit       factsEditCmd       `cmd:"" help:"Change a fact; extraction never changes it again."`
	Pin        factsPinCmd        `cmd:"" help:"Keep a fact at full weight whatever its age, and whatever the retention says."`
	Unpin      factsUnpinCmd      `cmd:"" help:"Pin a fact no longer."`
	Delete     factsDeleteCmd     `cmd:"" help:"Delete a fact with its history; it is not learnt again from what was said before."`
	Search     factsSearchCmd     `cmd:"" help:"Find a user's current facts."`
	History    factsHistoryCmd    `cmd:"" help:"List what a fact was after each change."`
	Restore    factsRestoreCmd    `cmd:"" help:"Make a fact current again."`
	Quarantine factsQuarantineCmd `cmd:"" help:"List what a model proposed and verification refused."`
}

// maxFactHits is the most that the API returns of facts that were found.
const maxFactHits = 200

type factsListCmd struct {
	User     string          `arg:"" help:"The user."`
	Past     bool            `help:"With facts that do not hold any more."`
	Category []string        `enum:"preference,personal_info,goal,pain_point,decision,other" placeholder:"CATEGORY" help:"Only this category: ${enum}; may be repeated."`
	Session  string          `short:"s" help:"Only facts learnt in this session."`
	Limit    terminal.AtMost `default:"50" help:"The most facts to list; 0 for all."`
}

// Run prints the facts, page by page from the server.
func (c *factsListCmd) Run(r *terminal.Run) error {
	session, err := r.Session(c.User, c.Session)
	if err != nil {
		return err
	}
	req := &memoryv1.ListFactsRequest{
		UserId: c.User, IncludePast: c.Past, Categories: categoriesOf(c.Category), SessionId: session,
	}
	all, err := terminal.ListAll(
		r, memoryv1.NewFactServiceClient, memoryv1.FactServiceClient.ListFacts, req,
		(*memoryv1.ListFactsResponse).GetFacts, c.Limit, terminal.MaxFacts,
	)
	if err != nil {
		return err
	}
	return r.Show(all, terminal.Views{
		Table: func(w io.Writer) {
			columns := slices.Concat(terminal.Whole.Columns("fact"), terminal.Spare.Columns("category"), terminal.Whole.Columns("sig"), terminal.Spare.Columns("about"),
				terminal.Whole.Columns("since", "until"), terminal.Wrapped.Columns("text"))
			r.Table(w, columns, factRows(all.GetFacts()))
			terminal.More(r, all.GetNextPageToken())
		},
		Quiet: func(w io.Writer) {
			for _, f := range all.GetFacts() {
				fmt.Fprintln(w, f.GetFactId())
			}
		},
	})
}

func factRows(facts []*memoryv1.Fact) [][]string {
	var rows [][]string
	short := shortFacts(facts)
	for i, f := range facts {
		rows = append(rows, []string{
			short[i], CategoryName(f.GetCategory()), fmt.Sprint(f.GetSignificance()), aboutText(f),
			DateText(f.GetValidFrom()), DateText(f.GetValidTo()), terminal.OneLine(f.GetText()),
		})
	}
	return rows
}

// shortFacts are the ids of facts as a table prints them.
func shortFacts(facts []*memoryv1.Fact) []string {
	ids := make([]string, len(facts))
	for i, f := range facts {
		ids[i] = f.GetFactId()
	}
	return terminal.ShortIDs(ids)
}

// aboutText is whom a fact is about, with the property it gives a value.
func aboutText(f *memoryv1.Fact) string {
	about := terminal.OneLine(f.GetSubject())
	if about == "" {
		about = "user"
	}
	if f.GetAttribute() != "" {
		about += "." + terminal.OneLine(f.GetAttribute())
	}
	return about
}

// DateText is the day of a time, in UTC.
func DateText(t *timestamppb.Timestamp) string {
	day, _, _ := strings.Cut(terminal.Clock(t), " ")
	return day
}

// CategoryName returns the name of a category.
func CategoryName(c memoryv1.Category) string {
	return strings.ToLower(strings.TrimPrefix(c.String(), "CATEGORY_"))
}

func categoryOf(name string) memoryv1.Category {
	return memoryv1.Category(memoryv1.Category_value["CATEGORY_"+strings.ToUpper(name)])
}

func categoriesOf(names []string) []memoryv1.Category {
	var all []memoryv1.Category
	for _, n := range names {
		all = append(all, categoryOf(n))
	}
	return all
}

type factsShowCmd struct {
	User string `arg:"" help:"The user."`
	Fact string `arg:"" help:"The fact's id, or the beginning of it."`
}

// Run prints the fact.
func (c *factsShowCmd) Run(r *terminal.Run) error {
	f, err := fact(r, c.User, c.Fact)
	if err != nil {
		return err
	}
	return showFact(r, f)
}

// fact reads a fact that is named by its id or the beginning of it.
func fact(r *terminal.Run, user, given string) (f *memoryv1.Fact, err error) {
	err = terminal.CallOn(r, memoryv1.NewFactServiceClient, func(ctx context.Context, client memoryv1.FactServiceClient) error {
		return terminal.WithFact(ctx, client, user, given, func(id string) error {
			reply, err := client.GetFact(ctx, &memoryv1.GetFactRequest{UserId: user, FactId: id})
			f = reply.GetFact()
			return err
		})
	})
	return f, err
}

func showFact(r *terminal.Run, f *memoryv1.Fact) error {
	return r.Show(f, terminal.Views{
		Table: func(w io.Writer) { r.Fields(w, factFields(f)) },
		Quiet: func(w io.Writer) { fmt.Fprintln(w, f.GetFactId()) },
	})
}

func factFields(f *memoryv1.Fact) [][]string {
	rows := [][]string{
		{"fact", f.GetFactId()},
		{"text", terminal.OneLine(f.GetText())},
		{"category", CategoryName(f.GetCategory())},
		{"about", aboutText(f)},
		{"significance", fmt.Sprint(f.GetSignificance())},
		{"confidence", fmt.Sprintf("%.2f", f.GetConfidence())},
		{"tags", terminal.OneLine(strings.Join(f.GetTags(), ", "))},
		{"holds from", terminal.Clock(f.GetValidFrom())},
		{"holds until", terminal.Clock(f.GetValidTo())},
		{"superseded by", f.GetSupersededBy()},
		{"pinned", fmt.Sprint(f.GetPinned())},
		{"written by", Author(f.GetModel())},
		{"protected", fmt.Sprint(f.GetProtected())},
		{"language", terminal.OneLine(f.GetLanguage())},
		{"created", terminal.Clock(f.GetCreateTime())},
		{"updated", terminal.Clock(f.GetUpdateTime())},
		{"last used", terminal.Clock(f.GetLastUsedTime())},
		{"revision", fmt.Sprint(f.GetRevision())},
		{"etag", terminal.OneLine(f.GetEtag())},
	}
	for _, e := range f.GetEvidence() {
		what := "said in"
		if e.GetEnds() {
			what = "taken back in"
		}
		rows = append(rows, []string{what, fmt.Sprintf("%s, message %d: %s", terminal.OneLine(e.GetSessionId()), e.GetSeq(), terminal.OneLine(e.GetQuote()))})
	}
	return rows
}

// Author is what wrote a fact or summary.
func Author(model string) string {
	if model == "" {
		return "a person"
	}
	return terminal.OneLine(model)
}

// factValues are the flags that say what a fact is.
type factValues struct {
	Category     *string           `enum:"preference,personal_info,goal,pain_point,decision,other" placeholder:"CATEGORY" help:"What kind of thing it is: preference, personal_info, goal, pain_point, decision or other."`
	Significance *int32            `placeholder:"N" help:"How much it matters, 1 to 10."`
	Tag          []string          `sep:"none" help:"A label; may be repeated."`
	Subject      *string           `help:"Whom it is about; empty for the user."`
	Attribute    *string           `help:"A property of which there is one value at a time, such as home_city."`
	ValidFrom    *terminal.Instant `placeholder:"TIME" help:"Since when it holds, such as 2026-03-12."`
	Language     *string           `placeholder:"TAG" help:"The language of the text, such as ko."`
}

// put sets what the flags name, and returns the fields.
func (v factValues) put(f *memoryv1.Fact) (fields []string) {
	if v.Category != nil {
		f.Category, fields = categoryOf(*v.Category), append(fields, "category")
	}
	if v.Significance != nil {
		f.Significance, fields = *v.Significance, append(fields, "significance")
	}
	if v.Tag != nil {
		f.Tags, fields = v.Tag, append(fields, "tags")
	}
	if v.Subject != nil {
		f.Subject, fields = *v.Subject, append(fields, "subject")
	}
	if v.Attribute != nil {
		f.Attribute, fields = *v.Attribute, append(fields, "attribute")
	}
	if v.ValidFrom != nil {
		f.ValidFrom, fields = v.ValidFrom.Proto(), append(fields, "valid_from")
	}
	if v.Language != nil {
		f.Language, fields = *v.Language, append(fields, "language")
	}
	return fields
}

type factsAddCmd struct {
	User string `arg:"" help:"The user."`
	Text string `arg:"" help:"What it says."`
	factValues
	Pinned    bool   `help:"Keep it at full weight whatever its age."`
	RequestID string `name:"request-id" placeholder:"ID" help:"Your id of this call: a repeat returns the first fact."`
	terminal.AuthorFlag
}

// Run stores the fact and prints it.
func (c *factsAddCmd) Run(r *terminal.Run) error {
	f := &memoryv1.Fact{UserId: c.User, Text: c.Text, Pinned: c.Pinned}
	c.put(f)
	req := &memoryv1.CreateFactRequest{Fact: f, RequestId: c.RequestID, Author: c.AuthorName(r.Env)}
	reply, err := terminal.Ask(r, memoryv1.NewFactServiceClient, memoryv1.FactServiceClient.CreateFact, req)
	if err != nil {
		return err
	}
	return showFact(r, reply.GetFact())
}

type factsEditCmd struct {
	User string  `arg:"" help:"The user."`
	Fact string  `arg:"" help:"The fact's id, or the beginning of it."`
	Text *string `help:"What it says from now on."`
	factValues
	ValidTo *terminal.Instant `placeholder:"TIME" help:"When it stopped to hold, such as 2026-03-12."`
	Current bool              `help:"Say that it holds again; the opposite of --valid-to."`
	Pinned  *bool             `negatable:"" help:"Keep it at full weight whatever its age, or not any more."`
	ETag    string            `name:"etag" help:"Refuse the change unless this is the fact's etag."`
	terminal.AuthorFlag
}

// Run changes the fact and prints it.
func (c *factsEditCmd) Run(r *terminal.Run) error {
	req, err := c.request()
	if err != nil {
		return err
	}
	req.Author = c.AuthorName(r.Env)
	return updateFact(r, req)
}

// updateFact changes a fact that is named by its id or the beginning of it, and prints it.
func updateFact(r *terminal.Run, req *memoryv1.UpdateFactRequest) error {
	var reply *memoryv1.UpdateFactResponse
	err := terminal.CallOn(r, memoryv1.NewFactServiceClient, func(ctx context.Context, client memoryv1.FactServiceClient) error {
		return terminal.WithFact(ctx, client, req.GetFact().GetUserId(), req.GetFact().GetFactId(), func(id string) (err error) {
			req.Fact.FactId = id
			reply, err = client.UpdateFact(ctx, req)
			return err
		})
	})
	if err != nil {
		return err
	}
	return showFact(r, reply.GetFact())
}

// factArgs name a fact.
type factArgs struct {
	User string `arg:"" help:"The user."`
	Fact string `arg:"" help:"The fact's id, or the beginning of it."`
}

// factPinning names a fact that is to be pinned, or pinned no longer.
type factPinning struct {
	factArgs
	terminal.AuthorFlag
}

// to makes the fact what another says of pinned, and prints it.
func (p factPinning) to(r *terminal.Run, f *memoryv1.Fact) error {
	f.UserId, f.FactId = p.User, p.Fact
	return updateFact(r, &memoryv1.UpdateFactRequest{
		Fact: f, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"pinned"}}, Author: p.AuthorName(r.Env),
	})
}

type factsPinCmd struct{ factPinning }

// Run pins the fact and prints it.
func (c *factsPinCmd) Run(r *terminal.Run) error { return c.to(r, &memoryv1.Fact{Pinned: true}) }

type factsUnpinCmd struct{ factPinning }

// Run pins the fact no longer and prints it.
func (c *factsUnpinCmd) Run(r *terminal.Run) error { return c.to(r, &memoryv1.Fact{}) }

func (c *factsEditCmd) request() (*memoryv1.UpdateFactRequest, error) {
	f := &memoryv1.Fact{UserId: c.User, FactId: c.Fact, Etag: c.ETag}
	fields := c.put(f)
	if c.Text != nil {
		f.Text, fields = *c.Text, append(fields, "text")
	}
	if c.ValidTo != nil {
		f.ValidTo = c.ValidTo.Proto()
	}
	if c.ValidTo != nil || c.Current {
		fields = append(fields, "valid_to")
	}
	if c.Pinned != nil {
		f.Pinned, fields = *c.Pinned, append(fields, "pinned")
	}
	switch {
	case c.Current && c.ValidTo != nil:
		return nil, terminal.Usagef("--current and --valid-to: give one of them")
	case len(fields) == 0:
		return nil, terminal.Usagef(
			"nothing to change: give --text, --category, --significance, --tag, --subject, --attribute, --valid-from, --valid-to, --current, --language or --pinned",
		)
	}
	return &memoryv1.UpdateFactRequest{Fact: f, UpdateMask: &fieldmaskpb.FieldMask{Paths: fields}}, nil
}

type factsDeleteCmd struct {
	factArgs
	terminal.ConfirmFlags
}

// Help says more than the command's one line.
func (factsDeleteCmd) Help() string {
	return "What the fact said is found in no store any more, its earlier revisions included. The messages that it was learnt from stay: " +
		"strata messages delete takes a message with what was learnt from it alone."
}

// Run shows what would go, asks, and deletes the fact.
func (c *factsDeleteCmd) Run(r *terminal.Run) error {
	f, err := fact(r, c.User, c.Fact)
	if err != nil {
		return err
	}
	short := terminal.ShortIDs([]string{f.GetFactId()})[0]
	if c.DryRun {
		return r.Show(f, terminal.Views{
			Table: func(w io.Writer) {
				fmt.Fprintf(w, "would delete fact %s and its %s: %s\n", short, terminal.Counted(f.GetRevision(), "revision"), terminal.OneLine(f.GetText()))
			},
			Quiet: func(w io.Writer) { fmt.Fprintln(w, f.GetFactId()) },
		})
	}
	if !c.Yes {
		asked := fmt.Sprintf("This deletes fact %s for good, with its %s: %s", short, terminal.Counted(f.GetRevision(), "revision"), terminal.OneLine(f.GetText()))
		if err := terminal.Confirm(r, asked, short); err != nil {
			return err
		}
	}
	reply, err := terminal.Ask(r, memoryv1.NewFactServiceClient, memoryv1.FactServiceClient.DeleteFact,
		&memoryv1.DeleteFactRequest{UserId: c.User, FactId: f.GetFactId()})
	if err != nil {
		return err
	}
	return r.Show(reply, terminal.Views{
		Table: func(w io.Writer) { fmt.Fprintln(w, "deleted, with its history") },
		Quiet: func(io.Writer) {},
	})
}
