package toolcalls

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The limits of sizes that are written down.
const (
	MaxMessages = 100_000
	MaxTokens   = 10_000_000
)

// UnmarshalText reads a trigger such as tokens 3000, or of several sizes, all of which must be reached: messages 20 and
// tokens 8000. No text is the zero Trigger.
func (t *Trigger) UnmarshalText(text []byte) error {
	*t = Trigger{}
	for _, part := range strings.Split(string(text), " and ") {
		if err := t.add(part); err != nil {
			*t = Trigger{}
			return err
		}
	}
	return nil
}

// String writes a trigger as UnmarshalText reads it.
func (t Trigger) String() string {
	var sizes []string
	if t.Messages > 0 {
		sizes = append(sizes, fmt.Sprintf("messages %d", t.Messages))
	}
	if t.Tokens > 0 {
		sizes = append(sizes, fmt.Sprintf("tokens %d", t.Tokens))
	}
	if t.Fraction > 0 {
		sizes = append(sizes, "fraction "+strconv.FormatFloat(t.Fraction, 'g', -1, 64))
	}
	return strings.Join(sizes, " and ")
}

// UnmarshalText reads what to keep, such as messages 20. No text is the zero Keep.
func (k *Keep) UnmarshalText(text []byte) error {
	var t Trigger
	*k = Keep{}
	if err := t.add(string(text)); err != nil {
		return err
	}
	*k = Keep(t)
	return nil
}

// String writes a Keep of one size as UnmarshalText reads it.
func (k Keep) String() string { return Trigger(k).String() }

// add reads one size. Of two of a kind the larger counts.
func (t *Trigger) add(text string) error {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil
	}
	if len(words) != 2 || t.set(words[0], words[1]) != nil {
		return fmt.Errorf("%q is not a size: write messages with 1 to %d, tokens with 1 to %d "+
			"or fraction with a number up to 1, such as messages 20, tokens 3000 or fraction 0.8",
			text, MaxMessages, MaxTokens)
	}
	return nil
}

// errSize stands for whatever is wrong with a size.
var errSize = errors.New("no size")

func (t *Trigger) set(kind, number string) error {
	n, err := strconv.ParseFloat(number, 64)
	whole := err == nil && n >= 1 && n == math.Trunc(n)
	switch {
	case kind == "messages" && whole && n <= MaxMessages:
		t.Messages = max(t.Messages, int(n))
	case kind == "tokens" && whole && n <= MaxTokens:
		t.Tokens = max(t.Tokens, int64(n))
	case kind == "fraction" && err == nil && n > 0 && n <= 1:
		t.Fraction = max(t.Fraction, n)
	default:
		return errSize
	}
	return nil
}
