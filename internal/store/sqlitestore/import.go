package sqlitestore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// notImporting leaves lives that are being imported out of a query of u.
const notImporting = `u.tenant <> char(1) || 'import'`

// BeginImport implements store.Imports.
func (s *archive) BeginImport(ctx context.Context, p store.ImportStart) error {
	return s.write(ctx, "begin import", func(c *conn) error {
		return c.run(`INSERT INTO users (tenant, user_id, scope_key, hash_key, create_time, update_time) VALUES (?, ?, ?, ?, ?, ?)`,
			store.ImportTenant, string(p.Scope), string(p.Scope), otherThan(p.Scope, p.HashKey), micros(p.Time), micros(p.Time))
	})
}

// otherThan is the hash key as it is stored: NULL where it is the scope key.
func otherThan(scope memory.ScopeKey, key memory.HashKey) any {
	if string(key) == string(scope) {
		return nil
	}
	return orNull(key)
}

// AddImported implements store.Imports.
func (s *archive) AddImported(ctx context.Context, p store.ImportedRecords) error {
	return s.write(ctx, "import records", func(c *conn) error {
		at, err := findUser(c, store.ImportUser(p.Scope))
		if memory.IsGone(err) {
			return store.ImportGone()
		}
		if err != nil {
			return err
		}
		if err := c.run(`UPDATE users SET update_time = ? WHERE uid = ?`, micros(p.Time), at.uid); err != nil {
			return err
		}
		im := imports{
			c: c, at: at, newKey: s.core.keys, tenant: p.User.Tenant, sids: map[memory.SessionKey]int64{}, keys: map[int64]memory.HashKey{},
		}
		for i := range p.Records {
			if err := im.add(&p.Records[i]); err != nil {
				return twice(fmt.Errorf("record %d: %w", i+1, err))
			}
		}
		return nil
	})
}

// twice is the error of records that a unique key refuses: the caller's file is wrong, and not the store.
func twice(err error) error {
	if code(err)&0xff == sqlite3.SQLITE_CONSTRAINT {
		return memory.InvalidField("lines", "hold something twice: a message id or a request id of a session, or a record")
	}
	return err
}

// imports is one call of AddImported while the writer runs it.
type imports struct {
	c      *conn
	at     found
	newKey func() string
	tenant string
	sids   map[memory.SessionKey]int64
	keys   map[int64]memory.HashKey // of the sessions whose turns were added: see hashKeyOf
}

func (im *imports) add(r *store.Record) error {
	switch {
	case r.Session != nil:
		return im.session(r.Session)
	case r.Turn != nil:
		return im.turn(r.Turn)
	case r.Revised != nil:
		return im.revised(r.Revised)
	case r.Node != nil:
		return im.node(*r.Node)
	case r.Job != nil:
		return im.job(r.Job)
	case r.Fact != nil:
		return im.fact(r.Fact)
	case r.Forgotten != nil:
		f := r.Forgotten
		return im.c.run(`INSERT INTO forgotten_facts (uid, change, fact_id, key_hash, time) VALUES (?, ?, ?, ?, ?)`,
			im.at.uid, f.Change, f.FactID, f.Key[:], orNever(f.Time))
	case r.Refused != nil:
		return im.refused(r.Refused)
	case r.Document != nil:
		return im.document(*r.Document, im.newKey())
	case r.Deleted != nil:
		return im.c.run(`INSERT INTO deleted_documents (uid, hash, time) VALUES (?, ?, ?)`, im.at.uid, r.Deleted.Hash[:], micros(r.Deleted.Time))
	}
	return fmt.Errorf("a record of no kind that belongs to a user's content")
}

// sid finds a session of the life that was imported before; 0 for no key.
func (im *imports) sid(key memory.SessionKey) (int64, error) {
	if key == "" {
		return 0, nil
	}
	sid, err := sessionByKey(im.c, im.at.uid, key, im.sids)
	if err == nil && sid == 0 {
		err = fmt.Errorf("its session was not imported before it")
	}
	return sid, err
}

