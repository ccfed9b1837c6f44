package contentchecks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/memory"
)

// Finding is a rule that found something in a message.
type Finding struct {
	Index     int // of the message among those that were checked
	MessageID string
	Rule      string
	Action    memory.CheckAction // what was done: CheckRemove where stripping came to no end
	Removed   bool               // nothing of the message was left; only of a message's last finding
	Hint      string             // of CheckRetry
}

// Result is what checking messages came to.
type Result struct {
	Messages []memory.Message // without those that were removed
	Changed  bool             // whether any was changed or removed
	Retry    bool             // whether any should be written anew
	Findings []Finding        // by message, then as the rules found it
}

// Messages checks messages one by one. Checking what it returns again changes nothing. The error is a *TooMuch, or that of
// a context that ended meanwhile.
func (s *Set) Messages(ctx context.Context, messages []memory.Message) (Result, error) {
	each, err := s.Each(ctx, messages)
	if err != nil {
		return Result{}, err
	}
	var all Result
	for i, one := range each {
		for _, f := range one.Findings {
			f.Index = i
			all.Findings = append(all.Findings, f)
		}
		all.Messages = append(all.Messages, one.Messages...)
		all.Changed, all.Retry = all.Changed || one.Changed, all.Retry || one.Retry
	}
	return all, nil
}

// Each checks messages as Messages does, and returns a result for each of them. They take at most MaxSteps together.
func (s *Set) Each(ctx context.Context, messages []memory.Message) ([]Result, error) {
	return s.each(newWork(ctx, MaxSteps), messages)
}

func (s *Set) each(w *work, messages []memory.Message) ([]Result, error) {
	out := make([]Result, len(messages))
	for i, m := range messages {
		var err error
		if out[i], err = s.message(w, m); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Message checks one message. A rule that asks for a retry ends the check: the message is then left as it came. What was
// changed has neither an Original nor token counts: they were those of other words.
//
// Only words are taken away. A message that holds calls, results or attachments stays, so that no call loses its results.
func (s *Set) Message(ctx context.Context, m memory.Message) (Result, error) {
	return s.message(newWork(ctx, MaxSteps), m)
}

func (s *Set) message(w *work, m memory.Message) (Result, error) {
	if s.Empty() {
		return Result{Messages: []memory.Message{m}}, nil
	}
	x := checking{set: s, role: m.Role, work: w}
	parts := slices.Clone(m.Parts)
	for i, p := range parts {
		if words, changed := x.mend(textOf(p.Parts)); changed && p.Kind == memory.PartToolResult {
			parts[i].Parts = reworded(p.Parts, words)
		}
	}
	if words, changed := x.mend(m.PlainText()); changed {
		parts = reworded(parts, words)
	}
	if x.err != nil {
		return Result{}, x.err
	}
	if err := w.ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("check words: %w", err)
	}
	return x.result(m, parts), nil
}

// textOf is the words of a tool result's parts.
func textOf(parts []memory.Part) string { return memory.Message{Parts: parts}.PlainText() }

// reworded returns the parts with their texts replaced by one, which has the words; without texts where the words are
// blank.
func reworded(parts []memory.Part, words string) []memory.Part {
	var out []memory.Part
	said := blank(words)
	for _, p := range parts {
		if p.Kind != memory.PartText {
			out = append(out, p)
			continue
		}
		if !said {
			out = append(out, memory.TextPart(words))
			said = true
		}
	}
	return out
}

func blank(words string) bool { return strings.TrimSpace(words) == "" }

// checking is a message while it is checked.
type checking struct {
	set      *Set
	role     memory.Role
	work     *work
	err      error // that ended it: what it found means nothing then
	findings []Finding
	changed  bool
	retry    bool
}

// result is the message with its parts as they are now, unless nothing of it is left.
func (x *checking) result(m memory.Message, parts []memory.Part) Result {
	if x.retry {
		retry := x.findings[len(x.findings)-1]
		retry.MessageID = m.ID
		return Result{Messages: []memory.Message{m}, Retry: true, Findings: []Finding{retry}}
	}
	r := Result{Changed: x.changed, Findings: x.findings}
	if x.changed {
		m.Parts, m.Original, m.Tokens = parts, nil, memory.TokenCounts{}
	}
	for i := range r.Findings {
		r.Findings[i].MessageID = m.ID
	}
	if x.changed && !slices.ContainsFunc(parts, func(p memory.Part) bool { return p.Kind != memory.PartReasoning }) {
		r.Findings[len(r.Findings)-1].Removed = true
		return r
	}
	r.Messages = []memory.Message{m}
	return r
}

// maxRounds bounds how often the rules are applied to the same words: taking something out may leave what is found again.
const maxRounds = 8

// mend applies the rules until none finds anything. Words that never come to that are removed. After a retry nothing is
// looked at any more.
func (x *checking) mend(words string) (mended string, changed bool) {
	mended = words
	for range maxRounds {
		last := mended
		if !x.retry {
			mended = x.round(mended)
		}
		if mended == last {
			break
		}
	}
	if mended != words && !x.retry {
		mended = x.orNothing(mended)
	}
	x.changed = x.changed || mended != words
	return mended, mended != words
}

// orNothing returns the words, or none where a rule still finds something in them.
func (x *checking) orNothing(words string) string {
	for i, r := range x.set.rules {
		if x.finds(i, words) {
			x.note(r.Rule, memory.CheckRemove)
			return ""
		}
	}
	return words
}

// round applies each rule once.
func (x *checking) round(words string) string {
	for i, r := range x.set.rules {
		if x.retry || !x.applies(r, words) {
			continue
		}
		rest, ok := x.pass(i, words)
		if ok {
			continue
		}
		x.note(r.Rule, r.Action)
		switch r.Action {
		case memory.CheckRemove:
			words = ""
		case memory.CheckReplace:
			words = r.Text
		case memory.CheckStrip:
			words = shorter(rest, words)
		case memory.CheckRetry:
			x.retry = true
		}
	}
	return words
}

// shorter is what is left of words, which is nothing where nothing could be taken out.
func shorter(rest, words string) string {
	if len(rest) >= len(words) {
		return ""
	}
	return rest
}

func (x *checking) applies(r ready, words string) bool {
	return !blank(words) && (len(r.Roles) == 0 || slices.Contains(r.Roles, x.role))
}

func (x *checking) finds(rule int, words string) bool {
	if !x.applies(x.set.rules[rule], words) {
		return false
	}
	_, ok := x.pass(rule, words)
	return !ok
}

// pass has a rule judge words. Once an error came, all words pass.
func (x *checking) pass(rule int, words string) (rest string, ok bool) {
	if x.err != nil {
		return words, true
	}
	r := x.set.rules[rule]
	rest, ok, err := r.judge.pass(x.work, words)
	if errors.Is(err, errSpent) {
		err = &TooMuch{Rule: rule, Name: r.Name, Field: fieldOf(r.Test)}
	}
	if err != nil {
		x.err = err
		return words, true
	}
	return rest, ok
}

// fieldOf names a test's field.
func fieldOf(t Test) string {
	switch t.(type) {
	case StopWords:
		return "stop_words"
	case Patterns:
		return "patterns"
	case MaxLength:
		return "max_length"
	case JSON:
		return "json"
	}
	return "markup"
}

// note keeps what a rule did, once for each message.
func (x *checking) note(r Rule, a memory.CheckAction) {
	f := Finding{Rule: r.Name, Action: a, Hint: r.Hint}
	if !slices.Contains(x.findings, f) {
		x.findings = append(x.findings, f)
	}
}
