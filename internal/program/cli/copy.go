package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/cli/terminal"
	"github.com/stratamem/strata/internal/store/storecopy"
)

// copyCmd moves a user of one machine to MongoDB.
type copyCmd struct {
	From string `arg:"" type:"existingfile" placeholder:"FILE" help:"The SQLite file. No server may have it open."`
	settings
}

// copyEvery is how often progress is printed.
const copyEvery = time.Second

// Run copies, compares what arrived, and reports the result. It can be interrupted and run again.
func (c *copyCmd) Run(r *terminal.Run) error {
	cfg, err := c.load(r)
	if err != nil {
		return err
	}
	printed := r.Env.Now()
	done, err := app.Copy(r.Ctx, c.From, cfg.Config, newLog(cfg.Config, r.Env), func(p storecopy.Progress) {
		if now := r.Env.Now(); now.Sub(printed) >= copyEvery {
			printed = now
			fmt.Fprintln(r.Env.Stderr, copied(p))
		}
	})
	if err != nil {
		return fmt.Errorf("copy, after %s%s: %w", copied(done), goOn(r.Ctx, err), err)
	}
	fmt.Fprintf(r.Env.Stdout, "%s; every user was read back and is the same on both sides\n", copied(done))
	return nil
}

// goOn returns the advice to run it again unchanged, where that helps.
func goOn(ctx context.Context, err error) string {
	if ctx.Err() != nil || memory.ReasonOf(err) == memory.ReasonStoreUnavailable {
		return " (run it again to go on)"
	}
	return ""
}

func copied(p storecopy.Progress) string {
	return fmt.Sprintf("%d users, %d of them there already, %d records copied", p.Users, p.Unchanged, p.Records)
}
