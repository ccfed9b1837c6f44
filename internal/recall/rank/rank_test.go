package rank

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/language/text/synonyms"
	"github.com/stratamem/strata/internal/language/text/when"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/segment"
)

var may8 = time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC)

func doc(session string, seq int, role memory.Role, name, words string) segment.Doc {
	return docAt(session, seq, role, name, words, may8)
}

func docAt(session string, seq int, role memory.Role, name, words string, at time.Time) segment.Doc {
	m := memory.Message{Role: role, Name: name, CreateTime: at}
	if words != "" {
		m.Parts = []memory.Part{memory.TextPart(words)}
	}
	return segment.Analyze(memory.PlacedMessage{Place: memory.Place{Session: memory.SessionKey(session), Seq: int64(seq)}, Message: m})
}

func index(docs ...segment.Doc) *Index {
	x := NewIndex()
	x.Add(docs...)
	return x
}

func places(r Result) string {
	var out []string
	for _, h := range r.Hits {
		out = append(out, fmt.Sprintf("%s%d", h.Session, h.Seq))
	}
	return strings.Join(out, " ")
}

// fields returns the weighted term frequency of a term by place.
func fields(x *Index, term string) map[string]float64 {
	out := map[string]float64{}
	for _, h := range x.Search(Query{Terms: text.TermsKeepingStopWords(term), Explain: true}).Hits {
		out[fmt.Sprintf("%s%d", h.Session, h.Seq)] = h.Why.Terms[0].WeightedTF
	}
	return out
}

func TestFields(t *testing.T) {
	const user, assistant = memory.RoleUser, memory.RoleAssistant
	long := "anchor" + strings.Repeat(" filler", 39)
	people := func(words ...string) []segment.Doc {
		var docs []segment.Doc
		for i, w := range words {
			docs = append(docs, doc("s", i+1, user, []string{"Ann", "Bob"}[i%2], w))
		}
		return docs
	}
	for _, c := range []struct {
		promise, term string
		docs          []segment.Doc
		want          map[string]float64
	}{
		{
			"between people a word counts in two messages on either side", "anchor", people("red", "blue", "anchor", "green", "pink", "white"),
			map[string]float64{"s1": .3, "s2": .3, "s3": 1, "s4": .5, "s5": .5},
		},
		{"a question counts in full in what the other speaker says next", "anchor", people("anchor?", "blue"), map[string]float64{"s1": 1, "s2": 1}},
		{
			"a speaker's own question before counts as any message", "anchor",
			[]segment.Doc{doc("s", 1, user, "Ann", "anchor?"), doc("s", 2, user, "Ann", "blue")},
			map[string]float64{"s1": 1, "s2": .5},
		},
		{"a long neighbour is scaled down to twenty words", "anchor", people(long, "blue"), map[string]float64{"s1": 1, "s2": quantum(.25)}},
		{"the speaker's name counts twice", "ann", people("red", "blue"), map[string]float64{"s1": 2}},
		{"the day counts once, May included", "may", people("red", "blue"), map[string]float64{"s1": 1, "s2": 1}},
		{"windows end with the session", "anchor", []segment.Doc{doc("r", 1, user, "Ann", "anchor"), doc("s", 2, user, "Bob", "blue")}, map[string]float64{"r1": 1}},
		{
			"with an assistant only the reply counts on the user's message", "anchor",
			[]segment.Doc{doc("s", 1, user, "", "red"), doc("s", 2, assistant, "", "blue"), doc("s", 3, user, "", "pink"), doc("s", 4, assistant, "", "anchor"), doc("s", 5, user, "", "white")},
			map[string]float64{"s3": quantum(.3), "s4": 1},
		},
		{
			"a reply after empty tool calls still counts", "anchor",
			[]segment.Doc{doc("s", 1, user, "", "red"), doc("s", 2, assistant, "", ""), doc("s", 3, assistant, "", ""), doc("s", 4, assistant, "", "anchor"), doc("s", 5, assistant, "", "anchor")},
			map[string]float64{"s1": quantum(.3), "s4": 1, "s5": 1},
		},
		{
			"a reply to a later message does not count on an earlier one", "anchor",
			[]segment.Doc{doc("s", 1, user, "", "red"), doc("s", 2, user, "", "pink"), doc("s", 3, assistant, "", "anchor")},
			map[string]float64{"s2": quantum(.3), "s3": 1},
		},
		{"with an assistant neither name nor day counts", "ann", []segment.Doc{doc("s", 1, user, "Ann", "red"), doc("s", 2, assistant, "", "blue")}, map[string]float64{}},
		{
			"a user without a name is no person, but a neighbour to persons", "anchor",
			[]segment.Doc{doc("s", 1, user, "Ann", "anchor"), doc("s", 2, user, "", "red"), doc("s", 3, user, "Bob", "blue")},
			map[string]float64{"s1": 1, "s3": .5},
		},
		{"neighbours' words reach every passage of a long message", "anchor", people("anchor", strings.Repeat("red wall. ", 200)), map[string]float64{"s1": 1, "s2": .5}},
	} {
		t.Run(c.promise, func(t *testing.T) {
			want := map[string]float64{}
			for k, v := range c.want {
				want[k] = quantum(v)
			}
			if diff := cmp.Diff(want, fields(index(c.docs...), c.term)); diff != "" {
				t.Error(diff)
			}
			slices.Reverse(c.docs)
			late := NewIndex()
			for _, d := range c.docs {
				late.Add(d)
			}
			if diff := cmp.Diff(want, fields(late, c.term)); diff != "" {
				t.Errorf("added one by one from the end: %s", diff)
			}
		})
	}
}

