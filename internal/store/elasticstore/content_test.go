package elasticstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/elasticstore"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
	"github.com/stratamem/strata/migrations"
)

const canary = "vermilion"

var (
	known = store.TextSpace{View: memory.ViewFacts, Build: 1}
	may   = time.Date(2026, 5, 14, 9, 30, 0, 0, time.UTC)
)

// server is Elasticsearch as an operator uses it: without Strata.
type server struct {
	prefix string
	view   *elasticstore.View
}

// operated returns a view with spaces of both kinds, and its server. It drops what it made.
func operated(t *testing.T, o elasticstore.Options) server {
	t.Helper()
	o.Prefix = fmt.Sprintf("test-%x", time.Now().UnixNano())
	if o.Now == nil {
		o.Now = func() time.Time { return may }
	}
	s := server{o.Prefix, openAs(t, o)}
	t.Cleanup(func() { s.dropAll(t) })
	for _, space := range []store.TextSpace{transcript, known} {
		if err := s.view.Prepare(t.Context(), space); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s server) dropAll(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	spaces, err := s.view.Spaces(ctx)
	for _, space := range spaces {
		err = errors.Join(err, s.view.Drop(ctx, space))
	}
	if err != nil {
		t.Error(err)
	}
}

// ask sends a request as curl would, and returns the response's body.
func (s server) ask(t *testing.T, method, path, body string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, backend.Elasticsearch(t)+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	read, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %s %v", method, path, res.StatusCode, read, err)
	}
	return read
}

// found returns the sources of what a query finds in an alias or pattern.
func (s server) found(t *testing.T, where, query string) []map[string]any {
	t.Helper()
	s.ask(t, http.MethodPost, "/"+s.prefix+"-*/_refresh?expand_wildcards=all", "")
	var answer struct {
		Hits struct {
			Hits []struct {
				Source map[string]any `json:"_source"`
			} `json:"hits"`
		} `json:"hits"`
	}
	if err := json.Unmarshal(s.ask(t, http.MethodPost, "/"+where+"/_search?size=100", `{"query":`+query+`}`), &answer); err != nil {
		t.Fatal(err)
	}
	sources := []map[string]any{}
	for _, h := range answer.Hits.Hits {
		sources = append(sources, h.Source)
	}
	return sources
}

func phrase(words string) string { return `{"match_phrase":{"text":"` + words + `"}}` }

func (s server) put(t *testing.T, space store.TextSpace, rows ...store.TextRow) {
	t.Helper()
	if err := s.view.Put(t.Context(), space, rows); err != nil {
		t.Fatal(err)
	}
}

// indices returns the names of a space's indices without what all names begin with, sorted.
func (s server) indices(t *testing.T, view memory.View) []string {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(s.ask(t, http.MethodGet, "/"+s.prefix+"-"+view.String()+"-*/_alias", ""), &all); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		names = append(names, strings.TrimPrefix(name, s.prefix+"-"+view.String()+"-"))
	}
	return names
}

// said is a message as the feeder puts it.
func said(scope memory.ScopeKey, user string, seq int64, at time.Time, words string) store.TextRow {
	return store.TextRow{
		Scope: scope, Place: memory.Place{Session: "k", Seq: seq}, Revision: 1, Role: memory.RoleUser, Time: at, Recorded: at,
		Terms: strings.Fields(strings.ToLower(words)),
		Content: store.TextContent{
			User: memory.UserRef{Tenant: "acme", UserID: user}, SessionID: "trip", MessageID: fmt.Sprint("m", seq), Name: "Ann", Text: words,
		},
	}
}

// believed is a fact as the feeder puts it.
func believed(scope memory.ScopeKey, user, id, words string) store.TextRow {
	return store.TextRow{
		Scope: scope, FactID: id, Revision: 1, Category: memory.CategoryGoal, Significance: 7, Current: true, Time: may,
		Terms:   strings.Fields(strings.ToLower(words)),
		Content: store.TextContent{User: memory.UserRef{Tenant: "acme", UserID: user}, Text: words},
	}
}

