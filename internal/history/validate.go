package history

import (
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/toolcalls"
)

// Validate returns a memory.Error for the first field that is wrong, as a path that begins with path. Fractions are of
// window; 0 is an unknown window, with which a fraction is wrong.
func (p Policy) Validate(path string, window int64) error {
	v := validator{window: window}
	switch p.Head {
	case HeadSystemAndFirst, HeadSystemOrFirst, HeadSystem:
	default:
		v.fault(path+".head", "must be %q, %q or empty for the system messages and the first words of a user", HeadSystemOrFirst, HeadSystem)
	}
	v.atLeast(path+".hide.start_seq", p.Hide.StartSeq, 0)
	if p.Clear != nil {
		v.clear(path+".clear", *p.Clear)
	}
	if p.Compress != nil {
		v.compress(path+".compress", *p.Compress)
	}
	if p.Trim != nil {
		v.trim(path+".trim", *p.Trim)
	}
	if v.err == nil {
		return nil // not a nil *memory.Error in an error
	}
	return v.err
}

// validator keeps the first fault.
type validator struct {
	window int64
	err    *memory.Error
}

func (v *validator) fault(field, format string, args ...any) {
	if v.err == nil {
		v.err = memory.InvalidField(field, format, args...)
	}
}

func (v *validator) atLeast(field string, n, least int64) {
	if n < least {
		v.fault(field, "is %d; it must be at least %d", n, least)
	}
}

// fraction checks a share of the window.
func (v *validator) fraction(field string, share float64) {
	if !(share >= 0 && share <= 1) {
		v.fault(field, "is %g; it must be above 0 and at most 1", share)
	}
	if share > 0 && v.window <= 0 {
		v.fault(field, "is a share of the model's window, which is not known; name a model whose window is configured, set the window in tokens, or give tokens instead of a fraction")
	}
}

func (v *validator) triggers(field string, triggers []toolcalls.Trigger) {
	for i, t := range triggers {
		at := fmt.Sprintf("%s[%d]", field, i)
		v.atLeast(at+".messages", int64(t.Messages), 0)
		v.atLeast(at+".tokens", t.Tokens, 0)
		v.fraction(at+".fraction", t.Fraction)
		if t == (toolcalls.Trigger{}) {
			v.fault(at, "sets nothing; set messages, tokens or fraction, or leave it out")
		}
	}
}

func (v *validator) clear(path string, c Clear) {
	v.triggers(path+".triggers", c.Triggers)
	v.atLeast(path+".keep", int64(c.Keep), 0)
	v.atLeast(path+".clear_at_least", c.ClearAtLeast, 0)
}

func (v *validator) trim(path string, t Trim) {
	v.atLeast(path+".messages", int64(t.Messages), 0)
	v.atLeast(path+".tokens", t.Tokens, 0)
	v.fraction(path+".fraction", t.Fraction)
	if t == (Trim{}) {
		v.fault(path, "sets no limit; set messages, tokens or fraction, or leave it out")
	}
}

func (v *validator) compress(path string, c Compress) {
	v.triggers(path+".triggers", c.Triggers)
	v.atLeast(path+".keep.messages", int64(c.Keep.Messages), 0)
	v.atLeast(path+".keep.tokens", c.Keep.Tokens, 0)
	v.fraction(path+".keep.fraction", c.Keep.Fraction)
	v.atLeast(path+".max_tokens", c.MaxTokens, 0)
	v.atLeast(path+".trim_tokens_to_summarize", c.ChunkTokens, 0)
	if c.Lossy && c.ChunkTokens == 0 {
		v.fault(path+".lossy", "leaves out what does not fit trim_tokens_to_summarize, which is not set; set it or leave lossy out")
	}
	if !slices.Contains([]Fallback{FallbackKeep, FallbackDrop, FallbackWhole, FallbackExtract}, c.Fallback) {
		v.fault(path+".fallback", "must be %q, %q, %q or empty to keep the messages", FallbackDrop, FallbackWhole, FallbackExtract)
	}
	if !slices.Contains([]memory.Role{0, memory.RoleUser, memory.RoleAssistant, memory.RoleSystem}, c.Role) {
		v.fault(path+".role", "must be user, assistant or system")
	}
	v.strategy(path, c)
}

// strategy checks what belongs to one strategy.
func (v *validator) strategy(path string, c Compress) {
	switch c.Strategy {
	case StrategyWhole, StrategyCustom:
	case StrategyLastN:
		v.atLeast(path+".last_n", int64(c.LastN), 1)
	case StrategyChunked:
		v.atLeast(path+".chunk_messages", int64(c.ChunkMessages), 1)
	case StrategySince:
		if c.Since.IsZero() {
			v.fault(path+".since", "is not set; give the time from which on messages are summarised")
		}
	case StrategyFacts:
		v.concepts(path+".concepts", c.Concepts)
	default:
		v.fault(path+".strategy", "must be %q, %q, %q, %q, %q or %q", StrategyWhole, StrategyLastN, StrategyChunked, StrategySince, StrategyFacts, StrategyCustom)
	}
}

func (v *validator) concepts(path string, concepts []Concept) {
	if len(concepts) == 0 {
		v.fault(path, "is empty; name at least one thing to look for")
	}
	for i, c := range concepts {
		if c.Keyword == "" {
			v.fault(fmt.Sprintf("%s[%d].keyword", path, i), "is empty; give the word that names the facts")
		}
	}
}
