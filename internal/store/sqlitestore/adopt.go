package sqlitestore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// CommitImport implements store.Imports.
func (s *archive) CommitImport(ctx context.Context, p store.ImportCommit) error {
	into, err := json.Marshal(p.Into)
	if err != nil {
		return fmt.Errorf("encode whom an import goes to: %w", err)
	}
	return s.write(ctx, "commit import", func(c *conn) error {
		from, _, err := findMerge(c, p.Scope, p.Into)
		if err != nil {
			return err
		}
		return c.run(`UPDATE users SET merge_into = ?, update_time = ? WHERE uid = ?`, string(into), micros(p.Time), from.uid)
	})
}

// findMerge finds an import and the life that it goes to.
func findMerge(c *conn, scope memory.ScopeKey, into store.Merge) (from, to found, err error) {
	if from, err = findUser(c, store.ImportUser(scope)); memory.IsGone(err) {
		return from, to, store.ImportGone()
	}
	if err != nil {
		return from, to, err
	}
	if to, err = findLife(c, into.User, into.Scope); memory.IsGone(err) {
		err = store.ImportTargetGone()
	}
	return from, to, err
}

// AdoptSession implements store.Imports.
func (s *archive) AdoptSession(ctx context.Context, p store.Adoption) (outcome store.Adopted, err error) {
	err = s.write(ctx, "adopt a session", func(c *conn) error {
		from, to, err := findMerge(c, p.Import, p.Into)
		if err != nil {
			return err
		}
		if err := forgetReplaced(c, p.Replaces); err != nil {
			return err
		}
		if outcome, err = room(c, to, p); err != nil || outcome != store.SessionAdopted {
			return err
		}
		return adopt(c, from, to, p)
	})
	return outcome, err
}

// forgetReplaced has what made room for an import not keep later ones out.
func forgetReplaced(c *conn, erasures []string) error {
	for _, id := range erasures {
		if err := c.run(`UPDATE erasures SET session_hash = NULL WHERE id = ?`, id); err != nil {
			return err
		}
	}
	return nil
}

// room reports whether the life has room for the session.
func room(c *conn, to found, p store.Adoption) (store.Adopted, error) {
	hash := store.ErasedSessionHash(to.hashKey, p.Session.Ref.SessionID)
	erased, err := c.first(`SELECT 1 FROM erasures WHERE scope_key = ? AND session_hash = ? AND create_time >= ? LIMIT 1`,
		func(row) error { return nil }, string(to.scope), hash[:], micros(p.Session.CreateTime))
	if err != nil {
		return 0, err
	}
	if erased {
		return store.SessionErased, nil
	}
	there, err := c.first(`SELECT 1 FROM sessions WHERE uid = ? AND session_id = ?`, func(row) error { return nil }, to.uid, p.Session.Ref.SessionID)
	if err != nil {
		return 0, err
	}
	if there {
		return store.SessionThere, nil
	}
	return store.SessionAdopted, nil
}

// adopt gives the session and all that hangs on it to the life.
func adopt(c *conn, from, to found, p store.Adoption) error {
	now := micros(p.Time)
	sid, err := sessionByKey(c, from.uid, p.Session.Key, map[memory.SessionKey]int64{})
	if err == nil && sid == 0 {
		err = store.ImportGone()
	}
	if err != nil {
		return err
	}
	if err := c.run(`UPDATE users SET update_time = ? WHERE uid = ?`, now, from.uid); err != nil {
		return err
	}
	var key any // of the hashes: they were made under that of the file
	if from.hashKey != to.hashKey {
		key = string(from.hashKey)
	}
	if err := c.run(`UPDATE sessions SET uid = ?, hashed_under = nullif(coalesce(hashed_under, ?), ?),
		look_at = iif(last_seq > 0, ?, NULL), feed_at = iif(last_seq > 0, ?, NULL) WHERE sid = ?`,
		to.uid, key, string(to.hashKey), now, now, sid); err != nil {
		return err
	}
	for _, table := range []string{"nodes", "slots"} {
		if err := rekey(c, table, sid, to.uid); err != nil {
			return err
		}
	}
	if err := c.run(`UPDATE turns SET uid = ? WHERE key BETWEEN ? AND ?`, to.uid, place(sid, 0), place(sid, maxNo)); err != nil {
		return err
	}
	err = c.run(`UPDATE hidden_messages SET uid = ? WHERE uid = ? AND key BETWEEN ? AND ?`, to.uid, from.uid, place(sid, 0), place(sid, maxNo))
	if err != nil {
		return err
	}
	if err := c.run(`UPDATE summary_revisions SET uid = ? WHERE uid = ? AND sid = ?`, to.uid, from.uid, sid); err != nil {
		return err
	}
	if err := refreshPending(c, to.uid, 1); err != nil {
		return err
	}
	return lookAtPeriods(c, to.uid, now)
}

// rekey numbers the session's rows of a table among those of another user.
func rekey(c *conn, table string, sid, uid int64) error {
	next, err := nextKey(c, table, uid)
	if err != nil {
		return err
	}
	var keys []int64
	err = c.query(`SELECT key FROM `+table+` WHERE sid = ? ORDER BY key`, func(r row) error {
		keys = append(keys, r.int(0))
		return nil
	}, sid)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if err := c.run(`UPDATE `+table+` SET key = ?, uid = ? WHERE key = ?`, next+int64(i), uid, key); err != nil {
			return err
		}
	}
	return nil
}
