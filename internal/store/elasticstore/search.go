package elasticstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/elastic/go-elasticsearch/v7/esapi"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// maxTerms is how many different terms of a search count: the first ones. A query takes 1,024 clauses at most
// (indices.query.bool.max_clause_count).
const maxTerms = 256

// noStored leaves out what would be read and decompressed row by row, such as _id: what names a row is in its doc values.
const noStored = "_none_"

// searchBody is the request of a search. Only doc values are returned: the index keeps no sources. Without Fields a hit has what it
// is sorted by alone.
type searchBody struct {
	Size           int                 `json:"size"`
	Timeout        string              `json:"timeout,omitempty"`
	TrackTotalHits bool                `json:"track_total_hits"`
	Stored         string              `json:"stored_fields"`
	Fields         []string            `json:"docvalue_fields,omitempty"`
	Query          query               `json:"query"`
	Sort           []map[string]string `json:"sort"`
	After          []any               `json:"search_after,omitempty"`
}

// query is one of its members. Field names are ours; values are written by encoding/json, whatever is in them.
type query struct {
	Bool  *boolean               `json:"bool,omitempty"`
	One   *one                   `json:"constant_score,omitempty"`
	Match map[string]lenient     `json:"match,omitempty"`
	Term  map[string]any         `json:"term,omitempty"`
	Terms map[string]any         `json:"terms,omitempty"`
	Range map[string]numberRange `json:"range,omitempty"`
}

// one has the score 1 for each row that the filter finds.
type one struct {
	Filter query `json:"filter"`
}

// lenient finds nothing where the value is none of the field's type.
type lenient struct {
	Query   string `json:"query"`
	Lenient bool   `json:"lenient"`
}

type boolean struct {
	Filter  []query `json:"filter,omitempty"`
	Should  []query `json:"should,omitempty"`
	Minimum int     `json:"minimum_should_match,omitempty"`
}

// numberRange is a range of numbers. Those of times are microseconds since 1970.
type numberRange struct {
	From *int64 `json:"gte,omitempty"`
	To   *int64 `json:"lt,omitempty"`
}

func term(field string, value any) query { return query{Term: map[string]any{field: value}} }

func terms(field string, values any) query { return query{Terms: map[string]any{field: values}} }

// searchAnswer is the response to a search; every doc value is a list.
type searchAnswer struct {
	Hits struct {
		Hits []hit `json:"hits"`
	} `json:"hits"`
}

type hit struct {
	Sort   [4]any  `json:"sort"` // of a row that was ranked: see ranked
	Score  float64 `json:"_score"`
	Fields struct {
		Scope    []memory.ScopeKey   `json:"scope"`
		Session  []memory.SessionKey `json:"session"`
		Seq      []int64             `json:"seq"`
		Fact     []string            `json:"fact"`
		Revision []int64             `json:"revision"`
		Time     []int64             `json:"time"` // in microseconds since 1970
	} `json:"fields"`
}

// first is the value of a field that has one, or none.
func first[T any](values []T) (value T) {
	if len(values) > 0 {
		value = values[0]
	}
	return value
}

func (h hit) place() memory.Place {
	return memory.Place{Session: first(h.Fields.Session), Seq: first(h.Fields.Seq)}
}

// ranked is a hit of a search that asks for no fields. What it is sorted by is its score and what names the row, in the order of named:
// a server has to read that to sort, so that it looks up nothing more of each row.
func (h hit) ranked(view memory.View) store.TextHit {
	var out store.TextHit
	out.Score, _ = h.Sort[0].(float64)
	scope, _ := h.Sort[1].(string)
	out.Scope = memory.ScopeKey(scope)
	name, _ := h.Sort[2].(string)
	if view == memory.ViewFacts {
		out.FactID = name
		return out
	}
	seq, _ := h.Sort[3].(float64)
	out.Place = memory.Place{Session: memory.SessionKey(name), Seq: int64(seq)}
	return out
}

// counted is a hit of a search by count.
func (h hit) counted() store.TextHit {
	return store.TextHit{Scope: first(h.Fields.Scope), Place: h.place(), Score: h.Score, Time: time.UnixMicro(first(h.Fields.Time)).UTC()}
}

// Search asks the scope's shard of each month. Of the query's different terms the first 256 count.
func (v *View) Search(ctx context.Context, q store.TextSearch) ([]store.TextHit, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if findsNothing(q) {
		return nil, ctx.Err()
	}
	answer, err := v.search(ctx, v.names.whole(q.Space), q.Scope, newSearch(q))
	if err != nil {
		return nil, v.failed("search", q.Space, err)
	}
	hits := make([]store.TextHit, len(answer.Hits.Hits))
	for i, h := range answer.Hits.Hits {
		if q.Order == store.TextOrderByCount {
			hits[i] = h.counted()
		} else {
			hits[i] = h.ranked(q.Space.View)
		}
	}
	return hits, nil
}