// session stores the head. Until PublishImport neither background work nor a view has to look at it.
func (im *imports) session(r *store.SessionRecord) error {
	_, sid, err := im.c.exec(`INSERT INTO sessions (uid, session_id, session_key, title, profile, state_revision, last_turn_no, last_seq,
		steps_since_user, create_time, update_time, revision, extract, covered_seq, covered_time, context_start, last_message_time,
		hashed_under) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		im.at.uid, r.Ref.SessionID, string(r.Key), r.Title, r.Profile, r.StateRevision, r.LastTurnNo, r.LastSeq,
		r.StepsSinceUser, micros(r.CreateTime), micros(r.UpdateTime), r.Revision, int(r.Extract), r.CoveredSeq, orNever(r.CoveredTime),
		r.ContextStart, orNone(r.LastMessageTime), otherKey(im.at.hashKey, r.HashKey))
	if err != nil {
		return err
	}
	im.sids[r.Key] = sid
	if err := putObject(im.c, "session_metadata", "sid", "metadata", sid, r.Metadata); err != nil {
		return err
	}
	return putObject(im.c, "session_state", "sid", "state", sid, r.State)
}

// otherKey is the key of a session's hashes as it is stored: NULL where it is the user's.
func otherKey(users, key memory.HashKey) any {
	if key == users {
		return nil
	}
	return orNull(key)
}

// hashKeyOf is the key of a session's hashes.
func (im *imports) hashKeyOf(sid int64) (memory.HashKey, error) {
	if key, ok := im.keys[sid]; ok {
		return key, nil
	}
	key := im.at.hashKey
	_, err := im.c.first(`SELECT hashed_under FROM sessions WHERE sid = ? AND hashed_under IS NOT NULL`, func(r row) error {
		key = memory.HashKey(r.text(0))
		return nil
	}, sid)
	im.keys[sid] = key
	return key, err
}

func (im *imports) turn(r *store.TurnRecord) error {
	sid, err := im.sid(r.Session)
	if err != nil {
		return err
	}
	key, err := im.hashKeyOf(sid)
	if err != nil {
		return err
	}
	at, recallable := found{uid: im.at.uid, sid: sid, hashKey: key}, 0
	for i := range r.Messages {
		if r.Messages[i].Recallable() {
			recallable++
		}
		if err := insertImported(im.c, at, &r.Messages[i]); err != nil {
			return err
		}
	}
	pending := 0
	if len(r.Messages) > 0 {
		pending = pendingSearchIndex
	}
	return im.c.run(`INSERT INTO turns (key, sid, uid, first_seq, n, recallable, record_time, pending,
		request_hash, request_digest, result, state_patch) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		place(sid, r.TurnNo), sid, im.at.uid, r.FirstSeq, len(r.Messages), recallable, micros(r.RecordTime), pending,
		orNullBlob(r.RequestHash), orNullBlob(r.RequestDigest), orNull(r.Result), orNull(r.StatePatch))
}

// insertImported stores a message as it was stored elsewhere.
func insertImported(c *conn, at found, m *store.MessageRecord) error {
	id := m.IDHash
	if !m.Deleted {
		hash := at.hashKey.Keyed(memory.IDDigest(m.ID))
		id = hash[:]
	}
	if id != nil {
		err := c.run(`INSERT INTO message_ids (sid, id_hash, seq, body_hash) VALUES (?, ?, ?, ?)`, at.sid, id, m.Seq, m.BodyHash)
		if err != nil {
			return err
		}
	}
	if err := insertMessage(c, at, m.Message); err != nil || !m.Deleted {
		return err
	}
	return c.run(`UPDATE messages SET deleted = 1 WHERE key = ?`, place(at.sid, m.Seq))
}

func (im *imports) revised(h *store.SummaryHistory) error {
	for _, r := range h.Revisions {
		sid, err := im.sid(r.Session)
		if err != nil {
			return err
		}
		place := revisedPlace{uid: im.at.uid, kind: int64(r.Kind), sid: sid, period: r.Period}
		v := revised{SummaryRevision: r.SummaryRevision, requestHash: r.RequestHash, requestDigest: r.RequestDigest}
		if err := insertRevised(im.c, place, v); err != nil {
			return err
		}
	}
	return nil
}

