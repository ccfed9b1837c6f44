package remote

import (
	"fmt"

	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// more prints on stderr that a limit cut the list.
func more(r *terminal.Run, token string) {
	if token != "" {
		fmt.Fprintln(r.Env.Stderr, "there is more: raise --limit")
	}
}

// maxUsers is the most that the API returns of users at once.
const maxUsers = 500
