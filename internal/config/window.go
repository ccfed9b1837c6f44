package config

import "strings"

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

// builtinWindows are the windows that the models' own pages state; where one is not to be had, the most input tokens that
// LiteLLM 1.109.1 lists (model_prices_and_context_window). Of a family whose members differ, its name alone stands for
// the smallest. Where a server of one's own may run a model with less than it can take (Ollama takes 4,096 tokens by default
// on small machines, https://docs.ollama.com/context-length), the window has to be set in the file. Only OpenAI publishes its
// vocabularies; the tokens of others are estimated. Documents are taken by the models that LiteLLM lists with PDF input and
// that take them in the form that is rendered.
func builtinWindows() map[string]Window {
	const o200k, cl100k, estimate = "o200k_base", "cl100k_base", "estimate"
	const reads = true // PDF documents
	return map[string]Window{
		// https://developers.openai.com/api/docs/models/ and the model's name; the previews are snapshots of gpt-4-turbo. For
		// gpt-3.5-turbo see also https://github.com/openai/openai-cookbook/pull/1178, for gpt-4-32k
		// https://openai.com/index/gpt-4-research/.
		"gpt-3.5-turbo":      {16_385, cl100k, false},
		"gpt-4":              {8_192, cl100k, false},
		"gpt-4-32k":          {32_768, cl100k, false},
		"gpt-4-0125-preview": {128_000, cl100k, false},
		"gpt-4-1106-preview": {128_000, cl100k, false},
		"gpt-4-turbo":        {128_000, cl100k, false},
		"gpt-4o":             {128_000, o200k, reads},
		"chatgpt-4o":         {128_000, o200k, reads},
		"gpt-4.1":            {1_047_576, o200k, reads},
		"gpt-5":              {400_000, o200k, reads},
		"gpt-5-chat":         {128_000, o200k, reads},
		"gpt-5.1":            {400_000, o200k, reads},
		"gpt-5.1-chat":       {128_000, o200k, reads},
		"gpt-5.2":            {400_000, o200k, reads},
		"gpt-5.2-chat":       {128_000, o200k, reads},
		"gpt-5.3-chat":       {128_000, o200k, reads},
		"gpt-5.4":            {1_050_000, o200k, reads},
		"gpt-5.4-mini":       {272_000, o200k, reads},
		"gpt-5.4-nano":       {272_000, o200k, reads},
		"gpt-5.5":            {1_050_000, o200k, reads},
		"gpt-5.6":            {922_000, o200k, reads},
		"gpt-5.6-cyber":      {400_000, o200k, reads},
		"gpt-oss":            {131_072, o200k, false},
		"o1":                 {200_000, o200k, reads},
		"o1-mini":            {128_000, o200k, false},
		"o1-preview":         {128_000, o200k, false},
		"o3":                 {200_000, o200k, reads},
		"o3-mini":            {200_000, o200k, false},
		"o4-mini":            {200_000, o200k, reads},

		// Those up to claude-opus-4.5: 200K, https://support.claude.com/en/articles/8606395 (context windows of the API).
		"claude-3":          {200_000, estimate, false},
		"claude-3-5":        {200_000, estimate, reads},
		"claude-3-7":        {200_000, estimate, reads},
		"claude-3.5":        {200_000, estimate, reads},
		"claude-3.7":        {200_000, estimate, reads},
		"claude-haiku-4-5":  {200_000, estimate, reads},
		"claude-haiku-4.5":  {200_000, estimate, reads},
		"claude-opus-4":     {200_000, estimate, reads},
		"claude-opus-4.1":   {200_000, estimate, reads},
		"claude-opus-4.5":   {200_000, estimate, reads},
		"claude-opus-4-6":   {1_000_000, estimate, reads},
		"claude-opus-4-7":   {1_000_000, estimate, reads},
		"claude-opus-4-8":   {1_000_000, estimate, reads},
		"claude-opus-5":     {1_000_000, estimate, reads},
		"claude-sonnet-4":   {200_000, estimate, reads},
		"claude-sonnet-4.5": {200_000, estimate, reads},
		"claude-sonnet-4-6": {1_000_000, estimate, reads},
		"claude-sonnet-5":   {1_000_000, estimate, reads},

		"gemini-1.5-flash": {1_048_576, estimate, false},
		"gemini-1.5-pro":   {2_097_152, estimate, false},
		"gemini-2.0-flash": {1_048_576, estimate, false},
		"gemini-2.5-flash": {1_048_576, estimate, false},
		"gemini-2.5-pro":   {1_048_576, estimate, false},
		"gemini-3-flash":   {1_048_576, estimate, false},
		"gemini-3.1-flash": {1_048_576, estimate, false},
		"gemini-3.1-pro":   {1_048_576, estimate, false},
		"gemini-3.5-flash": {1_048_576, estimate, false},
		"gemma-3-27b":      {131_072, estimate, false},

		// Meta's model cards, https://github.com/meta-llama/llama-models/tree/main/models: 8k for Llama 3, 128k from 3.1 on,
		// which the weights' own settings give as 131,072.
		"llama3":         {8_192, estimate, false},
		"llama3.1":       {128_000, estimate, false},
		"llama3.2":       {128_000, estimate, false},
		"llama3.3":       {128_000, estimate, false},
		"llama-3":        {8_192, estimate, false},
		"llama-3.1":      {128_000, estimate, false},
		"llama-3.2":      {128_000, estimate, false},
		"llama-3.3":      {128_000, estimate, false},
		"meta-llama-3":   {8_192, estimate, false},
		"meta-llama-3.1": {128_000, estimate, false},

		// 32,768 natively: the models' cards, such as https://huggingface.co/Qwen/Qwen3-235B-A22B. 131,072 need YaRN to be set up.
		"qwen3":          {32_768, estimate, false},
		"qwen3-max":      {258_048, estimate, false},
		"qwen3-next":     {262_144, estimate, false},
		"qwen3-coder":    {262_144, estimate, false},
		"qwen3.5-plus":   {991_808, estimate, false},
		"qwen-max":       {30_720, estimate, false},
		"qwen-plus":      {129_024, estimate, false},
		"deepseek-chat":  {131_072, estimate, false},
		"deepseek-r1":    {65_536, estimate, false},
		"deepseek-v3":    {65_536, estimate, false},
		"deepseek-v3.2":  {163_840, estimate, false},
		"deepseek-v4":    {1_000_000, estimate, false},
		"deepseek-coder": {128_000, estimate, false},

		"deepseek-reasoner": {131_072, estimate, false},

		"codestral":    {128_000, estimate, false},
		"ministral-3b": {131_072, estimate, false},
		"ministral-8b": {131_072, estimate, false},
		// Mistral 7B takes 32,768, https://openrouter.ai/mistralai/mistral-7b-instruct; the first mistral-small and
		// mistral-medium 32K, https://aws.amazon.com/bedrock/mistral/. Newer ones whose name is not listed take more.
		"mistral":               {32_000, estimate, false},
		"mistral-large-2512":    {262_144, estimate, false},
		"mistral-large-3":       {262_144, estimate, false},
		"mistral-large-latest":  {262_144, estimate, false},
		"mistral-medium-latest": {262_144, estimate, false},
		"mistral-small-latest":  {262_144, estimate, false},
		"open-mistral-nemo":     {128_000, estimate, false},

		"grok-3":           {131_072, estimate, false},
		"grok-4":           {256_000, estimate, false},
		"grok-4-fast":      {2_000_000, estimate, false},
		"grok-4-1-fast":    {2_000_000, estimate, false},
		"grok-4.1-fast":    {2_000_000, estimate, false},
		"grok-4.3":         {1_000_000, estimate, false},
		"grok-4.5":         {500_000, estimate, false},
		"grok-code-fast":   {256_000, estimate, false},
		"grok-code-fast-1": {256_000, estimate, false},
	}
}
