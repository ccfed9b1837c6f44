package assembly_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/contexts/assembly"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/testing/canceltest"
)

func TestAssemblyEndsWithItsContext(t *testing.T) {
	counter, err := tokens.ByName("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	in := func(asked *int) assembly.Input {
		in := assembly.Input{SessionID: "s", Available: 1 << 30, Counter: canceltest.Counter{Counter: counter, Asked: asked}, Render: assembly.RenderText}
		in.Policy.Sections.Recent, in.Policy.RecentN = true, 1000
		for i := range 1000 {
			in.LastSeq++
			in.Tail = append(in.Tail, memory.Message{
				ID: fmt.Sprint(i), Seq: in.LastSeq, Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart(strings.Repeat("words ", i%7+1) + fmt.Sprint(i))},
			})
		}
		return in
	}
	var whole, part int
	if _, err := assemble(t.Context(), in(&whole)); err != nil {
		t.Fatal(err)
	}
	for name, after := range map[string]int{"at once": 0, "while the tail is priced": 100} {
		t.Run(name, func(t *testing.T) {
			part = 0
			ctx := canceltest.Ending(t.Context(), after)
			out, err := assemble(ctx, in(&part))
			if !errors.Is(err, context.DeadlineExceeded) || out.Rendering != "" || len(out.Sections) > 0 {
				t.Errorf("%d sections and %v, want none and the context's error", len(out.Sections), err)
			}
			if ctx.Beyond() > 20 || part*4 > whole {
				t.Errorf("it went on for %d looks and counted %d of %d texts", ctx.Beyond(), part, whole)
			}
		})
	}
}

func assemble(ctx context.Context, in assembly.Input) (assembly.Result, error) {
	d, err := assembly.Begin(ctx, in)
	if err != nil {
		return assembly.Result{}, err
	}
	return d.Finish(ctx)
}
