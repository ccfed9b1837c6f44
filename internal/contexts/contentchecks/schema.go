package contentchecks

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// The limits of a schema. They bound what compiling it takes: its library keeps a path for every object, and looks for an
// object among all others.
const (
	maxSchemaObjects = 3000    // objects and booleans
	maxSchemaDepth   = 128     // of nested values
	maxSchemaPaths   = 1 << 20 // bytes of the paths of all its values, such as /properties/name/items
	maxSchemaRefs    = 200_000 // values that the library looks at for references to where no schema is expected
	maxAllSchemas    = 2 * MaxSchemaBytes
)

// JSON requires that words are JSON and nothing else. They cannot be stripped.
type JSON struct {
	// Schema is the JSON Schema that they must satisfy, at most MaxSchemaBytes; "" for none. It is of draft 2020-12 unless
	// its $schema says otherwise. The keyword format is not asserted, and nothing is fetched for a $ref. Numbers are taken as
	// doubles. Its expressions are bounded as Patterns are: each by MaxPattern, and all by maxInstructions together.
	Schema string
}

func (t JSON) ready(tokens.Counter) (judge, error) {
	if t.Schema == "" {
		return wellFormed{}, nil
	}
	if len(t.Schema) > MaxSchemaBytes {
		return nil, fault("json.schema", "it has %d bytes; the limit is %d", len(t.Schema), MaxSchemaBytes)
	}
	return newSchema(t.Schema)
}

type wellFormed struct{}

func (wellFormed) pass(w *work, words string) (rest string, ok bool, err error) {
	if err := w.spend(int64(len(words))); err != nil {
		return words, true, err
	}
	return words, json.Valid([]byte(words)), nil
}

// maxStepsOfText bounds what judging one text by a schema may take: a schema of a few hundred bytes can take time
// exponential in its length. A text that takes more does not pass.
const maxStepsOfText = 20_000_000

// maxNesting bounds how deep judging a text goes: a level of the text times the schemas that look at the same value.
const maxNesting = 20_000

// schema judges by a JSON Schema. Judging counts its steps in one place, so that it is done by one caller at a time.
//
// The library has no limits of its own. It offers two places at which its work can be counted before it is done: its
// engine of expressions, and the check of a value's format, which comes first of all that takes long. So every compiled
// object gets a format that counts; const and enum, which would come before it, are judged there as well.
type schema struct {
	idle   chan struct{} // holds one token while nobody judges
	work   *work         // of who judges
	left   int64         // steps that are left for the text
	err    error         // why judging was ended from within
	wrong  *jsonschema.Schema
	chain  int64 // the most schemas that look at the same value, one within the other
	uneval bool  // whether any asks which members and items no other has looked at
}

// The documents that are compiled. The first is satisfied by what does not satisfy the second. The library stops at a
// text's first fault and keeps none where it only wants to know whether there is one, and so it is below a "not".
const (
	wrongURL  = "urn:strata:wrong"
	schemaURL = "urn:strata:schema"
)

func newSchema(text string) (*schema, error) {
	var doc any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return nil, unusable(err)
	}
	m := measure{refs: map[string]bool{}}
	m.add(doc, 0, 0)
	m.weighRefs(doc, strings.Contains(text, "draft-0"))
	if f := m.fault(); f != nil {
		return nil, f
	}
	s := &schema{idle: make(chan struct{}, 1)}
	s.idle <- struct{}{}
	compiled := schemaCompiler{of: s, expressions: newExpressions(), seen: map[*jsonschema.Schema]bool{}}
	var err error
	if s.wrong, err = compiled.compile(doc); err != nil {
		if compiled.refusal != "" {
			f := fault("json.schema", "%s", compiled.refusal)
			f.Err = err
			return nil, f
		}
		return nil, unusable(err)
	}
	for _, sch := range compiled.objects {
		s.uneval = s.uneval || sch.UnevaluatedItems != nil || sch.UnevaluatedProperties != nil
	}
	var chained bool
	if s.chain, chained = longestChain(compiled.objects); !chained {
		return nil, fault("json.schema", "a schema in it refers to itself for the same value: let it step into a property or an item first")
	}
	for _, sch := range compiled.objects {
		s.watch(sch)
	}
	return s, nil
}

func unusable(err error) *Fault {
	f := fault("json.schema", "it is no JSON Schema that can be used: it must be JSON of a known draft, and each $ref must point into it")
	f.Err = err
	return f
}

// measure is the size of a schema's document.
type measure struct {
	objects, depth, paths int
	refs                  map[string]bool // what its references say
	looks                 int64           // values that are looked at for references
}