func TestAnOperatorFindsASentenceWithWhoSaidItWhenAndWhere(t *testing.T) {
	s := operated(t, elasticstore.Options{Content: true})
	s.put(t, transcript, said("a", "ann", 1, may, "We fly to Lisbon in the "+canary+" jet"), said("b", "ben", 1, may, "jet the in"))
	s.put(t, known, believed("a", "ann", "f", "Wants a "+canary+" jet"))
	want := []map[string]any{{
		"scope": "a", "session": "k", "seq": 1., "revision": 1., "role": "user", "time": float64(may.UnixMicro()),
		"terms": "we fly to lisbon in the " + canary + " jet", "@timestamp": "2026-05-14T09:30:00Z", "record_time": "2026-05-14T09:30:00Z",
		"tenant": "acme", "user": "ann", "session_id": "trip", "message_id": "m1", "name": "Ann",
		"text": "We fly to Lisbon in the " + canary + " jet",
	}}
	if diff := cmp.Diff(want, s.found(t, s.prefix+"-transcript", phrase("fly to LISBON"))); diff != "" {
		t.Error(diff)
	}
	if got := s.found(t, s.prefix+"-transcript", phrase("Lisbon to fly")); len(got) != 0 {
		t.Errorf("words in another order were found: %v", got)
	}
	want = []map[string]any{{
		"scope": "a", "fact": "f", "revision": 1., "category": 3., "category_name": "goal", "significance": 7., "current": true,
		"time": float64(may.UnixMicro()), "terms": "wants a " + canary + " jet", "@timestamp": "2026-05-14T09:30:00Z",
		"tenant": "acme", "user": "ann", "text": "Wants a " + canary + " jet",
	}}
	if diff := cmp.Diff(want, s.found(t, s.prefix+"-facts", `{"term":{"user":"ann"}}`)); diff != "" {
		t.Error(diff)
	}
}

// TestNothingOfWhatIsRemovedIsFound asks for every document there is: what is removed must not be in one, by whatever query.
func TestNothingOfWhatIsRemovedIsFound(t *testing.T) {
	for _, c := range []struct {
		name   string
		remove func(ctx context.Context, v *elasticstore.View) error
	}{
		{"messages by their places, and a fact", func(ctx context.Context, v *elasticstore.View) error {
			if err := v.Remove(ctx, transcript, "a", []store.RowState{
				{Place: memory.Place{Session: "k", Seq: 1}}, {Place: memory.Place{Session: "k", Seq: 2}}, {Place: memory.Place{Session: "k", Seq: 3}},
			}); err != nil {
				return err
			}
			return v.Remove(ctx, known, "a", []store.RowState{{FactID: "f"}})
		}},
		{"a session, and a fact", func(ctx context.Context, v *elasticstore.View) error {
			if err := v.Remove(ctx, transcript, "a", []store.RowState{{Place: memory.Place{Session: "k"}}}); err != nil {
				return err
			}
			return v.Remove(ctx, known, "a", []store.RowState{{FactID: "f"}})
		}},
		{"a user's life", func(ctx context.Context, v *elasticstore.View) error {
			_, err := v.EraseScope(ctx, "a")
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := operated(t, elasticstore.Options{Content: true})
			next := store.TextSpace{View: memory.ViewTranscript, Build: 1}
			words := "the " + canary + " jet"
			s.put(t, next, said("a", "ann", 1, may, words), said("a", "ann", 2, may.AddDate(0, -3, 0), words), said("a", "ann", 3, time.Time{}, words))
			s.put(t, next, said("b", "ben", 1, may, "hello"))
			s.put(t, known, believed("a", "ann", "f", words), believed("b", "ben", "f", "hello"))
			if got := s.found(t, s.prefix+"-*", phrase(canary)); len(got) != 4 {
				t.Fatalf("%d documents hold the word before, want 4", len(got))
			}
			if err := c.remove(t.Context(), s.view); err != nil {
				t.Fatal(err)
			}
			for _, query := range []string{phrase(canary), `{"term":{"terms":"` + canary + `"}}`, `{"term":{"user":"ann"}}`, `{"query_string":{"query":"` + canary + `"}}`} {
				if got := s.found(t, s.prefix+"-*", query); len(got) != 0 {
					t.Errorf("%s finds %v", query, got)
				}
			}
			left := s.ask(t, http.MethodPost, "/"+s.prefix+"-*/_search?size=100&expand_wildcards=all", `{"query":{"match_all":{}}}`)
			if bytes.Contains(left, []byte(canary)) || bytes.Contains(left, []byte("ann")) || bytes.Count(left, []byte("ben")) != 2 {
				t.Errorf("what is left: %s", left)
			}
		})
	}
}

