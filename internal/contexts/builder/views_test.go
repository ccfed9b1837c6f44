package builder_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/storetest/memview"
)

func factTexts(hits []recall.FactHit) []string {
	var out []string
	for _, h := range hits {
		out = append(out, h.Fact.Text)
	}
	return out
}

// ranked is what a ranking says of facts, with scores as exact as a view's are.
func ranked(found recall.FactsFound) []string {
	var out []string
	for _, h := range found.Hits {
		out = append(out, fmt.Sprintf("%s %.4f %v", h.Fact.Text, h.Score, arms(h.Retrievers)))
	}
	return out
}

func arms(all []rank.RetrieverScore) []string {
	var out []string
	for _, a := range all {
		out = append(out, fmt.Sprintf("%s %d", a.Name, a.Rank))
	}
	return out
}

func TestFactsAreRankedTheSameWithAVectorView(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.knows(ada, "Plays the violin")
	r.knows(ada, "Drinks tea in the morning")
	r.knows(ada, "Works at a bakery")
	r.embeds()
	const query = "Which music does she play at work?"
	same := func(t *testing.T, viewed services) {
		t.Helper()
		want, got := r.ask(r.service(wiring{}), query), r.ask(viewed, query)
		if d := cmp.Diff(ranked(want.facts), ranked(got.facts)); d != "" || len(want.facts.Hits) < 2 {
			t.Errorf("exact and viewed differ: %s", d)
		}
		if got.facts.Embedder != "topics" || len(got.facts.Degraded) != 0 || len(got.context.Degraded) != 0 {
			t.Errorf("by %q, degraded %v %v", got.facts.Embedder, got.facts.Degraded, got.context.Degraded)
		}
		if d := cmp.Diff(want.context.Rendering, got.context.Rendering); d != "" {
			t.Error(d)
		}
	}
	viewed := r.service(wiring{vectors: r.vectors})
	t.Run("before the view was told of anything", func(t *testing.T) { same(t, viewed) })
	r.feedVectors(ada)
	t.Run("when the view was told of all, to a replica that held the vectors and to one that never did", func(t *testing.T) {
		same(t, viewed)
		same(t, r.service(wiring{vectors: r.vectors}))
	})
	r.knows(ada, "Sings songs at a concert")
	t.Run("with a fact that has no vector yet", func(t *testing.T) { same(t, viewed) })
	r.embeds()
	t.Run("with a fact whose vector the view lacks", func(t *testing.T) {
		same(t, viewed)
		same(t, r.service(wiring{vectors: r.vectors}))
	})
	t.Run("while the view is built anew, empty at first", func(t *testing.T) {
		_, err := r.truth.RebuildView(t.Context(), memory.ViewVectors, r.now)
		r.must(err)
		same(t, viewed)
		r.feedVectors(ada)
		same(t, viewed)
	})
}

func TestFiltersGoToTheVectorView(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var asked store.VectorSearch
	spy := vectorFunc(func(ctx context.Context, q store.VectorSearch) ([]store.VectorHit, error) {
		asked = q
		return r.vectors.Search(ctx, q)
	})
	r.knows(ada, "Plays the violin")
	r.embeds()
	r.feedVectors(ada)
	_, err := r.service(wiring{vectors: spy}).SearchFacts(t.Context(), recall.FactSearch{
		User: ada, Query: "music", Categories: []memory.Category{memory.CategoryGoal}, Limit: 5,
	})
	r.must(err)
	user, err := r.truth.User(t.Context(), ada)
	r.must(err)
	want := store.VectorSearch{
		Space: store.VectorSpace{View: memory.ViewVectors, Build: 1, Version: r.version.Version, Dimension: 4}, Scope: user.Scope, Vector: asked.Vector,
		Limit: 200, Categories: []memory.Category{memory.CategoryGoal}, CurrentOnly: true,
	}
	if d := cmp.Diff(want, asked); d != "" || len(asked.Vector) != 4 {
		t.Error(d)
	}
}

