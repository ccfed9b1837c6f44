package app_test

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
	"github.com/stratamem/strata/internal/config"
	"github.com/stratamem/strata/internal/extract"
	"github.com/stratamem/strata/internal/llm"
	"github.com/stratamem/strata/internal/llm/llmtest"
)

// moody is a chat model that learns what it is told, but for its bad days.
type moody struct {
	mu  sync.Mutex
	day func(asked) llmtest.Reply // nil on a good one
}

// asked is a prompt of an extraction as a model reads it.
type asked struct {
	llmtest.Request
	known map[string]string // aliases by text
	lines map[string]string // aliases by text, of what facts may be learnt from
}

func (m *moody) turn(day func(asked) llmtest.Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.day = day
}

func (m *moody) answer(r llmtest.Request) llmtest.Reply {
	m.mu.Lock()
	day := m.day
	m.mu.Unlock()
	a := read(r)
	if day != nil {
		return day(a)
	}
	if r.Operation != llm.OpExtract {
		return llmtest.Say("The user decided to visit the castle of Prague with sister Grace.")
	}
	return a.learn()
}

func read(r llmtest.Request) asked {
	a := asked{Request: r, known: map[string]string{}, lines: map[string]string{}}
	for line := range strings.Lines(r.User) {
		var shown struct {
			Fact, Message, Text string
			Learn               bool
		}
		if json.Unmarshal([]byte(line), &shown) != nil {
			continue
		}
		if shown.Fact != "" {
			a.known[shown.Text] = shown.Fact
		}
		if shown.Learn {
			a.lines[shown.Text] = shown.Message
		}
	}
	return a
}

// alias returns what the prompt calls the line with the words.
func (a asked) alias(words string) string {
	for text, alias := range a.lines {
		if strings.Contains(text, words) {
			return alias
		}
	}
	return "none"
}

var (
	likes = regexp.MustCompile(`I like (\w+)`)
	lives = regexp.MustCompile(`I live in (\w+)`)
)

// learn returns what a good model learns: what the user likes and where the user lives.
func (a asked) learn() llmtest.Reply {
	var ops []extract.Op
	for text := range a.lines {
		for _, found := range likes.FindAllStringSubmatch(text, -1) {
			ops = append(ops, a.add("Likes "+found[1], found[0]))
		}
		for _, found := range lives.FindAllStringSubmatch(text, -1) {
			op := a.add("Lives in "+found[1], found[0])
			op.Attribute, op.Category = "home_city", "personal_info"
			ops = append(ops, op)
		}
	}
	return say(ops)
}

// add is an operation that stands when the words were said.
func (a asked) add(text, quote string) extract.Op {
	return extract.Op{Op: "add", Text: text, Category: "preference", Significance: 6, Confidence: .9, Message: a.alias(quote), Quote: quote}
}

// replace is one that takes the place of a known fact.
func (a asked) replace(known, text, quote string) extract.Op {
	op := a.add(text, quote)
	op.Op, op.Supersedes = "supersede", a.known[known]
	return op
}

func say(ops []extract.Op) llmtest.Reply {
	answer, err := json.Marshal(map[string]any{"operations": ops})
	if err != nil {
		return llmtest.Say(err.Error())
	}
	return llmtest.Say(string(answer))
}

// onModel serves with the model for summaries and extraction.
func onModel(t *testing.T, m *moody, change func(*config.Config)) *harness {
	t.Helper()
	server := llmtest.New(llmtest.Options{Chat: m.answer})
	t.Cleanup(server.Close)
	return startOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) {
		c.ChatBaseURL, c.SummaryModel, c.ExtractionModel = server.URL(), "scripted", "scripted"
		c.ChatTimeout, c.MetricsListen = time.Minute, "127.0.0.1:0" // megabytes take their time under the race detector
		change(c)
	})
}

// sample returns the value of a metric by its name and labels as they are written; 0 when it is not there.
func (h *harness) sample(t *testing.T, name string) float64 {
	t.Helper()
	for line := range strings.Lines(h.scrape(t)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			return must(strconv.ParseFloat(strings.TrimSpace(rest), 64))(t)
		}
	}
	return 0
}

func (h *harness) scrape(t *testing.T) string {
	t.Helper()
	req := must(http.NewRequestWithContext(h.ctx, http.MethodGet, "http://"+h.metrics+"/metrics", nil))(t)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return string(must(io.ReadAll(resp.Body))(t))
}

// catchUp waits until facts were extracted from the whole session. Parked jobs are given a new try.
func (h *harness) catchUp(t *testing.T, session string) {
	t.Helper()
	for range 3 {
		r := must(h.work().WaitForWatermark(h.ctx, &memoryv1.WaitForWatermarkRequest{
			UserId: "ada", SessionId: session, Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED}, Timeout: durationpb.New(time.Minute),
		}))(t)
		if r.GetReached() {
			return
		}
		if r.GetParkedJobId() != "" {
			must(h.work().RetryJob(h.ctx, &memoryv1.RetryJobRequest{UserId: "ada", JobId: r.GetParkedJobId()}))(t)
		}
	}
	t.Fatalf("nothing was extracted from %s: %v", session, h.jobs(t))
}

// mustCover checks that the summary of a context and its latest messages are the whole session, without hole or overlap.
func (h *harness) mustCover(t *testing.T, session string, messages int64) {
	t.Helper()
	r := must(h.BuildContext(h.ctx, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: session}))(t)
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
