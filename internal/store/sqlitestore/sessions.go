package sqlitestore

import (
	"bytes"
	"context"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

const sessionColumns = `s.sid, s.session_id, s.session_key, s.title, s.profile, s.state_revision, s.last_turn_no,
	s.last_seq, s.steps_since_user, s.create_time, s.update_time, s.revision, d.metadata, u.scope_key, s.extract, s.context_start,
	s.last_message_time`

// sessionColumnCount is how many columns scanSession reads.
const sessionColumnCount = 17

func scanSession(u memory.UserRef, r row) memory.Session {
	key := memory.SessionKey(r.text(2))
	return memory.Session{
		Ref: u.Session(r.text(1)), Key: key, ScopeKey: memory.ScopeKey(r.text(13)),
		Title: r.text(3), Profile: r.text(4), Metadata: r.json(12),
		StateRevision: r.int(5), LastTurnNo: r.int(6), LastSeq: r.int(7), StepsSinceUser: int(r.int(8)),
		CreateTime: fromMicros(r.int(9)), UpdateTime: fromMicros(r.int(10)),
		ETag:    store.SessionETag(key, r.int(11)),
		Extract: memory.ExtractMode(r.int(14)), ContextStart: r.int(15), LastMessageTime: orZero(r.int(16)),
	}
}

// Session implements store.Sessions.
func (s *transcript) Session(ctx context.Context, ref memory.SessionRef) (memory.Session, error) {
	var head memory.Session
	err := s.read(ctx, "read session", func(c *conn) (err error) {
		head, _, err = readSession(c, ref)
		return err
	})
	if err != nil {
		return memory.Session{}, err
	}
	return head, nil
}

func readSession(c *conn, ref memory.SessionRef) (head memory.Session, sid int64, err error) {
	ok, err := c.first(`SELECT `+sessionColumns+`, t.state FROM users u JOIN sessions s ON s.uid = u.uid
		LEFT JOIN session_metadata d ON d.sid = s.sid LEFT JOIN session_state t ON t.sid = s.sid
		WHERE u.tenant = ? AND u.user_id = ? AND s.session_id = ?`, func(r row) error {
		head, sid = scanSession(ref.UserRef, r), r.int(0)
		head.State = r.json(sessionColumnCount)
		return nil
	}, ref.Tenant, ref.UserID, ref.SessionID)
	if err == nil && !ok {
		_, err = findSession(c, ref) // the error names which of the two is missing
	}
	return head, sid, err
}

// ListSessions implements store.Sessions.
func (s *transcript) ListSessions(ctx context.Context, q store.SessionQuery) ([]memory.Session, error) {
	var page []memory.Session
	err := s.read(ctx, "list sessions", func(c *conn) error {
		at, err := findUser(c, q.User)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		page, err = readPage(c, at.uid, q)
		return err
	})
	return page, err
}

func readPage(c *conn, uid int64, q store.SessionQuery) (page []memory.Session, err error) {
	each := func(r row) error {
		page = append(page, scanSession(q.User, r))
		return nil
	}
	const from = `SELECT ` + sessionColumns + ` FROM sessions s JOIN users u ON u.uid = s.uid
		LEFT JOIN session_metadata d ON d.sid = s.sid WHERE s.uid = ?`
	const order = ` ORDER BY s.last_message_time DESC, s.session_id LIMIT ?+0`
	if q.After == nil {
		return page, c.query(from+order, each, uid, q.Limit)
	}
	t := orNone(q.After.Time)
	err = c.query(from+` AND s.last_message_time <= ? AND (s.last_message_time < ? OR s.session_id > ?)`+order, each,
		uid, t, t, q.After.SessionID, q.Limit)
	return page, err
}

// UpdateSession implements store.Sessions.
func (s *transcript) UpdateSession(ctx context.Context, u store.SessionUpdate) (memory.Session, error) {
	var head memory.Session
	err := s.write(ctx, "update session", func(c *conn) error {
		was, sid, err := readSession(c, u.Ref)
		if err != nil {
			return err
		}
		if u.ETag != "" && u.ETag != was.ETag {
			return store.ETagMismatch(u.Ref, u.ETag, was.ETag)
		}
		if err := changeHead(c, sid, was, u); err != nil {
			return err
		}
		at, err := findUser(c, u.Ref.UserRef)
		if err != nil {
			return err
		}
		if err := forbid(c, at.uid, u.Extract); err != nil {
			return err
		}
		head, _, err = readSession(c, u.Ref)
		return err
	})
	if err != nil {
		return memory.Session{}, err
	}
	return head, nil
}

// changeHead writes what differs; an update that changes nothing leaves times and ETag alone.
func changeHead(c *conn, sid int64, was memory.Session, u store.SessionUpdate) error {
	now, changed := store.UpdatedSession(was, u)
	if !changed {
		return nil
	}
	if !bytes.Equal(now.Metadata, was.Metadata) {
		if err := putObject(c, "session_metadata", "sid", "metadata", sid, now.Metadata); err != nil {
			return err
		}
	}
	if now.ContextStart != was.ContextStart {
		if err := lookAtPeriodsOf(c, sid, micros(u.Time)); err != nil {
			return err
		}
		if err := lookAtSession(c, sid, micros(u.Time)); err != nil {
			return err
		}
	}
	return c.run(`UPDATE sessions SET title = ?, profile = ?, extract = ?, context_start = ?, revision = revision + 1,
		update_time = ? WHERE sid = ?`, now.Title, now.Profile, int(now.Extract), now.ContextStart, micros(now.UpdateTime), sid)
}