// crowd are facts that are nearer to the query concert than any of those behind it, and matter little.
func crowd(n int, behind ...memory.Fact) []memory.Fact {
	var facts []memory.Fact
	for i := range n {
		facts = append(facts, memory.Fact{Text: fmt.Sprintf("Heard song number %d", i), Significance: 2, Category: memory.CategoryOther})
	}
	return append(facts, behind...)
}

func TestTheLeastSignificanceHoldsBeforeTheNearestAreChosen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.knowsAll(ada, crowd(300,
		memory.Fact{Text: "Plays the violin as a job", Significance: 6, Category: memory.CategoryOther},
		memory.Fact{Text: "Owns a violin and drinks tea", Significance: 1, Category: memory.CategoryOther, Pinned: true},
	)...)
	r.embeds()
	r.feedVectors(ada)
	for name, w := range map[string]wiring{
		"by a view":          {vectors: r.vectors, least: 5},
		"by an exact search": {least: 5},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.ask(r.service(w), "concert")
			context := fmt.Sprint(got.context.Rendering)
			for words, want := range map[string]bool{"Plays the violin as a job": true, "Owns a violin": true, "Heard song": false} {
				if strings.Contains(context, words) != want {
					t.Errorf("that the context says %q is not %v:\n%s", words, want, context)
				}
			}
			if len(got.facts.Hits) != 20 {
				t.Errorf("a search finds %d facts of 20", len(got.facts.Hits))
			}
		})
	}
}

func TestTheLeastSignificanceHoldsBeforeAFullTextViewChoosesTheBest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.knowsAll(ada, crowd(10)...)
	var asked []int
	view := textFunc(func(_ context.Context, q store.TextSearch) ([]store.TextHit, error) {
		if q.Space.View == memory.ViewFacts {
			asked = append(asked, q.MinSignificance)
		}
		return nil, nil
	})
	r.ask(r.service(wiring{texts: view, least: 5}), "song")
	if want := []int{5, 0}; !slices.Equal(asked, want) { // the context, and a search, which finds all
		t.Errorf("the view is asked for a significance of %d, not %d", asked, want)
	}
}

type vectorFunc func(context.Context, store.VectorSearch) ([]store.VectorHit, error)

func (f vectorFunc) Search(ctx context.Context, q store.VectorSearch) ([]store.VectorHit, error) {
	return f(ctx, q)
}

type textFunc func(context.Context, store.TextSearch) ([]store.TextHit, error)

func (f textFunc) Search(ctx context.Context, q store.TextSearch) ([]store.TextHit, error) {
	return f(ctx, q)
}

