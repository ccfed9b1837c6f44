package rank

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/language/text/synonyms"
	"github.com/stratamem/strata/internal/memory"
)

// nearTable is a table of near words as a Query takes it.
type nearTable map[string][]synonyms.Word

func (t nearTable) of(term string) []synonyms.Word { return t[term] }

// nearFields returns the weighted term frequency of the only term of a query by place.
func nearFields(x *Index, q Query) map[string]float64 {
	out := map[string]float64{}
	q.Explain = true
	for _, h := range x.Search(q).Hits {
		out[fmt.Sprintf("%s%d", h.Session, h.Seq)] = h.Why.Terms[0].WeightedTF
	}
	return out
}

func TestNearWords(t *testing.T) {
	const user, assistant = memory.RoleUser, memory.RoleAssistant
	table := nearTable{
		"doctor": {{Term: "nurs", Cosine: .75}, {Term: "ann", Cosine: .7}, {Term: "clinic", Cosine: .5}, {Term: "hospit", Cosine: .39}, {Term: "may", Cosine: .45}},
		"ann":    {{Term: "nurs", Cosine: .9}},
		"2024":   {{Term: "nurs", Cosine: .9}},
	}
	people := index(
		doc("s", 1, user, "Ann", "red nurse"), doc("s", 2, user, "Bob", "blue"), doc("t", 1, user, "Bob", "hospital"),
		doc("u", 1, user, "Bob", "doctor doctor"), doc("v", 1, user, "Bob", "clinic"),
	)
	half := func(cosine float32) float64 { return quantum(.5 * float64(cosine)) }
	may := half(.45)
	for _, c := range []struct {
		promise, term string
		want          map[string]float64
	}{
		{
			"between people a near word counts half its cosine, and so around it; a day too, but no name and nothing that is too far", "doctor",
			map[string]float64{"s1": half(.75) + may, "s2": .5*half(.75) + may, "t1": may, "u1": 2 + may, "v1": half(.5) + may},
		},
		{"no word stands for a person", "ann", map[string]float64{"s1": 2}},
		{"no word stands for a number", "2024", map[string]float64{}},
	} {
		t.Run(c.promise, func(t *testing.T) {
			if diff := cmp.Diff(c.want, nearFields(people, Query{Terms: []string{c.term}, Near: table.of})); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("with an assistant near words do not count", func(t *testing.T) {
		x := index(doc("s", 1, user, "", "nurse"), doc("s", 2, assistant, "", "nurse"), doc("p", 1, user, "Bob", "nurse"))
		want := map[string]float64{"p1": half(.75) + may}
		if diff := cmp.Diff(want, nearFields(x, Query{Terms: []string{"doctor"}, Near: table.of})); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a near word that only a fact says counts where the fact was learnt", func(t *testing.T) {
		q := Query{Terms: []string{"doctor"}, Near: nearTable{"doctor": {{Term: "surgeon", Cosine: .8}}}.of, Attached: map[string][]memory.Place{"surgeon": {{Session: "t", Seq: 1}}}}
		if diff := cmp.Diff(map[string]float64{"t1": half(.8), "u1": 2}, nearFields(people, q)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("they do not make the term more common", func(t *testing.T) {
		q := Query{Terms: []string{"doctor"}, Explain: true}
		without := people.Search(q).Hits[0].Why.Terms[0].IDF
		q.Near = table.of
		if with := people.Search(q).Hits[0].Why.Terms[0].IDF; with != without {
			t.Errorf("idf %v with them, %v without", with, without)
		}
	})
	t.Run("a term that nobody said is as common as all near to it", func(t *testing.T) {
		hit := people.Search(Query{Terms: []string{"medic"}, Near: nearTable{"medic": {{Term: "nurs", Cosine: .6}, {Term: "clinic", Cosine: .6}}}.of, Explain: true}).Hits[0]
		if want := people.stats.idf(3); hit.Why.Terms[0].IDF != want {
			t.Errorf("idf %v, want that of three fields, %v", hit.Why.Terms[0].IDF, want)
		}
	})
	t.Run("an explanation names those that count in the hit", func(t *testing.T) {
		for _, h := range people.Search(Query{Terms: []string{"doctor"}, Near: table.of, Explain: true}).Hits {
			if want := []string{"nurs", "may"}; h.Session == "s" && !slices.Equal(h.Why.Terms[0].Near, want) {
				t.Errorf("%s%d: %v, want %v", h.Session, h.Seq, h.Why.Terms[0].Near, want)
			}
		}
	})
	t.Run("of one term no more than the nearest twenty count that were said", func(t *testing.T) {
		var words []string
		var all []synonyms.Word
		for i := range 60 {
			w := fmt.Sprintf("x%c%cx", 'a'+i/26, 'a'+i%26)
			all = append(all, synonyms.Word{Term: w, Cosine: .9 - float32(i)/1000})
			if i%2 == 0 {
				words = append(words, w)
			}
		}
		x := index(doc("s", 1, user, "Bob", strings.Join(words, " ")))
		hit := x.Search(Query{Terms: []string{"doctor"}, Near: nearTable{"doctor": all}.of, Explain: true}).Hits[0]
		if !slices.Equal(hit.Why.Terms[0].Near, words[:maxNear]) {
			t.Errorf("got %v", hit.Why.Terms[0].Near)
		}
	})
	t.Run("they count for no query of more than maxNearTerms terms", func(t *testing.T) {
		terms := []string{"doctor"}
		for i := range maxNearTerms {
			terms = append(terms, fmt.Sprintf("other%d", i))
		}
		if got := places(people.Search(Query{Terms: terms, Near: table.of})); got != "u1" {
			t.Errorf("got %q", got)
		}
		if got := places(people.Search(Query{Terms: terms[:maxNearTerms], Near: table.of})); got == "u1" {
			t.Error("they do not count for one of as many")
		}
	})
}
