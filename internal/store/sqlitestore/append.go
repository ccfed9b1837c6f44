package sqlitestore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
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
	uid, sid       int64
	scope          memory.ScopeKey
	hashKey        memory.HashKey
	pendingSince   int64 // 0 when no turn is pending
	lastTurn       int64
	lastSeq        int64
	steps          int64
	stateRevision  int64
	state          json.RawMessage
	lastUpdateTime int64
	lastMessage    int64 // the latest SaidTime of its messages; 0 without any
	lookAt         int64 // when background work looks at the session; 0 for never
	feedAt         int64 // since when the transcript's view lacks something; 0 when it lacks nothing
}

// turnWriter is one call of Append while the writer runs it.
type turnWriter struct {
	c       *conn
	p       store.AppendParams
	keys    func() string
	now     int64 // the turn's record time, never below that of an earlier turn
	since   int64 // when it was recorded: what is to be done about it waits since then
	head    head
	first   head // as it was found
	stored  map[string]bool
	speech  int64 // stored messages that are recallable
	request []byte
	result  store.AppendResult
}

// Append implements store.Transcript.
func (s *transcript) Append(ctx context.Context, p store.AppendParams) (store.AppendResult, error) {
	var res store.AppendResult
	err := s.write(ctx, "append turn", func(c *conn) error {
		a := &turnWriter{c: c, p: p, keys: s.keys, now: micros(p.Time), since: micros(p.Time), stored: map[string]bool{}}
		err := a.run()
		res = a.result
		return err
	})
	if err != nil {
		return store.AppendResult{}, err
	}
	return res, nil
}

func (a *turnWriter) run() error {
	if err := a.findUser(); err != nil {
		return err
	}
	if err := a.findSession(); err != nil {
		return err
	}
	if replayed, err := a.replay(); replayed || err != nil {
		return err
	}
	if a.p.Refused != nil {
		return a.p.Refused
	}
	if e := a.p.ExpectedLastSeq; e != nil && *e != a.head.lastSeq {
		return store.LastSeqMismatch(a.p.Ref, *e, a.head.lastSeq)
	}
	a.first = a.head
	a.now = max(a.now, a.head.lastUpdateTime)
	for i := range a.p.Messages {
		if err := a.message(&a.p.Messages[i]); err != nil {
			return err
		}
	}
	if err := a.mergeState(); err != nil {
		return err
	}
	return a.writeTurn()
}

func (a *turnWriter) findUser() error {
	ref := a.p.Ref.UserRef
	found, err := a.c.first(`SELECT uid, scope_key, pending_since, `+hashKey+` FROM users WHERE tenant = ? AND user_id = ?`,
		func(r row) error {
			a.head.uid, a.head.scope, a.head.pendingSince = r.int(0), memory.ScopeKey(r.text(1)), r.int(2)
			a.head.hashKey = memory.HashKey(r.text(3))
			return nil
		}, ref.Tenant, ref.UserID)
	if err != nil || found {
		return err
	}
	a.head.scope = memory.ScopeKey(a.keys())
	a.head.hashKey = memory.HashKey(a.head.scope)
	a.head.uid, err = insertUser(a.c, ref, a.head.scope, a.now)
	return err
}

func insertUser(c *conn, ref memory.UserRef, scope memory.ScopeKey, now int64) (uid int64, err error) {
	_, uid, err = c.exec(`INSERT INTO users (tenant, user_id, scope_key, create_time, update_time) VALUES (?, ?, ?, ?, ?)`,
		ref.Tenant, ref.UserID, string(scope), now, now)
	return uid, err
}

func (a *turnWriter) findSession() error {
	h := &a.head
	found, err := a.c.first(`SELECT sid, last_turn_no, last_seq, steps_since_user, state_revision, update_time, look_at, feed_at,
		last_message_time, hashed_under
		FROM sessions WHERE uid = ? AND session_id = ?`,
		func(r row) error {
			h.sid, h.lastTurn, h.lastSeq, h.steps = r.int(0), r.int(1), r.int(2), r.int(3)
			h.stateRevision, h.lastUpdateTime, h.lookAt, h.feedAt, h.lastMessage = r.int(4), r.int(5), r.int(6), r.int(7), r.int(8)
			if key := r.text(9); key != "" {
				h.hashKey = memory.HashKey(key)
			}
			return nil
		}, h.uid, a.p.Ref.SessionID)
	if err != nil || found {
		return err
	}
	_, h.sid, err = a.c.exec(`INSERT INTO sessions (uid, session_id, session_key, profile, create_time, update_time)
		VALUES (?, ?, ?, ?, ?, ?)`, h.uid, a.p.Ref.SessionID, a.keys(), a.p.Profile, a.now, a.now)
	return err
}

