package sqlitestore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// factState are the columns that facts and fact_revisions share.
const factState = `revision, change, category, significance, confidence, pinned, origin, protected, create_time,
	update_time, valid_from, valid_to, last_used_time, text, subject, attribute, superseded_by, language, model, tags, evidence`

const factStateCount = 21

// factColumns are what scanFact reads, in its order.
const factColumns = `id, ` + factState

func scanFact(r row) (memory.Fact, error) {
	f := memory.Fact{
		ID: r.text(0), Revision: r.int(1), Change: r.int(2), Category: memory.Category(r.int(3)), Significance: int(r.int(4)),
		Confidence: r.float(5), Pinned: r.int(6) != 0, Origin: memory.FactOrigin(r.int(7)), Protected: r.int(8) != 0,
		CreateTime: fromMicros(r.int(9)), UpdateTime: fromMicros(r.int(10)),
		ValidFrom: r.time(11), ValidTo: r.time(12), LastUsedTime: r.time(13),
		Text: r.text(14), Subject: r.text(15), Attribute: r.text(16), SupersededBy: r.text(17),
		Language: r.text(18), Model: r.text(19),
	}
	if b := r.json(20); b != nil {
		if err := json.Unmarshal(b, &f.Tags); err != nil {
			return f, fmt.Errorf("decode tags of fact %s: %w", f.ID, err)
		}
	}
	var err error
	if f.Evidence, err = decodeEvidence(r.text(21)); err != nil {
		return f, fmt.Errorf("decode evidence of fact %s: %w", f.ID, err)
	}
	return f, nil
}

// float returns a REAL.
func (r row) float(i int) float64 {
	f, _ := r[i].(float64)
	return f
}

// FactsSince implements store.Facts.
func (s *factStore) FactsSince(ctx context.Context, user memory.UserRef, revision int64) (store.FactState, error) {
	var state store.FactState
	err := s.read(ctx, "read facts", func(c *conn) error {
		u, uid, err := readUser(c, user)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		state.Scope, state.HashKey, state.Revision = u.Scope, u.HashKey, u.FactRevision
		if state.Checkpoint, err = vectorsCheckpoint(c, uid); err != nil {
			return err
		}
		if state.Facts, err = changedFacts(c, uid, revision); err != nil {
			return err
		}
		state.Forgotten, err = forgottenSince(c, uid, revision)
		return err
	})
	if err != nil {
		return store.FactState{}, err
	}
	return state, nil
}

func vectorsCheckpoint(c *conn, uid int64) (at store.Checkpoint, err error) {
	_, err = c.first(`SELECT v.build, u.vectors_build, u.vectors_revision, u.vectors_version, u.vectors_no
		FROM users u CROSS JOIN views v WHERE u.uid = ? AND v.view = ?`, func(r row) error {
		at = store.Checkpoint{Build: r.int(1), FeedPosition: store.FeedPosition{
			Revision: r.int(2), Version: int(r.int(3)), No: r.int(4),
		}}.OfBuild(r.int(0))
		return nil
	}, uid, int(memory.ViewVectors))
	return at, err
}

func changedFacts(c *conn, uid, revision int64) (facts []memory.Fact, err error) {
	_, err = c.first(`SELECT count(*) FROM facts WHERE uid = ? AND change > ?`, func(r row) error {
		facts = make([]memory.Fact, 0, r.int(0))
		return nil
	}, uid, revision)
	if err != nil {
		return nil, err
	}
	err = c.query(`SELECT `+factColumns+` FROM facts WHERE uid = ? AND change > ? ORDER BY change, id`, func(r row) error {
		f, err := scanFact(r)
		facts = append(facts, f)
		return err
	}, uid, revision)
	return facts, err
}

func forgottenSince(c *conn, uid, revision int64) (gone []store.Forgotten, err error) {
	err = c.query(`SELECT `+forgottenColumns+` FROM forgotten_facts WHERE uid = ? AND change > ? ORDER BY change, fact_id`,
		func(r row) error {
			gone = append(gone, scanForgotten(r))
			return nil
		}, uid, revision)
	return gone, err
}

const forgottenColumns = `fact_id, key_hash, change, time`

func scanForgotten(r row) store.Forgotten {
	f := store.Forgotten{FactID: r.text(0), Change: r.int(2), Time: r.time(3)}
	copy(f.Key[:], r.blob(1))
	return f
}

// Fact implements store.Facts.
func (s *factStore) Fact(ctx context.Context, user memory.UserRef, id string) (memory.Fact, error) {
	var fact memory.Fact
	err := s.read(ctx, "read fact", func(c *conn) error {
		at, err := findUser(c, user)
		if err != nil {
			return err
		}
		ok, err := c.first(`SELECT `+factColumns+` FROM facts WHERE uid = ? AND id = ?`, func(r row) (err error) {
			fact, err = scanFact(r)
			return err
		}, at.uid, id)
		if err == nil && !ok {
			err = store.FactNotFound(user, id)
		}
		return err
	})
	if err != nil {
		return memory.Fact{}, err
	}
	return fact, nil
}

