package prompttags

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/memory"
)

// enclosing returns which part of the JSON around a fence is an echo: all of it, except the words of users behind the last
// message of another role. It returns nothing where the fence is not within a string of an object or list. JSON within JSON
// is followed as deep as the fence is, and lists and objects as Python prints them are read too; either may be cut off.
func enclosing(s string, b block, recorded func(string) bool) (spans []memory.Span, around memory.Span) {
	for _, slashes := range depths(s, b) {
		l := lexer{s, slashes}
		doc, ok := l.around(b)
		if !ok {
			continue
		}
		holes := l.holes(doc, recorded)
		around = doc.span
		for slashes > 0 && ok { // the JSON may be a string of other JSON
			slashes = (slashes - 1) / 2
			l = lexer{s, slashes}
			if doc, ok = l.around(block{span: around, opened: true}); ok {
				holes, around = append(holes, l.holes(doc, recorded)...), doc.span
			}
		}
		slices.SortFunc(holes, func(a, b memory.Span) int { return a.Start - b.Start })
		from := around.Start
		for _, w := range holes {
			if w.Start >= from {
				spans, from = append(spans, memory.Span{Start: from, End: w.Start}), w.End
			}
		}
		return append(spans, memory.Span{Start: from, End: around.End}), around
	}
	return nil, memory.Span{}
}

// holes returns the words of a document that may not be stored anywhere else.
func (l lexer) holes(doc document, recorded func(string) bool) []memory.Span {
	var out []memory.Span
	for _, w := range doc.lastWords() {
		words := l.s[w.Start:w.End]
		w.Start += len(blankStart.FindString(words))
		w.End -= len(blankEnd.FindString(l.s[w.Start:w.End]))
		if w.Start < w.End && (recorded == nil || !recorded(l.unquote(words))) {
			out = append(out, w)
		}
	}
	return out
}

// blankStart and blankEnd match blanks and escaped line ends around words.
var (
	blankStart = regexp.MustCompile(`^(?:\s|\\+[nrt])*`)
	blankEnd   = regexp.MustCompile(`(?:\s|\\+[nrt])*$`)
)

// depths are how many backslashes may be before the quotes of the string that holds a fence. A line end within it is
// written with one more.
func depths(s string, b block) []int {
	if b.opened {
		if n := escapedBreak(s[b.from:]); n > 0 {
			return []int{n - 1}
		}
	} else {
		m := breakAtEnd.FindStringSubmatch(s[max(0, b.to-maxSlashes):b.to])
		if m == nil {
			return nil
		}
		return []int{len(m[1]) - 1}
	}
	if b.from < len(s) && (s[b.from] == '\n' || s[b.from] == '\r') {
		return nil // a string of JSON holds no line end
	}
	return []int{0, 1}
}

// maxSlashes is more backslashes than JSON of JSON of JSON has before a letter.
const maxSlashes = 64

var breakAtEnd = regexp.MustCompile(`(\\+)[nr]$`)

// escapedBreak is how many backslashes begin a text and make a line end of the letter behind them, 0 for none.
func escapedBreak(s string) int {
	n := 0
	for n < len(s) && s[n] == '\\' {
		n++
	}
	if n > 0 && n < len(s) && (s[n] == 'n' || s[n] == 'r') {
		return n
	}
	return 0
}

// document is JSON around a fence, with the messages behind the fence.
type document struct {
	span     memory.Span
	messages []said
}

// said are the words of a message, and whose they are.
type said struct {
	role  string // "" where none is given
	words []memory.Span
}

// lastWords are the words of users at the end.
func (d document) lastWords() []memory.Span {
	var out []memory.Span
	for _, m := range slices.Backward(d.messages) {
		if m.role != "" && m.role != memory.RoleUser.String() {
			break
		}
		for _, w := range slices.Backward(m.words) {
			out = append(out, w)
		}
	}
	slices.Reverse(out)
	return out
}

// lexer reads JSON whose quotes have so many backslashes before them.
type lexer struct {
	s       string
	slashes int
}

// quoteAt reports whether a quote that ends or begins a string is at i.
func (l lexer) quoteAt(i int) bool {
	if l.s[i] != '"' && l.s[i] != '\'' {
		return false
	}
	n := 0
	for i-n > 0 && l.s[i-n-1] == '\\' {
		n++
	}
	return n%(2*(l.slashes+1)) == l.slashes
}

// next and previous return where the next quote of the kind is from i on, and the last one before i; -1 for none.
func (l lexer) next(i int, kind byte) int {
	for ; i < len(l.s); i++ {
		if l.s[i] == kind && l.quoteAt(i) {
			return i
		}
	}
	return -1
}

