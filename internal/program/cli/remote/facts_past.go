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

type factsSearchCmd struct {
	User     string           `arg:"" help:"The user."`
	Query    string           `arg:"" help:"What to look for."`
	Category []string         `enum:"preference,personal_info,goal,pain_point,decision,other" placeholder:"CATEGORY" help:"Only this category: ${enum}; may be repeated."`
	MinScore float64          `placeholder:"SCORE" help:"The least score, 0 to 1."`
	AsOf     terminal.Instant `placeholder:"TIME" help:"The time that recency counts from, such as 2026-03-12."`
	Limit    int32            `default:"20" help:"The most facts to list, at most 200."`
	Explain  bool             `help:"Say how each fact was scored."`
}

// Run prints the facts, best first.
func (c *factsSearchCmd) Run(r *terminal.Run) error {
	if c.Limit < 1 || c.Limit > maxFactHits {
		return terminal.Usagef("--limit: set it from 1 to %d", maxFactHits)
	}
	var reply *memoryv1.SearchFactsResponse
	err := terminal.CallOn(r, memoryv1.NewFactServiceClient, func(ctx context.Context, client memoryv1.FactServiceClient) (err error) {
		reply, err = client.SearchFacts(ctx, &memoryv1.SearchFactsRequest{
			UserId: c.User, Query: c.Query, Categories: categoriesOf(c.Category), MinScore: c.MinScore, PageSize: c.Limit, AsOf: c.AsOf.Proto(),
		})
		return err
	})
	if err != nil {
		return err
	}
	return r.Show(reply, terminal.Views{
		Table: func(w io.Writer) { c.print(r, w, reply) },
		Quiet: func(w io.Writer) {
			for _, h := range reply.GetHits() {
				fmt.Fprintln(w, h.GetFact().GetFactId())
			}
		},
	})
}

func (c *factsSearchCmd) print(r *terminal.Run, w io.Writer, reply *memoryv1.SearchFactsResponse) {
	if len(reply.GetHits()) == 0 {
		fmt.Fprintln(r.Env.Stderr, "nothing found")
	} else if c.Explain {
		r.Table(w, scoreColumns(), hitRows(reply.GetHits()))
	} else {
		r.Table(w, slices.Concat(terminal.Whole.Columns("score", "fact"), terminal.Spare.Columns("about"), terminal.Wrapped.Columns("text")), shortHitRows(reply.GetHits()))
	}
	if c.Explain {
		fmt.Fprintf(r.Env.Stderr, "embedder: %s\n", embedderName(reply.GetEmbedder()))
	}
	PrintDegraded(r.Env.Stderr, reply.GetDegraded())
}

func shortHitRows(hits []*memoryv1.FactHit) [][]string {
	var rows [][]string
	short := shortFacts(factsOf(hits))
	for i, h := range hits {
		f := h.GetFact()
		rows = append(rows, []string{fmt.Sprintf("%.2f", h.GetScore().GetScore()), short[i], aboutText(f), terminal.OneLine(f.GetText())})
	}
	return rows
}

// scoreColumns are the columns of a table of scoreRow: the score, its factors relevance, significance and recency, and so on.
func scoreColumns() []terminal.Column {
	return slices.Concat(
		terminal.Whole.Columns("score", "rel", "sig", "rec"), terminal.Wrapped.Columns("found by"), terminal.Whole.Columns("fact"), terminal.Wrapped.Columns("text"),
	)
}

// foundByColumn is where scoreColumns has "found by".
const foundByColumn = 4

func hitRows(hits []*memoryv1.FactHit) [][]string {
	var rows [][]string
	short := shortFacts(factsOf(hits))
	for i, h := range hits {
		rows = append(rows, scoreRow(h.GetFact(), h.GetScore(), short[i]))
	}
	return rows
}

func factsOf(hits []*memoryv1.FactHit) []*memoryv1.Fact {
	facts := make([]*memoryv1.Fact, len(hits))
	for i, h := range hits {
		facts[i] = h.GetFact()
	}
	return facts
}

func scoreRow(f *memoryv1.Fact, s *memoryv1.FactScore, short string) []string {
	number := func(v float64) string { return fmt.Sprintf("%.2f", v) }
	var arms []string
	for _, a := range s.GetArms() {
		arms = append(arms, fmt.Sprintf("%s #%d", terminal.OneLine(a.GetArm()), a.GetRank()))
	}
	return []string{
		number(s.GetScore()), number(s.GetRelevance()), number(s.GetSignificance()), number(s.GetRecency()),
		strings.Join(arms, ", "), short, terminal.OneLine(f.GetText()),
	}
}

type factsHistoryCmd struct {
	User string `arg:"" help:"The user."`
	Fact string `arg:"" help:"The fact's id, or the beginning of it."`
}