// ListFacts implements store.Facts.
func (s *factStore) ListFacts(ctx context.Context, q store.FactQuery) ([]memory.Fact, error) {
	var facts []memory.Fact
	err := s.read(ctx, "list facts", func(c *conn) error {
		at, err := findUser(c, q.User)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		w := factsWhere(at.uid, q)
		return c.query(`SELECT `+factColumns+` FROM facts`+w.where()+` ORDER BY update_time DESC, id LIMIT ?+0`, func(r row) error {
			f, err := scanFact(r)
			facts = append(facts, f)
			return err
		}, append(w.args, q.Limit)...)
	})
	if err != nil {
		return nil, err
	}
	return facts, nil
}

func factsWhere(uid int64, q store.FactQuery) (w clauses) {
	if q.SessionID != "" { // the facts of a session are few: to find them beats to walk all by time
		w.and("key IN (SELECT fact_key FROM fact_sessions WHERE uid = ? AND session_id = ?)", uid, q.SessionID)
	} else {
		w.and("uid = ?", uid)
	}
	if !q.WithPast {
		w.and("valid_to IS NULL")
	}
	if len(q.Categories) > 0 {
		w.in("category", numbers(q.Categories))
	}
	if q.After != nil {
		t := micros(q.After.UpdateTime)
		w.and("update_time <= ? AND (update_time < ? OR id > ?)", t, t, q.After.ID)
	}
	return w
}

// FactsOfJob implements store.Facts. A user's facts have keys in a row.
func (s *factStore) FactsOfJob(ctx context.Context, ref store.JobRef) (ids []string, err error) {
	err = s.read(ctx, "read the facts of a job", func(c *conn) error {
		at, err := findUser(c, ref.User)
		if err != nil {
			return err
		}
		return c.query(`SELECT DISTINCT f.id FROM fact_revisions AS r JOIN facts AS f ON f.key = r.key
			WHERE r.key BETWEEN ? AND ? AND r.slot_id = ? ORDER BY f.id`, func(r row) error {
			ids = append(ids, r.text(0))
			return nil
		}, place(at.uid, 0), place(at.uid, maxNo), ref.ID)
	})
	return ids, err
}

// FactRevisions implements store.Facts.
func (s *factStore) FactRevisions(ctx context.Context, user memory.UserRef, id string) ([]memory.FactRevision, error) {
	var history []memory.FactRevision
	err := s.read(ctx, "read fact revisions", func(c *conn) error {
		at, err := findUser(c, user)
		if err != nil {
			return err
		}
		was, err := findFact(c, at.uid, id)
		if err != nil {
			return err
		}
		if was.key == 0 {
			return store.FactNotFound(user, id)
		}
		history, err = readHistory(c, was.key, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return history, nil
}

func readHistory(c *conn, key int64, id string) (history []memory.FactRevision, err error) {
	err = c.query(`SELECT ?, `+factState+`, cause, slot_id, author FROM fact_revisions WHERE key = ? ORDER BY revision DESC`,
		func(r row) error {
			f, err := scanFact(r)
			history = append(history, memory.FactRevision{
				Fact: f, Cause: memory.FactCause(r.int(factStateCount + 1)), JobID: r.text(factStateCount + 2), Author: r.text(factStateCount + 3),
			})
			return err
		}, id, key)
	return history, err
}

// TouchFacts implements store.Facts.
func (s *factStore) TouchFacts(ctx context.Context, user memory.UserRef, ids []string, at time.Time) error {
	if len(ids) == 0 {
		return nil
	}
	return s.write(ctx, "touch facts", func(c *conn) error {
		owner, err := findUser(c, user)
		if err != nil {
			return err
		}
		for _, id := range ids {
			err := c.run(`UPDATE facts SET last_used_time = max(coalesce(last_used_time, ?), ?) WHERE uid = ? AND id = ?`,
				micros(at), micros(at), owner.uid, id)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// ListQuarantined implements store.Facts.
func (s *factStore) ListQuarantined(ctx context.Context, q store.QuarantineQuery) ([]memory.Quarantined, error) {
	var page []memory.Quarantined
	err := s.read(ctx, "list quarantined operations", func(c *conn) error {
		at, err := findUser(c, q.User)
		if err != nil {
			return err
		}
		var w clauses
		w.and("uid = ?", at.uid)
		if q.After != nil {
			t := micros(q.After.CreateTime)
			w.and("time <= ? AND (time < ? OR id > ?)", t, t, q.After.ID)
		}
		return c.query(`SELECT id, session_id, slot_id, reason, operation, model, time FROM quarantine`+w.where()+
			` ORDER BY time DESC, id LIMIT ?+0`, func(r row) error {
			page = append(page, scanQuarantined(r))
			return nil
		}, append(w.args, q.Limit)...)
	})
	return page, err
}

func scanQuarantined(r row) memory.Quarantined {
	return memory.Quarantined{
		ID: r.text(0), SessionID: r.text(1), JobID: r.text(2), Reason: r.text(3), Operation: r.text(4),
		Model: r.text(5), Time: fromMicros(r.int(6)),
	}
}
