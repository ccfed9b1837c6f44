package sqlitestore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/writeplan"
)

// SearchIndex implements store.SearchIndex.
func (s *searchIndex) SearchIndex(ctx context.Context, q store.SearchIndexQuery) (store.SearchIndexState, error) {
	var state store.SearchIndexState
	err := s.read(ctx, "read search index", func(c *conn) error {
		at, err := findUser(c, q.User)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		state.Scope = at.scope
		if err := readSegmentInfos(c, at.uid, &state); err != nil {
			return err
		}
		if state.Turns, err = turnsCheckpoint(c, at.uid); err != nil {
			return err
		}
		return readPendingState(c, at.uid, q, &state)
	})
	if err != nil {
		return store.SearchIndexState{}, err
	}
	return state, nil
}

func readSegmentInfos(c *conn, uid int64, state *store.SearchIndexState) error {
	return c.query(`SELECT no, messages, bytes, replaces, embedding FROM segments WHERE uid = ? ORDER BY no`, func(r row) error {
		info := store.SegmentInfo{No: r.int(0), Messages: int(r.int(1)), Bytes: int(r.int(2)), Embedding: int(r.int(4))}
		if b := r.json(3); b != nil {
			if err := json.Unmarshal(b, &info.Replaces); err != nil {
				return fmt.Errorf("decode segment %d: %w", info.No, err)
			}
		}
		state.Segments = append(state.Segments, info)
		return nil
	}, uid)
}

// ofLiving leaves out turns of erased sessions that were not swept yet.
const ofLiving = ` AND EXISTS (SELECT 1 FROM sessions WHERE sessions.sid = turns.key >> 32)`

// readPendingState counts the recallable messages that are pending, and reads what the query asks for of them.
func readPendingState(c *conn, uid int64, q store.SearchIndexQuery, state *store.SearchIndexState) error {
	var turns int64
	_, err := c.first(`SELECT count(*), sum(recallable) FROM turns WHERE uid = ? AND (pending & 1) != 0`+ofLiving, func(r row) error {
		turns, state.More = r.int(0), int(r.int(1))
		return nil
	}, uid)
	if err != nil || turns == 0 {
		return err
	}
	if err := readPendingFrom(c, uid, q.SessionID, state); err != nil {
		return err
	}
	if state.More == 0 || q.MaxUnindexed <= 0 {
		return nil
	}
	return readUnindexed(c, uid, q, state)
}

// readPendingFrom walks the user's pending turns, not the session's turns: those may be many more. The order of record
// times is that of a session's turns.
func readPendingFrom(c *conn, uid int64, sessionID string, state *store.SearchIndexState) error {
	if sessionID == "" {
		return nil
	}
	_, err := c.first(`SELECT t.first_seq FROM sessions s
		CROSS JOIN turns t INDEXED BY turns_pending_lexicon ON t.uid = s.uid AND (t.pending & 1) != 0 AND +t.key >> 32 = s.sid
		WHERE s.uid = ? AND s.session_id = ? ORDER BY t.record_time, t.key LIMIT 1`, func(r row) error {
		state.PendingFrom = r.int(0)
		return nil
	}, uid, sessionID)
	return err
}

func readUnindexed(c *conn, uid int64, q store.SearchIndexQuery, state *store.SearchIndexState) error {
	var bytes int64
	err := c.query(`SELECT `+messageColumns+`, s.session_key, s.session_id FROM turns t
		CROSS JOIN sessions s ON s.sid = t.sid
		CROSS JOIN messages m ON m.key BETWEEN (t.sid << 32 | t.first_seq) AND (t.sid << 32 | (t.first_seq + t.n - 1))
		WHERE t.uid = ? AND (t.pending & 1) != 0 AND m.role IN (?, ?) AND m.origin <> ? AND m.deleted = 0
		ORDER BY t.record_time, t.key, m.key LIMIT ?+0`, func(r row) error {
		bytes += storedBytes(r[:messageColumnCount])
		if q.MaxBytes > 0 && bytes > q.MaxBytes {
			return errStop
		}
		m, err := scanMessage(r)
		state.Unindexed = append(state.Unindexed, memory.PlacedMessage{
			Place:     memory.Place{Session: memory.SessionKey(r.text(messageColumnCount)), Seq: m.Seq},
			SessionID: r.text(messageColumnCount + 1), Message: m,
		})
		return err
	}, uid, int(memory.RoleUser), int(memory.RoleAssistant), int(memory.OriginRecalled), q.MaxUnindexed)
	state.More -= len(state.Unindexed)
	return err
}

