package contentchecks

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/testing/canceltest"
)

// listed is n pieces with commas between them.
func listed(n int, piece func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = piece(i)
	}
	return strings.Join(all, ",")
}

func same(piece string) func(int) string { return func(int) string { return piece } }

func TestWhatASchemaMayTakeToCompile(t *testing.T) {
	counter, err := tokens.ByName(tokens.O200K)
	if err != nil {
		t.Fatal(err)
	}
	for name, schema := range map[string]string{
		"expressions that expand": `{"description":"` + strings.Repeat("x", 57_000) + `","pattern":"` + strings.Repeat("(?:a?){1000}", 3) + `"}`,
		"expressions that expand many times": `{"allOf":[` + listed(900, func(i int) string {
			return fmt.Sprintf(`{"pattern":"(?:a?){1000}(?:b?){1000}%d"}`, i)
		}) + `]}`,
		"expressions of properties' names":            `{"patternProperties":{` + listed(2500, func(i int) string { return fmt.Sprintf(`"%d+":{}`, i) }) + `}}`,
		"expressions of an older draft":               `{"$schema":"http://json-schema.org/draft-07/schema#","pattern":"(?:(?:a?){100}){70}"}`,
		"a long expression":                           `{"pattern":"` + strings.Repeat("a", MaxPattern+1) + `"}`,
		"names for 26,000 properties":                 `{"patternProperties":{` + listed(6000, func(i int) string { return fmt.Sprintf(`"%d":true`, i) }) + `}}`,
		"objects without end":                         `{"allOf":[` + listed(20_000, same("{}")) + `]}`,
		"values nested deep":                          strings.Repeat(`{"not":`, 8000) + "{}" + strings.Repeat("}", 8000),
		"names that every path within them repeats":   `{"properties":{"` + strings.Repeat("k", 30_000) + `":{"allOf":[` + listed(2500, same(`{"a":1}`)) + `]}}}`,
		"references to where no schema stands":        `{"x":{` + listed(1000, func(i int) string { return fmt.Sprintf(`"%d":{"a":1}`, i) }) + `},"allOf":[` + listed(1000, func(i int) string { return fmt.Sprintf(`{"$ref":"#/x/%d"}`, i) }) + `]}`,
		"a schema that refers to itself at once":      `{"$ref":"#"}`,
		"a schema that comes back to itself":          `{"anyOf":[{"type":"null"},{"$ref":"#/$defs/a"}],"$defs":{"a":{"not":{"$ref":"#"}}}}`,
		"a schema that refers to itself in draft 7":   `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"allOf":[{"$ref":"#/definitions/a"}]}},"$ref":"#/definitions/a"}`,
		"a reference to itself by a dynamic anchor":   `{"$dynamicAnchor":"a","$dynamicRef":"#a"}`,
		"a reference to itself by a recursive anchor": `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"$recursiveRef":"#"}`,
	} {
		t.Run(name+" is refused before it takes memory", func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Compile([]Rule{{Name: "json", Test: JSON{schema}, Action: memory.CheckRemove}}, counter)
			runtime.ReadMemStats(&after)
			if f, isFault := errors.AsType[*Fault](err); !isFault || f.Field != "json.schema" || strings.Contains(f.Text, "known draft") {
				t.Errorf("got %v, want a fault of json.schema that names a limit", err)
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 32 {
				t.Errorf("it took %d MiB", took)
			}
		})
	}
	t.Run("the schemas of several rules are bounded together", func(t *testing.T) {
		large := JSON{`{"description":"` + strings.Repeat("x", 60_000) + `"}`}
		_, err := Compile([]Rule{
			{Name: "a", Test: large, Action: memory.CheckRemove}, {Name: "b", Test: large, Action: memory.CheckRemove}, {Name: "c", Test: large, Action: memory.CheckRemove},
		}, counter)
		if f, isFault := errors.AsType[*Fault](err); !isFault || f.Rule != 2 || f.Field != "json.schema" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an expression that stands in many places counts once", func(t *testing.T) {
		compile(t, Rule{Name: "json", Action: memory.CheckRemove, Test: JSON{`{"allOf":[` + listed(500, same(`{"pattern":"^[a-z]{30}$"}`)) + `]}`}})
	})
	t.Run("a large schema of every day is taken", func(t *testing.T) {
		compile(t, Rule{Name: "json", Action: memory.CheckRemove, Test: JSON{`{"type":"object","properties":{` + listed(900, func(i int) string {
			return fmt.Sprintf(`"property_%d":{"$ref":"#/$defs/d%d"}`, i, i%300)
		}) + `},"$defs":{` + listed(300, func(i int) string {
			return fmt.Sprintf(`"d%d":{"type":"array","items":{"type":"string","maxLength":9}}`, i)
		}) + `}}`}})
	})
	t.Run("format says nothing in any draft", func(t *testing.T) {
		s := compile(t, Rule{Name: "json", Action: memory.CheckRemove, Test: JSON{`{"$schema":"http://json-schema.org/draft-07/schema#","format":"regex"}`}})
		if r := one(t, s, said(memory.RoleUser, `"(?:a?){1000}("`)); r.Changed {
			t.Errorf("got %+v", r)
		}
	})
}

