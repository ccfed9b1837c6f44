package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/compactmodel"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/contexts/history"
	"github.com/stratamem/strata/internal/learning/llm/builtin"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
	"github.com/stratamem/strata/internal/testing/conversations"
)

// compactor is a service that can compact and nothing else, by a policy that asks no model.
func compactor(p compaction.Policy) *history.Histories {
	return history.NewHistories(contextprofile.Set{
		Default: "default", Profiles: map[string]contextprofile.Profile{"default": {Counter: "o200k_base", History: p, StepLimit: 25}},
		Window: func(string) (contextprofile.Window, bool) { return contextprofile.Window{}, false },
	}, compactmodel.New(compactmodel.Options{Extractive: builtin.Summarizer{}}), unmetered{})
}

// unmetered counts nothing.
type unmetered struct{}

func (unmetered) HistoryShrunk(string, compaction.Result) {}
func (unmetered) Degraded(string)                         {}
func (unmetered) ForeignHits(string, int)                 {}
func (unmetered) StaleHits(string, int)                   {}
func (unmetered) WordsChecked(string, memory.CheckAction) {}

// clearAndTrim clears old tool results and leaves out what is too much.
func clearAndTrim() compaction.Policy {
	return compaction.Policy{
		Clear: compaction.Clear{Enabled: true, Triggers: []toolcalls.Trigger{{Tokens: 1000}}, Keep: 3},
		Trim:  compaction.Trim{Tokens: 20_000}, KeepTags: []string{"constraint"},
	}
}

// toolHistory is n messages, every fourth of which is a tool's result of some 400 bytes among words of some 80.
func toolHistory(seed uint64, n int) []memory.Message {
	all := make([]memory.Message, n)
	for i := range all {
		words := conversations.Text(seed+uint64(i), 80)
		call := fmt.Sprintf("call-%d", i/4)
		switch i % 4 {
		case 0:
			all[i] = memory.Message{Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart(words)}}
		case 1:
			all[i] = memory.Message{Role: memory.RoleAssistant, Parts: []memory.Part{{Kind: memory.PartToolCall, CallID: call, Name: "look", Arguments: `{"deep":true}`}}}
		case 2:
			result := memory.TextPart(conversations.Text(seed+uint64(i), 1360))
			all[i] = memory.Message{Role: memory.RoleTool, Parts: []memory.Part{{Kind: memory.PartToolResult, CallID: call, Parts: []memory.Part{result}}}}
		default:
			all[i] = memory.Message{Role: memory.RoleAssistant, Parts: []memory.Part{memory.TextPart(words)}}
		}
		all[i].ID, all[i].Origin = fmt.Sprintf("m-%d", i), memory.DefaultOrigin(all[i].Role)
	}
	return all
}

// BenchmarkCompact is a history of 1,000 messages, 400 KB, whose counts are given, through the service. The baseline is
// one digest of each message, which Record makes of whatever it stores.
func BenchmarkCompact(b *testing.B) {
	s, all := compactor(clearAndTrim()), toolHistory(1, 1000)
	counted, err := s.CountTokens(b.Context(), history.CountParams{Messages: all})
	if err != nil {
		b.Fatal(err)
	}
	var ours time.Duration
	b.Run("given", func(b *testing.B) {
		for b.Loop() {
			r, err := s.Compact(b.Context(), history.CompactParams{Messages: all, Tokens: counted.Messages})
			if err != nil || !r.Changed {
				b.Fatal(r.Changed, err)
			}
		}
		ours = b.Elapsed() / time.Duration(b.N)
	})
	b.Run("baseline", func(b *testing.B) {
		for b.Loop() {
			for _, m := range all {
				if _, err := memory.BodyDigest(m); err != nil {
					b.Fatal(err)
				}
			}
		}
		if base := b.Elapsed() / time.Duration(b.N); base > 0 && ours > 0 {
			b.ReportMetric(float64(ours)/float64(base), "compact/baseline")
		}
	})
}

// BenchmarkCompactCold is the same without counts: each call has texts that were never counted before.
func BenchmarkCompactCold(b *testing.B) {
	s := compactor(clearAndTrim())
	for i := range b.N {
		b.StopTimer()
		all := toolHistory(uint64(i+2)<<32, 1000)
		b.StartTimer()
		if _, err := s.Compact(b.Context(), history.CompactParams{Messages: all}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompactWhole makes two mebibytes into one built-in summary: short sentences, each with a number, and such that
// are full of names, dates and decisions.
func BenchmarkCompactWhole(b *testing.B) {
	s := compactor(compaction.Policy{Compress: compaction.Compress{
		Keep: toolcalls.Keep{Messages: 1}, Strategy: compaction.StrategyWhole,
		Writing: compaction.Writing{Fallback: compaction.FallbackExtract},
	}})
	const most = 2 << 20
	for name, sentence := range map[string]string{
		"short": "On day %d she said: yes. ", "dense": "On 3 May 2026 at 10:30 Anna decided to send order A-%d to Mr. Smith in Busan. ",
	} {
		for _, n := range []int{1000, 2} {
			all := make([]memory.Message, n+1)
			for i := range all {
				said := fmt.Sprintf(sentence, i)
				role := []memory.Role{memory.RoleUser, memory.RoleAssistant}[i%2]
				words := strings.Repeat(said, max(most/n/len(said), 1))
				all[i] = memory.Message{ID: fmt.Sprint(i), Role: role, Origin: memory.DefaultOrigin(role), Parts: []memory.Part{memory.TextPart(words)}}
			}
			b.Run(fmt.Sprintf("%s in %d messages", name, n), func(b *testing.B) {
				b.SetBytes(most)
				for b.Loop() {
					r, err := s.Compact(b.Context(), history.CompactParams{Messages: all})
					if err != nil || len(r.Written) != 1 {
						b.Fatal(len(r.Written), err)
					}
				}
			})
		}
	}
}
