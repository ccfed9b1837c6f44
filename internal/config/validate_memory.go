package config

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"
)

// BuiltinEmbedder is the default embedding model. It needs no endpoint.
const BuiltinEmbedder = "builtin:static-256"

// The limits that several settings share.
const (
	maxAge        = 36500 * day
	maxMessages   = 10_000
	maxCallTokens = 1_000_000
	maxDimension  = 16_384
)

// checkProviders finds models without an endpoint, and endpoints without a model.
func (c Config) checkProviders(fs *faults) {
	within(fs, "chat-timeout", c.ChatTimeout, time.Second, 10*time.Minute)
	within(fs, "chat-concurrency", c.ChatConcurrency, 1, 256)
	within(fs, "embedding-dimension", c.EmbeddingDimension, 0, maxDimension)
	within(fs, "embedding-timeout", c.EmbeddingTimeout, 100*time.Millisecond, 10*time.Minute)
	within(fs, "embedding-deadline", c.EmbeddingDeadline, time.Millisecond, 10*time.Second)
	checkURL(fs, "chat-base-url", c.ChatBaseURL)
	checkURL(fs, "embedding-base-url", c.EmbeddingBaseURL)
	checkURL(fs, "otlp-endpoint", c.OTLPEndpoint)
	if c.ChatBaseURL != "" && c.SummaryModel == "" && c.ExtractionModel == "" {
		fs.add("chat-base-url", "no model is to be asked there: set summary-model, extraction-model or both")
	}
	c.checkChatModel(fs, "summary-model", c.SummaryModel)
	c.checkChatModel(fs, "extraction-model", c.ExtractionModel)
	c.checkEmbedder(fs)
	c.checkReranker(fs)
}

// checkReranker refuses a reranker of which half is told.
func (c Config) checkReranker(fs *faults) {
	within(fs, "rerank-candidates", c.RerankCandidates, 2, 200)
	within(fs, "rerank-deadline", c.RerankDeadline, time.Millisecond, 10*time.Second)
	checkURL(fs, "rerank-base-url", c.RerankBaseURL)
	switch {
	case c.RerankBaseURL != "" && c.RerankModel == "":
		fs.add("rerank-base-url", "no model is to be asked there: set rerank-model, such as rerank-v3.5, or leave rerank-base-url empty for no reranker")
	case c.RerankBaseURL == "" && c.RerankModel != "":
		fs.add("rerank-model", "no endpoint is named for %q: set rerank-base-url, such as https://api.cohere.com/v2, or leave rerank-model empty for no reranker", c.RerankModel)
	}
	if c.RerankBaseURL == "" {
		needs(fs, "rerank-api-key", string(c.RerankAPIKey), "", "rerank-base-url")
		needs(fs, "rerank-api", c.RerankAPI, "cohere", "rerank-base-url")
	}
}

func (c Config) checkChatModel(fs *faults, key, model string) {
	if strings.HasPrefix(model, "builtin:") {
		fs.add(key, "%q is not the name of a chat model: leave it empty for what is built in", model)
	} else if model != "" && c.ChatBaseURL == "" {
		fs.add(key, "no endpoint is named for %q: set chat-base-url, such as https://api.openai.com/v1, or leave the model empty for what is built in", model)
	}
}

// checkEmbedder lets an endpoint stand beside a built-in embedder: strata reembed may be told to go over to it.
func (c Config) checkEmbedder(fs *faults) {
	builtin := strings.HasPrefix(c.EmbeddingModel, "builtin:")
	switch {
	case c.EmbeddingModel == "":
		fs.add("embedding-model", "it is empty: name a model, or %s", BuiltinEmbedder)
	case builtin && c.EmbeddingModel != BuiltinEmbedder && !isHash(c.EmbeddingModel):
		fs.add("embedding-model", "%q is not built in: write %s, or builtin:hash-N with N from %d to %d", c.EmbeddingModel, BuiltinEmbedder, minHash, maxHash)
	case builtin && c.EmbeddingDimension != 0:
		fs.add("embedding-dimension", "%s has a dimension of its own: set it to 0", c.EmbeddingModel)
	case !builtin && c.EmbeddingBaseURL == "":
		fs.add("embedding-model", "no endpoint is named for %q: set embedding-base-url, such as https://api.openai.com/v1, or use %s", c.EmbeddingModel, BuiltinEmbedder)
	}
}

// The dimensions of the embedder that hashes words.
const (
	minHash = 16
	maxHash = 4096
)

func isHash(model string) bool {
	digits, ok := strings.CutPrefix(model, "builtin:hash-")
	n, err := strconv.Atoi(digits)
	return ok && err == nil && n >= minHash && n <= maxHash && strconv.Itoa(n) == digits
}

// checkURL refuses what is no address, and addresses that hold a password, without repeating them.
func checkURL(fs *faults, key, address string) {
	if address == "" {
		return
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		fs.add(key, "it is not an address: write it with http:// or https://, such as http://127.0.0.1:4317")
		return
	}
	if u.User != nil || u.RawQuery != "" {
		fs.add(key, "it holds a user, password or query, which would be printed and logged: leave them out and set the key in a setting of its own")
	}
}

