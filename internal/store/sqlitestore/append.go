package sqlitestore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/writeplan"
)

const pendingSearchIndex = 1 // bit of turns.pending

// place is a message's or a turn's key: its session's sid above its number.
func place(sid, no int64) int64 { return sid<<32 | no }

// maxNo is the largest turn number and seq that a key has room for.
const maxNo = 1<<32 - 1

// micros is how times are stored.
func micros(t time.Time) int64 { return t.UnixMicro() }

// head is what Append needs to know of a session, and changes.
type head struct {
	writeplan.Session
	uid, sid     int64
	pendingSince int64 // 0 when no turn is pending
	lastMessage  int64 // the latest SaidTime of its messages; 0 without any
	lookAt       int64 // when background work looks at the session; 0 for never
	feedAt       int64 // since when the transcript's view lacks something; 0 when it lacks nothing
}

// turnWriter is one call of Append while the writer runs it.
type turnWriter struct {
	c    *conn
	p    store.AppendParams
	keys func() string
	now  int64 // the call's time: what is to be done about the turn waits since then
	head head
}

// Append implements store.Transcript.
func (s *transcript) Append(ctx context.Context, p store.AppendParams) (store.AppendResult, error) {
	var res store.AppendResult
	write := s.write
	if isSmall(&p) {
		write = s.writeSmall
	}
	err := write(ctx, "append turn", func(c *conn) error {
		a := &turnWriter{c: c, p: p, keys: s.keys, now: micros(p.Time)}
		t, err := a.run()
		res = t.Result
		return err
	})
	if err != nil {
		return store.AppendResult{}, err
	}
	return res, nil
}

// isSmall reports whether a turn writes few pages: see submitSmall. A state that it changes may be large.
func isSmall(p *store.AppendParams) bool {
	size := 0
	for i := range p.Messages {
		size += p.Messages[i].ContentBytes()
		if o := p.Messages[i].Original; o != nil {
			size += len(o.Data)
		}
	}
	return size <= smallBytes && len(p.Messages) <= smallMessages && len(p.StatePatch) == 0
}

func (a *turnWriter) run() (writeplan.Turn, error) {
	if err := a.findHead(); err != nil {
		return writeplan.Turn{}, err
	}
	first, err := a.recorded()
	if err != nil {
		return writeplan.Turn{}, err
	}
	if first == nil && len(a.p.StatePatch) > 0 {
		if err := a.findState(); err != nil {
			return writeplan.Turn{}, err
		}
	}
	t, err := writeplan.Append(a.head.Session, &a.p, first, a.claim)
	if err != nil || t.No == 0 {
		return t, err
	}
	return t, a.write(&t)
}

// findHead reads what is known of the user and the session, in one query, and stores those that are not known.
func (a *turnWriter) findHead() error {
	h, ref := &a.head, a.p.Ref
	_, err := a.c.first(`SELECT u.uid, u.pending_since, `+sessionHashKey+`, s.sid, s.last_turn_no,
		s.last_seq, s.steps_since_user, s.state_revision, s.update_time, s.look_at, s.feed_at, s.last_message_time
		FROM users AS u LEFT JOIN sessions AS s ON s.uid = u.uid AND s.session_id = ? WHERE u.tenant = ? AND u.user_id = ?`,
		func(r row) error {
			h.uid, h.pendingSince, h.HashKey = r.int(0), r.int(1), memory.HashKey(r.text(2))
			h.sid, h.LastTurn, h.LastSeq, h.Steps = r.int(3), r.int(4), r.int(5), r.int(6)
			h.StateRevision, h.UpdateTime, h.lookAt, h.feedAt, h.lastMessage = r.int(7), r.int(8), r.int(9), r.int(10), r.int(11)
			return nil
		}, ref.SessionID, ref.Tenant, ref.UserID)
	if err != nil || h.sid != 0 {
		return err
	}
	if h.uid == 0 {
		scope := memory.ScopeKey(a.keys())
		h.HashKey = memory.HashKey(scope)
		if h.uid, err = insertUser(a.c, ref.UserRef, scope, a.now); err != nil {
			return err
		}
	}
	_, h.sid, err = a.c.exec(`INSERT INTO sessions (uid, session_id, session_key, profile, create_time, update_time)
		VALUES (?, ?, ?, ?, ?, ?)`, h.uid, ref.SessionID, a.keys(), a.p.Profile, a.now, a.now)
	return err
}

