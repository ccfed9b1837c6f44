package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/stratamem/strata/bench/internal/eval"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/bench/internal/scripted"
	"github.com/stratamem/strata/internal/testing/backendtest"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// settings make extraction read few turns at once: a model may propose at most twenty facts in an answer.
const settings = "profiles:\n  default:\n    extraction:\n      max-messages: 10\n"

// startServer starts a server over a temporary file, or a corner of the three servers, and the scripted model where facts
// are replayed. The caller must call stop.
func startServer(ctx context.Context, o options, set eval.Set) (stop func() error, addr string, err error) {
	dir, err := os.MkdirTemp("", "strata-eval-")
	if err != nil {
		return nil, "", fmt.Errorf("make a temporary folder: %w", err)
	}
	undo := undoing{func() error { return os.RemoveAll(dir) }}
	server := measure.ServerOptions{Binary: o.binary, Data: filepath.Join(dir, "eval.db"), Args: o.server}
	if o.facts == factsReplayed {
		config := filepath.Join(dir, "strata.yaml")
		if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
			return nil, "", errors.Join(err, undo.all())
		}
		model := llmtest.New(llmtest.Options{Chat: newScript(set.Dialogues).answer})
		undo = append(undo, func() error { model.Close(); return nil })
		server.Args = slices.Concat([]string{"--config", config}, scripted.ChatFlags(model.URL()), server.Args)
	}
	if o.tiers {
		b, err := backendtest.NewBackends()
		if err != nil {
			return nil, "", errors.Join(err, undo.all())
		}
		undo = append(undo, b.Drop)
		server.Data, server.Env = "", b.Env()
	}
	s, err := measure.StartServer(ctx, server)
	if err != nil {
		return nil, "", errors.Join(err, undo.all())
	}
	return append(undo, s.Stop).all, s.Addr, nil
}

// undoing takes back what was done, the last first.
type undoing []func() error

func (u undoing) all() error {
	var errs []error
	for i := len(u) - 1; i >= 0; i-- {
		errs = append(errs, u[i]())
	}
	return errors.Join(errs...)
}