// add counts a value at a depth, to which a path of so many bytes leads.
func (m *measure) add(v any, depth, path int) {
	m.depth = max(m.depth, depth)
	if m.depth > maxSchemaDepth {
		return
	}
	m.paths += path
	switch v := v.(type) {
	case map[string]any:
		m.objects++
		for k, member := range v {
			m.add(member, depth+1, path+1+len(k))
			if ref, ok := member.(string); ok && strings.HasPrefix(k, "$") {
				m.refs[ref] = true
			}
		}
	case []any:
		for i, item := range v {
			m.add(item, depth+1, path+1+len(fmt.Sprint(i)))
		}
	case bool:
		m.objects++
	}
}

// weighRefs counts what references take that point to where the library expects no schema: it copies a list of all objects
// for each, and checks what is there once more. Definitions are where it expects one; $defs are none in the older drafts.
func (m *measure) weighRefs(doc any, older bool) {
	if m.depth > maxSchemaDepth {
		return
	}
	for ref := range m.refs {
		_, path, ok := strings.Cut(ref, "#/")
		if !ok {
			continue
		}
		steps := strings.Split(path, "/")
		if len(steps) == 2 && (steps[0] == "definitions" || steps[0] == "$defs" && !older) {
			continue
		}
		target := doc
		for _, step := range steps {
			target = memory.Member(target, step)
		}
		if target == nil {
			target = doc // it is written in another way, or relative to a schema within
		}
		if m.looks += int64(m.objects)/8 + nodes(target); m.looks > maxSchemaRefs {
			return
		}
	}
}

func (m *measure) fault() *Fault {
	switch {
	case m.depth > maxSchemaDepth:
		return fault("json.schema", "it nests values more than %d levels deep: use $defs and $ref", maxSchemaDepth)
	case m.objects > maxSchemaObjects:
		return fault("json.schema", "it has %d objects and booleans; the limit is %d: describe less of the text", m.objects, maxSchemaObjects)
	case m.paths > maxSchemaPaths:
		return fault("json.schema", "the paths of its values, such as /properties/name, take %d bytes together; the limit is %d: "+
			"use shorter names, or nest less by $defs and $ref", m.paths, maxSchemaPaths)
	case m.looks > maxSchemaRefs:
		return fault("json.schema", "too many of its references point to where no schema is expected: put what they point to below $defs")
	}
	return nil
}

// schemaCompiler compiles a schema's document.
type schemaCompiler struct {
	of          *schema
	expressions *expressions
	objects     []*jsonschema.Schema // every object that was compiled
	seen        map[*jsonschema.Schema]bool
	refusal     string // why it is refused, where that is not the library's error
}

func (c *schemaCompiler) compile(doc any) (*jsonschema.Schema, error) {
	lib := jsonschema.NewCompiler()
	lib.DefaultDraft(jsonschema.Draft2020)
	lib.UseLoader(nothing{})
	lib.UseRegexpEngine(c.expression)
	lib.RegisterVocabulary(&jsonschema.Vocabulary{URL: "urn:strata:objects", Compile: c.object})
	lib.AssertVocabs()
	if err := lib.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	if err := lib.AddResource(wrongURL, map[string]any{"not": map[string]any{"$ref": schemaURL}}); err != nil {
		return nil, err
	}
	return lib.Compile(wrongURL)
}

// nothing is where schemas are loaded from that others refer to.
type nothing struct{}

var errElsewhere = errors.New("a $ref points to another document")

func (nothing) Load(string) (any, error) { return nil, errElsewhere }

// object collects every object that is compiled.
func (c *schemaCompiler) object(lib *jsonschema.CompilerContext, _ map[string]any) (jsonschema.SchemaExt, error) {
	if sch := lib.Enqueue(nil); !c.seen[sch] { // the object itself: it is being compiled
		c.seen[sch] = true
		c.objects = append(c.objects, sch)
	}
	return nil, nil //nolint:nilnil // the vocabulary has no keywords
}

var errRefused = errors.New("the expression is refused")

// expression compiles an expression of the schema.
func (c *schemaCompiler) expression(p string) (jsonschema.Regexp, error) {
	if len(p) > MaxPattern {
		c.refusal = fmt.Sprintf("an expression in it has %d bytes; the limit is %d", len(p), MaxPattern)
		return nil, errRefused
	}
	e, refusal, err := c.expressions.compile(p)
	if refusal != "" {
		if err == nil {
			err = errRefused
		}
		c.refusal = "an expression in it cannot be used: " + refusal
		return nil, err
	}
	return pattern{e, c.of}, nil
}

