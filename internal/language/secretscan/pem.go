package secretscan

import (
	"strings"

	"github.com/stratamem/strata/internal/memory"
)

// Marks of a private key in PEM (RFC 7468) and of what OpenSSH and PGP make of it.
const (
	beginMark = "-----BEGIN "
	endMark   = "-----END "
	keyMark   = "PRIVATE KEY"
	dashes    = "-----"
)

// privateKeys are the private keys in a text, with their first and last lines; of one that is cut off, all that its lines may
// be made of.
func privateKeys(text string) []found {
	var out []found
	ending := 0 // where the next end is, len(text) for none
	for at := 0; ; {
		i := strings.Index(text[at:], beginMark)
		if i < 0 {
			return out
		}
		start := at + i
		at = start + len(beginMark)
		title, _, ok := strings.Cut(text[at:min(len(text), at+100)], dashes)
		if !ok || !strings.Contains(title, keyMark) {
			continue
		}
		body := at + len(title) + len(dashes)
		if ending < body {
			ending = next(text, body, endMark)
		}
		end := keyEnd(text, body)
		if ending < min(len(text), next(text, body, beginMark)) {
			end = ending + len(endMark)
			if rest := strings.Index(text[end:min(len(text), end+100)], dashes); rest >= 0 {
				end += rest + len(dashes)
			}
		}
		out = append(out, found{span: memory.Span{Start: start, End: end}, kind: "private key"})
		at = end
	}
}

// next is where a mark is from a place on, len(text) for nowhere.
func next(text string, at int, mark string) int {
	if i := strings.Index(text[at:], mark); i >= 0 {
		return at + i
	}
	return len(text)
}

// keyEnd is where the lines end that a key's lines may be: headers, and runs of what keys are encoded in. A short line is one
// only right after a long one.
func keyEnd(text string, at int) int {
	end, long := at, true
	for at < len(text) {
		line := text[at:min(len(text), at+lineBytes)]
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		said := strings.TrimRight(line, " \r\n")
		n := encoded(said)
		header := strings.HasPrefix(said[n:], ": ") && n > 0
		switch {
		case said == "":
			long = false
		case n == len(said) && (long || n >= keyLine), header:
			end, long = at+len(said), n >= keyLine || header
		case n >= keyLine: // words follow in the same line
			return at + n
		default:
			return end
		}
		at += len(line)
	}
	return end
}

// lineBytes is how much of a line is looked at together: those of keys are shorter, and a key in one line goes on.
const lineBytes = 512

// keyLine is the fewest bytes of a line that is part of a key wherever it is.
const keyLine = 40

// encoded is how many bytes at a text's start keys are encoded in, ends of lines in JSON among them.
func encoded(text string) int {
	for i := range len(text) {
		if !isWord(text[i]) && strings.IndexByte("+/=-\\", text[i]) < 0 {
			return i
		}
	}
	return len(text)
}
