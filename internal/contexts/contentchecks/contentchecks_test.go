package contentchecks

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

func compile(t *testing.T, rules ...Rule) *Set {
	t.Helper()
	c, err := tokens.ByName(tokens.O200K)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Compile(rules, c)
	if err != nil {
		t.Fatalf("Compile: %v: %v", err, errors.Unwrap(err))
	}
	return s
}

// checkT is a test, or a case of a property.
type checkT interface {
	Helper()
	Fatal(...any)
	Context() context.Context
}

func one(t checkT, s *Set, m memory.Message) Result {
	t.Helper()
	r, err := s.Message(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func all(t checkT, s *Set, messages []memory.Message) Result {
	t.Helper()
	r, err := s.Messages(t.Context(), messages)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func said(r memory.Role, words string) memory.Message {
	return memory.Message{ID: "m", Role: r, Parts: []memory.Part{memory.TextPart(words)}}
}

// stripped is what a rule leaves of words; "" when nothing is left.
func stripped(t *testing.T, test Test, words string) string {
	t.Helper()
	r := one(t, compile(t, Rule{Name: "rule", Test: test, Action: memory.CheckStrip}), said(memory.RoleAssistant, words))
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[0].PlainText()
}

func TestStopWords(t *testing.T) {
	for name, c := range map[string]struct{ word, words, want string }{
		"a word is found as a whole":                    {"password", "my password is", "my  is"},
		"a word is not found within another":            {"pass", "passage, compass and by_pass stay", "passage, compass and by_pass stay"},
		"case does not matter":                          {"Secret", "no SECRET, no secret", "no , no "},
		"width does not matter":                         {"secret", "ｓｅｃｒｅｔ!", "!"},
		"invisible characters do not hide a word":       {"secret", "se\u200bcr\u00adet!", "!"},
		"a combined letter is the same as its parts":    {"café", "un cafe\u0301 noir", "un  noir"},
		"a letter without its accent is another letter": {"café", "un cafe noir", "un cafe noir"},
		"a phrase is found over any blanks":             {"top secret", "the top \n\t secret plan", "the  plan"},
		"a Korean word is found before its particle":    {"비밀번호", "제 비밀번호는 이거예요", "제 는 이거예요"},
		"a Korean syllable is not found in another":     {"가", "각자", "각자"},
		"a Chinese word is found wherever it stands":    {"密码", "我的密码是", "我的是"},
		"a Latin word is found beside Korean":           {"password", "password는 안 돼요", "는 안 돼요"},
		"a mark ends a word":                            {"c++", "I like c++.", "I like ."},
		"the longest of several words is found":         {"bad", "badminton", "badminton"},
		"what taking out leaves is looked at again":     {"나쁜", "나나쁜쁜 말", " 말"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := stripped(t, StopWords{c.word}, c.words); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestPatterns(t *testing.T) {
	for name, c := range map[string]struct {
		patterns    Patterns
		words, want string
	}{
		"each match is taken out":                   {Patterns{`\d{4}-\d{4}`}, "call 1234-5678 or 0000-1111", "call  or "},
		"they are applied in order":                 {Patterns{"b", "ac"}, "abcd", "d"},
		"what does not match stays":                 {Patterns{"^x"}, "an x", "an x"},
		"a match of no length has the text removed": {Patterns{`\b`}, "words", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := stripped(t, c.patterns, c.words); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestMaxLength(t *testing.T) {
	for name, c := range map[string]struct {
		most        MaxLength
		words, want string
	}{
		"characters are code points":               {MaxLength{Characters: 3}, "가나다라", "가나다"},
		"words at the limit stay":                  {MaxLength{Characters: 4}, "가나다라", "가나다라"},
		"a letter is not cut from its mark":        {MaxLength{Characters: 2}, "ae\u0301x", "a"},
		"joined emoji are not cut":                 {MaxLength{Characters: 3}, "a👩\u200d🚀", "a"},
		"no blank is left at the end":              {MaxLength{Characters: 4}, "one two", "one"},
		"tokens are counted by the counter":        {MaxLength{Tokens: 2}, "one two three four", "one two"},
		"the smaller of two limits counts":         {MaxLength{Tokens: 2, Characters: 3}, "one two three four", "one"},
		"nothing is left where nothing would fit":  {MaxLength{Characters: 1}, "e\u0301\u0301\u0301", ""},
		"long words are cut at the limit of them":  {MaxLength{Tokens: 3}, strings.Repeat("again ", 10_000), "again again again"},
		"one token of a word is a beginning of it": {MaxLength{Tokens: 1}, "antidisestablishmentarianism", "anti"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := stripped(t, c.most, c.words); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	const object = `{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"],"additionalProperties":false}`
	const tree = `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}}}`
	for name, c := range map[string]struct {
		schema, words string
		ok            bool
	}{
		"an object is JSON":                        {"", ` {"a": [1, null]} `, true},
		"prose is not JSON":                        {"", `Sure! {"a": 1}`, false},
		"fenced JSON is not JSON":                  {"", "```json\n{}\n```", false},
		"two values are not JSON":                  {"", `{} {}`, false},
		"what satisfies the schema passes":         {object, `{"n": 2}`, true},
		"what lacks a member does not":             {object, `{}`, false},
		"what has another type does not":           {object, `{"n": "2"}`, false},
		"what is out of range does not":            {object, `{"n": 0}`, false},
		"what has a member too many does not":      {object, `{"n": 1, "m": 1}`, false},
		"what is no JSON does not":                 {object, `n: 1`, false},
		"a number beyond doubles does not":         {object, `{"n": 1e999}`, false},
		"a schema may refer to itself":             {tree, `{"next": {"next": {}}}`, true},
		"what breaks it further down fails":        {tree, `{"next": {"next": 1}}`, false},
		"format says nothing":                      {`{"format":"date"}`, `"not a date"`, true},
		"draft 7 is known":                         {`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`, `["a"]`, true},
		"what takes too many steps to judge fails": {explosive(), `{}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := compile(t, Rule{Name: "json", Test: JSON{c.schema}, Action: memory.CheckRetry, Hint: "Answer in JSON."})
			for range 2 { // the steps of one text are not counted for the next
				if r := one(t, s, said(memory.RoleAssistant, c.words)); r.Retry == c.ok {
					t.Errorf("retry is %v", r.Retry)
				}
			}
		})
	}
}

// explosive is a short schema that takes 2^40 visits.
func explosive() string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/n0","$defs":{`)
	for i := range 40 {
		name, next := string(rune('a'+i/26))+string(rune('a'+i%26)), string(rune('a'+(i+1)/26))+string(rune('a'+(i+1)%26))
		if i == 0 {
			name = "n0"
		}
		b.WriteString(`"` + name + `":{"allOf":[{"$ref":"#/$defs/` + next + `"},{"$ref":"#/$defs/` + next + `"}]},`)
	}
	b.WriteString(`"bo":{"type":"object"}}}`)
	return b.String()
}

func TestMarkup(t *testing.T) {
	for name, c := range map[string]struct {
		kind        Mark
		words, want string
	}{
		"tags go, their words stay":               {HTML, `<p class="a">Hi <b>you</b><br/></p>`, "Hi you"},
		"scripts go with what is in them":         {HTML, "a<script>alert(1)</script>b", "ab"},
		"styles go with what is in them":          {HTML, "a<STYLE>p{}</style >b", "ab"},
		"a script without an end goes to the end": {HTML, "a<script>alert(1)", "a"},
		"comments and declarations go":            {HTML, "<!DOCTYPE html>a<!-- b -->c", "ac"},
		"tags within tags go":                     {HTML, "<<b>script>x</<b>script>", ""},
		"a comparison stays":                      {HTML, "1 < 2 and 3 > 2, a<3", "1 < 2 and 3 > 2, a<3"},
		"headings and quotes go":                  {Markdown, "# Title\n> quoted\ntext", "Title\nquoted\ntext"},
		"emphasis goes":                           {Markdown, "**bold**, *it*, __b__, _i_, ~~no~~ and `code`", "bold, it, b, i, no and code"},
		"links and images leave their words":      {Markdown, "see [docs](https://x.y) ![pic](a.png)", "see docs pic"},
		"fences go, code stays":                   {Markdown, "```go\nx := 1\n```\nok", "x := 1\nok"},
		"products and snake case stay":            {Markdown, "2 * 3 * 4, snake_case_name, a_b", "2 * 3 * 4, snake_case_name, a_b"},
		"lists stay":                              {Markdown, "- one\n- two\n1. three", "- one\n- two\n1. three"},
		"control characters go":                   {Control, "a\x00b\x07c\u009bd", "abcd"},
		"tabs and line ends stay":                 {Control, "a\tb\r\nc", "a\tb\r\nc"},
		"terminal sequences go whole":             {Control, "\x1b[1;31mred\x1b[0m \x1b]0;title\x07x", "red x"},
		"invisible characters go":                 {Control, "a\u200bb\u202ec\ufeffd\U000e0041", "abcd"},
		"joined emoji stay":                       {Control, "👩\u200d🚀 می\u200cخواهم", "👩\u200d🚀 می\u200cخواهم"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := stripped(t, Markup{c.kind}, c.words); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestActions(t *testing.T) {
	bad := StopWords{"bad"}
	call := memory.Part{Kind: memory.PartToolCall, CallID: "c", Name: "f", Arguments: `{"q":"bad"}`}
	answered := func(words string) memory.Part {
		return memory.Part{Kind: memory.PartToolResult, CallID: "c", Parts: []memory.Part{memory.TextPart(words)}}
	}
	image := memory.Part{Kind: memory.PartBlob, MIMEType: "image/png", Data: []byte("bad")}
	thought := memory.Part{Kind: memory.PartReasoning, Text: "bad"}
	text := memory.TextPart
	for name, c := range map[string]struct {
		action memory.CheckAction
		parts  []memory.Part
		want   []memory.Part // nil when the message is removed
		passes bool
	}{
		"words that pass stay as they are":            {memory.CheckRemove, []memory.Part{text("good"), text("better")}, []memory.Part{text("good"), text("better")}, true},
		"REMOVE removes the message":                  {memory.CheckRemove, []memory.Part{text("a bad word")}, nil, false},
		"REMOVE removes reasoning with it":            {memory.CheckRemove, []memory.Part{thought, text("a bad word")}, nil, false},
		"REMOVE leaves a call":                        {memory.CheckRemove, []memory.Part{thought, text("a bad word"), call}, []memory.Part{thought, call}, false},
		"REMOVE leaves an image":                      {memory.CheckRemove, []memory.Part{text("bad"), image, text("more")}, []memory.Part{image}, false},
		"REMOVE leaves a result without its words":    {memory.CheckRemove, []memory.Part{answered("bad")}, []memory.Part{{Kind: memory.PartToolResult, CallID: "c"}}, false},
		"REPLACE puts its text in place of the words": {memory.CheckReplace, []memory.Part{call, text("bad"), text("more")}, []memory.Part{call, text("[withheld]")}, false},
		"REPLACE works on each result by itself":      {memory.CheckReplace, []memory.Part{answered("good"), answered("bad")}, []memory.Part{answered("good"), answered("[withheld]")}, false},
		"STRIP takes out what was found":              {memory.CheckStrip, []memory.Part{text("so bad!"), text("more")}, []memory.Part{text("so !\n\nmore")}, false},
		"STRIP of all that was said removes":          {memory.CheckStrip, []memory.Part{text(" bad\n")}, nil, false},
		"RETRY leaves the message as it is":           {memory.CheckRetry, []memory.Part{text("bad")}, []memory.Part{text("bad")}, false},
		"arguments and reasoning are not looked at":   {memory.CheckRemove, []memory.Part{thought, call}, []memory.Part{thought, call}, true},
	} {
		t.Run(name, func(t *testing.T) {
			rule := Rule{Name: "no-bad", Test: bad, Action: c.action}
			if c.action == memory.CheckReplace {
				rule.Text = "[withheld]"
			}
			if c.action == memory.CheckRetry {
				rule.Hint = "Be kind."
			}
			in := memory.Message{ID: "m", Role: memory.RoleAssistant, Parts: c.parts, Original: &memory.Original{Format: "f"}, Tokens: memory.TokenCounts{O200K: 9}}
			r := one(t, compile(t, rule), in)
			if (len(r.Findings) == 0) != c.passes {
				t.Errorf("findings %+v", r.Findings)
			}
			if !c.passes && r.Findings[0] != (Finding{MessageID: "m", Rule: "no-bad", Action: c.action, Removed: c.want == nil, Hint: rule.Hint}) {
				t.Errorf("finding %+v", r.Findings[0])
			}
			if c.want == nil {
				if len(r.Messages) > 0 {
					t.Errorf("left %+v", r.Messages)
				}
				return
			}
			out := r.Messages[0]
			if d := cmp.Diff(c.want, out.Parts); d != "" {
				t.Errorf("parts (-want +got):\n%s", d)
			}
			changed := !cmp.Equal(c.parts, c.want)
			if r.Changed != changed || (out.Original == nil) != changed || (out.Tokens == memory.TokenCounts{}) != changed {
				t.Errorf("changed %v, with original %v and tokens %v", r.Changed, out.Original, out.Tokens)
			}
		})
	}
}

func TestRules(t *testing.T) {
	t.Run("only messages of a rule's roles are looked at", func(t *testing.T) {
		s := compile(t, Rule{Name: "r", Roles: []memory.Role{memory.RoleTool, memory.RoleAssistant}, Test: StopWords{"x"}, Action: memory.CheckRemove})
		r := all(t, s, []memory.Message{said(memory.RoleUser, "x"), said(memory.RoleAssistant, "x")})
		if len(r.Messages) != 1 || r.Messages[0].Role != memory.RoleUser || r.Findings[0].Index != 1 {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("each rule sees what those before it left", func(t *testing.T) {
		s := compile(t,
			Rule{Name: "fence", Test: Markup{Markdown}, Action: memory.CheckStrip},
			Rule{Name: "json", Test: JSON{}, Action: memory.CheckRetry, Hint: "Answer in JSON."})
		r := one(t, s, said(memory.RoleAssistant, "```json\n{}\n```"))
		if r.Retry || !r.Changed || r.Messages[0].PlainText() != "{}\n" {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("after a retry nothing more is looked at", func(t *testing.T) {
		s := compile(t,
			Rule{Name: "json", Test: JSON{}, Action: memory.CheckRetry, Hint: "Answer in JSON."},
			Rule{Name: "bad", Test: StopWords{"bad"}, Action: memory.CheckRemove})
		r := one(t, s, said(memory.RoleAssistant, "bad"))
		if d := cmp.Diff([]Finding{{MessageID: "m", Rule: "json", Action: memory.CheckRetry, Hint: "Answer in JSON."}}, r.Findings); d != "" || len(r.Messages) != 1 {
			t.Errorf("got %+v\n%s", r, d)
		}
	})
	t.Run("words that stripping never mends are removed", func(t *testing.T) {
		words := strings.Repeat("나", 50) + strings.Repeat("쁜", 50)
		r := one(t, compile(t, Rule{Name: "r", Test: StopWords{"나쁜"}, Action: memory.CheckStrip}), said(memory.RoleUser, words))
		want := []Finding{{MessageID: "m", Rule: "r", Action: memory.CheckStrip}, {MessageID: "m", Rule: "r", Action: memory.CheckRemove, Removed: true}}
		if d := cmp.Diff(want, r.Findings); d != "" || len(r.Messages) > 0 {
			t.Errorf("left %+v\n%s", r.Messages, d)
		}
	})
	t.Run("no rules change nothing", func(t *testing.T) {
		var s *Set
		if r := one(t, s, said(memory.RoleUser, "x")); r.Changed || len(r.Messages) != 1 || len(r.Findings) > 0 {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("a call that nobody waits for any more ends", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := compile(t, Rule{Name: "r", Test: StopWords{"x"}, Action: memory.CheckRemove})
		if _, err := s.Messages(ctx, []memory.Message{said(memory.RoleUser, "x")}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("the caller's messages are left as they are", func(t *testing.T) {
		in := []memory.Message{{Role: memory.RoleTool, Parts: []memory.Part{{Kind: memory.PartToolResult, CallID: "c", Parts: []memory.Part{memory.TextPart("x")}}}}}
		all(t, compile(t, Rule{Name: "r", Test: StopWords{"x"}, Action: memory.CheckRemove}), in)
		if len(in[0].Parts[0].Parts) != 1 {
			t.Error("the message was changed in place")
		}
	})
}

func TestCompile(t *testing.T) {
	ok := Rule{Name: "ok", Test: StopWords{"x"}, Action: memory.CheckRemove}
	with := func(change func(*Rule)) []Rule {
		r := ok
		change(&r)
		return []Rule{r}
	}
	for name, c := range map[string]struct {
		rules []Rule
		field string
	}{
		"a rule has a name":                           {with(func(r *Rule) { r.Name = "" }), "name"},
		"a name is short":                             {with(func(r *Rule) { r.Name = strings.Repeat("x", MaxNameBytes+1) }), "name"},
		"a name is the rule's own":                    {[]Rule{ok, ok}, "name"},
		"a rule looks for something":                  {with(func(r *Rule) { r.Test = nil }), "test"},
		"a rule does something":                       {with(func(r *Rule) { r.Action = 0 }), "action"},
		"JSON cannot be stripped":                     {with(func(r *Rule) { r.Test, r.Action = JSON{}, memory.CheckStrip }), "action"},
		"REPLACE needs a text":                        {with(func(r *Rule) { r.Action = memory.CheckReplace }), "text"},
		"only REPLACE has a text":                     {with(func(r *Rule) { r.Text = "y" }), "text"},
		"RETRY needs a hint":                          {with(func(r *Rule) { r.Action = memory.CheckRetry }), "hint"},
		"only RETRY has a hint":                       {with(func(r *Rule) { r.Hint = "y" }), "hint"},
		"a replacement passes its own rule":           {with(func(r *Rule) { r.Action, r.Text = memory.CheckReplace, "an x" }), "text"},
		"a replacement is not blank":                  {with(func(r *Rule) { r.Action, r.Text = memory.CheckReplace, " \n" }), "text"},
		"a replacement passes the other rules":        {append(with(func(r *Rule) { r.Action, r.Text = memory.CheckReplace, "longer" }), Rule{Name: "s", Test: MaxLength{Characters: 3}, Action: memory.CheckStrip}), "text"},
		"a stop word can be seen":                     {with(func(r *Rule) { r.Test = StopWords{"x", "\u200b "} }), "stop_words.words[1]"},
		"there are stop words":                        {with(func(r *Rule) { r.Test = StopWords{} }), "stop_words.words"},
		"a pattern is RE2":                            {with(func(r *Rule) { r.Test = Patterns{`(?=x)`} }), "patterns.expressions[0]"},
		"a pattern does not match everywhere":         {with(func(r *Rule) { r.Test = Patterns{`x`, `x*`} }), "patterns.expressions[1]"},
		"patterns are not larger than can be matched": {with(func(r *Rule) { r.Test = Patterns{`(a{100}){9}`, `(ab{99}){90}`} }), "patterns.expressions[1]"},
		"a length is set":                             {with(func(r *Rule) { r.Test = MaxLength{} }), "max_length"},
		"a length is positive":                        {with(func(r *Rule) { r.Test = MaxLength{Tokens: -1} }), "max_length"},
		"a schema is JSON":                            {with(func(r *Rule) { r.Test = JSON{"{"} }), "json.schema"},
		"a schema is a schema":                        {with(func(r *Rule) { r.Test = JSON{`{"type": 5}`} }), "json.schema"},
		"a schema refers to nothing elsewhere":        {with(func(r *Rule) { r.Test = JSON{`{"$ref":"https://example.com/x"}`} }), "json.schema"},
		"a schema refers to no file":                  {with(func(r *Rule) { r.Test = JSON{`{"$ref":"file:///etc/hostname"}`} }), "json.schema"},
		"a kind of marks is known":                    {with(func(r *Rule) { r.Test = Markup{9} }), "markup.kinds"},
		"there are kinds of marks":                    {with(func(r *Rule) { r.Test = Markup{} }), "markup.kinds"},
		"there are at most as many rules as may be":   {make([]Rule, MaxRules+1), "name"},
	} {
		t.Run(name, func(t *testing.T) {
			counter, _ := tokens.ByName(tokens.O200K)
			_, err := Compile(c.rules, counter)
			f, isFault := errors.AsType[*Fault](err)
			if !isFault || f.Field != c.field {
				t.Errorf("got %v, want a fault of %s", err, c.field)
			}
		})
	}
	t.Run("a replacement need not pass rules for other roles", func(t *testing.T) {
		compile(t,
			Rule{Name: "a", Roles: []memory.Role{memory.RoleAssistant}, Test: StopWords{"x"}, Action: memory.CheckReplace, Text: "gone"},
			Rule{Name: "b", Roles: []memory.Role{memory.RoleUser}, Test: JSON{}, Action: memory.CheckRemove})
	})
}
