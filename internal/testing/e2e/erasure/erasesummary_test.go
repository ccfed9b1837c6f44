package erasure_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// withSummary is a server where session s of ada has a summary; its text is returned.
func withSummary(t *testing.T) (*e2e.Server, string) {
	t.Helper()
	h := e2e.Start(t)
	for i := range 6 {
		h.RecordTurn(t, "s", e2e.User(fmt.Sprint("u", i), fmt.Sprintf("On day %d I visited the castle of Alcazar.", i)), e2e.Assistant(fmt.Sprint("a", i), "How was it?"))
	}
	return h, h.Summarize(t, "s").GetSummary().GetText()
}

func deleteSummary(t *testing.T, h *e2e.Server, change func(*memoryv1.DeleteSummaryRequest)) *memoryv1.DeleteSummaryResponse {
	t.Helper()
	req := &memoryv1.DeleteSummaryRequest{UserId: "ada", SessionId: "s", Wait: e2e.LongWait}
	change(req)
	return e2e.Must(h.Summaries().DeleteSummary(h.Ctx, req))(t)
}

func asIs(*memoryv1.DeleteSummaryRequest) {}

// noSummary checks that session s has none, wherever one looks.
func noSummary(t *testing.T, h *e2e.Server, when string) {
	t.Helper()
	_, err := h.Summaries().GetSummary(h.Ctx, &memoryv1.GetSummaryRequest{UserId: "ada", SessionId: "s"})
	e2e.Refused(t, err, codes.NotFound, "SUMMARY_NOT_FOUND", "")
	if all := e2e.Must(h.Summaries().ListSummaries(h.Ctx, &memoryv1.ListSummariesRequest{UserId: "ada"}))(t).GetSummaries(); len(all) > 0 {
		t.Errorf("%s: listed are %v", when, all)
	}
}

