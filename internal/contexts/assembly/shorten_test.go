package assembly

import (
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
)

func TestWhatIsLeftGoesToSentences(t *testing.T) {
	const story = "We drove to the coast in the old van. The lemon tree by the harbour was in full bloom. " +
		"After that we had lunch with the neighbours. Nobody wanted to leave before it was dark."
	with := func(available int64, found ...Recalled) reading {
		in := input(t, RenderStructured)
		in.Available, in.Recall, in.Terms = available, answer(found...), text.Terms("when did the lemon tree bloom?")
		return in
	}
	shown := func(in reading) []string {
		var out []string
		for _, it := range section(assemble(t, in), SectionRecalled).Items {
			out = append(out, it.Text)
		}
		return out
	}
	t.Run("a message that does not fit is cut to the sentence with the query's words and as many around it as fit", func(t *testing.T) {
		want(t, shown(with(74, recalled(1, "Ann", story))), []string{"The lemon tree by the harbour was in full bloom."})
		want(t, shown(with(81, recalled(1, "Ann", story))), []string{"The lemon tree by the harbour was in full bloom. After that we had lunch with the neighbours."})
	})
	t.Run("the item says which part it is, and the line marks its ends", func(t *testing.T) {
		in := with(74, recalled(1, "Ann", story))
		want(t, *section(assemble(t, in), SectionRecalled).Items[0].Cut, Span{38, 86})
		in.Render, in.Available = RenderText, 85
		if r := assemble(t, in); !strings.Contains(r.Rendering, "Ann: …The lemon tree by the harbour was in full bloom.…\n") {
			t.Errorf("got %s", r.Rendering)
		}
	})
	t.Run("a passage is cut within itself", func(t *testing.T) {
		r := recalled(1, "Ann", "Before it. "+story+" Behind it.")
		r.Span = Span{11, 11 + len(story)}
		want(t, *section(assemble(t, with(74, r)), SectionRecalled).Items[0].Cut, Span{49, 97})
	})
	t.Run("it stands beside those that fit whole, in the order of time", func(t *testing.T) {
		in := with(77, recalled(2, "Ann", story), recalled(1, "Bob", "Yes."))
		want(t, shown(in), []string{"Yes.", "The lemon tree by the harbour was in full bloom."})
	})
	t.Run("without a query its beginning stands", func(t *testing.T) {
		in := with(74, recalled(1, "Ann", story))
		in.Terms = nil
		want(t, shown(in), []string{"We drove to the coast in the old van."})
	})
	t.Run("a message without sentences that fit leaves its place to the next", func(t *testing.T) {
		in := with(74, recalled(2, "Ann", strings.Repeat("and then ", 60)), recalled(1, "Ann", story))
		want(t, shown(in), []string{"The lemon tree by the harbour was in full bloom."})
	})
	t.Run("no more messages stand there than are asked for", func(t *testing.T) {
		in := with(109, recalled(1, "Bob", "Yes."), recalled(2, "Ann", story))
		in.Policy.TopK = 1
		want(t, shown(in), []string{"Yes."})
	})
	t.Run("what says the same as another is not cut in either", func(t *testing.T) {
		in := with(74, recalled(1, "Ann", story))
		in.Available = 119
		in.Tail, in.LastSeq = []memory.Message{stored(memory.Message{Role: memory.RoleUser, Name: "Ann", Parts: []memory.Part{memory.TextPart("The lemon tree by the harbour was in full bloom!")}}, 1)}, 1
		for _, s := range shown(in) {
			if s == "The lemon tree by the harbour was in full bloom." {
				t.Errorf("%q stands beside its twin", s)
			}
		}
	})
}
