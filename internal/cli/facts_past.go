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
		r.table(w, scoreHead(), hitRows(reply.GetHits()))
	} else {
		r.table(w, []string{"score", "fact", "about", "text"}, shortHitRows(reply.GetHits()))
	}
	if c.Explain {
		fmt.Fprintf(r.env.Stderr, "embedder: %s\n", embedderName(reply.GetEmbedder()))
	}
	printDegraded(r.env.Stderr, reply.GetDegraded())
}

func shortHitRows(hits []*memoryv1.FactHit) [][]string {
	var rows [][]string
	for _, h := range hits {
		f := h.GetFact()
		rows = append(rows, []string{fmt.Sprintf("%.2f", h.GetScore().GetScore()), f.GetFactId(), aboutText(f), oneLine(f.GetText())})
	}
	return rows
}

// scoreHead is the head of a table of scoreRow.
func scoreHead() []string {
	return []string{"score", "relevance", "significance", "recency", "found by", "fact", "text"}
}

// foundByColumn is where scoreHead has "found by".
const foundByColumn = 4

func hitRows(hits []*memoryv1.FactHit) [][]string {
	var rows [][]string
	for _, h := range hits {
		rows = append(rows, scoreRow(h.GetFact(), h.GetScore()))
	}
	return rows
}

func scoreRow(f *memoryv1.Fact, s *memoryv1.FactScore) []string {
	number := func(v float64) string { return fmt.Sprintf("%.2f", v) }
	var arms []string
	for _, a := range s.GetArms() {
		arms = append(arms, fmt.Sprintf("%s #%d", oneLine(a.GetArm()), a.GetRank()))
	}
	return []string{
		number(s.GetScore()), number(s.GetRelevance()), number(s.GetSignificance()), number(s.GetRecency()),
		strings.Join(arms, ", "), f.GetFactId(), oneLine(f.GetText()),
	}
}

type factsHistoryCmd struct {
	User string `arg:"" help:"The user."`
	Fact string `arg:"" help:"The fact's id."`
}

// Run prints the revisions, the latest first.
func (c *factsHistoryCmd) Run(r *run) error {
	var reply *memoryv1.ListFactRevisionsResponse
	err := callOn(r, memoryv1.NewFactServiceClient, func(ctx context.Context, client memoryv1.FactServiceClient) (err error) {
		reply, err = client.ListFactRevisions(ctx, &memoryv1.ListFactRevisionsRequest{UserId: c.User, FactId: c.Fact})
		return err
	})
	if err != nil {
		return err
	}
	return r.show(reply, views{
		table: func(w io.Writer) {
			r.table(w, []string{"revision", "time", "cause", "until", "superseded by", "taken back by", "text"}, revisionRows(reply.GetRevisions()))
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
	for _, v := range all {
		f := v.GetFact()
		rows = append(rows, []string{
			fmt.Sprint(
				f.GetRevision(),
			),
			clock(f.GetUpdateTime()),
			causeName(v.GetCause()),
			dateText(f.GetValidTo()),
			f.GetSupersededBy(),
			oneLine(takenBackBy(f)),
			oneLine(f.GetText()),
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
	Fact     string `arg:"" help:"The fact's id."`
	Revision int64  `placeholder:"N" help:"The revision whose text and values to restore; they stay as they are when 0."`
}

// Run restores the fact and prints it.
func (c *factsRestoreCmd) Run(r *run) error {
	var reply *memoryv1.RestoreFactResponse
	err := callOn(r, memoryv1.NewFactServiceClient, func(ctx context.Context, client memoryv1.FactServiceClient) (err error) {
		reply, err = client.RestoreFact(ctx, &memoryv1.RestoreFactRequest{UserId: c.User, FactId: c.Fact, Revision: c.Revision})
		return err
	})
	if err != nil {
		return err
	}
	return r.show(reply, views{
		table: func(w io.Writer) {
			r.table(w, []string{"field", "value"}, factFields(reply.GetFact()))
			if ids := reply.GetSupersededFactIds(); len(ids) > 0 {
				fmt.Fprintln(w, "superseded by it: "+strings.Join(ids, ", "))
			}
		},
		quiet: func(w io.Writer) { fmt.Fprintln(w, reply.GetFact().GetFactId()) },
	})
}

type factsQuarantineCmd struct {
	User  string `arg:"" help:"The user."`
	Limit int    `default:"50" help:"The most operations to list; 0 for all."`
}

// Run prints the refused operations, the latest first.
func (c *factsQuarantineCmd) Run(r *run) error {
	all := &memoryv1.ListQuarantinedResponse{}
	err := callOn(r, memoryv1.NewFactServiceClient, func(ctx context.Context, client memoryv1.FactServiceClient) (err error) {
		all.NextPageToken, err = pages(c.Limit, maxFacts, func(size int32, token string) (int, string, error) {
			page, err := client.ListQuarantined(ctx, &memoryv1.ListQuarantinedRequest{UserId: c.User, PageSize: size, PageToken: token})
			all.Operations = append(all.Operations, page.GetOperations()...)
			return len(all.Operations), page.GetNextPageToken(), err
		})
		return err
	})
	if err != nil {
		return err
	}
	return r.show(all, views{
		table: func(w io.Writer) {
			r.table(w, []string{"time", "session", "reason", "model", "operation"}, quarantineRows(all.GetOperations()))
			r.more(all.GetNextPageToken())
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
