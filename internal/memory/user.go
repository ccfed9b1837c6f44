package memory

import (
	"encoding/json"
	"time"
)

// User is what the service keeps about a user beside sessions, summaries and facts.
type User struct {
	Ref      UserRef
	Scope    ScopeKey
	HashKey  HashKey     // what of the user's ids is stored is hashed under it
	Timezone string      // an IANA name such as Asia/Seoul; "" for UTC
	Language string      // a BCP 47 tag such as ko; "" when unknown
	Extract  ExtractMode // ExtractNone: while it is set, no facts are learnt from the user's messages
	// State is what agents keep about the user over all sessions: a compact JSON object, nil for none or where it was not
	// asked for.
	State         json.RawMessage
	StateRevision int64 // how often State was changed
	CreateTime    time.Time
	UpdateTime    time.Time
	ETag          string // changes with Timezone, Language, Extract and State
	// FactRevision counts the writes to the user's facts. Every decision about facts is made against one revision.
	FactRevision int64
}

// Location is the user's timezone, UTC where none is set or the name is not known any more.
func (u User) Location() *time.Location {
	if u.Timezone == "" {
		return time.UTC
	}
	loc, err := time.LoadLocation(u.Timezone)
	if err != nil {
		return time.UTC
	}
	return loc
}
