package compaction_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// longTalk is a conversation of 1,000 messages with counts: turns of a question, three tool uses and an answer.
func longTalk(b *testing.B) compaction.History {
	b.Helper()
	var words []string
	for i := range 125 {
		words = append(words, "u", fmt.Sprintf("c:a%d", i), fmt.Sprintf("r:a%d", i), fmt.Sprintf("c:b%d,c%d", i, i), fmt.Sprintf("r:b%d", i), fmt.Sprintf("r:c%d", i), "a", "a")
	}
	h := compaction.History{Messages: talk(strings.Join(words, " ")), Counter: counterOf(b, tokens.O200K), Window: 128000}
	for _, m := range h.Messages {
		h.Tokens = append(h.Tokens, compaction.MessageTokens(m, h.Counter))
	}
	return h
}

// BenchmarkApply is a policy without a model on 1,000 messages whose counts are given, beside one pass over them that
// pairs nothing and copies them.
func BenchmarkApply(b *testing.B) {
	all := compaction.Policy{
		Hide:     compaction.Hide{StartSeq: 100},
		Clear:    compaction.Clear{Enabled: true, Triggers: []toolcalls.Trigger{{Tokens: 1000}}, Keep: 3},
		Compress: compaction.Compress{Triggers: []toolcalls.Trigger{{Messages: 100}}, Keep: toolcalls.Keep{Messages: 400}, Strategy: compaction.Custom("own"), Filter: compaction.Filter{Contains: []string{"u8", "u16"}}},
		Trim:     compaction.Trim{Messages: 200, Tokens: 10000},
	}
	for _, c := range []struct {
		name   string
		policy compaction.Policy
	}{
		{"copy", compaction.Policy{}},
		{"clear", compaction.Policy{Clear: all.Clear}},
		{"compress", compaction.Policy{Compress: all.Compress}},
		{"trim", compaction.Policy{Trim: all.Trim}},
		{"all", all},
	} {
		b.Run(c.name, func(b *testing.B) {
			h := longTalk(b)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := apply(h, c.policy, scripted); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("all without ids", func(b *testing.B) {
		h := longTalk(b)
		for i := range h.Messages {
			h.Messages[i].ID = ""
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := apply(h, all, scripted); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkCold trims a conversation that nobody has counted yet. Its words come again and again, which the counters
// remember: most conversations take longer.
func BenchmarkCold(b *testing.B) {
	for _, name := range []string{tokens.O200K, tokens.Estimate} {
		b.Run(name, func(b *testing.B) {
			h := longTalk(b)
			h.Tokens, h.Counter = nil, counterOf(b, name)
			bytes := 0
			for i := range h.Messages {
				h.Messages[i].Tokens = memory.TokenCounts{}
				if h.Messages[i].Parts[0].Kind == memory.PartText {
					h.Messages[i].Parts = []memory.Part{memory.TextPart(strings.Repeat(fmt.Sprintf("Order K-%d goes to Rome. ", i), 30))}
				}
				bytes += h.Messages[i].ContentBytes()
			}
			for b.Loop() {
				if _, err := apply(h, compaction.Policy{Trim: compaction.Trim{Tokens: 20000}}, scripted); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(bytes)/1000, "KB")
		})
	}
}
