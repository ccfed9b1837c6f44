package config

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// BuiltinEmbedder is the default embedding model. It needs no endpoint.
const BuiltinEmbedder = "builtin:static-256"

// maxDimension is the highest dimension of vectors.
const maxDimension = 16_384

// checkProviders finds models without an endpoint, and endpoints without a model.
func (c Config) checkProviders(fs *faults) {
	within(fs, "chat-timeout", c.ChatTimeout, time.Second, 10*time.Minute)
	within(fs, "chat-concurrency", c.ChatConcurrency, 1, 256)
	within(fs, "embedding-dimension", c.EmbeddingDimension, 0, maxDimension)
	within(fs, "embedding-timeout", c.EmbeddingTimeout, 100*time.Millisecond, 10*time.Minute)
	within(fs, "embedding-deadline", c.EmbeddingDeadline, time.Millisecond, 10*time.Second)
	checkURL(fs, "chat-base-url", c.ChatBaseURL, "https://api.openai.com/v1")
	checkURL(fs, "embedding-base-url", c.EmbeddingBaseURL, "https://api.openai.com/v1")
	checkURL(fs, "otlp-endpoint", c.OTLPEndpoint, "http://127.0.0.1:4317")
	if c.ChatBaseURL != "" && c.SummaryModel == "" && c.ExtractionModel == "" {
		fs.add("chat-base-url", "no model is to be asked there: set summary-model, extraction-model or both")
	}
	c.checkChatModel(fs, "summary-model", c.SummaryModel)
	c.checkChatModel(fs, "extraction-model", c.ExtractionModel)
	c.checkEmbedder(fs)
	c.checkReranker(fs)
}

// checkReranker refuses a reranker that is configured by half.
func (c Config) checkReranker(fs *faults) {
	within(fs, "rerank-candidates", c.RerankCandidates, 2, 200)
	within(fs, "rerank-deadline", c.RerankDeadline, time.Millisecond, 10*time.Second)
	checkURL(fs, "rerank-base-url", c.RerankBaseURL, "https://api.cohere.com/v2")
	if c.RerankBaseURL != "" && c.RerankModel == "" {
		fs.add(
			"rerank-base-url",
			"no model is to be asked there: set rerank-model, such as rerank-v3.5, or leave rerank-base-url empty for no reranker",
		)
	}
}

func (c Config) checkChatModel(fs *faults, key, model string) {
	if strings.HasPrefix(model, "builtin:") {
		fs.add(key, "%q is not the name of a chat model: leave it empty for what is built in", model)
	} else if model != "" && c.ChatBaseURL == "" {
		fs.add(
			key,
			"no endpoint is named for %q: set chat-base-url, such as https://api.openai.com/v1, or leave the model empty for what is built in",
			model,
		)
	}
}

// checkEmbedder accepts an endpoint beside a built-in embedder: strata reembed may change from one to the other.
func (c Config) checkEmbedder(fs *faults) {
	builtin := strings.HasPrefix(c.EmbeddingModel, "builtin:")
	switch {
	case c.EmbeddingModel == "":
		fs.add("embedding-model", "it is empty: name a model, or %s", BuiltinEmbedder)
	case builtin && c.EmbeddingModel != BuiltinEmbedder && !isHash(c.EmbeddingModel):
		fs.add(
			"embedding-model",
			"%q is not built in: write %s, or builtin:hash-N with N from %d to %d",
			c.EmbeddingModel,
			BuiltinEmbedder,
			minHash,
			maxHash,
		)
	case builtin && c.EmbeddingDimension != 0:
		fs.add("embedding-dimension", "%s has a dimension of its own: set it to 0", c.EmbeddingModel)
	case !builtin && c.EmbeddingBaseURL == "":
		fs.add(
			"embedding-model",
			"no endpoint is named for %q: set embedding-base-url, such as https://api.openai.com/v1, or use %s",
			c.EmbeddingModel,
			BuiltinEmbedder,
		)
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
func checkURL(fs *faults, key, address, example string) {
	if address == "" {
		return
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		fs.add(key, "it is not an address: write it with http:// or https://, such as %s", example)
		return
	}
	if u.User != nil || u.RawQuery != "" {
		fs.add(
			key,
			"it holds a user, password or query, which would be printed and logged: leave them out and set the key in a setting of its own",
		)
	}
}
