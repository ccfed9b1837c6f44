package contexts_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// castle is what a scripted model tells of.
var castle = regexp.MustCompile(`castle of [A-Z][a-z]+`)

func TestWhatIsHiddenLeavesEverySummary(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]func(*testing.T, *e2e.Server, bool){
		"a message that is hidden": func(t *testing.T, h *e2e.Server, on bool) {
			t.Helper()
			h.Hide(t, "old", "s", on)
		},
		"messages after which the session's contexts start": func(t *testing.T, h *e2e.Server, on bool) {
			t.Helper()
			h.StartAt(t, "old", map[bool]int64{true: 3, false: 0}[on])
		},
	} {
		gone, stays := e2e.HiddenCastle, e2e.ShownCastle
		if strings.Contains(name, "start") {
			gone, stays = e2e.ShownCastle, e2e.HiddenCastle
		}
		t.Run(name+" leave session, week, month and contexts at once, at a restart, and when they are written anew", func(t *testing.T) {
			t.Parallel()
			h := e2e.Castles(t, e2e.NoChange).Again(t, e2e.Hanging(t))
			hide(t, h, true)
			h.Untold(t, "before the rebuild", gone)
			h = h.Again(t, e2e.Hanging(t))
			h.Untold(t, "after a restart before the rebuild", gone)
			h = h.Again(t, e2e.NoChange)
			h.Untold(t, "while it is written anew", gone)
			h.Tell(t, "summaries of what is not hidden", stays)
			h.Untold(t, "after the rebuild", gone)
			hide(t, h, false)
			h.Tell(t, "summaries of all again", gone)
			h.Tell(t, "summaries of all again", stays)
		})
	}
	t.Run("a recursive summary is folded again without it", func(t *testing.T) {
		t.Parallel()
		model := llmtest.New(llmtest.Options{Chat: func(r llmtest.Request) llmtest.Reply {
			var all []string
			for _, castle := range castle.FindAllString(fmt.Sprint(r), -1) {
				if line := "They decided to visit the " + castle + " with sister Grace."; !slices.Contains(all, line) {
					all = append(all, line)
				}
			}
			return llmtest.Reply{Text: strings.Join(all, " ")}
		}})
		t.Cleanup(model.Close)
		h := e2e.StartOn(t, t.TempDir()+"/strata.db", func(c *config.Config) {
			c.ChatBaseURL, c.SummaryModel = model.URL(), "scripted"
			p := c.Profiles[config.BuiltinProfile]
			p.Summaries.Form = "recursive"
			c.Profiles[config.BuiltinProfile] = p
		})
		for _, place := range []string{e2e.ShownCastle, e2e.HiddenCastle, "Kronborg", "Amalienborg"} {
			h.RecordTurn(t, "old", e2e.At(e2e.User(place, "We decided to visit the castle of "+place+" with my sister Grace."), 0), e2e.At(e2e.Assistant("", "A fine castle."), 0))
			h.Summarize(t, "old")
		}
		get := func() *memoryv1.Summary {
			return e2e.Must(h.Summaries().GetSummary(h.Ctx, &memoryv1.GetSummaryRequest{UserId: "ada", SessionId: "old"}))(t).GetSummary()
		}
		if s := get(); len(s.GetNodes()) != 1 || !strings.Contains(s.GetText(), e2e.HiddenCastle) {
			t.Fatalf("summary %v", s)
		}
		h.Hide(t, "old", e2e.HiddenCastle, true)
		if s := get(); strings.Contains(s.String(), e2e.HiddenCastle) {
			t.Fatalf("summary %v", s)
		}
		e2e.Eventually(t, "the chain", func() bool {
			s := get()
			return s.GetThroughSeq() == 8 && !s.GetRebuilding() && strings.Contains(s.GetText(), "Amalienborg") && strings.Contains(s.GetText(), e2e.ShownCastle)
		})
		if s := get(); strings.Contains(s.String(), e2e.HiddenCastle) || len(s.GetNodes()) != 1 {
			t.Errorf("summary %v", s)
		}
	})
	t.Run("what is merged is merged again, and each once", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		for i := range 16 {
			h.RecordTurn(t, "s", e2e.User(e2e.Mark(int64(2*i+1)), "We decided to visit the castle "+e2e.Mark(int64(2*i+1))+"."), e2e.Assistant("", "A fine castle."))
			h.Summarize(t, "s")
		}
		get := func() *memoryv1.Summary {
			return e2e.Must(h.Summaries().GetSummary(h.Ctx, &memoryv1.GetSummaryRequest{UserId: "ada", SessionId: "s"}))(t).GetSummary()
		}
		whole := func() bool {
			s := get()
			return len(s.GetNodes()) == 1 && s.GetThroughSeq() == 32 && !s.GetRebuilding()
		}
		e2e.Eventually(t, "a summary of summaries", whole)
		h.Hide(t, "s", e2e.Mark(9), true)
		e2e.Eventually(t, "another one", whole)
		if s := get(); strings.Contains(s.String(), e2e.Mark(9)) || s.GetNodes()[0].GetLevel() != 2 || s.GetNodes()[0].GetGeneration() != 2 {
			t.Errorf("summary %v", s)
		}
		made := map[string]int{}
		for _, j := range h.Jobs(t, e2e.Applied) {
			made[j.GetKind().String()]++
		}
		if made["JOB_KIND_SUMMARIZE"] != 16 || made["JOB_KIND_MERGE"] != 5 || made["JOB_KIND_REBUILD"] != 3 {
			t.Errorf("jobs %v: the leaf and the two above it are written anew once each", made)
		}
	})
}

