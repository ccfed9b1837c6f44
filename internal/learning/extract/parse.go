package extract

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
)

// Limits of an answer as a whole.
const (
	maxAnswerBytes = 256 << 10
	maxDepth       = 16
)

// The ways in which a whole answer is not readable. None of them holds content.
var (
	errTooLong  = fmt.Errorf("the answer is longer than %d bytes", maxAnswerBytes)
	errTooDeep  = fmt.Errorf("the answer is nested deeper than %d", maxDepth)
	errNoObject = errors.New("the answer has no complete JSON object or array")
	errNotJSON  = errors.New("the answer is not valid JSON")
	errNoOps    = errors.New(`the answer has no list "operations"`)
)

// thinking is what some models write before they answer.
var thinking = regexp.MustCompile(`(?is)<think(?:ing)?>.*?</think(?:ing)?>`)

// Parse reads a model's answer: the first balanced JSON object, or array of operations, whatever stands around it. An
// error means that the answer cannot be read as a whole. An operation that cannot be read comes back with what could
// be read of it and without Op, so that Verify refuses it alone. Of a key given twice the last counts; bytes that are
// not UTF-8 become U+FFFD.
func Parse(answer string) ([]Op, error) {
	if len(answer) > maxAnswerBytes {
		return nil, errTooLong
	}
	answer = strings.ToValidUTF8(strings.TrimPrefix(answer, "\ufeff"), "\ufffd")
	value, err := balanced(withoutThinking(answer))
	if err != nil {
		return nil, err
	}
	items, err := operations(value)
	if err != nil {
		return nil, err
	}
	ops := make([]Op, 0, len(items))
	for _, item := range items {
		ops = append(ops, readOp(item))
	}
	return ops, nil
}

// withoutThinking drops what stands before the answer itself. Of thoughts that do not end nothing follows.
func withoutThinking(s string) string {
	trimmed := strings.TrimSpace(s)
	if strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		return trimmed
	}
	s = thinking.ReplaceAllString(trimmed, "")
	if _, after, ok := strings.Cut(s, "</think>"); ok {
		s = after // the opening mark is part of some models' prompt
	}
	if before, _, ok := strings.Cut(s, "<think>"); ok {
		s = before
	}
	return s
}

// operations are the items of {"operations":[…]} or of a bare array.
func operations(value string) ([]json.RawMessage, error) {
	var items []json.RawMessage
	if value[0] == '[' {
		if json.Unmarshal([]byte(value), &items) != nil {
			return nil, errNotJSON
		}
		return items, nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(value), &object) != nil {
		return nil, errNotJSON
	}
	list, ok := object["operations"]
	if !ok || string(list) == "null" || json.Unmarshal(list, &items) != nil {
		return nil, errNoOps
	}
	return items, nil
}

// balanced is the first complete object, or array of objects, in s. Brackets in the prose before it, such as "[1]",
// are passed over.
func balanced(s string) (string, error) {
	for from := 0; ; {
		i := strings.IndexAny(s[from:], "{[")
		if i < 0 {
			return "", errNoObject
		}
		start := from + i
		if !mayBegin(s[start:]) {
			from = start + 1
			continue
		}
		end, err := closing(s[start:])
		if err != nil {
			return "", err
		}
		return s[start : start+end], nil
	}
}

// mayBegin reports whether an answer may begin here: an object with a key or without any, an array of objects or an
// empty one.
func mayBegin(s string) bool {
	rest := strings.TrimLeft(s[1:], " \t\r\n")
	if rest == "" {
		return true // cut off: closing says so
	}
	if s[0] == '{' {
		return rest[0] == '"' || rest[0] == '}'
	}
	return rest[0] == '{' || rest[0] == ']'
}

// closing is the place after the bracket that closes the first one.
func closing(s string) (int, error) {
	depth, inString := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return 0, errTooDeep
			}
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1, nil
			}
		}
	}
	return 0, errNoObject
}

// readOp reads one operation field by field.
func readOp(item json.RawMessage) Op {
	var fields map[string]json.RawMessage
	if json.Unmarshal(item, &fields) != nil {
		return Op{}
	}
	var op Op
	significance := 0.0
	readable := true
	for name, to := range map[string]any{
		"op": &op.Op, "kind": &op.Kind, "text": &op.Text, "category": &op.Category, "significance": &significance,
		"confidence": &op.Confidence, "subject": &op.Subject, "attribute": &op.Attribute, "tags": &op.Tags,
		"message": &op.Message, "quote": &op.Quote, "supersedes": &op.Supersedes, "valid_from": &op.ValidFrom,
	} {
		if raw, ok := fields[name]; ok && json.Unmarshal(raw, to) != nil {
			readable = false
		}
	}
	whole := significance == math.Trunc(significance) && math.Abs(significance) < math.MaxInt32
	if whole {
		op.Significance = int(significance)
	}
	if !readable || !whole {
		op.Op = ""
	}
	return op
}
