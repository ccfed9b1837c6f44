package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/stratamem/strata/internal/access/audit"
	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/edge/admission"
)

// CallRefused implements admission.Meter.
func (r *Recorder) CallRefused(cause admission.Cause) {
	r.callsRefused.WithLabelValues(string(cause)).Inc()
}

// CredentialRefused implements grpcapi.Refusals.
func (r *Recorder) CredentialRefused(cause auth.Cause) {
	r.credentials.WithLabelValues(string(cause)).Inc()
}

// AuditEntries implements audit.Meter.
func (r *Recorder) AuditEntries(sink audit.Sink, fate audit.Fate, n int) {
	r.audited.WithLabelValues(string(sink), string(fate)).Add(float64(n))
}

// WatchCalls adds what large calls hold and how many calls wait, for the turn of their tenant too, asked whenever metrics are read.
// Each cause of a refusal is there from the start, so that a metric is 0 and not missing.
func (r *Recorder) WatchCalls(stats func() admission.Stats, turns func() int64) {
	for _, c := range auth.Causes() {
		r.credentials.WithLabelValues(string(c))
	}
	for _, fate := range audit.Fates() {
		r.audited.WithLabelValues(string(audit.SinkStore), string(fate))
	}
	for _, c := range admission.Causes() {
		r.callsRefused.WithLabelValues(string(c))
	}
	gauge := func(name, help string, labels prometheus.Labels, value func(admission.Stats) int64) {
		r.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels},
			func() float64 { return float64(value(stats())) }))
	}
	const held = "Bytes that large calls hold, by what for, as they were estimated when they were admitted."
	gauge("strata_calls_held_bytes", held, prometheus.Labels{"for": "requests"}, func(s admission.Stats) int64 { return s.RequestBytes })
	gauge("strata_calls_held_bytes", held, prometheus.Labels{"for": "work"}, func(s admission.Stats) int64 { return s.WorkBytes })
	gauge("strata_calls_held_bytes", held, prometheus.Labels{"for": "replies"}, func(s admission.Stats) int64 { return s.ReplyBytes })
	const waiting = "Calls that wait to be admitted, by what for: large ones, and of turns those of tenants beyond their part."
	gauge("strata_calls_waiting", waiting, prometheus.Labels{"for": "requests"}, func(s admission.Stats) int64 { return s.RequestsWaiting })
	gauge("strata_calls_waiting", waiting, prometheus.Labels{"for": "work"}, func(s admission.Stats) int64 { return s.HeavyWaiting })
	gauge("strata_calls_waiting", waiting, prometheus.Labels{"for": "replies"}, func(s admission.Stats) int64 { return s.RepliesWaiting })
	gauge("strata_calls_waiting", waiting, prometheus.Labels{"for": "turns"}, func(admission.Stats) int64 { return turns() })
	gauge(
		"strata_heavy_calls",
		"Calls that take much processor time or memory and run now.",
		nil,
		func(s admission.Stats) int64 { return s.HeavyRunning },
	)
}

// WatchStoreLimit adds how many calls may ask the primary store at once, asked whenever metrics are read.
func (r *Recorder) WatchStoreLimit(atMost func() int64) {
	r.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "strata_store_calls_at_most",
		Help: "Calls that may ask the primary store at once, since it failed some; 0 for any number, as while it keeps up.",
	}, func() float64 { return float64(atMost()) }))
}