func TestDeleteSummary(t *testing.T) {
	t.Parallel()
	t.Run("its text is gone at once and is not written again of messages that did not change", func(t *testing.T) {
		t.Parallel()
		h, text := withSummary(t)
		if text == "" {
			t.Fatal("there is no summary before")
		}
		job := deleteSummary(t, h, asIs).GetJob()
		if job.GetState() != memoryv1.JobState_JOB_STATE_APPLIED || job.GetErasure().GetKind() != memoryv1.ErasureKind_ERASURE_KIND_SUMMARY {
			t.Errorf("the job is %v", job)
		}
		noSummary(t, h, "after the delete")
		if r := h.Summarize(t, "s"); !r.GetComplete() || r.GetSummary() != nil {
			t.Errorf("summarised again: %v", r)
		}
		noSummary(t, h, "after asking for what no summary covers")
		c := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "s", Render: memoryv1.Render_RENDER_TEXT})
		if strings.Contains(c.String(), text) || c.GetCoverage().GetRawFrom() != 1 {
			t.Errorf("a context has the summary, or not the messages: %v", c)
		}
		if got := len(h.Transcript(t, "s")); got != 12 {
			t.Errorf("%d messages are left", got)
		}
	})
	t.Run("what is said afterwards is summarised, and nothing before it", func(t *testing.T) {
		t.Parallel()
		h, _ := withSummary(t)
		deleteSummary(t, h, asIs)
		h.RecordTurn(t, "s", e2e.User("later", "Tomorrow I sail to Porto."), e2e.Assistant("reply", "Have a good journey."))
		got := h.Summarize(t, "s").GetSummary()
		if !strings.Contains(got.GetText(), "Porto") || strings.Contains(got.GetText(), "Alcazar") || got.GetNodes()[0].GetFromSeq() != 13 {
			t.Errorf("the summary is %v", got)
		}
	})
	t.Run("it is written again when somebody asks", func(t *testing.T) {
		t.Parallel()
		h, text := withSummary(t)
		deleteSummary(t, h, asIs)
		e2e.Must(h.Summaries().RebuildSummary(h.Ctx, &memoryv1.RebuildSummaryRequest{UserId: "ada", SessionId: "s"}))(t)
		e2e.Eventually(t, "the summary is written again", func() bool {
			r, err := h.Summaries().GetSummary(h.Ctx, &memoryv1.GetSummaryRequest{UserId: "ada", SessionId: "s"})
			return err == nil && r.GetSummary().GetText() == text
		})
	})
	t.Run("it is written anew of what is left when one of its messages is deleted", func(t *testing.T) {
		t.Parallel()
		h, _ := withSummary(t)
		deleteSummary(t, h, asIs)
		e2e.Must(h.DeleteMessages(h.Ctx, &memoryv1.DeleteMessagesRequest{UserId: "ada", SessionId: "s", MessageIds: []string{"u0"}}))(t)
		e2e.Eventually(t, "the rest is summarised", func() bool {
			r, err := h.Summaries().GetSummary(h.Ctx, &memoryv1.GetSummaryRequest{UserId: "ada", SessionId: "s"})
			return err == nil && strings.Contains(r.GetSummary().GetText(), "Alcazar") && !r.GetSummary().GetRebuilding()
		})
	})
	t.Run("what a person wrote in its place is in no reply, cannot be restored, and no request that is sent again brings it back", func(t *testing.T) {
		t.Parallel()
		h, _ := withSummary(t)
		correct := &memoryv1.UpdateSummaryRequest{RequestId: "r", Summary: &memoryv1.Summary{UserId: "ada", SessionId: "s", Text: "Zanzibarca."}}
		e2e.Must(h.Summaries().UpdateSummary(h.Ctx, correct))(t)
		deleteSummary(t, h, asIs)
		noSummary(t, h, "after the delete")
		e2e.Must(h.Summaries().UpdateSummary(h.Ctx, correct))(t)
		noSummary(t, h, "after the correction was sent again")
		_, err := h.Summaries().RestoreSummary(h.Ctx, &memoryv1.RestoreSummaryRequest{UserId: "ada", SessionId: "s", Revision: 1})
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "revision")
		history := e2e.Must(h.Summaries().ListSummaryRevisions(h.Ctx, &memoryv1.ListSummaryRevisionsRequest{UserId: "ada", SessionId: "s"}))(t).GetRevisions()
		if len(history) != 2 || history[0].GetCause() != memoryv1.SummaryCause_SUMMARY_CAUSE_DELETED || history[1].GetText() != "" {
			t.Errorf("the history is %v", history)
		}
	})
	t.Run("once it is swept no byte of it is in the file or its WAL", func(t *testing.T) {
		t.Parallel()
		h, _ := withSummary(t)
		correct := &memoryv1.UpdateSummaryRequest{Summary: &memoryv1.Summary{UserId: "ada", SessionId: "s", Text: "Zanzibarca."}}
		e2e.Must(h.Summaries().UpdateSummary(h.Ctx, correct))(t)
		canaries := func() (n int) {
			for _, name := range []string{h.Data, h.Data + "-wal"} {
				b, err := os.ReadFile(name)
				if err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
				n += strings.Count(string(b), "Zanzibarca")
			}
			return n
		}
		if canaries() == 0 {
			t.Fatal("the canary is nowhere before")
		}
		deleteSummary(t, h, asIs)
		if n := canaries(); n > 0 {
			t.Errorf("the canary is found %d times", n)
		}
	})
	t.Run("a repeat with the request id deletes nothing more, and one without finds nothing", func(t *testing.T) {
		t.Parallel()
		h, text := withSummary(t)
		named := func(r *memoryv1.DeleteSummaryRequest) { r.RequestId = "once" }
		first := deleteSummary(t, h, named).GetJob()
		e2e.Must(h.Summaries().RebuildSummary(h.Ctx, &memoryv1.RebuildSummaryRequest{UserId: "ada", SessionId: "s"}))(t)
		e2e.Eventually(t, "the summary is written again", func() bool {
			r, err := h.Summaries().GetSummary(h.Ctx, &memoryv1.GetSummaryRequest{UserId: "ada", SessionId: "s"})
			return err == nil && r.GetSummary().GetText() == text
		})
		if again := deleteSummary(t, h, named).GetJob(); again.GetJobId() != first.GetJobId() {
			t.Errorf("the repeat began %s after %s", again.GetJobId(), first.GetJobId())
		}
		e2e.Must(h.Summaries().GetSummary(h.Ctx, &memoryv1.GetSummaryRequest{UserId: "ada", SessionId: "s"}))(t)
		deleteSummary(t, h, asIs)
		_, err := h.Summaries().DeleteSummary(h.Ctx, &memoryv1.DeleteSummaryRequest{UserId: "ada", SessionId: "s"})
		e2e.Refused(t, err, codes.NotFound, "SUMMARY_NOT_FOUND", "")
	})
	t.Run("only asks what would go with validate_only", func(t *testing.T) {
		t.Parallel()
		h, text := withSummary(t)
		r := deleteSummary(t, h, func(r *memoryv1.DeleteSummaryRequest) { r.ValidateOnly = true })
		if r.GetExtent().GetSummaries() != 1 || r.GetJob() != nil || h.Summarize(t, "s").GetSummary().GetText() != text {
			t.Errorf("the reply is %v", r)
		}
	})
}
