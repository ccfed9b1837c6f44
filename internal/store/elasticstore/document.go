package elasticstore

import (
	"strings"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// messageDoc and factDoc are rows as an index has them; times are microseconds since 1970.
type messageDoc struct {
	Scope    memory.ScopeKey   `json:"scope"`
	Session  memory.SessionKey `json:"session"`
	Seq      int64             `json:"seq"`
	Revision int64             `json:"revision"`
	Role     any               `json:"role"` // its number, in the first schema, or its name
	Time     int64             `json:"time"`
	Terms    string            `json:"terms"`
	*messageContent
}

type factDoc struct {
	Scope        memory.ScopeKey `json:"scope"`
	Fact         string          `json:"fact"`
	Revision     int64           `json:"revision"`
	Category     memory.Category `json:"category"`
	Significance int             `json:"significance"`
	Current      bool            `json:"current"`
	Time         int64           `json:"time"`
	Terms        string          `json:"terms"`
	*factContent
}

// messageContent and factContent are what people look for and see of a row. Ranking uses none of it.
type messageContent struct {
	At        *time.Time `json:"@timestamp,omitempty"`
	Recorded  *time.Time `json:"record_time,omitempty"`
	Tenant    string     `json:"tenant,omitempty"`
	User      string     `json:"user,omitempty"`
	SessionID string     `json:"session_id,omitempty"`
	MessageID string     `json:"message_id,omitempty"`
	Name      string     `json:"name,omitempty"`
	Text      string     `json:"text,omitempty"`
}

type factContent struct {
	At       *time.Time `json:"@timestamp,omitempty"`
	Tenant   string     `json:"tenant,omitempty"`
	User     string     `json:"user,omitempty"`
	Category string     `json:"category_name,omitempty"`
	Subject  string     `json:"subject,omitempty"`
	Text     string     `json:"text,omitempty"`
}

// document is a row as an index that says this of itself has it.
func document(view memory.View, says meta, r store.TextRow) any {
	terms, c := strings.Join(r.Terms, " "), r.Content
	if view == memory.ViewFacts {
		d := factDoc{
			Scope: r.Scope, Fact: r.FactID, Revision: r.Revision, Category: r.Category, Significance: r.Significance, Current: r.Current,
			Time: r.Time.UnixMicro(), Terms: terms,
		}
		if says.Content {
			d.factContent = &factContent{
				At: date(r.Time), Tenant: c.User.Tenant, User: c.User.UserID, Category: categoryName(r.Category), Subject: c.Name, Text: c.Text,
			}
		}
		return d
	}
	d := messageDoc{
		Scope: r.Scope, Session: r.Place.Session, Seq: r.Place.Seq, Revision: r.Revision, Role: r.Role, Time: r.Time.UnixMicro(), Terms: terms,
	}
	if says.Schema > schemaTermsOnly {
		d.Role = r.Role.String()
	}
	if says.Content {
		d.messageContent = &messageContent{
			At: date(r.Time), Recorded: date(r.Recorded), Tenant: c.User.Tenant, User: c.User.UserID, SessionID: c.SessionID,
			MessageID: c.MessageID, Name: c.Name, Text: c.Text,
		}
	}
	return d
}

// date is the time as an index of dates takes it; nil for the zero time.
func date(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func categoryName(c memory.Category) string {
	switch c {
	case memory.CategoryPreference:
		return "preference"
	case memory.CategoryPersonalInfo:
		return "personal_info"
	case memory.CategoryGoal:
		return "goal"
	case memory.CategoryPainPoint:
		return "pain_point"
	case memory.CategoryDecision:
		return "decision"
	case memory.CategoryOther:
		return "other"
	}
	return ""
}
