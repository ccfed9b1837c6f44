package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/stratamem/strata/internal/tokens"
)

// JSON says that words must be JSON and nothing else. They cannot be stripped.
type JSON struct {
	// Schema is the JSON Schema that they must satisfy, at most MaxSchemaBytes; "" for none. It is of draft 2020-12 unless
	// its $schema says otherwise. The keyword format is not asserted, and nothing is fetched for a $ref. Numbers are taken as
	// doubles.
	Schema string
}

func (t JSON) ready(tokens.Counter) (judge, error) {
	if t.Schema == "" {
		return wellFormed{}, nil
	}
	if len(t.Schema) > MaxSchemaBytes {
		return nil, fault("json.schema", "it has %d bytes; the limit is %d", len(t.Schema), MaxSchemaBytes)
	}
	schema, err := newSchema(t.Schema)
	if err != nil {
		f := fault("json.schema", "it is no JSON Schema that can be used: it must be JSON of a known draft, and each $ref must point into it")
		f.Err = err
		return nil, f
	}
	return schema, nil
}

type wellFormed struct{}

func (wellFormed) pass(words string) (rest string, ok bool) { return words, json.Valid([]byte(words)) }

// maxSteps bounds what judging a text may take: a schema of a few hundred bytes can take time exponential in its length.
const maxSteps = 100_000

// schema judges by a JSON Schema. Judging counts steps in one place, so that it is done by one caller at a time.
type schema struct {
	mu    sync.Mutex
	left  int // steps
	rules *jsonschema.Schema
}

func newSchema(text string) (*schema, error) {
	var doc any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	s := &schema{left: maxSteps}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nothing{})
	c.RegisterVocabulary(&jsonschema.Vocabulary{URL: "urn:strata:steps", Compile: s.count})
	c.AssertVocabs()
	if err := c.AddResource("urn:strata:schema", doc); err != nil {
		return nil, err
	}
	var err error
	s.rules, err = c.Compile("urn:strata:schema")
	return s, err
}

// nothing is where schemas are loaded from that others refer to.
type nothing struct{}

var errElsewhere = errors.New("a $ref points to another document")

func (nothing) Load(string) (any, error) { return nil, errElsewhere }

// count has every visit of a schema's object counted, by how many values it holds.
func (s *schema) count(_ *jsonschema.CompilerContext, obj map[string]any) (jsonschema.SchemaExt, error) {
	visit := visit{s, 1}
	for _, v := range obj {
		visit.steps++
		if list, ok := v.([]any); ok {
			visit.steps += len(list)
		}
	}
	return visit, nil
}

type visit struct {
	of    *schema
	steps int
}

// tooLong ends a judgement from within: the library knows no other way out.
type tooLong struct{}

func (v visit) Validate(*jsonschema.ValidatorContext, any) {
	if v.of.left -= v.steps; v.of.left < 0 {
		panic(tooLong{})
	}
}

func (s *schema) pass(words string) (rest string, ok bool) {
	var doc any
	if err := json.Unmarshal([]byte(words), &doc); err != nil {
		return words, false
	}
	return words, s.judge(doc) == nil
}

func (s *schema) judge(doc any) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		switch p := recover().(type) {
		case nil:
		case tooLong:
			err = fmt.Errorf("judging takes more than %d steps", maxSteps)
		default:
			panic(p)
		}
	}()
	s.left = maxSteps
	return s.rules.Validate(doc)
}