func insertUser(c *conn, ref memory.UserRef, scope memory.ScopeKey, now int64) (uid int64, err error) {
	_, uid, err = c.exec(`INSERT INTO users (tenant, user_id, scope_key, create_time, update_time) VALUES (?, ?, ?, ?, ?)`,
		ref.Tenant, ref.UserID, string(scope), now, now)
	return uid, err
}

// recorded is the stored turn that has the call's request id; nil for none.
func (a *turnWriter) recorded() (first *writeplan.Recorded, err error) {
	if a.p.RequestID == "" {
		return nil, nil
	}
	hash := writeplan.Request(a.head.HashKey, a.p.RequestID)
	_, err = a.c.first(`SELECT request_digest, result FROM turns WHERE sid = ? AND request_hash = ? AND request_hash IS NOT NULL`,
		func(r row) error {
			result, err := writeplan.DecodeResult(r.json(1))
			first = &writeplan.Recorded{Result: result}
			copy(first.Digest[:], r.blob(0))
			return err
		}, a.head.sid, hash[:])
	return first, err
}

func (a *turnWriter) findState() error {
	_, err := a.c.first(`SELECT state FROM session_state WHERE sid = ?`, func(r row) error {
		a.head.State = r.json(0)
		return nil
	}, a.head.sid)
	return err
}

// claim is a writeplan.Claim. The insert looks for the id, so that a new one costs one statement.
func (a *turnWriter) claim(m *store.NewMessage, seq int64, body memory.KeyedHash) (known *memory.KeyedHash, err error) {
	id := a.head.HashKey.Keyed(memory.IDDigest(m.ID))
	added, _, err := a.c.exec(`INSERT INTO message_ids (sid, id_hash, seq, body_hash) VALUES (?, ?, ?, ?)
		ON CONFLICT DO NOTHING`, a.head.sid, id[:], seq, body[:])
	if err != nil || added == 1 {
		return nil, err
	}
	_, err = a.c.first(`SELECT body_hash FROM message_ids WHERE sid = ? AND id_hash = ?`, func(r row) error {
		known = &memory.KeyedHash{}
		copy(known[:], r.blob(0))
		return nil
	}, a.head.sid, id[:])
	return known, err
}

// write stores the turn with its messages, and the heads of its session and user.
func (a *turnWriter) write(t *writeplan.Turn) error {
	at := found{uid: a.head.uid, sid: a.head.sid, hashKey: a.head.HashKey}
	for _, m := range t.Messages {
		stored := m.Message
		stored.Seq, stored.TurnNo, stored.RecordTime = m.Seq, t.No, a.p.Time
		if err := insertMessage(a.c, at, stored); err != nil {
			return err
		}
	}
	if t.StateRevision == t.No {
		if err := putObject(a.c, "session_state", "sid", "state", a.head.sid, t.State); err != nil {
			return err
		}
	}
	if err := a.insertTurn(t); err != nil {
		return err
	}
	return a.updateHeads(t)
}