// Run prints the revisions, the latest first.
func (c *factsHistoryCmd) Run(r *terminal.Run) error {
	var reply *memoryv1.ListFactRevisionsResponse
	err := terminal.CallOn(r, memoryv1.NewFactServiceClient, func(ctx context.Context, client memoryv1.FactServiceClient) error {
		return terminal.WithFact(ctx, client, c.User, c.Fact, func(id string) (err error) {
			reply, err = client.ListFactRevisions(ctx, &memoryv1.ListFactRevisionsRequest{UserId: c.User, FactId: id})
			return err
		})
	})
	if err != nil {
		return err
	}
	return r.Show(reply, terminal.Views{
		Table: func(w io.Writer) {
			r.Table(w, slices.Concat(terminal.Whole.Columns("rev", "time", "cause"), terminal.Cut.Columns("by"), terminal.Whole.Columns("until", "superseded by"),
				terminal.Cut.Columns("taken back by", "text")), revisionRows(reply.GetRevisions()))
		},
		Quiet: func(w io.Writer) {
			for _, v := range reply.GetRevisions() {
				fmt.Fprintln(w, v.GetFact().GetRevision())
			}
		},
	})
}

func revisionRows(all []*memoryv1.FactRevision) [][]string {
	var rows [][]string
	successors := make([]string, len(all))
	for i, v := range all {
		successors[i] = v.GetFact().GetSupersededBy()
	}
	short := terminal.ShortIDs(successors)
	for i, v := range all {
		f := v.GetFact()
		rows = append(rows, []string{
			fmt.Sprint(f.GetRevision()), terminal.Clock(f.GetUpdateTime()), CauseName(v.GetCause()), terminal.OneLine(v.GetAuthor()),
			DateText(f.GetValidTo()),
			short[i], terminal.OneLine(takenBackBy(f)), terminal.OneLine(f.GetText()),
		})
	}
	return rows
}

// takenBackBy is the words by which somebody took the fact back; "" when nobody did.
func takenBackBy(f *memoryv1.Fact) string {
	for _, e := range slices.Backward(f.GetEvidence()) {
		if e.GetEnds() {
			return e.GetQuote()
		}
	}
	return ""
}

// CauseName returns the name of what changed a fact.
func CauseName(c memoryv1.FactCause) string {
	return strings.ToLower(strings.TrimPrefix(c.String(), "FACT_CAUSE_"))
}

type factsRestoreCmd struct {
	User     string `arg:"" help:"The user."`
	Fact     string `arg:"" help:"The fact's id, or the beginning of it."`
	Revision int64  `placeholder:"N" help:"The revision whose text and values to restore; they stay as they are when 0."`
	terminal.AuthorFlag
}

// Run restores the fact and prints it.
func (c *factsRestoreCmd) Run(r *terminal.Run) error {
	var reply *memoryv1.RestoreFactResponse
	err := terminal.CallOn(r, memoryv1.NewFactServiceClient, func(ctx context.Context, client memoryv1.FactServiceClient) error {
		return terminal.WithFact(ctx, client, c.User, c.Fact, func(id string) (err error) {
			reply, err = client.RestoreFact(ctx, &memoryv1.RestoreFactRequest{
				UserId: c.User, FactId: id, Revision: c.Revision, Author: c.AuthorName(r.Env),
			})
			return err
		})
	})
	if err != nil {
		return err
	}
	return r.Show(reply, terminal.Views{
		Table: func(w io.Writer) {
			r.Fields(w, factFields(reply.GetFact()))
			if ids := reply.GetSupersededFactIds(); len(ids) > 0 {
				fmt.Fprintln(w, "superseded by it: "+strings.Join(ids, ", "))
			}
		},
		Quiet: func(w io.Writer) { fmt.Fprintln(w, reply.GetFact().GetFactId()) },
	})
}

type factsQuarantineCmd struct {
	User  string          `arg:"" help:"The user."`
	Limit terminal.AtMost `default:"50" help:"The most operations to list; 0 for all."`
}

// Run prints the refused operations, the latest first.
func (c *factsQuarantineCmd) Run(r *terminal.Run) error {
	all, err := terminal.ListAll(
		r, memoryv1.NewFactServiceClient, memoryv1.FactServiceClient.ListQuarantined, &memoryv1.ListQuarantinedRequest{UserId: c.User},
		(*memoryv1.ListQuarantinedResponse).GetOperations, c.Limit, terminal.MaxFacts,
	)
	if err != nil {
		return err
	}
	return r.Show(all, terminal.Views{
		Table: func(w io.Writer) {
			columns := slices.Concat(terminal.Whole.Columns("time"), terminal.Cut.Columns("session", "reason", "model", "operation"))
			r.Table(w, columns, quarantineRows(all.GetOperations()))
			terminal.More(r, all.GetNextPageToken())
		},
		Quiet: func(w io.Writer) {
			for _, q := range all.GetOperations() {
				fmt.Fprintln(w, terminal.OneLine(q.GetReason()))
			}
		},
	})
}

func quarantineRows(all []*memoryv1.QuarantinedOperation) [][]string {
	var rows [][]string
	for _, q := range all {
		rows = append(rows, []string{
			terminal.Clock(q.GetCreateTime()), terminal.OneLine(q.GetSessionId()), terminal.OneLine(q.GetReason()),
			terminal.OneLine(q.GetModel()), terminal.OneLine(q.GetOperation()),
		})
	}
	return rows
}
