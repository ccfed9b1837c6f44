package cli

import (
	_ "embed" // of the notices
	"io"

	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// notices are what NOTICE says of the data inside the program, and the licences and notices of everything that is linked into it.
// tools/licenses writes them: make generate.
//
//go:embed THIRD_PARTY_NOTICES
var notices string

// licensesCmd prints what is to be shipped with the program.
type licensesCmd struct{}

// Run prints the licences and notices.
func (c *licensesCmd) Run(r *terminal.Run) error {
	if r.Output == "json" {
		return r.ShowValue(map[string]string{"notices": notices})
	}
	_, err := io.WriteString(r.Env.Stdout, notices)
	return err
}