// insertMessage stores a message, whose id is claimed, at its place.
func insertMessage(c *conn, at found, m memory.Message) error {
	if m.Seq > maxNo {
		return fmt.Errorf("message %d of session %d: a key has room for %d", m.Seq, at.sid, maxNo)
	}
	key := place(at.sid, m.Seq)
	text, parts, err := encodeParts(m.Parts)
	if err != nil {
		return err
	}
	tags, err := encodeTags(m.Tags)
	if err != nil {
		return err
	}
	err = c.run(`INSERT INTO messages (key, turn_no, id, role, origin, extract, pinned, create_time, record_time,
		o200k, cl100k, name, text, parts, tags, metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		key, m.TurnNo, m.ID, int(m.Role), int(m.Origin), int(m.Extract), asInt(m.Pinned),
		micros(m.CreateTime), micros(m.RecordTime), m.Tokens.O200K, m.Tokens.CL100K,
		orNull(m.Name), text, parts, tags, orNull(m.Metadata))
	if err != nil {
		return err
	}
	if err := insertOriginal(c, key, m.Original); err != nil {
		return err
	}
	if m.Hidden {
		if err := hide(c, at.uid, key, &m.Hidden); err != nil {
			return err
		}
	}
	return insertCalls(c, at, m)
}

func insertOriginal(c *conn, key int64, o *memory.Original) error {
	if o == nil {
		return nil
	}
	data := o.Data
	if data == nil {
		data = []byte{}
	}
	return c.run(`INSERT INTO originals (key, format, data) VALUES (?, ?, ?)`, key, o.Format, data)
}

func insertCalls(c *conn, at found, m memory.Message) error {
	for _, id := range m.ToolCalls() {
		hash := at.hashKey.Keyed(memory.IDDigest(id))
		err := c.run(`INSERT INTO tool_calls (sid, call_hash) VALUES (?, ?) ON CONFLICT DO UPDATE SET n = n + 1`, at.sid, hash[:])
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *turnWriter) insertTurn(t *writeplan.Turn) error {
	pending := 0
	if len(t.Messages) > 0 {
		pending = pendingSearchIndex
	}
	var request, digest, result any
	if a.p.RequestID != "" {
		hash := writeplan.Request(a.head.HashKey, a.p.RequestID)
		request, digest, result = hash[:], t.RequestDigest[:], t.EncodedResult
	}
	return a.c.run(`INSERT INTO turns (key, sid, uid, first_seq, n, recallable, record_time, pending,
		request_hash, request_digest, result, state_patch) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		place(a.head.sid, t.No), a.head.sid, a.head.uid, t.FirstSeq, t.N(), t.Recallable, t.RecordTime, pending,
		request, digest, result, orNull(a.p.StatePatch))
}

func (a *turnWriter) updateHeads(t *writeplan.Turn) error {
	h := a.head
	if err := a.updateSession(t); err != nil {
		return err
	}
	if len(t.Messages) == 0 || (h.pendingSince != 0 && h.pendingSince <= a.now) {
		return nil
	}
	return a.c.run(`UPDATE users SET pending_since = ? WHERE uid = ?`, a.now, h.uid)
}

// updateSession names look_at and feed_at only where they change: a column that is named has its index rewritten.
func (a *turnWriter) updateSession(t *writeplan.Turn) error {
	h, n := a.head, len(t.Messages)
	if n > 0 && h.feedAt == 0 {
		if err := a.c.run(`UPDATE sessions SET feed_at = ? WHERE sid = ?`, a.now, h.sid); err != nil {
			return err
		}
	}
	said := max(h.lastMessage, t.LastMessage)
	if n == 0 || (h.lookAt != 0 && h.lookAt <= a.now) {
		return a.c.run(`UPDATE sessions SET last_turn_no = ?, last_seq = ?, steps_since_user = ?, state_revision = ?,
			update_time = ?, last_message_time = ? WHERE sid = ?`, t.No, t.LastSeq, t.Steps, t.StateRevision, t.RecordTime, said, h.sid)
	}
	return a.c.run(`UPDATE sessions SET last_turn_no = ?, last_seq = ?, steps_since_user = ?, state_revision = ?,
		update_time = ?, last_message_time = ?, look_at = ? WHERE sid = ?`,
		t.No, t.LastSeq, t.Steps, t.StateRevision, t.RecordTime, said, a.now, h.sid)
}

// putObject stores a large part of a session or user, or deletes it when it is empty.
func putObject(c *conn, table, key, column string, id int64, object json.RawMessage) error {
	if len(object) == 0 {
		return c.run(`DELETE FROM `+table+` WHERE `+key+` = ?`, id)
	}
	return c.run(`INSERT INTO `+table+` (`+key+`, `+column+`) VALUES (?, ?)
		ON CONFLICT (`+key+`) DO UPDATE SET `+column+` = excluded.`+column, id, string(object))
}

// encodeParts returns what goes into the columns text and parts; one of them is nil. A message of one plain text is
// stored as that text, so that reading it decodes nothing.
func encodeParts(parts []memory.Part) (text, encoded any, err error) {
	if memory.IsPlainText(parts) {
		return parts[0].Text, nil, nil
	}
	b, err := json.Marshal(parts)
	if err != nil {
		return nil, nil, fmt.Errorf("encode parts: %w", err)
	}
	return nil, string(b), nil
}

func encodeTags(tags []string) (any, error) {
	if len(tags) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(tags)
	if err != nil {
		return nil, fmt.Errorf("encode tags: %w", err)
	}
	return string(b), nil
}
