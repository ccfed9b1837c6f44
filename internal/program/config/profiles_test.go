package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

func TestAHistoryIsReadFromTheFile(t *testing.T) {
	file := `
profiles:
  mine:
    step-limit: 7
    history:
      trigger: [messages 50, messages 10 and tokens 8000]
      keep: tokens 3000
      strategy: facts
      keep-tags: [name, "a tag"]
      concepts:
        budget: {description: what it may cost, single: true}
      clear-tool-uses: {enabled: true, trigger: tokens 900, exclude-tools: search}
  other:
    history:
      concepts:
        when: {description: when it is due}
strategies:
  important: {contains: [important, urgent], prompt: Say what is important.}
`
	l := load(t, Sources{File: "s.yaml", ReadFile: fileOf(file)})
	h := l.Profiles["mine"].History
	want := compaction.Policy{
		Compress: compaction.Compress{
			Triggers: []toolcalls.Trigger{{Messages: 50}, {Tokens: 8000, Messages: 10}}, Keep: toolcalls.Keep{Tokens: 3000}, Strategy: compaction.StrategyFacts,
			LastN: 20, ChunkMessages: 50, Concepts: []compaction.Concept{{Keyword: "budget", Description: "what it may cost", Single: true}},
			Writing: compaction.Writing{MaxTokens: 500, ChunkTokens: 6000, Fallback: compaction.FallbackExtract, Role: memory.RoleUser},
		},
		Head: compaction.HeadSystemAndFirst, KeepTags: []string{"name", "a tag"},
		Clear: compaction.Clear{Enabled: true, Triggers: []toolcalls.Trigger{{Tokens: 900}}, Keep: 3, ExcludeTools: []string{"search"}},
	}
	if d := cmp.Diff(want, h); d != "" || l.Profiles["mine"].StepLimit != 7 {
		t.Error(d)
	}
	t.Run("what one profile names no other has", func(t *testing.T) {
		if len(l.Profiles["other"].History.Compress.Concepts) != 1 || l.Profiles["default"].History.Compress.Concepts != nil {
			t.Errorf("other has %v, default %v", l.Profiles["other"].History.Compress.Concepts, l.Profiles["default"].History.Compress.Concepts)
		}
	})
	t.Run("it is printed as it is written", func(t *testing.T) {
		printed := map[string]string{}
		for _, v := range l.Values() {
			printed[v.Key] = v.Value
		}
		if printed["profiles.mine.history.trigger"] != "messages 50, messages 10 and tokens 8000" ||
			printed["profiles.mine.history.keep"] != "tokens 3000" || printed["profiles.mine.history.concepts.budget.single"] != "true" ||
			printed["strategies.important.contains"] != "important, urgent" {
			t.Errorf("printed %v", printed)
		}
	})
}

func TestHistoriesThatMakeNoSenseAreRefusedWithTheReason(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"a strategy that is not there":       {"profiles: {p: {history: {strategy: shrink, trigger: messages 5}}}", "there is no strategy \"shrink\""},
		"a strategy that is never applied":   {"profiles: {p: {history: {strategy: whole-history}}}", "set a trigger"},
		"facts without a concept":            {"profiles: {p: {history: {strategy: facts, trigger: messages 5}}}", "name a concept"},
		"a list where one value is wanted":   {"profiles: {p: {history: {keep: [messages 5]}}}", "a single value, not a list"},
		"a list within a list":               {"profiles: {p: {history: {keep-tags: [[a]]}}}", "each entry must be a single value"},
		"a trigger that is none":             {"profiles: {p: {history: {trigger: [often]}}}", "is not a size"},
		"a strategy whose name is taken":     {"strategies: {chunked: {prompt: p}}", "choose another one"},
		"a strategy of a role that is none":  {"strategies: {mine: {roles: [human]}}", "there is no role \"human\""},
		"a model without an endpoint":        {"profiles: {p: {history: {summary: {model: gpt-5-mini}}}}", "set chat-base-url"},
		"a strategy's without an endpoint":   {"strategies: {mine: {model: gpt-5-mini}}", "set chat-base-url"},
		"a prompt limit above what is known": {"profiles: {p: {history: {summary: {max-tokens: 20000}}}}", "from 50 to 10000"},
		"a step limit of none":               {"profiles: {p: {step-limit: 0}}", "from 1 to 10000"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(Sources{File: "s.yaml", ReadFile: fileOf(c.file)})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestReadyMadeProfilesStartFromTheDefaultOne(t *testing.T) {
	l := load(t, Sources{File: "s.yaml", ReadFile: fileOf("profiles: {default: {recent-n: 7}, agent: {history: {keep: messages 30}}}")})
	for name := range readyMade() {
		t.Run(name, func(t *testing.T) {
			p, ok := l.Profiles[name]
			if !ok || p.RecentN != 7 && name != CostSaverProfile {
				t.Errorf("%+v", p)
			}
		})
	}
	if h := l.Profiles[AgentProfile].History; h.Compress.Keep != (toolcalls.Keep{Messages: 30}) || h.Compress.Strategy != compaction.StrategyWhole || !h.Clear.Enabled {
		t.Errorf("a change of one setting loses the others: %+v", h)
	}
}
