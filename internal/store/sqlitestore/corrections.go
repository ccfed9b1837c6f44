package sqlitestore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// revisionSelect reads what scanRevised needs, in its order. Revisions of sessions that were erased are left out.
const revisionSelect = `SELECT r.kind, s.session_key, s.session_id, r.period, r.revision, r.cause, r.text, r.o200k, r.cl100k,
	r.spans, r.from_time, r.to_time, r.rebuilds, r.create_time, r.request_hash, r.request_digest, r.author
	FROM summary_revisions r LEFT JOIN sessions s ON s.sid = r.sid
	WHERE (r.sid = 0 OR s.sid IS NOT NULL)`

// revised is a revision of a summary with the request that made it.
type revised struct {
	memory.SummaryRevision
	requestHash, requestDigest []byte
}

func scanRevised(r row) (revised, error) {
	v := revised{requestHash: r.blob(14), requestDigest: r.blob(15), SummaryRevision: memory.SummaryRevision{
		Kind: memory.SummaryKind(r.int(0)), Session: memory.SessionKey(r.text(1)), SessionID: r.text(2), Period: r.text(3),
		Revision: r.int(4), Cause: memory.SummaryCause(r.int(5)), Text: r.text(6),
		Tokens: memory.TokenCounts{O200K: r.int(7), CL100K: r.int(8)}, FromTime: r.time(10), ToTime: r.time(11),
		Rebuilds: int(r.int(12)), CreateTime: fromMicros(r.int(13)), Author: r.text(16),
	}}
	if b := r.json(9); b != nil {
		if err := json.Unmarshal(b, &v.Covers); err != nil {
			return v, fmt.Errorf("decode what revision %d of a summary stands for: %w", v.Revision, err)
		}
	}
	return v, nil
}

// revisedPlace is where the revisions of a summary are.
type revisedPlace struct {
	uid, kind, sid int64
	period         string
}

const ofRevised = ` AND r.uid = ? AND r.kind = ? AND r.sid = ? AND r.period = ?`

func (p revisedPlace) args(more ...any) []any {
	return append([]any{p.uid, p.kind, p.sid, p.period}, more...)
}

// ChangeSummary implements store.Summaries.
func (s *summaryStore) ChangeSummary(ctx context.Context, w store.SummaryWrite) (memory.SummaryRevision, error) {
	var stored memory.SummaryRevision
	err := s.write(ctx, "change summary", func(c *conn) (err error) {
		stored, err = changeSummary(c, w)
		return err
	})
	if err != nil {
		return memory.SummaryRevision{}, err
	}
	return stored, nil
}

func changeSummary(c *conn, w store.SummaryWrite) (memory.SummaryRevision, error) {
	at, err := findLife(c, w.User, w.Scope)
	if err != nil {
		return memory.SummaryRevision{}, err
	}
	place := revisedPlace{uid: at.uid, kind: int64(w.Revision.Kind), period: w.Revision.Period}
	if w.Revision.Kind == memory.SummarySession {
		place.sid, err = sessionByKey(c, at.uid, w.Revision.Session, map[memory.SessionKey]int64{})
		if err == nil && place.sid == 0 {
			err = store.SessionNotFound(w.User.Session(w.Revision.SessionID))
		}
		if err != nil {
			return memory.SummaryRevision{}, err
		}
	}
	v := revised{SummaryRevision: w.Revision}
	v.Revision, v.CreateTime = w.Base+1, w.Time
	if w.RequestID != "" {
		hash, digest := at.hashKey.Keyed(memory.IDDigest(w.RequestID)), at.hashKey.Keyed(w.RequestDigest)
		v.requestHash, v.requestDigest = hash[:], digest[:]
		first, ok, err := findRevised(c, ofRevised+` AND r.request_hash = ?`, place.args(hash[:])...)
		if err != nil {
			return memory.SummaryRevision{}, err
		}
		if ok && string(first.requestDigest) != string(digest[:]) {
			return memory.SummaryRevision{}, store.RequestIDReused(w.User.Session(w.Revision.SessionID), w.RequestID)
		}
		if ok {
			return first.SummaryRevision, nil
		}
	}
	last, _, err := findRevised(c, ofRevised+` ORDER BY r.revision DESC LIMIT 1`, place.args()...)
	if err != nil {
		return memory.SummaryRevision{}, err
	}
	if last.Revision != w.Base {
		return memory.SummaryRevision{}, store.Contention("somebody else changed the summary first")
	}
	if err := refuseErased(c, at.uid, w.Revision.Covers); err != nil {
		return memory.SummaryRevision{}, err
	}
	if err := insertRevised(c, place, v); err != nil {
		return memory.SummaryRevision{}, err
	}
	if v, _, err = findRevised(c, ofRevised+` AND r.revision = ?`, place.args(v.Revision)...); err != nil {
		return memory.SummaryRevision{}, err
	}
	if place.sid != 0 {
		if err := lookAtSession(c, place.sid, micros(w.Time)); err != nil {
			return memory.SummaryRevision{}, err
		}
	}
	return v.SummaryRevision, lookAtPeriods(c, at.uid, micros(w.Time))
}

