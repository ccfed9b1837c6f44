package terminal

import (
	"fmt"
	"io"
	"strings"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// PrintStores prints a table of what every store had and deleted of an erasure.
func PrintStores(r *Run, w io.Writer, stores []*memoryv1.StoreReceipt) {
	var rows [][]string
	for _, s := range stores {
		rows = append(rows, []string{
			s.GetStore(), fmt.Sprint(s.GetFound()), fmt.Sprint(s.GetDeleted()), fmt.Sprint(s.GetRemaining()),
			strings.ToLower(strings.TrimPrefix(s.GetPurgedBy().String(), "PURGED_BY_")),
		})
	}
	if len(rows) > 0 {
		r.Table(w, Whole.Columns("store", "found", "deleted", "remaining", "purged by"), rows)
	}
}