func TestAFullTextViewIsAFurtherSourceOfCandidates(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(ada, "one", "Roses grow behind the house.")
	r.says(ada, "two", "The roses need water, and so do the other plants.")
	r.says(ada, "three", "The dentist called about Tuesday.")
	r.feedMessages(ada.Session("one"))
	r.feedMessages(ada.Session("three"), "zebra", text.Terms("roses")[0])
	viewed := r.service(wiring{texts: r.texts})
	search := func(t *testing.T, p recall.SearchParams) recall.SearchResult {
		t.Helper()
		p.User, p.MaxBytes, p.Explain = ada, 1<<20, true
		if p.Limit == 0 {
			p.Limit = 20
		}
		out, err := viewed.SearchMessages(t.Context(), p)
		r.must(err)
		return out
	}
	sessions := func(found recall.SearchResult) string {
		var out []string
		for _, h := range found.Hits {
			out = append(out, h.SessionID)
		}
		return strings.Join(out, " ")
	}
	t.Run("a message that the own index does not find is found, whole, behind those that it finds", func(t *testing.T) {
		found := search(t, recall.SearchParams{Query: "roses house"})
		if got := sessions(found); got != "one two three" {
			t.Fatalf("found %s", got)
		}
		if h := found.Hits[2]; h.Snippet != "The dentist called about Tuesday." || h.Hit.Role != memory.RoleUser || !h.Hit.CreateTime.Equal(noon) {
			t.Errorf("got %+v", h)
		}
	})
	t.Run("explain shows each retriever's rank", func(t *testing.T) {
		found := search(t, recall.SearchParams{Query: "roses house"})
		var got []string
		for _, h := range found.Hits {
			got = append(got, strings.Join(arms(h.Hit.Retrievers), ", "))
		}
		if d := cmp.Diff([]string{"lexical 1, elasticsearch 1", "lexical 2", "elasticsearch 2"}, got); d != "" {
			t.Error(d)
		}
	})
	t.Run("it is recalled into contexts", func(t *testing.T) {
		if got := r.ask(viewed, "zebra").context; !strings.Contains(fmt.Sprintf("%+v", got.Sections), "SessionID:three") {
			t.Errorf("got %+v", got.Sections)
		}
	})
	t.Run("sessions and times restrict it, whatever it answers", func(t *testing.T) {
		careless := r.service(wiring{texts: textFunc(func(ctx context.Context, q store.TextSearch) ([]store.TextHit, error) {
			q.Sessions, q.From, q.To = nil, time.Time{}, time.Time{}
			return r.texts.Search(ctx, q)
		})})
		for name, s := range map[string]services{"honest": viewed, "careless": careless} {
			viewed = s
			if got := sessions(search(t, recall.SearchParams{Query: "zebra roses", SessionIDs: []string{"one"}})); got != "one" {
				t.Errorf("%s: of one session: %s", name, got)
			}
			if got := sessions(search(t, recall.SearchParams{Query: "zebra roses", From: noon.Add(time.Hour)})); got != "" {
				t.Errorf("%s: of later: %s", name, got)
			}
			if got := sessions(search(t, recall.SearchParams{Query: "zebra", SessionIDs: []string{"unknown"}})); got != "" {
				t.Errorf("%s: of an unknown session: %s", name, got)
			}
		}
	})
	t.Run("pages are those of one long page", func(t *testing.T) {
		all := sessions(search(t, recall.SearchParams{Query: "roses zebra water"}))
		var paged []string
		for offset := range 4 {
			paged = append(paged, sessions(search(t, recall.SearchParams{Query: "roses zebra water", Offset: offset, Limit: 1})))
		}
		if got := strings.TrimSpace(strings.Join(paged, " ")); got != all {
			t.Errorf("pages %q, want %q", got, all)
		}
	})
	t.Run("facts show its retriever", func(t *testing.T) {
		r.knows(ada, "Likes roses")
		r.feedFacts(ada)
		found := r.ask(viewed, "roses").facts
		if len(found.Hits) != 1 || strings.Join(arms(found.Hits[0].Retrievers), ", ") != "lexical 1, elasticsearch 1" {
			t.Errorf("got %+v", found.Hits)
		}
	})
	t.Run("a user who is not known is not looked for", func(t *testing.T) {
		found, err := viewed.SearchMessages(t.Context(), recall.SearchParams{User: eve, Query: "roses", Limit: 5})
		if err != nil || len(found.Hits) != 0 || len(found.Degraded) != 0 {
			t.Errorf("%+v, %v", found, err)
		}
	})
}