func (im *imports) node(n memory.SummaryNode) (err error) {
	at := im.at
	if at.sid, err = im.sid(n.Session); err != nil {
		return err
	}
	return insertNode(im.c, at, n)
}

// job stores a job, and moves its session's cursor behind its range.
func (im *imports) job(j *memory.Job) error {
	sid, err := im.sid(j.Session)
	if err != nil {
		return err
	}
	key, err := nextKey(im.c, "slots", im.at.uid)
	if err != nil {
		return err
	}
	var session, answer any
	if sid != 0 {
		session = sid
	}
	if j.Answer != nil {
		answer = j.Answer
	}
	err = im.c.run(`INSERT INTO slots (key, uid, tenant, sid, id, kind, level, from_no, to_no, generation, state, attempts,
		calls, input_tokens, output_tokens, create_time, update_time, not_before, reason, answer, failing_since)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		key, im.at.uid, im.tenant, session, j.ID(), int(j.Kind), j.Level, j.From, j.To, j.Generation, int(j.State), j.Attempts,
		j.Usage.Calls, j.Usage.InputTokens, j.Usage.OutputTokens, micros(j.CreateTime), micros(j.UpdateTime),
		orNever(j.NotBefore), orNull(j.Reason), answer, orNever(j.FailingSince))
	if err != nil || !store.MovesCursor(j.JobKey) {
		return err
	}
	column := cursorOf(j.Kind)
	return im.c.run(`UPDATE sessions SET `+column+` = max(`+column+`, ?) WHERE sid = ?`, j.To, sid)
}

// fact stores a fact with its history. Its vector comes by PutFactVectors, or is made anew.
func (im *imports) fact(r *store.FactRecord) error {
	key, err := nextKey(im.c, "facts", im.at.uid)
	if err != nil {
		return err
	}
	a := applying{c: im.c, uid: im.at.uid}
	for _, rev := range r.Revisions { // each is the fact as it was, kept as ApplyFacts keeps it
		a.change = rev.Change
		if err := a.store(key, rev.Fact); err != nil {
			return err
		}
		if err := im.c.run(`INSERT INTO fact_revisions (key, cause, slot_id, author, `+factState+`)
			SELECT key, ?, ?, ?, `+factState+` FROM facts WHERE key = ?`, int(rev.Cause), orNull(rev.JobID), orNull(rev.Author), key); err != nil {
			return err
		}
	}
	a.change = r.Change
	return a.store(key, r.Fact)
}

func (im *imports) refused(q *memory.Quarantined) error {
	key, err := nextKey(im.c, "quarantine", im.at.uid)
	if err != nil {
		return err
	}
	return im.c.run(`INSERT INTO quarantine (key, uid, id, time, session_id, slot_id, reason, model, operation)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, key, im.at.uid, q.ID, micros(q.Time), orNull(q.SessionID), orNull(q.JobID),
		q.Reason, orNull(q.Model), q.Operation)
}

// PublishImport implements store.Imports.
func (s *archive) PublishImport(ctx context.Context, p store.ImportEnd) error {
	return s.write(ctx, "end import", func(c *conn) error {
		at, err := findUser(c, store.ImportUser(p.User.Scope))
		if memory.IsGone(err) {
			return store.ImportGone()
		}
		if err != nil {
			return err
		}
		if _, err := findUser(c, p.User.Ref); !memory.IsGone(err) {
			if err == nil {
				err = store.UserExists(p.User.Ref)
			}
			return err
		}
		return serve(c, at.uid, p)
	})
}

