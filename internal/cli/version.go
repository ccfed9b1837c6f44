package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is the version of the program: the one set by the build, else what the Go toolchain stamped (a tag, or a commit
// for a build in between).
func (e Env) version() string {
	if e.Version != "" {
		return e.Version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// platform is what the program was built for.
const platform = runtime.GOOS + "/" + runtime.GOARCH

// versionLine is the version with what it was built by and for.
func (e Env) versionLine() string {
	return fmt.Sprintf("strata %s (%s, %s)", e.version(), runtime.Version(), platform)
}

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
