package console

import (
	"math"
	"strconv"
	"strings"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// How many rows a page has.
const (
	rowsOfList       = 100
	rowsOfTranscript = 50
	rowsOfSearch     = 30
)

// argument of the request's address.
func (v *visit) argument(name string) string { return v.r.URL.Query().Get(name) }

// ofUser begins a page about the user whom the address names.
func (v *visit) ofUser(tab, title string) page {
	return page{Tab: tab, Title: v.words.of(title), User: v.argument("user"), Session: v.argument("session")}
}

func (v *visit) showUsers() error {
	reply, err := v.api.users.ListUsers(v.ctx(), &memoryv1.ListUsersRequest{PageSize: rowsOfList, PageToken: v.argument("page")})
	if err != nil {
		return err
	}
	return v.show("users.html", page{Tab: "users", Title: v.words.of("users.title"), Data: reply})
}

// sessionsData is what the page of a user's sessions shows.
type sessionsData struct {
	*memoryv1.ListSessionsResponse
	Profile *memoryv1.User
}

func (v *visit) showSessions() error {
	p := v.ofUser("sessions", "sessions.title")
	user, err := v.api.users.GetUser(v.ctx(), &memoryv1.GetUserRequest{UserId: p.User})
	if err != nil {
		return err
	}
	list, err := v.api.memory.ListSessions(v.ctx(), &memoryv1.ListSessionsRequest{
		UserId: p.User, PageSize: rowsOfList, PageToken: v.argument("page"),
	})
	if err != nil {
		return err
	}
	p.Data = sessionsData{list, user.GetUser()}
	return v.show("sessions.html", p)
}

// transcriptData is a page of a session's messages.
type transcriptData struct {
	*memoryv1.ListMessagesResponse
	Of          *memoryv1.Session
	OldestFirst bool
	At          string // the seq of the message that a link leads to; "" for none
}

// rowsBefore is how many messages stand above the one that a link leads to.
const rowsBefore = 5

// from is the seq of the first row; 0 for where the order begins.
func (d transcriptData) from() int64 {
	at, err := strconv.ParseInt(d.At, 10, 64)
	if err != nil || at < 1 || at > math.MaxInt32 {
		return 0
	}
	if d.OldestFirst {
		return max(at-rowsBefore, 0)
	}
	return at + rowsBefore
}

func (v *visit) showTranscript() error {
	p := v.ofUser("sessions", "transcript.title")
	of, err := v.api.memory.GetSession(v.ctx(), &memoryv1.GetSessionRequest{UserId: p.User, SessionId: p.Session})
	if err != nil {
		return err
	}
	data := transcriptData{Of: of.GetSession(), OldestFirst: v.argument("order") == "oldest", At: v.argument("at")}
	data.ListMessagesResponse, err = v.api.memory.ListMessages(v.ctx(), &memoryv1.ListMessagesRequest{
		UserId: p.User, SessionId: p.Session, PageSize: rowsOfTranscript, PageToken: v.argument("page"), NewestFirst: !data.OldestFirst,
		FromSeq: data.from(),
	})
	if err != nil {
		return err
	}
	p.Data = data
	return v.show("transcript.html", p)
}

// searchData is what was found for a query, which stands in no address: those are kept by browsers and proxies.
type searchData struct {
	Query string
	Next  string
	Hits  []hit
	Lacks []*memoryv1.Degradation
}

// hit is a message that was found.
type hit struct {
	*memoryv1.MessageHit
	Snippet []piece
}

// piece is a part of a snippet.
type piece struct {
	Text   string
	Marked bool
}

func (v *visit) searchMessages() error {
	p := page{Tab: "sessions", Title: v.words.of("search.title"), User: v.r.PostFormValue("user"), Session: v.r.PostFormValue("session")}
	in := &memoryv1.SearchMessagesRequest{
		UserId: p.User, Query: v.r.PostFormValue("query"), PageSize: rowsOfSearch, PageToken: v.r.PostFormValue("page"),
	}
	if p.Session != "" {
		in.SessionIds = []string{p.Session}
	}
	reply, err := v.api.memory.SearchMessages(v.ctx(), in)
	if err != nil {
		return err
	}
	data := searchData{Query: in.GetQuery(), Next: reply.GetNextPageToken(), Lacks: reply.GetDegraded()}
	for _, h := range reply.GetHits() {
		data.Hits = append(data.Hits, hit{h, marked(h.GetSnippet(), h.GetHighlights())})
	}
	p.Data = data
	return v.show("search.html", p)
}

// marked cuts a text at the ranges that are to be marked, which are ascending and apart.
func marked(text string, ranges []*memoryv1.TextRange) (pieces []piece) {
	runes, at := []rune(text), 0
	for _, r := range ranges {
		start, end := min(max(int(r.GetStart()), at), len(runes)), min(int(r.GetEnd()), len(runes))
		if end <= start {
			continue
		}
		if start > at {
			pieces = append(pieces, piece{Text: string(runes[at:start])})
		}
		pieces = append(pieces, piece{Text: string(runes[start:end]), Marked: true})
		at = end
	}
	if at < len(runes) {
		pieces = append(pieces, piece{Text: string(runes[at:])})
	}
	return pieces
}

// factsData is a page of facts, or those that were found.
type factsData struct {
	Facts      []*memoryv1.Fact
	Scores     map[string]*memoryv1.FactScore // by the facts' ids, of those that were found
	Next       string
	Past       bool
	Query      string
	Categories []memoryv1.Category
	Category   memoryv1.Category
	Lacks      []*memoryv1.Degradation
}

func (v *visit) showFacts() error {
	p := v.ofUser("facts", "facts.title")
	data := factsData{Past: v.argument("past") != "", Categories: categories(), Category: categoryOf(v.argument("category"))}
	in := &memoryv1.ListFactsRequest{
		UserId: p.User, SessionId: p.Session, IncludePast: data.Past, PageSize: rowsOfList, PageToken: v.argument("page"),
	}
	if data.Category != 0 {
		in.Categories = []memoryv1.Category{data.Category}
	}
	reply, err := v.api.facts.ListFacts(v.ctx(), in)
	if err != nil {
		return err
	}
	data.Facts, data.Next = reply.GetFacts(), reply.GetNextPageToken()
	p.Data = data
	return v.show("facts.html", p)
}

func (v *visit) searchFacts() error {
	p := page{Tab: "facts", Title: v.words.of("facts.title"), User: v.r.PostFormValue("user")}
	data := factsData{Query: v.r.PostFormValue("query"), Categories: categories(), Scores: map[string]*memoryv1.FactScore{}}
	reply, err := v.api.facts.SearchFacts(v.ctx(), &memoryv1.SearchFactsRequest{UserId: p.User, Query: data.Query, PageSize: rowsOfSearch})
	if err != nil {
		return err
	}
	data.Lacks = reply.GetDegraded()
	for _, h := range reply.GetHits() {
		data.Facts = append(data.Facts, h.GetFact())
		data.Scores[h.GetFact().GetFactId()] = h.GetScore()
	}
	p.Data = data
	return v.show("facts.html", p)
}

// factData is a fact with its history.
type factData struct {
	*memoryv1.Fact
	Revisions  []*memoryv1.FactRevision
	Categories []memoryv1.Category
	TagLine    string
}

func (v *visit) showFact() error {
	p := v.ofUser("facts", "fact.title")
	id := v.argument("fact")
	reply, err := v.api.facts.GetFact(v.ctx(), &memoryv1.GetFactRequest{UserId: p.User, FactId: id})
	if err != nil {
		return err
	}
	history, err := v.api.facts.ListFactRevisions(v.ctx(), &memoryv1.ListFactRevisionsRequest{UserId: p.User, FactId: id})
	if err != nil {
		return err
	}
	p.Data = factData{
		Fact: reply.GetFact(), Revisions: history.GetRevisions(), Categories: categories(),
		TagLine: strings.Join(reply.GetFact().GetTags(), ", "),
	}
	return v.show("fact.html", p)
}

// categories are those that a fact may have.
func categories() (all []memoryv1.Category) {
	for number := memoryv1.Category_CATEGORY_PREFERENCE; number <= memoryv1.Category_CATEGORY_OTHER; number++ {
		all = append(all, number)
	}
	return all
}

// categoryOf is the category of that name; unspecified where there is none.
func categoryOf(name string) memoryv1.Category {
	return memoryv1.Category(memoryv1.Category_value[name])
}
