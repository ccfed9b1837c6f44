package facts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// believe is a model that takes whatever a user says for a fact of the highest significance.
func believe(r llmtest.Request) llmtest.Reply {
	if r.Operation != llm.OpExtract {
		return llmtest.Say("The user talked about various things.")
	}
	var ops []extract.Op
	for text, alias := range e2e.Read(r).Lines {
		ops = append(ops, extract.Op{
			Op: "add", Text: text, Category: "preference", Significance: 10, Confidence: 1, Message: alias, Quote: text,
		})
	}
	return e2e.Say(ops)
}

// hostileStatements are the texts of a file of package extract, of some families; all without any.
func hostileStatements(t *testing.T, name string, families ...string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "learning", "extract", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(raw)) {
		if f := strings.Split(strings.TrimSpace(line), "\t"); len(families) == 0 || slices.Contains(families, f[1]) {
			out = append(out, f[2])
		}
	}
	return out
}

// shownFacts are the facts in a context of a new session.
func shownFacts(t *testing.T, h *e2e.Server, query string) []string {
	t.Helper()
	var out []string
	for _, section := range e2e.Must(h.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "new", Query: query}))(t).GetSections() {
		for _, item := range section.GetItems() {
			if item.GetFact() != nil {
				out = append(out, item.GetFact().GetText())
			}
		}
	}
	return out
}

func TestHostileStatementsReachNoContextAsFacts(t *testing.T) {
	t.Parallel()
	h := e2e.OnModel(t, &e2e.Moody{Day: func(a e2e.Asked) llmtest.Reply { return believe(a.Request) }}, e2e.NoChange)
	hostile := hostileStatements(t, "hostile.tsv")
	for i, text := range hostile {
		session := fmt.Sprint("s", i/10)
		h.RecordTurn(t, session, e2e.User("", text))
		if i%10 == 9 {
			h.CatchUp(t, session)
		}
	}
	if learnt := e2e.Texts(h.ListFacts(t, true)); len(hostile) < 200 || len(learnt)*100 > len(hostile) {
		t.Errorf("%d of %d are learnt, want at most 1 %% of 200: %q", len(learnt), len(hostile), learnt)
	}
	if refused := quarantinedReasons(t, h); len(refused)+len(h.ListFacts(t, true)) != len(hostile) {
		t.Errorf("%d are in quarantine: the model was to propose all %d", len(refused), len(hostile))
	}
	for _, query := range append([]string{"What shall I cook tonight?", "오늘 뭐 먹을까?", "今日は何をしよう？", "今天做什么？", "¿Qué hago hoy?"}, hostile...) {
		for _, fact := range shownFacts(t, h, query) {
			t.Errorf("asked %q, the context has %q", query, fact)
		}
	}
}

func TestTheCoreIsNotTheModelsToGive(t *testing.T) {
	t.Parallel()
	h := e2e.OnModel(t, &e2e.Moody{Day: func(a e2e.Asked) llmtest.Reply { return believe(a.Request) }}, e2e.NoChange)
	wishes := hostileStatements(t, "honest.tsv", "wish")[:5]
	for _, text := range append([]string{"Is allergic to peanuts", "Collects stamps from Peru"}, wishes...) {
		h.RecordTurn(t, "s", e2e.User("", text))
	}
	h.CatchUp(t, "s")
	var shown []string
	for _, item := range e2e.Section(h.Context(t, &memoryv1.BuildContextRequest{SessionId: "other", Query: "zzz"}), memoryv1.SectionKind_SECTION_KIND_FACTS).GetItems() {
		if item.GetSelection() == memoryv1.Selection_SELECTION_CORE {
			shown = append(shown, item.GetFact().GetText())
		}
	}
	if !slices.Contains(shown, "Is allergic to peanuts") || slices.Contains(shown, "Collects stamps from Peru") {
		t.Errorf("without being asked for, the context has %q", shown)
	}
	of := func(text string) bool { return slices.Contains(wishes, text) }
	if n := len(slices.DeleteFunc(slices.Clone(shown), func(text string) bool { return !of(text) })); n != 3 {
		t.Errorf("%d wishes are shown, want 3: %q", n, shown)
	}
}
