package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is the version of the program as the Go toolchain stamped it: a tag, or a commit for a build in between.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// versionCmd prints the version.
type versionCmd struct{}

// Run prints the version with what it was built by and for.
func (c *versionCmd) Run(r *run) error {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	switch r.Output {
	case "json":
		return r.showValue(map[string]string{"version": version(), "go": runtime.Version(), "platform": platform})
	case "quiet":
		fmt.Fprintln(r.env.Stdout, version())
	default:
		fmt.Fprintf(r.env.Stdout, "strata %s (%s, %s)\n", version(), runtime.Version(), platform)
	}
	return nil
}
