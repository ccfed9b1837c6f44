package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/remote"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// await waits until the background work of a session has come to a message; 0 is the last one.
func (d *demo) await(ctx context.Context, session string, seq int64, of ...memoryv1.Watermark) error {
	reply, err := d.server.Work.WaitForWatermark(ctx, &memoryv1.WaitForWatermarkRequest{
		UserId: demoUser, SessionId: session, MinSeq: seq, Of: of, Timeout: durationpb.New(demoPatient),
	})
	if err != nil {
		return err
	}
	if !reply.GetReached() {
		d.printf("  %s the background work is not done after %s; the demo goes on without\n", d.Yellow("late"), demoPatient)
		return d.parked(ctx)
	}
	return nil
}

// parked names the jobs that failed.
func (d *demo) parked(ctx context.Context) error {
	reply, err := d.server.Work.ListJobs(ctx, &memoryv1.ListJobsRequest{UserId: demoUser})
	if err != nil {
		return err
	}
	for _, j := range reply.GetJobs() {
		if j.GetReason() != "" {
			d.printf("  %s %s of messages %s: %s\n", d.Yellow(remote.JobStateName(j)), remote.JobKindName(j), remote.JobSpan(j), terminal.OneLine(j.GetReason()))
		}
	}
	return nil
}

// learnt waits until facts are extracted from a session, and prints those that are new.
func (d *demo) learnt(ctx context.Context, session string) error {
	start := d.Env.Now()
	if err := d.await(ctx, session, 0, memoryv1.Watermark_WATERMARK_EXTRACTED); err != nil {
		return err
	}
	took := d.since(start)
	reply, err := d.server.Facts.ListFacts(ctx, &memoryv1.ListFactsRequest{UserId: demoUser, SessionId: session})
	if err != nil {
		return err
	}
	d.printf("\n  %s %s\n", d.Bold("Facts it learnt by itself"), d.Dim(fmt.Sprintf("in the background, there %s after the last Record", took)))
	for _, f := range reply.GetFacts() {
		if !d.known[f.GetFactId()] {
			d.known[f.GetFactId()] = true
			d.fact(f)
		}
	}
	return nil
}

// fact prints a fact with where it was said.
func (d *demo) fact(f *memoryv1.Fact) {
	about := fmt.Sprintf(
		"%s, matters %d of 10, by %s",
		strings.ReplaceAll(remote.CategoryName(f.GetCategory()), "_", " "),
		f.GetSignificance(),
		remote.Author(f.GetModel()),
	)
	d.wrapped("  "+d.Green("fact")+"  ", terminal.OneLine(f.GetText())+"  ("+about+")")
	for _, e := range f.GetEvidence() {
		d.wrapped("        ", fmt.Sprintf("said in message %d: “%s”", e.GetSeq(), terminal.OneLine(e.GetQuote())))
	}
}

// summarised makes the service summarise a session that is over, and prints the summary.
func (d *demo) summarised(ctx context.Context, session string) error {
	reply, err := d.server.Summaries.Summarize(ctx, &memoryv1.SummarizeRequest{UserId: demoUser, SessionId: session})
	if err != nil {
		return err
	}
	d.printf("\n")
	d.summary("Its summary of the session", reply.GetSummary())
	return nil
}

func (d *demo) summary(title string, s *memoryv1.Summary) {
	if s == nil {
		d.printf("  %s is not there yet\n", title)
		return
	}
	d.printf("  %s %s\n", d.Bold(title), d.Dim("by "+strings.Join(remote.SummaryModels(s), ", ")))
	for line := range strings.Lines(terminal.Clean(s.GetText())) {
		d.wrapped(d.Green("  ┃ "), strings.TrimRight(line, "\n"))
	}
}

// weekEvery is how often the demo looks for the week's summary: no watermark shows it.
const weekEvery = 20 * time.Millisecond

// week is the summary of the first session's week, which is long over; nil when it takes too long.
func (d *demo) week(ctx context.Context) (*memoryv1.Summary, error) {
	year, no := demoPast()[0].at.ISOWeek()
	req := &memoryv1.GetSummaryRequest{UserId: demoUser, Kind: memoryv1.SummaryKind_SUMMARY_KIND_WEEK, Name: fmt.Sprintf("%d-W%02d", year, no)}
	tick := time.NewTicker(weekEvery)
	defer tick.Stop()
	enough := time.NewTimer(demoPatient)
	defer enough.Stop()
	for {
		reply, err := d.server.Summaries.GetSummary(ctx, req)
		if err == nil || status.Code(err) != codes.NotFound {
			return reply.GetSummary(), err
		}
		select {
		case <-tick.C:
		case <-enough.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// superseded prints the facts that do not hold any more, with their history.
func (d *demo) superseded(ctx context.Context) error {
	reply, err := d.server.Facts.ListFacts(ctx, &memoryv1.ListFactsRequest{UserId: demoUser, IncludePast: true})
	if err != nil {
		return err
	}
	texts := map[string]string{}
	for _, f := range reply.GetFacts() {
		texts[f.GetFactId()] = terminal.OneLine(f.GetText())
	}
	for _, f := range reply.GetFacts() {
		if f.GetValidTo() == nil {
			continue
		}
		d.printf("\n  %s\n", d.Bold("The newer statement takes the place of the older one, which is kept"))
		d.printf("  %s  %s → %s\n", d.Yellow("past"), terminal.OneLine(f.GetText()), texts[f.GetSupersededBy()])
		if err := d.history(ctx, f.GetFactId()); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) history(ctx context.Context, fact string) error {
	reply, err := d.server.Facts.ListFactRevisions(ctx, &memoryv1.ListFactRevisionsRequest{UserId: demoUser, FactId: fact})
	if err != nil {
		return err
	}
	for _, v := range reply.GetRevisions() {
		f := v.GetFact()
		until := ""
		if f.GetValidTo() != nil {
			until = " until " + remote.DateText(f.GetValidTo())
		}
		d.printf(
			"        %s\n",
			d.Dim(
				fmt.Sprintf(
					"revision %d, %s: %s (from %s%s)",
					f.GetRevision(),
					remote.CauseName(v.GetCause()),
					terminal.OneLine(f.GetText()),
					remote.DateText(f.GetValidFrom()),
					until,
				),
			),
		)
	}
	return nil
}

// printScores prints for each fact of other sessions why it has its rank.
func (d *demo) printScores(reply *memoryv1.BuildContextResponse) {
	items := remote.ItemsOf(reply, memoryv1.SectionKind_SECTION_KIND_FACTS)
	if len(items) == 0 {
		return
	}
	d.printf("\n  %s\n", d.Bold("Why these facts stand where they do"))
	for _, it := range items {
		s := it.GetFactScore()
		d.wrapped(fmt.Sprintf("  %5.2f  ", s.GetScore()), terminal.OneLine(it.GetFact().GetText()))
		d.printf(
			"         %s\n",
			d.Dim(fmt.Sprintf("relevance %.2f, significance %.2f, recency %.2f", s.GetRelevance(), s.GetSignificance(), s.GetRecency())),
		)
	}
}
