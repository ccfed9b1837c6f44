package memory_test

import (
	"testing"

	"github.com/stratamem/strata/internal/memory"
)

func TestSecrets(t *testing.T) {
	secret := func(start, end, no int) memory.Secret {
		return memory.Secret{Span: memory.Span{Start: start, End: end}, Kind: "password", No: no}
	}
	one := func(text string, of ...memory.Secret) memory.Message {
		p := memory.TextPart(text)
		p.Secrets = of
		return memory.Message{Parts: []memory.Part{p}}
	}
	t.Run("what is said has masks, the message itself has not", func(t *testing.T) {
		m := one("a hunter2 b hunter3", secret(2, 9, 0), secret(12, 19, 2))
		if m.SaidText() != "a [secret: password] b [secret: password 2]" || m.PlainText() != "a hunter2 b hunter3" {
			t.Errorf("%q, %q", m.SaidText(), m.PlainText())
		}
	})
	t.Run("a span of what is said is where it stands in the message", func(t *testing.T) {
		m := one("pw hunter2 is old", secret(3, 10, 0))
		said := m.SaidText() // pw [secret: password] is old
		for in, want := range map[memory.Span]memory.Span{
			{Start: 0, End: 2}: {Start: 0, End: 2}, {Start: 0, End: 5}: {Start: 0, End: 10}, {Start: 5, End: len(said)}: {Start: 3, End: 17},
			{Start: len(said) - 3, End: len(said)}: {Start: 14, End: 17}, {Start: 0, End: len(said)}: {Start: 0, End: 17},
		} {
			if got := m.PlainSpan(in); got != want {
				t.Errorf("%v (%q): %v, want %v", in, said[in.Start:in.End], got, want)
			}
		}
	})
	t.Run("echoes are left out and secrets masked in what is left", func(t *testing.T) {
		m := one("ECHO hunter1. my pw is hunter2 now", secret(5, 12, 0), secret(23, 30, 2))
		m.Parts[0].Echoes = []memory.Span{{Start: 0, End: 13}}
		if got := m.SaidText(); got != "my pw is [secret: password 2] now" {
			t.Errorf("%q", got)
		}
		if got := m.PlainSpan(memory.Span{Start: 3, End: 12}); got != (memory.Span{Start: 17, End: 30}) {
			t.Errorf("%v", got)
		}
		if got := m.Parts[0].Echoed(); got[0] != "ECHO [secret: password]." {
			t.Errorf("%q", got)
		}
	})
	t.Run("calls, results, URIs and opaque parts are masked too, and only copies are", func(t *testing.T) {
		s := []memory.Secret{secret(0, 4, 0)}
		parts := []memory.Part{
			{Kind: memory.PartToolCall, Arguments: "abcd", Secrets: s},
			{Kind: memory.PartURI, URI: "abcd", Secrets: s},
			{Kind: memory.PartOpaque, JSON: "abcd", Secrets: s},
			{Kind: memory.PartReasoning, Text: "abcd", Secrets: s},
		}
		result := memory.Part{Kind: memory.PartToolResult, Parts: parts}
		got := result.Masked().Parts
		for i, text := range []string{got[0].Arguments, got[1].URI, got[2].JSON, got[3].Text} {
			if text != "[secret: password]" || parts[i].Said() != text || parts[i].Secrets == nil {
				t.Errorf("%d: %q, %q", i, text, parts[i].Said())
			}
		}
	})
	t.Run("spans that do not fit a text are cut to it", func(t *testing.T) {
		if got := one("abc", secret(2, 9, 0), secret(12, 19, 0), secret(-4, -2, 0)).SaidText(); got != "ab[secret: password]" {
			t.Errorf("%q", got)
		}
	})
}