func TestWithoutContentDocumentsHoldKeysNumbersAndStemsOnly(t *testing.T) {
	s := operated(t, elasticstore.Options{})
	s.put(t, transcript, said("a", "ann", 1, may, "the "+canary+" jet"))
	s.put(t, known, believed("a", "ann", "f", "wants a "+canary+" jet"))
	for _, view := range []string{"-transcript", "-facts"} {
		if diff := cmp.Diff([]map[string]any{nil}, s.found(t, s.prefix+view, `{"match_all":{}}`)); diff != "" {
			t.Errorf("%s: %s", view, diff)
		}
	}
	for _, query := range []string{phrase(canary), `{"term":{"user":"ann"}}`} {
		if got := s.found(t, s.prefix+"-*", query); len(got) != 0 {
			t.Errorf("%s finds %v", query, got)
		}
	}
}

func TestContentThatIsTurnedOffIsGivenToNoFurtherDocument(t *testing.T) {
	s := operated(t, elasticstore.Options{Content: true})
	s.put(t, transcript, said("a", "ann", 1, may, "the "+canary+" jet"))
	off := openAs(t, elasticstore.Options{Prefix: s.prefix, Now: func() time.Time { return may }})
	if err := off.Put(t.Context(), transcript, []store.TextRow{said("a", "ann", 2, may, "the "+canary+" jet")}); err != nil {
		t.Fatal(err)
	}
	if got := s.found(t, s.prefix+"-*", phrase(canary)); len(got) != 1 || got[0]["message_id"] != "m1" {
		t.Errorf("found %v", got)
	}
}

