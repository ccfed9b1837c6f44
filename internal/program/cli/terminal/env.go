package terminal

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/term"
)

// Env is what a run sees of the world.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	StdinTerminal  bool
	StdoutTerminal bool
	StderrTerminal bool
	Width          int      // columns of the terminal; 0 when stdout is none
	Environ        []string // as os.Environ gives it
	Now            func() time.Time
	Version        string // set by the build; "" for what the Go toolchain stamped
}

// OSEnv is the world of this process.
func OSEnv() Env {
	e := Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Now: time.Now,
		StdinTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		StdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		StderrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
	}
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		e.Width = w
	}
	return e
}

// Getenv returns an environment variable.
func (e Env) Getenv(name string) (string, bool) {
	value, found := "", false
	for _, kv := range e.Environ {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			value, found = v, true
		}
	}
	return value, found
}

// Color reports whether a stream may have colours: only on a terminal, and not where NO_COLOR forbids it
// (no-color.org).
func (e Env) Color(terminal bool) Palette {
	no, _ := e.Getenv("NO_COLOR")
	return Palette{On: terminal && no == ""}
}

// ProgramVersion is the version of the program: the one set by the build, else what the Go toolchain stamped (a tag, or a commit
// for a build in between).
func (e Env) ProgramVersion() string {
	if e.Version != "" {
		return e.Version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// VersionLine is the version with what it was built by and for.
func (e Env) VersionLine() string {
	return fmt.Sprintf("strata %s (%s, %s)", e.ProgramVersion(), runtime.Version(), Platform)
}
