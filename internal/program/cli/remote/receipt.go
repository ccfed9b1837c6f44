package remote

import (
	"fmt"
	"io"
	"strings"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// printStores prints a table of what every store had and deleted of an erasure.
func printStores(r *terminal.Run, w io.Writer, stores []*memoryv1.StoreReceipt) {
	var rows [][]string
	for _, s := range stores {
		rows = append(rows, []string{
			s.GetStore(), fmt.Sprint(s.GetFound()), fmt.Sprint(s.GetDeleted()), fmt.Sprint(s.GetRemaining()),
			strings.ToLower(strings.TrimPrefix(s.GetPurgedBy().String(), "PURGED_BY_")),
		})
	}
	if len(rows) > 0 {
		r.Table(w, terminal.Whole.Columns("store", "found", "deleted", "remaining", "purged by"), rows)
	}
}
