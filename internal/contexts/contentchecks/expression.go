package contentchecks

import (
	"io"
	"regexp"
	"regexp/syntax"
	"sync"
	"unicode/utf8"
)

// expression is an RE2 expression whose every step is counted.
type expression struct {
	*regexp.Regexp
	steps  int64 // for each character that is read
	behind func() *regexp.Regexp
}

// newExpression prepares an expression that was compiled.
func newExpression(re *regexp.Regexp) *expression {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil { // it was compiled
		panic(err)
	}
	return &expression{
		Regexp: re, steps: sizeOf(tree) + stepsOfText,
		// The expression after any character: what precedes a place decides whether ^ and \b match there.
		behind: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A(?s:.)(?s:.*?)(` + tree.String() + `)`) }),
	}
}

// stepsAtOnce is how many steps may be done in one piece, in which no context is looked at.
const stepsAtOnce = 1_000_000

// matches reports whether the expression matches anywhere in s.
func (e *expression) matches(w *work, s string) (bool, error) {
	if steps := e.steps * int64(len(s)+1); steps <= stepsAtOnce {
		return e.MatchString(s), w.spend(steps)
	}
	from := reader{work: w, text: s, steps: e.steps}
	found := e.MatchReader(&from)
	return found, from.err
}

// replaceAll is what regexp.ReplaceAllString does. The standard library's takes time quadratic in s where a match
// is found only after a long way was read beyond it, and cannot be interrupted.
func (e *expression) replaceAll(w *work, s, template string) (string, error) {
	if steps := e.steps * int64(len(s)+1) * int64(len(s)+1); steps <= stepsAtOnce {
		return e.ReplaceAllString(s, template), w.spend(steps)
	}
	return e.replaceCounted(w, s, template)
}

// replaceCounted is replaceAll with every character counted that is read.
func (e *expression) replaceCounted(w *work, s, template string) (string, error) {
	var out []byte
	last, at := 0, 0 // the end of the last match, and where the next is looked for
	for at <= len(s) {
		match, err := e.find(w, s, at)
		if err != nil {
			return "", err
		}
		if match == nil {
			break
		}
		out = append(out, s[last:match[0]]...)
		if match[1] > last || match[0] == 0 {
			out = e.ExpandString(out, template, s, match)
		}
		last = match[1]
		_, width := utf8.DecodeRuneInString(s[at:])
		at = max(at+max(width, 1), last)
	}
	return string(append(out, s[last:]...)), nil
}

// find is the first match at or behind a place, as regexp.FindStringSubmatchIndex returns one; nil for none.
func (e *expression) find(w *work, s string, at int) ([]int, error) {
	from := reader{work: w, text: s, steps: e.steps}
	if at == 0 {
		match := e.FindReaderSubmatchIndex(&from)
		return match, from.err
	}
	_, width := utf8.DecodeLastRuneInString(s[:at])
	before := at - width
	from.at = before
	match := e.behind().FindReaderSubmatchIndex(&from)
	if match == nil || from.err != nil {
		return nil, from.err
	}
	match = match[2:]
	for i := range match {
		if match[i] >= 0 {
			match[i] += before
		}
	}
	return match, nil
}

// reader gives a text to an expression, and ends it where that takes too many steps: then err is set, and what the
// expression found means nothing.
type reader struct {
	work  *work
	text  string
	at    int
	steps int64
	err   error
}

// ReadRune implements io.RuneReader.
func (r *reader) ReadRune() (char rune, size int, err error) {
	if r.err != nil || r.at >= len(r.text) {
		return 0, 0, io.EOF
	}
	if r.err = r.work.spend(r.steps); r.err != nil {
		return 0, 0, io.EOF
	}
	char, size = utf8.DecodeRuneInString(r.text[r.at:])
	r.at += size
	return char, size, nil
}

// tooLarge is a size beyond all limits: sizes stop growing there.
const tooLarge = 1 << 30

// sizeOf is at least how many instructions a parsed expression is compiled to, found without compiling it: (?:a?){1000}
// is short, and expands. A large class of characters counts for more than the one instruction that it is.
func sizeOf(tree *syntax.Regexp) int64 {
	var size int64
	for _, sub := range tree.Sub {
		size = min(size+sizeOf(sub), tooLarge)
	}
	switch tree.Op {
	case syntax.OpConcat:
	case syntax.OpLiteral:
		size = int64(len(tree.Rune))
	case syntax.OpCharClass:
		size = 1 + int64(len(tree.Rune)/64)
	case syntax.OpRepeat:
		least, most := int64(tree.Min), int64(tree.Max)
		if most < 0 {
			most = max(least, 1) + 1
		}
		size = most*size + (most - least)
	case syntax.OpAlternate:
		size += int64(len(tree.Sub))
	case syntax.OpCapture, syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		size += 2
	default:
		size = 1
	}
	return min(size, tooLarge)
}

// maxInstructions bounds the expressions of a rule together: matching takes up to so many steps for each character.
const maxInstructions = 5000

// expressions compiles expressions whose sizes are bounded together.
type expressions struct {
	left int64 // instructions
	made map[string]*expression
}

// Why an expression is refused.
const (
	notRE2      = "it is no RE2 expression: see https://github.com/google/re2/wiki/Syntax"
	tooManyInst = "it makes the expressions larger than can be matched in a reasonable time: write shorter ones, with smaller counts"
)

// compile compiles an expression, unless that would take too much. One that came before takes nothing.
func (x *expressions) compile(p string) (e *expression, refusal string, err error) {
	if e := x.made[p]; e != nil {
		return e, "", nil
	}
	tree, err := syntax.Parse(p, syntax.Perl)
	if err != nil {
		return nil, notRE2, err
	}
	if x.left -= sizeOf(tree); x.left < 0 {
		return nil, tooManyInst, nil
	}
	re, err := regexp.Compile(p)
	if err != nil {
		return nil, notRE2, err
	}
	e = newExpression(re)
	x.made[p] = e
	return e, "", nil
}

func newExpressions() *expressions {
	return &expressions{left: maxInstructions, made: map[string]*expression{}}
}
