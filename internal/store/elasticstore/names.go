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

// family is the name that all indices of a view begin with, that of the alias to read them by, and that of their template.
func (v *View) family(of memory.View) string { return v.prefix + "-" + of.String() }

// base is the name of a space's first index, which is there as long as the space is.
func (v *View) base(s store.TextSpace) string {
	return fmt.Sprintf("%s-%06d", v.family(s.View), s.Build)
}

// index is the name of a space's index of a month.
func (v *View) index(s store.TextSpace, m month) string {
	if m == "" {
		return v.base(s)
	}
	return v.base(s) + "-" + string(m)
}

// months match the space's indices of months. Only those have a dot in the rest of their names.
func (v *View) months(s store.TextSpace) string { return v.base(s) + "-*.*" }

// whole are the names and patterns of all of a space's indices.
func (v *View) whole(s store.TextSpace) []string { return []string{v.base(s), v.months(s)} }

// patterns name all of the view's indices, and may name others.
func (v *View) patterns() []string {
	return []string{v.family(memory.ViewFacts) + "-*", v.family(memory.ViewTranscript) + "-*"}
}

// parse returns the space and the month of an index; ok is false when the index is not one of this view's.
func (v *View) parse(index string) (s store.TextSpace, m month, ok bool) {
	rest, _ := strings.CutPrefix(index, v.prefix+"-")
	name, rest, _ := strings.Cut(rest, "-")
	number, of, _ := strings.Cut(rest, "-")
	build, err := strconv.ParseInt(number, 10, 64)
	s = store.TextSpace{View: viewOf(name), Build: build}
	if at, bad := time.Parse(monthLayout, of); bad == nil {
		m = monthOf(at)
	}
	return s, m, err == nil && s.Check() == nil && v.index(s, m) == index
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
