package telemetry

import (
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
)

// Work counts what waits in the store; store.Work has it.
type Work interface {
	WorkStats(ctx context.Context) (store.WorkStats, error)
}

// WorkOptions are what WatchWork needs.
type WorkOptions struct {
	Work Work
	// Waiting counts what has no vector yet; nil where nothing is embedded.
	Waiting func(ctx context.Context) (facts, messages int64, err error)
	// Erasures counts the erasures that are not done, and returns when the oldest began; nil where nothing can be erased.
	Erasures func(ctx context.Context) (count int, oldest time.Time, err error)
	Now      func() time.Time
	Log      *slog.Logger
}

// WatchWork adds what waits and what is parked, read from the store whenever metrics are read. When the store does not
// respond, those metrics are missing rather than zero.
func (r *Recorder) WatchWork(o WorkOptions) {
	gauge := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	r.registry.MustRegister(&workCollector{
		WorkOptions: o,
		oldest:      gauge("strata_work_oldest_pending_seconds", "Age of the oldest job that is not done, 0 without one.", "kind"),
		open:        gauge("strata_jobs_open", "Jobs that are not done.", "kind"),
		parked:      gauge("strata_jobs_parked", "Jobs that failed too often or for good and wait for a person.", "kind"),
		parkedMessages: gauge(
			"strata_messages_parked",
			"Messages that parked jobs are about: stored, and not learnt from (extract) or not summarised (summarize) until a person acts.",
			"kind",
		),
		quarantined: gauge("strata_quarantined_stored", "Refused operations that are kept, by reason.", "reason"),
		vectors:     gauge("strata_embedding_waiting", "Facts and messages that have no vector of the model in use yet.", "of"),
		erasures:    gauge("strata_erasures_pending", "Erasures of which something may lie in a store still, up to 1,000. Nobody sees it."),
		erasureAge:  gauge("strata_erasures_oldest_pending_seconds", "Age of the oldest erasure that is not done, 0 without one."),
		turns: gauge(
			"strata_turns_pending_seconds",
			"For how long the session that waits longest has been due to be looked at, 0 without one.",
		),
	})
}

// WatchReady adds whether calls can be served, asked of check whenever metrics are read: what /readyz of the API's port says. A full
// disk is no failure of the service in the codes of its calls (RESOURCE_EXHAUSTED), so only this metric shows it.
func (r *Recorder) WatchReady(check func(context.Context) error) {
	r.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "strata_ready", Help: "1 when the primary store can be read and takes writes, else 0.",
	}, func() float64 {
		ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
		defer cancel()
		if err := safegroup.Contain(func() error { return check(ctx) }); err != nil {
			return 0
		}
		return 1
	}))
}

// WatchDisk adds how many bytes are free where the data file lies, asked whenever metrics are read.
func (r *Recorder) WatchDisk(free func() (uint64, error)) {
	r.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "strata_data_disk_free_bytes", Help: "Bytes that are free for the data file, NaN where the system does not say.",
	}, func() float64 {
		n, err := free()
		if err != nil {
			return math.NaN()
		}
		return float64(n)
	}))
}

// WatchViews has the counters of each view begin at 0: what counts from its first event on hides that event from increase().
func (r *Recorder) WatchViews(views []memory.View) {
	for _, v := range views {
		r.foreign.WithLabelValues(v.String())
		r.stale.WithLabelValues(v.String())
		r.feedFailed.WithLabelValues(v.String())
	}
}

// WatchPanics adds how many panics were contained: each is a defect of the program, and the log has the place.
func (r *Recorder) WatchPanics(count func() int64) {
	r.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "strata_panics_total", Help: "Panics that were contained: a call was refused, or a piece of background work failed.",
	}, func() float64 { return float64(count()) }))
}

// WatchSequenceConflicts adds how many inserts of turns failed because another server's turn had their place.
func (r *Recorder) WatchSequenceConflicts(count func() int64) {
	r.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "strata_sequence_conflicts_total",
		Help: "Inserts of turns that were made again because another server had written to the session meanwhile. Only on MongoDB.",
	}, func() float64 { return float64(count()) }))
}

// workCollector asks the store at every scrape.
type workCollector struct {
	WorkOptions
	oldest, open, parked, parkedMessages, quarantined, vectors, turns, erasures, erasureAge *prometheus.Desc
}

// Describe names the metrics.
func (c *workCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.oldest, c.open, c.parked, c.parkedMessages, c.quarantined, c.vectors, c.turns, c.erasures, c.erasureAge,
	} {
		to <- d
	}
}

// collectTimeout bounds what a scrape may take of the store.
const collectTimeout = 5 * time.Second

// Collect sends the metrics.
func (c *workCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	var stats store.WorkStats
	err := safegroup.Contain(func() (err error) { // a scrape asks in a goroutine of its own
		stats, err = c.Work.WorkStats(ctx)
		return err
	})
	if err != nil {
		c.Log.WarnContext(ctx, "metrics of background work are missing", "error", err)
		return
	}
	now := c.Now()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, k := range everyKind(stats.Kinds) {
		gauge(c.oldest, age(k.Oldest, now), k.Kind.String())
		gauge(c.open, float64(k.Open), k.Kind.String())
		gauge(c.parked, float64(k.Parked), k.Kind.String())
		if k.Kind.IsOfMessages() {
			gauge(c.parkedMessages, float64(k.ParkedMessages), k.Kind.String())
		}
	}
	for reason, n := range stats.Quarantined {
		gauge(c.quarantined, float64(n), reason)
	}
	gauge(c.turns, age(stats.OldestTurn, now))
	c.collectVectors(ctx, gauge)
	c.collectErasures(ctx, gauge)
}

// collectErasures counts the erasures that are not done.
func (c *workCollector) collectErasures(ctx context.Context, gauge func(d *prometheus.Desc, v float64, labels ...string)) {
	if c.Erasures == nil {
		return
	}
	var count int
	var oldest time.Time
	err := safegroup.Contain(func() (err error) {
		count, oldest, err = c.Erasures(ctx)
		return err
	})
	if err != nil {
		c.Log.WarnContext(ctx, "metrics of erasures are missing", "error", err)
		return
	}
	gauge(c.erasures, float64(count))
	gauge(c.erasureAge, age(oldest, c.Now()))
}

// collectVectors counts the facts and messages that wait for a vector.
func (c *workCollector) collectVectors(ctx context.Context, gauge func(d *prometheus.Desc, v float64, labels ...string)) {
	if c.Waiting == nil {
		return
	}
	var facts, messages int64
	err := safegroup.Contain(func() (err error) {
		facts, messages, err = c.Waiting(ctx)
		return err
	})
	if err != nil {
		c.Log.WarnContext(ctx, "metrics of what waits for a vector are missing", "error", err)
		return
	}
	gauge(c.vectors, float64(facts), "facts")
	gauge(c.vectors, float64(messages), "messages")
}

// everyKind adds the kinds of which there is nothing, so that a metric is 0 and not missing.
func everyKind(some []store.KindStats) []store.KindStats {
	byKind := map[memory.JobKind]store.KindStats{}
	for _, s := range some {
		byKind[s.Kind] = s
	}
	var all []store.KindStats
	for _, k := range []memory.JobKind{
		memory.JobExtract, memory.JobLeaf, memory.JobMerge, memory.JobWeek, memory.JobMonth, memory.JobRebuild, memory.JobIndex,
	} {
		s := byKind[k]
		s.Kind = k
		all = append(all, s)
	}
	return all
}

// age is how long ago a time was, in seconds; 0 for none and for the future.
func age(t, now time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(0, now.Sub(t).Seconds())
}
