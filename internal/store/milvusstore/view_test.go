package milvusstore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func TestAFilterNames(t *testing.T) {
	at := time.UnixMicro(1_700_000_000_000_001).UTC()
	for _, c := range []struct {
		name  string
		query store.VectorSearch
		want  string
	}{
		{"the scope alone", store.VectorSearch{Scope: "a"}, `scope == "a"`},
		{"all filters", store.VectorSearch{
			Scope: "a", MinSignificance: 7, Categories: []memory.Category{1, 3}, Exclude: "s", CurrentOnly: true, From: at, To: at.Add(time.Second),
		}, `scope == "a" and significance >= 7 and category in [1, 3] and session != "s" and valid_to == 9223372036854775807` +
			` and valid_from >= 1700000000000001 and valid_from < 1700000001000001`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, filter(c.query)); diff != "" {
				t.Errorf("filter (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoKeyThatPassesCanEndALiteral(t *testing.T) {
	safe := regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.OneOf(rapid.String(), rapid.StringMatching(`[A-Za-z0-9_-]{0,140}`), rapid.StringMatching(`[a-z]{1,5}["'\\:\n]`)).Draw(t, "key")
		if err := checkKeys(key); (err == nil) != safe.MatchString(key) || err != nil && !errors.Is(err, ErrKey) {
			t.Errorf("%q: %v", key, err)
		}
	})
}

func TestTwoFactsNeverShareAPrimaryKey(t *testing.T) {
	minted := rapid.StringMatching(`[ab_-]{1,4}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c, d := minted.Draw(t, "a"), minted.Draw(t, "b"), minted.Draw(t, "c"), minted.Draw(t, "d")
		if same := primaryKey(memory.ScopeKey(a), b) == primaryKey(memory.ScopeKey(c), d); same != (a == c && b == d) {
			t.Errorf("%s %s and %s %s", a, b, c, d)
		}
	})
}

func TestACursorIsRefusedUnlessItIsAPrimaryKey(t *testing.T) {
	for cursor, ok := range map[string]bool{"a:b": true, "a": false, ":b": false, "a:": false, "a:b:c": false, `a:b"`: false, "": false} {
		if err := checkCursor(cursor); (err == nil) != ok {
			t.Errorf("%q: %v", cursor, err)
		}
	}
}

func result(score float32, scope, fact string, revision int64) client.SearchResult {
	return client.SearchResult{
		ResultCount: 1, Scores: []float32{score}, IDs: entity.NewColumnVarChar("key", []string{primaryKey(memory.ScopeKey(scope), fact)}),
		Fields: client.ResultSet{entity.NewColumnInt64("revision", []int64{revision})},
	}
}

func TestAnAnswerIsReadWhen(t *testing.T) {
	whole := result(.5, "a", "f", 3)
	columnless := whole
	columnless.Fields = nil
	keyless := whole
	keyless.IDs = nil
	strange := whole
	strange.IDs = entity.NewColumnVarChar("key", []string{"f"})
	scoreless := whole
	scoreless.Scores = nil
	for _, c := range []struct {
		name    string
		results []client.SearchResult
		want    []hit
		wantErr bool
	}{
		{"it has a hit", []client.SearchResult{whole}, []hit{row("a", "f", .5, 3)}, false},
		{"it has no result for the query", nil, nil, false},
		{"it has an error for an empty list", []client.SearchResult{{Err: errors.New("extra output fields")}}, nil, false},
		{"not when it has an error for a list", []client.SearchResult{{ResultCount: 1, Err: errors.New("x")}}, nil, true},
		{"not when a column is missing", []client.SearchResult{columnless}, nil, true},
		{"not when its keys are missing", []client.SearchResult{keyless}, nil, true},
		{"not when a key is none that a put wrote", []client.SearchResult{strange}, nil, true},
		{"not when it has more rows than scores", []client.SearchResult{scoreless}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := read(store.VectorSpace{View: memory.ViewVectors}, c.results)
			if (err != nil) != c.wantErr {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(hit{})); diff != "" {
				t.Errorf("hits (-want +got):\n%s", diff)
			}
		})
	}
}

func row(scope memory.ScopeKey, factID string, score float64, revision int64) hit {
	return hit{store.RowState{Cursor: primaryKey(scope, factID), Scope: scope, FactID: factID, Revision: revision}, score}
}

func TestHitsOfOneFactAreOneInItsHigherRevision(t *testing.T) {
	found := []hit{
		row("a", "f", .9, 1),
		row("a", "g", .5, 1),
		row("a", "f", .2, 2),
		row("b", "f", .5, 1),
	}
	want := []store.VectorHit{{Scope: "b", FactID: "f", Score: .5}, {Scope: "a", FactID: "g", Score: .5}, {Scope: "a", FactID: "f", Score: .2}}
	if diff := cmp.Diff(want, firstHits(collapse(found), 10)); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
}

func TestMoreIsAskedForUntilNoEqualScoreCanBeCutOff(t *testing.T) {
	scored := func(scores ...float64) (hits []hit) {
		for i, s := range scores {
			hits = append(hits, row("a", fmt.Sprint(i), s, 1))
		}
		return hits
	}
	for _, c := range []struct {
		hits []hit
		want bool
	}{{scored(3, 2), false}, {scored(3, 2, 2), false}, {scored(3, 2, 2, 1), true}, {scored(2, 2, 2), false}, {scored(3, 2, 1), true}} {
		if got := settled(c.hits, 2); got != c.want {
			t.Errorf("%v: %v", c.hits, got)
		}
	}
}

