package assembly

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/contexts/assembly/render"
	"github.com/stratamem/strata/internal/memory"
)

// ResponsesFormat is the format of the originals that RenderResponses passes on.
const ResponsesFormat = "openai.responses/v1"

// OnlyProviderReads reports whether a message says nothing but what its provider alone can read, such as reasoning.
func OnlyProviderReads(m *memory.Message) bool {
	return len(m.Parts) > 0 && !slices.ContainsFunc(m.Parts, func(p memory.Part) bool {
		return p.Kind != memory.PartReasoning && p.Kind != memory.PartOpaque
	})
}

// providerItem is a message that is passed on as OpenAI's Responses gave it.
type providerItem struct {
	render.Verbatim
	kind   string
	call   []string // the ids that an output may name this call by
	output string   // the id of the call that this is the output of
}

const reasoningItem = "reasoning"

// clientCalls are the calls that a client carries out, besides functions. OpenAI refuses one without its output.
var clientCalls = []string{"custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call"}

// itemOf is the item of a message, nil where its parts are rendered.
func itemOf(m *memory.Message) *providerItem {
	if m.Original == nil || m.Original.Format != ResponsesFormat || !OnlyProviderReads(m) || !utf8.Valid(m.Original.Data) {
		return nil
	}
	var f map[string]any
	d := json.NewDecoder(bytes.NewReader(m.Original.Data))
	d.UseNumber()
	if d.Decode(&f) != nil || !json.Valid(m.Original.Data) {
		return nil
	}
	text := func(key string) string { s, _ := f[key].(string); return s }
	item := &providerItem{kind: text("type"), Verbatim: render.Verbatim{JSON: bytes.TrimSpace(m.Original.Data)}}
	switch item.kind {
	case "", "message", "function_call", "function_call_output":
		return nil
	case "mcp_approval_request":
		item.call = []string{text("id")}
	case "mcp_approval_response":
		item.output = text("approval_request_id")
	case "local_shell_call_output": // names its call by its own id
		item.output = text("id")
	default:
		if strings.HasSuffix(item.kind, "_output") {
			item.output = text("call_id")
			break
		}
		item.call = []string{text("call_id"), text("id")}
	}
	item.count(f)
	return item
}

// count finds out what is counted of an item: an image that it holds is not read as a text.
func (item *providerItem) count(fields map[string]any) {
	item.Words = string(item.JSON)
	if item.kind == "image_generation_call" {
		if s, ok := fields["result"].(string); ok {
			item.withoutImage(s)
		}
	}
	if shown, ok := fields["output"].(map[string]any); ok {
		if s, _ := shown["image_url"].(string); strings.HasPrefix(s, "data:image/") {
			item.withoutImage(s)
		}
	}
}

func (item *providerItem) withoutImage(s string) {
	item.Images++
	item.Words = strings.Replace(item.Words, s, "", 1)
}

// pairItems finds the items of a conversation, drops calls without outputs, outputs without calls and reasoning that belongs
// to nothing, and ties what must stay together.
func (g *grouper) pairItems() {
	entries := g.conversation.entries
	g.items, g.unpaired = make([]*providerItem, len(entries)), map[int]OmitReason{}
	calls, answered := map[string]int{}, map[int]bool{}
	for i := range entries {
		item := itemOf(&entries[i].msg)
		if item == nil {
			continue
		}
		g.items[i] = item
		for _, id := range item.call {
			if id != "" {
				calls[id] = i
			}
		}
		if item.output == "" {
			if strings.HasSuffix(item.kind, "_output") || item.kind == "mcp_approval_response" {
				g.dropItem(i, OmitNotRenderable)
			}
			continue
		}
		call, ok := calls[item.output]
		switch {
		case !ok:
			g.dropItem(i, g.missing)
		case answered[call]:
			g.dropItem(i, OmitNotRenderable)
		default:
			answered[call] = true
			g.tie(call, i)
		}
	}
	for i, item := range g.items {
		if item != nil && slices.Contains(clientCalls, item.kind) && !answered[i] {
			g.dropItem(i, OmitUnansweredCall)
		}
	}
	g.tieReasoning()
}

func (g *grouper) dropItem(i int, why OmitReason) { g.items[i], g.unpaired[i] = nil, why }

// tieReasoning ties reasoning to what the model made of it: all that it said up to its next reasoning, or to another's message.
// OpenAI refuses the one without the other where both name the ids that it gave. Reasoning from before the user's last words
// is left out where nothing names it: the model does not read it again.
func (g *grouper) tieReasoning() {
	var run []int
	for i := range g.conversation.entries {
		reasons := g.isReasoning(i)
		if !g.isOfModel(i) || reasons && len(run) > 0 && !g.isReasoning(run[len(run)-1]) {
			g.closeRun(run)
			run = nil
		}
		if reasons || len(run) > 0 && g.isOfModel(i) {
			run = append(run, i)
		}
	}
	g.closeRun(run)
}

func (g *grouper) isReasoning(i int) bool {
	return g.items[i] != nil && g.items[i].kind == reasoningItem
}

// isOfModel reports whether an entry is what the model itself said or asked for.
func (g *grouper) isOfModel(i int) bool {
	if g.items[i] != nil {
		return g.items[i].output == ""
	}
	e := &g.conversation.entries[i]
	return e.msg.Role == memory.RoleAssistant && !e.hidden
}

// closeRun ties entries that begin with reasoning, or drops their reasoning.
func (g *grouper) closeRun(run []int) {
	var reasoning, made []int
	named := false
	for _, i := range run {
		switch {
		case g.isReasoning(i):
			reasoning = append(reasoning, i)
		case g.renders(i):
			made = append(made, i)
			named = named || g.items[i] != nil
		}
	}
	if len(made) == 0 || !named && len(run) > 0 && run[0] < g.lastUser {
		for _, i := range reasoning {
			g.items[i] = nil
		}
		return
	}
	for _, i := range append(reasoning, made...) {
		g.tie(run[0], i)
	}
}

// renders reports whether anything of an entry but results is rendered.
func (g *grouper) renders(i int) bool {
	if g.items[i] != nil {
		return true
	}
	kept, _ := g.keptParts(i)
	return slices.ContainsFunc(kept, func(p memory.Part) bool { return p.Kind != memory.PartReasoning })
}