// pattern is an expression of a schema.
type pattern struct {
	*expression
	of *schema
}

// MatchString reports whether the expression matches anywhere in a text.
func (p pattern) MatchString(s string) bool {
	p.of.spend(p.steps + stepsOfVisit)
	before := p.of.work.left
	found, err := p.matches(p.of.work, s)
	if err != nil {
		p.of.end(err)
	}
	p.of.left -= before - p.of.work.left
	p.of.spend(0)
	return found
}

// ended is what judging is ended by from within: the library knows no other way out.
type ended struct{}

func (s *schema) end(err error) {
	s.err = err
	panic(ended{})
}

// errLong is the error of a text that takes too many steps.
var errLong = fmt.Errorf("judging the text takes more than %d steps", maxStepsOfText)

// spend takes steps before they are done, from those of the text and from those of the call.
func (s *schema) spend(steps int64) {
	if s.left -= steps; s.left < 0 {
		s.end(errLong)
	}
	if err := s.work.spend(steps); err != nil {
		s.end(err)
	}
}

func (s *schema) pass(w *work, words string) (rest string, ok bool, err error) {
	if err := w.spend(stepsOfDecode * int64(len(words))); err != nil {
		return words, true, err
	}
	var doc any
	if json.Unmarshal([]byte(words), &doc) != nil || depthOf(doc)*s.chain > maxNesting {
		return words, false, nil
	}
	select {
	case <-s.idle:
	case <-w.ctx.Done():
		return words, true, fmt.Errorf("judge words: %w", w.ctx.Err())
	}
	defer func() { s.idle <- struct{}{} }()
	err = s.judge(w, doc)
	if err == nil || errors.Is(err, errLong) || errors.Is(err, errWrong) {
		return words, err == nil, nil
	}
	return words, true, err
}

var errWrong = errors.New("the text does not satisfy the schema")

func (s *schema) judge(w *work, doc any) (err error) {
	defer func() {
		s.work = nil
		switch p := recover().(type) {
		case nil:
		case ended:
			err = s.err
		default:
			panic(p)
		}
	}()
	s.work, s.left = w, maxStepsOfText
	if s.wrong.Validate(doc) == nil {
		return errWrong
	}
	return nil
}

// depthOf is how deep a value nests others, at least 1.
func depthOf(v any) int64 {
	var depth int64
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			depth = max(depth, depthOf(member))
		}
	case []any:
		for _, item := range v {
			depth = max(depth, depthOf(item))
		}
	}
	return depth + 1
}

// watch counts each evaluation of an object before it happens, and compares in its place with what enum and const allow.
func (s *schema) watch(sch *jsonschema.Schema) {
	allowed := takeAllowed(sch)
	same := int64(len(sameValue(sch)))
	visit := stepsOfVisit*(1+same) + s.chain/4 + stepsOfMember*keywords(sch) + stepsOfCompare*allowed.nodes()
	member := stepsOfVisit + stepsOfMember*(1+int64(len(sch.PatternProperties)))
	if sch.PropertyNames != nil {
		member += stepsOfVisit
	}
	item := stepsOfMember + 2*stepsOfVisit*itemSchemas(sch)
	if s.uneval {
		member += stepsOfMember * (1 + same)
		item += stepsOfMember * (1 + same)
	}
	validate := func(v any) error {
		s.spend(visit)
		switch v := v.(type) {
		case map[string]any:
			s.spend(member * int64(len(v)))
		case []any:
			s.spend(item * int64(len(v)))
			if sch.UniqueItems {
				s.spendUnique(v)
			}
		case string:
			s.spend(int64(len(v)))
		}
		if !allowed.has(v) {
			return errWrong
		}
		return nil
	}
	sch.Format = &jsonschema.Format{Name: "counted", Validate: validate}
}

// allowedValues are the values that an object allows by its enum and by its const; nil for all.
type allowedValues struct {
	enum  *[]any
	value *any
}

// takeAllowed takes enum and const out of an object.
func takeAllowed(sch *jsonschema.Schema) allowedValues {
	a := allowedValues{value: sch.Const}
	if sch.Enum != nil {
		a.enum = &sch.Enum.Values
	}
	sch.Enum, sch.Const = nil, nil
	return a
}

// nodes is how many values are compared at the most.
func (a allowedValues) nodes() (n int64) {
	if a.enum != nil {
		for _, v := range *a.enum {
			n += nodes(v)
		}
	}
	if a.value != nil {
		n += nodes(*a.value)
	}
	return n
}