func TestAReplyTurnsASessionOfPeopleIntoAnAssistantChat(t *testing.T) {
	x := index(doc("s", 1, memory.RoleUser, "Ann", "red anchor"), doc("s", 2, memory.RoleUser, "Bob", "blue"))
	if got := x.Search(Query{Terms: []string{"anchor"}}); places(got) != "s1 s2" || got.Hits[0].Kind != KindPerson {
		t.Fatalf("before: %+v", got)
	}
	x.Add(doc("s", 9, memory.RoleAssistant, "", "green"))
	if got := x.Search(Query{Terms: []string{"anchor"}}); places(got) != "s1" || got.Hits[0].Kind != KindAssistantChat {
		t.Errorf("after: %+v", got)
	}
	if got := x.Search(Query{Terms: []string{"ann"}}); len(got.Hits) != 0 {
		t.Errorf("the name still counts: %+v", got)
	}
}

func TestSearch(t *testing.T) {
	const user, assistant = memory.RoleUser, memory.RoleAssistant
	day := func(n int) time.Time { return time.Date(2024, 1, n, 0, 0, 0, 0, time.UTC) }
	x := index(
		docAt("a", 1, assistant, "", "red fox", day(2)), docAt("a", 2, user, "", "red fox", day(1)),
		docAt("b", 1, user, "", "red fox", day(3)), docAt("b", 2, user, "", "red hen", day(3)), docAt("b", 3, user, "", "cow", day(4)),
	)
	for _, c := range []struct {
		promise, want string
		q             Query
	}{
		{"equal scores stand by time, the latest first, then by session and seq", "b1 b2 a1 a2", Query{Terms: []string{"red"}}},
		{"a prior lifts what the user said", "b1 b2 a2 a1", Query{Terms: []string{"red"}, UserPrior: 1}},
		{"a repeated term counts once", "b1 b2 a1 a2", Query{Terms: []string{"red", "red"}}},
		{"sessions restrict", "b1 b2", Query{Terms: []string{"red"}, Sessions: map[memory.SessionKey]bool{"b": true}}},
		{"From is included and To is not", "a1", Query{Terms: []string{"red"}, From: day(2), To: day(3)}},
		{"what is excluded is left out", "b2 a1 a2", Query{Terms: []string{"red"}, Exclude: func(p memory.Place) bool { return p == memory.Place{Session: "b", Seq: 1} }}},
		{"what matches too little of the query is left out", "b1 a1 a2", Query{Terms: []string{"red", "fox"}, MinRelevance: .9}},
		{"no more than Limit come back", "b1 a1", Query{Terms: []string{"red", "fox"}, Limit: 2}},
		{"no terms match nothing", "", Query{}},
		{"unknown terms match nothing", "", Query{Terms: []string{"zebra"}}},
	} {
		t.Run(c.promise, func(t *testing.T) {
			if got := places(x.Search(c.q)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	t.Run("explained candidates are counted before Limit", func(t *testing.T) {
		if got := x.Search(Query{Terms: []string{"red"}, Limit: 1, Explain: true}); got.Candidates != 4 || len(got.Hits) != 1 {
			t.Errorf("got %d of %d", len(got.Hits), got.Candidates)
		}
	})
	t.Run("an unknown term lowers the relevance", func(t *testing.T) {
		if got := x.Search(Query{Terms: []string{"cow", "zebra"}}).Hits[0].Relevance; got <= .3 || got >= .5 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("an empty index finds nothing", func(t *testing.T) {
		if got := NewIndex().Search(Query{Terms: []string{"red"}}); len(got.Hits) != 0 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestALongMessageIsFoundByItsBestPassage(t *testing.T) {
	words := strings.Repeat("grey wall. ", 100) + "\n\nThe anchor lies here. " + strings.Repeat("Green field. ", 60)
	hit := index(doc("s", 1, memory.RoleUser, "", words)).Search(Query{Terms: []string{"anchor"}}).Hits[0]
	if hit.Whole || !strings.HasPrefix(hit.Passage.Of(words), "The anchor") {
		t.Errorf("got %+v", hit)
	}
}

func TestTheNamedSpeakerComesFirst(t *testing.T) {
	ann, bob := doc("s", 1, memory.RoleUser, "Ann", "red fox"), doc("t", 1, memory.RoleUser, "Bob", "red fox")
	factor := func(terms string) []Factor {
		for _, h := range index(ann, bob).Search(Query{Terms: strings.Fields(terms), Explain: true}).Hits {
			if h.Session == "s" {
				return h.Why.Factors
			}
		}
		return nil
	}
	if diff := cmp.Diff([]Factor{{FactorNamedSpeaker, 1.4}}, factor("ann fox")); diff != "" {
		t.Error(diff)
	}
	for _, q := range []string{"bob fox", "ann bob fox", "fox"} {
		if got := factor(q); got != nil {
			t.Errorf("%q: %v", q, got)
		}
	}
}

// chats draws documents of several sessions, of both kinds, in any order and with repeats.
func chats() *rapid.Generator[[]segment.Doc] {
	return rapid.Custom(func(t *rapid.T) []segment.Doc {
		word := rapid.SampledFrom(strings.Fields("red blue green fox hen cow runs sat ann bob may 8 ? 東京 커피"))
		var docs []segment.Doc
		for range rapid.IntRange(0, 25).Draw(t, "n") {
			words := strings.Join(rapid.SliceOfN(word, 0, 12).Draw(t, "words"), " ")
			if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
				words += strings.Repeat(" grey wall. ", 90) + words
			}
			role := rapid.SampledFrom([]memory.Role{memory.RoleUser, memory.RoleUser, memory.RoleUser, memory.RoleAssistant}).Draw(t, "role")
			name := rapid.SampledFrom([]string{"Ann", "Bob", "Ann Lee", ""}).Draw(t, "name")
			seq := rapid.IntRange(1, 12).Draw(t, "seq")
			session := rapid.SampledFrom([]string{"p", "q", "r"}).Draw(t, "session")
			if session == "p" {
				role = memory.RoleUser
			}
			at := may8.AddDate(0, 0, rapid.IntRange(-40000, 3).Draw(t, "day"))
			d := docAt(session, seq, role, name, words, at)
			d.MentionsTime = rapid.Bool().Draw(t, "mentions a time")
			docs = append(docs, d)
		}
		return segment.Distinct(docs)
	})
}

func queries() *rapid.Generator[Query] {
	return rapid.Custom(func(t *rapid.T) Query {
		return Query{
			Terms:     rapid.SliceOfN(rapid.SampledFrom(strings.Fields("red blue fox hen run ann bob may 8 2023 東京 grey zebra")), 0, 6).Draw(t, "terms"),
			Limit:     rapid.IntRange(0, 6).Draw(t, "limit"),
			UserPrior: rapid.SampledFrom([]float64{0, .5, 1}).Draw(t, "prior"), Explain: true,
			Near:     rapid.SampledFrom([]func(string) []synonyms.Word{nil, colours.of}).Draw(t, "near"),
			AsksWhen: rapid.Bool().Draw(t, "asks when"), Times: times().Draw(t, "times"), Attached: attached().Draw(t, "facts"),
		}
	})
}

// colours is a table in which colours are near to each other, and animals.
var colours = nearTable{
	"red": {{Term: "blue", Cosine: .83}, {Term: "green", Cosine: .61}, {Term: "grey", Cosine: .57}, {Term: "ann", Cosine: .5}},
	"fox": {{Term: "hen", Cosine: .71}, {Term: "cow", Cosine: .43}}, "zebra": {{Term: "cow", Cosine: .66}, {Term: "may", Cosine: .41}},
}

func times() *rapid.Generator[[]when.Mention] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) when.Mention {
		from := may8.AddDate(0, 0, rapid.IntRange(-800, 3).Draw(t, "day"))
		to := from.AddDate(0, 0, rapid.SampledFrom([]int{1, 7, 30, 365}).Draw(t, "days"))
		return when.Mention{From: from, To: to, Yearless: rapid.Bool().Draw(t, "yearless")}
	}), 0, 2)
}

func attached() *rapid.Generator[map[string][]memory.Place] {
	place := rapid.Custom(func(t *rapid.T) memory.Place {
		return memory.Place{Session: memory.SessionKey(rapid.SampledFrom([]string{"p", "q", "x"}).Draw(t, "session")), Seq: rapid.Int64Range(1, 12).Draw(t, "seq")}
	})
	return rapid.MapOfN(rapid.SampledFrom(strings.Fields("red blue fox zebra")), rapid.SliceOfN(place, 1, 3), 0, 2)
}

func TestTheOrderOfArrivalDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs, q := chats().Draw(t, "docs"), queries().Draw(t, "query")
		want := index(docs...).Search(q)
		mixed := NewIndex()
		order := rapid.Permutation(docs).Draw(t, "order")
		for len(order) > 0 {
			n := rapid.IntRange(1, len(order)).Draw(t, "batch")
			if rapid.Bool().Draw(t, "as segment") {
				if err := mixed.AddSegment(segment.Encode(order[:n])); err != nil {
					t.Fatal(err)
				}
			} else {
				mixed.Add(order[:n]...)
			}
			order = order[n:]
		}
		mixed.Add(docs...)
		if err := mixed.AddSegment(segment.Encode(docs)); err != nil {
			t.Fatal(err)
		}
		if mixed.Messages() != len(docs) {
			t.Fatalf("%d messages of %d", mixed.Messages(), len(docs))
		}
		if diff := cmp.Diff(want, mixed.Search(q)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestExplanationsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, h := range index(chats().Draw(t, "docs")...).Search(queries().Draw(t, "query")).Hits {
			sum, factor := 0.0, 1.0
			for _, s := range h.Why.Terms {
				sum += s.Score
			}
			for _, f := range h.Why.Factors {
				factor *= f.Value
			}
			if math.Abs(sum*factor-h.Score) > 1e-12*h.Score || len(h.Why.Terms) == 0 {
				t.Fatalf("%+v adds up to %v", h, sum*factor)
			}
			if h.Relevance <= 0 || h.Relevance > 1 {
				t.Fatalf("relevance %v", h.Relevance)
			}
		}
	})
}

func TestFiltersOnlyRestrict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, q := index(chats().Draw(t, "docs")...), queries().Draw(t, "query")
		q.Limit = 0
		all := x.Search(q)
		least := rapid.Float64Range(0, 1).Draw(t, "relevance")
		from := may8.AddDate(0, 0, rapid.IntRange(-40000, 3).Draw(t, "from"))
		odd := func(p memory.Place) bool { return p.Seq%2 == 1 }
		sessions := map[memory.SessionKey]bool{"p": true, "r": true}
		want := slices.DeleteFunc(slices.Clone(all.Hits), func(h Hit) bool {
			return !sessions[h.Session] || h.CreateTime.Before(from) || h.Relevance < least || odd(h.Place)
		})
		q.MinRelevance, q.From, q.Exclude, q.Sessions = least, from, odd, sessions
		got := x.Search(q)
		if diff := cmp.Diff(want, got.Hits, cmpopts.EquateEmpty()); diff != "" || got.Candidates != len(want) {
			t.Fatalf("%d candidates: %s", got.Candidates, diff)
		}
		q.Limit = 3
		if diff := cmp.Diff(want[:min(3, len(want))], x.Search(q).Hits, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestSearchesMayRunTogether(t *testing.T) {
	x := index(workload(300, memory.RoleUser, "Ann")...)
	q := Query{Terms: []string{"w1", "w2", "w3"}, Limit: 10, Explain: true}
	want := x.Search(q)
	done := make(chan string)
	for range 4 {
		go func() {
			diff := ""
			for range 50 {
				diff += cmp.Diff(want, x.Search(q))
			}
			done <- diff
		}()
	}
	for range 4 {
		if diff := <-done; diff != "" {
			t.Error(diff)
		}
	}
}

// workload is n messages in sessions of 200, log-normal lengths with a median of 25 words, from a Zipf vocabulary of
// 20,000.
func workload(n int, role memory.Role, name string) []segment.Doc {
	r := rand.New(rand.NewPCG(1, 2))
	z := rand.NewZipf(r, 1.0001, 1, 19_999)
	docs := make([]segment.Doc, n)
	for i := range docs {
		var words []string
		for range max(1, int(25*math.Exp(r.NormFloat64()*.5))) {
			words = append(words, fmt.Sprintf("w%d", z.Uint64()))
		}
		docs[i] = docAt(fmt.Sprintf("session-%03d", i/200), i%200+1, role, name, strings.Join(words, " "), may8.Add(time.Duration(i)*time.Minute))
	}
	return docs
}

func workloadQueries() []Query {
	r := rand.New(rand.NewPCG(3, 4))
	z := rand.NewZipf(r, 1.0001, 1, 19_999)
	qs := make([]Query, 64)
	for i := range qs {
		for range 8 {
			qs[i].Terms = append(qs[i].Terms, fmt.Sprintf("w%d", z.Uint64()))
		}
		qs[i].Limit, qs[i].UserPrior = 200, wordsPrior
	}
	return qs
}

// nearWorkloadQueries are those of the workload with eight words near to each, which stand as often as the words
// themselves. In the dialogues of TestLoCoMo it is three, and half as often.
func nearWorkloadQueries() []Query {
	r := rand.New(rand.NewPCG(9, 10))
	z := rand.NewZipf(r, 1.0001, 1, 19_999)
	qs := workloadQueries()
	for i := range qs {
		table := nearTable{}
		for _, t := range qs[i].Terms {
			table[t] = append(table[t], synonyms.Word{Term: fmt.Sprintf("w%d", z.Uint64()), Cosine: .6})
			for range 7 {
				table[t] = append(table[t], synonyms.Word{Term: fmt.Sprintf("w%d", r.IntN(20_000)), Cosine: .5})
			}
		}
		qs[i].Near = table.of
	}
	return qs
}

func BenchmarkSearch10k(b *testing.B) {
	for _, c := range []struct {
		name, speaker string
		queries       []Query
	}{
		{"people", "Ann", workloadQueries()},
		{"people with near words", "Ann", nearWorkloadQueries()},
		{"assistant", "", workloadQueries()},
	} {
		x := index(workload(10_000, memory.RoleUser, c.speaker)...)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				x.Search(c.queries[i%len(c.queries)])
			}
		})
	}
}