func correct(t *testing.T, h *e2e.Server, s *memoryv1.Summary) *memoryv1.Summary {
	t.Helper()
	s.UserId = "ada"
	return e2e.Must(h.Summaries().UpdateSummary(h.Ctx, &memoryv1.UpdateSummaryRequest{Summary: s}))(t).GetSummary()
}

// named is the summary that castles has of a kind.
func named(t *testing.T, h *e2e.Server, kind memoryv1.SummaryKind) *memoryv1.Summary {
	t.Helper()
	all := e2e.Must(h.Summaries().ListSummaries(h.Ctx, &memoryv1.ListSummariesRequest{UserId: "ada", Kind: kind}))(t).GetSummaries()
	if len(all) != 1 {
		t.Fatalf("summaries %v", all)
	}
	return all[0]
}

// nameOf names a summary in a request that corrects it.
func nameOf(s *memoryv1.Summary) *memoryv1.Summary {
	out := &memoryv1.Summary{UserId: "ada", Kind: s.GetKind(), SessionId: s.GetSessionId()}
	if s.GetSessionId() == "" {
		out.Name = s.GetName()
	}
	return out
}

func revisionsOf(t *testing.T, h *e2e.Server, s *memoryv1.Summary) []*memoryv1.SummaryRevision {
	t.Helper()
	n := nameOf(s)
	return e2e.Must(h.Summaries().ListSummaryRevisions(h.Ctx, &memoryv1.ListSummaryRevisionsRequest{
		UserId: "ada", Kind: n.GetKind(), SessionId: n.GetSessionId(), Name: n.GetName(),
	}))(t).GetRevisions()
}

func restoreTo(t *testing.T, h *e2e.Server, s *memoryv1.Summary, revision int64) *memoryv1.Summary {
	t.Helper()
	n := nameOf(s)
	return e2e.Must(h.Summaries().RestoreSummary(h.Ctx, &memoryv1.RestoreSummaryRequest{
		UserId: "ada", Kind: n.GetKind(), SessionId: n.GetSessionId(), Name: n.GetName(), Revision: revision,
	}))(t).GetSummary()
}

