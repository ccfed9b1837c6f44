package assembly

import (
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/testing/providerrules"
)

const (
	reasoned = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAAABo"}`
	searched = `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"x"}}`
	drew     = `{"type":"image_generation_call","id":"ig_1","status":"completed","result":"AAAA"}`
	shell    = `{"type":"custom_tool_call","call_id":"c","name":"sh","input":"ls"}`
	listed   = `{"type":"custom_tool_call_output","call_id":"c","output":"a"}`
)

// responsesOf is the rendering of messages as items, and what is left out of them.
func responsesOf(t *testing.T, messages ...memory.Message) (string, []Omission) {
	t.Helper()
	in := input(t, RenderResponses, messages...)
	in.Available = 100_000
	r := assemble(t, in)
	if err := providerrules.Responses([]byte(r.Rendering)); err != nil {
		t.Errorf("%v\n%s", err, r.Rendering)
	}
	return r.Rendering, r.Omitted
}

func TestResponses(t *testing.T) {
	hello, done := said(memory.RoleUser, "hello"), said(memory.RoleAssistant, "done")
	const helloItem, doneItem = `{"role":"user","content":"hello"}`, `{"role":"assistant","content":"done"}`
	of := func(item string) memory.Message { return providerMessage(item) }

	t.Run("calls and results are items, and results show pictures and that they failed", func(t *testing.T) {
		spoken := calling("a", "b c")
		spoken.Parts = append([]memory.Part{memory.TextPart("I look")}, spoken.Parts...)
		results := answering(memory.RoleTool, "b c", "a")
		results.Parts[0].IsError, results.Parts[1].Parts = true, []memory.Part{memory.TextPart("see"), picture()}
		named := hello
		named.Name = "Ann"
		got, _ := responsesOf(t, named, spoken, results)
		const id = "call_b52132494e2f82b5110ce2a9" // of a hash: no blank may be in an id
		want(t, got, `{"input":[{"role":"user","content":"Ann: hello"},{"role":"assistant","content":"I look"},`+
			`{"type":"function_call","call_id":"a","name":"f","arguments":"{\"id\":\"a\"}"},{"type":"function_call","call_id":"`+id+`","name":"f","arguments":"{\"id\":\"b c\"}"},`+
			`{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw==","detail":"low"}]},`+
			`{"type":"function_call_output","call_id":"`+id+`","output":"Error: result of b c"}]}`)
	})
	for role, voice := range map[contextprofile.MemoryRole]string{contextprofile.MemoryAsSystem: "system", contextprofile.MemoryAsDeveloper: "developer", contextprofile.MemoryAsUser: "user"} {
		t.Run("it hears memory as "+string(role), func(t *testing.T) {
			in := input(t, RenderResponses, hello)
			in.Policy.MemoryRole, in.Instructions, in.Recall = role, "Be brief.", answer(recalled(8, "Ann", "tea"))
			first := "system"
			if role == contextprofile.MemoryAsDeveloper {
				first = "developer"
			}
			if got := assemble(t, in).Rendering; !strings.HasPrefix(got, `{"input":[{"role":"`+first+`","content":"Be brief."},{"role":"`+voice+`","content":"<strata-memory-`) {
				t.Error(got)
			}
		})
	}
	for name, tc := range map[string]struct {
		messages []memory.Message
		want     string // the items, one after the other
		omitted  []OmitReason
	}{
		"reasoning comes before the call and the words that it led to": {
			[]memory.Message{hello, of(reasoned), said(memory.RoleAssistant, "I look"), calling("a"), answering(memory.RoleTool, "a"), done},
			helloItem + "," + reasoned + `,{"role":"assistant","content":"I look"},{"type":"function_call","call_id":"a","name":"f","arguments":"{\"id\":\"a\"}"},{"type":"function_call_output","call_id":"a","output":"result of a"},` + doneItem, nil,
		},
		"it is left out once the user speaks again": {
			[]memory.Message{hello, of(reasoned), done, hello}, helloItem + "," + doneItem + "," + helloItem, []OmitReason{OmitNotRenderable},
		},
		"but not where an item that names it follows": {
			[]memory.Message{hello, of(reasoned), of(searched), done, hello}, helloItem + "," + reasoned + "," + searched + "," + doneItem + "," + helloItem, nil,
		},
		"nor without what it led to": {
			[]memory.Message{hello, of(reasoned), calling("a")}, helloItem, []OmitReason{OmitNotRenderable, OmitUnansweredCall},
		},
		"a custom tool's call and its output stand together": {
			[]memory.Message{hello, of(shell), of(listed), done}, helloItem + "," + shell + "," + listed + "," + doneItem, nil,
		},
		"neither stands without the other": {
			[]memory.Message{hello, of(listed), of(shell), done}, helloItem + "," + doneItem, []OmitReason{OmitOrphanResult, OmitUnansweredCall},
		},
		"an output comes once": {
			[]memory.Message{hello, of(shell), of(listed), of(listed), done}, helloItem + "," + shell + "," + listed + "," + doneItem, []OmitReason{OmitNotRenderable},
		},
		"what is no JSON is left out": {
			[]memory.Message{hello, of(`{"type":"compaction"`), of(`[]`), done}, helloItem + "," + doneItem, []OmitReason{OmitNotRenderable},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, omitted := responsesOf(t, tc.messages...)
			want(t, got, `{"input":[`+tc.want+`]}`)
			var reasons []OmitReason
			for _, o := range omitted {
				reasons = append(reasons, o.Reason)
			}
			want(t, reasons, tc.omitted)
		})
	}
	t.Run("an item of another provider, and one whose words were read, is not passed on", func(t *testing.T) {
		other, read := of(reasoned), of(searched)
		other.Original = &memory.Original{Format: "anthropic.messages/v1", Data: []byte(reasoned)}
		read.Parts = append(read.Parts, memory.TextPart("found it"))
		got, _ := responsesOf(t, hello, other, done, read)
		want(t, got, `{"input":[`+helloItem+","+doneItem+`,{"role":"assistant","content":"found it"}]}`)
	})
}

func TestItemsAreCountedByTheirJSON(t *testing.T) {
	secret := `{"type":"compaction","encrypted_content":"` + strings.Repeat("gAAAAABo", 500) + `"}`
	in := input(t, RenderResponses, providerMessage(secret), said(memory.RoleUser, "hello"))
	in.Counter, in.Available = counterOf(t, tokens.Chars4), 2000
	r := assemble(t, in)
	if least := int64(len(secret) / 4); r.Tokens < least || !strings.Contains(r.Rendering, secret) {
		t.Errorf("%d tokens, at least %d are in\n%.200s", r.Tokens, least, r.Rendering)
	}
	in.Available = 900
	if r := assemble(t, in); r.Tokens > 900 || strings.Contains(r.Rendering, "compaction") || len(r.Omitted) != 1 || r.Omitted[0].Reason != OmitBudget {
		t.Errorf("%d tokens, omitted %v", r.Tokens, r.Omitted)
	}
	t.Run("and an image in one as an image", func(t *testing.T) {
		item := strings.Replace(drew, "AAAA", strings.Repeat("AAAA", 50_000), 1)
		in := input(t, RenderResponses, said(memory.RoleUser, "draw"), providerMessage(item))
		in.Available = 100_000
		if r := assemble(t, in); r.Tokens < tokens.ImageTokens || r.Tokens > tokens.ImageTokens+100 || !strings.Contains(r.Rendering, item) {
			t.Errorf("%d tokens, omitted %v", r.Tokens, r.Omitted)
		}
	})
}
