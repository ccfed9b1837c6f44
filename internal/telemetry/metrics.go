package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics are the instruments of a Recorder. Their names carry their units.
type metrics struct {
	rpcSeconds       *prometheus.HistogramVec
	modelCalls       *prometheus.CounterVec
	modelTokens      *prometheus.CounterVec
	modelSeconds     *prometheus.HistogramVec
	embeddingCalls   *prometheus.CounterVec
	embeddingTexts   *prometheus.CounterVec
	embeddingTokens  *prometheus.CounterVec
	embeddingSeconds *prometheus.HistogramVec
	rerankCalls      *prometheus.CounterVec
	rerankSeconds    *prometheus.HistogramVec
	jobs             *prometheus.CounterVec
	quarantined      *prometheus.CounterVec
	refused          *prometheus.CounterVec
	appended         prometheus.Counter
	degraded         *prometheus.CounterVec
	checked          *prometheus.CounterVec
	foreign          *prometheus.CounterVec
	stale            *prometheus.CounterVec
	fed              *prometheus.CounterVec
	feedFailed       *prometheus.CounterVec
	erased           *prometheus.CounterVec
	expired          *prometheus.CounterVec
	erasureFailed    prometheus.Counter
	historyTokens    *prometheus.CounterVec
	historyShare     *prometheus.HistogramVec
	policyStages     *prometheus.CounterVec
	policySaved      *prometheus.CounterVec
	providers        *prometheus.GaugeVec
	callsRefused     *prometheus.CounterVec
	credentials      *prometheus.CounterVec
	limitsRefused    *prometheus.CounterVec
	tenantCalls      *prometheus.CounterVec
	tenantTokens     *prometheus.CounterVec
	tenantCost       *prometheus.CounterVec
	audited          *prometheus.CounterVec
}