func (l lexer) previous(i int, kind byte) int {
	for i--; i >= 0; i-- {
		if l.s[i] == kind && l.quoteAt(i) {
			return i
		}
	}
	return -1
}

// opening is the quote of the string that holds i: one behind a colon, a comma or a bracket.
func (l lexer) opening(i int) int {
	for q := i - 1; q >= 0; q-- {
		if l.quoteAt(q) {
			before := l.blanksBefore(q - l.slashes)
			if before > 0 && strings.IndexByte(":,[{", l.s[before-1]) >= 0 {
				return q
			}
			if l.s[q] == '"' {
				return -1
			}
		}
	}
	return -1
}

// blanksBefore is where the blanks begin that end at i, line marks of quoting and escaped line ends too.
func (l lexer) blanksBefore(i int) int {
	for i > 0 {
		switch c := l.s[i-1]; {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '>' || c == '|':
			i--
		case (c == 'n' || c == 'r' || c == 't') && i > 1 && l.s[i-2] == '\\':
			for i--; i > 0 && l.s[i-1] == '\\'; i-- {
			}
		default:
			return i
		}
	}
	return i
}

func (l lexer) blanksBehind(i int) int {
	for i < len(l.s) {
		switch c := l.s[i]; {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '>' || c == '|':
			i++
		default:
			n := escapedBreak(l.s[i:])
			if n == 0 || l.slashes == 0 {
				return i
			}
			i += n + 1
		}
	}
	return i
}

// around is the document that holds a fence.
func (l lexer) around(b block) (document, bool) {
	quote := -1
	if b.opened || b.span.Start > 0 {
		if quote = l.opening(b.span.Start); quote < 0 {
			return document{}, false
		}
	}
	start, depth := 0, 0
	if quote >= 0 {
		start, depth = l.backwards(quote - l.slashes)
	}
	end, messages := l.forwards(b, quote, depth)
	if quote >= 0 && len(messages) > 0 && messages[0].role == "" {
		messages[0].role = roleAt(l.s[start:quote])
	}
	return document{memory.Span{Start: start, End: end}, messages}, true
}

// roles matches the key before a string that names whose words it holds.
var roles = regexp.MustCompile(`(?i)['"]role\\*['"]\s*:\s*\\*['"](\w+)|['"](system)\\*['"]\s*:`)

// roleAt is the role of the string behind a text.
func roleAt(before string) string {
	before = before[max(0, len(before)-500):] // the role is next to the words
	m := roles.FindAllStringSubmatch(before, -1)
	if len(m) == 0 {
		return ""
	}
	last := m[len(m)-1]
	return strings.ToLower(last[1] + last[2])
}

// backwards reads from a string's quote towards the beginning. It returns where the outermost object or list that is open
// there begins, or what is left of it, and how many are open; a depth of 0 means that the beginning was cut off.
func (l lexer) backwards(at int) (start, open int) {
	start, closed := at, 0
	for i := at; ; {
		i = l.blanksBefore(i)
		if i == 0 {
			if open == 0 || closed > 0 {
				return 0, 0
			}
			return start, open
		}
		switch c := l.s[i-1]; {
		case c == ':' || c == ',':
			i--
		case c == '}' || c == ']':
			closed++
			i--
		case c == '{' || c == '[':
			i--
			if closed > 0 {
				closed--
				break
			}
			open++
			start = i
		case (c == '"' || c == '\'') && l.quoteAt(i-1):
			q := l.previous(i-1-l.slashes, c)
			if q < 0 {
				return start, open
			}
			i = q - l.slashes
		default:
			n := len(scalarBefore.FindString(l.s[max(0, i-40):i]))
			if n == 0 {
				return start, open
			}
			i -= n
		}
	}
}

// scalars are the values of JSON and Python that are no strings.
var (
	scalarBefore = regexp.MustCompile(`(?:\b(?:true|false|null|True|False|None)|-?\b[0-9][0-9.eE+-]*)$`)
	scalarBehind = regexp.MustCompile(`^(?:(?:true|false|null|True|False|None)\b|-?[0-9][0-9.eE+-]*)`)
)

// forwards reads from the end of a fence to the end of the JSON, and returns the messages on the way: first the rest of the
// message that holds the fence.
func (l lexer) forwards(b block, quote, depth int) (end int, messages []said) {
	own, end, ended := l.restOfString(b, quote)
	if !ended {
		return end, []said{own}
	}
	w := walk{lexer: l, own: own, stack: make([]said, depth), depth: depth, atFence: depth}
	for more := true; more; {
		end, more = w.take(end)
	}
	return end, append([]said{w.own}, w.messages...)
}

