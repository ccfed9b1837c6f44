package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are the instruments of a Recorder. Their names carry their units.
type metrics struct {
	callMetrics
	tenantMetrics
	modelMetrics
	workMetrics
	viewMetrics
	historyMetrics
}

// newMetrics makes the instruments, registered where the factory registers.
func newMetrics(f promauto.Factory) metrics {
	return metrics{
		callMetrics:    newCallMetrics(f),
		tenantMetrics:  newTenantMetrics(f),
		modelMetrics:   newModelMetrics(f),
		workMetrics:    newWorkMetrics(f),
		viewMetrics:    newViewMetrics(f),
		historyMetrics: newHistoryMetrics(f),
	}
}

// callMetrics are of calls of the API and what refused them.
type callMetrics struct {
	rpcSeconds    *prometheus.HistogramVec
	callsRefused  *prometheus.CounterVec
	credentials   *prometheus.CounterVec
	limitsRefused *prometheus.CounterVec
	degraded      *prometheus.CounterVec
	checked       *prometheus.CounterVec
	audited       *prometheus.CounterVec
}

func newCallMetrics(f promauto.Factory) callMetrics {
	return callMetrics{
		rpcSeconds: histogram(
			f, "strata_rpc_seconds",
			"Time of API calls, from the decoded request to the reply.",
			rpcBuckets(), "method", "code",
		),
		callsRefused: counters(
			f, "strata_calls_refused_total",
			"Calls that were refused and connections that were closed, by the cause.",
			"cause",
		),
		credentials:   counters(f, "strata_credentials_refused_total", "Calls without a credential that is good, by the cause.", "cause"),
		limitsRefused: counters(f, "strata_limits_refused_total", "What limits refused, by tenant and the limit's name.", "tenant", "limit"),
		degraded:      counters(f, "strata_degraded_total", "Replies in which a tier could not do its part.", "tier"),
		checked: counters(
			f, "strata_check_findings_total",
			"Rules that found something in the words of a message, by what was done.",
			"call", "action",
		),
		audited: counters(
			f, "strata_audit_entries_total",
			"Entries of the audit, by sink (store or lines) and fate: written, failed, dropped (too many waited) or left_out (of refused calls).",
			"sink", "fate",
		),
	}
}

// tenantMetrics are of what each tenant takes.
type tenantMetrics struct {
	tenantCalls  *prometheus.CounterVec
	tenantTokens *prometheus.CounterVec
	tenantCost   *prometheus.CounterVec
}

func newTenantMetrics(f promauto.Factory) tenantMetrics {
	return tenantMetrics{
		tenantCalls: counters(f, "strata_tenant_calls_total", "Calls whose credential was good, refused ones included.", "tenant"),
		tenantTokens: counters(
			f, "strata_tenant_model_tokens_total",
			"Tokens that chat models and embedders of endpoints read and wrote for a tenant.",
			"tenant",
		),
		tenantCost: counters(f, "strata_tenant_model_cost_total", "What these cost by the prices setting, in its unit.", "tenant"),
	}
}

// modelMetrics are of chat models, embedders and the reranker.
type modelMetrics struct {
	modelCalls       *prometheus.CounterVec
	modelTokens      *prometheus.CounterVec
	modelSeconds     *prometheus.HistogramVec
	embeddingCalls   *prometheus.CounterVec
	embeddingTexts   *prometheus.CounterVec
	embeddingTokens  *prometheus.CounterVec
	embeddingSeconds *prometheus.HistogramVec
	rerankCalls      *prometheus.CounterVec
	rerankSeconds    *prometheus.HistogramVec
	providers        *prometheus.GaugeVec
}

