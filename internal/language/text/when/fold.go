package when

import "golang.org/x/text/unicode/norm"

// folded is a text in NFKC, in which digits of full width are digits and letters are composed, with the places of its
// bytes in the original. Both lists are nil where the original is in NFKC.
type folded struct {
	text     string
	from, to []int
}

func fold(s string) folded {
	if norm.NFKC.IsNormalString(s) {
		return folded{text: s}
	}
	var f folded
	var out []byte
	for at := 0; at < len(s); {
		n := norm.NFKC.NextBoundaryInString(s[at:], true)
		out = norm.NFKC.AppendString(out, s[at:at+n])
		for len(f.from) < len(out) {
			f.from, f.to = append(f.from, at), append(f.to, at+n)
		}
		at += n
	}
	f.text = string(out)
	return f
}

// starts is where the character at byte i starts in the original.
func (f folded) starts(i int) int {
	if f.from == nil {
		return i
	}
	return f.from[i]
}

// ends is where the character before byte i ends in the original. i is not 0.
func (f folded) ends(i int) int {
	if f.to == nil {
		return i
	}
	return f.to[i-1]
}
