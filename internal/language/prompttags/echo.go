package prompttags

import (
	"regexp"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/memory"
)

// Echoes are the spans of a text that repeat what was rendered under one of the ids, ascending and apart: fences with what
// they hold, and where a fence is within the JSON of a provider's request, all of that request but what its last messages
// are given by their user: these may be nowhere else. Of such words, those that recorded reports are stored elsewhere are
// an echo too; nil for none.
//
// A fence is known in whatever spelling its tags have survived: escaped for JSON or HTML, any number of times, quoted,
// indented, in a code block, disarmed. It ends where as many tags of its own spelling close as opened; what holds other
// spellings is content that was disarmed. Cut off at its end it goes to the end of the text, cut off at its beginning it
// begins with the text. Tags without one of the ids are ordinary text.
func Echoes(text string, ids []ID, recorded func(words string) bool) []memory.Span {
	if !slices.ContainsFunc(ids, func(id ID) bool { return strings.Contains(text, string(id)) }) {
		return nil
	}
	t := unescapeHTML(text)
	blocks := blocksOf(t.text, tagsOf(t.text, ids))
	spans := make([]memory.Span, 0, len(blocks))
	looked, doc := 0, memory.Span{Start: len(t.text)}
	for _, b := range slices.Backward(blocks) { // the last fence of a request says what is behind all of them
		spans = append(spans, b.span)
		if looked == maxDocuments || b.span.Start >= doc.Start {
			continue
		}
		looked++
		if around, span := enclosing(t.text, b, recorded); len(around) > 0 {
			spans, doc = append(spans, around...), span
		}
	}
	spans = decorated(t.text, union(spans))
	for i, s := range spans {
		spans[i] = memory.Span{Start: t.place(s.Start), End: t.place(s.End)}
	}
	return spans
}

// MayHold is a quick look at whether a text may hold a fence at all.
func MayHold(text string) bool {
	return strings.Contains(text, stem) || strings.Contains(text, strings.ToUpper(stem)) || strings.Contains(text, "Strata")
}

// Remembered are the pieces of an echo that memory wrote: what is in fences of what memory knows, or of state, or all of an
// echo that is one piece of such a fence. The rest of a rendering is words that are in the transcript.
func Remembered(echo string) []string {
	t := unescapeHTML(echo)
	var out []string
	for _, b := range blocksOf(t.text, slices.DeleteFunc(tagsOf(t.text, nil), func(g tag) bool { return g.name == Context })) {
		out = append(out, t.text[b.from:b.to])
	}
	return out
}

// maxDocuments is in how many places of a text JSON around a fence is looked for.
const maxDocuments = 16

// tag is a tag of a fence in a text.
type tag struct {
	start, end int
	closes     bool
	name       Name
	spelling   string // of the hyphen before the name: each time content was disarmed it has another
}

// tagForm matches a tag in any spelling, once HTML is unescaped: its brackets may be wide ones or escaped for JSON or for
// addresses, its hyphens disarmed by backslashes, escaped or replaced by another dash.
var tagForm = regexp.MustCompile(
	`(?i)(?:[<＜\[]|\\+u003c|%3c)[\s\\]*(/|%2f)?\s*strata(\\*(?:[-_\x{2010}-\x{2015}\x{2212}\x{ad}]|u002d|%2d))` +
		`(memory|state|context)\\*(?:[-_\x{2010}-\x{2015}\x{2212}\x{ad}]|u002d|%2d)([0-9a-f]{16})\s*(?:[>＞\]]|\\+u003e|%3e)?`,
)

// tagsOf are the tags of a text under one of the ids, or under any.
func tagsOf(s string, ids []ID) []tag {
	var out []tag
	for _, m := range tagForm.FindAllStringSubmatchIndex(s, -1) {
		if ids != nil && !slices.Contains(ids, ID(strings.ToLower(s[m[8]:m[9]]))) {
			continue
		}
		out = append(out, tag{m[0], m[1], m[2] >= 0, Name(strings.ToLower(s[m[6]:m[7]])), s[m[4]:m[5]]})
	}
	return out
}

// block is a fence in a text.
type block struct {
	span     memory.Span // with its tags
	from, to int         // what it holds
	opened   bool        // whether its opening tag is there
}

