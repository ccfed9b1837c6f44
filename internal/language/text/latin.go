package text

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// foldAccents drops the accents of Latin letters, because many who write leave them out.
func foldAccents(w string) string {
	i := 0
	for i < len(w) && w[i] < utf8.RuneSelf {
		i++
	}
	if i == len(w) {
		return w
	}
	out := append(make([]byte, 0, len(w)), w[:i]...)
	latin := i > 0
	for _, r := range w[i:] {
		if latin && r >= 0x300 && r < 0x370 {
			continue
		}
		latin = unicode.Is(unicode.Latin, r)
		if latin {
			r = bare(r)
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}

// bare is the letter under the accents of r.
func bare(r rune) rune {
	if r < utf8.RuneSelf {
		return r
	}
	var buf [utf8.UTFMax]byte
	n := utf8.EncodeRune(buf[:], r)
	if d := norm.NFD.Properties(buf[:n]).Decomposition(); len(d) > 0 {
		r, _ = utf8.DecodeRune(d)
	}
	return r
}
