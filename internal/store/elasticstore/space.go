package elasticstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/elastic/go-elasticsearch/v7/esapi"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// index is one of this view's indices.
type index struct {
	name  string
	space store.TextSpace
	month month
	meta  meta
	shown bool // it has the alias to read the view by
}

// layout is how a space keeps its rows: its first index decides when it is made.
type layout struct {
	meta
	monthly bool
	known   map[month]bool // the months that have an index
}

func newLayout(indices []index) layout {
	l := layout{known: map[month]bool{}}
	for _, x := range indices {
		l.known[x.month] = true
		if x.month == "" || l.Schema == 0 {
			l.meta = x.meta
			l.monthly = x.space.View == memory.ViewTranscript && x.meta.Schema >= schemaMonthly
		}
	}
	return l
}

// has reports whether there is an index for each of the months.
func (l layout) has(months map[month]bool) bool {
	if !l.monthly {
		return true
	}
	for m := range months {
		if !l.known[m] {
			return false
		}
	}
	return true
}

// monthOf is the month in whose index a row lies.
func (l layout) monthOf(r store.TextRow) month {
	if !l.monthly {
		return ""
	}
	return monthOf(r.Recorded)
}

// indices returns the view's indices, by name.
func (v *View) indices(ctx context.Context) ([]index, error) {
	var found map[string]struct {
		Aliases  map[string]struct{} `json:"aliases"`
		Mappings struct {
			Meta meta `json:"_meta"`
		} `json:"mappings"`
	}
	// A closed index counts too: it holds rows that an erasure must not miss.
	r := esapi.IndicesGetRequest{Index: v.names.patterns(), ExpandWildcards: "all", FilterPath: []string{"*.mappings._meta", "*.aliases"}}
	if err := v.call(ctx, r, &found); err != nil {
		return nil, fmt.Errorf("list the indices: %w", err)
	}
	var all []index
	for name, x := range found {
		s, m, ok := v.names.parse(name)
		if ok && x.Mappings.Meta.Schema > 0 {
			_, shown := x.Aliases[v.names.family(s.View)]
			all = append(all, index{name, s, m, x.Mappings.Meta, shown})
		}
	}
	slices.SortFunc(all, func(a, b index) int { return cmp.Compare(a.name, b.name) })
	return all, nil
}

// of returns those of the indices that are the space's.
func of(space store.TextSpace, all []index) []index {
	return slices.DeleteFunc(slices.Clone(all), func(x index) bool { return x.space != space })
}

// left returns the names of what is left of a space: of whole, when an index of it was deleted.
func (v *View) left(ctx context.Context, space store.TextSpace) ([]string, error) {
	all, err := v.indices(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, x := range of(space, all) {
		if x.month != "" {
			return append(names, v.names.months(space)), nil
		}
		names = append(names, x.name) // the first by name
	}
	return names, nil
}

// spaces returns the spaces of the indices by view, then build.
func spaces(all []index) []store.TextSpace {
	seen := map[store.TextSpace]bool{}
	for _, x := range all {
		seen[x.space] = true
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b store.TextSpace) int {
		return cmp.Or(cmp.Compare(a.View, b.View), cmp.Compare(a.Build, b.Build))
	})
}

// checkSchemas refuses to work beside a newer program's indices.
func (v *View) checkSchemas(ctx context.Context) error {
	all, err := v.indices(ctx)
	if err != nil {
		return err
	}
	for _, x := range all {
		if known := v.schemas[x.space.View].version; x.meta.Schema > known {
			return fmt.Errorf(
				"index %s has schema %d, and this program knows %d: run the newer version of strata, or delete the index and let this one build its own: %w",
				x.name,
				x.meta.Schema,
				known,
				store.ErrNewerSchema,
			)
		}
	}
	return nil
}

// Prepare makes the space's first index unless it is there, with the templates that its later ones are made by, and deletes indices
// of months that nothing is left of.
func (v *View) Prepare(ctx context.Context, space store.TextSpace) error {
	if err := space.Check(); err != nil {
		return err
	}
	return v.failed("prepare", space, v.prepare(ctx, space))
}

func (v *View) prepare(ctx context.Context, space store.TextSpace) error {
	all, err := v.indices(ctx)
	if err != nil {
		return err
	}
	if len(of(space, all)) == 0 {
		err = v.create(ctx, space, "", v.newest(space.View))
	} else {
		_, err = v.templated(ctx, space.View)
	}
	if err != nil {
		return err
	}
	v.forget(space)
	return errors.Join(v.showOldest(ctx, space.View), v.dropEmptyMonths(ctx, space))
}

// create makes an index of a space. It has our own mappings whatever templates match it.
func (v *View) create(ctx context.Context, space store.TextSpace, m month, says meta) error {
	name, s := v.names.index(space, m), v.schemas[space.View]
	made := map[string]any{"aliases": map[string]struct{}{name + putSuffix: {}}, "mappings": s.with(says)}
	templated, err := v.templated(ctx, space.View)
	if err != nil {
		return err
	}
	if !templated {
		made["settings"] = s.settings
	}
	b, err := body(made)
	if err != nil {
		return err
	}
	err = v.call(ctx, esapi.IndicesCreateRequest{Index: name, Body: b}, nil)
	r, refused := errors.AsType[*refusal](err)
	if !refused || r.kind != "resource_already_exists_exception" {
		return err
	}
	all, err := v.indices(ctx) // another replica was faster, or somebody's own index has the name
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(x index) bool { return x.name == name }) {
		return errors.New("an index of this name was not made by strata: delete it or choose another prefix")
	}
	return nil
}