// blocksOf are the outermost fences that the tags make.
func blocksOf(s string, tags []tag) []block {
	var out []block
	from := 0
	for i := 0; i < len(tags); i++ {
		t := tags[i]
		if t.closes { // without an opening tag: it was cut off
			out = append(out, block{memory.Span{Start: from, End: t.end}, from, t.start, false})
			from = t.end
			continue
		}
		last := closing(tags, i)
		if last < 0 {
			return append(out, block{memory.Span{Start: t.start, End: len(s)}, t.end, len(s), true})
		}
		from = tags[last].end
		out = append(out, block{memory.Span{Start: t.start, End: from}, t.end, tags[last].start, true})
		i = last
	}
	return out
}

// closing is the tag that closes the one at i, -1 when none does.
func closing(tags []tag, i int) int {
	depth := 0
	for j := i; j < len(tags); j++ {
		if tags[j].name != tags[i].name || tags[j].spelling != tags[i].spelling {
			continue
		}
		if !tags[j].closes {
			depth++
		} else if depth--; depth == 0 {
			return j
		}
	}
	return -1
}

// decoration is what quoting puts directly before a fence, and codeEnd what ends a code block directly behind it.
var (
	decoration = regexp.MustCompile("(?:^|\n)[ \t>|]*(?:(?:```|~~~)[\\w+-]*[ \t]*(?:\r?\n)[ \t>|]*)?$")
	codeEnd    = regexp.MustCompile("^[ \t]*\r?\n?[ \t>|]*(?:```|~~~)")
)

// decorated are the spans with the marks of quoting and of code blocks around them.
func decorated(s string, spans []memory.Span) []memory.Span {
	for i := range spans {
		start := spans[i].Start
		window := max(0, start-200) // more than any decoration
		if at := decoration.FindStringIndex(s[window:start]); at != nil {
			start = window + at[0]
		}
		spans[i].Start = start
		if strings.ContainsAny(s[start:min(len(s), start+200)], "`~") {
			if at := codeEnd.FindStringIndex(s[spans[i].End:min(len(s), spans[i].End+200)]); at != nil {
				spans[i].End += at[1]
			}
		}
	}
	return union(spans)
}

// union is the spans ascending and apart.
func union(spans []memory.Span) []memory.Span {
	slices.SortFunc(spans, func(a, b memory.Span) int { return a.Start - b.Start })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, s.End)
			continue
		}
		if s.Start < s.End {
			out = append(out, s)
		}
	}
	return out
}

// unescaped is a text with its HTML escapes undone as far as tags and quotes need it, and where its bytes come from.
type unescaped struct {
	text  string
	marks []mark
}

// mark means that the bytes of the unescaped text from at on come from shift bytes further.
type mark struct{ at, shift int }

var entity = regexp.MustCompile(`(?i)&(?:amp;)*(?:lt|gt|quot|apos|hyphen|#0*(?:34|39|45|60|62)|#x0*(?:22|27|2d|3c|3e));`)

func unescapeHTML(s string) unescaped {
	found := entity.FindAllStringIndex(s, -1)
	if len(found) == 0 {
		return unescaped{text: s}
	}
	var b strings.Builder
	var marks []mark
	last := 0
	for _, m := range found {
		b.WriteString(s[last:m[0]])
		b.WriteByte(meant(s[m[0]:m[1]]))
		last = m[1]
		marks = append(marks, mark{b.Len(), last - b.Len()})
	}
	b.WriteString(s[last:])
	return unescaped{b.String(), marks}
}

// meant is the character of an entity.
func meant(e string) byte {
	e = strings.ToLower(strings.TrimSuffix(e[1:], ";"))
	e = strings.ReplaceAll(e, "amp;", "")
	if strings.HasPrefix(e, "#") {
		e = strings.TrimLeft(e[1:], "0")
		if strings.HasPrefix(e, "x") {
			e = "x" + strings.TrimLeft(e[1:], "0")
		}
	}
	switch e {
	case "lt", "60", "x3c":
		return '<'
	case "gt", "62", "x3e":
		return '>'
	case "quot", "34", "x22":
		return '"'
	case "apos", "39", "x27":
		return '\''
	}
	return '-'
}

// place is where a byte of the unescaped text is in the text itself.
func (u unescaped) place(at int) int {
	i, _ := slices.BinarySearchFunc(u.marks, at, func(m mark, at int) int {
		if m.at <= at {
			return -1
		}
		return 1
	})
	if i == 0 {
		return at
	}
	return at + u.marks[i-1].shift
}
