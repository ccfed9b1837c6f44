package render

import "unicode/utf8"

// appendString appends s as a JSON string. Only what JSON asks for is escaped, so that the bytes are the same
// everywhere and readable; invalid UTF-8 becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	last := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[last:i]...), "\uFFFD"...)
				last = i + 1
			}
			i += n
			continue
		}
		dst = append(dst, s[last:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		last = i
	}
	return append(append(dst, s[last:]...), '"')
}

// list writes the elements of a JSON array or the members of an object, with commas between.
type list struct{ open bool }

func (l *list) next(dst []byte) []byte {
	if l.open {
		return append(dst, ',')
	}
	l.open = true
	return dst
}
