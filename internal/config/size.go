package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// List is a setting of several values: a list in the file, or one text with commas between them.
type List []string

func (l *List) setList(values []string) error {
	*l = nil
	for _, v := range values {
		if v = strings.TrimSpace(v); v != "" {
			*l = append(*l, v)
		}
	}
	return nil
}

// UnmarshalText reads values with commas between them.
func (l *List) UnmarshalText(text []byte) error { return l.setList(strings.Split(string(text), ",")) }

// String writes the values with commas between them.
func (l List) String() string { return strings.Join(l, ", ") }

// Size is how much of a history: a number of messages or tokens, or a fraction of the model's window. As text it is
// messages 20, tokens 3000 or fraction 0.8. The zero Size is none, written as nothing.
type Size struct {
	Messages int
	Tokens   int64
	Fraction float64
}

// The limits of a Size.
const (
	maxSizeMessages = 100_000
	maxSizeTokens   = maxTokens
)

// UnmarshalText reads a size such as tokens 3000.
func (s *Size) UnmarshalText(text []byte) error {
	*s = Size{}
	words := strings.Fields(string(text))
	if len(words) == 0 {
		return nil
	}
	if len(words) != 2 || s.set(words[0], words[1]) != nil {
		*s = Size{}
		return fmt.Errorf("%q is not a size: write messages with 1 to %d, tokens with 1 to %d or fraction with a number up to 1, such as messages 20, tokens 3000 or fraction 0.8",
			text, maxSizeMessages, maxSizeTokens)
	}
	return nil
}

// errSize stands for whatever is wrong with a size.
var errSize = errors.New("no size")

func (s *Size) set(kind, number string) error {
	n, err := strconv.ParseFloat(number, 64)
	whole := err == nil && n >= 1 && n == math.Trunc(n)
	switch {
	case kind == "messages" && whole && n <= maxSizeMessages:
		s.Messages = int(n)
	case kind == "tokens" && whole && n <= maxSizeTokens:
		s.Tokens = int64(n)
	case kind == "fraction" && err == nil && n > 0 && n <= 1:
		s.Fraction = n
	default:
		return errSize
	}
	return nil
}

// MarshalText writes the size as UnmarshalText reads it.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String writes the size as UnmarshalText reads it.
func (s Size) String() string {
	switch {
	case s.Messages > 0:
		return fmt.Sprintf("messages %d", s.Messages)
	case s.Tokens > 0:
		return fmt.Sprintf("tokens %d", s.Tokens)
	case s.Fraction > 0:
		return "fraction " + strconv.FormatFloat(s.Fraction, 'g', -1, 64)
	}
	return ""
}

// Triggers say when something happens: when any of them is reached, each of which is reached when all of its sizes are.
// As text a trigger is a size, or several with and between them; the triggers are a list, or have commas between them.
type Triggers [][]Size

func (t *Triggers) setList(values []string) error {
	var all Triggers
	for _, v := range values {
		var one []Size
		for _, part := range strings.Split(v, " and ") {
			var s Size
			if err := s.UnmarshalText([]byte(part)); err != nil {
				return err
			}
			if s != (Size{}) {
				one = append(one, s)
			}
		}
		if one != nil {
			all = append(all, one)
		}
	}
	*t = all
	return nil
}

// UnmarshalText reads triggers with commas between them.
func (t *Triggers) UnmarshalText(text []byte) error {
	return t.setList(strings.Split(string(text), ","))
}

// String writes the triggers as UnmarshalText reads them.
func (t Triggers) String() string {
	all := make([]string, len(t))
	for i, one := range t {
		sizes := make([]string, len(one))
		for j, s := range one {
			sizes[j] = s.String()
		}
		all[i] = strings.Join(sizes, " and ")
	}
	return strings.Join(all, ", ")
}
