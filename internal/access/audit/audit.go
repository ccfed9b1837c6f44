// Package audit keeps who did what to whose memory, when, from where and with which outcome, and nothing of what the memory holds.
package audit

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Call is a call as the server knows it. Ids of people and of what they named are plain here, and hashed in the entry.
type Call struct {
	Principal auth.Principal // zero where nobody was verified
	KeyID     string         // that a refused credential named; "" otherwise
	Method    string         // such as MemoryService/DeleteMessages
	Outcome   string         // the canonical code that the caller gets
	Reason    string
	UserID    string
	SessionID string
	RequestID string
	Target    string // the tenant that the call named; "" for none
	Thing     string // such as fact:ID; "" for none
	Items     int64
	DryRun    bool
	Address   string
	UserAgent string
}

// maxUserAgent is how much of what a caller says of its program is kept.
const maxUserAgent = 200

// entry is the call's entry.
func (h Hasher) entry(c Call, id string, now time.Time) store.AuditEntry {
	e := store.AuditEntry{
		ID: id, Time: now.UTC().Truncate(time.Microsecond), Tenant: auth.DefaultTenant, Call: c.Method, Outcome: c.Outcome, Reason: c.Reason,
		Thing: c.Thing, Items: c.Items, DryRun: c.DryRun, Address: c.Address, UserAgent: printable(c.UserAgent, maxUserAgent),
	}
	if c.KeyID != "" {
		e.Principal = keyPrefix + c.KeyID
	}
	if c.Principal.Valid() {
		e.Tenant, e.Role, e.Principal = c.Principal.Tenant, c.Principal.Role.String(), h.principal(c.Principal)
	}
	if c.Target != e.Tenant {
		e.Target = c.Target
	}
	if c.UserID != "" {
		user := memory.UserRef{Tenant: e.Tenant, UserID: c.UserID}
		e.User = h.User(user)
		if c.SessionID != "" {
			e.Session = h.Session(user.Session(c.SessionID))
		}
	}
	if c.RequestID != "" {
		e.Request = h.Request(e.Tenant, c.RequestID)
	}
	return e
}

// printable is the text without what is not printable, cut to so many bytes.
func printable(s string, most int) string {
	var b strings.Builder
	for _, r := range s {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			continue
		}
		if b.Len()+utf8.RuneLen(r) > most {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}
