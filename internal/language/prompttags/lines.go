package prompttags

import "strings"

// Indentation begins every line of an entry but its first.
const Indentation = "  "

// Indent puts Indentation after every line end within a text, so that no line of it can pass for an entry of its own:
// another speaker's words, a heading or a date.
func Indent(s string) string { return Entry("", s, "") }

// Entry is a text with Indent, behind its head and before its end. It is copied once at most.
func Entry(head, s, end string) string {
	var b strings.Builder
	start := 0
	for i := 0; i < len(s); {
		n := lineEnd(s, i)
		if n == 0 {
			i++
			continue
		}
		i += n
		if start == 0 { // lines are longer than 16 bytes, mostly
			b.Grow(len(head) + len(s) + len(s)/8 + len(Indentation) + len(end))
			b.WriteString(head)
		}
		b.WriteString(s[start:i])
		b.WriteString(Indentation)
		start = i
	}
	if start == 0 {
		return head + s + end
	}
	b.WriteString(s[start:])
	b.WriteString(end)
	return b.String()
}

// lineEnd is how many bytes the line end at i takes, 0 where none is. It is asked of every byte of a context.
func lineEnd(s string, i int) int {
	c := s[i]
	switch {
	case c > '\r' && c < 0xC2 || c < '\n':
		return 0
	case c == '\r' && strings.HasPrefix(s[i:], "\r\n"):
		return 2
	case c <= '\r':
		return 1
	case strings.HasPrefix(s[i:], "\u0085"):
		return len("\u0085")
	case strings.HasPrefix(s[i:], "\u2028"), strings.HasPrefix(s[i:], "\u2029"):
		return len("\u2028")
	}
	return 0
}
