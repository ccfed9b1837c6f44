package builder_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stratamem/strata/internal/contexts/assembly"
	"github.com/stratamem/strata/internal/contexts/builder"
	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/compactmodel"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/learning/llm/builtin"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
	"github.com/stratamem/strata/internal/sessions"
)

// chatModel counts how often it is asked.
type chatModel struct{ asked int }

func (m *chatModel) Summarize(context.Context, summary.Task) (llm.Answer, error) {
	m.asked++
	return llm.Answer{Text: "They talked.", Model: "chat"}, nil
}

func (m *chatModel) Write(context.Context, string, int64) (llm.Answer, error) {
	m.asked++
	return llm.Answer{Text: "They talked.", Model: "chat"}, nil
}

// TestContextsAskNoModel: a context policy that summarises has the built-in summariser write, whatever models there are.
func TestContextsAskNoModel(t *testing.T) {
	t.Parallel()
	model := &chatModel{}
	for name, o := range map[string]compactmodel.Options{
		"the server's model":   {ByName: map[string]compactmodel.Model{"": model, "chat": model}},
		"a tenant's own model": {Own: func(context.Context) (compactmodel.Model, bool) { return model, true }},
	} {
		t.Run(name, func(t *testing.T) {
			o.Extractive = builtin.Summarizer{}
			r := newRig(t)
			var said []memory.Message
			for i := range 12 {
				walk := fmt.Sprintf("On day %d I walked to Rosenborg and counted %d trees.", i+1, 40+i)
				said = append(said,
					memory.Message{Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart(walk)}, CreateTime: r.now},
					memory.Message{Role: memory.RoleAssistant, Parts: []memory.Part{memory.TextPart("Good to know.")}, CreateTime: r.now},
				)
			}
			_, err := r.service(wiring{}).Record(t.Context(), sessions.RecordParams{Ref: ada.Session("long"), Messages: said})
			r.must(err)
			policy := compaction.Policy{Compress: compaction.Compress{Strategy: compaction.StrategyWhole, Keep: toolcalls.Keep{Messages: 2}}}
			s := r.service(wiring{models: compactmodel.New(o), history: policy})
			got, err := s.BuildContext(t.Context(), builder.ContextParams{
				Ref: ada.Session("long"), AsOf: r.now, Render: assembly.RenderOpenAI, MaxBytes: 1 << 20,
			})
			r.must(err)
			if model.asked > 0 {
				t.Errorf("the model is asked %d times", model.asked)
			}
			at := slices.IndexFunc(got.Sections, func(s assembly.Section) bool { return s.Kind == assembly.SectionSummary })
			if at < 0 || len(got.Sections[at].Items) != 1 || got.Sections[at].Items[0].Summary.Model != builtin.ExtractiveModel {
				t.Errorf("the summary is not the built-in one's: %+v", got.Sections)
			}
		})
	}
}