// replay returns the first result of a request that was stored before.
func (a *turnWriter) replay() (bool, error) {
	if a.p.RequestID == "" {
		return false, nil
	}
	hash := a.head.hashKey.Keyed(memory.IDDigest(a.p.RequestID))
	a.request = hash[:]
	digest := a.head.hashKey.Keyed(a.p.RequestDigest)
	return a.c.first(`SELECT request_digest, result FROM turns WHERE sid = ? AND request_hash = ? AND request_hash IS NOT NULL`,
		func(r row) error {
			if string(r.blob(0)) != string(digest[:]) {
				return store.RequestIDReused(a.p.Ref, a.p.RequestID)
			}
			if err := json.Unmarshal(r.json(1), &a.result); err != nil {
				return fmt.Errorf("decode the first result: %w", err)
			}
			a.result.Replayed = true
			return nil
		}, a.head.sid, a.request)
}

// message stores one message, or finds it known.
func (a *turnWriter) message(m *store.NewMessage) error {
	a.result.MessageIDs = append(a.result.MessageIDs, m.ID)
	known, err := a.claimID(m)
	if err != nil {
		return err
	}
	if known {
		a.result.Deduplicated = append(a.result.Deduplicated, m.ID)
		return nil
	}
	a.head.lastSeq++
	a.stored[m.ID] = true
	switch m.Role {
	case memory.RoleUser:
		a.head.steps = 0
	case memory.RoleAssistant:
		a.head.steps++
	}
	a.head.lastMessage = max(a.head.lastMessage, micros(memory.SaidBy(m.CreateTime, a.p.Time)))
	if m.Recallable() {
		a.speech++
	}
	return a.insert(m)
}

// claimID takes the id for the next seq, or reports that the same message has it.
func (a *turnWriter) claimID(m *store.NewMessage) (known bool, err error) {
	id, body := a.head.hashKey.Keyed(memory.IDDigest(m.ID)), a.head.hashKey.Keyed(m.BodyDigest)
	added, _, err := a.c.exec(`INSERT INTO message_ids (sid, id_hash, seq, body_hash) VALUES (?, ?, ?, ?)
		ON CONFLICT DO NOTHING`, a.head.sid, id[:], a.head.lastSeq+1, body[:])
	if err != nil || added == 1 {
		return false, err
	}
	_, err = a.c.first(`SELECT body_hash FROM message_ids WHERE sid = ? AND id_hash = ?`, func(r row) error {
		if string(r.blob(0)) != string(body[:]) {
			return store.MessageIDReused(a.p.Ref, m.ID)
		}
		return nil
	}, a.head.sid, id[:])
	return true, err
}

