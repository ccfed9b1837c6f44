package contexts_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// remember records a conversation of testdata, whose sessions are set apart by empty lines, a day for each.
func remember(t *testing.T, h *e2e.Server, file string) {
	t.Helper()
	text, err := os.ReadFile("testdata/fill/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for day, session := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		var messages []*memoryv1.Message
		for i, line := range strings.Split(session, "\n") {
			who, words, _ := strings.Cut(line, ": ")
			m := e2e.User(fmt.Sprint("m", i), words)
			if who == "assistant" {
				m = e2e.Assistant(fmt.Sprint("m", i), words)
			}
			messages = append(messages, e2e.At(m, day))
		}
		h.RecordTurn(t, fmt.Sprint("day ", day), messages...)
	}
}

// memoryTokens are the tokens of facts and recalled lines.
func memoryTokens(r *memoryv1.BuildContextResponse) (n int64) {
	for _, s := range r.GetSections() {
		switch s.GetKind() {
		case memoryv1.SectionKind_SECTION_KIND_FACTS, memoryv1.SectionKind_SECTION_KIND_SESSION_FACTS, e2e.Recalled:
			n += s.GetTokens()
		}
	}
	return n
}

func TestAContextShowsWhatIsKnownThoughTheQueryHasNothingOfIt(t *testing.T) {
	t.Parallel()
	ask := func(h *e2e.Server, t *testing.T, query string, o *memoryv1.ContextOverrides) *memoryv1.BuildContextResponse {
		t.Helper()
		return h.Context(t, &memoryv1.BuildContextRequest{SessionId: "new", Query: query, Render: memoryv1.Render_RENDER_TEXT, Overrides: o})
	}
	t.Run("one recorded line", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordTurn(t, "monday", e2e.User("m1", "I am allergic to nuts"))
		for _, query := range []string{"dinner?", ""} {
			if r := ask(h, t, query, nil); !strings.Contains(r.GetRendering(), "allergic to nuts") {
				t.Errorf("%q:\n%s", query, r.GetRendering())
			}
		}
	})
	const floor = 2000 // of the default profile: the least of 1,000, 2,000 and 3,000 at which all of these show their answers
	for _, c := range []struct{ file, query, answer string }{
		{"korean.txt", "저녁 뭐 먹을까?", "새우 알레르기"},
		{"korean.txt", "파스타 맛집 추천해줘", "새우 알레르기"},
		{"korean.txt", "생일 선물로 뭐가 좋을까?", "추리물"},
		{"spanish.txt", "¿qué cenamos esta noche?", "mariscos"},
		{"spanish.txt", "recomiéndame algo para leer", "policíacas"},
	} {
		t.Run("a memory of seven thousand tokens: "+c.query, func(t *testing.T) {
			t.Parallel()
			h := e2e.Start(t)
			remember(t, h, c.file)
			h.Indexed(t, &memoryv1.BuildContextRequest{SessionId: "new", Query: c.query, Explain: true})
			r := ask(h, t, c.query, nil)
			none := int64(0) // asked second, since facts that are learnt meanwhile only add to what is found
			found := memoryTokens(ask(h, t, c.query, &memoryv1.ContextOverrides{RecallFloor: &none}))
			if !strings.Contains(r.GetRendering(), c.answer) {
				t.Errorf("the answer is missing:\n%s", r.GetRendering())
			}
			if n := memoryTokens(r); n > max(found, floor) || n < floor*9/10 {
				t.Errorf("%d tokens of memory, %d of them found", n, found)
			}
		})
	}
	t.Run("the reply says what is fill, and a small budget is never passed", func(t *testing.T) {
		h := e2e.Start(t)
		remember(t, h, "korean.txt")
		kinds := map[memoryv1.Selection]int{}
		for _, it := range e2e.Section(ask(h, t, "파스타", nil), e2e.Recalled).GetItems() {
			kinds[it.GetSelection()]++
		}
		if kinds[memoryv1.Selection_SELECTION_FILL_STATED] == 0 || kinds[memoryv1.Selection_SELECTION_UNSPECIFIED] != 0 {
			t.Errorf("got %v", kinds)
		}
		for _, budget := range []int64{60, 100, 300} {
			if r := ask(h, t, "파스타", &memoryv1.ContextOverrides{BudgetTokens: &budget}); r.GetUsage().GetTokens() > budget {
				t.Errorf("%d tokens of %d", r.GetUsage().GetTokens(), budget)
			}
		}
	})
}
