package cli

import (
	"fmt"

	"github.com/stratamem/strata/internal/program/cli/terminal"
	"github.com/stratamem/strata/internal/program/config"
)

// configCmd groups the commands about the server's configuration.
type configCmd struct {
	Print     configPrintCmd     `cmd:"" help:"Print every setting in force with where it comes from."`
	Validate  configValidateCmd  `cmd:"" help:"Check the configuration; exit code 2 when it is wrong."`
	Reference configReferenceCmd `cmd:"" help:"Print all settings with their names, defaults and meaning as Markdown."`
}

type configPrintCmd struct {
	settings
}

// Run prints the settings.
func (c *configPrintCmd) Run(r *terminal.Run) error {
	cfg, err := c.load(r)
	if err != nil {
		return err
	}
	values := cfg.Values()
	if r.Output == "json" {
		return r.ShowValue(values)
	}
	if r.Output == "quiet" {
		return nil
	}
	var rows [][]string
	for _, v := range values {
		rows = append(rows, []string{v.Key, v.Value, v.Origin})
	}
	width := r.Env.Width // settings have long names, and where nobody reads them on a terminal each stays in one line
	if r.Wide {
		width = 0
	}
	terminal.WriteTable(r.Env.Stdout, terminal.Wrapped.Columns("setting", "value", "origin"), rows, width)
	return nil
}

type configValidateCmd struct {
	settings
}

// Run checks the settings. Load has found whatever is wrong.
func (c *configValidateCmd) Run(r *terminal.Run) error {
	cfg, err := c.load(r)
	if err != nil {
		return err
	}
	switch {
	case r.Output == "json":
		return r.ShowValue(map[string]any{"valid": true, "file": cfg.File})
	case r.Output == "table":
		fmt.Fprintln(r.Env.Stdout, "the configuration is valid")
	}
	return nil
}

type configReferenceCmd struct{}

// Run prints the reference.
func (c *configReferenceCmd) Run(r *terminal.Run) error {
	if r.Output == "json" {
		return r.ShowValue(config.Settings())
	}
	fmt.Fprint(r.Env.Stdout, config.Reference())
	return nil
}