func (f Facts) check(fs *faults, prefix string) {
	within(fs, prefix+"max", f.Max, 0, 200)
	within(fs, prefix+"min-score", f.MinScore, 0, 1)
	within(fs, prefix+"core", f.Core, 0, 200)
	within(fs, prefix+"core-significance", f.CoreSignificance, 1, 10)
	within(fs, prefix+"share", f.Share, 0, 1)
	within(fs, prefix+"relevance", f.Relevance, 0, 10)
	within(fs, prefix+"significance", f.Significance, 0, 10)
	within(fs, prefix+"recency", f.Recency, 0, 10)
	within(fs, prefix+"half-life", f.HalfLife, time.Hour, maxAge)
}

func (s Summaries) check(fs *faults, prefix string) {
	for key, text := range map[string]string{"prompt": s.Prompt, "period-prompt": s.PeriodPrompt} {
		checkPrompt(fs, prefix+key, text, s.MaxTokens, s.Language)
	}
	checkLanguage(fs, prefix+"language", s.Language)
	within(fs, prefix+"temperature", s.Temperature, -1, 2)
	within(fs, prefix+"share", s.Share, 0, 1)
	within(fs, prefix+"max-sessions", s.MaxSessions, 0, 100)
	within(fs, prefix+"max-age", s.MaxAge, 0, maxAge)
	within(fs, prefix+"weeks", s.Weeks, 0, 52)
	within(fs, prefix+"months", s.Months, 0, 24)
	within(fs, prefix+"merge", s.Merge, 2, 32)
	within(fs, prefix+"max-tokens", s.MaxTokens, 50, 10_000)
	within(fs, prefix+"chunk-tokens", s.ChunkTokens, 500, maxCallTokens)
	within(fs, prefix+"result-bytes", s.ResultBytes, 40, 100_000)
	s.checkTriggers(fs, prefix)
	s.checkKeeps(fs, prefix)
}

func checkLanguage(fs *faults, key, tag string) {
	if _, err := language.Parse(tag); tag != "" && err != nil {
		fs.add(key, "it is no BCP 47 tag, such as en, de or pt-BR")
	}
}

func (s Summaries) checkTriggers(fs *faults, prefix string) {
	within(fs, prefix+"trigger-messages", s.TriggerMessages, 0, maxMessages)
	within(fs, prefix+"trigger-tokens", s.TriggerTokens, 0, maxTokens)
	within(fs, prefix+"trigger-fraction", s.TriggerFraction, 0, 1)
	within(fs, prefix+"window", s.Window, 0, maxTokens)
	within(fs, prefix+"idle", s.Idle, 0, maxAge)
	within(fs, prefix+"keep-messages", s.KeepMessages, 0, maxMessages)
	within(fs, prefix+"keep-tokens", s.KeepTokens, 0, maxTokens)
	within(fs, prefix+"keep-fraction", s.KeepFraction, 0, 1)
	s.checkFraction(fs, prefix, "trigger-fraction", s.TriggerFraction)
	s.checkFraction(fs, prefix, "keep-fraction", s.KeepFraction)
}

func (s Summaries) checkFraction(fs *faults, prefix, key string, fraction float64) {
	if fraction > 0 && s.Window == 0 {
		fs.add(prefix+key, "the window that it is a fraction of is not known: set %swindow to the tokens that your model reads, such as 128000, or count tokens instead", prefix)
	}
}

// checkKeeps refuses to keep as much as a trigger fires at: there would be nothing to summarise.
func (s Summaries) checkKeeps(fs *faults, prefix string) {
	const text = "%v is not below %s, %v: nothing would be left to summarise; keep less"
	if s.TriggerMessages > 0 && s.KeepMessages >= s.TriggerMessages {
		fs.add(prefix+"keep-messages", text, s.KeepMessages, "trigger-messages", s.TriggerMessages)
	}
	if s.TriggerTokens > 0 && s.KeepTokens >= s.TriggerTokens {
		fs.add(prefix+"keep-tokens", text, s.KeepTokens, "trigger-tokens", s.TriggerTokens)
	}
	if s.TriggerFraction > 0 && s.KeepFraction >= s.TriggerFraction {
		fs.add(prefix+"keep-fraction", text, s.KeepFraction, "trigger-fraction", s.TriggerFraction)
	}
}

func (e Extraction) check(fs *faults, prefix string) {
	checkLanguage(fs, prefix+"language", e.Language)
	within(fs, prefix+"messages", e.Messages, 0, 500)
	within(fs, prefix+"idle", e.Idle, 0, maxAge)
	within(fs, prefix+"max-messages", e.MaxMessages, 1, 500)
	within(fs, prefix+"max-tokens", e.MaxTokens, 500, maxCallTokens)
	within(fs, prefix+"context-bytes", e.ContextBytes, 40, 100_000)
	within(fs, prefix+"temperature", e.Temperature, -1, 2)
	checkPrompt(fs, prefix+"prompt", e.Prompt, 0, "")
}
