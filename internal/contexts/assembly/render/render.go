// Package render writes a context in the format that its reader takes, and prices it: as one text, as messages for OpenAI's
// chat completions, as items for OpenAI's Responses, or as messages for Anthropic. Pricing and writing go through the same
// description of a message, so that a price is that of the words which are written. It is pure.
package render

import (
	"iter"
	"strings"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// What a provider adds to the words, in tokens.
const (
	MessageTokens = tokens.MessageOverhead // for each message
	nameTokens    = tokens.NameOverhead
	callTokens    = tokens.CallOverhead
	// ReplyTokens begins the model's reply, by the OpenAI cookbook's "How to count tokens with tiktoken".
	ReplyTokens = 3
)

// Block is what stays together in a rendering: what a message says with its calls, or results of calls.
type Block struct {
	Message *memory.Message // whose parts they are
	Role    memory.Role     // RoleTool only for results
	Parts   []memory.Part
	// Reasoning says that the provider may want the model's reasoning back. Only Anthropic does.
	Reasoning bool
	// Verbatim is the message as OpenAI's Responses gave it, in place of Parts; nil for none. Only Responses takes it.
	Verbatim *Verbatim
}

// Verbatim is an item of a provider that is passed on as it came.
type Verbatim struct {
	JSON   []byte
	Words  string // the item as it is counted: without its images
	Images int    // how many images it shows, each counted as one of unknown size
}

// Format is how a context is written for one kind of reader.
type Format interface {
	// Block passes what a block says to the sink, in its order.
	Block(b *Block, s Sink)
	// Render writes a context.
	Render(c *Content) Rendering
}

// Content is what a context says.
type Content struct {
	Tags         Tags
	Instructions string
	State        string           // as it is written between its tags; "" for none
	Memory       iter.Seq[string] // the headings and lines of memory, each with its line end; nil for none
	Blocks       []*Block         // of the messages
	// MemoryAt is the block that state and memory come before; len(Blocks) when they come behind all of them.
	MemoryAt int
	// Pending is the first block that belongs to pending messages. A text has these behind its tags, so MemoryAt must not be
	// above Pending there.
	Pending    int
	MemoryRole contextprofile.MemoryRole
	MemoryLast bool // state and memory are a message among the others, not part of what the conversation begins with
	CacheMark  bool // whether a rendering for Anthropic marks what is stable of it to be cached
	Bytes      int  // about how long the rendering will be
}

// Rendering is a context as it was written.
type Rendering struct {
	Text string
	// StableBytes is how many bytes at its beginning do not depend on the query: instructions and messages before memory.
	StableBytes int
	// StableMessages is how many messages these bytes hold whole; 0 in a text, which is not divided into messages.
	StableMessages int
	Tagged         bool // a text has anything besides pending messages, and so the tags of contexts
	Noticed        bool // a rendering for Anthropic begins with OpeningNotice
}

// appendMemory writes state and memory between their tags.
func (c *Content) appendMemory(w *writer) {
	c.appendState(w)
	if c.Memory == nil {
		return
	}
	w.WriteString(c.Tags.MemoryOpen + MemoryNotice)
	for line := range c.Memory {
		w.WriteString(line)
	}
	w.WriteString(c.Tags.MemoryClose + tokens.Join)
}

// memoryText is state and memory as one text, "" without either.
func (c *Content) memoryText() string {
	var w writer
	c.appendMemory(&w)
	return strings.TrimSuffix(w.String(), tokens.Join)
}

func (c *Content) appendState(w *writer) {
	if c.State != "" {
		w.WriteString(c.Tags.StateOpen + c.State + "\n" + c.Tags.StateClose + tokens.Join)
	}
}
