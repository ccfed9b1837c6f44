package contentchecks

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/tokens"
)

// Patterns are RE2 expressions that must not match: at most MaxPatterns of 1 to MaxPattern bytes. They are applied in
// their order. Compiled, they take at most maxInstructions together, and every instruction is a step for each character.
type Patterns []string

func (t Patterns) ready(tokens.Counter) (judge, error) {
	if len(t) == 0 || len(t) > MaxPatterns {
		return nil, fault("patterns.expressions", "there are %d; give 1 to %d", len(t), MaxPatterns)
	}
	var all chain
	compiled := newExpressions()
	for i, p := range t {
		field := fmt.Sprintf("patterns.expressions[%d]", i)
		if p == "" || len(p) > MaxPattern {
			return nil, fault(field, "it has %d bytes; give 1 to %d", len(p), MaxPattern)
		}
		e, refusal, err := compiled.compile(p)
		if refusal != "" {
			f := fault(field, "%s", refusal)
			f.Err = err
			return nil, f
		}
		if e.MatchString("") {
			return nil, fault(field, "it matches an empty text, so it would match everywhere: make it match at least one character")
		}
		all = append(all, mark{e, ""})
	}
	return all, nil
}

// MaxLength is the most that words may take, each limit up to MaxLimit; at least one is set. Stripping keeps the beginning.
type MaxLength struct {
	Characters int64 // Unicode code points; 0 for no limit
	Tokens     int64 // 0 for no limit
}

type ruler struct {
	MaxLength
	counter tokens.Counter
}

func (t MaxLength) ready(c tokens.Counter) (judge, error) {
	if t.Characters < 0 || t.Characters > MaxLimit || t.Tokens < 0 || t.Tokens > MaxLimit || t == (MaxLength{}) {
		return nil, fault("max_length", "%d characters and %d tokens: set at least one of them from 1 to %d", t.Characters, t.Tokens, MaxLimit)
	}
	return ruler{t, c}, nil
}

func (r ruler) pass(w *work, words string) (rest string, ok bool, err error) {
	x := measuring{ruler: r, work: w}
	if x.fits(words) {
		return words, true, x.err
	}
	rest = strings.TrimRightFunc(words[:x.longest(words)], unicode.IsSpace)
	for rest != "" && !x.fits(rest) { // a token may become two where it is cut
		rest = rest[:border(rest, len(rest)-1)]
	}
	return rest, false, x.err
}

// measuring is a ruler at work. Once it has failed, everything fits: what it finds then means nothing.
type measuring struct {
	ruler
	work *work
	err  error
}

// longest is where the longest beginning ends that fits, found in time that depends on the limits and not on the words.
func (r *measuring) longest(words string) int {
	fits, over := 0, 1
	for over < len(words) && r.fits(words[:border(words, over)]) {
		fits, over = over, 2*over
	}
	over = min(over, len(words))
	for over-fits > 1 {
		middle := (fits + over) / 2
		if r.fits(words[:border(words, middle)]) {
			fits = middle
		} else {
			over = middle
		}
	}
	for n := min(fits+longestWord, len(words)); n > fits; n-- { // a whole word may take fewer tokens than its beginning
		if r.fits(words[:border(words, n)]) {
			return border(words, n)
		}
	}
	return border(words, fits)
}

// longestWord is the bytes behind a cut in which the end of the word that was cut is looked for.
const longestWord = 24

func (r *measuring) fits(words string) bool {
	if r.err != nil {
		return true
	}
	steps := int64(len(words))
	if r.Tokens > 0 {
		steps *= stepsOfCount
	}
	if r.err = r.work.spend(steps); r.err != nil {
		return true
	}
	if r.Characters > 0 && int64(utf8.RuneCountInString(words)) > r.Characters {
		return false
	}
	return r.Tokens == 0 || tokens.Tokens(r.counter, r.counter.Cost(words)) <= r.Tokens
}

// The characters that join the letters around them into one word, or keep them apart.
const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
)

// border is the last place up to n bytes where s may be cut: before no mark, and on neither side of a joiner.
func border(s string, n int) int {
	for n > 0 && n < len(s) {
		next, _ := utf8.DecodeRuneInString(s[n:])
		before, _ := utf8.DecodeLastRuneInString(s[:n])
		if utf8.RuneStart(s[n]) && !unicode.In(next, unicode.M) && next != zeroWidthJoiner && before != zeroWidthJoiner {
			return n
		}
		n--
	}
	return n
}