func newModelMetrics(f promauto.Factory) modelMetrics {
	return modelMetrics{
		modelCalls: counters(
			f, "strata_model_calls_total",
			"Calls of chat models, failed ones included.",
			"operation", "model", "outcome",
		),
		modelTokens: counters(
			f, "strata_model_tokens_total",
			"Tokens that chat models read and wrote, in failed calls too.",
			"operation", "model", "direction",
		),
		modelSeconds:     histogram(f, "strata_model_call_seconds", "Time of calls of chat models.", modelBuckets(), "operation", "model"),
		embeddingCalls:   counters(f, "strata_embedding_calls_total", "Calls of embedders, failed ones included.", "model", "outcome"),
		embeddingTexts:   counters(f, "strata_embedding_texts_total", "Texts given to embedders.", "model"),
		embeddingTokens:  counters(f, "strata_embedding_tokens_total", "Tokens that embedders read.", "model"),
		embeddingSeconds: histogram(f, "strata_embedding_call_seconds", "Time of calls of embedders.", modelBuckets(), "model"),
		rerankCalls:      counters(f, "strata_rerank_calls_total", "Calls of the reranker, failed ones included.", "model", "outcome"),
		rerankSeconds:    histogram(f, "strata_rerank_call_seconds", "Time of calls of the reranker.", modelBuckets(), "model"),
		providers: f.NewGaugeVec(
			prometheus.GaugeOpts{Name: "strata_provider_info", Help: "1 for the configured model of each purpose."},
			[]string{"purpose", "model"}),
	}
}

// workMetrics are of what works in the background.
type workMetrics struct {
	jobs          *prometheus.CounterVec
	quarantined   *prometheus.CounterVec
	refused       *prometheus.CounterVec
	appended      prometheus.Counter
	expired       *prometheus.CounterVec
	erased        *prometheus.CounterVec
	erasureFailed prometheus.Counter
}

func newWorkMetrics(f promauto.Factory) workMetrics {
	return workMetrics{
		jobs:        counters(f, "strata_jobs_total", "What became of background work.", "kind", "outcome"),
		quarantined: counters(f, "strata_quarantined_total", "Operations of extraction models that verification refused.", "reason"),
		refused:     counters(f, "strata_summary_refused_total", "Summaries that were refused.", "reason"),
		appended: f.NewCounter(
			prometheus.CounterOpts{
				Name: "strata_summary_anchors_appended_total",
				Help: "Names, numbers, dates and decisions that summaries had lost and code appended.",
			}),
		expired: counters(
			f, "strata_expired_total",
			"Sessions, messages, facts and entries of the audit that were erased because they were due, by rule.",
			"rule",
		),
		erased: counters(f, "strata_erased_rows_total", "Rows that erasures deleted, by store: primary or a view.", "store"),
		erasureFailed: f.NewCounter(
			prometheus.CounterOpts{Name: "strata_erasure_failures_total", Help: "Sweeps of an erasure that failed and are tried again."}),
	}
}

// viewMetrics are of the views.
type viewMetrics struct {
	foreign    *prometheus.CounterVec
	stale      *prometheus.CounterVec
	fed        *prometheus.CounterVec
	feedFailed *prometheus.CounterVec
}

func newViewMetrics(f promauto.Factory) viewMetrics {
	return viewMetrics{
		foreign: counters(
			f, "strata_view_foreign_hits_total",
			"Hits of another scope than the asked one, which were dropped: the view's filter does not hold.",
			"view",
		),
		stale: counters(
			f, "strata_view_stale_hits_total",
			"Hits that the primary store does not have for the caller, which were dropped.",
			"view",
		),
		fed:        counters(f, "strata_view_fed_rows_total", "Rows put into a view or removed from it.", "view"),
		feedFailed: counters(f, "strata_view_feed_failures_total", "Attempts to feed a view that failed.", "view"),
	}
}

// historyMetrics are of context policies.
type historyMetrics struct {
	historyTokens *prometheus.CounterVec
	historyShare  *prometheus.HistogramVec
	policyStages  *prometheus.CounterVec
	policySaved   *prometheus.CounterVec
}

func newHistoryMetrics(f promauto.Factory) historyMetrics {
	return historyMetrics{
		historyTokens: counters(f, "strata_history_tokens_total", "Tokens of histories before and after a context policy.", "call", "when"),
		historyShare: histogram(
			f, "strata_history_window_share",
			"Share of the model's window that a history takes after a context policy, where the window is known.",
			shareBuckets(), "call",
		),
		policyStages: counters(
			f, "strata_policy_stages_total",
			"Stages of context policies that were applied, by what they did.",
			"call", "stage", "outcome",
		),
		policySaved: counters(f, "strata_policy_saved_tokens_total", "Tokens that stages of context policies took away.", "call", "stage"),
	}
}

func counters(f promauto.Factory, name, help string, labels ...string) *prometheus.CounterVec {
	return f.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histogram(f promauto.Factory, name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return f.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
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
