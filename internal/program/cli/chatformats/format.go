package chatformats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// Export is what a file of another program holds.
type Export struct {
	Conversations []Conversation // in the order of the file
	Facts         []Fact
	// Unused are fields that nothing was made of, by their path in the file, with how often each stood there.
	Unused map[string]int
}

// Conversation is one conversation, its messages in their order.
type Conversation struct {
	ID       string // as the file has it; "" where it has none
	Title    string
	Messages []*memoryv1.Message
}

// Fact is a statement about a user.
type Fact struct {
	ID     string // as the file has it; "" where it has none
	UserID string // as the file has it; "" where it has none
	Text   string
	Tags   []string
	Time   time.Time // when it was learnt; zero where that is not known
}

// Format reads the files of one program.
type Format struct {
	Name string
	What string // what it reads, in a few words
	Read func(data []byte) (Export, error)
}

// Formats returns all formats, by name.
func Formats() []Format {
	return []Format{
		{"anthropic", "messages of Anthropic: a list, an object with messages (and system), or one such object a line", conversations},
		{"chatgpt", "conversations.json of an export of ChatGPT", chatGPT},
		{"claude", "conversations.json of an export of Claude", claude},
		{"mem0", "what get_all of Mem0 returns: facts", mem0},
		{"openai", "messages of OpenAI: a list, an object with messages, or one such object a line", conversations},
		{"openai-finetune", "training data of OpenAI: one object with messages, or with prompt and completion, a line", conversations},
	}
}

// conversations reads one conversation, or one a line. Lines that are one message each are one conversation.
func conversations(data []byte) (Export, error) {
	out := Export{Unused: map[string]int{}}
	var alone []*memoryv1.Message // of lines that are one message each
	dec := json.NewDecoder(bytes.NewReader(data))
	for n := 1; ; n++ {
		var raw json.RawMessage
		err := dec.Decode(&raw)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Export{}, fmt.Errorf("conversation %d: it is not JSON: %w", n, withoutContent(err))
		}
		if isMessage(raw) {
			some, err := Messages(raw)
			if err != nil {
				return Export{}, fmt.Errorf("message %d: %w", n, err)
			}
			alone = append(alone, some...)
			continue
		}
		c, err := conversation(raw, out.Unused)
		if err != nil {
			return Export{}, fmt.Errorf("conversation %d: %w", n, err)
		}
		out.Conversations = append(out.Conversations, c)
	}
	if len(alone) > 0 {
		out.Conversations = append(out.Conversations, Conversation{Messages: alone})
	}
	return out, nil
}

// isMessage reports whether the value is one message, and neither a list nor an object that holds some.
func isMessage(raw json.RawMessage) bool {
	f, err := object(raw)
	return err == nil && f.isNull("messages") && f.isNull("prompt")
}

// withoutContent is the error of a decoder without the bytes that it met.
func withoutContent(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("it breaks off or has a fault after %d bytes", syntax.Offset)
	}
	return errors.New("it breaks off")
}

func conversation(raw json.RawMessage, unused map[string]int) (Conversation, error) {
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		messages, err := messagesOf(raw)
		return Conversation{Messages: messages}, err
	}
	f, err := object(raw)
	if err != nil {
		return Conversation{}, err
	}
	list := f.take("messages")
	var c Conversation
	if system := f.take("system"); system != nil {
		parts, err := content(system)
		if err != nil {
			return c, fmt.Errorf("system%w", err)
		}
		c.Messages = append(c.Messages, &memoryv1.Message{Role: memoryv1.Role_ROLE_SYSTEM, Parts: parts})
	}
	if list == nil {
		c.Messages = completion(f)
	}
	if list != nil {
		some, err := messagesOf(list)
		if err != nil {
			return c, err
		}
		c.Messages = append(c.Messages, some...)
	}
	for key := range f {
		unused[key]++
	}
	return c, nil
}

// completion is the older form of training data.
func completion(f fields) []*memoryv1.Message {
	var out []*memoryv1.Message
	if s := unquoted(f.take("prompt")); s != "" {
		out = append(out, said(memoryv1.Role_ROLE_USER, s))
	}
	if s := unquoted(f.take("completion")); s != "" {
		out = append(out, said(memoryv1.Role_ROLE_ASSISTANT, s))
	}
	return out
}

func said(role memoryv1.Role, text string) *memoryv1.Message {
	return &memoryv1.Message{Role: role, Parts: []*memoryv1.Part{textPart(text)}}
}

func messagesOf(raw json.RawMessage) ([]*memoryv1.Message, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, errors.New("messages: it must be a list")
	}
	var out []*memoryv1.Message
	for i, one := range list {
		some, err := Messages(one)
		if err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		out = append(out, some...)
	}
	return out, nil
}

// note counts the fields that are left of an object.
func (e *Export) note(path string, f fields, known ...string) {
	for key := range f {
		if !slices.Contains(known, key) && !f.isNull(key) {
			e.Unused[path+key]++
		}
	}
}

// NamesUnused returns the unused fields for people, by name; "" for none.
func (e Export) NamesUnused() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(e.Unused)) {
		words = append(words, fmt.Sprintf("%s (%d)", name, e.Unused[name]))
	}
	return strings.Join(words, ", ")
}

// seconds is a time in seconds since 1970; nil for none.
func seconds(s *float64) *timestamppb.Timestamp {
	if s == nil || *s <= 0 {
		return nil
	}
	return timestamppb.New(time.UnixMicro(int64(*s * 1e6)).UTC())
}

// stamp is a time as ISO 8601 has it; nil where it is none.
func stamp(s string) *timestamppb.Timestamp {
	t := timeOf(s)
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// timeOf reads a time with or without an offset; zero where it is none.
func timeOf(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC().Truncate(time.Microsecond)
		}
	}
	return time.Time{}
}
