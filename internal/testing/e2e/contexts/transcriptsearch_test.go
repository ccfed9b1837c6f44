package contexts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/backendtest"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// onElasticsearch starts a server over SQLite and Elasticsearch, in indexes of its own.
func onElasticsearch(t *testing.T) *e2e.Server {
	t.Helper()
	corner := backendtest.Backends{Elasticsearch: backend.Elasticsearch(t), Name: fmt.Sprintf("words%d", time.Now().UnixNano())}
	t.Cleanup(func() {
		if err := corner.Drop(); err != nil {
			t.Error(err)
		}
	})
	return e2e.StartWith(t, t.TempDir()+"/strata.db", app.Options{Sweep: 200 * time.Millisecond}, func(c *config.Config) {
		c.ElasticsearchURL, c.ElasticsearchPrefix, c.ViewDeadline = corner.Elasticsearch, corner.Name, patient
	})
}

// patient is how long a call waits for a view on a busy machine: each hit must be the view's.
const patient = 10 * time.Second

// transcriptSearch is a server that is asked for the transcript alone, and the arm that must have found every hit.
type transcriptSearch struct {
	*e2e.Server
	arm string
}

// pages asks until there is no further page, and returns the ids of all hits.
func (s transcriptSearch) pages(t *testing.T, in *memoryv1.SearchMessagesRequest) (ids []string, pages int) {
	t.Helper()
	in = proto.CloneOf(in)
	in.UserId, in.Mode, in.Explain = "ada", memoryv1.SearchMode_SEARCH_MODE_TRANSCRIPT, true
	for {
		page := e2e.Must(s.SearchMessages(s.Ctx, in))(t)
		if len(page.GetDegraded()) > 0 || page.GetEmbedder() != "" {
			t.Fatalf("degraded %v, embedded by %q", page.GetDegraded(), page.GetEmbedder())
		}
		for _, h := range page.GetHits() {
			ids = append(ids, h.GetMessage().GetId())
			if arms := h.GetExplanation().GetArms(); len(arms) != 1 || arms[0].GetArm() != s.arm || int(h.GetExplanation().GetRank()) != len(ids) {
				t.Fatalf("%s is explained by %v, not by %s at rank %d", h.GetMessage().GetId(), h.GetExplanation(), s.arm, len(ids))
			}
		}
		pages++
		if in.PageToken = page.GetNextPageToken(); in.GetPageToken() == "" {
			return ids, pages
		}
	}
}

// TestTheTranscriptAloneMeansTheSameInEveryStore asks every set of stores the same questions.
func TestTheTranscriptAloneMeansTheSameInEveryStore(t *testing.T) {
	for name, open := range map[string]func(*testing.T) transcriptSearch{
		"SQLite":                   func(t *testing.T) transcriptSearch { return transcriptSearch{e2e.Start(t), "lexical"} },
		"SQLite and Elasticsearch": func(t *testing.T) transcriptSearch { return transcriptSearch{onElasticsearch(t), "elasticsearch"} },
		"MongoDB, Milvus and Elasticsearch": func(t *testing.T) transcriptSearch {
			return transcriptSearch{e2e.OnBackends(t, func(c *config.Config) { c.ViewDeadline = patient }).Server, "elasticsearch"}
		},
		"MongoDB": func(t *testing.T) transcriptSearch {
			return transcriptSearch{e2e.OnBackends(t, func(c *config.Config) { c.ElasticsearchURL = "" }).Server, "lexical"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testTranscriptSearch(t, open(t))
		})
	}
}

