package secretscan

import (
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/memory"
)

// Bounds on looking for a secret again where no rule finds it: a password that the other side repeats.
const (
	leastAgain = 6  // bytes of it: shorter ones are words and years
	mostAgain  = 64 // secrets of a turn
)

// Mark returns the parts of a turn's messages with their secrets recorded. A secret that is found once is recorded wherever
// the messages of the turn have it.
func Mark(turn [][]memory.Part) [][]memory.Part {
	f := newFinder()
	out := make([][]memory.Part, len(turn))
	for i, parts := range turn {
		out[i] = f.mark(parts)
	}
	if found := values(out); len(found) > 0 {
		repeated := newAgain(found)
		for i := range out {
			repeated.mark(out[i])
		}
	}
	for i := range out {
		number(out[i], map[string]map[string]int{})
	}
	return out
}

// Unmarked returns parts without notes of secrets; the same ones where there are none.
func Unmarked(parts []memory.Part) []memory.Part {
	if !slices.ContainsFunc(parts, func(p memory.Part) bool { return p.Secrets != nil || p.Parts != nil }) {
		return parts
	}
	out := slices.Clone(parts)
	for i := range out {
		out[i].Secrets, out[i].Parts = nil, Unmarked(out[i].Parts)
	}
	return out
}

// AnyIn reports whether a secret is noted in any of the parts.
func AnyIn(parts []memory.Part) bool {
	return slices.ContainsFunc(parts, func(p memory.Part) bool { return len(p.Secrets) > 0 || AnyIn(p.Parts) })
}

// said returns the text of a part in which secrets are looked for, nil for none.
func said(p *memory.Part) *string {
	switch p.Kind {
	case memory.PartText, memory.PartReasoning:
		return &p.Text
	case memory.PartToolCall:
		return &p.Arguments
	case memory.PartURI:
		return &p.URI
	case memory.PartOpaque:
		return &p.JSON
	}
	return nil
}

func (f *finder) mark(parts []memory.Part) []memory.Part {
	out := slices.Clone(parts)
	for i := range out {
		p := &out[i]
		p.Secrets = nil
		if text := said(p); text != nil && !strings.HasPrefix(*text, "data:image/") {
			p.Secrets = f.find(*text)
		}
		if p.Parts != nil {
			p.Parts = f.mark(p.Parts)
		}
	}
	return out
}

// value is a secret that may be said again.
type value struct{ text, kind string }

func values(turn [][]memory.Part) []value {
	var out []value
	seen := map[string]bool{}
	var look func(parts []memory.Part)
	look = func(parts []memory.Part) {
		for i := range parts {
			p := &parts[i]
			for _, s := range p.Secrets {
				v := (*said(p))[s.Start:s.End]
				if len(v) >= leastAgain && len(out) < mostAgain && !seen[v] {
					seen[v] = true
					out = append(out, value{v, s.Kind})
				}
			}
			look(p.Parts)
		}
	}
	for _, parts := range turn {
		look(parts)
	}
	return out
}

// again looks for values that were found elsewhere in the turn: the short ones in one pass over a text, long ones one by one.
type again struct {
	short []value
	words *automaton // of the short ones in lower case
	long  []value
}

// shortValue is up to how many bytes a value is looked for together with others: a table of them has a row for each byte.
const shortValue = 64

func newAgain(all []value) again {
	var a again
	var words []string
	for _, v := range all {
		if len(v.text) > shortValue {
			a.long = append(a.long, v)
			continue
		}
		a.short = append(a.short, v)
		folded := []byte(v.text)
		for i, b := range folded {
			folded[i] = lower(b)
		}
		words = append(words, string(folded))
	}
	a.words = newAutomaton(words)
	return a
}

// mark notes the values wherever the parts say them, in parts that are the caller's own.
func (a again) mark(parts []memory.Part) {
	for i := range parts {
		p := &parts[i]
		if text := said(p); text != nil {
			if found := a.in(*text); len(found) > 0 {
				p.Secrets = joined(*text, append(founds(p.Secrets), found...))
			}
		}
		a.mark(p.Parts)
	}
}

func founds(secrets []memory.Secret) []found {
	out := make([]found, len(secrets))
	for i, s := range secrets {
		out[i] = found{span: s.Span, kind: s.Kind}
	}
	return out
}

// in is where a text says a value that is no part of a longer word. A place that an earlier one of the value overlaps is none.
func (a again) in(text string) []found {
	var out []found
	take := func(v value, start int) {
		end := start + len(v.text)
		if start > 0 && isWord(text[start-1]) && isWord(text[start]) || end < len(text) && isWord(text[end-1]) && isWord(text[end]) {
			return
		}
		out = append(out, found{span: memory.Span{Start: start, End: end}, kind: v.kind, generic: true})
	}
	taken := make([]int, len(a.short)) // by value: up to where it was found
	a.words.scan(text, func(word int32, end int) {
		v := a.short[word]
		if start := end - len(v.text); start >= taken[word] && text[start:end] == v.text {
			taken[word] = end
			take(v, start)
		}
	})
	for _, v := range a.long {
		for at := 0; ; at += len(v.text) {
			i := strings.Index(text[at:], v.text)
			if i < 0 {
				break
			}
			at += i
			take(v, at)
		}
	}
	return out
}

// number distinguishes several secrets of a kind in a message. The number is how many others of its kind come before it,
// and reveals nothing of the secret.
func number(parts []memory.Part, seen map[string]map[string]int) {
	for i := range parts {
		p := &parts[i]
		for j := range p.Secrets {
			s := &p.Secrets[j]
			v := (*said(p))[s.Start:s.End]
			of := seen[s.Kind]
			if of == nil {
				of = map[string]int{}
				seen[s.Kind] = of
			}
			no, known := of[v]
			if !known {
				no = len(of)
				of[v] = no
			}
			if s.No = 0; no > 0 {
				s.No = no + 1
			}
		}
		number(p.Parts, seen)
	}
}

// MarkEach notes where n messages say secrets.
func MarkEach(n int, message func(int) *memory.Message) {
	turn := make([][]memory.Part, n)
	for i := range turn {
		turn[i] = message(i).Parts
	}
	for i, parts := range Mark(turn) {
		message(i).Parts = parts
	}
}

// AsSent returns messages without notes of secrets, as their caller sent them.
func AsSent(messages []memory.Message) []memory.Message {
	out := slices.Clone(messages)
	for i := range out {
		out[i].Parts = Unmarked(out[i].Parts)
	}
	return out
}
