package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

func (h *Server) Facts() memoryv1.FactServiceClient { return memoryv1.NewFactServiceClient(h.Conn) }

func (h *Server) Work() memoryv1.WorkServiceClient { return memoryv1.NewWorkServiceClient(h.Conn) }

// States stores a fact of ada.
func (h *Server) States(t *testing.T, text, attribute string) *memoryv1.Fact {
	t.Helper()
	req := &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{UserId: "ada", Text: text, Attribute: attribute}}
	return Must(h.Facts().CreateFact(h.Ctx, req))(t).GetFact()
}

// Learn records what ada says and waits until facts are learnt from it.
func (h *Server) Learn(t *testing.T, session, words string) {
	t.Helper()
	h.RecordTurn(t, session, User("", words), Assistant("", "I see."))
	r := Must(h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{
		UserId: "ada", SessionId: session, Timeout: LongWait, Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED},
	}))(t)
	if !r.GetReached() {
		t.Fatalf("nothing was learnt: %v", r)
	}
}

func (h *Server) ListFacts(t *testing.T, past bool) []*memoryv1.Fact {
	t.Helper()
	return Must(h.Facts().ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: "ada", IncludePast: past}))(t).GetFacts()
}

func Texts(facts []*memoryv1.Fact) []string {
	var out []string
	for _, f := range facts {
		out = append(out, f.GetText())
	}
	return out
}

func About(facts []*memoryv1.Fact, word string) *memoryv1.Fact {
	for _, f := range facts {
		if strings.Contains(f.GetText(), word) {
			return f
		}
	}
	return nil
}

func MaskOf(paths ...string) *fieldmaskpb.FieldMask { return &fieldmaskpb.FieldMask{Paths: paths} }

// RecordAs makes a user known.
func (h *Server) RecordAs(t *testing.T, userID string) {
	t.Helper()
	Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: userID, SessionId: "s", Messages: []*memoryv1.Message{User("", "hello")}}))(t)
}

func (h *Server) Maintenance() memoryv1.MaintenanceServiceClient {
	return memoryv1.NewMaintenanceServiceClient(h.Conn)
}

// Jobs lists ada's jobs of some states.
func (h *Server) Jobs(t *testing.T, states ...memoryv1.JobState) []*memoryv1.Job {
	t.Helper()
	return Must(h.Work().ListJobs(h.Ctx, &memoryv1.ListJobsRequest{UserId: "ada", States: states}))(t).GetJobs()
}

const Applied = memoryv1.JobState_JOB_STATE_APPLIED

// Scripted serves with a chat model that extracts what the script says.
func Scripted(t *testing.T, script func(llmtest.Request) llmtest.Reply) *Server {
	t.Helper()
	model := llmtest.New(llmtest.Options{Chat: script})
	t.Cleanup(model.Close)
	return StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) {
		c.ChatBaseURL, c.ExtractionModel = model.URL(), "scripted"
	})
}

// LivesIn is the answer of a model that learnt where the user lives.
func LivesIn(city, quote string) llmtest.Reply {
	return llmtest.Say(fmt.Sprintf(`{"operations":[{"op":"add","text":"Lives in %s","category":"personal_info","significance":8,`+
		`"confidence":0.9,"subject":"","attribute":"home_city","tags":[],"message":"m1","quote":%q,"supersedes":"","valid_from":""}]}`, city, quote))
}

// Glad is a model that takes every sentence that it is shown for a lasting fact, and sums up by repeating.
func Glad(r llmtest.Request) llmtest.Reply {
	if r.Operation != llm.OpExtract {
		var lines []string
		for line := range strings.Lines(r.User) {
			if material, ok := strings.CutPrefix(line, "| "); ok && strings.TrimSpace(material) != "" {
				lines = append(lines, "- "+strings.TrimSpace(material))
			}
		}
		return llmtest.Say(strings.Join(lines, "\n"))
	}
	a := Read(r)
	type op struct {
		Op           string   `json:"op"`
		Text         string   `json:"text"`
		Category     string   `json:"category"`
		Significance int      `json:"significance"`
		Confidence   float64  `json:"confidence"`
		Message      string   `json:"message"`
		Quote        string   `json:"quote"`
		Tags         []string `json:"tags"`
	}
	ops := []op{}
	for text, alias := range a.Lines {
		for _, s := range regexp.MustCompile(`[^.\n]+\.`).FindAllString(strings.ReplaceAll(text, `\n`, "\n"), -1) {
			if s = strings.TrimSpace(s); !strings.Contains(s, "go on with step") && len(ops) < 20 {
				ops = append(ops, op{"add", s, "other", 5, .9, alias, s, []string{}})
			}
		}
	}
	slices.SortFunc(ops, func(x, y op) int { return strings.Compare(x.Text, y.Text) })
	b, err := json.Marshal(map[string]any{"operations": ops})
	if err != nil {
		return llmtest.Say(err.Error())
	}
	return llmtest.Say(string(b))
}
