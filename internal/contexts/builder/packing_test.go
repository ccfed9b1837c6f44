package builder_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stratamem/strata/internal/contexts/assembly"
	"github.com/stratamem/strata/internal/contexts/builder"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/sessions"
)

func TestAContextIsFilledAlthoughTheBestHitsSayTheSame(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	said := func(words string) memory.Message {
		return memory.Message{Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart(words)}, CreateTime: r.now}
	}
	var messages []memory.Message
	for i := range 100 {
		messages = append(messages,
			said([]string{"Lemon trees, lemon trees!", "LEMON TREES lemon trees"}[i%2]),
			said(fmt.Sprintf("The lemon tree in garden number %d of our street was cut back before the winter came.", i)))
	}
	s := r.service(wiring{})
	_, err := s.Record(t.Context(), sessions.RecordParams{Ref: ada.Session("then"), Messages: messages})
	r.must(err)
	budget, most := int64(1000), 100
	out, err := s.BuildContext(t.Context(), builder.ContextParams{
		Ref: ada.Session("now"), Query: "lemon trees", AsOf: r.now, MaxBytes: 1 << 20, Explain: true, Render: assembly.RenderText,
		Policy: contextprofile.Call{Overrides: contextprofile.Overrides{}.With("budget-tokens", budget).With("top-k", most)},
	})
	r.must(err)
	if out.Tokens < budget*95/100 || out.Tokens > budget {
		t.Errorf("%d tokens of %d are taken", out.Tokens, budget)
	}
	same := 0
	for _, section := range out.Sections {
		for _, it := range section.Items {
			if section.Kind == assembly.SectionRecalled && it.Seq%2 == 1 {
				same++
			}
		}
	}
	if same != 1 {
		t.Errorf("what is said again and again stands %d times", same)
	}
	if len(out.Ranks) != len(out.Recalled) || !slices.IsSorted(out.Ranks) || len(slices.Compact(slices.Clone(out.Ranks))) != len(out.Ranks) {
		t.Errorf("%d messages were read, of the ranks %v", len(out.Recalled), out.Ranks)
	}
}
