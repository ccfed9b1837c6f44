package mongostore

import (
	"encoding/json"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/stratamem/strata/internal/memory"
)

// turnDoc is a turn as it is stored: with its messages, so that it is one write.
type turnDoc struct {
	ID            string            `bson:"_id"` // see turnID
	Scope         memory.ScopeKey   `bson:"scope"`
	Session       memory.SessionKey `bson:"session"`
	Turn          int64             `bson:"turn"`
	FirstSeq      int64             `bson:"first_seq"`
	LastSeq       int64             `bson:"last_seq"` // first_seq - 1 without messages
	N             int64             `bson:"n"`
	Recallable    int64             `bson:"recallable"`
	RecordTime    int64             `bson:"record_time"`                 // never below that of an earlier turn
	LastMessage   int64             `bson:"last_message_time,omitempty"` // the latest SaidTime of its messages
	Pending       int               `bson:"pending,omitempty"`
	Request       []byte            `bson:"request,omitempty"` // keyed
	RequestDigest []byte            `bson:"request_digest,omitempty"`
	Result        string            `bson:"result,omitempty"` // JSON
	Patch         string            `bson:"patch,omitempty"`  // JSON
	State         string            `bson:"state,omitempty"`  // JSON; after this turn, where state_revision is turn
	StateRevision int64             `bson:"state_revision"`
	Steps         int64             `bson:"steps"`
	Tokens        int64             `bson:"tokens"`          // o200k
	Bytes         int64             `bson:"bytes"`           // as stored, without originals
	IDs           [][]byte          `bson:"ids,omitempty"`   // keyed, of the messages in their order
	Calls         [][]byte          `bson:"calls,omitempty"` // keyed, of the tool calls that the messages make
	Messages      []messageDoc      `bson:"messages,omitempty"`
	Erased        int64             `bson:"erased,omitempty"`  // counts the erasures that changed it
	Erasure       string            `bson:"erasure,omitempty"` // of a turn that is an erasure's fence
}

// turnPending is the mark of turns that the search index lacks. Those that wait are selected by its value, not by its being there: then
// every server reads them from an index that holds no others.
const turnPending = 1

// turnID makes turns lie in the order of their sessions.
func turnID(key memory.SessionKey, turn int64) string { return fmt.Sprintf("%s/%016x", key, turn) }

// afterTurns is above the id of every turn of the session, and below those of all that follow it.
func afterTurns(key memory.SessionKey) string { return string(key) + "0" } // '0' follows '/'

// turnsOf selects the session's turns.
func turnsOf(key memory.SessionKey) bson.D {
	return turnsBetween(key, eq("$gt", string(key)+"/", "$lt", afterTurns(key)))
}

// turnsBetween selects those of the session's turns whose ids are in a range. The ids alone would do; with the session beside them, only
// one shard is asked where turns are sharded by session, and a server that reads no range of _id from its index looks through the turns
// of the session, not through those of everybody.
func turnsBetween(key memory.SessionKey, ids bson.D) bson.D { return eq("session", key, "_id", ids) }

// messageDoc is a message within its turn.
type messageDoc struct {
	ID         string             `bson:"id"`
	BodyHash   []byte             `bson:"body_hash"` // keyed
	Seq        int64              `bson:"seq"`
	Role       memory.Role        `bson:"role"`
	Origin     memory.Origin      `bson:"origin"`
	Extract    memory.ExtractMode `bson:"extract"`
	Pinned     bool               `bson:"pinned,omitempty"`
	Hidden     bool               `bson:"hidden,omitempty"` // from contexts
	Deleted    bool               `bson:"deleted,omitempty"`
	Freed      bool               `bson:"freed,omitempty"`      // a deleted one's id may be recorded again: see idHash
	FirstHash  []byte             `bson:"first_hash,omitempty"` // of a deleted one whose id was free before: the hash of its first use
	CreateTime int64              `bson:"create_time"`
	RecordTime int64              `bson:"record_time"`
	O200K      int64              `bson:"o200k"`
	CL100K     int64              `bson:"cl100k"`
	Name       string             `bson:"name,omitempty"`
	Text       string             `bson:"text,omitempty"`  // of a message that is one plain text
	Parts      string             `bson:"parts,omitempty"` // JSON, of every other
	Tags       []string           `bson:"tags,omitempty"`
	Metadata   string             `bson:"metadata,omitempty"` // JSON
	Original   *originalDoc       `bson:"original,omitempty"`
}

