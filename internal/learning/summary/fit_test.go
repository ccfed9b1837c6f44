package summary

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
)

func runes(s string) int64 { return int64(utf8.RuneCountInString(s)) }

func TestFit(t *testing.T) {
	const whole = "They talked about the weather. Mina decided to move to Busan.\n- The rent is 900 euros.\nThey laughed a lot."
	t.Run("what fits stays as it is", func(t *testing.T) {
		if got, shortened := Fit(whole, runes(whole), runes); got != whole || shortened {
			t.Errorf("got %q, %v", got, shortened)
		}
	})
	t.Run("sentences without anchors go first, of them the earliest", func(t *testing.T) {
		got, shortened := Fit(whole, runes(whole)-10, runes)
		if want := "Mina decided to move to Busan.\n- The rent is 900 euros.\nThey laughed a lot."; got != want || !shortened {
			t.Errorf("got %q, %v", got, shortened)
		}
		if got, _ := Fit(whole, 60, runes); got != "Mina decided to move to Busan.\n- The rent is 900 euros." {
			t.Errorf("got %q", got)
		}
	})
	t.Run("no sentence is cut: without room for one, nothing is left", func(t *testing.T) {
		if got, shortened := Fit(whole, 5, runes); got != "" || !shortened {
			t.Errorf("got %q, %v", got, shortened)
		}
	})
	t.Run("a repetition goes before anything else", func(t *testing.T) {
		twice := "The rent is 900 euros. They laughed a lot. The rent is 900 euros."
		if got, _ := Fit(twice, 50, runes); got != "They laughed a lot. The rent is 900 euros." {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a text taken apart once fits every room as one that is not", func(t *testing.T) {
		apart := TakeApart(whole, runes)
		for room := range runes(whole) + 1 {
			want, wantShortened := Fit(whole, room, runes)
			if got, shortened := apart.Fit(room, runes); got != want || shortened != wantShortened {
				t.Errorf("room %d: got %q, want %q", room, got, want)
			}
		}
	})
	t.Run("it never exceeds its room and is made of whole sentences, whatever the text", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			whole := drawText(t)
			room := rapid.Int64Range(0, 200).Draw(t, "room")
			got, shortened := Fit(whole, room, runes)
			if shortened && runes(got) > room || !shortened && got != whole {
				t.Fatalf("%d of %d: %q", runes(got), room, got)
			}
			if !madeOf(got, text.Sentences(whole)) {
				t.Fatalf("%q is not made of whole sentences of %q", got, whole)
			}
		})
	})
}

// madeOf reports whether a text is some of the sentences in their order, whatever the white space. The text's own
// sentences would not tell: without a stray "?" between them, two may read as one.
func madeOf(s string, sentences []string) bool {
	s = unspaced(s)
	ends := map[int]bool{0: true} // where the sentences seen so far may end in s
	for _, sentence := range sentences {
		sentence = unspaced(sentence)
		for _, end := range slices.Collect(maps.Keys(ends)) {
			if strings.HasPrefix(s[end:], sentence) {
				ends[end+len(sentence)] = true
			}
		}
	}
	return ends[len(s)]
}

func unspaced(s string) string { return strings.Join(strings.Fields(s), "") }

// drawText makes texts of words, numbers, breaks and odd characters.
func drawText(t *rapid.T) string {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			"Mina", "decided", "to", "1,200", "3.5", "May", "2027", "the", "Dr.", "e.g.", "A-12", "결정했다", "세 명", "김민지가", "\n", "\n\n",
			". ", "? ", "。", "…", "- ", "10:30", "#", "“", "yesterday", "twenty-five", "2만", "3천", "\u2028", "\x00", "\xff",
		}),
		rapid.StringN(0, 6, 12),
	)
	return strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "pieces"), rapid.SampledFrom([]string{" ", ""}).Draw(t, "between"))
}

func TestAnyTextIsReadWithoutFault(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source, answer := drawText(t), drawText(t)
		for _, a := range Anchors(source) {
			if a.Start < 0 || a.End > len(source) || source[a.Start:a.End] != a.Text {
				t.Fatalf("%+v does not stand in %q", a, source)
			}
		}
		task := Task{Lines: []SourceText{{Speaker: "Mina", Role: memory.RoleUser, Time: noon, Text: source}}, Previous: answer, MaxTokens: 100}
		checked, reason := Check(task, Answer{Text: answer})
		if reason == "" && strings.TrimSpace(checked.Text) == "" {
			t.Fatalf("nothing stands: %q", answer)
		}
	})
}

func TestAnchors(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       map[string]AnchorKind
	}{
		{
			"names, amounts, dates and identifiers are found by their form", "Yesterday Mina paid $1,200.50 to Ilse Brandt for db-07 on 4 March 2027.",
			map[string]AnchorKind{"Mina": AnchorName, "1,200.50": AnchorNumber, "Ilse": AnchorName, "Brandt": AnchorName, "db-07": AnchorIdentifier, "4 March 2027": AnchorDate},
		},
		{"so are decisions", "We decided to leave.", map[string]AnchorKind{"We decided to leave.": AnchorDecision}},
		{
			"and their like in Korean", "김민지가 3월 4일까지 2만 5천 원을 내기로 했다.",
			map[string]AnchorKind{"김민지가": AnchorName, "3월 4일": AnchorDate, "2만 5": AnchorNumber, "김민지가 3월 4일까지 2만 5천 원을 내기로 했다.": AnchorDecision},
		},
		{"small talk has none", "Hey there! How was your day? Mine was good.", map[string]AnchorKind{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := map[string]AnchorKind{}
			for _, a := range Anchors(c.text) {
				got[a.Text] = a.Kind
			}
			for text, kind := range c.want {
				if got[text] != kind {
					t.Errorf("%q is %q, want %q (%v)", text, got[text], kind, got)
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("got %v", got)
			}
		})
	}
}