func TestAnErrorTellsTheCauseAndNeverTheServersWords(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	secret := `cannot parse expression: scope == "mallory"`
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		want error
	}{
		{"the end of the context", ended, errors.New(secret), context.Canceled},
		{"a server that is away", t.Context(), status.Error(codes.Unavailable, secret), ErrUnreachable},
		{"another call's end that this one waited for", t.Context(), status.Error(codes.Canceled, secret), ErrUnreachable},
		{"a deadline", t.Context(), status.Error(codes.DeadlineExceeded, secret), context.DeadlineExceeded},
		{"another status", t.Context(), status.Error(codes.Internal, secret), ErrRefused},
		{"a refusal", t.Context(), errors.New(secret), ErrRefused},
		{"credentials that are not known", t.Context(), status.Error(codes.Unauthenticated, secret), errCredentials},
		{"a right that is lacking", t.Context(), errors.New("PrivilegeLoad: permission deny: " + secret), errCredentials},
		{"a database that is not there", t.Context(), errors.New("database not found[database=mallory]"), errNoDatabase},
		{"a limit", t.Context(), errors.New("rate limit exceeded: " + secret), ErrRefused},
		{"a server of 2.3 without a query node", t.Context(), errors.New("failed to spawn replica for collection: nodes not enough"), errNoNode},
		{"a later one", t.Context(), errors.New("resource group node not enough[rg=__default_resource_group][currentNodeNum=0]"), errNoNode},
		{"a collection that is gone", t.Context(), errors.New("collection not found: " + secret), ErrNoSpace},
		{"a response that cannot be read", t.Context(), fmt.Errorf("%w: %s", errMalformed, secret), errMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := fault(c.ctx, "search", c.err)
			if !errors.Is(err, c.want) {
				t.Errorf("the error is %v, not %v", err, c.want)
			}
			if strings.Contains(err.Error(), "mallory") {
				t.Errorf("the error repeats a key: %v", err)
			}
		})
	}
}

// starting is a server that refuses to load so many times.
type starting struct {
	client.Client
	refuse int
	err    error
	asked  int
}

func (s *starting) LoadCollection(context.Context, string, bool, ...client.LoadCollectionOption) error {
	if s.asked++; s.asked <= s.refuse {
		return s.err
	}
	return nil
}

func TestLoading(t *testing.T) {
	noNode := errors.New("failed to spawn replica for collection: nodes not enough")
	for _, c := range []struct {
		name   string
		server starting
		asked  int
		want   []error
	}{
		{"waits for the query node of a server that was just started", starting{refuse: 3, err: noNode}, 4, nil},
		{"waits no longer than the call may take", starting{refuse: 1000, err: noNode}, 20, []error{errNoNode, context.DeadlineExceeded}},
		{"fails at once for any other reason", starting{refuse: 1000, err: errors.New("out of memory")}, 1, []error{ErrRefused}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 20*loadAgain-1)
				defer cancel()
				err := (&View{client: &c.server}).load(ctx, "any")
				if c.server.asked != c.asked || (err == nil) != (c.want == nil) {
					t.Errorf("asked %d times, not %d: %v", c.server.asked, c.asked, err)
				}
				for _, want := range c.want {
					if !errors.Is(err, want) {
						t.Errorf("the error is %v, not %v", err, want)
					}
				}
			})
		})
	}
}

func TestTheNewestSchemaIsTheCollections(t *testing.T) {
	s, err := readSchema()
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.collection("name", 8)
	if err != nil {
		t.Fatal(err)
	}
	var keys, columnsOf []string
	for _, f := range c.Fields {
		columnsOf = append(columnsOf, f.Name)
		if f.PrimaryKey || f.IsPartitionKey {
			keys = append(keys, f.Name)
		}
	}
	var put []string
	for _, column := range columns(store.VectorSpace{View: memory.ViewVectors, Dimension: 8}, nil) {
		put = append(put, column.Name())
	}
	for what, diff := range map[string]string{
		"keys": cmp.Diff([]string{"key", "scope"}, keys), "columns of a put": cmp.Diff(columnsOf, put),
		"description": cmp.Diff("Strata: vectors, schema 1", c.Description), "version": cmp.Diff(1, s.Version),
	} {
		if diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

func TestACollectionsNameSaysItsSpace(t *testing.T) {
	v := &View{prefix: "strata", schema: schema{Version: 1}}
	for _, view := range []memory.View{memory.ViewVectors, memory.ViewMessageVectors} {
		space := store.VectorSpace{View: view, Build: 12, Version: 3, Dimension: 8}
		if got, ok := v.parse(v.name(space)); !ok || got != (parsed{view: view, schema: 1, version: 3, build: 12}) {
			t.Errorf("%+v, %v", got, ok)
		}
	}
	for _, other := range []string{"strata", "strata_facts", "strata2_facts_s1_v1_b1", "x_strata_facts_s1_v1_b1", "strata_facts_s1_v1_b1_x", "strata_facts_s1_v1_b"} {
		if _, ok := v.parse(other); ok {
			t.Errorf("%s is one of ours", other)
		}
	}
}
