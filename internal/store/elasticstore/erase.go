package elasticstore

import (
	"context"
	"fmt"

	"github.com/elastic/go-elasticsearch/v7/esapi"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

const (
	eraseRows  = 5000 // that one request deletes, so that each is done well before its timeout
	eraseStuck = 10   // requests in a row that may find rows and delete none, because others write them
	eraseNames = 500  // rows that one request names
)

// Remove deletes the rows that are visible after a refresh, and then the indices of months that are over and have none left.
func (v *View) Remove(ctx context.Context, space store.TextSpace, scope memory.ScopeKey, rows []store.RowState) error {
	if err := space.Check(); err != nil {
		return err
	}
	for _, r := range rows {
		if err := r.CheckRemoved(space.View, scope); err != nil {
			return err
		}
	}
	var removed int64
	for len(rows) > 0 {
		n := min(len(rows), eraseNames)
		deleted, err := v.erase(ctx, space, scope, anyRow(rows[:n]))
		if err != nil {
			return v.failed("remove rows from", space, err)
		}
		removed += deleted
		rows = rows[n:]
	}
	if removed == 0 {
		return nil
	}
	return v.failed("tidy up", space, v.dropEmptyMonths(ctx, space))
}

// EraseScope deletes the scope's rows from every index that there is.
func (v *View) EraseScope(ctx context.Context, scope memory.ScopeKey) (int64, error) {
	if !store.MintedKey(string(scope)) {
		return 0, store.ErrTextKey
	}
	spaces, err := v.Spaces(ctx)
	if err != nil {
		return 0, err
	}
	var erased int64
	for _, s := range spaces {
		n, err := v.erase(ctx, s, scope, nil)
		erased += n
		if err == nil && n > 0 {
			err = v.dropEmptyMonths(ctx, s)
		}
		if err != nil {
			return erased, v.failed("erase a scope from", s, err)
		}
	}
	return erased, nil
}

// anyRow matches the rows that are named.
func anyRow(rows []store.RowState) []query {
	var facts []string
	var whole []memory.SessionKey
	seqs := map[memory.SessionKey][]int64{}
	for _, r := range rows {
		switch {
		case r.FactID != "":
			facts = append(facts, r.FactID)
		case r.Place.Seq == 0:
			whole = append(whole, r.Place.Session)
		default:
			seqs[r.Place.Session] = append(seqs[r.Place.Session], r.Place.Seq)
		}
	}
	var should []query
	if facts != nil {
		should = append(should, terms("fact", facts))
	}
	if whole != nil {
		should = append(should, terms("session", whole))
	}
	for session, numbers := range seqs {
		should = append(should, query{Bool: &boolean{Filter: []query{term("session", session), terms("seq", numbers)}}})
	}
	return should
}

// erase deletes the scope's rows that match any of the queries, all of them when there is no query, and returns how many
// there were. A deletion works on what is visible, so a refresh goes before each, and it goes on until it finds nothing:
// rows that were written meanwhile are passed over by one deletion and found by the next.
func (v *View) erase(ctx context.Context, space store.TextSpace, scope memory.ScopeKey, which []query) (int64, error) {
	match := boolean{Filter: []query{term("scope", scope)}, Should: which, Minimum: min(1, len(which))}
	indices := v.names.whole(space)
	var erased int64
	for stuck := 0; stuck < eraseStuck; stuck++ {
		found, deleted, err := v.deleteMatching(ctx, indices, scope, match)
		if isMissing(err) {
			if indices, err = v.left(ctx, space); err != nil || len(indices) == 0 {
				return erased, err
			}
			continue
		}
		erased += deleted
		if err != nil || found == 0 {
			return erased, err
		}
		if deleted > 0 {
			stuck = 0
		}
	}
	return erased, fmt.Errorf("rows were written anew during %d deletions", eraseStuck)
}

func (v *View) deleteMatching(
	ctx context.Context,
	indices []string,
	scope memory.ScopeKey,
	match boolean,
) (found, deleted int64, err error) {
	if err := v.refresh(ctx, indices); err != nil {
		return 0, 0, err
	}
	b, err := body(map[string]query{"query": {Bool: &match}})
	if err != nil {
		return 0, 0, err
	}
	visible, most := true, eraseRows
	var answer struct {
		Total    int64      `json:"total"`
		Deleted  int64      `json:"deleted"`
		Failures []struct{} `json:"failures"`
	}
	err = v.call(ctx, esapi.DeleteByQueryRequest{
		Index: indices, Body: b, Routing: []string{string(scope)}, ExpandWildcards: "all", // a closed one is an error, not passed over
		Conflicts: "proceed", Refresh: &visible, MaxDocs: &most,
	}, &answer)
	if err == nil && len(answer.Failures) > 0 {
		err = fmt.Errorf("%d rows could not be deleted", len(answer.Failures))
	}
	return answer.Total, answer.Deleted, err
}
