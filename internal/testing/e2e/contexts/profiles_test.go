package contexts_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
)

var update = flag.Bool("update", false, "write the figures of docs/evaluate/profiles.md anew")

// profileRow is what a profile makes of the transcript of a hundred turns.
type profileRow struct {
	name        string
	after       *memoryv1.HistoryUsage
	kept        int
	equal       float64 // the share of tokens that is left at the shortest summary with which all plants are kept; 0 for none
	equalTokens int64   // how long that summary may be
}

// The figures of docs/evaluate/profiles.md: the same transcript, each profile, the built-in summariser. What is planted was said once,
// in the words of a user or of the agent; the tokens are those of o200k_base with what providers add.
func TestProfilesOnAHundredTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("computes the figures of a document; make test runs it without the race detector")
	}
	t.Parallel()
	all, plants := transcript100(t), planted(t)
	if len(plants) != 24 || kept(plants, words(all)) != 24 {
		t.Fatalf("%d planted, %d of them found in the transcript", len(plants), kept(plants, words(all)))
	}
	var rows []profileRow
	for _, name := range []string{config.ChatProfile, config.AgentProfile, config.LangChainProfile, config.KoogProfile, config.CostSaverProfile} {
		row := measureProfile(t, name, all, plants)
		t.Logf("%s: %.1f %% fewer, %d kept; all kept at %d: %.1f %%", row.name, 100*(1-row.share()), row.kept, row.equalTokens, 100*(1-row.equal))
		rows = append(rows, row)
	}
	t.Run("the profile agent takes at least 84 % of the tokens and nothing that was planted", func(t *testing.T) {
		if a := rows[1]; a.share() > .16 || a.kept != 24 {
			t.Errorf("%.1f %% of the tokens are left, %d of 24 kept", 100*a.share(), a.kept)
		}
	})
	t.Run("it keeps all of them turn by turn too, in a context that does not grow", func(t *testing.T) {
		most, found := turnByTurn(t, config.AgentProfile, all, plants)
		t.Logf("at most %d tokens, %d of 24 kept", most, found)
		if found != 24 || most > 9000 {
			t.Errorf("%d of 24 kept, at most %d tokens", found, most)
		}
	})
	t.Run("the document has these figures", func(t *testing.T) {
		docHas(t, "profiles", profilesMarkdown(rows))
	})
}

func (r profileRow) share() float64 {
	return float64(r.after.GetTokensAfter()) / float64(r.after.GetTokensBefore())
}

func measureProfile(t *testing.T, name string, all []*memoryv1.Message, plants []plant) profileRow {
	t.Helper()
	h := e2e.Start(t)
	r := h.Compact(t, &memoryv1.CompactRequest{Messages: all, Profile: name})
	row := profileRow{name: name, after: r.GetUsage(), kept: kept(plants, words(r.GetMessages()))}
	row.equal, row.equalTokens = equalRetention(t, name, all, plants)
	return row
}

// equalRetention finds the shortest summary of the profile with which all plants are kept, if one of the longest does it.
func equalRetention(t *testing.T, name string, all []*memoryv1.Message, plants []plant) (share float64, tokens int64) {
	t.Helper()
	for _, tokens := range []int64{maxSummary, 400, 500, 800, 1000, 2000, 3000, 5000, maxSummary} {
		u, n := withSummaries(t, name, tokens, all, plants)
		switch {
		case n < len(plants) && tokens == maxSummary:
			return 0, 0
		case n == len(plants) && share > 0:
			return float64(u.GetTokensAfter()) / float64(u.GetTokensBefore()), tokens
		}
		share = 1 // with the longest it can be done
	}
	return 0, 0
}

// maxSummary is the longest summary that a policy may ask for, in tokens.
const maxSummary = 10_000

// withSummaries compacts by a profile with summaries of another length and no further limit.
func withSummaries(t *testing.T, name string, tokens int64, all []*memoryv1.Message, plants []plant) (*memoryv1.HistoryUsage, int) {
	t.Helper()
	h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) {
		p := c.Profiles[name]
		p.History.Compress.MaxTokens, p.History.Trim.Tokens = tokens, 0
		c.Profiles[name] = p
	})
	defer h.Stop()
	r := h.Compact(t, &memoryv1.CompactRequest{Messages: all, Profile: name})
	return r.GetUsage(), kept(plants, words(r.GetMessages()))
}

// turnByTurn compacts at each message of a user, as an agent does that holds its history. It answers the tokens of the
// largest context and what is kept at the end.
func turnByTurn(t *testing.T, name string, all []*memoryv1.Message, plants []plant) (most int64, found int) {
	t.Helper()
	h := e2e.Start(t)
	var history []*memoryv1.Message
	for i, m := range all {
		history = append(history, m)
		if m.GetRole() != memoryv1.Role_ROLE_USER && i+1 < len(all) {
			continue
		}
		r := h.Compact(t, &memoryv1.CompactRequest{Messages: history, Profile: name})
		if r.GetChanged() {
			history = r.GetMessages()
		}
		most = max(most, r.GetUsage().GetTokensAfter())
	}
	return most, kept(plants, words(history))
}

