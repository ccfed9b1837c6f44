package remote

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// confirmFlags are the flags of commands that ask before they erase.
type confirmFlags struct {
	DryRun bool `name:"dry-run" help:"Only show what would go."`
	Yes    bool `short:"y" help:"Do not ask."`
}

// confirm says what would go, and has a person type its name.
func confirm(r *terminal.Run, asked, name string) error {
	fmt.Fprintln(r.Env.Stderr, asked)
	fmt.Fprintf(r.Env.Stderr, "Type %s to go on: ", terminal.OneLine(name))
	line, err := bufio.NewReader(r.Env.Stdin).ReadString('\n')
	if err != nil && line == "" {
		return terminal.Usagef("nothing was typed, and nothing erased: give --yes where nobody can be asked, --dry-run to look")
	}
	if strings.TrimSpace(line) != name {
		return terminal.Usagef("that is not %s: nothing was erased", terminal.OneLine(name))
	}
	return nil
}
