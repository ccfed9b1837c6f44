package config

import "strings"

// Window is how much a model can take, and how its tokens are counted.
type Window struct {
	Tokens  int64  `name:"tokens" help:"The model's context window in tokens, 1 to 10000000."`
	Counter string `name:"counter" default:"estimate" enum:"o200k_base,cl100k_base,chars_4,estimate" help:"How the model's tokens are counted."`
}

// Window returns the window of the longest known name that the model's begins with, the file's names before the
// built-in ones. What follows the name must begin with -, : or @, so that gpt-4 does not stand for gpt-4.5.
func (c Config) Window(model string) (Window, bool) {
	if w, ok := longestPrefix(c.Windows, model); ok {
		return w, true
	}
	return longestPrefix(builtinWindows(), model)
}

func longestPrefix(windows map[string]Window, model string) (Window, bool) {
	best, found := "", false
	for name := range windows {
		rest, ok := strings.CutPrefix(model, name)
		if !ok || rest != "" && !strings.ContainsRune("-:@", rune(rest[0])) {
			continue
		}
		if !found || len(name) > len(best) {
			best, found = name, true
		}
	}
	return windows[best], found
}

// builtinWindows are the windows that the model pages of OpenAI, Anthropic and Google state. Anthropic and Google do
// not publish their vocabularies, so their tokens are estimated.
func builtinWindows() map[string]Window {
	const o200k, cl100k, estimate = "o200k_base", "cl100k_base", "estimate"
	return map[string]Window{
		"gpt-3.5-turbo":      {16_385, cl100k},
		"gpt-4":              {8_192, cl100k},
		"gpt-4-32k":          {32_768, cl100k},
		"gpt-4-0125-preview": {128_000, cl100k},
		"gpt-4-1106-preview": {128_000, cl100k},
		"gpt-4-turbo":        {128_000, cl100k},
		"gpt-4o":             {128_000, o200k},
		"chatgpt-4o":         {128_000, o200k},
		"gpt-4.1":            {1_047_576, o200k},
		"gpt-5":              {400_000, o200k},
		"gpt-5-chat":         {128_000, o200k},
		"gpt-5.1":            {400_000, o200k},
		"gpt-5.1-chat":       {128_000, o200k},
		"o1":                 {200_000, o200k},
		"o1-mini":            {128_000, o200k},
		"o1-preview":         {128_000, o200k},
		"o3":                 {200_000, o200k},
		"o3-mini":            {200_000, o200k},
		"o4-mini":            {200_000, o200k},
		"claude-3":           {200_000, estimate},
		"claude-haiku-4-5":   {200_000, estimate},
		"claude-opus-4":      {200_000, estimate},
		"claude-sonnet-4":    {200_000, estimate},
		"gemini-1.5-flash":   {1_048_576, estimate},
		"gemini-1.5-pro":     {2_097_152, estimate},
		"gemini-2.0-flash":   {1_048_576, estimate},
		"gemini-2.5-flash":   {1_048_576, estimate},
		"gemini-2.5-pro":     {1_048_576, estimate},
	}
}
