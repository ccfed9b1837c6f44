package cli

import (
	"io"

	"github.com/stratamem/strata/internal/licenses"
)

// licensesCmd prints what is to be shipped with the program.
type licensesCmd struct{}

// Run prints the licences and notices.
func (c *licensesCmd) Run(r *run) error {
	if r.Output == "json" {
		return r.showValue(map[string]string{"notices": licenses.Text})
	}
	_, err := io.WriteString(r.env.Stdout, licenses.Text)
	return err
}
