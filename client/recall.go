package client

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// What the agent's own messages say is not recalled. Only their words count for that, and the latest matter most.
const (
	besideMessages = 50
	besideBytes    = 16 << 10
	queryBytes     = 60 << 10
)

// RecallRequest asks what memory knows that an agent's own messages do not say.
type RecallRequest struct {
	UserID    string // required
	SessionID string // required
	// Query is what it should help with, as a rule the user's last words; it is cut at 60 KiB.
	Query string
	// Beside are messages that the agent holds: what they say is left out.
	Beside []*memoryv1.Message
	// Profile is the policy profile; the session's where it is empty.
	Profile string
	// Summary has the running summary of the session too, for messages that do not reach back to its beginning.
	Summary bool
}

// Recall returns what memory knows that helps with the query, as one text between fences, "" for nothing: for agents that hold the
// messages of their session themselves, who put it before the user's last words.
func (c *Client) Recall(ctx context.Context, request RecallRequest) (string, error) {
	off := []*memoryv1.SectionSwitch{{Section: memoryv1.SectionKind_SECTION_KIND_RECENT}}
	if !request.Summary {
		off = append(off, &memoryv1.SectionSwitch{Section: memoryv1.SectionKind_SECTION_KIND_SUMMARY})
	}
	reply, err := c.Memory.BuildContext(ctx, &memoryv1.BuildContextRequest{
		UserId: request.UserID, SessionId: request.SessionID, Query: upTo(request.Query, queryBytes),
		Pending: wordsOf(request.Beside), Profile: request.Profile, Render: memoryv1.Render_RENDER_TEXT,
		Overrides: &memoryv1.ContextOverrides{Sections: off},
	})
	if err != nil {
		return "", err
	}
	return recalled(reply.GetRendering()), nil
}

// IsRecalled reports whether a text is what Recall returned, and nothing else.
func IsRecalled(text string) bool {
	return strings.HasPrefix(text, "<strata-") && strings.TrimSpace(strings.Join(outside(text), "")) == ""
}

var (
	contextFence = regexp.MustCompile(`^<strata-context-([0-9a-f]{16})>\n`)
	memoryFence  = regexp.MustCompile(`<(strata-(?:memory|state)-[0-9a-f]{16})>\n`)
)

// recalled returns what stands within the fences of memory and state in a rendering as text. Content cannot close a fence, and what
// stands after the context, which are the agent's own messages, is none of it whatever it says.
func recalled(rendering string) string {
	opening := contextFence.FindStringSubmatch(rendering)
	if opening == nil {
		return ""
	}
	body, _, closed := strings.Cut(rendering[len(opening[0]):], "</strata-context-"+opening[1]+">")
	if !closed {
		return ""
	}
	var blocks []string
	for _, b := range fenced(body) {
		if strings.HasSuffix(b.name, opening[1]) {
			blocks = append(blocks, body[b.start:b.end])
		}
	}
	return strings.Join(blocks, "\n")
}

type fencedBlock struct {
	name       string
	start, end int
}

// fenced returns the blocks between fences of memory and state, in their order.
func fenced(text string) []fencedBlock {
	var out []fencedBlock
	for at := 0; ; {
		found := memoryFence.FindStringSubmatchIndex(text[at:])
		if found == nil {
			return out
		}
		start, name := at+found[0], text[at+found[2]:at+found[3]]
		at += found[1]
		closing := "</" + name + ">"
		if length := strings.Index(text[at:], closing); length >= 0 {
			at += length + len(closing)
			out = append(out, fencedBlock{name: name, start: start, end: at})
		}
	}
}

func outside(text string) []string {
	var out []string
	from := 0
	for _, b := range fenced(text) {
		out, from = append(out, text[from:b.start]), b.end
	}
	return append(out, text[from:])
}

// wordsOf returns the latest messages by their words alone, without ids: they may be recorded already.
func wordsOf(said []*memoryv1.Message) []*memoryv1.Message {
	var out []*memoryv1.Message
	room := besideBytes
	for _, m := range slices.Backward(said[max(0, len(said)-besideMessages):]) {
		text := textOf(m)
		if room -= len(text); room < 0 {
			break
		}
		speaks := m.GetRole() == memoryv1.Role_ROLE_USER || m.GetRole() == memoryv1.Role_ROLE_ASSISTANT
		if text != "" && speaks && !IsRecalled(text) {
			out = append(out, &memoryv1.Message{Role: m.GetRole(), Name: m.GetName(), Text: text})
		}
	}
	slices.Reverse(out)
	return out
}

// textOf returns what a message says in words.
func textOf(m *memoryv1.Message) string {
	if m.GetText() != "" {
		return m.GetText()
	}
	var texts []string
	for _, p := range m.GetParts() {
		if t := p.GetText().GetText(); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n\n")
}

// upTo cuts a text to so many bytes, at the end of a character.
func upTo(text string, size int) string {
	if len(text) <= size {
		return text
	}
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size]
}