// aliasAction is one of its members.
type aliasAction struct {
	Add         *aliasOf `json:"add,omitempty"`
	Remove      *aliasOf `json:"remove,omitempty"`
	RemoveIndex *aliasOf `json:"remove_index,omitempty"`
}

type aliasOf struct {
	Index string `json:"index"`
	Alias string `json:"alias,omitempty"`
}

// showing returns what has to be done so that the alias to read a view by has all indices of its oldest space, and no others: while
// the next build is filled, who reads the alias sees each row once.
func showing(view memory.View, alias string, all []index) []aliasAction {
	all = slices.DeleteFunc(slices.Clone(all), func(x index) bool { return x.space.View != view })
	if len(all) == 0 {
		return nil
	}
	oldest := spaces(all)[0]
	var todo []aliasAction
	for _, x := range all {
		switch {
		case x.space == oldest && !x.shown:
			todo = append(todo, aliasAction{Add: &aliasOf{x.name, alias}})
		case x.space != oldest && x.shown:
			todo = append(todo, aliasAction{Remove: &aliasOf{x.name, alias}})
		}
	}
	return todo
}

func (v *View) showOldest(ctx context.Context, view memory.View) error {
	all, err := v.indices(ctx)
	if err != nil {
		return err
	}
	return v.changeAliases(ctx, showing(view, v.names.family(view), all))
}

func (v *View) changeAliases(ctx context.Context, todo []aliasAction) error {
	if len(todo) == 0 {
		return nil
	}
	b, err := body(map[string][]aliasAction{"actions": todo})
	if err != nil {
		return err
	}
	err = v.call(ctx, esapi.IndicesUpdateAliasesRequest{Body: b}, nil)
	if r, refused := errors.AsType[*refusal](err); refused && r.status == http.StatusNotFound {
		return errChanged
	}
	return err
}

// errChanged says that indices came or went while they were worked on.
var errChanged = errors.New("indices were deleted meanwhile")

// Spaces returns the spaces that there are.
func (v *View) Spaces(ctx context.Context) ([]store.TextSpace, error) {
	all, err := v.indices(ctx)
	if err != nil {
		return nil, fmt.Errorf("elasticstore: %w", err)
	}
	return spaces(all), nil
}

// dropAttempts is how often Drop looks anew at what there is when others delete indices meanwhile.
const dropAttempts = 5

// Drop deletes the space's indices. In the same step the alias to read the view by gets those of the oldest space that stays.
func (v *View) Drop(ctx context.Context, space store.TextSpace) error {
	if err := space.Check(); err != nil {
		return err
	}
	defer v.forget(space)
	err := errChanged
	for attempt := 0; attempt < dropAttempts && errors.Is(err, errChanged); attempt++ {
		err = v.drop(ctx, space)
	}
	return v.failed("drop", space, err)
}

func (v *View) drop(ctx context.Context, space store.TextSpace) error {
	all, err := v.indices(ctx)
	if err != nil {
		return err
	}
	var todo []aliasAction
	for _, x := range of(space, all) {
		todo = append(todo, aliasAction{RemoveIndex: &aliasOf{Index: x.name}})
	}
	if len(todo) == 0 {
		return nil
	}
	stay := slices.DeleteFunc(all, func(x index) bool { return x.space == space })
	return v.changeAliases(ctx, append(todo, showing(space.View, v.names.family(space.View), stay)...))
}

// layout returns how the space keeps its rows, with an index for each of the months. It fails when the space is not there.
func (v *View) layout(ctx context.Context, space store.TextSpace, months map[month]bool) (layout, error) {
	v.mu.Lock()
	l, ok := v.layouts[space]
	v.mu.Unlock()
	if ok && l.has(months) {
		return l, nil
	}
	all, err := v.indices(ctx)
	if err != nil {
		return layout{}, err
	}
	if len(of(space, all)) == 0 {
		return layout{}, errNoSpace
	}
	l = newLayout(of(space, all))
	if l.monthly {
		if err := v.addMonths(ctx, space, l, months); err != nil {
			return layout{}, err
		}
	}
	v.mu.Lock()
	v.layouts[space] = l
	v.mu.Unlock()
	return l, nil
}

var errNoSpace = errors.New("there is no index: it was deleted, or never made")

// addMonths makes the indices that the layout lacks of the months.
func (v *View) addMonths(ctx context.Context, space store.TextSpace, l layout, months map[month]bool) error {
	made := false
	for m := range months {
		if l.known[m] {
			continue
		}
		if err := v.create(ctx, space, m, l.meta); err != nil {
			return fmt.Errorf("make the index %s: %w", v.names.index(space, m), err)
		}
		l.known[m], made = true, true
	}
	if !made {
		return nil
	}
	return v.showOldest(ctx, space.View)
}

// forget has the space's layout read anew.
func (v *View) forget(space store.TextSpace) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.layouts, space)
}

// failed returns an error that names what was tried, without the server's text; nil stays nil.
func (v *View) failed(what string, s store.TextSpace, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("elasticstore: %s %s: %w", what, v.names.base(s), err)
}