func TestAViewThatFailsIsNamedAndNothingElseChanges(t *testing.T) {
	t.Parallel()
	const secret = "kestrel"
	prepare := func(t *testing.T) *rig {
		t.Helper()
		r := newRig(t)
		r.says(ada, "one", "Roses grow behind the house.")
		r.knows(ada, "Plays the violin")
		r.knows(ada, "Likes roses and music")
		r.embeds()
		r.feedVectors(ada)
		r.feedFacts(ada)
		r.feedMessages(ada.Session("one"))
		return r
	}
	const query = "roses " + secret
	check := func(t *testing.T, r *rig, fail failing, deadline time.Duration, says string) {
		t.Helper()
		s := r.service(wiring{vectors: failingVectors{fail}, texts: failingTexts{fail}, deadline: deadline})
		got := r.ask(s, query)
		tier := func(name string) memory.Degradation { return memory.Degradation{Tier: name, Reason: says} }
		for what, d := range map[string]string{
			"context":  cmp.Diff([]memory.Degradation{tier("vectors"), tier("facts"), tier("transcript")}, got.context.Degraded),
			"messages": cmp.Diff([]memory.Degradation{tier("vectors"), tier("transcript")}, got.messages.Degraded),
			"facts":    cmp.Diff([]memory.Degradation{tier("vectors"), tier("facts")}, got.facts.Degraded),
		} {
			if d != "" {
				t.Errorf("%s: %s", what, d)
			}
		}
		if len(got.messages.Hits) != 1 || got.facts.Embedder != "" || len(got.facts.Hits) != 1 || got.facts.Hits[0].Retrievers[0].Name != rank.RetrieverLexical {
			t.Errorf("messages %v, facts %v by %q", got.messages.Hits, got.facts.Hits, got.facts.Embedder)
		}
		for name, want := range map[string]int{"degraded vectors": 3, "degraded facts": 2, "degraded transcript": 2} {
			if n := r.counts.of(name); n != want {
				t.Errorf("%s: counted %d times, want %d", name, n, want)
			}
		}
	}
	t.Run("an error, whose text stays inside", func(t *testing.T) {
		check(t, prepare(t), func(context.Context) error { return errors.New("cannot parse " + secret) }, time.Minute, "the view failed")
	})
	t.Run("a view that hangs, when its deadline is over", func(t *testing.T) {
		check(t, prepare(t), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, time.Millisecond, "the view did not answer in time")
	})
}

func TestAViewThatFailsAgainAndAgainIsLeftAloneAndAskedAgainSoon(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(ada, "one", "Roses grow behind the house.")
	r.feedMessages(ada.Session("one"))
	asked, down := 0, true
	s := r.service(wiring{texts: textFunc(func(ctx context.Context, q store.TextSearch) ([]store.TextHit, error) {
		asked++
		if down {
			return nil, errors.New("down")
		}
		return r.texts.Search(ctx, q)
	})})
	search := func() []memory.Degradation {
		t.Helper()
		found, err := s.SearchMessages(t.Context(), recall.SearchParams{User: ada, Query: "roses", Limit: 5})
		r.must(err)
		return found.Degraded
	}
	for range 20 {
		search()
	}
	if late := search(); asked != 5 || len(late) != 1 || late[0].Reason != "the view failed 5 times in a row and is not asked" {
		t.Errorf("asked %d times, %v", asked, late)
	}
	down, r.now = false, r.now.Add(time.Second)
	if late := search(); late != nil || asked != 6 {
		t.Errorf("after it recovered: asked %d times, %v", asked, late)
	}
}

func TestAViewIsNotWaitedForLongerThanItsDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.says(ada, "one", "Roses grow behind the house.")
		s := r.service(wiring{deadline: 300 * time.Millisecond, texts: failingTexts{func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}})
		begin := time.Now()
		if _, err := s.SearchMessages(t.Context(), recall.SearchParams{User: ada, Query: "roses", Limit: 5}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took > 300*time.Millisecond {
			t.Errorf("took %s", took)
		}
		r.must(r.truth.Close())
	})
}

// forgedVectors are views that answer everybody's rows and say that they are the asked user's.
func forgedVectors(v *memview.Vectors) recall.VectorView {
	lying := memview.Lying(v)
	return vectorFunc(func(ctx context.Context, q store.VectorSearch) ([]store.VectorHit, error) {
		hits, err := lying.Search(ctx, q)
		for i := range hits {
			hits[i].Scope = q.Scope
		}
		return hits, err
	})
}

