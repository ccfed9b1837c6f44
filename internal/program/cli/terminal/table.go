package terminal

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rivo/uniseg"
)

// fit says what becomes of the cells of a column when its table is wider than there is room.
type fit int

// The fits.
const (
	Whole   fit = iota // they stay as they are
	Cut                // their ends give way to an ellipsis
	Wrapped            // they go on in the next line
	Spare              // they are left out; show has them
)

// Column is a column of a table.
type Column struct {
	head string
	fit  fit
}

// Columns are columns of one fit.
func (f fit) Columns(heads ...string) []Column {
	all := make([]Column, len(heads))
	for i, h := range heads {
		all[i] = Column{head: h, fit: f}
	}
	return all
}

const (
	defaultWidth = 80 // columns of a table where stdout is no terminal
	gap          = 2  // columns between two of a table
	leastElastic = 6  // columns that a cell has at least, however little room there is
)

// width is how many columns a table may have; 0 for no limit.
func (p *Printer) width() int {
	if p.Wide {
		return 0
	}
	return cmp.Or(p.Env.Width, defaultWidth)
}

// Table prints rows under a head, so that they fit the terminal.
func (p *Printer) Table(w io.Writer, columns []Column, rows [][]string) {
	WriteTable(w, columns, rows, p.width())
}

// Fields prints names with their values, whole: a long value goes on in the next line.
func (p *Printer) Fields(w io.Writer, rows [][]string) {
	p.Table(w, slices.Concat(Whole.Columns("field"), Wrapped.Columns("value")), rows)
}

// WriteTable writes rows as a table of at most width columns.
func WriteTable(w io.Writer, columns []Column, rows [][]string, width int) {
	natural := naturalWidths(columns, rows)
	for _, kept := range []func(c Column, says bool) bool{
		func(_ Column, says bool) bool { return says }, func(c Column, _ bool) bool { return c.fit != Spare },
	} {
		if width > 0 && tableWidth(natural) > width {
			columns, rows = some(columns, rows, kept)
			natural = naturalWidths(columns, rows)
		}
	}
	widths := fitted(columns, natural, width)
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = cutTo(strings.ToUpper(c.head), widths[i])
	}
	writeRow(w, heads, widths)
	for _, row := range rows {
		for _, line := range lines(columns, row, widths) {
			writeRow(w, line, widths)
		}
	}
}

// naturalWidths are the widths of columns that nothing is cut from.
func naturalWidths(columns []Column, rows [][]string) []int {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = uniseg.StringWidth(c.head)
		for _, row := range rows {
			widths[i] = max(widths[i], uniseg.StringWidth(row[i]))
		}
	}
	return widths
}

