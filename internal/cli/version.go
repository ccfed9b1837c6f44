package cli

import (
	"fmt"
	"runtime"
)

// versionCmd prints the version.
type versionCmd struct{}

// Run prints the version with what it was built by and for.
func (c *versionCmd) Run(r *run) error {
	switch r.Output {
	case "json":
		return r.showValue(map[string]string{"version": r.env.version(), "go": runtime.Version(), "platform": platform})
	case "quiet":
		fmt.Fprintln(r.env.Stdout, r.env.version())
	default:
		fmt.Fprintln(r.env.Stdout, r.env.versionLine())
	}
	return nil
}
