package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// Moody is a chat model that learns what it is told, but for its bad days.
type Moody struct {
	mu  sync.Mutex
	Day func(Asked) llmtest.Reply // nil on a good one
}

// Asked is a prompt of an extraction as a model reads it.
type Asked struct {
	llmtest.Request
	Known map[string]string // aliases by text
	Lines map[string]string // aliases by text, of what facts may be learnt from
}

func (m *Moody) Turn(day func(Asked) llmtest.Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Day = day
}

func (m *Moody) Answer(r llmtest.Request) llmtest.Reply {
	m.mu.Lock()
	day := m.Day
	m.mu.Unlock()
	a := Read(r)
	if day != nil {
		return day(a)
	}
	if r.Operation != llm.OpExtract {
		return llmtest.Say("The user decided to visit the castle of Prague with sister Grace.")
	}
	return a.Learn()
}

func Read(r llmtest.Request) Asked {
	a := Asked{Request: r, Known: map[string]string{}, Lines: map[string]string{}}
	for line := range strings.Lines(r.User) {
		var shown struct {
			Fact, Message, Text string
			Learn               bool
		}
		if json.Unmarshal([]byte(line), &shown) != nil {
			continue
		}
		if shown.Fact != "" {
			a.Known[shown.Text] = shown.Fact
		}
		if shown.Learn {
			a.Lines[shown.Text] = shown.Message
		}
	}
	return a
}

// Alias returns what the prompt calls the line with the words.
func (a Asked) Alias(words string) string {
	for text, alias := range a.Lines {
		if strings.Contains(text, words) {
			return alias
		}
	}
	return "none"
}

var (
	Likes = regexp.MustCompile(`I like (\w+)`)
	lives = regexp.MustCompile(`I live in (\w+)`)
)

// Learn returns what a good model learns: what the user likes and where the user lives.
func (a Asked) Learn() llmtest.Reply {
	var ops []extract.Op
	for text := range a.Lines {
		for _, found := range Likes.FindAllStringSubmatch(text, -1) {
			ops = append(ops, a.Add("Likes "+found[1], found[0]))
		}
		for _, found := range lives.FindAllStringSubmatch(text, -1) {
			op := a.Add("Lives in "+found[1], found[0])
			op.Attribute, op.Category = "home_city", "personal_info"
			ops = append(ops, op)
		}
	}
	return Say(ops)
}

// Add is an operation that stands when the words were said.
func (a Asked) Add(text, quote string) extract.Op {
	return extract.Op{Op: "add", Text: text, Category: "preference", Significance: 6, Confidence: .9, Message: a.Alias(quote), Quote: quote}
}

// Replace is one that takes the place of a known fact.
func (a Asked) Replace(known, text, quote string) extract.Op {
	op := a.Add(text, quote)
	op.Op, op.Supersedes = "supersede", a.Known[known]
	return op
}

func Say(ops []extract.Op) llmtest.Reply {
	answer, err := json.Marshal(map[string]any{"operations": ops})
	if err != nil {
		return llmtest.Say(err.Error())
	}
	return llmtest.Say(string(answer))
}

// OnModel serves with the model for summaries and extraction.
func OnModel(t *testing.T, m *Moody, change func(*config.Config)) *Server {
	t.Helper()
	server := llmtest.New(llmtest.Options{Chat: m.Answer})
	t.Cleanup(server.Close)
	return StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) {
		c.ChatBaseURL, c.SummaryModel, c.ExtractionModel = server.URL(), "scripted", "scripted"
		c.ChatTimeout, c.MetricsListen = time.Minute, "127.0.0.1:0" // megabytes take their time under the race detector
		change(c)
	})
}

// Sample returns the value of a metric by its name and labels as they are written; 0 when it is not there.
func (h *Server) Sample(t *testing.T, name string) float64 {
	t.Helper()
	for line := range strings.Lines(h.Scrape(t)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			return Must(strconv.ParseFloat(strings.TrimSpace(rest), 64))(t)
		}
	}
	return 0
}

func (h *Server) Scrape(t *testing.T) string {
	t.Helper()
	req := Must(http.NewRequestWithContext(h.Ctx, http.MethodGet, "http://"+h.Metrics+"/metrics", nil))(t)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return string(Must(io.ReadAll(resp.Body))(t))
}

// CatchUp waits until facts were extracted from the whole session. Parked jobs are given a new try.
func (h *Server) CatchUp(t *testing.T, session string) {
	t.Helper()
	for range 3 {
		r := Must(h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{
			UserId: "ada", SessionId: session, Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED}, Timeout: durationpb.New(time.Minute),
		}))(t)
		if r.GetReached() {
			return
		}
		if r.GetParkedJobId() != "" {
			Must(h.Work().RetryJob(h.Ctx, &memoryv1.RetryJobRequest{UserId: "ada", JobId: r.GetParkedJobId()}))(t)
		}
	}
	t.Fatalf("nothing was extracted from %s: %v", session, h.Jobs(t))
}

// MustCover checks that the summary of a context and its latest messages are the whole session, without hole or overlap.
func (h *Server) MustCover(t *testing.T, session string, messages int64) {
	t.Helper()
	r := Must(h.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: session}))(t)
	next := int64(1)
	for _, s := range r.GetSections() {
		for _, item := range s.GetItems() {
			switch s.GetKind() {
			case memoryv1.SectionKind_SECTION_KIND_SUMMARY:
				if item.GetSummary().GetFromSeq() != next {
					t.Errorf("the summary begins at %d, want %d", item.GetSummary().GetFromSeq(), next)
				}
				next = item.GetSummary().GetToSeq() + 1
			case memoryv1.SectionKind_SECTION_KIND_RECENT:
				if item.GetSeq() != next {
					t.Errorf("message %d comes where %d is due", item.GetSeq(), next)
				}
				next = item.GetSeq() + 1
			}
		}
	}
	if next != messages+1 {
		t.Errorf("covered up to %d of %d", next-1, messages)
	}
}