// TestASpaceOfAnEarlierVersionIsUsedAsItIs makes the index as the first schema had it.
func TestASpaceOfAnEarlierVersionIsUsedAsItIs(t *testing.T) {
	prefix := fmt.Sprintf("test-%x", time.Now().UnixNano())
	var first struct {
		Settings json.RawMessage     `json:"settings"`
		Mappings json.RawMessage     `json:"mappings"`
		Aliases  map[string]struct{} `json:"aliases"`
	}
	read, err := migrations.Elasticsearch.ReadFile("elasticsearch/0001_transcript.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(read, &first); err != nil {
		t.Fatal(err)
	}
	first.Aliases = map[string]struct{}{prefix + "-transcript-000001-put": {}}
	made, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	s := server{prefix, openAs(t, elasticstore.Options{Prefix: prefix, Content: true, Now: func() time.Time { return may }})}
	t.Cleanup(func() { s.dropAll(t) })
	s.ask(t, http.MethodPut, "/"+prefix+"-transcript-000001", string(made))
	if err := s.view.Prepare(t.Context(), transcript); err != nil {
		t.Fatal(err)
	}
	row := said("a", "ann", 1, may, "the "+canary+" jet")
	s.put(t, transcript, row)
	if got := s.indices(t, memory.ViewTranscript); !slices.Equal(got, []string{"000001"}) {
		t.Errorf("the indices are %v", got)
	}
	s.wantHits(t, store.TextSearch{Space: transcript, Scope: "a", Terms: []string{canary}, Limit: 9}, 1)

	second := store.TextSpace{View: memory.ViewTranscript, Build: 2}
	if err := s.view.Prepare(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	s.put(t, second, row)
	alias := s.prefix + "-transcript"
	if got := s.found(t, alias, `{"match_all":{}}`); len(got) != 1 || got[0] != nil {
		t.Errorf("while the next build is filled the alias shows %v", got)
	}
	if err := s.view.Drop(t.Context(), transcript); err != nil {
		t.Fatal(err)
	}
	if got := s.found(t, alias, phrase(canary+" jet")); len(got) != 1 {
		t.Errorf("after the old one was dropped the alias finds %v", got)
	}
}

// wantHits searches what was put, made visible.
func (s server) wantHits(t *testing.T, q store.TextSearch, want int) {
	t.Helper()
	if _, err := s.view.Rows(t.Context(), store.RowQuery[store.TextSpace]{Space: q.Space, Limit: 1}); err != nil {
		t.Fatal(err)
	}
	hits, err := s.view.Search(t.Context(), q)
	if err != nil || len(hits) != want {
		t.Errorf("found %v, %v, want %d", hits, err, want)
	}
}

func TestMessagesLieInTheIndexOfTheirMonthUntilItIsOverAndEmpty(t *testing.T) {
	now := may
	s := operated(t, elasticstore.Options{Content: true, Now: func() time.Time { return now }})
	april := may.AddDate(0, -1, 0)
	s.put(t, transcript, said("a", "ann", 1, april, "one"), said("b", "ben", 1, april, "one"), said("a", "ann", 2, may, "two"))
	want := func(names ...string) {
		t.Helper()
		if diff := cmp.Diff(names, s.indices(t, memory.ViewTranscript)); diff != "" {
			t.Error(diff)
		}
	}
	want("000001", "000001-2026.04", "000001-2026.05")
	remove := func(scope memory.ScopeKey) {
		t.Helper()
		if err := s.view.Remove(t.Context(), transcript, scope, []store.RowState{{Place: memory.Place{Session: "k"}}}); err != nil {
			t.Fatal(err)
		}
	}
	remove("a")
	want("000001", "000001-2026.04", "000001-2026.05") // ben's row is left of April, and May is not over
	remove("b")
	want("000001", "000001-2026.05")
	s.put(t, transcript, said("b", "ben", 2, april, "back"))
	want("000001", "000001-2026.04", "000001-2026.05")
	s.wantHits(t, store.TextSearch{Space: transcript, Scope: "b", Terms: []string{"back"}, Limit: 9}, 1)
	now = may.AddDate(0, 1, 0)
	if err := s.view.Prepare(t.Context(), transcript); err != nil { // as at the next start
		t.Fatal(err)
	}
	want("000001", "000001-2026.04")
	if diff := cmp.Diff([]any{"back"}, texts(s.found(t, s.prefix+"-transcript", `{"match_all":{}}`)), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func texts(sources []map[string]any) (out []any) {
	for _, s := range sources {
		out = append(out, s["text"])
	}
	return out
}

func TestWhatOperatorsAddToTheTemplateIsKeptAndCountsForNewIndices(t *testing.T) {
	s := operated(t, elasticstore.Options{Content: true, Shards: 2})
	s.ask(t, http.MethodPut, "/_component_template/"+s.prefix+"-transcript-custom",
		`{"template":{"settings":{"index":{"refresh_interval":"7s","codec":"best_compression"}}}}`)
	if err := s.view.Prepare(t.Context(), transcript); err != nil {
		t.Fatal(err)
	}
	s.put(t, transcript, said("a", "ann", 1, may, "one"))
	var all map[string]struct {
		Settings struct {
			Index struct {
				Refresh string `json:"refresh_interval"`
				Codec   string `json:"codec"`
				Shards  string `json:"number_of_shards"`
			} `json:"index"`
		} `json:"settings"`
	}
	name := s.prefix + "-transcript-000001-2026.05"
	if err := json.Unmarshal(s.ask(t, http.MethodGet, "/"+name+"/_settings", ""), &all); err != nil {
		t.Fatal(err)
	}
	if got := all[name].Settings.Index; got.Refresh != "7s" || got.Codec != "best_compression" || got.Shards != "2" {
		t.Errorf("the index of the month has %+v", got)
	}
}