// profilesMarkdown is the table and the plot of the document.
func profilesMarkdown(rows []profileRow) string {
	var b strings.Builder
	u := rows[0].after
	fmt.Fprintf(&b, "%d messages, %d tokens before:\n\n", u.GetMessagesBefore(), u.GetTokensBefore())
	b.WriteString("| profile | messages | tokens | fewer | kept of 24 | fewer with all 24 kept |\n|---|---|---|---|---|---|\n")
	var names, fewer, found []string
	for _, r := range rows {
		equal := "not reached by summaries of 10,000 tokens"
		if r.equal > 0 {
			equal = fmt.Sprintf("%.1f %% (summaries of %d tokens)", 100*(1-r.equal), r.equalTokens)
		}
		fmt.Fprintf(&b, "| `%s` | %d | %d | %.1f %% | %d | %s |\n", r.name, r.after.GetMessagesAfter(), r.after.GetTokensAfter(),
			100*(1-r.share()), r.kept, equal)
		names = append(names, fmt.Sprintf("%q", r.name))
		fewer = append(fewer, fmt.Sprintf("%.1f", 100*(1-r.share())))
		found = append(found, fmt.Sprintf("%.1f", 100*float64(r.kept)/24))
	}
	fmt.Fprintf(&b, "\n```mermaid\nxychart-beta\n  title \"Of 24 planted things kept (bars) and tokens taken away (line), in %%\"\n  x-axis [%s]\n  y-axis \"%%\" 0 --> 100\n  bar [%s]\n  line [%s]\n```\n",
		strings.Join(names, ", "), strings.Join(found, ", "), strings.Join(fewer, ", "))
	return b.String()
}

// docHas compares what stands in the document between two comments of that name, or writes it there.
func docHas(t *testing.T, name, want string) {
	t.Helper()
	const path = "../../../../docs/evaluate/profiles.md"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, ok := strings.Cut(string(data), begin)
	got, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("the document has no %s… %s", begin, end)
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("run go test ./internal/program/app -run TestProfiles -update if this is wanted:\n%s", d)
	}
}

func TestTheAgentProfileOverAStoredSession(t *testing.T) {
	t.Parallel()
	for name, pace := range map[string]int{"when summaries keep up": 10, "when they come at the end": 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, plants := e2e.Start(t), planted(t)
			recordTurns(t, h, transcript100(t), pace)
			e2e.Eventually(t, "facts", func() bool {
				return len(e2e.Section(h.Context(t, &memoryv1.BuildContextRequest{SessionId: "s"}), memoryv1.SectionKind_SECTION_KIND_SESSION_FACTS).GetItems()) > 0
			})
			r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "s", Render: memoryv1.Render_RENDER_TEXT})
			t.Logf("%d tokens, summary through %d", r.GetUsage().GetTokens(), r.GetCoverage().GetSummaryThrough())
			t.Run("window, summary, facts and state stand in one context, of at most 16 % of the tokens", func(t *testing.T) {
				for _, kind := range []memoryv1.SectionKind{e2e.Recent, memoryv1.SectionKind_SECTION_KIND_SUMMARY, memoryv1.SectionKind_SECTION_KIND_STATE, memoryv1.SectionKind_SECTION_KIND_SESSION_FACTS} {
					if len(e2e.Section(r, kind).GetItems()) == 0 {
						t.Errorf("there is no section %v", kind)
					}
				}
				if r.GetUsage().GetTokens() > 155_925*16/100 || len(r.GetCleared()) == 0 {
					t.Errorf("usage %v", r.GetUsage())
				}
			})
			t.Run("all that was planted stands in it", func(t *testing.T) {
				for _, p := range plants {
					if kept([]plant{p}, r.GetRendering()) == 0 {
						t.Errorf("the %s of message %s is lost", p.Kind, p.MessageID)
					}
				}
			})
		})
	}
}

// recordTurns records a history turn by turn, and waits for the summaries of what is due every so many turns.
func recordTurns(t *testing.T, h *e2e.Server, all []*memoryv1.Message, pace int) {
	t.Helper()
	recorded, turns := 0, 0
	summarised := func() { // each summary of many may take a while, none of them all of longWait
		for before := int64(-1); recorded >= 80; {
			r := e2e.Must(h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{
				UserId: "ada", SessionId: "s", Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_SUMMARISED}, MinSeq: int64(recorded - 79), Timeout: e2e.LongWait,
			}))(t)
			if r.GetReached() {
				return
			}
			if before == r.GetWatermarks().GetSummarised() {
				t.Fatalf("no message more is summarised: %v", r)
			}
			before = r.GetWatermarks().GetSummarised()
		}
	}
	var turn []*memoryv1.Message
	for i, m := range all {
		turn = append(turn, m)
		if i+1 < len(all) && all[i+1].GetRole() != memoryv1.Role_ROLE_USER {
			continue
		}
		e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{
			UserId: "ada", SessionId: "s", Profile: config.AgentProfile, Messages: turn, StatePatch: e2e.Object("phase", e2e.StructString("cutover")),
		}))(t)
		recorded, turns, turn = recorded+len(turn), turns+1, nil
		if turns%pace == 0 {
			summarised()
		}
	}
	summarised()
}
