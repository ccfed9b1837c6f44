package lazyregexp

import (
	"cmp"
	"math"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// literal is a text that a match has, with its ASCII letters small.
type literal struct {
	text  string
	edges edges
}

// edges are what must hold where a literal begins and ends.
type edges uint8

const (
	textBegin edges = 1 << iota // the text begins where the literal does
	textEnd                     // the text ends where the literal does
	wordBegin                   // the literal begins at \b
	wordEnd                     // the literal ends at \b

	atBegin = textBegin | wordBegin
	atEnd   = textEnd | wordEnd
)

// Limits of what is derived from an expression. Beyond maxCombined the literals of its parts are not joined to longer ones; beyond
// maxLiterals looking for them is no cheaper than matching; a class of more than maxClass characters is not written out.
const (
	maxCombined = 100
	maxLiterals = 5000
	maxClass    = 12
)

// required returns literals of which every match of an expression has at least one, whatever the case of its ASCII letters; nil
// where there are none such, or the source is no expression. It holds of texts without the characters of foldsToASCII.
func required(source string) []literal {
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil
	}
	return partOf(parsed.Simplify()).required()
}

// foldsToASCII are the two characters outside ASCII that (?i) takes for an ASCII letter: s and k.
var foldsToASCII = [...]string{"ſ", "\u212a"}

// part is what is known of a part of an expression.
type part struct {
	exact []literal // one of them is the whole match; nil where they cannot be written out
	need  []literal // one of them is in the match; nil where none is known
}

// required returns the better of both for looking up.
func (p part) required() []literal { return better(p.need, p.exact) }

// nothing is a part that matches no character, where something holds.
func nothing(e edges) part { return part{exact: []literal{{edges: e}}} }

func partOf(re *syntax.Regexp) part {
	switch re.Op {
	case syntax.OpLiteral:
		return literalOf(re)
	case syntax.OpCharClass:
		return classOf(re)
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpNoWordBoundary:
		return nothing(0)
	case syntax.OpBeginText:
		return nothing(textBegin)
	case syntax.OpEndText:
		return nothing(textEnd)
	case syntax.OpWordBoundary:
		return nothing(wordBegin | wordEnd)
	case syntax.OpCapture:
		return partOf(re.Sub[0])
	case syntax.OpPlus:
		return part{need: partOf(re.Sub[0]).required()}
	case syntax.OpQuest:
		return anyOf([]part{partOf(re.Sub[0]), nothing(0)})
	case syntax.OpConcat:
		return inOrder(partsOf(re.Sub))
	case syntax.OpAlternate:
		return anyOf(partsOf(re.Sub))
	default: // what matches any character, and what need not match
		return part{}
	}
}

func partsOf(subs []*syntax.Regexp) []part {
	out := make([]part, len(subs))
	for i, sub := range subs {
		out[i] = partOf(sub)
	}
	return out
}

func literalOf(re *syntax.Regexp) part {
	out := make([]part, len(re.Rune))
	for i, r := range re.Rune {
		out[i] = oneOf(spellings(r, re.Flags&syntax.FoldCase != 0))
	}
	return inOrder(out)
}

// spellings are the characters that a character of a literal matches.
func spellings(r rune, fold bool) []rune {
	out := []rune{r}
	for other := unicode.SimpleFold(r); fold && other != r; other = unicode.SimpleFold(other) {
		out = append(out, other)
	}
	return out
}

func classOf(re *syntax.Regexp) part {
	var out []rune
	for i := 0; i < len(re.Rune); i += 2 {
		if int(re.Rune[i+1]-re.Rune[i]) >= maxClass-len(out) {
			return part{}
		}
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			out = append(out, r)
		}
	}
	return oneOf(out)
}

// oneOf is a part that matches one of some characters. A byte that is no character is matched by the one for it, which stands in no
// text then.
func oneOf(runes []rune) part {
	var out []literal
	for _, r := range runes {
		switch text := string(r); {
		case r == utf8.RuneError:
			return part{}
		case slices.Contains(foldsToASCII[:], text):
		case 'A' <= r && r <= 'Z':
			out = append(out, literal{text: string(unicode.ToLower(r))})
		default:
			out = append(out, literal{text: text})
		}
	}
	return part{exact: distinct(out)}
}

// anyOf is a part that matches what one of several does.
func anyOf(parts []part) part {
	var out part
	exact, need := true, true
	for _, p := range parts {
		exact = exact && p.exact != nil
		out.exact = append(out.exact, p.exact...)
		required := p.required()
		need = need && required != nil
		out.need = append(out.need, required...)
	}
	if !exact || len(out.exact) > maxLiterals {
		out.exact = nil
	}
	if !need || len(out.need) > maxLiterals {
		out.need = nil
	}
	return part{exact: distinct(out.exact), need: distinct(out.need)}
}

// inOrder is a part that matches what several do one after the other.
func inOrder(parts []part) part {
	var need []literal
	joined := nothing(0).exact
	exact := true
	for _, p := range parts {
		if p.exact != nil && len(joined)*len(p.exact) <= maxCombined {
			joined = join(joined, p.exact)
			continue
		}
		exact = false
		need = better(better(need, joined), p.need)
		if joined = p.exact; joined == nil {
			joined = nothing(0).exact
		}
	}
	if exact {
		return part{exact: joined}
	}
	return part{need: better(need, joined)}
}

// join returns each of some literals followed by each of others. What must hold between two that are not empty is left out.
func join(before, after []literal) []literal {
	out := make([]literal, 0, len(before)*len(after))
	for _, a := range before {
		for _, b := range after {
			keptA, keptB := a.edges, b.edges
			if b.text != "" {
				keptA &= atBegin
			}
			if a.text != "" {
				keptB &= atEnd
			}
			out = append(out, literal{a.text + b.text, keptA | keptB})
		}
	}
	return distinct(out)
}

// distinct returns literals in order, each once.
func distinct(all []literal) []literal {
	slices.SortFunc(all, func(a, b literal) int { return cmp.Or(cmp.Compare(a.text, b.text), cmp.Compare(a.edges, b.edges)) })
	return slices.Compact(all)
}

// better returns whichever of two sets of literals fewer texts have.
func better(a, b []literal) []literal {
	if frequency(b) < frequency(a) {
		return b
	}
	return a
}

// frequency estimates how often a text has one of some literals; infinite where there are none, or one is in every text.
func frequency(all []literal) float64 {
	if len(all) == 0 {
		return math.Inf(1)
	}
	sum := 0.0
	for _, l := range all {
		if l.text == "" {
			return math.Inf(1)
		}
		length := len(l.text)
		for _, e := range [...]edges{wordBegin, wordEnd, textBegin, textEnd} {
			if l.edges&e != 0 {
				length++
			}
		}
		sum += math.Pow(0.2, float64(length))
	}
	return sum
}