func (a *turnWriter) insert(m *store.NewMessage) error {
	if a.head.lastSeq > maxNo {
		return fmt.Errorf("session %s holds %d messages: a key has no room for more", a.p.Ref.SessionID, maxNo)
	}
	key := place(a.head.sid, a.head.lastSeq)
	text, parts, err := encodeParts(m.Parts)
	if err != nil {
		return err
	}
	tags, err := encodeTags(m.Tags)
	if err != nil {
		return err
	}
	err = a.c.run(`INSERT INTO messages (key, turn_no, id, role, origin, extract, pinned, create_time, record_time,
		o200k, cl100k, name, text, parts, tags, metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		key, a.head.lastTurn+1, m.ID, int(m.Role), int(m.Origin), int(m.Extract), asInt(m.Pinned),
		micros(m.CreateTime), micros(a.p.Time), m.Tokens.O200K, m.Tokens.CL100K,
		orNull(m.Name), text, parts, tags, orNull(m.Metadata))
	if err != nil {
		return err
	}
	if err := a.insertOriginal(key, m.Original); err != nil {
		return err
	}
	if m.Hidden {
		if err := hide(a.c, a.head.uid, key, &m.Hidden); err != nil {
			return err
		}
	}
	return a.insertCalls(m)
}

func (a *turnWriter) insertOriginal(key int64, o *memory.Original) error {
	if o == nil {
		return nil
	}
	data := o.Data
	if data == nil {
		data = []byte{}
	}
	return a.c.run(`INSERT INTO originals (key, format, data) VALUES (?, ?, ?)`, key, o.Format, data)
}

func (a *turnWriter) insertCalls(m *store.NewMessage) error {
	for _, id := range m.ToolCalls() {
		hash := a.head.hashKey.Keyed(memory.IDDigest(id))
		err := a.c.run(`INSERT INTO tool_calls (sid, call_hash) VALUES (?, ?) ON CONFLICT DO UPDATE SET n = n + 1`, a.head.sid, hash[:])
		if err != nil {
			return err
		}
	}
	return nil
}

// mergeState applies the patch; only one that changes the state raises its revision.
func (a *turnWriter) mergeState() error {
	if len(a.p.StatePatch) == 0 {
		return nil
	}
	_, err := a.c.first(`SELECT state FROM session_state WHERE sid = ?`, func(r row) error {
		a.head.state = r.json(0)
		return nil
	}, a.head.sid)
	if err != nil {
		return err
	}
	merged, err := memory.MergeState(a.head.state, a.p.StatePatch, memory.Change{Revision: a.head.lastTurn + 1, Time: fromMicros(a.now)})
	if err != nil || string(merged) == string(a.head.state) {
		return err
	}
	a.head.state, a.head.stateRevision = merged, a.head.lastTurn+1
	return putObject(a.c, "session_state", "sid", "state", a.head.sid, merged)
}

// writeTurn writes the turn, if there is one, and the head.
func (a *turnWriter) writeTurn() error {
	n := a.head.lastSeq - a.first.lastSeq
	if err := a.p.Room.Check(n); err != nil {
		return err
	}
	a.result.FirstSeq = a.first.lastSeq + 1
	a.result.LastSeq = a.head.lastSeq
	a.result.StateRevision = a.head.stateRevision
	a.result.StepsSinceUser = int(a.head.steps)
	a.result.Findings = store.KeptFindings(a.p.Findings, a.stored)
	if n == 0 && a.p.RequestID == "" && len(a.p.StatePatch) == 0 {
		return nil
	}
	a.head.lastTurn++
	a.result.TurnNo = a.head.lastTurn
	if err := a.insertTurn(n); err != nil {
		return err
	}
	return a.updateHeads(n)
}

func (a *turnWriter) insertTurn(n int64) error {
	pending := 0
	if n > 0 {
		pending = pendingSearchIndex
	}
	var digest, result any
	if a.p.RequestID != "" {
		hash := a.head.hashKey.Keyed(a.p.RequestDigest)
		encoded, err := json.Marshal(a.result)
		if err != nil {
			return fmt.Errorf("encode result: %w", err)
		}
		digest, result = hash[:], string(encoded)
	}
	return a.c.run(`INSERT INTO turns (key, sid, uid, first_seq, n, recallable, record_time, pending,
		request_hash, request_digest, result, state_patch) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		place(a.head.sid, a.head.lastTurn), a.head.sid, a.head.uid, a.result.FirstSeq, n, a.speech, a.now, pending,
		a.request, digest, result, orNull(a.p.StatePatch))
}

func (a *turnWriter) updateHeads(n int64) error {
	h := a.head
	if err := a.updateSession(n); err != nil {
		return err
	}
	if n == 0 || (h.pendingSince != 0 && h.pendingSince <= a.since) {
		return nil
	}
	return a.c.run(`UPDATE users SET pending_since = ? WHERE uid = ?`, a.since, h.uid)
}

// updateSession names look_at and feed_at only where they change: a column that is named has its index rewritten.
func (a *turnWriter) updateSession(n int64) error {
	h := a.head
	if n > 0 && h.feedAt == 0 {
		if err := a.c.run(`UPDATE sessions SET feed_at = ? WHERE sid = ?`, a.since, h.sid); err != nil {
			return err
		}
	}
	if n == 0 || (h.lookAt != 0 && h.lookAt <= a.since) {
		return a.c.run(`UPDATE sessions SET last_turn_no = ?, last_seq = ?, steps_since_user = ?, state_revision = ?,
			update_time = ?, last_message_time = ? WHERE sid = ?`, h.lastTurn, h.lastSeq, h.steps, h.stateRevision, a.now, h.lastMessage, h.sid)
	}
	return a.c.run(`UPDATE sessions SET last_turn_no = ?, last_seq = ?, steps_since_user = ?, state_revision = ?,
		update_time = ?, last_message_time = ?, look_at = ? WHERE sid = ?`,
		h.lastTurn, h.lastSeq, h.steps, h.stateRevision, a.now, h.lastMessage, a.since, h.sid)
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
