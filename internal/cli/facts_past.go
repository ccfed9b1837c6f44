package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

type factsSearchCmd struct {
	User     string   `arg:"" help:"The user."`
	Query    string   `arg:"" help:"What to look for."`
	Category []string `enum:"preference,personal_info,goal,pain_point,decision,other" placeholder:"CATEGORY" help:"Only this category: ${enum}; may be repeated."`
	MinScore float64  `placeholder:"SCORE" help:"The least score, 0 to 1."`
	AsOf     instant  `placeholder:"TIME" help:"The time that recency counts from, such as 2026-03-12."`
	Limit    int32    `default:"20" help:"The most facts to list, at most 200."`
	Explain  bool     `help:"Say how each fact was scored."`
}

// Run prints the facts, best first.
func (c *factsSearchCmd) Run(r *run) error {
	if c.Limit < 1 || c.Limit > maxFactHits {
		return usagef("--limit: set it from 1 to %d", maxFactHits)
	}
	var reply *memoryv1.SearchFactsResponse
	err := callOn(r, memoryv1.NewFactServiceClient, func(ctx context.Context, client memoryv1.FactServiceClient) (err error) {
		reply, err = client.SearchFacts(ctx, &memoryv1.SearchFactsRequest{
			UserId: c.User, Query: c.Query, Categories: categoriesOf(c.Category), MinScore: c.MinScore, PageSize: c.Limit, AsOf: c.AsOf.proto(),
		})
		return err
	})
	if err != nil {
		return err
	}
	return r.show(reply, views{
		table: func(w io.Writer) { c.print(r, w, reply) },
		quiet: func(w io.Writer) {
			for _, h := range reply.GetHits() {
				fmt.Fprintln(w, h.GetFact().GetFactId())
			}
		},
	})
}

func (c *factsSearchCmd) print(r *run, w io.Writer, reply *memoryv1.SearchFactsResponse) {
	if len(reply.GetHits()) == 0 {
		fmt.Fprintln(r.env.Stderr, "nothing found")
	} else if c.Explain {
		r.table(w, scoreColumns(), hitRows(reply.GetHits()))
	} else {
		r.table(w, slices.Concat(whole.columns("score", "fact"), spare.columns("about"), wrapped.columns("text")), shortHitRows(reply.GetHits()))
	}
	if c.Explain {
		fmt.Fprintf(r.env.Stderr, "embedder: %s\n", embedderName(reply.GetEmbedder()))
	}
	printDegraded(r.env.Stderr, reply.GetDegraded())
}

func shortHitRows(hits []*memoryv1.FactHit) [][]string {
	var rows [][]string
	short := shortFacts(factsOf(hits))
	for i, h := range hits {
		f := h.GetFact()
		rows = append(rows, []string{fmt.Sprintf("%.2f", h.GetScore().GetScore()), short[i], aboutText(f), oneLine(f.GetText())})
	}
	return rows
}

// scoreColumns are the columns of a table of scoreRow: the score, its factors relevance, significance and recency, and so on.
func scoreColumns() []column {
	return slices.Concat(
		whole.columns("score", "rel", "sig", "rec"), wrapped.columns("found by"), whole.columns("fact"), wrapped.columns("text"),
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
		arms = append(arms, fmt.Sprintf("%s #%d", oneLine(a.GetArm()), a.GetRank()))
	}
	return []string{
		number(s.GetScore()), number(s.GetRelevance()), number(s.GetSignificance()), number(s.GetRecency()),
		strings.Join(arms, ", "), short, oneLine(f.GetText()),
	}
}

type factsHistoryCmd struct {
	User string `arg:"" help:"The user."`
	Fact string `arg:"" help:"The fact's id, or the beginning of it."`
}

