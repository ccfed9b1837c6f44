package elasticstore

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

const secret = "what the user said"

var space = store.TextSpace{View: memory.ViewFacts, Build: 1}

// respond serves the n-th request of a call, from 1; the ids are those of a bulk request.
type respond func(w http.ResponseWriter, r *http.Request, n int64, ids []string)

// against returns a view whose server responds by the function, and counts the requests after Open. It never waits.
func against(t *testing.T, answer respond) (*View, *atomic.Int64) {
	t.Helper()
	var requests atomic.Int64
	var opened atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Elastic-Product", "Elasticsearch")
		w.Header().Set("Content-Type", "application/json")
		switch {
		case !opened.Load() && r.URL.Path == "/":
			fmt.Fprint(w, `{"version":{"number":"7.14.0","build_flavor":"default"},"tagline":"You Know, for Search"}`)
		case !opened.Load():
			fmt.Fprint(w, `{}`)
		default:
			answer(w, r, requests.Add(1), bulkIDs(t, r.Body))
		}
	}))
	t.Cleanup(server.Close)
	v, err := Open(t.Context(), Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	opened.Store(true)
	v.pause = func(ctx context.Context, _ int) error { return ctx.Err() }
	v.layouts[space] = layout{meta: v.newest(space.View)}
	return v, &requests
}

// bulkIDs reads the ids of a bulk request's actions.
func bulkIDs(t *testing.T, body io.Reader) []string {
	var ids []string
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		var a action
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Errorf("line %q is not JSON: %v", lines.Text(), err)
		}
		if a.Index.ID != "" {
			ids = append(ids, a.Index.ID)
		}
	}
	return ids
}

