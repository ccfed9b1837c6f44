package elasticstore

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// putSuffix ends the name of an index's alias, through which rows are put: a request that requires an alias cannot make
// an index with guessed mappings when the space was dropped.
const putSuffix = "-put"

// month is the month of a turn's record time in UTC, such as 2026.11; "" for an index that is not of one.
type month string

const monthLayout = "2006.01"

// monthOf is the month of a record time; "" for the zero time.
func monthOf(t time.Time) month {
	if t.IsZero() {
		return ""
	}
	return month(t.UTC().Format(monthLayout))
}

// isBefore reports whether the month is over at a time. What is of no month is never over.
func (m month) isBefore(t time.Time) bool { return m != "" && m < monthOf(t) }

// names makes the names of indices, aliases and templates, and reads them: its value is what all begin with.
type names string

// family is the name that all indices of a view begin with, that of the alias to read them by, and that of their template.
func (n names) family(of memory.View) string { return string(n) + "-" + of.String() }

// base is the name of a space's first index, which is there as long as the space is.
func (n names) base(s store.TextSpace) string {
	return fmt.Sprintf("%s-%06d", n.family(s.View), s.Build)
}

// index is the name of a space's index of a month.
func (n names) index(s store.TextSpace, m month) string {
	if m == "" {
		return n.base(s)
	}
	return n.base(s) + "-" + string(m)
}

// months match the space's indices of months. Only those have a dot in the rest of their names.
func (n names) months(s store.TextSpace) string { return n.base(s) + "-*.*" }

// whole are the names and patterns of all of a space's indices.
func (n names) whole(s store.TextSpace) []string { return []string{n.base(s), n.months(s)} }

// patterns name all of the view's indices, and may name others.
func (n names) patterns() []string {
	return []string{n.family(memory.ViewFacts) + "-*", n.family(memory.ViewTranscript) + "-*"}
}

// parse returns the space and the month of an index; ok is false when the index is not one of this view's.
func (n names) parse(index string) (s store.TextSpace, m month, ok bool) {
	rest, _ := strings.CutPrefix(index, string(n)+"-")
	view, rest, _ := strings.Cut(rest, "-")
	number, of, _ := strings.Cut(rest, "-")
	build, err := strconv.ParseInt(number, 10, 64)
	s = store.TextSpace{View: viewOf(view), Build: build}
	if at, bad := time.Parse(monthLayout, of); bad == nil {
		m = monthOf(at)
	}
	return s, m, err == nil && s.Check() == nil && n.index(s, m) == index
}

// viewOf returns the view of that name, 0 when it is not one of text.
func viewOf(name string) memory.View {
	for _, view := range []memory.View{memory.ViewFacts, memory.ViewTranscript} {
		if view.String() == name {
			return view
		}
	}
	return 0
}
