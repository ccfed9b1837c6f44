package app_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/config"
	"github.com/stratamem/strata/internal/llm/llmtest"
)

// castle is what a scripted model tells of.
var castle = regexp.MustCompile(`castle of [A-Z][a-z]+`)

func TestWhatIsHiddenLeavesEverySummary(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]func(*testing.T, *harness, bool){
		"a message that is hidden": func(t *testing.T, h *harness, on bool) {
			t.Helper()
			h.hide(t, "old", "s", on)
		},
		"messages after which the session's contexts start": func(t *testing.T, h *harness, on bool) {
			t.Helper()
			h.startAt(t, "old", map[bool]int64{true: 3, false: 0}[on])
		},
	} {
		gone, stays := hiddenCastle, shownCastle
		if strings.Contains(name, "start") {
			gone, stays = shownCastle, hiddenCastle
		}
		t.Run(name+" leave session, week, month and contexts at once, at a restart, and when they are written anew", func(t *testing.T) {
			t.Parallel()
			h := castles(t, noChange).again(t, hanging(t))
			hide(t, h, true)
			h.untold(t, "before the rebuild", gone)
			h = h.again(t, hanging(t))
			h.untold(t, "after a restart before the rebuild", gone)
			h = h.again(t, noChange)
			h.untold(t, "while it is written anew", gone)
			h.tell(t, "summaries of what is not hidden", stays)
			h.untold(t, "after the rebuild", gone)
			hide(t, h, false)
			h.tell(t, "summaries of all again", gone)
			h.tell(t, "summaries of all again", stays)
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
		h := startOn(t, t.TempDir()+"/strata.db", func(c *config.Config) {
			c.ChatBaseURL, c.SummaryModel = model.URL(), "scripted"
			p := c.Profiles[config.BuiltinProfile]
			p.Summaries.Form = "recursive"
			c.Profiles[config.BuiltinProfile] = p
		})
		for _, place := range []string{shownCastle, hiddenCastle, "Kronborg", "Amalienborg"} {
			h.recordTurn(t, "old", at(user(place, "We decided to visit the castle of "+place+" with my sister Grace."), 0), at(assistant("", "A fine castle."), 0))
			h.summarize(t, "old")
		}
		get := func() *memoryv1.Summary {
			return must(h.summaries().GetSummary(h.ctx, &memoryv1.GetSummaryRequest{UserId: "ada", SessionId: "old"}))(t).GetSummary()
		}
		if s := get(); len(s.GetNodes()) != 1 || !strings.Contains(s.GetText(), hiddenCastle) {
			t.Fatalf("summary %v", s)
		}
		h.hide(t, "old", hiddenCastle, true)
		if s := get(); strings.Contains(s.String(), hiddenCastle) {
			t.Fatalf("summary %v", s)
		}
		eventually(t, "the chain", func() bool {
			s := get()
			return s.GetThroughSeq() == 8 && !s.GetRebuilding() && strings.Contains(s.GetText(), "Amalienborg") && strings.Contains(s.GetText(), shownCastle)
		})
		if s := get(); strings.Contains(s.String(), hiddenCastle) || len(s.GetNodes()) != 1 {
			t.Errorf("summary %v", s)
		}
	})
	t.Run("what is merged is merged again, and each once", func(t *testing.T) {
		t.Parallel()
		h := start(t)
		for i := range 16 {
			h.recordTurn(t, "s", user(mark(int64(2*i+1)), "We decided to visit the castle "+mark(int64(2*i+1))+"."), assistant("", "A fine castle."))
			h.summarize(t, "s")
		}
		get := func() *memoryv1.Summary {
			return must(h.summaries().GetSummary(h.ctx, &memoryv1.GetSummaryRequest{UserId: "ada", SessionId: "s"}))(t).GetSummary()
		}
		whole := func() bool {
			s := get()
			return len(s.GetNodes()) == 1 && s.GetThroughSeq() == 32 && !s.GetRebuilding()
		}
		eventually(t, "a summary of summaries", whole)
		h.hide(t, "s", mark(9), true)
		eventually(t, "another one", whole)
		if s := get(); strings.Contains(s.String(), mark(9)) || s.GetNodes()[0].GetLevel() != 2 || s.GetNodes()[0].GetGeneration() != 2 {
			t.Errorf("summary %v", s)
		}
		made := map[string]int{}
		for _, j := range h.jobs(t, applied) {
			made[j.GetKind().String()]++
		}
		if made["JOB_KIND_SUMMARIZE"] != 16 || made["JOB_KIND_MERGE"] != 5 || made["JOB_KIND_REBUILD"] != 3 {
			t.Errorf("jobs %v: the leaf and the two above it are written anew once each", made)
		}
	})
}