func items(w http.ResponseWriter, statuses ...int) {
	var answer struct {
		Items []any `json:"items"`
	}
	for _, s := range statuses {
		answer.Items = append(answer.Items, map[string]any{"index": map[string]any{"status": s, "error": map[string]string{"type": "a_type", "reason": secret}}})
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func refuse(w http.ResponseWriter, status int) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"type":"a_type","reason":%q},"status":%d}`, secret, status)
}

func threeRows() []store.TextRow {
	var rows []store.TextRow
	for _, id := range []string{"a", "b", "c"} {
		rows = append(rows, store.TextRow{Scope: "u", FactID: id, Revision: 1, Terms: []string{"x"}})
	}
	return rows
}

func TestPutReadsEveryItem(t *testing.T) {
	for _, c := range []struct {
		name     string
		statuses []int
		wantErr  bool
	}{
		{"rows made or replaced are done", []int{201, 200, 200}, false},
		{"a newer row that is there is done", []int{201, 409, 201}, false},
		{"one bad item fails the call", []int{201, 400, 201}, true},
		{"a space that went fails the call", []int{404, 404, 404}, true},
		{"a row without an answer fails the call", []int{201, 201}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, requests := against(t, func(w http.ResponseWriter, _ *http.Request, _ int64, _ []string) { items(w, c.statuses...) })
			err := v.Put(t.Context(), space, threeRows())
			if (err != nil) != c.wantErr || requests.Load() != 1 {
				t.Errorf("Put answered %v after %d requests", err, requests.Load())
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the error repeats what was sent: %v", err)
			}
		})
	}
}

func TestPutSendsAgainOnlyWhatTheServerWasTooBusyFor(t *testing.T) {
	var sent [][]string
	v, _ := against(t, func(w http.ResponseWriter, _ *http.Request, n int64, ids []string) {
		sent = append(sent, ids)
		switch n {
		case 1:
			items(w, 201, 429, 503)
		case 2:
			items(w, 201, 429)
		default:
			items(w, 201)
		}
	})
	if err := v.Put(t.Context(), space, threeRows()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"u/a", "u/b", "u/c"}, {"u/b", "u/c"}, {"u/c"}}, sent); diff != "" {
		t.Error(diff)
	}
}

func TestPutGivesUpOnAServerThatStaysBusy(t *testing.T) {
	v, requests := against(t, func(w http.ResponseWriter, _ *http.Request, _ int64, ids []string) {
		items(w, make([]int, len(ids))...)
	})
	if v.Put(t.Context(), space, threeRows()) == nil || requests.Load() != 1 {
		t.Errorf("a status of 0 was taken, or sent again: %d requests", requests.Load())
	}
	v, requests = against(t, func(w http.ResponseWriter, _ *http.Request, _ int64, ids []string) { items(w, 429, 429, 429) })
	if v.Put(t.Context(), space, threeRows()) == nil || requests.Load() != bulkAttempts {
		t.Errorf("%d requests, want %d and an error", requests.Load(), bulkAttempts)
	}
}

func TestPutStopsWaitingWhenItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	v, requests := against(t, func(w http.ResponseWriter, _ *http.Request, _ int64, _ []string) { items(w, 201, 429, 201) })
	v.pause = func(ctx context.Context, attempt int) error { cancel(); return pause(ctx, attempt) }
	if err := v.Put(ctx, space, threeRows()); !errors.Is(err, context.Canceled) || requests.Load() != 1 {
		t.Errorf("Put answered %v after %d requests", err, requests.Load())
	}
}

func TestARefusedRequestIsSentAgain(t *testing.T) {
	for _, status := range []int{429, 502, 503, 504} {
		v, requests := against(t, func(w http.ResponseWriter, _ *http.Request, n int64, _ []string) {
			if n < 3 {
				refuse(w, status)
				return
			}
			items(w, 201, 201, 201)
		})
		if err := v.Put(t.Context(), space, threeRows()); err != nil || requests.Load() != 3 {
			t.Errorf("%d: Put answered %v after %d requests", status, err, requests.Load())
		}
	}
}

func TestAServerThatHangsIsLeftAtTheDeadlineAndNotAskedAgain(t *testing.T) {
	v, requests := against(t, func(_ http.ResponseWriter, r *http.Request, _ int64, _ []string) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := v.Search(ctx, store.TextSearch{Space: space, Scope: "u", Terms: []string{"x"}, Limit: 1})
	if !errors.Is(err, context.DeadlineExceeded) || requests.Load() > 1 { // none where the deadline passed before the server heard of it
		t.Errorf("Search answered %v after %d requests", err, requests.Load())
	}
}

func TestErrorsHoldNothingThatWasSent(t *testing.T) {
	v, _ := against(t, func(w http.ResponseWriter, _ *http.Request, _ int64, _ []string) { refuse(w, 400) })
	_, search := v.Search(t.Context(), store.TextSearch{Space: space, Scope: "u", Terms: []string{"x"}, Limit: 1})
	_, erase := v.EraseScope(t.Context(), "u")
	for _, err := range []error{search, erase, v.Put(t.Context(), space, threeRows()), v.Check(t.Context()), v.Drop(t.Context(), space)} {
		if err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "400 (a_type)") {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestAnAnswerThatIsNotElasticsearchsIsAnError(t *testing.T) {
	for _, answer := range []string{"", "<html>", `{"items":[]}`, `{"items":`, `{"hits":{"hits":{}}}`, "null"} {
		v, _ := against(t, func(w http.ResponseWriter, _ *http.Request, _ int64, _ []string) { fmt.Fprint(w, answer) })
		if v.Put(t.Context(), space, threeRows()) == nil {
			t.Errorf("Put took %q", answer)
		}
	}
}

func TestEraseGoesOnUntilNothingIsFound(t *testing.T) {
	answers := []string{
		`{"total":5000,"deleted":4990,"version_conflicts":10}`, `{"total":10,"deleted":0,"version_conflicts":10}`, `{"total":10,"deleted":10}`, `{"total":0}`,
	}
	v, _ := against(t, deletions(func(w http.ResponseWriter, n int) { fmt.Fprint(w, answers[n]) }))
	if n, err := v.EraseScope(t.Context(), "u"); err != nil || n != 5000 {
		t.Errorf("EraseScope answered %d, %v", n, err)
	}
	v, _ = against(t, deletions(func(w http.ResponseWriter, _ int) { fmt.Fprint(w, `{"total":10,"deleted":0,"version_conflicts":10}`) }))
	if _, err := v.EraseScope(t.Context(), "u"); err == nil {
		t.Error("EraseScope took rows that stay for erased")
	}
	v, _ = against(t, deletions(func(w http.ResponseWriter, _ int) {
		fmt.Fprint(w, `{"total":10,"deleted":9,"failures":[{"cause":{}}]}`)
	}))
	if n, err := v.EraseScope(t.Context(), "u"); err == nil || n != 9 {
		t.Errorf("EraseScope answered %d, %v for rows that could not be deleted", n, err)
	}
}

// deletions responds as a server with one index does.
func deletions(answer func(w http.ResponseWriter, n int)) respond {
	n := 0
	return func(w http.ResponseWriter, r *http.Request, _ int64, _ []string) {
		switch {
		case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/strata-facts-*"):
			fmt.Fprint(w, `{"strata-facts-000001":{"mappings":{"_meta":{"strata_schema":1}}}}`)
		case strings.HasSuffix(r.URL.Path, "/_delete_by_query"):
			answer(w, n)
			n++
		default:
			fmt.Fprint(w, `{}`)
		}
	}
}

func TestBulkRequestsAreBounded(t *testing.T) {
	for _, c := range []struct {
		entries, size, want int
	}{
		{3, 10, 3}, {500, 10, 500}, {501, 10, 500}, {10, 1 << 20, 5}, {2, 9 << 20, 1}, {1, 9 << 20, 1},
	} {
		entries := make([]entry, c.entries)
		for i := range entries {
			entries[i] = make(entry, c.size)
		}
		if got := fitting(entries); got != c.want {
			t.Errorf("of %d entries of %d bytes %d fit, want %d", c.entries, c.size, got, c.want)
		}
	}
}

func TestOnlyServersOf714OrNewerAreUsed(t *testing.T) {
	for version, want := range map[string]bool{
		"7.14.0": true, "7.14.2": true, "7.17.10": true, "8.1.0": true, "10.0.0": true, "7.13.4": false, "6.8.0": false, "": false, "x": false,
	} {
		if recent(version) != want {
			t.Errorf("recent(%q) is %v", version, !want)
		}
	}
}

func TestIndicesAreNamedByPrefixViewBuildAndMonth(t *testing.T) {
	v := names("strata")
	type named struct {
		space store.TextSpace
		month month
	}
	for name, want := range map[string]named{
		"strata-transcript-000001":         {store.TextSpace{View: memory.ViewTranscript, Build: 1}, ""},
		"strata-transcript-000002-2026.11": {store.TextSpace{View: memory.ViewTranscript, Build: 2}, "2026.11"},
		"strata-facts-123456789":           {store.TextSpace{View: memory.ViewFacts, Build: 123456789}, ""},
		"strata-x-transcript-000001":       {}, "strata-transcript-1": {}, "strata-transcript-000000": {}, "strata-vectors-000001": {},
		"strata-transcript-000001-put": {}, "other-transcript-000001": {}, "strata-transcript-+00001": {}, "strata": {},
		"strata-transcript-000001-2026.13": {}, "strata-transcript-000001-2026.1": {}, "strata-transcript-000001-2026.11-put": {},
		"strata-transcript-000001-": {},
	} {
		got, m, ok := v.parse(name)
		if ok != (want.space.Build > 0) || ok && (named{got, m}) != want {
			t.Errorf("%s is %v, %q, %v", name, got, m, ok)
		}
	}
}

func TestAMonthIsThatOfTheRecordTimeInUTC(t *testing.T) {
	east := time.FixedZone("east", 9*60*60)
	for at, want := range map[time.Time]month{
		{}: "",
		time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC):  "2026.12",
		time.Date(2026, 12, 1, 8, 59, 59, 0, east):    "2026.11",
		time.Date(1999, 1, 31, 23, 0, 0, 0, time.UTC): "1999.01",
	} {
		if got := monthOf(at); got != want {
			t.Errorf("%v is of %q, want %q", at, got, want)
		}
	}
	december := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for m, want := range map[month]bool{"2026.11": true, "1999.12": true, "2026.12": false, "2027.01": false, "": false} {
		if m.isBefore(december) != want {
			t.Errorf("%q is over in December of 2026: %v", m, !want)
		}
	}
}

func TestTheAliasToReadByHasTheOldestSpaceOnly(t *testing.T) {
	x := func(build int64, m month, shown bool) index {
		s := store.TextSpace{View: memory.ViewTranscript, Build: build}
		return index{name: names("strata").index(s, m), space: s, month: m, shown: shown}
	}
	facts := index{name: "strata-facts-000001", space: space}
	for _, c := range []struct {
		name string
		all  []index
		want []aliasAction
	}{
		{"of a view without indices nothing is to be done", []index{facts}, nil},
		{"the first space is shown", []index{x(1, "", false), x(1, "2026.11", true)}, []aliasAction{{Add: &aliasOf{"strata-transcript-000001", "a"}}}},
		{"a space that is being filled is not", []index{facts, x(1, "", true), x(2, "", false), x(2, "2026.11", true)}, []aliasAction{
			{Remove: &aliasOf{"strata-transcript-000002-2026.11", "a"}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, showing(memory.ViewTranscript, "a", c.all)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARowOfAnIndexThatIsBeingDroppedIsPutAgain(t *testing.T) {
	v, requests := against(t, func(w http.ResponseWriter, _ *http.Request, n int64, _ []string) {
		if n == 1 {
			fmt.Fprint(w, `{"items":[{"index":{"status":201}},{"index":{"status":403,"error":{"type":"cluster_block_exception"}}},{"index":{"status":201}}]}`)
			return
		}
		items(w, 201)
	})
	if err := v.Put(t.Context(), space, threeRows()); err != nil || requests.Load() != 2 {
		t.Errorf("Put returned %v after %d requests", err, requests.Load())
	}
	v, _ = against(t, func(w http.ResponseWriter, _ *http.Request, _ int64, _ []string) { items(w, 201, 403, 201) })
	if v.Put(t.Context(), space, threeRows()) == nil {
		t.Error("Put took a row for stored that the server forbids")
	}
}

func TestEraseDoesNotTakeAnIndexThatGoesMeanwhileForAllOfThem(t *testing.T) {
	deleted := 0
	v, _ := against(t, func(w http.ResponseWriter, r *http.Request, _ int64, _ []string) {
		switch {
		case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/strata-facts-*"):
			fmt.Fprint(w, `{"strata-facts-000001":{"mappings":{"_meta":{"strata_schema":2}}}}`)
		case strings.HasSuffix(r.URL.Path, "/_delete_by_query"):
			deleted++
			switch deleted {
			case 1:
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprint(w, `{"error":{"type":"index_not_found_exception"}}`)
			case 2:
				fmt.Fprint(w, `{"total":3,"deleted":3}`)
			default:
				fmt.Fprint(w, `{"total":0}`)
			}
		default:
			fmt.Fprint(w, `{}`)
		}
	})
	if n, err := v.EraseScope(t.Context(), "u"); err != nil || n != 3 {
		t.Errorf("EraseScope returned %d, %v", n, err)
	}
}

func TestOptionsThatCannotWorkAreRefusedWithoutRepeatingThem(t *testing.T) {
	for _, o := range []Options{
		{},
		{URL: "127.0.0.1:9200"},
		{URL: "ftp://u:" + "hidden" + "@h"},
		{URL: "http://u:hidden@h:port"},
		{URL: "http://h", Prefix: "Upper"},
		{URL: "http://h", Prefix: "a*"},
		{URL: "http://h", Prefix: "_a"},
		{URL: "http://h", Shards: -1},
	} {
		if _, err := Open(t.Context(), o); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("Open answered %v", err)
		}
	}
}
