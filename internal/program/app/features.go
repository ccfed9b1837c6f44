package app

import (
	"cmp"

	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/learning/llm/builtin"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/recall/indexing"
)

// Feature is something that is on or off, with the reason.
type Feature struct {
	Name string
	On   bool
	Why  string
}

// found is what shows only once the program is put together.
type found struct {
	embeddings *indexing.Embeddings
	metrics    string // the address; "" where they are off
	traces     bool
}

// features says what is on and off, and why.
func (b base) features(f found) []Feature {
	return []Feature{
		{Name: "transcript", On: true, Why: "every turn is on disk before it is acknowledged"},
		{Name: "lexical recall", On: true, Why: "built in: no key, no network"},
		{
			Name: "summaries",
			On:   true,
			Why:  "by " + cmp.Or(b.cfg.SummaryModel, builtin.ExtractiveModel+"; set summary-model and chat-base-url for a chat model"),
		},
		{
			Name: "facts",
			On:   true,
			Why:  "by " + cmp.Or(b.cfg.ExtractionModel, builtin.Rules+"; set extraction-model and chat-base-url for a chat model"),
		},
		{
			Name: "Milvus",
			On:   b.stores.vectors != nil,
			Why:  cmp.Or(b.cfg.MilvusAddress, "vectors are compared in memory; set milvus-address for a server that ranks them"),
		},
		{
			Name: "Elasticsearch",
			On:   b.stores.texts != nil,
			Why:  cmp.Or(b.cfg.ElasticsearchURL, "a further source of what is found by words: set elasticsearch-url"),
		},
		{Name: "semantic recall", On: semantic(f.embeddings), Why: "the embedding model is " + b.cfg.EmbeddingModel},
		{
			Name: "reranker",
			On:   b.cfg.RerankBaseURL != "",
			Why:  cmp.Or(b.cfg.RerankModel, "set rerank-base-url and rerank-model for a model that reads query and messages together"),
		},
		{Name: "metrics", On: f.metrics != "", Why: cmp.Or(f.metrics, "metrics-listen is empty")},
		{Name: "traces", On: f.traces, Why: "set by otlp-endpoint"},
		{Name: "reflection", On: b.cfg.Reflection, Why: "set by reflection"},
		authentication(b.cfg), encryption(b.cfg), auditing(b.cfg),
	}
}

func semantic(embeddings *indexing.Embeddings) bool {
	_, embedder := embeddings.Active()
	return embedder != nil && embedder.Info().Semantic
}

func authentication(cfg config.Config) Feature {
	if cfg.Auth == config.AuthRequired {
		return Feature{Name: "authentication", On: true, Why: "every call needs a credential: a key of strata keys create" + otherCredentials(cfg)}
	}
	return Feature{
		Name: "authentication", On: false,
		Why: "every caller may do everything in the tenant " + auth.DefaultTenant + ": set auth to required",
	}
}

// otherCredentials names what counts beside keys.
func otherCredentials(cfg config.Config) string {
	others := ""
	if cfg.JWTIssuer != "" {
		others += ", a token of " + cfg.JWTIssuer
	}
	if len(cfg.ClientCertificates) > 0 {
		others += ", a client's certificate"
	}
	return others
}

func encryption(cfg config.Config) Feature {
	if cfg.TLSCert == "" {
		return Feature{Name: "TLS", Why: "the port speaks plain text: set tls-cert and tls-key, or leave TLS to a proxy before it"}
	}
	return Feature{Name: "TLS", On: true, Why: "the port speaks TLS 1.2 or later, with " + cfg.TLSCert}
}

func auditing(cfg config.Config) Feature {
	if cfg.Audit == config.AuditOff {
		return Feature{Name: "audit", Why: "who did what is not recorded: set audit to on"}
	}
	why := "who did what to whose memory: strata audit"
	if cfg.Audit == config.AuditAgents {
		why += "; what agents record and read too"
	}
	return Feature{Name: "audit", On: true, Why: why}
}