func testTranscriptSearch(t *testing.T, s transcriptSearch) {
	at := func(hour int) time.Time { return time.Date(2025, 3, 1, hour, 0, 0, 0, time.UTC) }
	long := strings.Repeat("Nothing of note happened on that quiet afternoon by the sea. ", 40)
	s.RecordTurn(t, "trip", saidAt(e2e.User("en1", "Book the night train to Vienna."), at(1)), saidAt(e2e.Assistant("en2", "The train at night is booked; a train, a train!"), at(2)),
		saidAt(e2e.User("en3", "He asked: to be, or not to be?"), at(3)), saidAt(e2e.Assistant("long", long+"\n\nLa montaña estaba nevada.\n\n"+long), at(4)))
	s.RecordTurn(t, "casa", saidAt(e2e.User("es1", "Mañana por la mañana iré al médico."), at(5)), saidAt(e2e.Assistant("es2", "El médico atiende por la tarde, mañana no."), at(6)))
	s.RecordTurn(t, "집", saidAt(e2e.User("ko1", "오늘 고양이가 커피를 마셨어요."), at(7)), saidAt(e2e.Assistant("ko2", "커피는 고양이에게 안 좋습니다."), at(8)))
	s.RecordTurn(t, "家", saidAt(e2e.User("ja1", "昨日、東京タワーに行ってきました。ありがとう！"), at(9)), saidAt(e2e.Assistant("zh1", "其实我喜欢喝茶，不喜欢咖啡。"), at(10)))
	s.RecordTurn(t, "tie", saidAt(e2e.User("tie1", "The zither is out of tune."), at(11)), saidAt(e2e.User("tie2", "The zither is new."), at(11)), saidAt(e2e.User("tie3", "A zither."), at(11)))
	const all = 13
	e2e.Eventually(t, "everything is found", func() bool {
		reply := e2e.Must(s.SearchMessages(s.Ctx, &memoryv1.SearchMessagesRequest{
			UserId: "ada", Mode: memoryv1.SearchMode_SEARCH_MODE_TRANSCRIPT, PageSize: 200,
			Query: "train night asked montaña médico 커피 東京 喜欢 zither",
		}))(t)
		return len(reply.GetHits()) == all && len(reply.GetDegraded()) == 0
	})
	roles := func(r ...memoryv1.Role) []memoryv1.Role { return r }
	for promise, c := range map[string]struct {
		ask  *memoryv1.SearchMessagesRequest
		want string
	}{
		"more of the different words first, then the latest":         {&memoryv1.SearchMessagesRequest{Query: "night train Vienna"}, "en1 en2"},
		"a word matches by its stem":                                 {&memoryv1.SearchMessagesRequest{Query: "nights in trains"}, "en2 en1"},
		"a phrase matches as it is written":                          {&memoryv1.SearchMessagesRequest{Phrases: []string{"NIGHT TRAIN"}}, "en1"},
		"a phrase has no stems":                                      {&memoryv1.SearchMessagesRequest{Phrases: []string{"night trains"}}, ""},
		"a phrase of little words, over punctuation":                 {&memoryv1.SearchMessagesRequest{Phrases: []string{"to be or not to be"}}, "en3"},
		"without accents":                                            {&memoryv1.SearchMessagesRequest{Phrases: []string{"manana por la manana"}}, "es1"},
		"a phrase and its words in another order":                    {&memoryv1.SearchMessagesRequest{Query: "tarde", Phrases: []string{"médico"}}, "es2 es1"},
		"several phrases must all stand there":                       {&memoryv1.SearchMessagesRequest{Phrases: []string{"el médico", "mañana"}}, "es2"},
		"Korean from a word's beginning, with another particle":      {&memoryv1.SearchMessagesRequest{Phrases: []string{"고양이"}}, "ko2 ko1"},
		"Korean in order":                                            {&memoryv1.SearchMessagesRequest{Phrases: []string{"고양이가 커피를 마셨"}}, "ko1"},
		"Japanese amid a sentence":                                   {&memoryv1.SearchMessagesRequest{Phrases: []string{"東京タワー"}}, "ja1"},
		"Japanese that is endings only":                              {&memoryv1.SearchMessagesRequest{Phrases: []string{"ありがとう"}}, "ja1"},
		"Chinese side by side":                                       {&memoryv1.SearchMessagesRequest{Phrases: []string{"我喜欢喝茶"}}, "zh1"},
		"Chinese not side by side":                                   {&memoryv1.SearchMessagesRequest{Phrases: []string{"我喜欢咖啡"}}, ""},
		"a word of another language in a long message":               {&memoryv1.SearchMessagesRequest{Query: "montañas nevadas"}, "long"},
		"equal times: the later message first":                       {&memoryv1.SearchMessagesRequest{Query: "zither"}, "tie3 tie2 tie1"},
		"by role":                                                    {&memoryv1.SearchMessagesRequest{Query: "train", Roles: roles(memoryv1.Role_ROLE_USER)}, "en1"},
		"by two roles":                                               {&memoryv1.SearchMessagesRequest{Query: "train", Roles: roles(memoryv1.Role_ROLE_USER, memoryv1.Role_ROLE_ASSISTANT)}, "en2 en1"},
		"from a time on":                                             {&memoryv1.SearchMessagesRequest{Query: "train", StartTime: timestamppb.New(at(2))}, "en2"},
		"before a time":                                              {&memoryv1.SearchMessagesRequest{Query: "train", EndTime: timestamppb.New(at(2))}, "en1"},
		"in a session":                                               {&memoryv1.SearchMessagesRequest{Phrases: []string{"mañana"}, SessionIds: []string{"casa", "none"}}, "es2 es1"},
		"in a session that is not there":                             {&memoryv1.SearchMessagesRequest{Query: "train", SessionIds: []string{"none"}}, ""},
		"words that stand nowhere":                                   {&memoryv1.SearchMessagesRequest{Query: "theorbo"}, ""},
		"a query of little words alone":                              {&memoryv1.SearchMessagesRequest{Query: "to be or not"}, ""},
		"no times are read from the query":                           {&memoryv1.SearchMessagesRequest{Query: "yesterday", AsOf: timestamppb.New(at(20))}, ""},
		"no meaning: synonyms and facts find nothing":                {&memoryv1.SearchMessagesRequest{Query: "railway"}, ""},
		"what a forged quotation mark asks for is words, not syntax": {&memoryv1.SearchMessagesRequest{Query: `"night train" OR role:user*`}, "en2 en1"},
	} {
		t.Run(promise, func(t *testing.T) {
			want := strings.Fields(c.want)
			for _, size := range []int32{0, 1} {
				c.ask.PageSize = size
				if got, _ := s.pages(t, c.ask); !slices.Equal(got, want) {
					t.Errorf("by pages of %d: %v, want %v", size, got, want)
				}
			}
		})
	}
	t.Run("a snippet shows the phrase", func(t *testing.T) {
		h := e2e.Must(s.SearchMessages(s.Ctx, &memoryv1.SearchMessagesRequest{
			UserId: "ada", Mode: memoryv1.SearchMode_SEARCH_MODE_TRANSCRIPT, Query: "sea", Phrases: []string{"LA MONTANA"},
		}))(t).GetHits()[0]
		var marked []string
		for _, r := range h.GetHighlights() {
			marked = append(marked, string([]rune(h.GetSnippet())[r.GetStart():r.GetEnd()]))
		}
		if !slices.Contains(marked, "La montaña") || len(h.GetSnippet()) > 1000 {
			t.Errorf("%q has %q marked", h.GetSnippet(), marked)
		}
	})
	t.Run("what is erased is not found, what is hidden says so", func(t *testing.T) {
		e2e.Must(s.UpdateMessage(s.Ctx, &memoryv1.UpdateMessageRequest{
			UserId: "ada", SessionId: "trip", Message: &memoryv1.Message{Id: "en2", Hidden: true}, UpdateMask: e2e.MaskOf("hidden"),
		}))(t)
		e2e.Must(s.DeleteMessages(s.Ctx, &memoryv1.DeleteMessagesRequest{UserId: "ada", SessionId: "trip", MessageIds: []string{"en1"}}))(t)
		hits := e2e.Must(s.SearchMessages(s.Ctx, &memoryv1.SearchMessagesRequest{
			UserId: "ada", Mode: memoryv1.SearchMode_SEARCH_MODE_TRANSCRIPT, Query: "night train",
		}))(t).GetHits()
		if len(hits) != 1 || hits[0].GetMessage().GetId() != "en2" || !hits[0].GetHidden() {
			t.Errorf("found %v", hits)
		}
	})
	t.Run("a phrase is found behind more near misses than one call looks at", func(t *testing.T) {
		s.RecordTurn(t, "crowd", saidAt(e2e.User("needle", "The grey heron stood still."), at(12)))
		const crowd = 2100
		for from := 0; from < crowd; from += 700 {
			var some []*memoryv1.Message
			for i := range 700 {
				some = append(some, saidAt(e2e.User(fmt.Sprint("near", from+i), "A heron, grey as slate."), at(13)))
			}
			s.RecordTurn(t, "crowd", some...)
		}
		e2e.Eventually(t, "the crowd is indexed", func() bool {
			return len(e2e.Must(s.SearchMessages(s.Ctx, &memoryv1.SearchMessagesRequest{
				UserId: "ada", Mode: memoryv1.SearchMode_SEARCH_MODE_TRANSCRIPT, Query: "heron",
			}))(t).GetDegraded()) == 0
		})
		e2e.Eventually(t, "the crowd is found", func() bool {
			got, _ := s.pages(t, &memoryv1.SearchMessagesRequest{Phrases: []string{"heron grey"}, PageSize: 200})
			return len(got) == crowd
		})
		if got, pages := s.pages(t, &memoryv1.SearchMessagesRequest{Phrases: []string{"grey heron"}}); !slices.Equal(got, []string{"needle"}) || pages < 2 {
			t.Errorf("found %v on %d pages", got, pages)
		}
	})
	t.Run("another user finds nothing of it, with this user's token neither", func(t *testing.T) {
		in := &memoryv1.SearchMessagesRequest{UserId: "ada", Mode: memoryv1.SearchMode_SEARCH_MODE_TRANSCRIPT, Query: "zither", PageSize: 1}
		token := e2e.Must(s.SearchMessages(s.Ctx, in))(t).GetNextPageToken()
		in.UserId = "eve"
		if hits := e2e.Must(s.SearchMessages(s.Ctx, in))(t).GetHits(); len(hits) > 0 {
			t.Errorf("found %v", hits)
		}
		in.PageToken = token
		if _, err := s.SearchMessages(s.Ctx, in); status.Code(err) != codes.InvalidArgument {
			t.Errorf("got %v", err)
		}
	})
}