func TestCorrections(t *testing.T) {
	t.Parallel()
	const words = "They only looked at Fredensborg from outside."
	t.Run("a correction of a session stands word for word in its summary, and what it corrects comes back by no week or month", func(t *testing.T) {
		t.Parallel()
		h := e2e.Castles(t, e2e.NoChange)
		was := named(t, h, e2e.Kinds[0])
		c := nameOf(was)
		c.Text = words
		if got := correct(t, h, c); got.GetText() != words || !got.GetCorrected() || got.GetRevision() != 1 || got.GetEtag() == was.GetEtag() || got.GetThroughSeq() != 4 {
			t.Fatalf("corrected %v", got)
		}
		h.Untold(t, "at once", e2e.ShownCastle, e2e.HiddenCastle)
		h.Tell(t, "the correction everywhere", "Fredensborg")
		h = h.Again(t, e2e.NoChange)
		h.Untold(t, "after a restart", e2e.ShownCastle, e2e.HiddenCastle)
		h.Tell(t, "the correction everywhere", "Fredensborg")
	})
	t.Run("it outlives what is summarised, merged and rebuilt later, and what is said later stands beside it", func(t *testing.T) {
		t.Parallel()
		h := e2e.Castles(t, e2e.NoChange)
		c := nameOf(named(t, h, e2e.Kinds[0]))
		c.Text = words
		correct(t, h, c)
		for i := range 5 {
			h.RecordTurn(t, "old", e2e.At(e2e.User("", "We decided to visit the castle "+e2e.Mark(int64(i+1))+"."), 0), e2e.At(e2e.Assistant("", "A fine castle."), 0))
			h.Summarize(t, "old")
		}
		merged := func(n *memoryv1.SummaryNode) bool { return n.GetLevel() == 1 }
		e2e.Eventually(t, "a merge", func() bool { return slices.ContainsFunc(named(t, h, e2e.Kinds[0]).GetNodes(), merged) })
		rebuilt := e2e.Must(h.Summaries().RebuildSummary(h.Ctx, &memoryv1.RebuildSummaryRequest{UserId: "ada", SessionId: "old"}))(t).GetSummary()
		if !rebuilt.GetRebuilding() {
			t.Errorf("rebuilt %v", rebuilt)
		}
		e2e.Eventually(t, "a rebuild", func() bool {
			s := named(t, h, e2e.Kinds[0])
			return !s.GetRebuilding() && slices.ContainsFunc(s.GetNodes(), func(n *memoryv1.SummaryNode) bool { return merged(n) && n.GetGeneration() > 1 })
		})
		if s := named(t, h, e2e.Kinds[0]); !strings.HasPrefix(s.GetText(), words+"\n") || s.GetThroughSeq() != 14 || strings.Contains(s.GetText(), e2e.HiddenCastle) || !strings.Contains(s.GetText(), e2e.Mark(5)) {
			t.Errorf("summary %v", s)
		}
	})
	t.Run("a correction of a week stands in it and in its month, one of a month in that", func(t *testing.T) {
		t.Parallel()
		h := e2e.Castles(t, e2e.NoChange)
		names := map[memoryv1.SummaryKind]*memoryv1.Summary{e2e.Kinds[1]: named(t, h, e2e.Kinds[1]), e2e.Kinds[2]: named(t, h, e2e.Kinds[2])}
		for _, kind := range e2e.Kinds[1:] {
			c := nameOf(names[kind])
			c.Text = "A " + strings.ToLower(kind.String()) + " near Fredensborg."
			if got := correct(t, h, c); got.GetText() != c.GetText() || !got.GetCorrected() {
				t.Errorf("corrected %v", got)
			}
			told := h.Told(t)
			if strings.Contains(told["week"]+told["month"]+told["context of periods"], e2e.HiddenCastle) {
				t.Errorf("after the correction of %v: %v", kind, told)
			}
		}
	})
	t.Run("a correction is withheld and listed for review when a message that it stands for is hidden, whichever it is of", func(t *testing.T) {
		t.Parallel()
		for _, kind := range e2e.Kinds {
			h := e2e.Castles(t, e2e.NoChange)
			c := nameOf(named(t, h, kind))
			c.Text = words
			correct(t, h, c)
			h = h.Again(t, e2e.Hanging(t))
			h.Hide(t, "old", "s", true)
			for what, text := range h.Told(t) {
				if what != "session" && what != "context" && kind == e2e.Kinds[0] {
					continue // made of it before; checked below
				}
				if strings.Contains(text, "Fredensborg") || strings.Contains(text, e2e.HiddenCastle) {
					t.Errorf("%v: the %s tells: %s", kind, what, text)
				}
			}
			h.Untold(t, "withheld", "Fredensborg", e2e.HiddenCastle)
			h = h.Again(t, e2e.NoChange)
			e2e.Eventually(t, "what stands in its place", func() bool { return strings.Contains(h.Told(t)["month"], e2e.ShownCastle) })
			h.Untold(t, "withheld", "Fredensborg", e2e.HiddenCastle)
			listed := e2e.Must(h.Summaries().ListSummaries(h.Ctx, &memoryv1.ListSummariesRequest{UserId: "ada", Kind: kind, Withheld: true}))(t).GetSummaries()
			if len(listed) != 1 || !listed[0].GetWithheld() || listed[0].GetCorrected() || revisionsOf(t, h, listed[0])[0].GetText() != words {
				t.Fatalf("%v: listed %v", kind, listed)
			}
			restoreTo(t, h, listed[0], 1) // to restore is not to review
			h.Untold(t, "restored", "Fredensborg", e2e.HiddenCastle)
			c.Text = words + " Reviewed."
			if got := correct(t, h, c); got.GetText() != c.GetText() || got.GetWithheld() {
				t.Errorf("%v: reviewed %v", kind, got)
			}
			if listed := e2e.Must(h.Summaries().ListSummaries(h.Ctx, &memoryv1.ListSummariesRequest{UserId: "ada", Kind: kind, Withheld: true}))(t).GetSummaries(); len(listed) != 0 {
				t.Errorf("%v: listed %v", kind, listed)
			}
		}
	})
	t.Run("a withheld correction stands again when the message is shown again", func(t *testing.T) {
		t.Parallel()
		h := e2e.Castles(t, e2e.NoChange)
		c := nameOf(named(t, h, e2e.Kinds[0]))
		c.Text = words
		want := correct(t, h, c)
		h.Hide(t, "old", "s", true)
		h.Hide(t, "old", "s", false)
		if got := named(t, h, e2e.Kinds[0]); got.GetText() != want.GetText() {
			t.Errorf("summary %v", got)
		}
	})
	t.Run("its history is kept, and each of its texts can be restored, or the correction taken back", func(t *testing.T) {
		t.Parallel()
		h := e2e.Castles(t, e2e.NoChange)
		was := named(t, h, e2e.Kinds[0])
		for _, text := range []string{"First.", "Second."} {
			c := nameOf(was)
			c.Text = text
			correct(t, h, c)
		}
		if got := restoreTo(t, h, was, 1); got.GetText() != "First." || got.GetRevision() != 3 {
			t.Errorf("restored %v", got)
		}
		if got := restoreTo(t, h, was, 0); got.GetText() != was.GetText() || got.GetCorrected() || got.GetRevision() != 4 {
			t.Errorf("taken back %v", got)
		}
		var causes []string
		for _, r := range revisionsOf(t, h, was) {
			causes = append(causes, strings.TrimPrefix(r.GetCause().String(), "SUMMARY_CAUSE_")+" "+r.GetText())
		}
		if want := []string{"LIFTED ", "RESTORED First.", "CORRECTED Second.", "CORRECTED First."}; !slices.Equal(causes, want) {
			t.Errorf("history %q", causes)
		}
	})
	t.Run("a change is made once by its request id, and refused when it was decided on what does not stand any more", func(t *testing.T) {
		t.Parallel()
		h := e2e.Castles(t, e2e.NoChange)
		was := named(t, h, e2e.Kinds[0])
		c := nameOf(was)
		c.Text, c.Etag = words, was.GetEtag()
		req := &memoryv1.UpdateSummaryRequest{Summary: c, RequestId: "r"}
		first := e2e.Must(h.Summaries().UpdateSummary(h.Ctx, req))(t).GetSummary()
		if again := e2e.Must(h.Summaries().UpdateSummary(h.Ctx, req))(t).GetSummary(); !proto.Equal(first, again) || len(revisionsOf(t, h, was)) != 1 {
			t.Errorf("first %v, again %v", first, again)
		}
		req = proto.CloneOf(req)
		req.Summary.Text = "Other words."
		_, err := h.Summaries().UpdateSummary(h.Ctx, req)
		e2e.Refused(t, err, codes.AlreadyExists, "REQUEST_ID_REUSED", "")
		req.RequestId = "other"
		_, err = h.Summaries().UpdateSummary(h.Ctx, req)
		e2e.Refused(t, err, codes.Aborted, "ETAG_MISMATCH", "")
		rebuild := &memoryv1.RebuildSummaryRequest{UserId: "ada", SessionId: "old", RequestId: "b"}
		e2e.Must(h.Summaries().RebuildSummary(h.Ctx, rebuild))(t)
		if got := e2e.Must(h.Summaries().RebuildSummary(h.Ctx, rebuild))(t).GetSummary(); got.GetRevision() != 2 {
			t.Errorf("rebuilt %v", got)
		}
	})
	t.Run("a request that cannot be done names the field, the limit and the fix, and changes nothing", func(t *testing.T) {
		t.Parallel()
		h := e2e.Castles(t, e2e.NoChange)
		was := named(t, h, e2e.Kinds[0])
		for _, bad := range []struct {
			change func(*memoryv1.Summary)
			field  string
		}{
			{func(s *memoryv1.Summary) { s.Text = " \n" }, "summary.text"},
			{func(s *memoryv1.Summary) { s.Text = strings.Repeat("castle ", 600) }, "summary.text"},
			{func(s *memoryv1.Summary) { s.Text = strings.Repeat("castle ", 20_000) }, "summary.text"},
			{func(s *memoryv1.Summary) { s.Text = "a bell \a" }, "summary.text"},
			{func(s *memoryv1.Summary) { s.UserId = "" }, "summary.user_id"},
			{func(s *memoryv1.Summary) { s.SessionId = "" }, "summary.session_id"},
			{func(s *memoryv1.Summary) { s.Name = "2026-W09" }, "summary.name"},
			{func(s *memoryv1.Summary) { s.Kind = 9 }, "summary.kind"},
		} {
			c := nameOf(was)
			c.Text = words
			bad.change(c)
			_, err := h.Summaries().UpdateSummary(h.Ctx, &memoryv1.UpdateSummaryRequest{Summary: c})
			e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", bad.field)
		}
		for _, revision := range []int64{-1, 0, 7} {
			_, err := h.Summaries().RestoreSummary(h.Ctx, &memoryv1.RestoreSummaryRequest{UserId: "ada", SessionId: "old", Revision: revision})
			e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "revision")
		}
		_, err := h.Summaries().RebuildSummary(h.Ctx, &memoryv1.RebuildSummaryRequest{UserId: "ada", Kind: e2e.Kinds[1], Name: "2026-W01"})
		e2e.Refused(t, err, codes.NotFound, "SUMMARY_NOT_FOUND", "")
		_, err = h.Summaries().RebuildSummary(h.Ctx, &memoryv1.RebuildSummaryRequest{UserId: "eve", SessionId: "old"})
		e2e.Refused(t, err, codes.NotFound, "USER_NOT_FOUND", "")
		if now := named(t, h, e2e.Kinds[0]); !proto.Equal(was, now) {
			t.Errorf("was %v\nis %v", was, now)
		}
	})
	t.Run("a rebuild writes the summary of a session, a week and a month anew, and the old one stands until then", func(t *testing.T) {
		t.Parallel()
		h := e2e.Castles(t, e2e.NoChange)
		for _, kind := range e2e.Kinds {
			was := named(t, h, kind)
			n := nameOf(was)
			e2e.Must(h.Summaries().RebuildSummary(h.Ctx, &memoryv1.RebuildSummaryRequest{UserId: "ada", Kind: kind, SessionId: n.GetSessionId(), Name: n.GetName()}))(t)
			e2e.Eventually(t, "a rebuild", func() bool {
				now := named(t, h, kind)
				return !now.GetRebuilding() && now.GetNodes()[0].GetGeneration() > was.GetNodes()[0].GetGeneration()
			})
			if now := named(t, h, kind); now.GetText() != was.GetText() {
				t.Errorf("%v: was %q, is %q", kind, was.GetText(), now.GetText())
			}
		}
	})
}
