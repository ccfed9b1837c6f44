package toolcalls_test

import (
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/memory/toolcalls"
)

func TestTriggersAreReadAndWritten(t *testing.T) {
	for text, want := range map[string]toolcalls.Trigger{
		"":                            {},
		"messages 50":                 {Messages: 50},
		"fraction 0.8":                {Fraction: .8},
		"messages 20 and tokens 8000": {Messages: 20, Tokens: 8000},
	} {
		t.Run("a trigger of "+text, func(t *testing.T) {
			var got toolcalls.Trigger
			if err := got.UnmarshalText([]byte(text)); err != nil || got != want || got.String() != text {
				t.Errorf("got %+v, %v, written as %q", got, err, got)
			}
		})
	}
	for _, text := range []string{"50", "messages", "messages 0", "messages 1.5", "tokens -1", "fraction 1.1", "fraction 0", "words 5", "messages 50 tokens 5", "fraction NaN"} {
		t.Run(text+" is refused with what to write", func(t *testing.T) {
			var trigger toolcalls.Trigger
			var keep toolcalls.Keep
			for _, err := range []error{trigger.UnmarshalText([]byte(text)), keep.UnmarshalText([]byte(text))} {
				if err == nil || !strings.Contains(err.Error(), "such as messages 20") {
					t.Errorf("got %v, %v, %v", trigger, keep, err)
				}
			}
		})
	}
}