func BenchmarkSegment10k(b *testing.B) {
	docs := workload(10_000, memory.RoleUser, "Ann")
	data := segment.Encode(docs)
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			segment.Encode(docs)
		}
		b.ReportMetric(float64(len(data)), "bytes")
	})
	b.Run("load", func(b *testing.B) {
		b.ReportAllocs()
		var x *Index
		for b.Loop() {
			x = NewIndex()
			if err := x.AddSegment(data); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(x.Bytes()), "index-bytes")
	})
	b.Run("merge", func(b *testing.B) {
		for b.Loop() {
			if _, err := segment.Merge(data, data); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkAddOneTo10k(b *testing.B) {
	x := index(workload(10_000, memory.RoleUser, "Ann")...)
	more := workload(200, memory.RoleUser, "Bob")
	for i := 0; b.Loop(); i++ {
		d := more[i%len(more)]
		d.Session = memory.SessionKey(fmt.Sprintf("new-%09d", i/len(more)))
		x.Add(d)
	}
}

func TestLongQueries(t *testing.T) {
	t.Run("of more than MaxQueryTerms distinct terms the rarest count", func(t *testing.T) {
		x := NewIndex()
		for i := range 20 {
			words := "common " + fmt.Sprint("w", i)
			x.Add(segment.Analyze(memory.PlacedMessage{
				Place:   memory.Place{Session: "s", Seq: int64(i + 1)},
				Message: memory.Message{Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart(words)}},
			}))
		}
		terms := []string{"common"}
		for i := range MaxQueryTerms - 1 {
			terms = append(terms, fmt.Sprint("never", i))
		}
		terms = append(terms, "w7", "w8")
		hits := x.Search(Query{Terms: terms, Limit: 2}).Hits
		if len(hits) != 2 || hits[0].Seq+hits[1].Seq != 8+9 {
			t.Errorf("hits %+v", hits)
		}
	})
}
