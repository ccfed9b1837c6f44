package assembly

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/testing/providerrules"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// pdf is a document of so many pages: enough of one for its pages to be counted.
func pdf(pages int) memory.Part {
	return memory.Part{Kind: memory.PartBlob, MIMEType: "application/pdf", Data: []byte("%PDF-1.7\n1 0 obj <</Type /Pages>> endobj\n" + strings.Repeat("2 0 obj <</Type /Page>> endobj\n", pages))}
}

func picture() memory.Part {
	return memory.Part{Kind: memory.PartBlob, MIMEType: "image/png", Data: []byte("\x89PNG"), Image: &memory.Image{Width: 10, Height: 10, Detail: memory.ImageLow}}
}

// providerMessage is an item of OpenAI's Responses as clients record those that the service cannot read.
func providerMessage(item string) memory.Message {
	return memory.Message{
		Role: memory.RoleAssistant, Parts: []memory.Part{{Kind: memory.PartOpaque, Type: "openai.item"}},
		Original: &memory.Original{Format: ResponsesFormat, Data: []byte(item)},
	}
}

// renderedCases are sessions with what providers are strict about.
func renderedCases() map[string][]memory.Message {
	text := memory.TextPart
	user := func(parts ...memory.Part) memory.Message { return memory.Message{Role: memory.RoleUser, Parts: parts} }
	model := func(parts ...memory.Part) memory.Message {
		return memory.Message{Role: memory.RoleAssistant, Parts: parts}
	}
	result := func(call string, failed bool, parts ...memory.Part) memory.Part {
		return memory.Part{Kind: memory.PartToolResult, CallID: call, IsError: failed, Parts: parts}
	}
	call := func(id string) memory.Part {
		return memory.Part{Kind: memory.PartToolCall, CallID: id, Name: "look", Arguments: `{"q":"x"}`}
	}
	tool := func(parts ...memory.Part) memory.Message {
		return memory.Message{Role: memory.RoleTool, Parts: parts}
	}
	item := providerMessage
	thought := memory.Part{Kind: memory.PartReasoning, Text: "let me see", Signature: "sig"}
	return map[string][]memory.Message{
		"a message that only calls":         {user(text("hi")), model(call("a")), tool(result("a", false, text("1")))},
		"parallel calls":                    {user(text("hi")), model(text("both"), call("a"), call("b")), tool(result("b", false, text("2"))), tool(result("a", false, text("1")))},
		"a result that failed":              {user(text("hi")), model(call("a")), tool(result("a", true, text("no such file")))},
		"a result that says nothing":        {user(text("hi")), model(call("a")), tool(result("a", false))},
		"a failure that says nothing":       {user(text("hi")), model(call("a")), tool(result("a", true))},
		"arguments that are no JSON":        {user(text("hi")), model(memory.Part{Kind: memory.PartToolCall, CallID: "a", Name: "f", Arguments: `{"q":`}), tool(result("a", false, text("1")))},
		"a result with a picture":           {user(text("hi")), model(call("a")), tool(result("a", false, text("see"), picture()))},
		"a result with a document":          {user(text("hi")), model(call("a")), tool(result("a", false, pdf(2)))},
		"pictures":                          {user(text("what is this?"), picture(), memory.Part{Kind: memory.PartURI, MIMEType: "image/jpeg", URI: "https://e.org/a.jpg"})},
		"a picture without words":           {user(picture())},
		"a document":                        {user(text("sum it up"), pdf(3))},
		"a document without words":          {user(pdf(1))},
		"a document of someone with a name": {{Role: memory.RoleUser, Name: "Ann B.", Parts: []memory.Part{pdf(1), text("sum it up")}}},
		"a document of the model":           {user(text("write")), model(text("here"), pdf(1)), user(text("thanks"))},
		"a document that cannot be read":    {user(memory.Part{Kind: memory.PartBlob, MIMEType: "application/pdf", Data: []byte("%PDF-1.7 /Encrypt")})},
		"reasoning with calls":              {user(text("hi")), model(thought, text("hm"), call("a")), tool(result("a", false, text("1")))},
		"reasoning without calls":           {user(text("hi")), model(thought, text("hello")), user(text("and?"))},
		"encrypted reasoning":               {user(text("hi")), model(memory.Part{Kind: memory.PartReasoning, Data: []byte("ENC")}, call("a")), tool(result("a", false, text("1")))},
		"an empty message of the model":     {user(text("hi")), model(), user(text("still there?"))},
		"blanks of the model":               {user(text("hi")), model(text(" \n")), user(text("still there?"))},
		"several users":                     {{Role: memory.RoleUser, Name: "Ann", Parts: []memory.Part{text("hi"), text("all")}}, {Role: memory.RoleUser, Name: "Dr. Who", Parts: []memory.Part{text("hello")}}},
		"a system and a developer":          {{Role: memory.RoleSystem, Parts: []memory.Part{text("be kind")}}, {Role: memory.RoleDeveloper, Parts: []memory.Part{text("be brief")}}, user(text("hi"))},
		"items that only OpenAI reads":      {user(text("hi")), item(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"ENC"}`), item(`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"x"}}`), model(text("found")), user(text("and?")), item(`{"type":"reasoning","id":"rs_2","summary":[{"type":"summary_text","text":"hm"}]}`), model(call("a")), tool(result("a", false, text("1")))},
		"an item that stands for others":    {item(`{"type":"compaction","encrypted_content":"ENC"}`), user(text("hi"))},
		"a custom tool":                     {user(text("hi")), item(`{"type":"custom_tool_call","call_id":"c","name":"sh","input":"ls"}`), item(`{"type":"custom_tool_call_output","call_id":"c","output":"a"}`)},
		"a model that begins":               {model(text("welcome ")), user(text("hi")), model(text("what can I do? "))},
		"nothing":                           {},
	}
}

// renderings are the renderings of those sessions and of generated ones, by name.
func renderings(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	forms := map[string]Render{"openai": RenderOpenAI, "responses": RenderResponses, "anthropic": RenderAnthropic}
	for name, messages := range renderedCases() {
		for form, render := range forms {
			in := input(t, render, messages...)
			in.Documents, in.Available = true, 100_000
			out[form+": "+name] = assemble(t, in).Rendering
		}
	}
	for i := range 100 {
		in := inputGen().Example(i)
		for form, render := range forms {
			in.Render, in.Documents, in.Most = render, true, 1<<40
			r, err := assembled(t.Context(), in)
			if err != nil {
				continue
			}
			out[fmt.Sprintf("%s: generated %d", form, i)] = r.Rendering
		}
	}
	return out
}

func TestRenderingsFitTheRequestTypesOfTheSDKs(t *testing.T) {
	for name, rendering := range renderings(t) {
		form, _, _ := strings.Cut(name, ":")
		check := map[string]func([]byte) error{"openai": providerrules.OpenAI, "responses": providerrules.Responses, "anthropic": providerrules.Anthropic}
		if err := check[form]([]byte(rendering)); err != nil {
			t.Errorf("%s: %v\n%.2000s", name, err, rendering)
		}
	}
}

// The parsers run in Python: sdks/venv.sh installs them and says where. CI names sdks in STRATA_TEST_REQUIRE.
func TestTheSDKsAndLangChainTakeRenderings(t *testing.T) {
	python := os.Getenv("STRATA_TEST_SDKS_PYTHON")
	if python == "" {
		backend.Missing(t, "sdks", "STRATA_TEST_SDKS_PYTHON is not set: internal/testing/providerrules/sdks/venv.sh makes the Python and prints it")
	}
	folder := filepath.Join("..", "..", "testing", "providerrules", "sdks")
	t.Run("the committed schemas are those of the installed SDKs", func(t *testing.T) {
		fresh := t.TempDir()
		if out, err := exec.CommandContext(t.Context(), python, filepath.Join(folder, "schemas.py"), fresh).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, name := range []string{"openai.json", "responses.json", "anthropic.json"} {
			want, err := os.ReadFile(filepath.Join(fresh, name))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(folder, "schemas", name)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s differs (%v): run schemas.py", name, err)
			}
		}
	})
	t.Run("every parser takes every rendering", func(t *testing.T) {
		cases := renderings(t)
		var lines bytes.Buffer
		encode := json.NewEncoder(&lines)
		for _, name := range slices.Sorted(maps.Keys(cases)) {
			form, _, _ := strings.Cut(name, ":")
			if err := encode.Encode(map[string]string{"name": name, "form": form, "rendering": cases[name]}); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), python, filepath.Join(folder, "parse.py"))
		cmd.Stdin, cmd.Stderr = &lines, os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		answers := bufio.NewScanner(bytes.NewReader(out))
		parsed := 0
		for answers.Scan() {
			var a struct{ Name, Error string }
			if err := json.Unmarshal(answers.Bytes(), &a); err != nil {
				t.Fatal(err)
			}
			if parsed++; a.Error != "" {
				t.Errorf("%s: %s\n%.2000s", a.Name, a.Error, cases[a.Name])
			}
		}
		if parsed != len(cases) {
			t.Errorf("%d of %d renderings were parsed", parsed, len(cases))
		}
	})
}

func TestDocumentsStandAsTheProviderTakesThem(t *testing.T) {
	shown := func(t *testing.T, render Render, documents bool, part memory.Part) Result {
		t.Helper()
		in := input(t, render, memory.Message{Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart("sum it up"), part}})
		in.Documents, in.Available = documents, 1_000_000
		return assemble(t, in)
	}
	t.Run("OpenAI as a file, Anthropic as a document", func(t *testing.T) {
		for render, want := range map[Render]string{RenderResponses: `{"type":"input_file","filename":"document.pdf","file_data":"data:application/pdf;base64,JVBERi`, RenderOpenAI: `{"type":"file","file":{"filename":"document.pdf","file_data":"data:application/pdf;base64,JVBERi`, RenderAnthropic: `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi`} {
			if r := shown(t, render, true, pdf(2)); !strings.Contains(r.Rendering, want) {
				t.Errorf("%d: %s", render, r.Rendering)
			}
		}
	})
	t.Run("a placeholder for a model that reads none, for too many pages and for pages that cannot be counted", func(t *testing.T) {
		unread := memory.Part{Kind: memory.PartBlob, MIMEType: "application/pdf", Data: []byte("no PDF")}
		for _, render := range []Render{RenderOpenAI, RenderAnthropic, RenderResponses} {
			for name, r := range map[string]Result{
				"a model that reads none": shown(t, render, false, pdf(2)), "101 pages": shown(t, render, true, pdf(101)),
				"not to be counted": shown(t, render, true, unread),
			} {
				if !strings.Contains(r.Rendering, "[application/pdf, ") || strings.Contains(r.Rendering, "base64") {
					t.Errorf("%d, %s: %s", render, name, r.Rendering)
				}
			}
		}
	})
	t.Run("each page is counted, whatever was counted when the message was stored", func(t *testing.T) {
		m := memory.Message{Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart("sum it up"), pdf(3)}}
		m.Tokens = tokens.CountMessage(m)
		for _, render := range []Render{RenderOpenAI, RenderAnthropic, RenderResponses} {
			in := input(t, render, m)
			in.Counter, in.Documents, in.Available = counterOf(t, tokens.O200K), true, 1_000_000
			if r := assemble(t, in); r.Tokens < 3*tokens.PageTokens || r.Tokens > 3*tokens.PageTokens+100 {
				t.Errorf("%d: %d tokens", render, r.Tokens)
			}
			in.Available = 3 * tokens.PageTokens
			if r := assemble(t, in); len(r.Omitted) != 1 || r.Tokens > in.Available {
				t.Errorf("%d: %d tokens of %d, omitted %v", render, r.Tokens, in.Available, r.Omitted)
			}
		}
	})
}

func TestTheBudgetIsRaisedForWhatCannotBeLeftOut(t *testing.T) {
	pasted := func(most int64) reading {
		in := input(t, RenderOpenAI, said(memory.RoleUser, "hello"))
		in.Pending, in.Available, in.Most = []memory.Message{said(memory.RoleUser, strings.Repeat("word ", 4000))}, 500, most
		return in
	}
	t.Run("as far as it must, and no further", func(t *testing.T) {
		r := assemble(t, pasted(1_000_000))
		if r.Available < 4000 || r.Tokens > r.Available || r.Available > r.Tokens+10 || section(r, SectionRecent).Items != nil {
			t.Errorf("%d of %d tokens, %+v", r.Tokens, r.Available, r.Omitted)
		}
	})
	t.Run("not where there is room", func(t *testing.T) {
		in := input(t, RenderOpenAI, said(memory.RoleUser, "hello"))
		in.Available, in.Most = 500, 1_000_000
		want(t, assemble(t, in).Available, int64(500))
	})
	t.Run("and not beyond what it may be raised to, which the error names with what is reserved", func(t *testing.T) {
		in := pasted(1000)
		in.Reserved = 9000
		_, err := assembled(t.Context(), in)
		if memory.ReasonOf(err) != memory.ReasonBudgetTooSmall || !strings.Contains(err.Error(), "1000 tokens are available beside the 9000 that are reserved for the answer and the tools") {
			t.Errorf("error %v", err)
		}
	})
}
