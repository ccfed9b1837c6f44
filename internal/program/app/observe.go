package app

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/program/diskspace"
	"github.com/stratamem/strata/internal/program/telemetry"
)

// observe makes what counts, and has it watch the stores.
func observe(cfg config.Config, s *stores, traces *telemetry.Traces) *telemetry.Recorder {
	recorder := telemetry.New(
		telemetry.Options{Models: historyModels(cfg), Providers: providers(cfg), Traces: traces.Provider(), Now: time.Now},
	)
	recorder.WatchReady(s.primary.Check)
	recorder.WatchViews(s.views())
	if s.file != nil {
		recorder.WatchDisk(func() (uint64, error) { return diskspace.Free(filepath.Dir(cfg.Data)) })
	}
	if s.conflicts != nil {
		recorder.WatchSequenceConflicts(s.conflicts)
	}
	return recorder
}

// traceFlush is how long a stopping program waits for its traces to go out.
const traceFlush = 5 * time.Second

// flush sends the last traces.
func flush(traces *telemetry.Traces, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), traceFlush)
	defer cancel()
	if err := traces.Close(ctx); err != nil {
		log.Warn("the last traces were not sent", "error", err)
	}
}
