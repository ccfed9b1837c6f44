package cli

import (
	"fmt"
	"runtime"

	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// versionCmd prints the version.
type versionCmd struct{}

// Run prints the version with what it was built by and for.
func (c *versionCmd) Run(r *terminal.Run) error {
	switch r.Output {
	case "json":
		return r.ShowValue(map[string]string{"version": r.Env.ProgramVersion(), "go": runtime.Version(), "platform": terminal.Platform})
	case "quiet":
		fmt.Fprintln(r.Env.Stdout, r.Env.ProgramVersion())
	default:
		fmt.Fprintln(r.Env.Stdout, r.Env.VersionLine())
	}
	return nil
}
