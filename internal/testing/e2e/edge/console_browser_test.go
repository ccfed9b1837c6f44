package edge_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/console"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// browsed is what testdata/clients/console.mjs saw.
type browsed struct {
	Findings, Wide []string
	Texts          map[string]string
	Plots          []plotted
	Ran            bool
	Scripts        int
}

// plotted are the curves of a plot as the browser drew them.
type plotted struct {
	Name         string
	Lines        int
	Fills, Rises float64 // shares of the plot's width and height
	Beyond       float64 // pixels outside the plot
}

// TestTheConsoleInABrowser uses the console in Chromium as a person does. STRATA_CONSOLE_SHOTS names a folder for the pictures of
// docs/operate/console.md, which want a font that has Korean.
func TestTheConsoleInABrowser(t *testing.T) {
	tools, chromium := clientTools(t)
	h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) { c.Auth, c.BootstrapKey = config.AuthRequired, true })
	door, admin := e2e.GRPCDoor{Conn: h.Conn}, h.App.FirstKey()
	said := time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)
	record := func(session string, messages ...*memoryv1.Message) {
		for _, m := range messages {
			said = said.Add(time.Minute)
			m.CreateTime = timestamppb.New(said)
		}
		e2e.Must(door.Call(h.Ctx, "MemoryService/Record", admin, &memoryv1.RecordRequest{UserId: "marieke", SessionId: session, Messages: messages}))(t)
		e2e.Must(door.Call(h.Ctx, "WorkService/WaitForWatermark", admin, &memoryv1.WaitForWatermarkRequest{
			UserId: "marieke", SessionId: session, Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED}, Timeout: e2e.LongWait,
		}))(t)
	}
	record("script", e2e.User("m1", "A vegan cake, please. "+scriptCanary))
	record("kitchen", e2e.User("m1", "I am vegan, and I live in Ghent."), e2e.Assistant("m2", "Noted: no meat, no milk, no eggs."),
		e2e.User("m3", "My daughter Noor is allergic to peanuts."), e2e.Assistant("m4", "No peanuts for Noor."))
	said = said.AddDate(0, 0, 7)
	record("garden", e2e.User("m1", "We want to plant tomatoes and beans in April. My budget is 300 euros."),
		&memoryv1.Message{Id: "m2", Role: memoryv1.Role_ROLE_ASSISTANT, Parts: []*memoryv1.Part{{Kind: &memoryv1.Part_ToolCall{
			ToolCall: &memoryv1.ToolCall{Id: "t1", Name: "prices", Arguments: `{"items":["raised bed","drip line"],"country":"BE"}`},
		}}}},
		&memoryv1.Message{Id: "m3", Role: memoryv1.Role_ROLE_TOOL, Parts: []*memoryv1.Part{{Kind: &memoryv1.Part_ToolResult{
			ToolResult: &memoryv1.ToolResult{CallId: "t1", Parts: []*memoryv1.Part{{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: "raised bed 64, drip line 39"}}}}},
		}}}},
		e2e.Assistant("m4", "For 300 euros: three raised beds, a drip line, and seeds. Sow the tomatoes indoors in March."))
	e2e.Must(door.Call(h.Ctx, "SummaryService/Summarize", admin, &memoryv1.SummarizeRequest{UserId: "marieke", SessionId: "kitchen"}))(t)
	created := e2e.Must(door.Call(h.Ctx, "KeyService/CreateKey", admin, &memoryv1.CreateKeyRequest{Role: memoryv1.KeyRole_KEY_ROLE_USER, UserId: "marieke"}))(t)
	parked := withParkedJobs(t)
	given := e2e.Must(json.Marshal(map[string]string{
		"base": "http://" + h.Conn.Target(), "key": created[0].(*memoryv1.CreateKeyResponse).GetToken(), "user": "marieke", "session": "garden",
		"shots": os.Getenv("STRATA_CONSOLE_SHOTS"), "parked": "http://" + parked.Conn.Target(), "metrics": busyPage(t),
	}))(t)
	var saw browsed
	printed(t, append(os.Environ(), "STRATA_CONSOLE="+string(given), "STRATA_CHROMIUM="+chromium), &saw, "node", filepath.Join(tools, "console.mjs"))
	saw.check(t)
	t.Run("a parked job that was retried has learnt, and the skipped one has not", func(t *testing.T) {
		e2e.Eventually(t, "the retried job is done", func() bool { return e2e.About(parked.ListFacts(t, false), "Rome") != nil })
		if skipped := parked.Jobs(t, memoryv1.JobState_JOB_STATE_SKIPPED); len(skipped) != 1 || skipped[0].GetSessionId() != "oslo" {
			t.Errorf("skipped %v", skipped)
		}
		if left := parked.Jobs(t, memoryv1.JobState_JOB_STATE_PARKED); len(left) != 0 {
			t.Errorf("parked %v", left)
		}
	})
}