// heavy are rules and words that take long together.
func heavy() map[string]struct {
	test  Test
	words string
	fails bool // the words do not pass; else judging them is refused
} {
	digits := func(n int, v string) string { return "[" + listed(n, same(v)) + "]" }
	members := func(n int) string {
		return "{" + listed(n, func(i int) string { return fmt.Sprintf(`"k%d":1`, i) }) + "}"
	}
	korean := make(StopWords, MaxWords)
	for i := range korean {
		korean[i] = strings.Repeat("가", 80) + fmt.Sprint(i)
	}
	return map[string]struct {
		test  Test
		words string
		fails bool
	}{
		"an expression that expands, over a long text":    {Patterns{`(?:a?){1000}b`}, strings.Repeat("a", 1<<20), false},
		"many expressions over a long text":               {many(), strings.Repeat("a", 1<<20), false},
		"an expression that reads on behind each match":   {Patterns{`(?s)a(.*b)?`}, strings.Repeat("a", 1<<20), false},
		"stop words that begin alike":                     {korean, strings.Repeat("가", 350_000), false},
		"tokens of a long text, again and again":          {MaxLength{Tokens: 200_000}, strings.Repeat("안녕 ", 150_000), false},
		"marks of all kinds":                              {Markup{HTML, Markdown, Control}, strings.Repeat("<a*b_[`", 150_000), false},
		"an enum of 30,000 for each of 300,000 items":     {JSON{`{"items":{"enum":[` + listed(30_000, same("0")) + `]}}`}, digits(300_000, "1"), true},
		"long items that are compared in pairs":           {JSON{`{"uniqueItems":true}`}, digits(20, digits(20_000, "1.5")), true},
		"items that a hundred schemas look at":            {JSON{`{"allOf":[` + listed(100, same(`{"items":{"type":"integer"}}`)) + `]}`}, digits(300_000, "1.5"), true},
		"names that a thousand schemas look at":           {JSON{`{"propertyNames":{"allOf":[` + listed(1000, same(`{"maxLength":0}`)) + `]}}`}, members(60_000), true},
		"expressions for the names of many members":       {JSON{`{"patternProperties":{` + listed(900, func(i int) string { return fmt.Sprintf(`"%d$":true`, i) }) + `}}`}, members(60_000), true},
		"an expression of a schema over a long text":      {JSON{`{"pattern":"(?:a?){900}b"}`}, `"` + strings.Repeat("a", 8_000) + `"`, true},
		"members that nobody has looked at":               {JSON{`{"allOf":[` + listed(2900, same("true")) + `],"unevaluatedProperties":false}`}, members(60_000), true},
		"a text that nests deeper than may be gone":       {JSON{deepChain()}, strings.Repeat("[", 9000) + strings.Repeat("]", 9000), true},
		"alternatives of alternatives":                    {JSON{explosive()}, `{}`, true},
		"alternatives of alternatives in an older draft":  {JSON{strings.Replace(explosive(), "{", `{"$schema":"http://json-schema.org/draft-07/schema#",`, 1)}, `{}`, true},
		"alternatives of which each fails at its keyword": {JSON{strings.ReplaceAll(explosive(), "allOf", "anyOf")}, `1`, true},
	}
}

