package elasticstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/elastic/go-elasticsearch/v7/esapi"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

const (
	bulkItems    = 500
	bulkBytes    = 5 << 20
	bulkTimeout  = 10 * time.Second // that the server waits for a shard
	bulkAttempts = 5                // of rows that are refused as too busy
)

// action is a bulk request's line before a row. version_type external_gte passes a lower revision over and puts the
// same one again. It is not external: a deletion takes the next version number, and a row that comes back with the next
// revision would be refused until the deletion is forgotten.
type action struct {
	Index struct {
		ID          string `json:"_id"`
		Routing     string `json:"routing"`
		Version     int64  `json:"version"`
		VersionType string `json:"version_type"`
	} `json:"index"`
}

// entry is a row as a bulk request has it: two lines.
type entry []byte

// Put stores rows in bulk requests of at most 500 rows or 5 MB. Rows before one that fails may be stored.
func (v *View) Put(ctx context.Context, space store.TextSpace, rows []store.TextRow) error {
	if err := space.Check(); err != nil {
		return err
	}
	for _, r := range rows {
		if err := r.Check(space.View); err != nil {
			return err
		}
	}
	err := v.putRows(ctx, space, rows)
	if isMissing(err) { // the index of a month was deleted since, or the whole space was
		v.forget(space)
		err = v.putRows(ctx, space, rows)
	}
	return v.failed("put rows into", space, err)
}

func (v *View) putRows(ctx context.Context, space store.TextSpace, rows []store.TextRow) error {
	months := map[month]bool{}
	for _, r := range rows {
		months[monthOf(r.Recorded)] = true
	}
	l, err := v.layout(ctx, space, months)
	if err != nil {
		return err
	}
	if l.Content && !v.content {
		l.Content = false // it was turned off after the index was made
	}
	entries := map[month][]entry{}
	for _, r := range rows {
		e, err := newEntry(space.View, l.meta, r)
		if err != nil {
			return err
		}
		m := l.monthOf(r)
		entries[m] = append(entries[m], e)
	}
	for _, m := range slices.Sorted(maps.Keys(entries)) {
		if err := v.putEntries(ctx, v.names.index(space, m), entries[m]); err != nil {
			return err
		}
	}
	return nil
}

func (v *View) putEntries(ctx context.Context, index string, entries []entry) error {
	for len(entries) > 0 {
		n := fitting(entries)
		if err := v.put(ctx, index, entries[:n]); err != nil {
			return err
		}
		entries = entries[n:]
	}
	return nil
}

func newEntry(view memory.View, says meta, r store.TextRow) (entry, error) {
	var a action
	a.Index.ID, a.Index.Routing = documentID(r), string(r.Scope)
	a.Index.Version, a.Index.VersionType = r.Revision, "external_gte"
	var e bytes.Buffer
	lines := json.NewEncoder(&e)
	lines.SetEscapeHTML(false)
	if err := errors.Join(lines.Encode(a), lines.Encode(document(view, says, r))); err != nil {
		return nil, fmt.Errorf("write a row: %w", err)
	}
	return e.Bytes(), nil
}

// documentID begins with the scope, so that no two scopes can share a row, whatever fact ids an import brings.
func documentID(r store.TextRow) string {
	if r.FactID != "" {
		return string(r.Scope) + "/" + r.FactID
	}
	return string(r.Scope) + "/" + string(r.Place.Session) + "/" + strconv.FormatInt(r.Place.Seq, 10)
}

// fitting is how many entries one request takes, at least one.
func fitting(entries []entry) int {
	size := 0
	for n, e := range entries {
		size += len(e)
		if n == bulkItems || n > 0 && size > bulkBytes {
			return n
		}
	}
	return len(entries)
}

// put sends entries until none is left that was refused as too busy.
func (v *View) put(ctx context.Context, index string, entries []entry) error {
	for attempt := 1; ; attempt++ {
		busy, err := v.bulk(ctx, index, entries)
		if err != nil || len(busy) == 0 {
			return err
		}
		if attempt == bulkAttempts {
			return fmt.Errorf("%d rows were refused %d times as too many", len(busy), attempt)
		}
		if err := v.pause(ctx, attempt); err != nil {
			return fmt.Errorf("wait to put %d rows that were refused as too many: %w", len(busy), err)
		}
		entries = busy
	}
}

// bulk sends one request and returns the entries that the server was too busy for.
func (v *View) bulk(ctx context.Context, index string, entries []entry) (busy []entry, err error) {
	alias := true
	r := esapi.BulkRequest{
		Index: index + putSuffix, RequireAlias: &alias, Timeout: bulkTimeout,
		Body:       bytes.NewReader(slices.Concat(entries...)),
		FilterPath: []string{"items.*.status", "items.*.error.type"},
	}
	var answer bulkAnswer
	err = v.call(ctx, r, &answer)
	if refused, ok := errors.AsType[*refusal](err); ok && isBusy(refused.status) {
		return entries, nil
	}
	if err != nil {
		return nil, err
	}
	return answer.settle(entries)
}

type bulkAnswer struct {
	Items []map[string]struct { // by the name of the action
		Status int   `json:"status"`
		Error  cause `json:"error"`
	} `json:"items"`
}

// settle reads what became of every entry: it returns those to send again, or an error when one will never be taken.
func (a bulkAnswer) settle(sent []entry) (busy []entry, err error) {
	if len(a.Items) != len(sent) {
		return nil, fmt.Errorf("elasticsearch answered for %d of %d rows", len(a.Items), len(sent))
	}
	for i, item := range a.Items {
		outcome := item["index"]
		switch {
		case outcome.Status == http.StatusOK || outcome.Status == http.StatusCreated:
		case outcome.Status == http.StatusConflict: // a newer row is there, or was deleted a moment ago
		case isBusy(outcome.Status) || isBlocked(outcome.Status, outcome.Error): // see dropEmpty
			busy = append(busy, sent[i])
		default:
			return nil, fmt.Errorf("row %d of %d: %w", i+1, len(sent), &refusal{outcome.Status, outcome.Error.kind()})
		}
	}
	return busy, nil
}
