// Package documentquery decides what is searched of a document, which documents a filter admits and which namespaces a pattern matches.
// It is pure.
package documentquery

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The shortest and the longest time to live.
const (
	MinTTL = time.Second
	MaxTTL = 10 * 365 * 24 * time.Hour
)

// Limits of a document and of what asks for documents.
const (
	MaxValueBytes     = 64 << 10
	MaxLabels         = 16
	MaxNamespaceBytes = 1024 // all labels together
	MaxFields         = 16
	MaxConditions     = 16 // names of a filter
	maxSearchedBytes  = 16 << 10
)

// Words are what a query is compared with: the strings at the paths, or all of them without paths, the first 16 KiB. They are in the
// order of the paths, then of names, so that equal values have equal words.
func Words(value json.RawMessage, paths []string) string {
	var top any
	if json.Unmarshal(value, &top) != nil {
		return ""
	}
	w := words{}
	if len(paths) == 0 {
		w.add(top)
	}
	for _, p := range paths {
		w.addAt(top, strings.Split(p, "."))
	}
	return strings.ToValidUTF8(w.b.String()[:min(w.b.Len(), maxSearchedBytes)], "")
}

type words struct{ b bytes.Buffer }

// add adds the strings of a value.
func (w *words) add(v any) {
	switch v := v.(type) {
	case string:
		if w.b.Len() > 0 {
			w.b.WriteByte('\n')
		}
		w.b.WriteString(v)
	case []any:
		for _, e := range v {
			w.add(e)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			w.add(v[name])
		}
	}
}

// addAt adds the strings at a path: names, of which each may end with [*] for all entries of a list, or [0] for one, of
// which negative numbers count from the end.
func (w *words) addAt(v any, path []string) {
	if len(path) == 0 {
		w.add(v)
		return
	}
	name, entry, isList := strings.Cut(path[0], "[")
	if name != "" {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	if !isList {
		w.addAt(v, path[1:])
		return
	}
	list, _ := v.([]any)
	if entry = strings.TrimSuffix(entry, "]"); entry != "*" {
		n, err := strconv.Atoi(entry)
		if n < 0 {
			n += len(list)
		}
		if err != nil || n < 0 || n >= len(list) {
			return
		}
		list = list[n : n+1]
	}
	for _, e := range list {
		w.addAt(e, path[1:])
	}
}

// IsPath reports whether a path names something: names with a dot between, each of which may end with [*] or a number in brackets.
func IsPath(path string) bool {
	return !slices.ContainsFunc(strings.Split(path, "."), func(step string) bool {
		name, entry, isList := strings.Cut(step, "[")
		if name == "" || strings.Contains(name, "]") {
			return true
		}
		_, err := strconv.ParseInt(strings.TrimSuffix(entry, "]"), 10, 17)
		return isList && (!strings.HasSuffix(entry, "]") || err != nil && entry != "*]")
	})
}

// Top are the members of an object that a filter can compare: strings, numbers and booleans, and nil for null.
func Top(value json.RawMessage) map[string]any {
	var members map[string]any
	if json.Unmarshal(value, &members) != nil {
		return nil
	}
	maps.DeleteFunc(members, func(_ string, v any) bool { return !isScalar(v) })
	return members
}

func isScalar(v any) bool {
	switch v.(type) {
	case []any, map[string]any:
		return false
	}
	return true
}

// Filter admits documents by members of their values. The zero Filter admits all.
type Filter []Condition

// Condition is one comparison.
type Condition struct {
	Name     string
	Operator Operator
	Value    any // string, float64, bool or nil
}

// Operator compares a member with a value.
type Operator string

// The operators.
const (
	Equal          Operator = "$eq"
	NotEqual       Operator = "$ne"
	Greater        Operator = "$gt"
	GreaterOrEqual Operator = "$gte"
	Less           Operator = "$lt"
	LessOrEqual    Operator = "$lte"
)

var operators = []Operator{Equal, NotEqual, Greater, GreaterOrEqual, Less, LessOrEqual}

// Fault is what is wrong with a filter: at which name, and what to do.
type Fault struct{ Name, Fix string }

// NewFilter reads a filter: names with values, or with objects of operators.
func NewFilter(in map[string]any) (f Filter, faults []Fault) {
	for _, name := range slices.Sorted(maps.Keys(in)) {
		object, ok := in[name].(map[string]any)
		if !ok {
			object = map[string]any{string(Equal): in[name]}
		}
		if len(object) == 0 {
			faults = append(faults, Fault{name, "has no operator; give a value, or one of $eq, $ne, $gt, $gte, $lt and $lte"})
		}
		for _, op := range slices.Sorted(maps.Keys(object)) {
			c := Condition{name, Operator(op), object[op]}
			if fix := c.fault(); fix != "" {
				faults = append(faults, Fault{name, fix})
			}
			f = append(f, c)
		}
	}
	return f, faults
}

// fault is why a condition can never be meant; "" where it can.
func (c Condition) fault() string {
	switch {
	case !slices.Contains(operators, c.Operator):
		return "has an operator that does not exist; use $eq, $ne, $gt, $gte, $lt or $lte"
	case !isScalar(c.Value):
		return "is compared with a list or an object; use a string, a number, true, false or null"
	case c.Operator != Equal && c.Operator != NotEqual && !ordered(c.Value):
		return "has no order: $gt, $gte, $lt and $lte want a number or a string"
	}
	return ""
}

func ordered(v any) bool {
	switch v.(type) {
	case string, float64:
		return true
	}
	return false
}

// Admits reports whether all conditions hold for the members of Top.
func (f Filter) Admits(top map[string]any) bool {
	return !slices.ContainsFunc(f, func(c Condition) bool { return !c.holds(top) })
}

// holds reports whether one condition does. What is missing, or of another type, equals nothing and has no order.
func (c Condition) holds(top map[string]any) bool {
	v, there := top[c.Name]
	equal := there && v == c.Value
	switch c.Operator {
	case Equal:
		return equal
	case NotEqual:
		return !equal
	}
	order, ok := compare(v, c.Value)
	if !ok {
		return false
	}
	switch c.Operator {
	case Greater:
		return order > 0
	case GreaterOrEqual:
		return order >= 0
	case Less:
		return order < 0
	}
	return order <= 0
}

// compare orders numbers and strings, each among themselves.
func compare(a, b any) (order int, ok bool) {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return cmp.Compare(a, b), ok
	case string:
		b, ok := b.(string)
		return cmp.Compare(a, b), ok
	}
	return 0, false
}

// AnyLabel stands for every label in a pattern.
const AnyLabel = "*"

// Pattern selects namespaces.
type Pattern struct {
	Prefix, Suffix []string
	MaxDepth       int // how many labels are listed; 0 for all
}

// Namespaces returns the namespaces of those that the pattern matches, cut to its depth, each once. They come and go in order.
func (p Pattern) Namespaces(all [][]string) (out [][]string) {
	for _, n := range all {
		if !p.matches(n) {
			continue
		}
		if p.MaxDepth > 0 {
			n = n[:min(len(n), p.MaxDepth)]
		}
		if len(out) == 0 || !slices.Equal(out[len(out)-1], n) {
			out = append(out, n)
		}
	}
	return out
}

func (p Pattern) matches(n []string) bool {
	return len(n) >= len(p.Prefix) && fit(p.Prefix, n[:len(p.Prefix)]) && len(n) >= len(p.Suffix) && fit(p.Suffix, n[len(n)-len(p.Suffix):])
}

func fit(pattern, labels []string) bool {
	return slices.EqualFunc(pattern, labels, func(p, l string) bool { return p == AnyLabel || p == l })
}
