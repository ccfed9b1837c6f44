package extract

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
)

// maxQueryBytes is how much of the lines RelatedQuery returns: an index looks at no more words than a few lines have.
const maxQueryBytes = 4000

// NewTask makes the task of a range. Messages that no model shall see, because extraction is off for them or a memory
// service put them into the prompt, are left out; so are messages without words.
func NewTask(in Input) Task {
	t := Task{
		Location:         in.Location,
		Language:         in.Language,
		ContextBytes:     in.ContextBytes,
		Guidance:         in.Guidance,
		Write:            in.Write,
		Temperature:      in.Temperature,
		CoreSignificance: cmp.Or(in.CoreSignificance, DefaultCoreSignificance),
	}
	if t.Location == nil {
		t.Location = time.UTC
	}
	roles := in.Learn
	if roles == nil {
		roles = []memory.Role{memory.RoleUser}
	}
	g := guard{rendered: map[string]bool{}}
	for _, m := range in.Earlier {
		g.hear(m)
		if l, ok := lineOf(in, t.Location, g, m, nil); ok {
			t.Earlier = append(t.Earlier, l)
		}
	}
	for _, m := range in.Context {
		g.hear(m)
		t.add(in, g, m, nil)
	}
	for _, m := range in.Messages {
		g.hear(m)
		t.add(in, g, m, roles)
	}
	for i, f := range in.Known {
		t.Known = append(t.Known, Known{Alias: fmt.Sprintf("f%d", i+1), Fact: f})
	}
	return t
}

// add appends the message's line. Its words may become facts when its role is one of learn.
func (t *Task) add(in Input, g guard, m memory.Message, learn []memory.Role) {
	if l, ok := lineOf(in, t.Location, g, m, learn); ok {
		l.Alias = fmt.Sprintf("m%d", len(t.Lines)+1)
		t.Lines = append(t.Lines, l)
	}
}

// lineOf is a message as a line without an alias; false for one that is left out.
func lineOf(in Input, location *time.Location, g guard, m memory.Message, learn []memory.Role) (Line, bool) {
	speaks := m.Role == memory.RoleUser || m.Role == memory.RoleAssistant || slices.Contains(learn, m.Role)
	if !speaks || m.Extract == memory.ExtractNone || m.Origin == memory.OriginRecalled {
		return Line{}, false
	}
	said := g.clean(m.SaidText())
	if len(words(said)) == 0 {
		return Line{}, false
	}
	return Line{
		Place:     memory.Place{Session: in.Session, Seq: m.Seq},
		ID:        m.ID,
		Role:      m.Role,
		Name:      strings.TrimSpace(m.Name),
		Time:      m.SaidTime().In(location),
		Recorded:  m.RecordTime,
		Text:      said,
		Learn:     slices.Contains(learn, m.Role),
		SessionID: in.SessionID,
	}, true
}

// IsEmpty reports whether there is nothing to learn from, so that no model need be asked.
func (t Task) IsEmpty() bool {
	return !slices.ContainsFunc(t.Lines, func(l Line) bool { return l.Learn })
}

// BetweenPeople reports whether people talk with each other, so that each is called by name: two names speak, or one
// does and no assistant answers. In a chat with an assistant the one who speaks is the user, whatever the name.
func (t Task) BetweenPeople() bool {
	names := map[string]bool{}
	assisted := false
	for _, l := range t.Lines {
		assisted = assisted || l.Role == memory.RoleAssistant
		if l.Role == memory.RoleUser && l.Name != "" {
			names[fold(l.Name)] = true
		}
	}
	return len(names) > 1 || len(names) == 1 && !assisted
}

// SpeakerOf is the subject of what a line says in the first person: "" for the user.
func (t Task) SpeakerOf(l Line) string {
	if l.Role == memory.RoleUser && !t.BetweenPeople() {
		return ""
	}
	return l.Name
}

// RelatedQuery is the words by which to find the known facts of the task, the latest lines first.
func RelatedQuery(t Task) string {
	var b strings.Builder
	for _, l := range slices.Backward(t.Lines) {
		if !l.Learn {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text.Clip(l.Text, maxQueryBytes-b.Len()))
		if b.Len() >= maxQueryBytes {
			break
		}
	}
	return b.String()
}