func forgedTexts(v *memview.Texts) recall.TextView {
	lying := memview.Lying(v)
	return textFunc(func(ctx context.Context, q store.TextSearch) ([]store.TextHit, error) {
		hits, err := lying.Search(ctx, q)
		for i := range hits {
			hits[i].Scope = q.Scope
		}
		return hits, err
	})
}

// unverified is a primary store that reads messages for whoever has them: verification switched off.
type unverified struct{ truth }

func (u unverified) MessagesAt(ctx context.Context, q store.PlacesQuery) ([]memory.PlacedMessage, error) {
	own, err := u.truth.MessagesAt(ctx, q)
	if err != nil {
		return nil, err
	}
	q.User = eve
	foreign, err := u.truth.MessagesAt(ctx, q)
	return append(own, foreign...), err
}

// What must hold is that confirm reads by the caller: the last part switches that off and sees the canary. Facts cannot leak
// that way: the ids are looked up in the user's own facts, there is nothing else to show.
func TestNothingForeignGetsThroughALyingView(t *testing.T) {
	t.Parallel()
	const canary = "canary-7f3a"
	r := newRig(t)
	r.says(ada, "one", "Roses grow behind the house.")
	r.knows(ada, "Likes roses")
	r.says(eve, "secret", "Roses and "+canary+" belong to eve, roses roses.")
	r.knows(eve, "Likes roses and music, "+canary)
	r.embeds()
	for _, user := range []memory.UserRef{ada, eve} {
		r.feedVectors(user)
		r.feedFacts(user)
	}
	r.feedMessages(ada.Session("one"))
	r.feedMessages(eve.Session("secret"))
	const query = "roses music " + canary
	leaks := func(w wiring) (bool, tried) {
		got := r.ask(r.service(w), query)
		return strings.Contains(fmt.Sprintf("%+v", got), "belong to eve") || strings.Contains(strings.Join(factTexts(got.facts.Hits), " "), canary) ||
			strings.Contains(fmt.Sprintf("%+v", got.context.Facts), canary), got
	}
	honest := r.ask(r.service(wiring{vectors: r.vectors, texts: r.texts}), query)
	t.Run("rows of others are dropped and counted", func(t *testing.T) {
		leak, got := leaks(wiring{vectors: memview.Lying(r.vectors), texts: memview.Lying(r.texts)})
		if leak || len(got.messages.Hits) != 1 || len(got.facts.Hits) != 1 {
			t.Errorf("messages %+v, facts %v", got.messages.Hits, factTexts(got.facts.Hits))
		}
		for view, searches := range map[string]int{"vectors": 3, "facts": 2, "transcript": 2} {
			if n := r.counts.of("foreign " + view); n != searches {
				t.Errorf("%s: counted %d foreign hits, want one of each of %d searches", view, n, searches)
			}
		}
		if d := cmp.Diff(honest.context.Rendering, got.context.Rendering) + cmp.Diff(ranked(honest.facts), ranked(got.facts)); d != "" {
			t.Errorf("the reply is influenced: %s", d)
		}
	})
	t.Run("rows of others under the caller's name are dropped and counted", func(t *testing.T) {
		leak, got := leaks(wiring{vectors: forgedVectors(r.vectors), texts: forgedTexts(r.texts)})
		if leak || len(got.messages.Hits) != 1 || len(got.facts.Hits) != 1 {
			t.Errorf("messages %+v, facts %v", got.messages.Hits, factTexts(got.facts.Hits))
		}
		for view, searches := range map[string]int{"vectors": 3, "facts": 2, "transcript": 2} {
			if n := r.counts.of("stale " + view); n != searches {
				t.Errorf("%s: counted %d stale hits, want one of each of %d searches", view, n, searches)
			}
		}
	})
	t.Run("this test sees a leak when hits are not verified", func(t *testing.T) {
		if leak, _ := leaks(wiring{texts: forgedTexts(r.texts), truth: unverified{r.truth}}); !leak {
			t.Error("it sees none")
		}
	})
}
