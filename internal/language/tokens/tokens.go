// Package tokens counts the tokens of texts and messages. It is pure.
package tokens

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/memory"
)

// Counter counts what a text costs. A cost is in units, and Per units make a token, so that costs of many short texts add
// up without rounding each of them. Every Counter must be safe for concurrent use, must take time linear in the text up to
// a logarithm, and must cost nothing for the empty text.
type Counter interface {
	// Name is the counter's name in policies and replies.
	Name() string
	// Cost is what s costs, in units.
	Cost(s string) int64
	// Per is how many units make a token, at least 1.
	Per() int64
}

// The names that ByName knows.
const (
	O200K    = "o200k_base"
	CL100K   = "cl100k_base"
	Chars4   = "chars_4"
	Estimate = "estimate"
)

// Names are the names that ByName knows, in the order in which they are documented.
func Names() []string { return []string{O200K, CL100K, Chars4, Estimate} }

// ByName returns the counter of that name. An unknown name is a memory.Error naming the known ones.
func ByName(name string) (Counter, error) {
	switch name {
	case O200K:
		return byO200K(), nil
	case CL100K:
		return byCL100K(), nil
	case Chars4:
		return chars4{}, nil
	case Estimate:
		return estimate{}, nil
	}
	return nil, memory.InvalidField("counter", "no token counter is named %q; use one of %s", name, strings.Join(Names(), ", "))
}

// Within returns a counter that stops counting soon after ctx has ended; its counts are then meaningless, so callers must
// look at ctx before they use one. The exact counters take a second for some megabytes.
func Within(ctx context.Context, c Counter) Counter {
	if exact, ok := c.(bpe); ok {
		exact.ended = func() bool { return ctx.Err() != nil }
		return exact
	}
	return c
}

// Tokens is what a cost comes to in tokens, rounded up.
func Tokens(c Counter, cost int64) int64 {
	return (cost + c.Per() - 1) / c.Per()
}

// ToolsField is the field of a request that holds tools as JSON.
const ToolsField = "tools_json"

// Tools returns the cost of the tools that a model is offered, given as the JSON text that is sent to it. Blanks between
// values are left out, as clients leave them out. Providers do not publish how they render the schemas, so this is an
// estimate by every counter. A text that is not JSON is a memory.Error naming the field.
func Tools(schemas string, c Counter, field string) (int64, error) {
	if schemas == "" {
		return 0, nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(schemas)); err != nil {
		return 0, memory.InvalidField(field, "is not JSON: give the list of tools as it is sent to the model")
	}
	return c.Cost(compact.String()), nil
}

// chars4 counts four Unicode code points as a token.
type chars4 struct{}

func (chars4) Name() string        { return Chars4 }
func (chars4) Per() int64          { return 4 }
func (chars4) Cost(s string) int64 { return int64(utf8.RuneCountInString(s)) }

// Placeholder is the text that replaces an attachment where the attachment itself cannot be sent.
func Placeholder(p memory.Part) string {
	kind := p.MIMEType
	if kind == "" {
		kind = "attachment"
	}
	if p.Kind == memory.PartURI {
		return "[" + kind + ", " + p.URI + "]"
	}
	return fmt.Sprintf("[%s, %d bytes]", kind, len(p.Data))
}

// Join separates the parts of a message where they become one text.
const Join = "\n\n"

// Content is the cost of a message's content: its texts, the names and arguments of its tool calls, and what is inside its
// tool results. An image costs what Image returns, another attachment its Placeholder. Between two parts the Join is
// counted. Reasoning and opaque parts cost nothing here: opaque parts are never rendered, and reasoning only where a
// provider wants it back, which the renderer must count.
func Content(m memory.Message, c Counter) int64 {
	return partsCost(m.Parts, c)
}

func partsCost(parts []memory.Part, c Counter) int64 {
	var cost int64
	for i, p := range parts {
		if i > 0 {
			cost += c.Cost(Join)
		}
		cost += partCost(p, c)
	}
	return cost
}

