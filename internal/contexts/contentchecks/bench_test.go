package contentchecks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// BenchmarkMessage checks one message that passes by a rule of each kind; the stop words are as many as may be.
func BenchmarkMessage(b *testing.B) {
	words := make(StopWords, MaxWords)
	for i := range words {
		words[i] = fmt.Sprintf("forbidden%d", i)
	}
	counter, err := tokens.ByName(tokens.O200K)
	if err != nil {
		b.Fatal(err)
	}
	rules := []Rule{
		{Name: "words", Test: words, Action: memory.CheckStrip},
		{Name: "pattern", Test: Patterns{`\b\d{4}-\d{4}-\d{4}-\d{4}\b`}, Action: memory.CheckStrip},
		{Name: "markup", Test: Markup{HTML, Markdown, Control}, Action: memory.CheckStrip},
		{Name: "length", Test: MaxLength{Characters: MaxLimit}, Action: memory.CheckStrip},
	}
	for _, size := range []int{2 << 10, 1 << 20} {
		m := said(memory.RoleAssistant, strings.Repeat("The ferry leaves the harbour at nine. 배는 아홉 시에 떠나요. ", size/70))
		for _, rule := range append(rules, Rule{Name: "all"}) {
			some := []Rule{rule}
			if rule.Test == nil {
				some = rules
			}
			s, err := Compile(some, counter)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%dKiB/%s", size>>10, rule.Name), func(b *testing.B) {
				b.SetBytes(int64(len(m.PlainText())))
				for b.Loop() {
					if r := one(b, s, m); r.Changed {
						b.Fatal("the message was changed")
					}
				}
			})
		}
	}
}