func many() Patterns {
	all := make(Patterns, MaxPatterns)
	for i := range all {
		all[i] = fmt.Sprintf(`(?:a?){40}%c`, 'b'+rune(i%20))
	}
	return all
}

// deepChain is a schema of a thousand objects that look at the same value, and again at each of its items.
func deepChain() string {
	return `{"$ref":"#/$defs/0","$defs":{` + listed(1000, func(i int) string { return fmt.Sprintf(`"%d":{"$ref":"#/$defs/%d"}`, i, i+1) }) +
		`,"1000":{"items":{"$ref":"#/$defs/0"}}}}`
}

func TestJudgingTakesBoundedSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes on one goroutine: make test runs it")
	}
	for name, c := range heavy() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := compile(t, Rule{Name: "r", Test: c.test, Action: memory.CheckRemove})
			w := newWork(t.Context(), MaxSteps)
			if !c.fails {
				w.left /= 20 // how long they go on does not matter
			}
			r, err := s.message(w, said(memory.RoleUser, c.words))
			if c.fails {
				if err != nil || len(r.Findings) != 1 {
					t.Errorf("got findings %+v and error %v, want one finding", r.Findings, err)
				}
				return
			}
			if e, ok := errors.AsType[*TooMuch](err); !ok || e.Name != "r" || e.Rule != 0 || e.Field != fieldOf(c.test) {
				t.Errorf("got error %v, want that it takes too much", err)
			}
		})
	}
	t.Run("the steps of all messages are bounded together", func(t *testing.T) {
		s := compile(t, Rule{Name: "r", Test: Patterns{`(?:a?){90}b`}, Action: memory.CheckRemove})
		messages := make([]memory.Message, 10)
		for i := range messages {
			messages[i] = said(memory.RoleUser, strings.Repeat("a", 4_000))
		}
		of := func() *work { return newWork(t.Context(), MaxSteps/50) }
		if _, err := s.each(of(), messages[:1]); err != nil {
			t.Errorf("one by itself: %v", err)
		}
		if _, err := s.each(of(), messages); !isTooMuch(err) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("so are those of the replacements", func(t *testing.T) {
		counter, _ := tokens.ByName(tokens.O200K)
		rules := []Rule{{Name: "p", Test: Patterns{`(?:a?){990}b`}, Action: memory.CheckStrip}}
		for i := range 10 {
			rules = append(rules, Rule{Name: fmt.Sprint(i), Test: StopWords{"x"}, Action: memory.CheckReplace, Text: strings.Repeat("a", MaxTextBytes)})
		}
		_, err := Compile(rules, counter)
		if f, isFault := errors.AsType[*Fault](err); !isFault || f.Field != "text" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a long text passes rules of every day", func(t *testing.T) {
		s := compile(t,
			Rule{Name: "words", Test: StopWords{"forbidden", "금지"}, Action: memory.CheckStrip},
			Rule{Name: "card", Test: Patterns{`\b\d{4}-\d{4}-\d{4}-\d{4}\b`}, Action: memory.CheckStrip},
			Rule{Name: "length", Test: MaxLength{Tokens: MaxLimit}, Action: memory.CheckStrip},
		)
		if r := one(t, s, said(memory.RoleUser, strings.Repeat("The ferry leaves at 9. 배는 아홉 시에 떠나요. ", 20_000))); len(r.Findings) > 0 {
			t.Errorf("got %+v", r.Findings)
		}
	})
}

func isTooMuch(err error) bool {
	_, ok := errors.AsType[*TooMuch](err)
	return ok
}

func TestJudgingEndsWithItsContext(t *testing.T) {
	for name, c := range heavy() {
		if c.fails && !strings.Contains(name, "enum") {
			continue // ends by itself after a fifth of a second
		}
		t.Run(name, func(t *testing.T) {
			s := compile(t, Rule{Name: "r", Test: c.test, Action: memory.CheckRemove})
			ctx := canceltest.Ending(t.Context(), 2)
			if _, err := s.Message(ctx, said(memory.RoleUser, c.words)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want that of the context", err)
			}
			if ctx.Beyond() > 1 {
				t.Errorf("it went on for %d looks after the context had ended", ctx.Beyond()-1)
			}
		})
	}
}

func TestExpressions(t *testing.T) {
	counted := func() *work { return newWork(context.Background(), MaxSteps) }
	t.Run("replacing is that of the standard library", rapid.MakeCheck(func(t *rapid.T) {
		p := rapid.SampledFrom([]string{
			`a`, `a+`, `a*`, `\b`, `^`, `$`, `(?m)^`, `(?m)$`, `^a`, `a$`, `(?m)^a|b$`, `\Ba`, `(a)(b)?`, `(?s)a(.*b)?`, `(?i)A|b`, `\Qa\E|b`, `\Qa`, `é|한`, `[^a]`, `(^|[^b])a($|b)`, ``,
		}).Draw(t, "expression")
		words := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "A", " ", "\n", "é", "한", "\xff", "ab"}), 0, 12).Draw(t, "words"), "")
		template := rapid.SampledFrom([]string{"", "x", "$1", "[$0$2]"}).Draw(t, "template")
		e := newExpression(regexp.MustCompile(p))
		got, err := e.replaceCounted(counted(), words, template)
		if want := e.ReplaceAllString(words, template); err != nil || got != want {
			t.Errorf("%q in %q by %q: got %q and %v, want %q", p, words, template, got, err, want)
		}
	}))
	t.Run("a size is at least what is compiled, and not much more", func(t *testing.T) {
		for _, p := range []string{
			`a`, `abc`, `[a-z]+`, `(?:a?){1000}`, `(a{100}){9}`, `(ab{9,})*`, `(?i)word\d{4}-\d{4}`, `a{3,7}|b{2,}|c{0}|(?:de){5}`, `^(?:[a-z]+\.)*x$`, `(?:)`, `(?:a|b|cd)*?`, `\b\d{1,3}\b`, `(?:(?:a?){10}){10}`,
		} {
			tree, err := syntax.Parse(p, syntax.Perl)
			if err != nil {
				t.Fatal(err)
			}
			size := sizeOf(tree)
			prog, err := syntax.Compile(tree.Simplify())
			if err != nil {
				t.Fatal(err)
			}
			if n := int64(len(prog.Inst)); size+2 < n || size > 2*n+4 {
				t.Errorf("%s: got %d, compiled it is %d", p, size, n)
			}
		}
	})
}

func TestStopWordsAreFoundAsOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"a", "b", " ", "가", "나", "-", "1"})
		word := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 1, 4).Draw(t, "word"), "") })
		list := rapid.SliceOfN(word.Filter(func(w string) bool { return strings.TrimSpace(w) != "" }), 1, 6).Draw(t, "list")
		letters := fold(strings.Join(rapid.SliceOfN(piece, 1, 12).Draw(t, "words"), ""))
		made, err := StopWords(list).ready(nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range letters {
			got, _ := made.(stopWordIndex).at(letters, i)
			if want := oneByOne(list, letters, i); got != want {
				t.Fatalf("at %d: got %d, want %d", i, got, want)
			}
		}
	})
}

// oneByOne is how long the longest of the words is that stands at i.
func oneByOne(list []string, letters []letter, i int) int {
	longest := 0
	for _, w := range list {
		word := trimBlanks(runesOf(fold(w)))
		end := i + len(word)
		if end > len(letters) || i > 0 && joined(letters[i-1].r, letters[i].r) || end < len(letters) && joined(letters[end-1].r, letters[end].r) {
			continue
		}
		if string(runesOf(letters[i:end])) == string(word) {
			longest = max(longest, len(word))
		}
	}
	return longest
}

// BenchmarkSteps prints what a step takes by each kind of rule.
func BenchmarkSteps(b *testing.B) {
	for name, c := range heavy() {
		b.Run(name, func(b *testing.B) {
			counter, _ := tokens.ByName(tokens.O200K)
			s, err := Compile([]Rule{{Name: "r", Test: c.test, Action: memory.CheckRemove}}, counter)
			if err != nil {
				b.Fatal(err)
			}
			var steps int64
			for b.Loop() {
				w := newWork(b.Context(), MaxSteps)
				_, _ = s.message(w, said(memory.RoleUser, c.words))
				steps += MaxSteps - w.left
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(steps, 1)), "ns/step")
		})
	}
}
