package extract

import (
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

func TestFactsInTheLanguageOfTheProfile(t *testing.T) {
	task := func(write string) Task {
		return NewTask(Input{Session: "s", SessionID: "s", Language: "en", Write: write, Messages: []memory.Message{{
			ID: "a", Seq: 1, Role: memory.RoleUser, Origin: memory.OriginUser, Parts: []memory.Part{memory.TextPart("I moved to Lisbon with my 2 dogs.")},
			CreateTime: time.Date(2026, 5, 6, 9, 0, 0, 0, time.UTC),
		}}})
	}
	verify := func(write, text string) ([]Proposal, []Rejection) {
		return Verify(task(write), []Op{{
			Op: "add", Text: text, Category: "personal_info", Significance: 8, Confidence: .9, Message: "m1", Quote: "I moved to Lisbon with my 2 dogs.",
		}})
	}
	t.Run("the prompt asks for it, or for that of the message", func(t *testing.T) {
		for write, want := range map[string]string{"": "In the language of the message it comes from.", "de": "In the language with the BCP 47 tag de,"} {
			if system, _ := Prompt(task(write)); !strings.Contains(system, want) {
				t.Errorf("the prompt for %q does not say %q", write, want)
			}
		}
	})
	t.Run("a fact in it stands, in any script, and says which it is", func(t *testing.T) {
		for write, text := range map[string]string{"de": "Ist mit 2 Hunden nach Lissabon gezogen.", "ko": "개 2마리와 리스본으로 이사했다."} {
			proposals, rejected := verify(write, text)
			if len(proposals) != 1 || proposals[0].Fact.Language != write || proposals[0].Fact.Evidence[0].Quote != "I moved to Lisbon with my 2 dogs." {
				t.Errorf("%s: %+v, refused %+v", write, proposals, rejected)
			}
		}
	})
	t.Run("a number that nobody said is refused in it too", func(t *testing.T) {
		if _, rejected := verify("de", "Ist mit 450 Hunden nach Lissabon gezogen."); len(rejected) != 1 || rejected[0].Reason != RejectUnsupported {
			t.Errorf("refused %+v", rejected)
		}
	})
	t.Run("where none is asked for, another one is refused", func(t *testing.T) {
		if _, rejected := verify("", "개 2마리와 리스본으로 이사했다."); len(rejected) != 1 || rejected[0].Reason != RejectLanguage {
			t.Errorf("refused %+v", rejected)
		}
	})
	t.Run("each prompt has an id of its own", func(t *testing.T) {
		ids := map[string]bool{PromptID("", ""): true, PromptID("x", ""): true, PromptID("", "de"): true, PromptID("x", "de"): true}
		if again := PromptID("x", "de"); len(ids) != 4 || !ids[again] {
			t.Errorf("ids %v", ids)
		}
	})
}