// refuseErased refuses what was written of messages that were erased meanwhile.
func refuseErased(c *conn, uid int64, covers []memory.Covered) error {
	gone := store.Contention("a message that the summary covers was erased")
	sids := map[memory.SessionKey]int64{}
	for _, covered := range covers {
		sid, err := sessionByKey(c, uid, covered.Session, sids)
		if err != nil {
			return err
		}
		if sid == 0 {
			return gone
		}
		for _, r := range covered.Range.Without(covered.Passed) {
			erased, err := c.first(`SELECT 1 FROM hidden_messages h CROSS JOIN messages m ON m.key = h.key
				WHERE h.uid = ? AND h.key BETWEEN ? AND ? AND m.deleted = 1 LIMIT 1`, func(row) error { return nil },
				uid, place(sid, r.From), place(sid, r.To))
			if err != nil {
				return err
			}
			if erased {
				return gone
			}
		}
	}
	return nil
}

func findRevised(c *conn, where string, args ...any) (v revised, ok bool, err error) {
	ok, err = c.first(revisionSelect+where, func(r row) (err error) {
		v, err = scanRevised(r)
		return err
	}, args...)
	return v, ok, err
}

func insertRevised(c *conn, p revisedPlace, v revised) error {
	spans, err := encodeList(v.Covers)
	if err != nil {
		return err
	}
	return c.run(`INSERT INTO summary_revisions (uid, kind, sid, period, revision, cause, text, o200k, cl100k, spans, from_time,
		to_time, rebuilds, create_time, request_hash, request_digest, author) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		p.args(v.Revision, int(v.Cause), v.Text, v.Tokens.O200K, v.Tokens.CL100K, spans, orNever(v.FromTime), orNever(v.ToTime),
			v.Rebuilds, micros(v.CreateTime), orNullBlob(v.requestHash), orNullBlob(v.requestDigest), orNull(v.Author))...)
}

func orNullBlob(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

// CurrentSummaries implements store.Summaries.
func (s *summaryStore) CurrentSummaries(ctx context.Context, user memory.UserRef) ([]memory.SummaryRevision, error) {
	return s.revisions(ctx, user, func(c *conn, uid int64, each func(row) error) error {
		return c.query(revisionSelect+` AND r.uid = ? AND r.revision = (SELECT max(o.revision) FROM summary_revisions o
			WHERE o.uid = r.uid AND o.kind = r.kind AND o.sid = r.sid AND o.period = r.period)
			ORDER BY r.kind, s.session_key, r.period`, each, uid)
	})
}

// SummaryRevisions implements store.Summaries.
func (s *summaryStore) SummaryRevisions(ctx context.Context, q store.RevisionQuery) ([]memory.SummaryRevision, error) {
	return s.revisions(ctx, q.User, func(c *conn, uid int64, each func(row) error) error {
		return c.query(revisionSelect+` AND r.uid = ? AND r.kind = ? AND ifnull(s.session_key, '') = ? AND r.period = ?
			ORDER BY r.revision DESC LIMIT ?+0`, each, uid, int(q.Kind), string(q.Session), q.Period, q.Limit)
	})
}

func (s *summaryStore) revisions(
	ctx context.Context, user memory.UserRef, read func(c *conn, uid int64, each func(row) error) error,
) (all []memory.SummaryRevision, err error) {
	err = s.read(ctx, "read what persons made of summaries", func(c *conn) error {
		at, err := findUser(c, user)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return read(c, at.uid, func(r row) error {
			v, err := scanRevised(r)
			all = append(all, v.SummaryRevision)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
