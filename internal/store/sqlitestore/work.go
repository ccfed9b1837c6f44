package sqlitestore

import (
	"context"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// orNever stores a time that is not set as NULL.
func orNever(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return micros(t)
}

// time returns a time, the zero time for NULL.
func (r row) time(i int) time.Time {
	if r[i] == nil {
		return time.Time{}
	}
	return fromMicros(r.int(i))
}

// nextKey returns the first free key of the user in the table. A number whose row is gone may be given again.
func nextKey(c *conn, table string, uid int64) (key int64, err error) {
	key = place(uid, 1)
	_, err = c.first(`SELECT key FROM `+table+` WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1`, func(r row) error {
		key = r.int(0) + 1
		return nil
	}, place(uid, 1), place(uid, maxNo-1))
	return key, err
}

// SessionHead implements store.Work.
func (s *workStore) SessionHead(ctx context.Context, ref memory.SessionRef) (memory.Session, memory.User, error) {
	var head headRow
	err := s.read(ctx, "read session", func(c *conn) (err error) {
		head, err = readHead(c, ref)
		return err
	})
	if err != nil {
		return memory.Session{}, memory.User{}, err
	}
	return head.work.Session, head.work.User, nil
}

// SessionWork implements store.Work.
func (s *workStore) SessionWork(ctx context.Context, ref memory.SessionRef) (store.SessionWork, error) {
	var work store.SessionWork
	err := s.read(ctx, "read session work", func(c *conn) error {
		head, err := readHead(c, ref)
		if err != nil {
			return err
		}
		work = head.work
		if work.Jobs, err = readLiveJobs(c, head.sid); err != nil {
			return err
		}
		var state store.SearchIndexState
		err = readPendingFrom(c, head.uid, ref.SessionID, &state)
		work.UnindexedFrom = state.PendingFrom
		return err
	})
	if err != nil {
		return store.SessionWork{}, err
	}
	return work, nil
}

// headRow is what the rows of a session and its user say.
type headRow struct {
	work     store.SessionWork // without what other tables say of it
	uid, sid int64
}

// readHead reads a session and its user, without the user's state, in one statement.
func readHead(c *conn, ref memory.SessionRef) (head headRow, err error) {
	ok, err := c.first(`SELECT `+sessionColumns+`, t.state, `+userColumns+`, s.extract_cursor, s.leaf_cursor, s.look_at
		FROM users u JOIN sessions s ON s.uid = u.uid
		LEFT JOIN session_metadata d ON d.sid = s.sid LEFT JOIN session_state t ON t.sid = s.sid
		WHERE u.tenant = ? AND u.user_id = ? AND s.session_id = ?`, func(r row) error {
		user, rest := r[sessionColumnCount+1:], r[sessionColumnCount+1+userColumnCount:]
		head.uid, head.sid = user.int(0), r.int(0)
		head.work = store.SessionWork{
			Session: scanSession(ref.UserRef, r), User: scanUser(user),
			ExtractCursor: rest.int(0), LeafCursor: rest.int(1), LookAt: rest.time(2),
		}
		head.work.Session.State = r.json(sessionColumnCount)
		return nil
	}, ref.Tenant, ref.UserID, ref.SessionID)
	if err == nil && !ok {
		_, err = findSession(c, ref) // the error names which of the two is missing
	}
	return head, err
}

func readLiveJobs(c *conn, sid int64) (jobs []memory.Job, err error) {
	err = c.query(jobSelect+` AND j.sid = ? AND j.state <= 3 ORDER BY j.kind, j.level, j.from_no, j.generation`, func(r row) error {
		jobs = append(jobs, scanJob(r).Job)
		return nil
	}, sid)
	return jobs, err
}

// PendingSessions implements store.Work.
func (s *workStore) PendingSessions(ctx context.Context, before time.Time, limit int) ([]memory.SessionRef, error) {
	var refs []memory.SessionRef
	err := s.read(ctx, "find pending sessions", func(c *conn) error {
		each := func(r row) error {
			refs = append(refs, memory.UserRef{Tenant: r.text(0), UserID: r.text(1)}.Session(r.text(2)))
			return nil
		}
		err := c.query(`SELECT u.tenant, u.user_id, s.session_id FROM sessions s CROSS JOIN users u ON u.uid = s.uid
			WHERE s.look_at <= ? ORDER BY s.look_at, s.sid LIMIT ?+0`, each, micros(before), limit)
		if err != nil || len(refs) == limit {
			return err
		}
		return c.query(`SELECT u.tenant, u.user_id, s.session_id FROM sessions s CROSS JOIN users u ON u.uid = s.uid
			WHERE s.look_at > ? ORDER BY s.look_at, s.sid LIMIT ?+0`, each, micros(before.Add(store.LongestLook)), limit-len(refs))
	})
	return refs, err
}

// WaitingSessions implements store.Work.
func (s *workStore) WaitingSessions(ctx context.Context, user memory.UserRef, limit int) ([]memory.SessionRef, error) {
	var refs []memory.SessionRef
	err := s.read(ctx, "find the user's waiting sessions", func(c *conn) error {
		return c.query(`SELECT s.session_id FROM users u JOIN sessions s ON s.uid = u.uid
			WHERE u.tenant = ? AND u.user_id = ? AND s.look_at IS NOT NULL ORDER BY s.look_at, s.sid LIMIT ?+0`, func(r row) error {
			refs = append(refs, user.Session(r.text(0)))
			return nil
		}, user.Tenant, user.UserID, limit)
	})
	return refs, err
}

// DeferSession implements store.Work.
func (s *workStore) DeferSession(ctx context.Context, d store.Deferral) error {
	return s.write(ctx, "defer session", func(c *conn) error {
		at, err := findSession(c, d.Ref)
		if err != nil {
			return err
		}
		if at.key != d.Session {
			return store.SessionNotFound(d.Ref)
		}
		return c.run(`UPDATE sessions SET look_at = ? WHERE sid = ? AND last_seq = ? AND look_at IS ?`,
			orNever(d.Until), at.sid, d.LastSeq, orNever(d.Seen))
	})
}

// lookAtSession schedules the session at that time, in place of any other: a worker that read the earlier time then cannot
// defer the session.
func lookAtSession(c *conn, sid, at int64) error {
	return c.run(`UPDATE sessions SET look_at = ? WHERE sid = ?`, at, sid)
}

// lookAtPeriods has the user's periods looked at by then.
func lookAtPeriods(c *conn, uid, by int64) error {
	return c.run(`UPDATE users SET periods_at = ? WHERE uid = ? AND (periods_at IS NULL OR periods_at > ?)`, by, uid, by)
}

// lookAtPeriodsOf has the periods of a session's user looked at by then.
func lookAtPeriodsOf(c *conn, sid, by int64) error {
	return c.run(
		`UPDATE users SET periods_at = ? WHERE uid = (SELECT uid FROM sessions WHERE sid = ?) AND (periods_at IS NULL OR periods_at > ?)`,
		by,
		sid,
		by,
	)
}

// PendingPeriods implements store.Work.
func (s *workStore) PendingPeriods(ctx context.Context, before time.Time, limit int) ([]memory.UserRef, error) {
	var users []memory.UserRef
	err := s.read(ctx, "find pending periods", func(c *conn) error {
		each := func(r row) error {
			users = append(users, memory.UserRef{Tenant: r.text(0), UserID: r.text(1)})
			return nil
		}
		err := c.query(`SELECT tenant, user_id FROM users WHERE periods_at <= ? ORDER BY periods_at, uid LIMIT ?+0`, each, micros(before), limit)
		if err != nil || len(users) == limit {
			return err
		}
		return c.query(`SELECT tenant, user_id FROM users WHERE periods_at > ? ORDER BY periods_at, uid LIMIT ?+0`, each,
			micros(before.Add(store.LongestPeriodsLook)), limit-len(users))
	})
	return users, err
}

// DeferPeriods implements store.Work.
func (s *workStore) DeferPeriods(ctx context.Context, d store.PeriodsDeferral) error {
	return s.write(ctx, "defer periods", func(c *conn) error {
		at, err := findLife(c, d.User, d.Scope)
		if err != nil {
			return err
		}
		return c.run(`UPDATE users SET periods_at = ?1 WHERE uid = ?2 AND (?3 IS NULL OR periods_at = ?3)`,
			orNever(d.Until), at.uid, orNever(d.Seen))
	})
}

// findLife finds the user in the life of the scope; another life is USER_NOT_FOUND.
func findLife(c *conn, user memory.UserRef, scope memory.ScopeKey) (found, error) {
	at, err := findUser(c, user)
	if err == nil && at.scope != scope {
		err = store.UserNotFound(user)
	}
	return at, err
}

// WorkStats implements store.Work.
func (s *workStore) WorkStats(ctx context.Context) (store.WorkStats, error) {
	var stats store.WorkStats
	err := s.read(ctx, "count work", func(c *conn) (err error) {
		if stats.Kinds, err = countJobs(c); err != nil {
			return err
		}
		if stats.Quarantined, err = countQuarantined(c); err != nil {
			return err
		}
		if err = countParkedMessages(c, stats.Kinds); err != nil {
			return err
		}
		_, err = c.first(`SELECT s.look_at FROM sessions s CROSS JOIN users u ON u.uid = s.uid
			WHERE s.look_at IS NOT NULL ORDER BY s.look_at LIMIT 1`, func(r row) error {
			stats.OldestTurn = r.time(0)
			return nil
		})
		return err
	})
	if err != nil {
		return store.WorkStats{}, err
	}
	return stats, nil
}

// countJobs counts jobs of users who were erased until they are swept: the index alone counts fast.
func countJobs(c *conn) (kinds []store.KindStats, err error) {
	err = c.query(`SELECT kind, state, count(*), min(create_time) FROM slots WHERE state <= 3
		GROUP BY kind, state ORDER BY kind, state`, func(r row) error {
		kind := memory.JobKind(r.int(0))
		if n := len(kinds); n == 0 || kinds[n-1].Kind != kind {
			kinds = append(kinds, store.KindStats{Kind: kind})
		}
		k := &kinds[len(kinds)-1]
		if memory.JobState(r.int(1)) == memory.JobParked {
			k.Parked = r.int(2)
			return nil
		}
		k.Open += r.int(2)
		if oldest := r.time(3); k.Oldest.IsZero() || oldest.Before(k.Oldest) {
			k.Oldest = oldest
		}
		return nil
	})
	return kinds, err
}

// countParkedMessages adds what the parked jobs are about. It reads their rows, which are few where somebody looks after them.
func countParkedMessages(c *conn, kinds []store.KindStats) (err error) {
	for i, k := range kinds {
		if k.Parked == 0 || !k.Kind.IsOfMessages() {
			continue
		}
		kinds[i].ParkedMessages, err = c.number(`SELECT sum(to_no - from_no + 1) FROM slots WHERE kind = ? AND state = 3`, int(k.Kind))
		if err != nil {
			return err
		}
	}
	return nil
}

func countQuarantined(c *conn) (map[string]int64, error) {
	counts := map[string]int64{}
	err := c.query(`SELECT reason, n FROM quarantine_counts`, func(r row) error {
		counts[r.text(0)] = r.int(1)
		return nil
	})
	return counts, err
}
