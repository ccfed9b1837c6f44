package documentquery_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/recall/documentquery"
)

func TestWords(t *testing.T) {
	const value = `{"title": "Tea", "body": {"text": "Sencha, brewed cool", "n": 3}, "notes": [{"by": "ada", "text": "grassy"}, {"by": "bob", "text": "sweet"}]}`
	for name, c := range map[string]struct {
		paths []string
		want  string
	}{
		"all strings of a value, by names":     {nil, "Sencha, brewed cool|ada|grassy|bob|sweet|Tea"},
		"the strings at paths, in their order": {[]string{"title", "notes[*].text"}, "Tea|grassy|sweet"},
		"a path to an object has all of it":    {[]string{"body"}, "Sencha, brewed cool"},
		"one entry of a list":                  {[]string{"notes[1].text", "notes[2]", "notes[x]"}, "sweet"},
		"an entry from the end of a list":      {[]string{"notes[-1].text", "notes[-2].by", "notes[-3]"}, "sweet|ada"},
		"a path to nothing has nothing":        {[]string{"body.missing", "title.more", "title[*]", "n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := documentquery.Words(json.RawMessage(value), c.paths); got != strings.ReplaceAll(c.want, "|", "\n") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	t.Run("no more than 16 KiB, in whole characters", func(t *testing.T) {
		got := documentquery.Words(json.RawMessage(`{"a": "`+strings.Repeat("가", 20_000)+`"}`), nil)
		if len(got) > 16<<10 || strings.Trim(got, "가") != "" {
			t.Errorf("got %d bytes", len(got))
		}
	})
}

func TestIsPath(t *testing.T) {
	for path, want := range map[string]bool{
		"a": true, "a.b c": true, "a[*].b": true, "a[0]": true, "a[12].b[*]": true,
		"": false, "a..b": false, ".a": false, "a[": false, "a[]": false, "a[x]": false, "a[*": false, "[0]": false, "a]": false, "a[-1]": true, "a[--1]": false, "a[-*]": false,
	} {
		if got := documentquery.IsPath(path); got != want {
			t.Errorf("%q is a path: %t, want %t", path, got, want)
		}
	}
}

func TestFilter(t *testing.T) {
	top := documentquery.Top(json.RawMessage(`{"kind": "note", "year": 2021, "done": false, "gone": null, "list": [1], "more": {"a": 1}}`))
	for filter, want := range map[string]bool{
		`{}`:               true,
		`{"kind": "note"}`: true,
		`{"kind": "Note"}`: false,
		`{"kind": {"$eq": "note"}, "year": 2021}`: true,
		`{"kind": "note", "year": 2020}`:          false,
		`{"year": {"$gt": 2020, "$lt": 2022}}`:    true,
		`{"year": {"$gt": 2021}}`:                 false,
		`{"year": {"$gte": 2021, "$lte": 2021}}`:  true,
		`{"year": {"$lt": 2021}}`:                 false,
		`{"year": "2021"}`:                        false,
		`{"year": {"$gt": "2020"}}`:               false,
		`{"kind": {"$gte": "m", "$lt": "o"}}`:     true,
		`{"done": false}`:                         true,
		`{"done": {"$ne": true}}`:                 true,
		`{"gone": null}`:                          true,
		`{"none": null}`:                          false,
		`{"none": {"$ne": "x"}}`:                  true,
		`{"none": {"$lt": 1}}`:                    false,
		`{"list": {"$ne": 1}}`:                    true,
	} {
		t.Run(filter, func(t *testing.T) {
			var in map[string]any
			if err := json.Unmarshal([]byte(filter), &in); err != nil {
				t.Fatal(err)
			}
			f, faults := documentquery.NewFilter(in)
			if got := f.Admits(top); got != want || len(faults) > 0 {
				t.Errorf("admits: %t, want %t; faults %v", got, want, faults)
			}
		})
	}
	for name, in := range map[string]map[string]any{
		"an unknown operator":      {"a": map[string]any{"$in": "x"}},
		"an operand without order": {"a": map[string]any{"$gt": true}},
		"a list":                   {"a": []any{"x"}},
		"an object as an operand":  {"a": map[string]any{"$eq": map[string]any{}}},
		"no operator":              {"a": map[string]any{}},
	} {
		t.Run("has a fault: "+name, func(t *testing.T) {
			if _, faults := documentquery.NewFilter(in); len(faults) != 1 || faults[0].Name != "a" {
				t.Errorf("faults %v", faults)
			}
		})
	}
}

func TestNamespaces(t *testing.T) {
	all := [][]string{{"a"}, {"a", "b", "x"}, {"a", "b", "y"}, {"a", "c", "x"}, {"b", "x"}}
	for name, c := range map[string]struct {
		pattern documentquery.Pattern
		want    [][]string
	}{
		"all":                        {documentquery.Pattern{}, all},
		"a prefix":                   {documentquery.Pattern{Prefix: []string{"a", "b"}}, all[1:3]},
		"a suffix":                   {documentquery.Pattern{Suffix: []string{"x"}}, [][]string{all[1], all[3], all[4]}},
		"any label":                  {documentquery.Pattern{Prefix: []string{"a", "*", "x"}}, [][]string{all[1], all[3]}},
		"both":                       {documentquery.Pattern{Prefix: []string{"a"}, Suffix: []string{"c", "*"}}, [][]string{all[3]}},
		"a depth lists each once":    {documentquery.Pattern{MaxDepth: 2}, [][]string{{"a"}, {"a", "b"}, {"a", "c"}, {"b", "x"}}},
		"longer than any of them is": {documentquery.Pattern{Prefix: []string{"a", "b", "x", "z"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.pattern.Namespaces(all); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
