package assembly

import (
	"bytes"
	"strings"

	"github.com/stratamem/strata/internal/contexts/assembly/render"
	"github.com/stratamem/strata/internal/memory"
)

// itemBytes is an upper estimate of what an item takes in the reply beside its words and ids.
const itemBytes = 256

// messageBytes is an upper estimate of what a message takes in a structured reply beside its parts, ids and labels.
const messageBytes = 512

// partBytes is an upper estimate of what a part takes beside its contents.
const partBytes = 96

// imageBytes is an upper estimate of what an image's size and detail take.
const imageBytes = 24

// groupBytes is an upper estimate of what a group takes in the reply.
func groupBytes(in *Input, c *conversation, g *group) int {
	var n int
	structured := in.Render == RenderStructured
	for _, e := range g.entries {
		m := &c.entries[e].msg
		n += itemBytes + len(m.ID) + 3*len(m.Name) + len(in.SessionID)
		if structured {
			n += messageSize(m)
		}
		if structured && g.isWhole(&c.entries[e]) {
			n += partsBytes(m.Parts)
			continue
		}
		for i := range g.blocks {
			if g.blocks[i].Message == m {
				n += partsBytes(g.blocks[i].Parts) + verbatimBytes(&g.blocks[i])
			}
		}
	}
	return n
}

// verbatimBytes is what a block takes that is passed on as it came.
func verbatimBytes(b *render.Block) int {
	if b.Verbatim == nil {
		return 0
	}
	return len(b.Verbatim.JSON)
}

// messageSize is what the item of a structured reply carries with its message beside the parts.
func messageSize(m *memory.Message) int {
	n := messageBytes + escapedBytes(m.ID) + escapedBytes(m.Name) + objectBytes(m.Metadata)
	for _, t := range m.Tags {
		n += escapedBytes(t) + 8
	}
	return n
}

func partsBytes(parts []memory.Part) int {
	var n int
	for i := range parts {
		p := &parts[i]
		n += partBytes + escapedBytes(p.Text) + escapedBytes(p.Name) + 2*escapedBytes(p.Arguments) + escapedBytes(p.CallID) +
			escapedBytes(p.URI) + 2*len(p.MIMEType) + escapedBytes(p.Signature) + len(p.Data)/3*4 + 4 + escapedBytes(p.Type) +
			escapedBytes(p.JSON) + partsBytes(p.Parts)
		if p.Image != nil {
			n += imageBytes
		}
	}
	return n
}

// What a JSON value takes at most as a protobuf Value beside its words: tags of a byte, lengths of at most four.
const (
	containerBytes = 10 // the value's tag and length, and those of its object or list
	wordsBytes     = 10 // the same of a string, or of a member and its name
	scalarBytes    = 11 // a value's tag and length with a number of nine bytes, the largest of the others
	exponentBytes  = 26 // a number that is written with an exponent may come back as all its digits
)

// objectBytes is the most that a JSON object takes as a protobuf Struct, which is up to some six times its JSON: the
// two bytes of "1," make eleven.
func objectBytes(raw []byte) int {
	n := 0
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '{' || c == '[':
			n += containerBytes
			i++
		case c == '"':
			end := stringEnd(raw, i+1)
			n += wordsBytes + end - i
			i = end
		case strings.IndexByte("]}:, \t\r\n", c) >= 0:
			n++
			i++
		default:
			end := i
			for end < len(raw) && strings.IndexByte("]},: \t\r\n", raw[end]) < 0 {
				end++
			}
			n += max(scalarBytes, end-i)
			if bytes.ContainsAny(raw[i:end], "eE") && c != 't' && c != 'f' {
				n += exponentBytes - scalarBytes
			}
			i = end
		}
	}
	return n
}

// stringEnd is where the string ends whose opening quote is before from.
func stringEnd(raw []byte, from int) int {
	for i := from; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// escapedBytes is what s takes within a JSON string. Disarming a fence adds less than the slack of itemBytes, or is
// counted here: a hyphen counts twice.
func escapedBytes(s string) int {
	n := len(s)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\' || c == '-' || c == '\n':
			n++
		case c < ' ':
			n += 5
		case c >= 0x80 && c < 0xC0:
			n++
		}
	}
	return n
}