func partCost(p memory.Part, c Counter) int64 {
	switch p.Kind {
	case memory.PartText:
		return c.Cost(p.Text)
	case memory.PartToolCall:
		return c.Cost(p.Name) + c.Cost(p.Arguments)
	case memory.PartToolResult:
		return partsCost(p.Parts, c)
	case memory.PartBlob, memory.PartURI:
		if IsImage(p) {
			return Image(p, c) * c.Per()
		}
		return c.Cost(Placeholder(p))
	}
	return 0
}

// CountMessage counts a message's Content by each vocabulary whose counts are stored.
func CountMessage(m memory.Message) memory.TokenCounts {
	if len(m.Parts) == 1 && m.Parts[0].Kind == memory.PartText {
		return countText(m.Parts[0].Text)
	}
	return memory.TokenCounts{O200K: Content(m, byO200K()), CL100K: Content(m, byCL100K())}
}

// FromStored returns the cost of a message's Content from its stored counts, false when they do not hold the counter's:
// then it must be counted.
func FromStored(counts memory.TokenCounts, c Counter) (int64, bool) {
	switch c.Name() {
	case O200K:
		return counts.O200K, counts.O200K > 0
	case CL100K:
		return counts.CL100K, counts.CL100K > 0
	}
	return 0, false
}

// ImageTokens is what an image is counted as whose size is not known. It is the most that an image takes by Anthropic's
// formula, and more than any takes by OpenAI's: see Image.
const ImageTokens = anthropicMost

// OpenAI's formula, as published for GPT-4o and GPT-4
// (https://platform.openai.com/docs/guides/images-vision#calculating-costs).
const (
	openaiBase    = 85 // of an image, and all of one with low detail
	openaiTile    = 170
	openaiPixels  = 512  // the side of a tile
	openaiLongest = 2048 // what the longer side is scaled down to, first
	openaiShorter = 768  // what the shorter side is scaled down to then
)

// Anthropic's formula (https://docs.anthropic.com/en/docs/build-with-claude/vision#evaluate-image-size).
const (
	anthropicPixels  = 750  // that make a token
	anthropicLongest = 1568 // what the longer side is scaled down to
	anthropicMost    = 1600 // an image of more tokens is scaled down to about these
)

// IsImage reports whether a part is an image, inline or by reference.
func IsImage(p memory.Part) bool {
	return (p.Kind == memory.PartBlob || p.Kind == memory.PartURI) && strings.HasPrefix(strings.ToLower(p.MIMEType), "image/")
}

// Image is how many tokens an image part takes. OpenAI's counters count by OpenAI's formula; the others by the larger of
// OpenAI's and Anthropic's, since the model may be of either kind. Where the size is not known it is ImageTokens, but what
// OpenAI takes for low detail where that was asked for.
func Image(p memory.Part, c Counter) int64 {
	var i memory.Image
	if p.Image != nil {
		i = *p.Image
	}
	ofOpenAI := c.Name() == O200K || c.Name() == CL100K
	known := i.Width > 0 && i.Height > 0
	switch {
	case ofOpenAI && (known || i.Detail == memory.ImageLow):
		return openaiImage(i)
	case known:
		return max(openaiImage(i), anthropicImage(i))
	}
	return ImageTokens
}

func openaiImage(i memory.Image) int64 {
	if i.Detail == memory.ImageLow {
		return openaiBase
	}
	w, h := int64(i.Width), int64(i.Height)
	w, h = shrink(w, h, max(w, h), openaiLongest)
	w, h = shrink(w, h, min(w, h), openaiShorter)
	return openaiBase + openaiTile*divideUp(w, openaiPixels)*divideUp(h, openaiPixels)
}

func anthropicImage(i memory.Image) int64 {
	w, h := int64(i.Width), int64(i.Height)
	w, h = shrink(w, h, max(w, h), anthropicLongest)
	return min(divideUp(w*h, anthropicPixels), anthropicMost)
}

// shrink scales both sides, rounded up, so that the given one becomes limit, unless it is no longer than that.
func shrink(w, h, side, limit int64) (int64, int64) {
	if side <= limit {
		return w, h
	}
	return divideUp(w*limit, side), divideUp(h*limit, side)
}

func divideUp(a, b int64) int64 { return (a + b - 1) / b }
