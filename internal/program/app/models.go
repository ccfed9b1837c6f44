package app

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/contexts/compactmodel"
	"github.com/stratamem/strata/internal/learning/jobrunner"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/learning/llm/builtin"
	"github.com/stratamem/strata/internal/learning/llm/openai"
	"github.com/stratamem/strata/internal/memory/secret"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/program/telemetry"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/embed"
	embedbuiltin "github.com/stratamem/strata/internal/recall/embed/builtin"
	embedopenai "github.com/stratamem/strata/internal/recall/embed/openai"
	"github.com/stratamem/strata/internal/recall/embed/static"
	"github.com/stratamem/strata/internal/recall/indexing"
	"github.com/stratamem/strata/internal/recall/rerank"
)

// models opens what summarises, extracts and embeds, each behind the decorators that every call goes through.
type models struct {
	cfg    config.Config
	meter  *telemetry.Recorder
	budget llm.Budget
	own    *tenantModels
	table  func() (*static.Embedder, error) // opened by the first call
	wrap   func(embed.Embedder) embed.Embedder

	mu      sync.Mutex
	closers []func()
}

// newModels makes them; wrap, nil in the product, stands before the client of an embedding endpoint.
func newModels(cfg config.Config, meter *telemetry.Recorder, limits limits, wrap func(embed.Embedder) embed.Embedder) *models {
	m := &models{cfg: cfg, meter: meter, budget: limits.budget, table: sync.OnceValues(static.Open), wrap: wrap}
	m.own = newTenantModels(cfg, limits.tenants, m.chatAt)
	m.opened(m.own.close)
	return m
}

// providers are the models that the configuration names.
func providers(cfg config.Config) telemetry.Providers {
	return telemetry.Providers{
		Summary:    cmp.Or(cfg.SummaryModel, builtin.ExtractiveModel),
		Extraction: cmp.Or(cfg.ExtractionModel, builtin.Rules),
		Embedding:  cfg.EmbeddingModel,
		Rerank:     cfg.RerankModel,
	}
}

// summarizer returns the tenant's chat model, the configured one, or the built-in one.
func (m *models) summarizer() (jobrunner.Summarizer, error) {
	if m.cfg.SummaryModel == "" {
		return summarizerOf{m.own, builtin.Summarizer{}}, nil
	}
	chat, err := m.chat(m.cfg.SummaryModel)
	return summarizerOf{m.own, llm.Prompted{Summaries: chat}}, err
}

// compactModels are the chat models that policies for histories may have asked, by name; the server's own is also "".
func (m *models) compactModels() (map[string]compactmodel.Model, error) {
	all := map[string]compactmodel.Model{}
	for _, name := range historyModels(m.cfg) {
		chat, err := m.chat(name)
		if err != nil {
			return nil, err
		}
		all[name] = llm.Prompted{Summaries: chat}
		if name == m.cfg.SummaryModel {
			all[""] = all[name]
		}
	}
	return all, nil
}

// extractor returns the tenant's chat model, the configured one, or the built-in one.
func (m *models) extractor() (jobrunner.Extractor, error) {
	if m.cfg.ExtractionModel == "" {
		return extractorOf{m.own, builtin.Extractor{}}, nil
	}
	chat, err := m.chat(m.cfg.ExtractionModel)
	return extractorOf{m.own, llm.Prompted{Extraction: chat}}, err
}

// chat opens a model of the server's endpoint, for as long as the server runs.
func (m *models) chat(model string) (llm.Chat, error) {
	chat, closeChat, err := m.chatAt(chatEndpoint{model: model, baseURL: m.cfg.ChatBaseURL, key: m.cfg.ChatAPIKey})
	if err != nil {
		return nil, err
	}
	m.opened(closeChat)
	return chat, nil
}

// chatEndpoint is where a chat model is.
type chatEndpoint struct {
	model, baseURL string
	key            secret.Text
}

