//go:build sabotage

// Command strata-twin is the sabotaged build: the server with a fault, to see whether the crash figures find it out. If they
// do not, they prove nothing. It is never part of the product and built only with the tag sabotage. STRATA_FAULT chooses the
// fault: hasty, as is the default, acknowledges a turn before it writes it; forgetful loses the answers of models that its
// journal should keep; none has no fault. STRATA_SEAM=POINT:N ends the process as kill -9 does when it comes to a point of
// package jobrunner or indexing for the nth time.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/store"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[2:]); err != nil { // after the verb serve
		fmt.Fprintln(os.Stderr, "twin:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	cfg := config.Default()
	fs := flag.NewFlagSet("twin", flag.ContinueOnError)
	fs.StringVar(&cfg.Data, "data", "", "the data file")
	fs.StringVar(&cfg.Listen, "listen", "", "HOST:PORT")
	fs.StringVar(&cfg.MetricsListen, "metrics-listen", "", "HOST:PORT")
	fs.StringVar(&cfg.ChatBaseURL, "chat-base-url", "", "URL")
	fs.StringVar(&cfg.SummaryModel, "summary-model", "", "MODEL")
	fs.StringVar(&cfg.ExtractionModel, "extraction-model", "", "MODEL")
	fs.IntVar(&cfg.Workers, "workers", cfg.Workers, "N")
	fs.String("log-format", "", "accepted, not used")
	if err := fs.Parse(args); err != nil {
		return err
	}
	deadly, err := failpoint(os.Getenv("STRATA_SEAM"))
	if err != nil {
		return err
	}
	a, err := app.New(
		ctx,
		cfg,
		app.Options{Log: slog.New(slog.DiscardHandler), Hooks: app.Hooks{Wrap: fault(ctx, os.Getenv("STRATA_FAULT")), Failpoints: deadly}},
	)
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// fault returns what stands between the program and its store.
func fault(ctx context.Context, name string) func(store.PrimaryStore) store.PrimaryStore {
	switch name {
	case "none":
		return nil
	case "forgetful":
		return func(t store.PrimaryStore) store.PrimaryStore { return forgetful{t} }
	}
	return func(t store.PrimaryStore) store.PrimaryStore { return newHasty(ctx, t) }
}

// failpoint returns what ends the process at POINT:N; nil for "".
func failpoint(at string) (func(string), error) {
	if at == "" {
		return nil, nil
	}
	point, count, _ := strings.Cut(at, ":")
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("STRATA_SEAM %q is not POINT:N: %w", at, err)
	}
	var hits atomic.Int64
	return func(p string) {
		if p == point && hits.Add(1) == n {
			syscall.Kill(os.Getpid(), syscall.SIGKILL) //nolint:errcheck // nothing is left to report
			select {}
		}
	}, nil
}

// linger is how long an acknowledged turn waits before it is written.
const linger = 50 * time.Millisecond

// hasty returns from Append at once and writes later: the fault that the crash figure is there to find.
type hasty struct {
	store.PrimaryStore
	later chan store.AppendParams
}

func newHasty(ctx context.Context, t store.PrimaryStore) *hasty {
	h := &hasty{t, make(chan store.AppendParams, 1<<16)}
	go func() {
		for p := range h.later {
			time.Sleep(time.Until(p.Time.Add(linger)))
			h.PrimaryStore.Append(ctx, p) //nolint:errcheck // sabotage: the error is lost
		}
	}()
	return h
}

// Append acknowledges numbers that it made up.
func (h *hasty) Append(_ context.Context, p store.AppendParams) (store.AppendResult, error) {
	h.later <- p
	n := int64(len(p.Messages))
	r := store.AppendResult{TurnNo: 1, FirstSeq: 1, LastSeq: n}
	for _, m := range p.Messages {
		r.MessageIDs = append(r.MessageIDs, m.ID)
	}
	return r, nil
}

// forgetful keeps the answers of models in memory only: what the journal is there to survive.
type forgetful struct {
	store.PrimaryStore
}

// AnswerJob returns as if the job had been written.
func (f forgetful) AnswerJob(ctx context.Context, p store.JobAnswer) (memory.Job, error) {
	job, err := f.Job(ctx, p.JobRef)
	if err != nil {
		return job, err
	}
	job.State, job.Answer = memory.JobAnswered, p.Answer
	return job, nil
}
