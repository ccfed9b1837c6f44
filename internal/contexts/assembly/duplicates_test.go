package assembly

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
)

// spoken are recalled messages of those words by one speaker, on days one after another.
func spoken(texts ...string) []Recalled {
	var out []Recalled
	for i, text := range texts {
		out = append(out, recalled(1+i, "Ann", text))
	}
	return out
}

func TestNearDuplicates(t *testing.T) {
	const words = "I moved to Busan with my sister in the spring of last year"
	shown := func(t *testing.T, found ...Recalled) []int64 {
		t.Helper()
		in := input(t, RenderText)
		in.Recall = answer(found...)
		return seqs(section(assemble(t, in), SectionRecalled))
	}
	for name, other := range map[string]string{
		"punctuation":         "I moved to Busan -- with my sister -- in the spring of last year!!",
		"case":                strings.ToUpper(words),
		"width":               "Ｉ ｍｏｖｅｄ to Busan　with my sister in the spring of last ｙｅａｒ",
		"what cannot be seen": "I mo\u200bved to Bu\u00adsan with my sister in the spring of last year",
		"line ends":           strings.ReplaceAll(words, " ", "\n"),
		"a greeting":          "Hi there! " + words,
		"thanks":              words + ". Thank you!",
		"a word said twice":   "I I moved to Busan with my my sister in the spring of last year",
	} {
		t.Run("of messages that differ in "+name+" only the best stands", func(t *testing.T) {
			want(t, shown(t, spoken(words, other)...), []int64{1})
			want(t, shown(t, spoken(other, words)...), []int64{1})
		})
	}
	for name, other := range map[string]string{
		"a word":            "I moved to Seoul with my sister in the spring of last year",
		"their order":       "My sister moved to Busan with I in the spring of last year",
		"a number":          words + " 5",
		"several sentences": words + ". We found a small flat near the beach, and she found work",
	} {
		t.Run("messages that differ in "+name+" both stand", func(t *testing.T) {
			want(t, shown(t, spoken(words, other)...), []int64{1, 2})
		})
	}
	t.Run("scripts without blanks are compared by their characters", func(t *testing.T) {
		want(t, shown(t, spoken("去年の春、妹と釜山に引っ越した。", "去年の春 妹と釜山に引っ越した！", "去年の秋、妹と釜山に引っ越した。")...), []int64{1, 3})
		want(t, shown(t, spoken("작년 봄에 동생과 부산으로 이사했어요.", "작년 봄에, 동생과 부산으로 이사했어요!", "작년 봄에 동생과 서울로 이사했어요.")...), []int64{1, 3})
	})
	t.Run("the same words of two people are two things", func(t *testing.T) {
		found := spoken(words, words)
		found[1].Message.Name = "Bob"
		want(t, shown(t, found...), []int64{1, 2})
	})
	t.Run("signs are compared as they are", func(t *testing.T) {
		want(t, shown(t, spoken("👍", "👍", "👎")...), []int64{1, 3})
	})
	t.Run("what the tail says is not recalled", func(t *testing.T) {
		in := input(t, RenderText, memory.Message{Role: memory.RoleUser, Name: "Ann", Parts: []memory.Part{memory.TextPart(strings.ToUpper(words))}})
		in.Recall = answer(spoken(words, "We sold the car")...)
		want(t, seqs(section(assemble(t, in), SectionRecalled)), []int64{2})
	})
	t.Run("nor what a pending message says", func(t *testing.T) {
		in := input(t, RenderText)
		in.Pending = []memory.Message{{Role: memory.RoleUser, Name: "Ann", Parts: []memory.Part{memory.TextPart(words)}}}
		in.Recall = answer(spoken(words, "We sold the car")...)
		want(t, seqs(section(assemble(t, in), SectionRecalled)), []int64{2})
	})
	t.Run("the session's own message that is left out for that is listed so", func(t *testing.T) {
		in := input(t, RenderText, said(memory.RoleUser, words), said(memory.RoleUser, strings.Repeat("x", 20_000)), said(memory.RoleUser, words))
		in.Policy.RecentN = 1
		in.Recall = answer(Recalled{PlacedMessage: &memory.PlacedMessage{Place: memory.Place{Session: thisKey, Seq: 1}, SessionID: "now", Message: in.Tail[0]}})
		want(t, assemble(t, in).Omitted, []Omission{{"now", 1, 1, OmitRepeated}, {"now", 2, 2, OmitBudget}})
	})
	t.Run("facts with the same words stand once, those of this session first", func(t *testing.T) {
		in := input(t, RenderText)
		in.Policy.Facts.Share = .2
		in.Facts = []memory.Fact{fact("a", "Is vegan."), fact("b", "plays chess"), fact("c", "Plays chess!")}
		in.SessionFacts = []memory.Fact{fact("d", "is vegan")}
		r := assemble(t, in)
		want(t, len(section(r, SectionFacts).Items), 1)
		want(t, section(r, SectionFacts).Items[0].Fact.ID, "b")
		want(t, section(r, SectionSessionFacts).Items[0].Fact.ID, "d")
	})
}

// Whatever is found, no two lines that are duplicates are in one context.
func TestDuplicatesAreNeverInOneContext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := inputGen().Draw(t, "in")
		r, err := assembled(t.Context(), in)
		if err != nil {
			return
		}
		found, _ := in.Recall(0)
		var all []fingerprint
		for _, it := range section(r, SectionRecalled).Items {
			m := &found[it.Rank].Message
			text := m.PlainText()
			if it.Cut != nil {
				text = string([]rune(text)[it.Cut.Start:it.Cut.End])
			}
			g := fingerprintOf(m, text)
			if i := slices.IndexFunc(all, func(o fingerprint) bool { return o.isDuplicate(&g) }); i >= 0 {
				t.Fatalf("%q is beside its duplicate", text)
			}
			all = append(all, g)
		}
	})
}

func TestIsDuplicateIsSymmetricAndReflexive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := fingerprintOf(&memory.Message{}, textGen().Draw(t, "a")), fingerprintOf(&memory.Message{}, textGen().Draw(t, "b"))
		if a.isDuplicate(&b) != b.isDuplicate(&a) || !a.isDuplicate(&a) {
			t.Fatal("the order of two texts matters")
		}
	})
}

func BenchmarkDuplicates(b *testing.B) {
	var texts []string
	for i := range 400 {
		texts = append(texts, strings.Repeat(fmt.Sprintf("we talked about the lemon tree of our neighbour %d ", i%7), 1+i%4)+"and more")
	}
	for b.Loop() {
		var all fingerprints
		for _, s := range texts {
			g := fingerprintOf(&memory.Message{Name: "Ann"}, s)
			if !all.has(&g) {
				all = append(all, &g)
			}
		}
	}
}
