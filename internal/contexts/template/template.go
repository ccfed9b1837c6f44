// Package template fills values into instructions. It is pure, calls nothing, and a value can never become a place for
// another one.
//
// A place is enclosed in {{ and }}: a path such as state.order.items.0, of names of letters, digits, _ and - with dots
// between, or a JSON text, which is written as it is: {{"{{"}} writes two braces. A path may be followed by | and a JSON
// value that replaces one that is missing or null. A number as a name counts the items of a list from 0.
package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stratamem/strata/internal/memory"
)

// MaxBytes is the most that a template may take, and the text that is made of it.
const MaxBytes = 256 << 10

// maxPath is the most bytes of a path.
const maxPath = 255

// Values are what paths lead to, by the first name of a path: JSON objects, nil for an empty one.
type Values map[string]json.RawMessage

// Options set how a template is filled.
type Options struct {
	Field  string                       // of the request, for errors
	Values Values                       // the first names that a path may have, each with what is under it
	Fence  func(json.RawMessage) string // writes a value so that it is data: what it writes must be able to neither open nor close a fence
}

// Fill writes a text with its places filled. Errors name the field, the path and what to do; they hold no value.
func Fill(text string, o Options) (string, error) {
	f := filling{Options: o, decoded: map[string]any{}}
	if len(text) > MaxBytes {
		return "", f.refused("has %d bytes; the limit is %d", len(text), MaxBytes)
	}
	for at := 0; ; {
		open := strings.Index(text[at:], "{{")
		if open < 0 {
			f.out.WriteString(text[at:])
			return f.result()
		}
		f.out.WriteString(text[at : at+open])
		end, err := f.place(text, at+open)
		if err != nil {
			return "", err
		}
		at = end
		if _, err := f.result(); err != nil {
			return "", err
		}
	}
}

// filling is a template while it is filled.
type filling struct {
	Options
	out     strings.Builder
	decoded map[string]any // values by the first name of a path
}

// refused returns the error for a template that cannot be filled.
func (f *filling) refused(format string, args ...any) error {
	return memory.InvalidField(f.Field, format, args...)
}

func (f *filling) result() (string, error) {
	if n := f.out.Len(); n > MaxBytes {
		return "", f.refused("takes more than %d bytes with its values: fill in less", MaxBytes)
	}
	return f.out.String(), nil
}

// place fills the place that opens at an index, and returns where the text goes on.
func (f *filling) place(text string, open int) (end int, err error) {
	inner := text[open+2:]
	p := json.NewDecoder(strings.NewReader(inner))
	if strings.HasPrefix(strings.TrimLeft(inner, blanks), `"`) {
		var words string
		if p.Decode(&words) == nil {
			end, err = f.close(text, open, open+2+int(p.InputOffset()))
			f.out.WriteString(words)
			return end, err
		}
		return 0, f.malformed(open, "has a JSON text that does not end")
	}
	stop := strings.IndexAny(inner, "|}")
	if stop < 0 {
		return 0, f.malformed(open, "is not closed by }}")
	}
	path, after := strings.Trim(inner[:stop], blanks), open+2+stop
	var byDefault json.RawMessage
	if inner[stop] == '|' {
		p := json.NewDecoder(strings.NewReader(inner[stop+1:]))
		if p.Decode(&byDefault) != nil {
			return 0, f.malformed(open, `has no JSON value behind |, such as "friendly"`)
		}
		after += 1 + int(p.InputOffset())
	}
	value, err := f.value(open, path, byDefault)
	if err != nil {
		return 0, err
	}
	f.out.WriteString(f.Fence(value))
	return f.close(text, open, after)
}

const blanks = " \t\r\n"

// close skips blanks and the braces that end a place.
func (f *filling) close(text string, open, at int) (end int, err error) {
	rest := strings.TrimLeft(text[at:], blanks)
	if !strings.HasPrefix(rest, "}}") {
		return 0, f.malformed(open, "is not closed by }}")
	}
	return len(text) - len(rest) + 2, nil
}

func (f *filling) malformed(open int, what string) error {
	return f.refused(`the place that opens at byte %d %s; write {{"{{"}} for two braces`, open, what)
}

// value is what a path leads to, else the default.
func (f *filling) value(open int, path string, byDefault json.RawMessage) (json.RawMessage, error) {
	names := strings.Split(path, ".")
	if !isPath(path, names) {
		return nil, f.malformed(open, "holds no path, which is names of letters, digits, _ and - with dots between")
	}
	root, ok := f.Values[names[0]]
	if !ok || len(names) < 2 {
		return nil, f.refused("names %s, which begins with none of state., vars. and user.", path)
	}
	found, err := f.under(names[0], root)
	if err != nil {
		return nil, err
	}
	for _, name := range names[1:] {
		found = memory.Member(found, name)
	}
	switch {
	case found != nil:
		return encode(found)
	case byDefault != nil:
		return compact(byDefault)
	}
	return nil, f.refused(`names %s, which is not set: set it, or write a default as {{%s | "…"}}`, path, path)
}

func isPath(path string, names []string) bool {
	if len(path) > maxPath {
		return false
	}
	for _, name := range names {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool {
			return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '-'
		}) {
			return false
		}
	}
	return true
}

// under decodes what is under a first name, once.
func (f *filling) under(name string, raw json.RawMessage) (any, error) {
	if v, ok := f.decoded[name]; ok || len(raw) == 0 {
		return v, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("decode values of %s: %w", name, err)
	}
	f.decoded[name] = v
	return v, nil
}

func encode(v any) (json.RawMessage, error) {
	out, err := memory.EncodeJSON(v)
	if err != nil {
		return nil, fmt.Errorf("encode a value of a template: %w", err)
	}
	return out, nil
}

func compact(raw json.RawMessage) (json.RawMessage, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("decode a default of a template: %w", err)
	}
	return encode(v)
}