// withParkedJobs is a server whose model refused its key while it was to learn from the sessions rome and oslo.
func withParkedJobs(t *testing.T) *e2e.Server {
	t.Helper()
	h := e2e.Scripted(t, func(r llmtest.Request) llmtest.Reply {
		if r.N <= 2 {
			return llmtest.Fails(http.StatusUnauthorized, llmtest.Failure{Message: "no such key"})
		}
		return e2e.LivesIn("Rome", "I live in Rome")
	})
	for session, words := range map[string]string{"rome": "I live in Rome.", "oslo": "I live in Oslo."} {
		h.RecordTurn(t, session, e2e.User("", words), e2e.Assistant("", "I see."))
		e2e.Must(h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: session, Timeout: e2e.LongWait}))(t)
	}
	return h
}

// busyPage is the address of the metrics of a server that was called for ten minutes, in waves, with failures in the fifth one.
func busyPage(t *testing.T) string {
	t.Helper()
	const record, list = "/memory.v1.MemoryService/Record", "/memory.v1.FactService/ListFacts"
	now, took := time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC), map[[2]string][]console.Bucket{}
	observe := func(method, code string, counts ...uint64) {
		key, total := [2]string{method, code}, uint64(0)
		if took[key] == nil {
			took[key] = []console.Bucket{{UpTo: .001}, {UpTo: .005}, {UpTo: .025}, {UpTo: .1}, {UpTo: .5}, {UpTo: math.Inf(1)}}
		}
		for i, n := range counts {
			total += n
			took[key][i].Count += total
		}
	}
	measured := func() ([]console.Measure, error) {
		all := []console.Measure{{Name: "strata_audit_entries_total", Labels: map[string]string{"outcome": "written"}, Value: 48211}}
		for key, buckets := range took {
			all = append(all, console.Measure{
				Name: "strata_rpc_seconds", Labels: map[string]string{"method": key[0], "code": key[1]},
				Value: float64(buckets[len(buckets)-1].Count), Buckets: slices.Clone(buckets),
			})
		}
		return all, nil
	}
	trend := console.NewTrend(measured, func() time.Time { return now })
	for i := range 61 {
		wave := uint64(60 + 40*math.Sin(float64(i)/6))
		observe(record, "OK", 0, wave, wave/2, wave/30, 0, 0)
		observe(list, "OK", wave, wave, wave/9, 0, 0, 0)
		if i >= 24 && i < 30 {
			observe(record, "UNAVAILABLE", 0, 0, 0, 4, 12, 2)
		}
		e2e.Must(trend.Note(t.Context()))(t)
		now = now.Add(10 * time.Second)
	}
	c := e2e.Must(console.New(console.Options{
		API: func(*http.Request) grpc.ClientConnInterface { return nil }, Secret: []byte("0123456789abcdef"), Now: time.Now,
		MayCall: func(*http.Request, string) error { return nil }, Measured: measured, Trend: trend,
	}))(t)
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	return s.URL + "/console/metrics"
}

