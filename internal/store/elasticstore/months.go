package elasticstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/elastic/go-elasticsearch/v7/esapi"

	"github.com/stratamem/strata/internal/store"
)

// dropEmptyMonths deletes the space's indices of months that are over and have no rows left.
func (v *View) dropEmptyMonths(ctx context.Context, space store.TextSpace) error {
	var answer struct {
		Indices map[string]struct {
			Primaries struct {
				Docs struct {
					Count int64 `json:"count"`
				} `json:"docs"`
			} `json:"primaries"`
		} `json:"indices"`
	}
	r := esapi.IndicesStatsRequest{
		Index: []string{v.names.months(space)}, Metric: []string{"docs"}, FilterPath: []string{"indices.*.primaries.docs.count"},
	}
	if err := v.call(ctx, r, &answer); err != nil {
		return fmt.Errorf("count the rows of each month: %w", err)
	}
	var errs []error
	for name, x := range answer.Indices {
		s, m, ok := v.names.parse(name)
		if ok && s == space && m.isBefore(v.now()) && x.Primaries.Docs.Count == 0 {
			errs = append(errs, v.dropEmpty(ctx, space, name))
		}
	}
	return errors.Join(errs...)
}

// dropEmpty deletes an index in which there are no rows. Nobody can put any while it is looked at: who tries waits, and finds it
// either open again or gone, and makes it anew.
func (v *View) dropEmpty(ctx context.Context, space store.TextSpace, name string) error {
	err := v.call(ctx, esapi.IndicesAddBlockRequest{Index: []string{name}, Block: "write"}, nil)
	if err != nil {
		return dropped(name, err)
	}
	count, err := v.countRows(ctx, name)
	if err != nil || count > 0 {
		return errors.Join(dropped(name, err), v.unblock(ctx, name))
	}
	v.forget(space)
	return dropped(name, v.call(ctx, esapi.IndicesDeleteRequest{Index: []string{name}}, nil))
}

// dropped returns an error of deleting an index; one that is gone is none.
func dropped(name string, err error) error {
	if err == nil || isMissing(err) {
		return nil
	}
	return fmt.Errorf("delete the empty index %s: %w", name, err)
}

func (v *View) countRows(ctx context.Context, name string) (int64, error) {
	if err := v.call(ctx, esapi.IndicesRefreshRequest{Index: []string{name}}, nil); err != nil {
		return 0, err
	}
	var answer struct {
		Count int64 `json:"count"`
	}
	err := v.call(ctx, esapi.CountRequest{Index: []string{name}}, &answer)
	return answer.Count, err
}

// unblock takes the block back, though the caller waits no longer.
func (v *View) unblock(ctx context.Context, name string) error {
	b, err := body(map[string]any{"index.blocks.write": nil})
	if err != nil {
		return err
	}
	err = v.call(context.WithoutCancel(ctx), esapi.IndicesPutSettingsRequest{Index: []string{name}, Body: b}, nil)
	if err == nil || isMissing(err) {
		return nil
	}
	return fmt.Errorf("let rows into %s again: %w", name, err)
}