// originalDoc is a provider's item verbatim. It is read only when it is asked for.
type originalDoc struct {
	Format string `bson:"format"`
	Data   []byte `bson:"data"`
}

// originals is left out of what is read unless it is asked for: it may be larger than all the rest.
const originals = "messages.original"

// withoutOriginals is the projection of those who ask for messages and not for originals.
func withoutOriginals() bson.D {
	return eq("ids", 0, "calls", 0, "request", 0, "request_digest", 0, "result", 0, "patch", 0, "state", 0, originals, 0)
}

func encodeMessage(key memory.HashKey, m memory.Message, body memory.Digest) (messageDoc, error) {
	hash := key.Keyed(body)
	d := messageDoc{
		ID: m.ID, BodyHash: hash[:], Seq: m.Seq, Role: m.Role, Origin: m.Origin, Extract: m.Extract, Pinned: m.Pinned, Hidden: m.Hidden,
		Deleted: m.Deleted, CreateTime: micros(m.CreateTime), RecordTime: micros(m.RecordTime), O200K: m.Tokens.O200K, CL100K: m.Tokens.CL100K,
		Name: m.Name, Tags: m.Tags, Metadata: string(m.Metadata),
	}
	if m.Original != nil {
		d.Original = &originalDoc{Format: m.Original.Format, Data: append([]byte{}, m.Original.Data...)}
	}
	if m.Deleted {
		return d, nil
	}
	if memory.IsPlainText(m.Parts) {
		d.Text = m.Parts[0].Text
		return d, nil
	}
	parts, err := json.Marshal(m.Parts)
	if err != nil {
		return d, fmt.Errorf("encode parts: %w", err)
	}
	d.Parts = string(parts)
	return d, nil
}

func (d messageDoc) message(turn int64) (memory.Message, error) {
	m := memory.Message{
		ID: d.ID, Seq: d.Seq, TurnNo: turn, Role: d.Role, Origin: d.Origin, Extract: d.Extract, Pinned: d.Pinned, Hidden: d.Hidden,
		Deleted: d.Deleted, CreateTime: fromMicros(d.CreateTime), RecordTime: fromMicros(d.RecordTime),
		Tokens: memory.TokenCounts{O200K: d.O200K, CL100K: d.CL100K},
		Name:   d.Name, Tags: d.Tags, Metadata: jsonOf(d.Metadata),
	}
	if d.Deleted {
		return m, nil
	}
	if d.Original != nil {
		m.Original = &memory.Original{Format: d.Original.Format, Data: d.Original.Data}
	}
	if d.Parts == "" {
		m.Parts = []memory.Part{memory.TextPart(d.Text)}
		return m, nil
	}
	if err := json.Unmarshal([]byte(d.Parts), &m.Parts); err != nil {
		return m, fmt.Errorf("decode the parts of message %d: %w", d.Seq, err)
	}
	return m, nil
}

// storedBytes is the size of what the message holds in texts.
func (d messageDoc) storedBytes() int64 {
	n := len(d.ID) + len(d.Name) + len(d.Text) + len(d.Parts) + len(d.Metadata)
	for _, tag := range d.Tags {
		n += len(tag) + 3
	}
	if d.Original != nil {
		n += len(d.Original.Format) + len(d.Original.Data)
	}
	return int64(n)
}
