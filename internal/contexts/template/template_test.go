package template

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
)

func options() Options {
	return Options{
		Field: "instructions_template",
		Values: Values{
			"state": json.RawMessage(`{"goal":"a trip","order":{"items":[{"name":"tea"},{"name":"salt"}]},"n":12345678901234567890,"no":false,"none":null,"open":"{{vars.name}}"}`),
			"vars":  json.RawMessage(`{"name":"Kim","odd-name_2":"x","quote":"a\"b\nc"}`),
			"user":  nil,
		},
		Fence: func(v json.RawMessage) string { return "<" + string(v) + ">" },
	}
}

func TestFill(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a text without places stays as it is":         {"Be kind. {not a place} }}", "Be kind. {not a place} }}"},
		"a value stands in its place":                  {"Call {{vars.name}} by name.", `Call <"Kim"> by name.`},
		"blanks in a place do not matter":              {"{{ vars.name\n}}", `<"Kim">`},
		"a path goes down into objects and lists":      {"{{state.order.items.1.name}}", `<"salt">`},
		"an object stands as JSON":                     {"{{state.order}}", `<{"items":[{"name":"tea"},{"name":"salt"}]}>`},
		"a number keeps its digits":                    {"{{state.n}}", "<12345678901234567890>"},
		"false is a value":                             {`{{state.no | true}}`, "<false>"},
		"a name may have dashes":                       {"{{vars.odd-name_2}}", `<"x">`},
		"a missing value has its default":              {`{{vars.tone | "friendly"}}`, `<"friendly">`},
		"null has the default too":                     {`{{state.none | {"a": [1, 2]} }}`, `<{"a":[1,2]}>`},
		"a set value is stronger than its default":     {`{{vars.name|"you"}}`, `<"Kim">`},
		"a value below nothing has the default":        {`{{user.state.plan | 0}}`, "<0>"},
		"a default may have braces":                    {`{{vars.x | "}}"}}`, `<"}}">`},
		"a JSON text is written as it is":              {`{{"{{"}}vars.name}}`, "{{vars.name}}"},
		"a value is not looked into for places":        {"{{state.open}}", `<"{{vars.name}}">`},
		"a value stays on one line within its quotes":  {"{{vars.quote}}", `<"a\"b\nc">`},
		"an index beyond a list has the default":       {`{{state.order.items.2 | "-"}}`, `<"-">`},
		"a name of a list that is no index has it too": {`{{state.order.items.x | "-"}}`, `<"-">`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Fill(c.text, options())
			if err != nil || got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestFillRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"a missing value, which it names":               {"Hi {{vars.tone}}", `names vars.tone, which is not set: set it, or write a default as {{vars.tone | "…"}}`},
		"null without a default":                        {"{{state.none}}", "names state.none, which is not set"},
		"a value below a text":                          {"{{vars.name.first}}", "names vars.name.first, which is not set"},
		"another first name":                            {"{{env.HOME}}", "names env.HOME, which begins with none of state., vars. and user."},
		"a first name alone":                            {"{{state}}", "names state, which begins with none of"},
		"a place that is not closed":                    {"Hi {{vars.name", "opens at byte 3 is not closed by }}"},
		"a place closed by one brace":                   {"{{vars.name}", "is not closed by }}"},
		"an empty place":                                {"{{}}", "holds no path"},
		"a call":                                        {`{{printf "%s"}}`, "holds no path"},
		"a pipe into a function":                        {"{{vars.name | upper}}", "has no JSON value behind |"},
		"a text without an end":                         {`{{"abc}}`, "has a JSON text that does not end"},
		"a second value in a place":                     {`{{vars.x | "a" "b"}}`, "is not closed by }}"},
		"a path that is too long":                       {"{{vars." + strings.Repeat("x", 300) + "}}", "holds no path"},
		"a template that is too long":                   {strings.Repeat("x", MaxBytes+1), "the limit is"},
		"a text that grows too long with its values":    {strings.Repeat("{{state.order}}", 10_000), "takes more than"},
		"a default that does not end":                   {`{{vars.x | "a}}`, "has no JSON value behind |"},
		"a place within a place":                        {"{{vars.{{vars.name}}}}", "holds no path"},
		"a path with an empty name":                     {"{{vars..name}}", "holds no path"},
		"characters that only look like those of names": {"{{vаrs.name}}", "holds no path"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Fill(c.text, options())
			if memory.ReasonOf(err) != memory.ReasonFieldInvalid || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v\nwant it to say %s", err, c.says)
			}
		})
	}
	t.Run("without holding any value in the error", func(t *testing.T) {
		o := options()
		o.Values["vars"] = json.RawMessage(`{"secret":"canary"}`)
		if _, err := Fill(strings.Repeat("{{vars.secret}}", 40_000)[:MaxBytes], o); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("error %v", err)
		}
	})
}

// Whatever a value holds, it stands in its place as the JSON that it is and changes nothing else.
func TestAValueIsNeverMoreThanAValue(t *testing.T) {
	piece := rapid.SampledFrom([]string{"{{", "}}", "vars.name", `"`, "\\", "\n", "|", "<", "a", "한", "\u2028"})
	rapid.Check(t, func(t *rapid.T) {
		hostile := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "value"), "")
		object, err := memory.EncodeJSON(map[string]string{"x": hostile})
		if err != nil {
			t.Fatal(err)
		}
		o := options()
		o.Values["vars"] = object
		got, err := Fill("before {{vars.x}} after", o)
		if err != nil {
			t.Fatal(err)
		}
		inner, found := strings.CutPrefix(got, "before <")
		inner, ended := strings.CutSuffix(inner, "> after")
		var back string
		if !found || !ended || json.Unmarshal([]byte(inner), &back) != nil || back != hostile || strings.Contains(inner, "\n") {
			t.Fatalf("%q became %q", hostile, got)
		}
	})
}

func FuzzFill(f *testing.F) {
	f.Add(`{{state.a | "b"}} {{"{{"}} {{vars.x}}`)
	f.Fuzz(func(t *testing.T, text string) {
		out, err := Fill(text, options())
		if err != nil && memory.ReasonOf(err) != memory.ReasonFieldInvalid {
			t.Errorf("error %v", err)
		}
		if len(out) > MaxBytes {
			t.Errorf("%d bytes came out", len(out))
		}
		if err == nil && !strings.Contains(text, "{{") && out != text {
			t.Errorf("%q became %q", text, out)
		}
	})
}