// chatAt opens a chat model. Its circuit and its bound of calls at once are its own.
func (m *models) chatAt(e chatEndpoint) (_ llm.Chat, closeChat func(), _ error) {
	chat, err := openai.New(openai.Options{Model: e.model, Endpoint: openai.Endpoint{
		BaseURL: e.baseURL, Key: e.key, Timeout: m.cfg.ChatTimeout,
	}})
	if err != nil {
		return nil, nil, fmt.Errorf("open chat model %s: %w", e.model, err)
	}
	metered := llm.WithMeter(chat, m.meter, time.Now)
	limited := llm.WithLimit(llm.WithBreaker(metered, llm.BreakerOptions{}), m.cfg.ChatConcurrency)
	return llm.WithBudget(limited, m.budget, e.model), chat.Close, nil
}

// vectorCache is about how much memory the vectors of texts that were embedded lately take.
const vectorCache = 32 << 20

// isBuiltin reports whether an embedding model is part of the program.
func isBuiltin(model string) bool { return model == static.Model || embedbuiltin.IsBuiltin(model) }

// embedder implements indexing.OpenEmbedder.
func (m *models) embedder(ctx context.Context, model indexing.EmbeddingModel) (embed.Embedder, error) {
	switch {
	case model.Name == static.Model:
		return m.table()
	case embedbuiltin.IsBuiltin(model.Name):
		return embedbuiltin.ParseModel(model.Name)
	case strings.HasPrefix(model.Name, "builtin:"):
		return nil, fmt.Errorf("no embedding model %s is built in: use %s, or builtin:hash-N with N from %d to %d",
			model.Name, static.Model, embedbuiltin.MinDimension, embedbuiltin.MaxDimension)
	case m.cfg.EmbeddingBaseURL == "":
		return nil, fmt.Errorf("embedding model %s needs an endpoint: set embedding-base-url", model.Name)
	}
	return m.remote(ctx, model)
}

// remote opens a model of the embedding endpoint, which is asked for its dimension where that is not known.
func (m *models) remote(ctx context.Context, model indexing.EmbeddingModel) (embed.Embedder, error) {
	remote, err := embedopenai.New(embedopenai.Options{Model: model.Name, Dimensions: model.Ask, Known: model.Known, Endpoint: openai.Endpoint{
		BaseURL: m.cfg.EmbeddingBaseURL, Key: m.cfg.EmbeddingAPIKey, Timeout: m.cfg.EmbeddingTimeout,
	}})
	if err != nil {
		return nil, fmt.Errorf("open embedding model %s: %w", model.Name, err)
	}
	if model.Known == 0 {
		if err := remote.Probe(ctx); err != nil {
			remote.Close()
			return nil, err
		}
		model.Known = remote.Info().Dimension
	}
	return m.decorated(remote, model.Known)
}

// An embedding endpoint that fails is left alone for a second at first and for five at most, unless it asks for more:
// somebody waits for every query, and one of them in five seconds is a small price for being whole soon after it is.
const (
	embedDelay    = time.Second
	embedMaxDelay = 5 * time.Second
)

// decorated puts what every embedding call goes through around an endpoint.
func (m *models) decorated(remote *embedopenai.Embedder, dimension int) (embed.Embedder, error) {
	client := embed.Embedder(remote)
	if m.wrap != nil {
		client = m.wrap(client)
	}
	metered := embed.Metered(embed.Checked(client, dimension), m.meter, time.Now)
	guarded := embed.Guarded(metered, llm.NewBreaker(llm.BreakerOptions{Delay: embedDelay, MaxDelay: embedMaxDelay}))
	cached, err := embed.Cached(embed.Paid(embed.Batched(guarded), m.budget), vectorCache)
	if err != nil {
		return nil, err
	}
	m.opened(cached.Close, remote.Close)
	return cached, nil
}

// reranker returns the configured reranker, nil where none is.
func (m *models) reranker() (recall.Reranker, error) {
	if m.cfg.RerankBaseURL == "" {
		return nil, nil
	}
	client, err := rerank.New(rerank.Options{
		BaseURL: m.cfg.RerankBaseURL, Key: m.cfg.RerankAPIKey.Reveal(), Model: m.cfg.RerankModel, API: rerank.API(m.cfg.RerankAPI),
		Meter: m.meter, Now: time.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("open reranker %s: %w", m.cfg.RerankModel, err)
	}
	m.opened(client.Close)
	return client, nil
}

// opened notes what to close at the end. Models are opened while the server runs, too.
func (m *models) opened(close ...func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closers = append(m.closers, close...)
}

// close closes what was opened.
func (m *models) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.closers {
		f()
	}
}
