package cli

import (
	"fmt"

	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// migrateCmd brings the schemas of the configured stores up to date without serving.
type migrateCmd struct {
	settings
}

// Run migrates and prints what was looked at.
func (c *migrateCmd) Run(r *terminal.Run) error {
	cfg, err := c.load(r)
	if err != nil {
		return err
	}
	done, err := app.Migrate(r.Ctx, cfg.Config, newLog(cfg.Config, r.Env))
	for _, d := range done {
		fmt.Fprintf(r.Env.Stdout, "%-14s %s: the schema is this program's\n", d.Store, d.Where)
	}
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}