// TestASearchOfTheTranscriptRefusesWhatItCannotDo names the field and what to do.
func TestASearchOfTheTranscriptRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	transcript := memoryv1.SearchMode_SEARCH_MODE_TRANSCRIPT
	for want, in := range map[string]*memoryv1.SearchMessagesRequest{
		"query: is required":                {Mode: transcript},
		"mode: is 9; it must be":            {Query: "a", Mode: 9},
		"phrases: are looked for with mode": {Query: "a", Phrases: []string{"b"}},
		"phrases: has 17 entries":           {Mode: transcript, Phrases: slices.Repeat([]string{"a"}, 17)},
		"phrases[1]: has 1025 bytes":        {Mode: transcript, Phrases: []string{"a", strings.Repeat("b", 1025)}},
		"phrases[0]: has neither letter":    {Mode: transcript, Phrases: []string{" ?! "}},
		"roles[0]: is ROLE_TOOL; only what": {Query: "a", Roles: []memoryv1.Role{memoryv1.Role_ROLE_TOOL}},
		"roles[0]: is 0; it":                {Mode: transcript, Query: "a", Roles: []memoryv1.Role{0}},
		"end_time: is not after start_time": {Mode: transcript, Query: "a", StartTime: timestamppb.New(time.Unix(9, 0)), EndTime: timestamppb.New(time.Unix(9, 0))},
		"page_token: is damaged":            {Mode: transcript, Query: "a", PageToken: "AAAA"},
	} {
		in.UserId = "ada"
		if _, err := h.SearchMessages(h.Ctx, in); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestAHybridSearchKeepsToRoles asks by words and meaning.
func TestAHybridSearchKeepsToRoles(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	h.RecordTurn(t, "s", e2e.User("u", "I play the theorbo in Lucca."), e2e.Assistant("a", "The theorbo is a lute, and Lucca a fine town."))
	for role, want := range map[memoryv1.Role]string{memoryv1.Role_ROLE_USER: "u", memoryv1.Role_ROLE_ASSISTANT: "a"} {
		hits := e2e.Must(h.SearchMessages(h.Ctx, &memoryv1.SearchMessagesRequest{UserId: "ada", Query: "theorbo in Lucca", Roles: []memoryv1.Role{role}}))(t).GetHits()
		if len(hits) != 1 || hits[0].GetMessage().GetId() != want {
			t.Errorf("%s: found %v", role, hits)
		}
	}
}

// TestAHybridSearchKeepsToTimesByTheMicrosecond bounds a search within one millisecond, which is what the index knows of a time.
func TestAHybridSearchKeepsToTimesByTheMicrosecond(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *e2e.Server{
		"SQLite":                   func(t *testing.T) *e2e.Server { return e2e.Start(t) },
		"SQLite and Elasticsearch": onElasticsearch,
		"MongoDB, Milvus and Elasticsearch": func(t *testing.T) *e2e.Server {
			return e2e.OnBackends(t, func(c *config.Config) { c.ViewDeadline = patient }).Server
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testTimesByTheMicrosecond(t, open(t))
		})
	}
}

