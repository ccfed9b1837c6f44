package secretscan

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/memory"
)

// Remove returns messages and a state's patch with masks in the place of secrets, in every text: parts, tags, metadata and
// originals. Ids, names, roles, attachments and encrypted reasoning are as they were; the signature of reasoning that a mask
// changed is gone, since it does not fit any more. What was JSON still is.
func Remove(messages []memory.Message, patch json.RawMessage) ([]memory.Message, json.RawMessage) {
	turn := make([][]memory.Part, 0, len(messages)+1)
	for _, m := range messages {
		turn = append(turn, append(slices.Clone(m.Parts), besides(m)...))
	}
	turn = append(turn, []memory.Part{jsonPart(patch)})
	marked := Mark(turn)
	out := slices.Clone(messages)
	for i := range out {
		removeFrom(&out[i], marked[i])
	}
	if p := marked[len(messages)][0]; len(p.Secrets) > 0 {
		patch = json.RawMessage(maskedJSON(p.JSON, p.Secrets))
	}
	return out, patch
}

// besides are the texts of a message that are no parts of it: metadata, the original and tags, in this order.
func besides(m memory.Message) []memory.Part {
	out := []memory.Part{jsonPart(m.Metadata), {Kind: memory.PartText}}
	if m.Original != nil {
		switch {
		case json.Valid(m.Original.Data):
			out[1] = jsonPart(m.Original.Data)
		case utf8.Valid(m.Original.Data):
			out[1].Text = string(m.Original.Data)
		}
	}
	for _, tag := range m.Tags {
		out = append(out, memory.TextPart(tag))
	}
	return out
}

func jsonPart(raw []byte) memory.Part {
	return memory.Part{Kind: memory.PartOpaque, JSON: string(raw)}
}

// removeFrom takes the secrets out of a message whose parts and texts besides are marked.
func removeFrom(m *memory.Message, marked []memory.Part) {
	n := len(m.Parts)
	m.Parts = removed(marked[:n])
	metadata, original, tags := marked[n], marked[n+1], marked[n+2:]
	if len(metadata.Secrets) > 0 {
		m.Metadata = json.RawMessage(maskedJSON(metadata.JSON, metadata.Secrets))
	}
	if len(original.Secrets) > 0 {
		o := *m.Original
		if o.Data = []byte(memory.Masked(original.Text, original.Secrets)); original.Kind == memory.PartOpaque {
			o.Data = []byte(maskedJSON(original.JSON, original.Secrets))
		}
		m.Original = &o
	}
	for i, p := range tags {
		if len(p.Secrets) > 0 {
			m.Tags = slices.Clone(m.Tags)
			m.Tags[i] = p.Masked().Text
		}
	}
}

// removed are parts with masks in the place of their secrets.
func removed(parts []memory.Part) []memory.Part {
	out := slices.Clone(parts)
	for i := range out {
		p := &out[i]
		if p.Parts != nil {
			p.Parts = removed(p.Parts)
		}
		if len(p.Secrets) == 0 {
			continue
		}
		found := p.Secrets
		p.Secrets = nil
		switch p.Kind {
		case memory.PartToolCall:
			p.Arguments = maskedJSON(p.Arguments, found)
		case memory.PartOpaque:
			p.JSON = maskedJSON(p.JSON, found)
		case memory.PartURI:
			p.URI = strings.NewReplacer(" ", "%20", "[", "%5B", "]", "%5D").Replace(memory.Masked(p.URI, found))
		default:
			p.Text, p.Signature = memory.Masked(p.Text, found), ""
		}
	}
	return out
}

// maskedJSON is a text with masks in the place of secrets, which is JSON where it was: a number becomes a string.
func maskedJSON(raw string, secrets []memory.Secret) string {
	if !json.Valid([]byte(raw)) {
		return memory.Masked(raw, secrets)
	}
	var b strings.Builder
	from := 0
	literals(raw, func(start, end int, quoted bool) {
		value := raw[start:end]
		if !quoted {
			value = `"` + value + `"`
		}
		said, ok := unquoted(value)
		hit := slices.IndexFunc(secrets, func(s memory.Secret) bool { return s.Start < end && s.End > start })
		if hit < 0 || !ok {
			return
		}
		b.WriteString(raw[from:start])
		b.WriteString(quote(maskedLiteral(raw[start:end], said, start, secrets)))
		from = end
	})
	b.WriteString(raw[from:])
	return b.String()
}

// maskedLiteral returns the value of a string or number of JSON with masks in it. Where escapes keep its bytes from being
// those of the text, all of it is masked.
func maskedLiteral(literal, said string, start int, all []memory.Secret) string {
	inside := strings.TrimSuffix(strings.TrimPrefix(literal, `"`), `"`)
	offset := start + strings.Index(literal, inside)
	var found []memory.Secret
	for _, s := range all {
		if s.Start < start+len(literal) && s.End > start {
			s.Start, s.End = max(s.Start-offset, 0), min(s.End-offset, len(inside))
			found = append(found, s)
		}
	}
	if inside != said {
		found = []memory.Secret{{Span: memory.Span{End: len(said)}, Kind: found[0].Kind}}
	}
	return memory.Masked(said, found)
}

// literals calls found for each string and number in a text of valid JSON, with their quotes.
func literals(raw string, found func(start, end int, quoted bool)) {
	for i := 0; i < len(raw); i++ {
		start := i
		switch b := raw[i]; {
		case b == '"':
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			found(start, min(i+1, len(raw)), true)
		case b == '-' || '0' <= b && b <= '9':
			for i+1 < len(raw) && strings.IndexByte("0123456789+-.eE", raw[i+1]) >= 0 {
				i++
			}
			found(start, i+1, false)
		}
	}
}

func unquoted(literal string) (said string, ok bool) {
	return said, json.Unmarshal([]byte(literal), &said) == nil
}

func quote(said string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(said); err != nil {
		return `"[secret]"` // a string always has a form
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// RemoveFrom returns one message with masks in the place of secrets, as Remove does.
func RemoveFrom(m memory.Message) memory.Message {
	masked, _ := Remove([]memory.Message{m}, nil)
	return masked[0]
}
