//go:build sabotage

// Command twin is a server that acknowledges a turn before it writes it. It is never part of the product: the crash
// figure must find it out, else that figure proves nothing. It is built only with the tag sabotage.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/stratamem/strata/internal/jobs"
	"github.com/stratamem/strata/internal/policy"
	"github.com/stratamem/strata/internal/server"
	"github.com/stratamem/strata/internal/service"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
)

// linger is how long an acknowledged turn waits before it is written.
const linger = 50 * time.Millisecond

func main() {
	if err := run(context.Background(), os.Args[2:]); err != nil { // after the verb serve
		fmt.Fprintln(os.Stderr, "twin:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("twin", flag.ContinueOnError)
	data, listen := fs.String("data", "", "the data file"), fs.String("listen", "", "HOST:PORT")
	fs.String("log-format", "", "accepted, not used")
	if err := fs.Parse(args); err != nil {
		return err
	}
	st, err := sqlitestore.Open(ctx, sqlitestore.Options{Path: *data})
	if err != nil {
		return err
	}
	log := slog.New(slog.DiscardHandler)
	indexer := jobs.NewIndexer(jobs.IndexerOptions{Store: st, Log: log})
	lexicon, err := service.NewLexicon(service.LexiconOptions{Store: st, MaxBytes: 1 << 20, Indexer: indexer, Log: log})
	if err != nil {
		return err
	}
	svc := service.New(service.Options{
		Store: newHasty(ctx, st), Lexicon: lexicon, Indexer: indexer, Now: time.Now,
		Policies: policy.Policies{Profiles: map[string]policy.Profile{"default": {BudgetTokens: 8000}}, Default: "default"},
		NewID:    func() string { return uuid.Must(uuid.NewV7()).String() },
	})
	srv := server.New(server.Options{Service: svc, RequestTimeout: 10 * time.Second, Log: log})
	srv.SetHealthy(true)
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	var g errgroup.Group
	g.Go(func() error { return srv.Serve(ctx, l) })
	g.Go(func() error { return indexer.Run(ctx) })
	return g.Wait()
}

// hasty answers Append at once and writes later: the fault that the crash figure is there to find.
type hasty struct {
	*sqlitestore.Store
	later chan store.AppendParams
}

func newHasty(ctx context.Context, st *sqlitestore.Store) *hasty {
	h := &hasty{st, make(chan store.AppendParams, 1<<16)}
	go func() {
		for p := range h.later {
			time.Sleep(time.Until(p.Time.Add(linger)))
			h.Store.Append(ctx, p) //nolint:errcheck // sabotage: nobody is told
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