func newMetrics() metrics {
	return metrics{
		rpcSeconds: histogram(
			"strata_rpc_seconds",
			"Time of API calls, from the decoded request to the reply.",
			rpcBuckets(),
			"method",
			"code",
		),
		modelCalls: counters("strata_model_calls_total", "Calls of chat models, failed ones included.", "operation", "model", "outcome"),
		modelTokens: counters(
			"strata_model_tokens_total",
			"Tokens that chat models read and wrote, in failed calls too.",
			"operation",
			"model",
			"direction",
		),
		modelSeconds:     histogram("strata_model_call_seconds", "Time of calls of chat models.", modelBuckets(), "operation", "model"),
		embeddingCalls:   counters("strata_embedding_calls_total", "Calls of embedders, failed ones included.", "model", "outcome"),
		embeddingTexts:   counters("strata_embedding_texts_total", "Texts given to embedders.", "model"),
		embeddingTokens:  counters("strata_embedding_tokens_total", "Tokens that embedders read.", "model"),
		embeddingSeconds: histogram("strata_embedding_call_seconds", "Time of calls of embedders.", modelBuckets(), "model"),
		rerankCalls:      counters("strata_rerank_calls_total", "Calls of the reranker, failed ones included.", "model", "outcome"),
		rerankSeconds:    histogram("strata_rerank_call_seconds", "Time of calls of the reranker.", modelBuckets(), "model"),
		jobs:             counters("strata_jobs_total", "What became of background work.", "kind", "outcome"),
		quarantined:      counters("strata_quarantined_total", "Operations of extraction models that verification refused.", "reason"),
		refused:          counters("strata_summary_refused_total", "Summaries that were refused.", "reason"),
		appended: prometheus.NewCounter(
			prometheus.CounterOpts{
				Name: "strata_summary_anchors_appended_total",
				Help: "Names, numbers, dates and decisions that summaries had lost and code appended.",
			},
		),
		degraded: counters("strata_degraded_total", "Replies in which a tier could not do its part.", "tier"),
		checked: counters(
			"strata_check_findings_total",
			"Rules that found something in the words of a message, by what was done.",
			"call",
			"action",
		),
		foreign: counters(
			"strata_view_foreign_hits_total",
			"Hits of another scope than the asked one, which were dropped: the view's filter does not hold.",
			"view",
		),
		stale: counters(
			"strata_view_stale_hits_total",
			"Hits that the primary store does not have for the caller, which were dropped.",
			"view",
		),
		fed:        counters("strata_view_fed_rows_total", "Rows put into a view or removed from it.", "view"),
		feedFailed: counters("strata_view_feed_failures_total", "Attempts to feed a view that failed.", "view"),
		expired:    counters("strata_expired_total", "Sessions, messages and facts that were erased because they were due, by rule.", "rule"),
		erased:     counters("strata_erased_rows_total", "Rows that erasures deleted, by store: primary or a view.", "store"),
		erasureFailed: prometheus.NewCounter(
			prometheus.CounterOpts{Name: "strata_erasure_failures_total", Help: "Sweeps of an erasure that failed and are tried again."},
		),
		historyTokens: counters("strata_history_tokens_total", "Tokens of histories before and after a context policy.", "call", "when"),
		historyShare: histogram(
			"strata_history_window_share",
			"Share of the model's window that a history takes after a context policy, where the window is known.",
			shareBuckets(),
			"call",
		),
		policyStages: counters(
			"strata_policy_stages_total",
			"Stages of context policies that were applied, by what they did.",
			"call",
			"stage",
			"outcome",
		),
		policySaved:   counters("strata_policy_saved_tokens_total", "Tokens that stages of context policies took away.", "call", "stage"),
		credentials:   counters("strata_credentials_refused_total", "Calls without a credential that is good, by the cause.", "cause"),
		limitsRefused: counters("strata_limits_refused_total", "What limits refused, by tenant and the limit's name.", "tenant", "limit"),
		tenantCalls:   counters("strata_tenant_calls_total", "Calls whose credential was good, refused ones included.", "tenant"),
		tenantTokens: counters(
			"strata_tenant_model_tokens_total", "Tokens that chat models and embedders of endpoints read and wrote for a tenant.", "tenant",
		),
		audited: counters(
			"strata_audit_entries_total",
			"Entries of the audit, by sink (store or lines) and fate: written, failed, dropped (too many waited) or left_out (of refused calls).",
			"sink", "fate",
		),
		tenantCost: counters("strata_tenant_model_cost_total", "What these cost by the prices setting, in its unit.", "tenant"),
		callsRefused: counters(
			"strata_calls_refused_total",
			"Large calls that were refused and connections that were closed, by the cause.",
			"cause",
		),
		providers: prometheus.NewGaugeVec(
			prometheus.GaugeOpts{Name: "strata_provider_info", Help: "1 for the configured model of each purpose."},
			[]string{"purpose", "model"},
		),
	}
}

func (m metrics) register(r *prometheus.Registry) {
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.rpcSeconds,
		m.modelCalls,
		m.modelTokens,
		m.modelSeconds,
		m.embeddingCalls,
		m.embeddingTexts,
		m.embeddingTokens,
		m.embeddingSeconds,
		m.rerankCalls,
		m.rerankSeconds,
		m.jobs,
		m.quarantined,
		m.refused,
		m.appended,
		m.degraded,
		m.checked,
		m.foreign,
		m.stale,
		m.fed,
		m.feedFailed,
		m.erased,
		m.expired,
		m.erasureFailed,
		m.historyTokens,
		m.historyShare,
		m.policyStages,
		m.policySaved,
		m.providers,
		m.callsRefused,
		m.credentials,
		m.limitsRefused,
		m.tenantCalls,
		m.tenantTokens,
		m.tenantCost,
		m.audited,
	)
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// rpcBuckets are dense in the range of contexts and records, in milliseconds.
func rpcBuckets() []float64 {
	return []float64{.0005, .001, .002, .003, .005, .007, .01, .015, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
}

// shareBuckets are parts of a window; above 1 it does not hold the history.
func shareBuckets() []float64 { return []float64{.01, .05, .1, .2, .3, .4, .5, .6, .7, .8, .9, 1} }

// modelBuckets reach from what is built in to slow models.
func modelBuckets() []float64 {
	return []float64{.001, .005, .01, .025, .05, .1, .15, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}
}