// serve gives the life its user, and has everything looked at that follows from it.
func serve(c *conn, uid int64, p store.ImportEnd) error {
	u, now := p.User, micros(p.Time)
	var facts any
	if u.FactRevision > 0 {
		facts = now
	}
	if err := c.run(`UPDATE users SET tenant = ?, user_id = ?, timezone = ?, language = ?, extract = ?, create_time = ?, update_time = ?,
		revision = ?, fact_revision = ?, state_revision = ?, periods_at = ?, vectors_at = ?, facts_at = ?, pending_since = (SELECT record_time
		FROM turns WHERE turns.uid = users.uid AND (pending & 1) != 0 ORDER BY record_time LIMIT 1) WHERE uid = ?`,
		u.Ref.Tenant, u.Ref.UserID, u.Timezone, u.Language, int(u.Extract), micros(u.CreateTime), micros(u.UpdateTime),
		u.Revision, u.FactRevision, u.StateRevision, now, facts, facts, uid); err != nil {
		return err
	}
	if err := putObject(c, "user_state", "uid", "state", uid, u.State); err != nil {
		return err
	}
	if err := c.run(`UPDATE sessions SET look_at = ?, feed_at = ? WHERE uid = ? AND last_seq > 0`, now, now, uid); err != nil {
		return err
	}
	versions, err := embeddingVersions(c)
	if err != nil {
		return err
	}
	for _, v := range versions {
		if err := c.run(`INSERT INTO unembedded (version, fact_key) SELECT ?1, key FROM facts WHERE uid = ?2 AND NOT EXISTS
			(SELECT 1 FROM fact_vectors v WHERE v.version = ?1 AND v.fact_key = facts.key)`, v, uid); err != nil {
			return err
		}
	}
	return nil
}

// abandoned are the rows of a life, so that what refers to others goes first. The first two parameters bound the user's
// keys, the third is the user, the fourth how many rows to delete.
var abandoned = []string{
	`DELETE FROM segments WHERE no IN (SELECT no FROM segments WHERE uid = ?3 LIMIT ?4)`,
	`DELETE FROM fact_vectors WHERE key IN (SELECT key FROM fact_vectors WHERE key BETWEEN ?1 AND ?2 LIMIT ?4)`,
	`DELETE FROM forgotten_facts WHERE (uid, change, fact_id, key_hash) IN
		(SELECT uid, change, fact_id, key_hash FROM forgotten_facts WHERE uid = ?3 LIMIT ?4)`,
	`DELETE FROM quarantine WHERE key IN (SELECT key FROM quarantine WHERE key BETWEEN ?1 AND ?2 LIMIT ?4)`,
	`DELETE FROM fact_sessions WHERE (uid, session_id, fact_key) IN
		(SELECT uid, session_id, fact_key FROM fact_sessions WHERE uid = ?3 LIMIT ?4)`,
	`DELETE FROM fact_revisions WHERE (key, revision) IN
		(SELECT key, revision FROM fact_revisions WHERE key BETWEEN ?1 AND ?2 LIMIT ?4)`,
	`DELETE FROM facts WHERE key IN (SELECT key FROM facts WHERE key BETWEEN ?1 AND ?2 LIMIT ?4)`,
	`DELETE FROM nodes WHERE key IN (SELECT key FROM nodes WHERE key BETWEEN ?1 AND ?2 LIMIT ?4)`,
	`DELETE FROM summary_revisions WHERE (uid, kind, sid, period, revision) IN
		(SELECT uid, kind, sid, period, revision FROM summary_revisions WHERE uid = ?3 LIMIT ?4)`,
	`DELETE FROM slots WHERE key IN (SELECT key FROM slots WHERE key BETWEEN ?1 AND ?2 LIMIT ?4)`,
	`DELETE FROM hidden_messages WHERE (uid, key) IN (SELECT uid, key FROM hidden_messages WHERE uid = ?3 LIMIT ?4)`,
	`DELETE FROM documents WHERE (uid, namespace, key) IN (SELECT uid, namespace, key FROM documents WHERE uid = ?3 LIMIT ?4)`,
	`DELETE FROM deleted_documents WHERE (uid, hash) IN (SELECT uid, hash FROM deleted_documents WHERE uid = ?3 LIMIT ?4)`,
}