// findsNothing reports whether no row can pass.
func findsNothing(q store.TextSearch) bool {
	return len(q.Terms) == 0 && !q.Unmatched || q.Sessions != nil && len(q.Sessions) == 0 ||
		q.Categories != nil && len(q.Categories) == 0 || q.Roles != nil && len(q.Roles) == 0
}

func newSearch(q store.TextSearch) searchBody {
	if q.Order == store.TextOrderByCount {
		return newCount(q)
	}
	_, sort := named(q.Space.View)
	return searchBody{
		Size:   q.Limit,
		Stored: noStored,
		Query:  query{Bool: &boolean{Filter: filters(q), Should: anyTerm(q.Terms), Minimum: 1}},
		Sort:   slices.Concat([]map[string]string{{"_score": "desc"}}, sort),
	}
}

// newCount is the request for messages by how many of the terms they have. Counts are exact in the server's scores.
func newCount(q store.TextSearch) searchBody {
	fields, _ := named(q.Space.View)
	count := &boolean{Filter: filters(q), Minimum: 1}
	if q.Unmatched {
		count.Minimum = 0
	}
	for _, t := range anyTerm(q.Terms) {
		count.Should = append(count.Should, query{One: &one{Filter: t}})
	}
	s := searchBody{
		Size: q.Limit, Stored: noStored, Fields: append(fields, "time"), Query: query{Bool: count},
		Sort: []map[string]string{{"_score": "desc"}, {"time": "desc"}, {"session": "asc"}, {"seq": "desc"}},
	}
	if p := q.After; p != nil {
		s.After = []any{p.Count, p.Time.UnixMicro(), p.Place.Session, p.Place.Seq}
	}
	return s
}

// named returns the fields that name a row of the view, and the order by them.
func named(view memory.View) (fields []string, order []map[string]string) {
	fields = []string{"scope", "session", "seq"}
	if view == memory.ViewFacts {
		fields = []string{"scope", "fact"}
	}
	for _, f := range fields {
		order = append(order, map[string]string{f: "asc"})
	}
	return fields, order
}

func anyTerm(words []string) []query {
	var should []query
	seen := map[string]bool{}
	for _, w := range words {
		if !seen[w] && len(should) < maxTerms {
			seen[w] = true
			should = append(should, term("terms", w))
		}
	}
	return should
}

func filters(q store.TextSearch) []query {
	all := []query{term("scope", q.Scope)}
	if q.Sessions != nil {
		all = append(all, terms("session", q.Sessions))
	}
	if q.MinSignificance > 1 {
		least := int64(q.MinSignificance)
		all = append(all, query{Range: map[string]numberRange{"significance": {From: &least}}})
	}
	if q.Categories != nil {
		all = append(all, terms("category", q.Categories))
	}
	if q.CurrentOnly {
		all = append(all, term("current", true))
	}
	if q.Roles != nil {
		all = append(all, ofRoles(q.Roles))
	}
	for _, group := range q.Required {
		all = append(all, terms("terms", group))
	}
	if !q.From.IsZero() || !q.To.IsZero() {
		all = append(all, query{Range: map[string]numberRange{"time": {From: micros(q.From), To: micros(q.To)}}})
	}
	return all
}

// ofRoles finds messages by the names of roles, and in an index of the first schema by their numbers.
func ofRoles(roles []memory.Role) query {
	either := &boolean{Minimum: 1}
	for _, r := range roles {
		for _, value := range []string{r.String(), strconv.Itoa(int(r))} {
			either.Should = append(either.Should, query{Match: map[string]lenient{"role": {value, true}}})
		}
	}
	return query{Bool: either}
}

// micros is nil for the zero time.
func micros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := t.UnixMicro()
	return &n
}

// search asks the scope's shard of each month, or all shards when the scope is "". A response that lacks a shard is an error.
func (v *View) search(ctx context.Context, indices []string, scope memory.ScopeKey, s searchBody) (searchAnswer, error) {
	var answer searchAnswer
	if deadline, ok := ctx.Deadline(); ok {
		s.Timeout = fmt.Sprintf("%dms", max(1, time.Until(deadline).Milliseconds()))
	}
	b, err := body(s)
	if err != nil {
		return answer, err
	}
	partial := false
	r := esapi.SearchRequest{
		Index: indices, Body: b, AllowPartialSearchResults: &partial,
		FilterPath: []string{"hits.hits._score", "hits.hits.fields"},
	}
	if len(s.Fields) == 0 {
		r.FilterPath = []string{"hits.hits.sort"}
	}
	if scope != "" {
		// The same copy of a shard each time: copies count deleted rows differently, which moves scores.
		r.Routing, r.Preference = []string{string(scope)}, "scope-"+string(scope)
	}
	return answer, v.call(ctx, r, &answer)
}
