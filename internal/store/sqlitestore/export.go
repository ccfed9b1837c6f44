package sqlitestore

import (
	"context"
	"slices"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

var _ store.Source = (*Store)(nil)

// QuarantineCounts implements store.Source.
func (s *archive) QuarantineCounts(ctx context.Context) (map[string]int64, error) {
	counts := map[string]int64{}
	err := s.read(ctx, "count quarantined operations", func(c *conn) error {
		return c.query(`SELECT reason, n FROM quarantine_counts`, func(r row) error {
			counts[r.text(0)] = r.int(1)
			return nil
		})
	})
	return counts, err
}

// Export implements store.Source. All is read as of one instant.
func (s *archive) Export(ctx context.Context, user memory.UserRef, each func(store.Record) error) error {
	return s.readLong(ctx, "export user", func(c *conn) error {
		u, uid, err := readUser(c, user)
		if err != nil {
			return err
		}
		x := export{c: c, user: u, uid: uid, keys: map[int64]memory.HashKey{}}
		x.each = func(r store.Record) error { return each(store.Canonical(r)) }
		for _, step := range []func() error{
			x.head, x.sessions, x.turns, x.revised, x.nodes, x.jobs, x.facts, x.forgotten, x.refused, x.documents, x.deletedDocuments,
		} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
}

// export is one call of Export while it reads.
type export struct {
	c    *conn
	user memory.User
	uid  int64
	sids []int64                  // of the user's sessions, by session id
	keys map[int64]memory.HashKey // of the hashes of those that came from other users
	each func(store.Record) error
	// deleted are the hashes of the deleted messages of the session that is read, by seq; nil before they are read.
	deleted map[int64]store.MessageRecord
}

func (x *export) head() error {
	record := store.UserRecord{User: x.user}
	_, err := x.c.first(`SELECT revision, last_vector_no, periods_at FROM users WHERE uid = ?`, func(r row) error {
		record.Revision, record.LastVectorNo, record.PeriodsAt = r.int(0), r.int(1), r.time(2)
		return nil
	}, x.uid)
	if err != nil {
		return err
	}
	return x.each(store.Record{User: &record})
}

func (x *export) sessions() error {
	return x.c.query(`SELECT `+sessionColumns+`, t.state, s.look_at, s.covered_seq, s.covered_time, s.hashed_under
		FROM sessions s JOIN users u ON u.uid = s.uid LEFT JOIN session_metadata d ON d.sid = s.sid
		LEFT JOIN session_state t ON t.sid = s.sid WHERE s.uid = ? ORDER BY s.session_id`, func(r row) error {
		x.sids = append(x.sids, r.int(0))
		record := store.SessionRecord{
			Session: scanSession(x.user.Ref, r), Revision: r.int(11), LookAt: r.time(sessionColumnCount + 1),
			CoveredSeq: r.int(sessionColumnCount + 2), CoveredTime: r.time(sessionColumnCount + 3),
			HashKey: memory.HashKey(r.text(sessionColumnCount + 4)),
		}
		if record.HashKey != "" {
			x.keys[r.int(0)] = record.HashKey
		}
		record.State = r.json(sessionColumnCount)
		return x.each(store.Record{Session: &record})
	}, x.uid)
}

func (x *export) turns() error {
	for _, sid := range x.sids {
		var session memory.SessionKey
		x.deleted = nil
		err := x.c.query(`SELECT t.key, t.first_seq, t.n, t.record_time, t.request_hash, t.request_digest, t.result, t.state_patch, s.session_key
			FROM turns t JOIN sessions s ON s.sid = t.sid WHERE t.key BETWEEN ? AND ? ORDER BY t.key`, func(r row) error {
			session = memory.SessionKey(r.text(8))
			return x.addTurn(sid, session, r)
		}, place(sid, 0), place(sid, maxNo))
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *export) addTurn(sid int64, session memory.SessionKey, r row) error {
	record := store.TurnRecord{
		Session: session, TurnNo: r.int(0) & maxNo, FirstSeq: r.int(1), RecordTime: fromMicros(r.int(3)),
		RequestHash: r.blob(4), RequestDigest: r.blob(5), Result: r.json(6), StatePatch: r.json(7),
	}
	if n := r.int(2); n > 0 {
		q := store.MessageQuery{After: record.FirstSeq - 1, Before: record.FirstSeq + n, Limit: int(n), WithOriginal: true}
		messages, _, err := readRun(x.c, sid, q)
		if err != nil {
			return err
		}
		for _, m := range messages {
			r := store.MessageRecord{Message: m}
			if m.Deleted {
				err = x.deletedHashes(sid, &r)
			} else {
				r.BodyHash, err = x.bodyHash(sid, m.ID)
			}
			if err != nil {
				return err
			}
			record.Messages = append(record.Messages, r)
		}
	}
	return x.each(store.Record{Turn: &record})
}

func (x *export) bodyHash(sid int64, id string) (hash []byte, err error) {
	key, other := x.keys[sid]
	if !other {
		key = x.user.HashKey
	}
	keyed := key.Keyed(memory.IDDigest(id))
	_, err = x.c.first(`SELECT body_hash FROM message_ids WHERE sid = ? AND id_hash = ?`, func(r row) error {
		hash = r.blob(0)
		return nil
	}, sid, keyed[:])
	return hash, err
}

// deletedHashes fills in what is known still of a deleted message's id.
func (x *export) deletedHashes(sid int64, to *store.MessageRecord) error {
	if x.deleted == nil { // hashes are found by id: those of a session's deleted messages are read at once
		x.deleted = map[int64]store.MessageRecord{}
		err := x.c.query(`SELECT i.seq, i.id_hash, i.body_hash FROM message_ids i CROSS JOIN messages m ON m.key = i.sid << 32 | i.seq
			WHERE i.sid = ? AND m.deleted = 1`, func(r row) error {
			x.deleted[r.int(0)] = store.MessageRecord{IDHash: r.blob(1), BodyHash: r.blob(2)}
			return nil
		}, sid)
		if err != nil {
			return err
		}
	}
	to.IDHash, to.BodyHash = x.deleted[to.Seq].IDHash, x.deleted[to.Seq].BodyHash
	return nil
}

func (x *export) nodes() error {
	return x.c.query(nodeSelect+` AND n.uid = ? ORDER BY n.id`, func(r row) error {
		n, err := scanNode(r)
		if err != nil {
			return err
		}
		return x.each(store.Record{Node: &n})
	}, x.uid)
}

func (x *export) revised() error {
	var all []store.SummaryHistory
	err := x.c.query(revisionSelect+` AND r.uid = ? ORDER BY r.kind, s.session_id, r.period, r.revision`, func(r row) error {
		v, err := scanRevised(r)
		if err != nil {
			return err
		}
		if v.Revision == 1 || len(all) == 0 {
			all = append(all, store.SummaryHistory{})
		}
		last := &all[len(all)-1]
		last.Revisions = append(
			last.Revisions,
			store.RevisedSummary{SummaryRevision: v.SummaryRevision, RequestHash: v.requestHash, RequestDigest: v.requestDigest},
		)
		return nil
	}, x.uid)
	for i := range all {
		if err == nil {
			err = x.each(store.Record{Revised: &all[i]})
		}
	}
	return err
}

// jobs reads a session at a time, so that not all have to be sorted at once.
func (x *export) jobs() error {
	each := func(r row) error {
		job := scanJob(r).Job
		return x.each(store.Record{Job: &job})
	}
	const order = ` ORDER BY j.kind, j.level, j.from_no, j.generation`
	if err := x.c.query(jobSelect+` AND j.uid = ? AND j.sid IS NULL`+order, each, x.uid); err != nil {
		return err
	}
	for _, sid := range x.sids {
		if err := x.c.query(jobSelect+` AND j.sid = ?`+order, each, sid); err != nil {
			return err
		}
	}
	return nil
}

func (x *export) facts() error {
	return x.c.query(`SELECT `+factColumns+`, key FROM facts WHERE uid = ? ORDER BY id`, func(r row) error {
		f, err := scanFact(r)
		if err != nil {
			return err
		}
		return x.fact(f, r.int(factStateCount+1))
	}, x.uid)
}

func (x *export) fact(f memory.Fact, key int64) error {
	history, err := readHistory(x.c, key, f.ID)
	if err != nil {
		return err
	}
	slices.Reverse(history)
	record := store.FactRecord{Fact: f, Revisions: history}
	versions, err := embeddingVersions(x.c)
	if err != nil {
		return err
	}
	for _, v := range versions {
		_, err := x.c.first(`SELECT key, vector FROM fact_vectors WHERE version = ? AND fact_key = ?`, func(r row) error {
			record.Vectors = append(
				record.Vectors,
				store.VersionedVector{Version: int(v), No: r.int(0) & maxNo, Vector: store.DecodeVector(r.blob(1))},
			)
			return nil
		}, v, key)
		if err != nil {
			return err
		}
	}
	return x.each(store.Record{Fact: &record})
}

func (x *export) forgotten() error {
	return x.c.query(`SELECT `+forgottenColumns+` FROM forgotten_facts WHERE uid = ? ORDER BY change, fact_id, key_hash`, func(r row) error {
		f := scanForgotten(r)
		return x.each(store.Record{Forgotten: &f})
	}, x.uid)
}

func (x *export) refused() error {
	return x.c.query(
		`SELECT id, session_id, slot_id, reason, operation, model, time FROM quarantine WHERE uid = ? ORDER BY id, time`,
		func(r row) error {
			q := scanQuarantined(r)
			return x.each(store.Record{Refused: &q})
		},
		x.uid,
	)
}