func (saw browsed) check(t *testing.T) {
	t.Helper()
	t.Run("axe-core finds nothing serious", func(t *testing.T) {
		for _, f := range saw.Findings {
			t.Error(f)
		}
	})
	t.Run("no page is wider than a phone of 360 pixels", func(t *testing.T) {
		for _, w := range saw.Wide {
			t.Error(w)
		}
	})
	t.Run("nothing that is stored runs", func(t *testing.T) {
		if saw.Ran || saw.Scripts != 0 {
			t.Errorf("ran: %t, %d scripts", saw.Ran, saw.Scripts)
		}
	})
	t.Run("curves of ten minutes fill their plots, and stay within them", func(t *testing.T) {
		if len(saw.Plots) != 8 { // two plots, two sizes, two languages
			t.Errorf("%d plots", len(saw.Plots))
		}
		for _, p := range saw.Plots {
			if p.Lines < 2 || p.Fills < .99 || p.Rises < .5 || p.Beyond > 1 {
				t.Errorf("%+v", p)
			}
		}
	})
	t.Run("clicks and keys do what they say", func(t *testing.T) {
		for what, want := range map[string]string{
			"login": "Log in", "afterKey": "Log in", "arrived": "/console/transcript", "first": "skip", "skipped": "main",
			"hidden": "The message is hidden.", "shown": "The message is shown again.", "still": "Assistant", "found": "vegan", "pinned": "The fact is pinned.",
			"edited": "in May", "restored": "The fact is restored.", "built": "/ 600 tokens", "korean": "컨텍스트 탐색기", "left": "ko",
			"after": "/console/login", "places": "Users", "among": "vegan", "evidence": "tomatoes and beans", "parked": "HTTP 401",
			"retried": "The job is tried again.", "skippedJob": "The job is skipped.",
		} {
			if !strings.Contains(saw.Texts[what], want) {
				t.Errorf("%s: %q, want %q", what, saw.Texts[what], want)
			}
		}
		if places := saw.Texts["places"]; strings.Contains(places, "Metrics") {
			t.Errorf("a user is led to what a user may not see: %q", places)
		}
	})
}

// BenchmarkTheConsolesFirstPaint opens pages of a user with 10,000 messages and 10,000 facts in Chromium, and reports the milliseconds to
// the first contentful paint: of each page the median of five.
func BenchmarkTheConsolesFirstPaint(b *testing.B) {
	tools, chromium := clientTools(b)
	h := e2e.StartOn(b, filepath.Join(b.TempDir(), "strata.db"), func(*config.Config) {})
	facts, g := memoryv1.NewFactServiceClient(h.Conn), errgroup.Group{}
	g.SetLimit(16)
	for i := range 10_000 {
		if i%100 == 0 {
			turn := &memoryv1.RecordRequest{UserId: "ada", SessionId: "s1", Extract: memoryv1.ExtractMode_EXTRACT_MODE_NONE}
			for j := range 100 {
				turn.Messages = append(turn.Messages, e2e.User("", fmt.Sprintf("Message %d: the beans by the wall want water every %d days.", i+j, j)))
			}
			g.Go(func() error { _, err := h.Record(h.Ctx, turn); return err })
		}
		g.Go(func() error {
			_, err := facts.CreateFact(h.Ctx, &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{
				UserId: "ada", Text: fmt.Sprintf("Has planted bean number %d by the wall.", i), Category: memoryv1.Category_CATEGORY_OTHER, Significance: 5,
			}})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	page := func(name string) string { return "http://" + h.Conn.Target() + "/console/" + name }
	given, err := json.Marshal(map[string]any{"runs": 5, "pages": map[string]string{
		"sessions": page("sessions?user=ada"), "transcript": page("transcript?user=ada&session=s1"), "facts": page("facts?user=ada"), "summaries": page("summaries?user=ada"),
		"jobs": page("jobs?user=ada"), "context": page("context?user=ada&session=s1"),
	}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		medians := map[string]float64{}
		printed(b, append(os.Environ(), "STRATA_CONSOLE="+string(given), "STRATA_CHROMIUM="+chromium), &medians, "node", filepath.Join(tools, "paint.mjs"))
		for name, ms := range medians {
			b.ReportMetric(ms, "ms/"+name)
		}
	}
}
