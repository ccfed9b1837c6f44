package toolcalls

import (
	"slices"
	"testing"

	"github.com/stratamem/strata/internal/memory"
)

// talk is a conversation with a message for each word: "u" and "a" are words of the user and the assistant, "+x+y" calls x and y, and
// "-x" is the result of x.
func talk(words ...string) []memory.Message {
	out := make([]memory.Message, len(words))
	for i, w := range words {
		m := memory.Message{Seq: int64(i + 1), Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart("hello")}}
		switch w[0] {
		case 'a':
			m.Role = memory.RoleAssistant
		case '+':
			m.Role, m.Parts = memory.RoleAssistant, nil
			for _, id := range w {
				if id != '+' {
					m.Parts = append(m.Parts, memory.Part{Kind: memory.PartToolCall, CallID: string(id)})
				}
			}
		case '-':
			m.Role, m.Parts = memory.RoleTool, nil
			for _, id := range w {
				if id != '-' {
					m.Parts = append(m.Parts, memory.Part{Kind: memory.PartToolResult, CallID: string(id)})
				}
			}
		}
		out[i] = m
	}
	return out
}

func TestChoosingWholePairs(t *testing.T) {
	for _, c := range []struct {
		promise      string
		talk         []string
		chosen, want []int
	}{
		{"words go alone", []string{"u", "a", "u"}, []int{1}, []int{1}},
		{"a call takes its result along", []string{"u", "+x", "-x", "a"}, []int{1}, []int{1, 2}},
		{"a result takes its call along", []string{"u", "+x", "-x", "a"}, []int{2}, []int{1, 2}},
		{"one of several results takes all of them along", []string{"u", "+x+y", "-x", "-y", "a"}, []int{3}, []int{1, 2, 3}},
		{"a result that comes before its call goes with it", []string{"-x", "+x", "a"}, []int{1}, []int{0, 1}},
		{"a result of two calls in two messages ties both", []string{"+x", "+y", "-x-y", "a"}, []int{0}, []int{0, 1, 2}},
		{"a call without a result goes alone", []string{"+x", "a"}, []int{0}, []int{0}},
		{"other pairs stay", []string{"+x", "-x", "+y", "-y"}, []int{0}, []int{0, 1}},
		{"nothing chosen is nothing", []string{"+x", "-x"}, nil, nil},
	} {
		t.Run(c.promise, func(t *testing.T) {
			messages := talk(c.talk...)
			chosen := make([]bool, len(messages))
			for _, i := range c.chosen {
				chosen[i] = true
			}
			pairing := Pair(len(messages), func(i int) *memory.Message { return &messages[i] }, nil)
			var got []int
			for i, is := range pairing.WithPairs(chosen) {
				if is {
					got = append(got, i)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("chose %v, want %v", got, c.want)
			}
		})
	}
}