func correct(t *testing.T, h *harness, s *memoryv1.Summary) *memoryv1.Summary {
	t.Helper()
	s.UserId = "ada"
	return must(h.summaries().UpdateSummary(h.ctx, &memoryv1.UpdateSummaryRequest{Summary: s}))(t).GetSummary()
}

// named is the summary that castles has of a kind.
func named(t *testing.T, h *harness, kind memoryv1.SummaryKind) *memoryv1.Summary {
	t.Helper()
	all := must(h.summaries().ListSummaries(h.ctx, &memoryv1.ListSummariesRequest{UserId: "ada", Kind: kind}))(t).GetSummaries()
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

func revisionsOf(t *testing.T, h *harness, s *memoryv1.Summary) []*memoryv1.SummaryRevision {
	t.Helper()
	n := nameOf(s)
	return must(h.summaries().ListSummaryRevisions(h.ctx, &memoryv1.ListSummaryRevisionsRequest{
		UserId: "ada", Kind: n.GetKind(), SessionId: n.GetSessionId(), Name: n.GetName(),
	}))(t).GetRevisions()
}

func restoreTo(t *testing.T, h *harness, s *memoryv1.Summary, revision int64) *memoryv1.Summary {
	t.Helper()
	n := nameOf(s)
	return must(h.summaries().RestoreSummary(h.ctx, &memoryv1.RestoreSummaryRequest{
		UserId: "ada", Kind: n.GetKind(), SessionId: n.GetSessionId(), Name: n.GetName(), Revision: revision,
	}))(t).GetSummary()
}

func TestCorrections(t *testing.T) {
	t.Parallel()
	const words = "They only looked at Fredensborg from outside."
	t.Run("a correction of a session stands word for word in its summary, and what it corrects comes back by no week or month", func(t *testing.T) {
		t.Parallel()
		h := castles(t, noChange)
		was := named(t, h, kinds[0])
		c := nameOf(was)
		c.Text = words
		if got := correct(t, h, c); got.GetText() != words || !got.GetCorrected() || got.GetRevision() != 1 || got.GetEtag() == was.GetEtag() || got.GetThroughSeq() != 4 {
			t.Fatalf("corrected %v", got)
		}
		h.untold(t, "at once", shownCastle, hiddenCastle)
		h.tell(t, "the correction everywhere", "Fredensborg")
		h = h.again(t, noChange)
		h.untold(t, "after a restart", shownCastle, hiddenCastle)
		h.tell(t, "the correction everywhere", "Fredensborg")
	})
	t.Run("it outlives what is summarised, merged and rebuilt later, and what is said later stands beside it", func(t *testing.T) {
		t.Parallel()
		h := castles(t, noChange)
		c := nameOf(named(t, h, kinds[0]))
		c.Text = words
		correct(t, h, c)
		for i := range 5 {
			h.recordTurn(t, "old", at(user("", "We decided to visit the castle "+mark(int64(i+1))+"."), 0), at(assistant("", "A fine castle."), 0))
			h.summarize(t, "old")
		}
		merged := func(n *memoryv1.SummaryNode) bool { return n.GetLevel() == 1 }
		eventually(t, "a merge", func() bool { return slices.ContainsFunc(named(t, h, kinds[0]).GetNodes(), merged) })
		rebuilt := must(h.summaries().RebuildSummary(h.ctx, &memoryv1.RebuildSummaryRequest{UserId: "ada", SessionId: "old"}))(t).GetSummary()
		if !rebuilt.GetRebuilding() {
			t.Errorf("rebuilt %v", rebuilt)
		}
		eventually(t, "a rebuild", func() bool {
			s := named(t, h, kinds[0])
			return !s.GetRebuilding() && slices.ContainsFunc(s.GetNodes(), func(n *memoryv1.SummaryNode) bool { return merged(n) && n.GetGeneration() > 1 })
		})
		if s := named(t, h, kinds[0]); !strings.HasPrefix(s.GetText(), words+"\n") || s.GetThroughSeq() != 14 || strings.Contains(s.GetText(), hiddenCastle) || !strings.Contains(s.GetText(), mark(5)) {
			t.Errorf("summary %v", s)
		}
	})
	t.Run("a correction of a week stands in it and in its month, one of a month in that", func(t *testing.T) {
		t.Parallel()
		h := castles(t, noChange)
		names := map[memoryv1.SummaryKind]*memoryv1.Summary{kinds[1]: named(t, h, kinds[1]), kinds[2]: named(t, h, kinds[2])}
		for _, kind := range kinds[1:] {
			c := nameOf(names[kind])
			c.Text = "A " + strings.ToLower(kind.String()) + " near Fredensborg."
			if got := correct(t, h, c); got.GetText() != c.GetText() || !got.GetCorrected() {
				t.Errorf("corrected %v", got)
			}
			told := h.told(t)
			if strings.Contains(told["week"]+told["month"]+told["context of periods"], hiddenCastle) {
				t.Errorf("after the correction of %v: %v", kind, told)
			}
		}
	})
	t.Run("a correction is withheld and listed for review when a message that it stands for is hidden, whichever it is of", func(t *testing.T) {
		t.Parallel()
		for _, kind := range kinds {
			h := castles(t, noChange)
			c := nameOf(named(t, h, kind))
			c.Text = words
			correct(t, h, c)
			h = h.again(t, hanging(t))
			h.hide(t, "old", "s", true)
			for what, text := range h.told(t) {
				if what != "session" && what != "context" && kind == kinds[0] {
					continue // made of it before; checked below
				}
				if strings.Contains(text, "Fredensborg") || strings.Contains(text, hiddenCastle) {
					t.Errorf("%v: the %s tells: %s", kind, what, text)
				}
			}
			h.untold(t, "withheld", "Fredensborg", hiddenCastle)
			h = h.again(t, noChange)
			eventually(t, "what stands in its place", func() bool { return strings.Contains(h.told(t)["month"], shownCastle) })
			h.untold(t, "withheld", "Fredensborg", hiddenCastle)
			listed := must(h.summaries().ListSummaries(h.ctx, &memoryv1.ListSummariesRequest{UserId: "ada", Kind: kind, Withheld: true}))(t).GetSummaries()
			if len(listed) != 1 || !listed[0].GetWithheld() || listed[0].GetCorrected() || revisionsOf(t, h, listed[0])[0].GetText() != words {
				t.Fatalf("%v: listed %v", kind, listed)
			}
			restoreTo(t, h, listed[0], 1) // to restore is not to review
			h.untold(t, "restored", "Fredensborg", hiddenCastle)
			c.Text = words + " Reviewed."
			if got := correct(t, h, c); got.GetText() != c.GetText() || got.GetWithheld() {
				t.Errorf("%v: reviewed %v", kind, got)
			}
			if listed := must(h.summaries().ListSummaries(h.ctx, &memoryv1.ListSummariesRequest{UserId: "ada", Kind: kind, Withheld: true}))(t).GetSummaries(); len(listed) != 0 {
				t.Errorf("%v: listed %v", kind, listed)
			}
		}
	})
	t.Run("a withheld correction stands again when the message is shown again", func(t *testing.T) {
		t.Parallel()
		h := castles(t, noChange)
		c := nameOf(named(t, h, kinds[0]))
		c.Text = words
		want := correct(t, h, c)
		h.hide(t, "old", "s", true)
		h.hide(t, "old", "s", false)
		if got := named(t, h, kinds[0]); got.GetText() != want.GetText() {
			t.Errorf("summary %v", got)
		}
	})
	t.Run("its history is kept, and each of its texts can be restored, or the correction taken back", func(t *testing.T) {
		t.Parallel()
		h := castles(t, noChange)
		was := named(t, h, kinds[0])
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
		h := castles(t, noChange)
		was := named(t, h, kinds[0])
		c := nameOf(was)
		c.Text, c.Etag = words, was.GetEtag()
		req := &memoryv1.UpdateSummaryRequest{Summary: c, RequestId: "r"}
		first := must(h.summaries().UpdateSummary(h.ctx, req))(t).GetSummary()
		if again := must(h.summaries().UpdateSummary(h.ctx, req))(t).GetSummary(); !proto.Equal(first, again) || len(revisionsOf(t, h, was)) != 1 {
			t.Errorf("first %v, again %v", first, again)
		}
		req = proto.CloneOf(req)
		req.Summary.Text = "Other words."
		_, err := h.summaries().UpdateSummary(h.ctx, req)
		refused(t, err, codes.AlreadyExists, "REQUEST_ID_REUSED", "")
		req.RequestId = "other"
		_, err = h.summaries().UpdateSummary(h.ctx, req)
		refused(t, err, codes.Aborted, "ETAG_MISMATCH", "")
		rebuild := &memoryv1.RebuildSummaryRequest{UserId: "ada", SessionId: "old", RequestId: "b"}
		must(h.summaries().RebuildSummary(h.ctx, rebuild))(t)
		if got := must(h.summaries().RebuildSummary(h.ctx, rebuild))(t).GetSummary(); got.GetRevision() != 2 {
			t.Errorf("rebuilt %v", got)
		}
	})
	t.Run("a request that cannot be done names the field, the limit and the fix, and changes nothing", func(t *testing.T) {
		t.Parallel()
		h := castles(t, noChange)
		was := named(t, h, kinds[0])
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
			_, err := h.summaries().UpdateSummary(h.ctx, &memoryv1.UpdateSummaryRequest{Summary: c})
			refused(t, err, codes.InvalidArgument, "FIELD_INVALID", bad.field)
		}
		for _, revision := range []int64{-1, 0, 7} {
			_, err := h.summaries().RestoreSummary(h.ctx, &memoryv1.RestoreSummaryRequest{UserId: "ada", SessionId: "old", Revision: revision})
			refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "revision")
		}
		_, err := h.summaries().RebuildSummary(h.ctx, &memoryv1.RebuildSummaryRequest{UserId: "ada", Kind: kinds[1], Name: "2026-W01"})
		refused(t, err, codes.NotFound, "SUMMARY_NOT_FOUND", "")
		_, err = h.summaries().RebuildSummary(h.ctx, &memoryv1.RebuildSummaryRequest{UserId: "eve", SessionId: "old"})
		refused(t, err, codes.NotFound, "USER_NOT_FOUND", "")
		if now := named(t, h, kinds[0]); !proto.Equal(was, now) {
			t.Errorf("was %v\nis %v", was, now)
		}
	})
	t.Run("a rebuild writes the summary of a session, a week and a month anew, and the old one stands until then", func(t *testing.T) {
		t.Parallel()
		h := castles(t, noChange)
		for _, kind := range kinds {
			was := named(t, h, kind)
			n := nameOf(was)
			must(h.summaries().RebuildSummary(h.ctx, &memoryv1.RebuildSummaryRequest{UserId: "ada", Kind: kind, SessionId: n.GetSessionId(), Name: n.GetName()}))(t)
			eventually(t, "a rebuild", func() bool {
				now := named(t, h, kind)
				return !now.GetRebuilding() && now.GetNodes()[0].GetGeneration() > was.GetNodes()[0].GetGeneration()
			})
			if now := named(t, h, kind); now.GetText() != was.GetText() {
				t.Errorf("%v: was %q, is %q", kind, was.GetText(), now.GetText())
			}
		}
	})
}