// Run prints the revisions, the latest first.
func (c *factsHistoryCmd) Run(r *run) error {
	var reply *memoryv1.ListFactRevisionsResponse
	err := callOn(r, memoryv1.NewFactServiceClient, func(ctx context.Context, client memoryv1.FactServiceClient) error {
		return withFact(ctx, client, c.User, c.Fact, func(id string) (err error) {
			reply, err = client.ListFactRevisions(ctx, &memoryv1.ListFactRevisionsRequest{UserId: c.User, FactId: id})
			return err
		})
	})
	if err != nil {
		return err
	}
	return r.show(reply, views{
		table: func(w io.Writer) {
			r.table(w, slices.Concat(whole.columns("rev", "time", "cause"), cut.columns("by"), whole.columns("until", "superseded by"),
				cut.columns("taken back by", "text")), revisionRows(reply.GetRevisions()))
		},
		quiet: func(w io.Writer) {
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
	short := shortIDs(successors)
	for i, v := range all {
		f := v.GetFact()
		rows = append(rows, []string{
			fmt.Sprint(f.GetRevision()), clock(f.GetUpdateTime()), causeName(v.GetCause()), oneLine(v.GetAuthor()), dateText(f.GetValidTo()),
			short[i], oneLine(takenBackBy(f)), oneLine(f.GetText()),
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

func causeName(c memoryv1.FactCause) string {
	return strings.ToLower(strings.TrimPrefix(c.String(), "FACT_CAUSE_"))
}

type factsRestoreCmd struct {
	User     string `arg:"" help:"The user."`
	Fact     string `arg:"" help:"The fact's id, or the beginning of it."`
	Revision int64  `placeholder:"N" help:"The revision whose text and values to restore; they stay as they are when 0."`
	authorFlag
}

// Run restores the fact and prints it.
func (c *factsRestoreCmd) Run(r *run) error {
	var reply *memoryv1.RestoreFactResponse
	err := callOn(r, memoryv1.NewFactServiceClient, func(ctx context.Context, client memoryv1.FactServiceClient) error {
		return withFact(ctx, client, c.User, c.Fact, func(id string) (err error) {
			reply, err = client.RestoreFact(ctx, &memoryv1.RestoreFactRequest{
				UserId: c.User, FactId: id, Revision: c.Revision, Author: c.name(r.env),
			})
			return err
		})
	})
	if err != nil {
		return err
	}
	return r.show(reply, views{
		table: func(w io.Writer) {
			r.fields(w, factFields(reply.GetFact()))
			if ids := reply.GetSupersededFactIds(); len(ids) > 0 {
				fmt.Fprintln(w, "superseded by it: "+strings.Join(ids, ", "))
			}
		},
		quiet: func(w io.Writer) { fmt.Fprintln(w, reply.GetFact().GetFactId()) },
	})
}

type factsQuarantineCmd struct {
	User  string `arg:"" help:"The user."`
	Limit atMost `default:"50" help:"The most operations to list; 0 for all."`
}

// Run prints the refused operations, the latest first.
func (c *factsQuarantineCmd) Run(r *run) error {
	all, err := listAll(
		r, memoryv1.NewFactServiceClient, memoryv1.FactServiceClient.ListQuarantined, &memoryv1.ListQuarantinedRequest{UserId: c.User},
		(*memoryv1.ListQuarantinedResponse).GetOperations, c.Limit, maxFacts,
	)
	if err != nil {
		return err
	}
	return r.show(all, views{
		table: func(w io.Writer) {
			columns := slices.Concat(whole.columns("time"), cut.columns("session", "reason", "model", "operation"))
			r.table(w, columns, quarantineRows(all.GetOperations()))
			more(r, all.GetNextPageToken())
		},
		quiet: func(w io.Writer) {
			for _, q := range all.GetOperations() {
				fmt.Fprintln(w, oneLine(q.GetReason()))
			}
		},
	})
}

func quarantineRows(all []*memoryv1.QuarantinedOperation) [][]string {
	var rows [][]string
	for _, q := range all {
		rows = append(
			rows,
			[]string{clock(q.GetCreateTime()), oneLine(q.GetSessionId()), oneLine(q.GetReason()), oneLine(q.GetModel()), oneLine(q.GetOperation())},
		)
	}
	return rows
}