func (a allowedValues) has(v any) bool {
	if a.value != nil && !reflect.DeepEqual(v, *a.value) {
		return false
	}
	return a.enum == nil || slices.ContainsFunc(*a.enum, func(one any) bool { return reflect.DeepEqual(v, one) })
}

// spendUnique takes the steps of comparing items with each other: up to twenty are compared in pairs, more are hashed.
func (s *schema) spendUnique(items []any) {
	const inPairs = 20
	times := int64(1)
	if len(items) <= inPairs {
		times = int64(len(items))
	}
	for _, item := range items {
		s.spend(times * 2 * stepsOfCompare * nodes(item))
	}
}

// nodes is how many values a value is made of, itself among them.
func nodes(v any) int64 {
	n := int64(1)
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			n += nodes(member)
		}
	case []any:
		for _, item := range v {
			n += nodes(item)
		}
	}
	return n
}

// keywords is how many values an object names that a walk goes through.
func keywords(sch *jsonschema.Schema) int64 {
	n := len(sch.Required) + len(sch.Dependencies) + len(sch.DependentRequired) + len(sch.DependentSchemas)
	for _, names := range sch.DependentRequired {
		n += len(names)
	}
	for _, d := range sch.Dependencies {
		if names, ok := d.([]string); ok {
			n += len(names)
		}
	}
	for _, number := range []bool{
		sch.Minimum != nil, sch.Maximum != nil, sch.ExclusiveMinimum != nil, sch.ExclusiveMaximum != nil, sch.MultipleOf != nil,
	} {
		if number {
			n += 2 * stepsOfVisit / stepsOfMember
		}
	}
	return int64(n)
}

// itemSchemas is how many schemas of an object look at each item of an array.
func itemSchemas(sch *jsonschema.Schema) int64 {
	n := int64(0)
	for _, looks := range []bool{
		sch.Items != nil, sch.Items2020 != nil, sch.AdditionalItems != nil, sch.Contains != nil,
		len(sch.PrefixItems) > 0, sch.UnevaluatedItems != nil,
	} {
		if looks {
			n++
		}
	}
	return n
}

// sameValue are the schemas that look at the same value as an object does, but for those that a name stands for.
func sameValue(sch *jsonschema.Schema) []*jsonschema.Schema {
	var out []*jsonschema.Schema
	add := func(some ...*jsonschema.Schema) {
		for _, one := range some {
			if one != nil {
				out = append(out, one)
			}
		}
	}
	add(sch.Ref, sch.RecursiveRef, sch.Not, sch.If, sch.Then, sch.Else)
	add(sch.AllOf...)
	add(sch.AnyOf...)
	add(sch.OneOf...)
	if sch.DynamicRef != nil {
		add(sch.DynamicRef.Ref)
	}
	for _, one := range sch.DependentSchemas {
		add(one)
	}
	for _, d := range sch.Dependencies {
		if one, ok := d.(*jsonschema.Schema); ok {
			add(one)
		}
	}
	return out
}

// longestChain is the most objects that look at the same value, one within the other; false where they never come to an
// end. A dynamic reference may lead to whatever has its anchor.
func longestChain(objects []*jsonschema.Schema) (longest int64, ok bool) {
	anchors := map[string][]*jsonschema.Schema{}
	var recursive []*jsonschema.Schema
	for _, sch := range objects {
		if sch.DynamicAnchor != "" {
			anchors[sch.DynamicAnchor] = append(anchors[sch.DynamicAnchor], sch)
		}
		if sch.RecursiveAnchor {
			recursive = append(recursive, sch)
		}
	}
	chains := map[*jsonschema.Schema]int64{} // 0 while it is looked at
	var chain func(*jsonschema.Schema) (int64, bool)
	chain = func(sch *jsonschema.Schema) (int64, bool) {
		if n, seen := chains[sch]; seen {
			return n, n > 0
		}
		chains[sch] = 0
		next := sameValue(sch)
		if sch.DynamicRef != nil {
			next = append(next, anchors[sch.DynamicRef.Anchor]...)
		}
		if sch.RecursiveRef != nil {
			next = append(next, recursive...)
		}
		longest := int64(1)
		for _, one := range next {
			n, ok := chain(one)
			if !ok {
				return 0, false
			}
			longest = max(longest, n+1)
		}
		chains[sch] = longest
		return longest, true
	}
	for _, sch := range objects {
		n, ok := chain(sch)
		if !ok {
			return 0, false
		}
		longest = max(longest, n)
	}
	return longest, true
}