func testTimesByTheMicrosecond(t *testing.T, h *e2e.Server) {
	at := func(micros int) time.Time { return time.Date(2025, 3, 1, 9, 0, 0, micros*1000, time.UTC) }
	stamp := func(micros int) *timestamppb.Timestamp { return timestamppb.New(at(micros)) }
	h.RecordTurn(t, "s", saidAt(e2e.User("early", "The zither is old."), at(200)), saidAt(e2e.User("late", "The zither is new."), at(700)))
	e2e.Eventually(t, "the views have both", func() bool {
		reply := e2e.Must(h.SearchMessages(h.Ctx, &memoryv1.SearchMessagesRequest{
			UserId: "ada", Query: "zither", Mode: memoryv1.SearchMode_SEARCH_MODE_TRANSCRIPT,
		}))(t)
		return len(reply.GetHits()) == 2 && len(reply.GetDegraded()) == 0
	})
	for promise, c := range map[string]struct {
		ask  *memoryv1.SearchMessagesRequest
		want []string
	}{
		"from the time itself":      {&memoryv1.SearchMessagesRequest{StartTime: stamp(700)}, []string{"late"}},
		"from a microsecond before": {&memoryv1.SearchMessagesRequest{StartTime: stamp(199)}, []string{"early", "late"}},
		"from a microsecond after":  {&memoryv1.SearchMessagesRequest{StartTime: stamp(201)}, []string{"late"}},
		"not before the time":       {&memoryv1.SearchMessagesRequest{EndTime: stamp(200)}, nil},
		"before the next":           {&memoryv1.SearchMessagesRequest{EndTime: stamp(700)}, []string{"early"}},
		"within a millisecond":      {&memoryv1.SearchMessagesRequest{StartTime: stamp(200), EndTime: stamp(201)}, []string{"early"}},
	} {
		c.ask.UserId, c.ask.Query, c.ask.SessionIds = "ada", "zither", []string{"s"}
		var got []string
		for _, hit := range e2e.Must(h.SearchMessages(h.Ctx, c.ask))(t).GetHits() {
			got = append(got, hit.GetMessage().GetId())
		}
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%s: found %v, want %v", promise, got, c.want)
		}
	}
}

// TestTheTranscriptIsSearchedInTheIndexWhileElasticsearchIsDown finds the same, and says who did not do its part.
func TestTheTranscriptIsSearchedInTheIndexWhileElasticsearchIsDown(t *testing.T) {
	t.Parallel()
	h := e2e.StartOn(t, t.TempDir()+"/strata.db", func(c *config.Config) { c.ElasticsearchURL = "http://127.0.0.1:9" })
	h.RecordTurn(t, "s", e2e.User("1", "The zither is out of tune."), e2e.User("2", "It is a zither."))
	reply := e2e.Must(h.SearchMessages(h.Ctx, &memoryv1.SearchMessagesRequest{
		UserId: "ada", Mode: memoryv1.SearchMode_SEARCH_MODE_TRANSCRIPT, Phrases: []string{"the zither"},
	}))(t)
	if len(reply.GetHits()) != 1 || reply.GetHits()[0].GetMessage().GetId() != "1" {
		t.Errorf("found %v", reply.GetHits())
	}
	if d := reply.GetDegraded(); len(d) != 1 || d[0].GetTier() != memory.ViewTranscript.String() {
		t.Errorf("degraded %v", d)
	}
}
