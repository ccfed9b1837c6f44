package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/backendtest"
	"github.com/stratamem/strata/internal/testing/conversations"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

const (
	reindexUsers   = 50
	reindexFacts   = 1000 // of each user
	reindexTurns   = 400  // of each user, of two messages
	barFactsSecond = 5000
	barTurnsSecond = 2000
)

// reindexFigure fills the primary store, has the views made again, and measures how fast they are fed.
func reindexFigure(ctx context.Context, o options) (err error) {
	b, err := backendtest.NewBackends()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Drop()) }()
	model := llmtest.New(llmtest.Options{Dimension: 384})
	defer model.Close()
	metrics, err := measure.FreeAddr(ctx)
	if err != nil {
		return err
	}
	s, err := startTiers(ctx, o, b, model, "--metrics-listen", metrics)
	if err != nil {
		return err
	}
	if err := fillForReindex(ctx, s, b, model); err != nil {
		return errors.Join(err, s.stop())
	}
	calls := model.Count(llmtest.OpEmbed)
	for _, v := range []struct {
		view memoryv1.View
		name string
		rows float64 // fed in all
		per  float64 // rows of what is counted
		bar  float64
		what string
	}{
		{memoryv1.View_VIEW_VECTORS, "vectors", reindexUsers * reindexFacts, 1, barFactsSecond, "facts a second into Milvus"},
		{memoryv1.View_VIEW_TURNS, "turns", reindexUsers * reindexTurns * 2, 1, barFactsSecond, "messages' vectors a second into Milvus"},
		{memoryv1.View_VIEW_TRANSCRIPT, "transcript", reindexUsers * reindexTurns * 2, 2, barTurnsSecond, "turns a second into Elasticsearch"},
	} {
		took, err := timeReindex(ctx, s, metrics, v.view, v.name, v.rows)
		if err != nil {
			return errors.Join(err, s.stop())
		}
		o.report.AtLeast("reindex: "+v.what, v.rows/v.per/took.Seconds(), v.bar, "/s")
	}
	o.report.Zero("reindex: calls of a model", model.Count(llmtest.OpEmbed)-calls)
	return s.stop()
}

func fillForReindex(ctx context.Context, s *running, b backendtest.Backends, model *llmtest.Server) error {
	shape := conversations.W()
	return withPrimaryStore(ctx, b, func(primary store.PrimaryStore) error {
		for u := range reindexUsers {
			user := fmt.Sprintf("user-%02d", u)
			for t := range reindexTurns / perTurn {
				req := &memoryv1.RecordRequest{UserId: user, SessionId: "s", Extract: memoryv1.ExtractMode_EXTRACT_MODE_NONE}
				for n := range perTurn {
					texts := turnTexts(u*reindexTurns + t*perTurn + n)
					req.Messages = append(req.Messages, turnRequest("s", texts).GetMessages()...)
				}
				if _, err := s.Record(ctx, req); err != nil {
					return fmt.Errorf("record: %w", err)
				}
			}
			if err := seedFactsIn(ctx, primary, user, reindexFacts, shape); err != nil {
				return fmt.Errorf("seed facts: %w", err)
			}
		}
		if err := reembed(ctx, s, model, embedStub); err != nil {
			return err
		}
		return waitFed(ctx, primary)
	})
}

// timeReindex has a view made again and waits until everything is in it.
func timeReindex(ctx context.Context, s *running, metrics string, view memoryv1.View, name string, rows float64) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, fedWithin)
	defer cancel()
	before, err := fedRows(ctx, metrics, name)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if _, err := memoryv1.NewMaintenanceServiceClient(s.conn).
		Reindex(ctx, &memoryv1.ReindexRequest{Views: []memoryv1.View{view}}); err != nil {
		return 0, fmt.Errorf("reindex: %w", err)
	}
	err = measure.Until(ctx, "make the view again", func(ctx context.Context) (bool, error) {
		now, err := fedRows(ctx, metrics, name)
		return now-before >= rows, err
	})
	return time.Since(begin), err
}

// fedRows is how many rows the server has fed to a view since it started.
func fedRows(ctx context.Context, metrics, view string) (float64, error) {
	return metric(ctx, metrics, `strata_view_fed_rows_total{view="`+view+`"}`)
}

// metric reads a value of the server's metrics, by its name and labels; 0 where it has none.
func metric(ctx context.Context, metrics, name string) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+metrics+"/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("read metrics: %w", err)
	}
	defer r.Body.Close() //nolint:errcheck // nothing was written
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, lines.Err()
}
