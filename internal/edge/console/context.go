package console

import (
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// contextData is the context explorer: what was asked, and what each profile would send.
type contextData struct {
	Sessions []*memoryv1.Session
	Profiles []string
	Query    string
	Profile  string
	Beside   string // the second profile
	Budget   string
	Asked    bool
	Built    []built
}

// built is the context of one profile.
type built struct {
	*memoryv1.BuildContextResponse
	Profile string
	Fault   string // why there is none
	Bar     []segment
	Text    string // as it would be sent, rendered as text
}

// segment is a section's part of the budget, in thousandths.
type segment struct {
	Kind        memoryv1.SectionKind
	Tokens      int64
	Start, Wide int64
	Shade       int // which of the shades it has, from 1
}

// shades are how many the style sheet has.
const shades = 6

// rowsOfChoice is how many sessions are offered; any other one can be typed.
const rowsOfChoice = 100

func (v *visit) showContext() error {
	p := v.ofUser("context", "context.title")
	return v.explore(p, contextData{Profile: v.argument("profile")})
}

// buildContext asks for the context, by a form: no address has what is asked.
func (v *visit) buildContext() error {
	p := page{Tab: "context", Title: v.words.of("context.title"), User: v.r.PostFormValue("user"), Session: v.r.PostFormValue("session")}
	data := contextData{
		Query: v.r.PostFormValue("query"), Profile: v.r.PostFormValue("profile"), Beside: v.r.PostFormValue("beside"),
		Budget: strings.TrimSpace(v.r.PostFormValue("budget")), Asked: true,
	}
	in := &memoryv1.BuildContextRequest{UserId: p.User, SessionId: p.Session, Query: data.Query, Explain: true}
	if data.Budget != "" {
		budget, err := strconv.ParseInt(data.Budget, 10, 64)
		if err != nil {
			data.Built = []built{{Profile: data.Profile, Fault: v.words.of("context.budget.malformed")}}
			return v.explore(p, data)
		}
		in.Overrides = &memoryv1.ContextOverrides{BudgetTokens: &budget}
	}
	profiles := []string{data.Profile}
	if data.Beside != "" && data.Beside != data.Profile {
		profiles = append(profiles, data.Beside)
	}
	for _, profile := range profiles {
		in.Profile = profile
		data.Built = append(data.Built, v.build(in))
		if last := data.Built[len(data.Built)-1]; last.Fault == "" {
			in.AsOf = last.GetAsOf() // both at the same time
		}
	}
	return v.explore(p, data)
}

func (v *visit) explore(p page, data contextData) error {
	list, err := v.api.memory.ListSessions(v.ctx(), &memoryv1.ListSessionsRequest{UserId: p.User, PageSize: rowsOfChoice})
	if err != nil {
		return err
	}
	data.Sessions, data.Profiles = list.GetSessions(), v.Profiles
	p.Here = address("context", url.Values{"user": {p.User}, "session": {p.Session}})
	p.Data = data
	return v.show("context.html", p)
}

// build asks twice at the same time of the same memory: for the sections with their reasons, and for what would be sent.
func (v *visit) build(in *memoryv1.BuildContextRequest) built {
	out := built{Profile: in.GetProfile()}
	in.Render = memoryv1.Render_RENDER_STRUCTURED
	reply, err := v.api.memory.BuildContext(v.ctx(), in)
	if err != nil {
		out.Fault = status.Convert(err).Message()
		return out
	}
	out.BuildContextResponse, out.Bar = reply, bar(reply.GetSections(), reply.GetUsage())
	in.Render, in.AsOf = memoryv1.Render_RENDER_TEXT, reply.GetAsOf()
	text, err := v.api.memory.BuildContext(v.ctx(), in)
	if err != nil {
		out.Fault = status.Convert(err).Message()
		return out
	}
	out.Text = text.GetRendering()
	return out
}

// bar lays the sections side by side over the budget. One that has anything is seen.
func bar(sections []*memoryv1.Section, usage *memoryv1.ContextUsage) (segments []segment) {
	whole := max(usage.GetAvailableTokens(), usage.GetTokens(), 1)
	var before int64
	for i, s := range sections {
		start := before * 1000 / whole
		before += s.GetTokens()
		segments = append(segments, segment{
			Kind: s.GetKind(), Tokens: s.GetTokens(), Start: start, Wide: max(before*1000/whole-start, 2), Shade: i%shades + 1,
		})
	}
	return segments
}

// Shade is the shade of a section in the bar.
func (b built) Shade(of memoryv1.SectionKind) int {
	for _, s := range b.Bar {
		if s.Kind == of {
			return s.Shade
		}
	}
	return 1
}