// Segments implements store.SearchIndex.
func (s *searchIndex) Segments(ctx context.Context, user memory.UserRef, nos []int64) ([]store.Segment, error) {
	var found []store.Segment
	err := s.read(ctx, "read segments", func(c *conn) error {
		at, err := findUser(c, user)
		if err != nil {
			return err
		}
		for _, no := range nos {
			_, err := c.first(`SELECT data FROM segments WHERE no = ? AND uid = ?`, func(r row) error {
				found = append(found, store.Segment{No: no, Data: r.blob(0)})
				return nil
			}, no, at.uid)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
}

// PutSegment implements store.SearchIndex.
func (s *searchIndex) PutSegment(ctx context.Context, p store.SegmentWrite) (no int64, err error) {
	hash := writeplan.SegmentHash(p) // before the writer is held
	err = s.write(ctx, "put segment", func(c *conn) (err error) {
		no, err = putSegment(c, p, hash)
		return err
	})
	if err != nil {
		return 0, err
	}
	return no, nil
}

func putSegment(c *conn, p store.SegmentWrite, hash memory.KeyedHash) (int64, error) {
	at, err := findLife(c, p.User, p.Scope)
	if err != nil {
		return 0, err
	}
	found := writeplan.FoundForSegment{}
	for _, old := range p.Replaces {
		n, _, err := c.exec(`DELETE FROM segments WHERE no = ? AND uid = ?`, old, at.uid)
		if err != nil {
			return 0, err
		}
		found.Replaced += int(n)
	}
	if found.Pending, err = clearMarks(c, at.uid, p.Turns); err != nil {
		return 0, err
	}
	if found.Pending < len(p.Turns) {
		if found.Same, err = segmentOf(c, at.uid, hash); err != nil {
			return 0, err
		}
	}
	does, err := writeplan.PutSegment(p, found)
	if err != nil || does.Before != 0 {
		return does.Before, err
	}
	if err := refreshPending(c, at.uid, found.Pending); err != nil {
		return 0, err
	}
	if !does.Stores {
		return 0, nil
	}
	return insertSegment(c, at.uid, p, hash)
}

// clearMarks returns how many of the turns were pending.
func clearMarks(c *conn, uid int64, turns []store.TurnRef) (cleared int, err error) {
	sids := map[memory.SessionKey]int64{}
	for _, t := range turns {
		sid, err := sessionByKey(c, uid, t.Session, sids)
		if err != nil {
			return 0, err
		}
		n, _, err := c.exec(`UPDATE turns SET pending = pending & ~1 WHERE (pending & 1) != 0 AND key = ? AND uid = ?`,
			place(sid, t.TurnNo), uid)
		if err != nil {
			return 0, err
		}
		cleared += int(n)
	}
	return cleared, nil
}

// sessionByKey looks a session of the user up once; 0, which no session has, when there is none.
func sessionByKey(c *conn, uid int64, key memory.SessionKey, sids map[memory.SessionKey]int64) (int64, error) {
	if sid, ok := sids[key]; ok {
		return sid, nil
	}
	_, err := c.first(`SELECT sid FROM sessions WHERE uid = ? AND session_key = ?`, func(r row) error {
		sids[key] = r.int(0)
		return nil
	}, uid, string(key))
	return sids[key], err
}

// segmentOf returns the number of the user's segment whose data has the hash; 0 for none.
func segmentOf(c *conn, uid int64, hash memory.KeyedHash) (int64, error) {
	return c.number(`SELECT no FROM segments WHERE uid = ? AND data_hash = ?`, uid, hash[:])
}

// refreshPending brings the user's place in the order of PendingUsers up to date.
func refreshPending(c *conn, uid int64, changed int) error {
	if changed == 0 {
		return nil
	}
	return c.run(`UPDATE users SET pending_since = (SELECT record_time FROM turns
		WHERE turns.uid = users.uid AND (pending & 1) != 0`+ofLiving+` ORDER BY record_time LIMIT 1) WHERE uid = ?`, uid)
}

func insertSegment(c *conn, uid int64, p store.SegmentWrite, hash memory.KeyedHash) (int64, error) {
	var replaces any
	if len(p.Replaces) > 0 {
		b, err := json.Marshal(p.Replaces)
		if err != nil {
			return 0, fmt.Errorf("encode replaced segments: %w", err)
		}
		replaces = string(b)
	}
	_, no, err := c.exec(`INSERT INTO segments (uid, analyzer, messages, bytes, replaces, embedding, data_hash, data)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, uid, p.Analyzer, p.Messages, len(p.Data), replaces, p.Embedding, hash[:], p.Data)
	if err != nil {
		return 0, err
	}
	return no, turnsChanged(c, uid, no, micros(p.Time))
}

// PendingUsers implements store.SearchIndex.
func (s *searchIndex) PendingUsers(ctx context.Context, limit int) ([]memory.UserRef, error) {
	var users []memory.UserRef
	err := s.read(ctx, "find pending users", func(c *conn) error {
		return c.query(`SELECT u.tenant, u.user_id FROM users u WHERE u.pending_since IS NOT NULL AND `+notImporting+`
			ORDER BY u.pending_since, u.uid LIMIT ?+0`, func(r row) error {
			users = append(users, memory.UserRef{Tenant: r.text(0), UserID: r.text(1)})
			return nil
		}, limit)
	})
	return users, err
}

// PendingTurns implements store.SearchIndex.
func (s *searchIndex) PendingTurns(ctx context.Context, q store.PendingQuery) ([]store.Turn, error) {
	var turns []store.Turn
	err := s.readLong(ctx, "read pending turns", func(c *conn) error {
		at, err := findUser(c, q.User)
		if err != nil {
			return err
		}
		turns, err = readPending(c, at, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	return turns, nil
}

func readPending(c *conn, at found, q store.PendingQuery) (turns []store.Turn, err error) {
	var n int
	var bytes int64
	err = c.query(`SELECT t.key, t.sid, t.first_seq, t.n, s.session_key, s.session_id FROM turns t
		CROSS JOIN sessions s ON s.sid = t.sid WHERE t.uid = ? AND (t.pending & 1) != 0
		ORDER BY t.record_time, t.key`, func(r row) error {
		t := store.Turn{
			TurnRef:   store.TurnRef{Session: memory.SessionKey(r.text(4)), TurnNo: r.int(0) & maxNo},
			SessionID: r.text(5), Scope: at.scope,
		}
		sid, first, count := r.int(1), r.int(2), r.int(3)
		run := store.MessageQuery{After: first - 1, Before: first + count, Limit: int(count)}
		limited := q.MaxBytes > 0 && len(turns) > 0
		if limited {
			run.MaxBytes = max(q.MaxBytes-bytes, 1)
		}
		messages, size, err := readRun(c, sid, run)
		if err != nil {
			return err
		}
		if bytes += size; limited && bytes > q.MaxBytes {
			return errStop
		}
		t.Messages = messages
		turns = append(turns, t)
		if n += int(count); n >= q.MaxMessages {
			return errStop
		}
		return nil
	}, at.uid)
	return turns, err
}

// SegmentsToEmbed implements store.SearchIndex.
func (s *searchIndex) SegmentsToEmbed(ctx context.Context, version, limit int) ([]store.SegmentRef, error) {
	var refs []store.SegmentRef
	err := s.read(ctx, "find segments to embed", func(c *conn) error {
		return c.query(`SELECT u.tenant, u.user_id, u.scope_key, s.no FROM segments s CROSS JOIN users u ON u.uid = s.uid
			WHERE s.embedding < ? AND `+notImporting+` ORDER BY s.embedding, s.no LIMIT ?+0`, func(r row) error {
			refs = append(refs, store.SegmentRef{
				User: memory.UserRef{Tenant: r.text(0), UserID: r.text(1)}, Scope: memory.ScopeKey(r.text(2)), No: r.int(3),
			})
			return nil
		}, version, limit)
	})
	return refs, err
}

// CountMessagesToEmbed implements store.SearchIndex.
func (s *searchIndex) CountMessagesToEmbed(ctx context.Context, version int) (n int64, err error) {
	err = s.read(ctx, "count messages to embed", func(c *conn) (err error) {
		n, err = c.number(`SELECT coalesce(sum(messages), 0) FROM segments WHERE embedding < ?`, version)
		return err
	})
	return n, err
}

// CountIndexedMessages implements store.SearchIndex.
func (s *searchIndex) CountIndexedMessages(ctx context.Context) (n int64, err error) {
	err = s.read(ctx, "count indexed messages", func(c *conn) (err error) {
		n, err = c.number(`SELECT coalesce(sum(messages), 0) FROM segments`)
		return err
	})
	return n, err
}

// RetireSegments implements store.SearchIndex. Each user is a write of its own; a crash in between leaves users for the
// next call.
func (s *searchIndex) RetireSegments(ctx context.Context, q store.RetireQuery) (int, error) {
	var uids []int64
	err := s.read(ctx, "find segments to retire", func(c *conn) (err error) {
		uids, err = usersToRetire(c, q)
		return err
	})
	if err != nil {
		return 0, err
	}
	for i, uid := range uids {
		if err := s.write(ctx, "retire segments", func(c *conn) error { return retire(c, uid) }); err != nil {
			return i, err
		}
	}
	return len(uids), nil
}

func usersToRetire(c *conn, q store.RetireQuery) (uids []int64, err error) {
	collect := func(r row) error {
		uids = append(uids, r.int(0))
		return nil
	}
	if q.User == nil {
		err = c.query(`SELECT DISTINCT uid FROM segments WHERE analyzer <> ?`, collect, q.Analyzer)
		return uids, err
	}
	at, err := findUser(c, *q.User)
	if err != nil {
		return nil, err
	}
	err = c.query(`SELECT DISTINCT uid FROM segments WHERE uid = ?`, collect, at.uid)
	return uids, err
}

// retire deletes all of the user's segments: all of the user's turns become pending again, and a message must not be
// both in a segment and pending.
func retire(c *conn, uid int64) error {
	if err := c.run(`DELETE FROM segments WHERE uid = ?`, uid); err != nil {
		return err
	}
	err := c.run(`UPDATE turns SET pending = pending | 1 WHERE n > 0 AND key IN (SELECT t.key FROM sessions s
		JOIN turns t ON t.key BETWEEN (s.sid << 32) AND (s.sid << 32 | 4294967295) WHERE s.uid = ?)`, uid)
	if err != nil {
		return err
	}
	return refreshPending(c, uid, 1)
}
