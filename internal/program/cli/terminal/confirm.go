package terminal

import (
	"bufio"
	"fmt"
	"strings"
)

// ConfirmFlags are the flags of commands that ask before they erase.
type ConfirmFlags struct {
	DryRun bool `name:"dry-run" help:"Only show what would go."`
	Yes    bool `short:"y" help:"Do not ask."`
}

// Confirm says what would go, and has a person type its name.
func Confirm(r *Run, asked, name string) error {
	fmt.Fprintln(r.Env.Stderr, asked)
	fmt.Fprintf(r.Env.Stderr, "Type %s to go on: ", OneLine(name))
	line, err := bufio.NewReader(r.Env.Stdin).ReadString('\n')
	if err != nil && line == "" {
		return Usagef("nothing was typed, and nothing erased: give --yes where nobody can be asked, --dry-run to look")
	}
	if strings.TrimSpace(line) != name {
		return Usagef("that is not %s: nothing was erased", OneLine(name))
	}
	return nil
}
