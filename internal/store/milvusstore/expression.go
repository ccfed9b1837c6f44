package milvusstore

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// The times of a row are microseconds since 1970. A time that is not set is beyond all others on its side.
const (
	always = math.MinInt64 // ValidFrom
	holds  = math.MaxInt64 // ValidTo
)

// separator parts scope and row in a primary key. No minted key has it, so that two pairs never make the same one.
const separator = ":"

// primaryKey is that of a row by its store.VectorSpace.RowID: of whatever revision, so that a put finds the row that it
// replaces.
func primaryKey(scope memory.ScopeKey, id string) string {
	return string(scope) + separator + id
}

// rowKey is the primary key of what a row is about.
func rowKey(space store.VectorSpace, scope memory.ScopeKey, factID string, place memory.Place) (string, error) {
	id, err := space.RowID(factID, place)
	if err != nil || !store.MintedKey(string(scope)) {
		return "", fmt.Errorf("milvus: %w", ErrKey)
	}
	return primaryKey(scope, id), nil
}

// checkKeys lets nothing into an expression that would have to be escaped: the client escapes nothing.
func checkKeys(keys ...string) error {
	for _, k := range keys {
		if !store.MintedKey(k) {
			return fmt.Errorf("milvus: %w", ErrKey)
		}
	}
	return nil
}

// checkCursor reports whether a cursor is a primary key.
func checkCursor(cursor string) error {
	scope, row, _ := strings.Cut(cursor, separator)
	return checkKeys(scope, row)
}

func microseconds(t time.Time, unset int64) int64 {
	if t.IsZero() {
		return unset
	}
	return t.UnixMicro()
}

// filter is the expression of a search whose keys have been checked. It begins with the scope, in the form that lets the
// server look at the scope's partition alone.
func filter(q store.VectorSearch) string {
	conditions := []string{ofScope(q.Scope)}
	add := func(wanted bool, format string, args ...any) {
		if wanted {
			conditions = append(conditions, fmt.Sprintf(format, args...))
		}
	}
	add(q.MinSignificance > 1, "significance >= %d", q.MinSignificance)
	add(len(q.Categories) > 0, "category in [%s]", numbers(q.Categories))
	add(q.Exclude != "", `session != "%s"`, q.Exclude)
	add(q.Sessions != nil, "session in [%s]", quoted(q.Sessions))
	add(q.CurrentOnly, "valid_to == %d", int64(holds))
	add(!q.From.IsZero(), "valid_from >= %d", q.From.UnixMicro())
	add(!q.To.IsZero(), "valid_from < %d", q.To.UnixMicro())
	return strings.Join(conditions, " and ")
}

func ofScope(scope memory.ScopeKey) string { return `scope == "` + string(scope) + `"` }

// quoted lists keys that have been checked.
func quoted(sessions []memory.SessionKey) string {
	out := make([]string, len(sessions))
	for i, s := range sessions {
		out[i] = `"` + string(s) + `"`
	}
	return strings.Join(out, ", ")
}

func numbers(categories []memory.Category) string {
	out := make([]string, len(categories))
	for i, c := range categories {
		out[i] = strconv.Itoa(int(c))
	}
	return strings.Join(out, ", ")
}

// after is the expression of a page of rows whose keys have been checked: those of the scope, or all when it is "",
// whose primary key comes after the cursor.
func after(scope memory.ScopeKey, cursor string) string {
	page := `key > "` + cursor + `"`
	if scope == "" {
		return page
	}
	return ofScope(scope) + " and " + page
}
