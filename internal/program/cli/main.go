// Package cli is the command line of strata: the commands that run a server or open its stores by themselves, and the
// table of all commands. Package remote has the commands that call a running server, package terminal what all share.
package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/stratamem/strata/internal/program/cli/terminal"
	"github.com/stratamem/strata/internal/program/config"
)

// The exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// exit carries the exit code of kong's own flags, such as --help, out of the parser.
type exit int

// Main runs the command that the arguments ask for and returns the exit code: 0 when all went well, 1 after a
// failure, 2 when the arguments or the configuration are wrong.
func Main(ctx context.Context, args []string, env terminal.Env) (code int) {
	defer func() {
		if p := recover(); p != nil {
			c, ok := p.(exit)
			if !ok {
				panic(p)
			}
			code = int(c)
		}
	}()
	var cli root
	parser, err := newParser(&cli, env)
	if err != nil {
		return fail(env, err)
	}
	kctx, err := parser.Parse(helpLast(args))
	if err != nil {
		return fail(env, terminal.UsageError{Err: err})
	}
	r := &terminal.Run{Ctx: ctx, Kong: kctx, Printer: terminal.Printer{Env: env, Options: cli.Options}}
	if err := kctx.Run(r); err != nil || r.Serve == nil {
		return fail(env, err)
	}
	return fail(env, r.Serve())
}

// helpLast writes help with a command, which many programs have, as the command with --help.
func helpLast(args []string) []string {
	if len(args) == 0 || args[0] != "help" {
		return args
	}
	return append(slices.Clone(args[1:]), "--help")
}

func newParser(cli *root, env terminal.Env) (*kong.Kong, error) {
	return kong.New(cli,
		kong.Name("strata"), kong.Description(description),
		kong.Writers(env.Stdout, env.Stderr),
		kong.Exit(func(code int) { panic(exit(code)) }),
		kong.Resolvers(envResolver(env)),
		kong.ValueFormatter(helpWithEnv),
		kong.Vars{"version": env.VersionLine()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
	)
}

const description = `Conversation memory for LLM agents, as one service.

strata serve runs the server; strata demo shows in a few seconds what it does. The other commands are clients of a
running server. Exit codes: 0 done, 1 failed, 2 wrong arguments or configuration.`

// envResolver takes the client's own settings from the environment. Those of the server are config.Load's business.
func envResolver(env terminal.Env) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		if !terminal.IsClientFlag(flag.Name) {
			return nil, nil
		}
		if v, ok := env.Getenv(config.EnvName(flag.Name)); ok {
			return v, nil
		}
		return nil, nil
	})
}

// helpWithEnv appends the environment variable to a flag's help.
func helpWithEnv(v *kong.Value) string {
	help := kong.DefaultHelpValueFormatter(v)
	if v.Flag == nil {
		return help
	}
	known := terminal.IsClientFlag(v.Name) || v.Name == config.ConfigFlag
	for _, s := range config.Settings() {
		known = known || !s.FileOnly && s.Name == v.Name
	}
	if known {
		help += " [" + config.EnvName(v.Name) + "]"
	}
	return help
}

// fail prints an error and returns the exit code for it.
func fail(env terminal.Env, err error) int {
	if err == nil {
		return exitOK
	}
	if errors.Is(err, terminal.ErrReported) {
		return exitFailure
	}
	terminal.PrintError(env.Stderr, env.Color(env.StderrTerminal), err)
	if _, ok := errors.AsType[terminal.UsageError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*config.Fault](err); ok {
		return exitUsage
	}
	return exitFailure
}