func tableWidth(widths []int) int {
	sum := gap * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// some are the columns that are kept, given whether any of their rows says anything. The last one stays.
func some(columns []Column, rows [][]string, isKept func(c Column, says bool) bool) ([]Column, [][]string) {
	var kept []int
	for i, c := range columns {
		says := slices.ContainsFunc(rows, func(row []string) bool { return row[i] != "" })
		if i == len(columns)-1 || isKept(c, says) {
			kept = append(kept, i)
		}
	}
	pick := func(row []string) []string {
		out := make([]string, len(kept))
		for to, from := range kept {
			out[to] = row[from]
		}
		return out
	}
	someColumns, someRows := make([]Column, len(kept)), make([][]string, len(rows))
	for to, from := range kept {
		someColumns[to] = columns[from]
	}
	for i, row := range rows {
		someRows[i] = pick(row)
	}
	return someColumns, someRows
}

// fitted are the widths that columns get: whole ones their own, and the others share what is left, so that the widest give way first.
func fitted(columns []Column, natural []int, width int) []int {
	widths := slices.Clone(natural)
	if width == 0 || tableWidth(natural) <= width {
		return widths
	}
	room := width - gap*(len(columns)-1)
	var elastic []int
	for i, c := range columns {
		if c.fit == Whole || c.fit == Spare {
			room -= natural[i]
		} else {
			elastic = append(elastic, i)
		}
	}
	slices.SortStableFunc(elastic, func(a, b int) int { return cmp.Compare(natural[a], natural[b]) })
	for at, i := range elastic {
		share := max(room/(len(elastic)-at), leastElastic)
		widths[i] = min(natural[i], share)
		room -= widths[i]
	}
	return widths
}

// lines are the lines of a row.
func lines(columns []Column, row []string, widths []int) [][]string {
	cells, height := make([][]string, len(row)), 1
	for i, cell := range row {
		switch columns[i].fit {
		case Whole, Spare: // what is spare is there because there is room
			cells[i] = []string{cell}
		case Cut:
			cells[i] = []string{cutTo(cell, widths[i])}
		case Wrapped:
			cells[i] = wrapTo(cell, widths[i])
		}
		height = max(height, len(cells[i]))
	}
	all := make([][]string, height)
	for l := range all {
		all[l] = make([]string, len(row))
		for i := range row {
			if l < len(cells[i]) {
				all[l][i] = cells[i][l]
			}
		}
	}
	return all
}

func writeRow(w io.Writer, cells []string, widths []int) {
	var b strings.Builder
	for i, cell := range cells {
		b.WriteString(cell)
		b.WriteString(strings.Repeat(" ", max(0, widths[i]-uniseg.StringWidth(cell))+gap))
	}
	fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
}

const ellipsis = "…"

// cutTo is text with an ellipsis for what is beyond a width.
func cutTo(s string, width int) string {
	if uniseg.StringWidth(s) <= width {
		return s
	}
	head, _ := cutAt(s, width-1)
	return head + ellipsis
}

// cutAt cuts text behind the last whole character, as a reader sees characters, that fits a width.
func cutAt(s string, width int) (head, rest string) {
	at, used := 0, 0
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if used += g.Width(); used > width {
			break
		}
		_, at = g.Positions()
	}
	return s[:at], s[at:]
}

// wrapTo breaks text into lines of a width, between words where that is possible.
func wrapTo(s string, width int) []string {
	var all []string
	for uniseg.StringWidth(s) > width {
		head, rest := cutAt(s, width)
		if at := strings.LastIndexByte(head, ' '); at > 0 && !strings.HasPrefix(rest, " ") {
			head, rest = s[:at], s[at:]
		}
		if head == "" { // a character that is wider than the column
			break
		}
		all, s = append(all, strings.TrimRight(head, " ")), strings.TrimLeft(rest, " ")
	}
	return append(all, s)
}

// The least that a table prints of an id: of one that sorts by time as much as its time takes, since ids of one minute begin alike.
const (
	leastShort      = 8
	leastShortTimed = len("0199aaaa-bbbb")
)

// ShortIDs are, for each id, its shortest beginning that no other id has, as a table prints them.
func ShortIDs(ids []string) []string {
	sorted := slices.Compact(slices.Sorted(slices.Values(ids)))
	out := make([]string, len(ids))
	for i, id := range ids {
		at, _ := slices.BinarySearch(sorted, id)
		n := leastShort
		if isTimed(id) {
			n = leastShortTimed
		}
		if at > 0 {
			n = max(n, common(id, sorted[at-1])+1)
		}
		if at < len(sorted)-1 {
			n = max(n, common(id, sorted[at+1])+1)
		}
		out[i] = runePrefix(id, n)
	}
	return out
}

// isTimed reports whether an id is a UUID of version 7, which begins with the time.
func isTimed(id string) bool {
	const length, firstDash, secondDash, version = 36, 8, 13, 14
	return len(id) == length && id[firstDash] == '-' && id[secondDash] == '-' && id[version] == '7'
}

// common is how many bytes two texts begin with alike.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// runePrefix is a text's first n bytes, and the rest of the character they end in.
func runePrefix(s string, n int) string {
	for at := range s {
		if at >= n {
			return s[:at]
		}
	}
	return s
}
