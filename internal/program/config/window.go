package config

import (
	_ "embed" // for the built-in windows
	"errors"
	"strings"
	"sync"
)

// Window is how much a model can take, and how its tokens are counted.
type Window struct {
	Tokens    int64  `name:"tokens" help:"The model's context window in tokens, 1 to 10000000."`
	Counter   string `name:"counter" default:"estimate" enum:"o200k_base,cl100k_base,chars_4,estimate" help:"How the model's tokens are counted."`
	Documents bool   `name:"documents" default:"false" help:"Whether the model reads PDF documents, which OpenAI and Anthropic renderings then carry as such."`
}

// Window returns the window of the longest known name that the model's begins with, the file's names before the
// built-in ones. What follows the name must begin with -, : or @, so that gpt-4 does not stand for gpt-4.5. A name is also
// known behind those of vendors, as in openrouter/anthropic/claude-sonnet-4-5, and in capital letters.
func (c Config) Window(model string) (Window, bool) {
	names := spellings(model)
	for _, known := range []map[string]Window{c.Windows, builtinWindows()} {
		for _, name := range names {
			if w, ok := longestPrefix(known, name); ok {
				return w, true
			}
		}
	}
	return Window{}, false
}

// spellings are the names that a model may be known by: as it is written, without each vendor before it, and both in
// lower case.
func spellings(model string) []string {
	names := []string{model}
	for rest, behind := model, true; behind; {
		if _, rest, behind = strings.Cut(rest, "/"); behind {
			names = append(names, rest)
		}
	}
	for _, name := range names[:len(names):len(names)] {
		if lower := strings.ToLower(name); lower != name {
			names = append(names, lower)
		}
	}
	return names
}

func longestPrefix[V any](known map[string]V, model string) (V, bool) {
	best, found := "", false
	for name := range known {
		rest, ok := strings.CutPrefix(model, name)
		if !ok || rest != "" && !strings.ContainsRune("-:@", rune(rest[0])) {
			continue
		}
		if !found || len(name) > len(best) {
			best, found = name, true
		}
	}
	return known[best], found
}

//go:embed windows.yaml
var windowsFile []byte

// builtinWindows are the windows of windows.yaml, which is a file of settings.
var builtinWindows = sync.OnceValue(func() map[string]Window {
	l := loader{Loaded: Loaded{File: "windows.yaml", origins: map[string]string{}}}
	l.readFile(func(string) ([]byte, error) { return windowsFile, nil })
	if len(l.faults) > 0 {
		panic(errors.Join(l.faults...)) // the tests load the file
	}
	return l.Windows
})