// walk is what was read of the JSON behind a fence.
type walk struct {
	lexer

	own       said   // the message that holds the fence
	messages  []said // those behind it
	stack     []said // the objects and lists that are open, the outermost first
	depth     int    // of these how many were open at the fence
	atFence   int    // how many were open there; 0 where the beginning of the JSON is cut off
	key, last string // the key of the value that comes next, "" for none, and the string before
}

// take reads the next sign, string or scalar from a place on, and returns where that ends. It reports false where the JSON ends: with
// its outermost object or list, with the text, or before what is no JSON.
func (w *walk) take(from int) (end int, more bool) {
	i := w.blanksBehind(from)
	if i == len(w.s) {
		w.closeAll()
		return i, false
	}
	c := w.s[i]
	if c == '\\' && i+w.slashes < len(w.s) && w.quoteAt(i+w.slashes) {
		i += w.slashes
		c = w.s[i]
	}
	switch {
	case c == ':':
		w.key = w.last
	case c == ',':
		w.key = ""
	case c == '{':
		w.stack, w.key = append(w.stack, said{}), ""
	case c == '[':
		w.stack = append(w.stack, said{})
	case c == '}' || c == ']':
		return i + 1, w.close()
	case w.quoteAt(i):
		return w.takeString(i)
	default:
		n := len(scalarBehind.FindString(w.s[i:min(len(w.s), i+40)]))
		if n == 0 {
			return from, false
		}
		return i + n, true
	}
	return i + 1, true
}

// close ends the innermost object or list, which is a message if it names a role. Otherwise its words are those of what is around it, or
// of the message of the fence where that was open at the fence. It reports whether more may come.
func (w *walk) close() (more bool) {
	last := len(w.stack) - 1
	if last < 0 {
		return w.atFence == 0
	}
	inner := w.stack[last]
	w.stack = w.stack[:last]
	w.depth = min(w.depth, last)
	switch {
	case inner.role != "":
		w.messages = append(w.messages, inner)
	case last <= w.depth:
		w.own.words = append(w.own.words, inner.words...)
	default:
		around := &w.stack[last-1]
		around.words = append(around.words, inner.words...)
	}
	return last > 0 || w.atFence == 0
}

// closeAll ends what began behind the fence and is cut off.
func (w *walk) closeAll() {
	w.messages = append(w.messages, w.stack[min(w.depth, len(w.stack)):]...)
}

// takeString reads the string that begins at a quote: a key, a role, words or anything else.
func (w *walk) takeString(quote int) (end int, more bool) {
	from := quote + 1
	q := w.next(from, w.s[quote])
	if q < 0 {
		return len(w.s), false
	}
	value := memory.Span{Start: from, End: q - w.slashes}
	w.last = w.s[value.Start:value.End]
	of := &w.own
	behind := len(w.stack) > w.depth // in what began behind the fence
	if behind {
		of = &w.stack[len(w.stack)-1]
	}
	switch {
	case w.key == "content" || w.key == "text":
		of.words = append(of.words, value)
	case w.key == "role" && (behind || len(w.stack) == w.atFence): // not one of what is around the fence's message
		of.role = strings.ToLower(w.last)
	}
	return q + 1, true
}

// restOfString returns the words of the string in which a fence stands, around the fence, and where the string ends; it reports
// false where the string has no end.
func (l lexer) restOfString(b block, quote int) (own said, end int, ended bool) {
	kind := byte('"')
	if at := b.span.End + l.slashes; quote >= 0 {
		kind = l.s[quote]
	} else if at < len(l.s) && l.quoteAt(at) {
		kind = l.s[at]
	}
	if quote >= 0 {
		own.words = append(own.words, memory.Span{Start: quote + 1, End: b.span.Start})
	}
	q := l.next(b.span.End, kind)
	if q < 0 {
		own.words = append(own.words, memory.Span{Start: b.span.End, End: len(l.s)})
		return own, len(l.s), false
	}
	own.words = append(own.words, memory.Span{Start: b.span.End, End: q - l.slashes})
	return own, q + 1, true
}

// unquote returns the value of a string; as it is written where it is no JSON.
func (l lexer) unquote(s string) string {
	for range depthOf(l.slashes) {
		var out string
		if json.Unmarshal([]byte(`"`+s+`"`), &out) != nil {
			return s
		}
		s = out
	}
	return s
}

// depthOf is how many times JSON was written in a string of JSON where quotes have so many backslashes: 2^n-1 at the
// depth n, and the string itself makes one more.
func depthOf(slashes int) int {
	n := 1
	for ; slashes > 0; slashes /= 2 {
		n++
	}
	return n
}