// abandonedOfSession are the rows of a session, in the same order; the third parameter is the session.
var abandonedOfSession = []string{
	`DELETE FROM originals WHERE key IN (SELECT key FROM originals WHERE key BETWEEN ?1 AND ?2 LIMIT ?4)`,
	`DELETE FROM messages WHERE key IN (SELECT key FROM messages WHERE key BETWEEN ?1 AND ?2 LIMIT ?4)`,
	`DELETE FROM message_ids WHERE (sid, id_hash) IN (SELECT sid, id_hash FROM message_ids WHERE sid = ?3 LIMIT ?4)`,
	`DELETE FROM tool_calls WHERE (sid, call_hash) IN (SELECT sid, call_hash FROM tool_calls WHERE sid = ?3 LIMIT ?4)`,
	`DELETE FROM turns WHERE key IN (SELECT key FROM turns WHERE key BETWEEN ?1 AND ?2 LIMIT ?4)`,
	`DELETE FROM session_metadata WHERE sid = ?3`,
	`DELETE FROM session_state WHERE sid = ?3`,
	`DELETE FROM sessions WHERE sid = ?3`,
}

// AbandonImport implements store.Imports. The user's row goes last, so that a later call finds what is left.
func (s *archive) AbandonImport(ctx context.Context, scope memory.ScopeKey, limit int) (done bool, err error) {
	var uid int64
	var empty bool
	err = s.write(ctx, "abandon import", func(c *conn) error {
		at, err := findUser(c, store.ImportUser(scope))
		if memory.IsGone(err) {
			uid, empty = 0, true
			return nil
		}
		if err != nil {
			return err
		}
		uid = at.uid
		if err := c.run(`UPDATE users SET merge_into = NULL WHERE uid = ?`, uid); err != nil {
			return err
		}
		empty, err = deleteLife(c, at.uid, int64(limit))
		return err
	})
	if err != nil || !empty || uid == 0 {
		return empty && err == nil, err
	}
	if gone, err := s.purge(ctx); err != nil || !gone {
		return false, err
	}
	err = s.write(ctx, "abandon import", func(c *conn) error {
		return c.run(`DELETE FROM users WHERE uid = ? AND tenant = ?`, uid, store.ImportTenant)
	})
	return err == nil, err
}

// deleteLife deletes rows of a life but the user's own, and reports whether none is left.
func deleteLife(c *conn, uid, left int64) (empty bool, err error) {
	if left, err = deleteSome(c, abandoned, uid, left); err != nil || left <= 0 {
		return false, err
	}
	for left > 0 {
		var sid int64
		more, err := c.first(`SELECT sid FROM sessions WHERE uid = ? LIMIT 1`, func(r row) error {
			sid = r.int(0)
			return nil
		}, uid)
		if err != nil || !more {
			return !more, err
		}
		if left, err = deleteSome(c, abandonedOfSession, sid, left); err != nil {
			return false, err
		}
	}
	return false, nil
}

// deleteSome runs the statements until they have deleted so many rows, and returns how many may still be deleted.
func deleteSome(c *conn, statements []string, id, left int64) (int64, error) {
	for _, sql := range statements {
		n, _, err := c.exec(sql, place(id, 0), place(id, maxNo), id, left)
		if err != nil {
			return 0, err
		}
		if left -= n; left <= 0 {
			return 0, nil
		}
	}
	return left, nil
}

// StaleImports implements store.Imports.
func (s *archive) StaleImports(ctx context.Context, before time.Time, limit int) (stale []store.StaleImport, err error) {
	err = s.read(ctx, "find stale imports", func(c *conn) error {
		return c.query(`SELECT scope_key, merge_into FROM users WHERE tenant = ? AND update_time < ? ORDER BY user_id LIMIT ?+0`, func(r row) error {
			one := store.StaleImport{Scope: memory.ScopeKey(r.text(0))}
			if b := r.json(1); b != nil {
				one.Into = &store.Merge{}
				if err := json.Unmarshal(b, one.Into); err != nil {
					return fmt.Errorf("decode whom an import goes to: %w", err)
				}
			}
			stale = append(stale, one)
			return nil
		}, store.ImportTenant, micros(before), limit)
	})
	return stale, err
}
