// Package contentchecks judges the words of messages by rules, and mends what does not pass. It is pure: equal messages and rules
// give equal results.
//
// The words of a message are its texts, joined as memory.Message.PlainText joins them, and the texts of each of its tool
// results by themselves. Reasoning, the arguments of calls, names and metadata are not looked at.
package contentchecks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// The limits of rules.
const (
	MaxRules       = 50
	MaxNameBytes   = 64
	MaxWords       = 1000
	MaxWordBytes   = 255
	MaxPatterns    = 100
	MaxPattern     = 1000 // bytes
	MaxLimit       = 10_000_000
	MaxSchemaBytes = 64 << 10
	MaxTextBytes   = 8 << 10 // of a replacement and of a hint
)

// Rule is what must not occur in the words of a message, and what is done where it does.
type Rule struct {
	Name   string        // 1 to MaxNameBytes bytes, unique among the rules
	Roles  []memory.Role // whose messages are looked at; nil for all
	Test   Test
	Action memory.CheckAction
	Text   string // what is in place of the words; for CheckReplace alone. It must pass all rules itself
	Hint   string // what the model reads that writes the message anew; for CheckRetry alone
}

// Test is what a rule looks for: StopWords, Patterns, MaxLength, JSON or Markup.
type Test interface {
	// ready prepares the test. The error is a *Fault without its Rule.
	ready(c tokens.Counter) (judge, error)
}

// judge looks at words.
type judge interface {
	// pass reports whether the words pass. If not, rest is the words without what was found, and shorter; a test that finds
	// nothing to take out returns the words as they are.
	//
	// Steps are taken from w before they are done; if that fails, the error is w's and the results are meaningless.
	pass(w *work, words string) (rest string, ok bool, err error)
}

// Fault is what is wrong with a rule. Its text holds nothing of the rule but numbers; Err may.
type Fault struct { //nolint:errname // a finding about a rule, as config.Fault is about a setting
	Rule  int    // its index
	Field string // such as patterns.expressions[2]
	Text  string // what is wrong, the limit and the fix
	Err   error  // the cause, which may quote the rule; nil for none
}

// Error names the rule and the field, without the cause.
func (f *Fault) Error() string { return fmt.Sprintf("rules[%d].%s: %s", f.Rule, f.Field, f.Text) }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Set is rules that are ready to be used. It may be used concurrently. The zero Set and nil have no rules.
type Set struct {
	counter tokens.Counter
	rules   []ready
}

type ready struct {
	Rule
	judge judge
}

// Compile makes rules ready; tokens are counted by c. The error is a *Fault.
func Compile(rules []Rule, c tokens.Counter) (*Set, error) {
	s := &Set{counter: c}
	if len(rules) > MaxRules {
		return nil, &Fault{Rule: MaxRules, Field: "name", Text: fmt.Sprintf("there are %d rules; the limit is %d", len(rules), MaxRules)}
	}
	schemas := 0
	for i, r := range rules {
		if t, isJSON := r.Test.(JSON); isJSON {
			if schemas += len(t.Schema); schemas > maxAllSchemas {
				return nil, at(i, fault("json.schema", "the schemas of all rules have more than %d bytes together: write smaller ones", maxAllSchemas))
			}
		}
		judge, err := s.prepare(r)
		if err != nil {
			return nil, at(i, err)
		}
		s.rules = append(s.rules, ready{r, judge})
	}
	w := newWork(context.Background(), MaxSteps/stepsOfTexts)
	for i, r := range s.rules {
		if err := s.checkText(w, r.Rule); err != nil {
			return nil, at(i, err)
		}
	}
	return s, nil
}

// stepsOfTexts is the share of MaxSteps that judging the replacements may take.
const stepsOfTexts = 4

func at(rule int, err error) error {
	if f, ok := errors.AsType[*Fault](err); ok {
		f.Rule = rule
		return f
	}
	return err
}

func fault(field, format string, args ...any) *Fault {
	return &Fault{Field: field, Text: fmt.Sprintf(format, args...)}
}

// prepare checks a rule by itself.
func (s *Set) prepare(r Rule) (judge, error) {
	if n := len(r.Name); n == 0 || n > MaxNameBytes {
		return nil, fault("name", "it has %d bytes: give the rule a name of 1 to %d", n, MaxNameBytes)
	}
	if slices.ContainsFunc(s.rules, func(o ready) bool { return o.Name == r.Name }) {
		return nil, fault("name", "another rule has the same name: give each its own")
	}
	if r.Test == nil {
		return nil, fault("test", "nothing is looked for: set stop words, patterns, a length, JSON or markup")
	}
	if err := checkAction(r); err != nil {
		return nil, err
	}
	return r.Test.ready(s.counter)
}

func checkAction(r Rule) error {
	_, isJSON := r.Test.(JSON)
	switch {
	case r.Action < memory.CheckRemove || r.Action > memory.CheckRetry:
		return fault("action", "it is none: remove, replace, strip or retry")
	case isJSON && r.Action == memory.CheckStrip:
		return fault("action", "words that are not JSON cannot be stripped: remove, replace or retry")
	case (r.Action == memory.CheckReplace) != (r.Text != ""):
		return fault("text", "it must be set for replace, and for no other action")
	case (r.Action == memory.CheckRetry) != (r.Hint != ""):
		return fault("hint", "it must be set for retry, and for no other action")
	case len(r.Text) > MaxTextBytes:
		return fault("text", "it has %d bytes; the limit is %d", len(r.Text), MaxTextBytes)
	case len(r.Hint) > MaxTextBytes:
		return fault("hint", "it has %d bytes; the limit is %d", len(r.Hint), MaxTextBytes)
	}
	return nil
}

// checkText refuses a replacement that some rule would find something in: it would be replaced in its turn.
func (s *Set) checkText(w *work, r Rule) error {
	if r.Action != memory.CheckReplace {
		return nil
	}
	if strings.TrimSpace(r.Text) == "" {
		return fault("text", "it is blank: remove the words instead")
	}
	for i, other := range s.rules {
		if !meet(r.Roles, other.Roles) {
			continue
		}
		_, ok, err := other.judge.pass(w, r.Text)
		if err != nil {
			return fault(
				"text",
				"to judge the replacements by all rules takes more than %d steps: write shorter ones, or fewer rules",
				MaxSteps/stepsOfTexts,
			)
		}
		if !ok {
			return fault("text", "it does not pass rules[%d] itself: write it so that it passes all of them", i)
		}
	}
	return nil
}

// meet reports whether two lists of roles share one; an empty list has all.
func meet(a, b []memory.Role) bool {
	return len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, func(r memory.Role) bool { return slices.Contains(b, r) })
}

// Empty reports whether there are no rules.
func (s *Set) Empty() bool { return s == nil || len(s.rules) == 0 }

// By is the same rules with tokens counted by c.
func (s *Set) By(c tokens.Counter) (*Set, error) {
	if s.Empty() || s.counter.Name() == c.Name() {
		return s, nil
	}
	rules := make([]Rule, len(s.rules))
	for i, r := range s.rules {
		rules[i] = r.Rule
	}
	return Compile(rules, c)
}
