package memory

import (
	"strconv"
	"strings"
)

// Secret is where a text says something that nobody may learn from a copy of it, in bytes.
type Secret struct {
	Span
	Kind string `json:"k"`           // what it is, in words, such as "github token"
	No   int    `json:"n,omitempty"` // numbers several of a kind in a message, from 2; 0 for the first
}

// Mask is what is said in the secret's place: the same in each copy of a message, and nothing that the secret could be
// guessed by.
func (s Secret) Mask() string {
	if s.No > 1 {
		return "[secret: " + s.Kind + " " + strconv.Itoa(s.No) + "]"
	}
	return "[secret: " + s.Kind + "]"
}

// Masked is a text with masks in the place of secrets, which stand in it ascending and apart. Those that do not fit the text
// are cut to it.
func Masked(text string, secrets []Secret) string {
	if len(secrets) == 0 {
		return text
	}
	var b strings.Builder
	from := 0
	for _, s := range secrets {
		start, end := min(max(s.Start, from), len(text)), min(max(s.End, from), len(text))
		if start >= end {
			continue
		}
		b.WriteString(text[from:start])
		b.WriteString(s.Mask())
		from = end
	}
	b.WriteString(text[from:])
	return b.String()
}
