package sqlitestore

import (
	"context"
	"errors"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/writeplan"
)

const (
	// pieceRows and pieceBytes are how much one write of a sweep deletes. Writes of others wait for it: BenchmarkEraseUser measures the
	// longest.
	pieceRows  = 250
	pieceBytes = 256 << 10
	// The WAL can be cut while nobody reads from it. Writes wait while the store waits for readers, so it waits briefly, and
	// often.
	cutWait  = 5 * time.Millisecond
	cutPause = 20 * time.Millisecond
	cutTries = 10
)

// SweepErasure implements store.Erasures.
func (s *erasureStore) SweepErasure(ctx context.Context, id string, limit int) (deleted int64, done bool, err error) {
	e, err := s.stored(ctx, id)
	if err != nil {
		return 0, false, err
	}
	for left := int64(limit); left > 0; {
		w := &sweeping{}
		err := s.write(ctx, "sweep an erasure", func(c *conn) error {
			w = &sweeping{c: c, rows: min(left, pieceRows), bytes: pieceBytes}
			return w.sweep(e)
		})
		if err != nil {
			return deleted, false, err
		}
		deleted, left = deleted+w.deleted, left-w.deleted
		if !w.isFull() {
			done, err := s.purge(ctx)
			return deleted, done, err
		}
	}
	return deleted, false, nil
}

// cutWAL moves the WAL into the file, where what was deleted is overwritten, and cuts it, since it holds what was written before.
// It reports false while readers are in the way.
func (s *core) cutWAL(ctx context.Context) (done bool, err error) {
	for range cutTries {
		if done, err = s.cutWALOnce(ctx); done || err != nil {
			return done, fault("cut the write-ahead log", err)
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-s.closed:
			return false, store.ShuttingDown()
		case <-time.After(cutPause):
		}
	}
	return false, nil
}

func (s *core) cutWALOnce(ctx context.Context) (done bool, err error) {
	c, err := dial(s.path, writing()...)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := s.writer.moveBeside(ctx, func() error { // most of the work, while others write
		_, _, err := c.checkpoint("PASSIVE")
		return err
	}); err != nil {
		return false, err
	}
	if err := c.run(busyFor(cutWait)); err != nil {
		return false, err
	}
	err = s.writer.between(ctx, func() error {
		if !s.writer.moving.TryLock() {
			return nil
		}
		defer s.writer.moving.Unlock()
		s.writer.moved = true
		pages, _, err := c.checkpoint("TRUNCATE")
		done = err == nil && pages == 0
		return err
	})
	return done, err
}

// sweeping is one piece of a sweep while the writer deletes it.
type sweeping struct {
	c       *conn
	rows    int64 // that it may still delete
	bytes   int64
	deleted int64
}

func (w *sweeping) isFull() bool { return w.rows <= 0 || w.bytes <= 0 }

func (w *sweeping) sweep(e storedErasure) error {
	switch e.Kind {
	case memory.EraseUser:
		return w.user(e.uid)
	case memory.EraseSession:
		return w.session(e.uid, e.sid)
	case memory.EraseSummary:
		return nil // all of it went at once
	case memory.EraseMessages:
	}
	return w.remade(e)
}

// part is rows that are deleted in pieces.
type part struct {
	table string
	key   string // the column or columns that identify a row
	where string
	args  []any
	sizes string // the sum of the lengths of what may be long; 0 for rows that are short
}

// user deletes what hung on the user's row. Each part goes before what it refers to.
func (w *sweeping) user(uid int64) error {
	keys := []any{place(uid, 0), place(uid, maxNo)}
	parts := []part{
		{"fact_vectors", "key", "key BETWEEN ? AND ?", keys, "length(vector)"},
		{"fact_sessions", "session_id, fact_key", "uid = ?", []any{uid}, "0"},
		{"fact_revisions", "key, revision", "key BETWEEN ? AND ?", keys, "octet_length(text) + ifnull(octet_length(evidence), 0)"},
		{"facts", "key", "key BETWEEN ? AND ?", keys, "octet_length(text) + ifnull(octet_length(evidence), 0)"},
		{"forgotten_facts", "change, fact_id, key_hash", "uid = ?", []any{uid}, "0"},
		{"quarantine", "key", "key BETWEEN ? AND ?", keys, "octet_length(operation)"},
		{"summary_revisions", "kind, sid, period, revision", "uid = ?", []any{uid}, "octet_length(text)"},
		{"nodes", "key", "key BETWEEN ? AND ?", keys, "octet_length(text)"},
		{"slots", "key", "key BETWEEN ? AND ?", keys, "ifnull(octet_length(answer), 0)"},
		{"segments", "no", "uid = ?", []any{uid}, "bytes"},
		{"hidden_messages", "key", "uid = ?", []any{uid}, "0"},
		{"user_state", "uid", "uid = ?", []any{uid}, "octet_length(state)"},
		{"documents", "namespace, key", "uid = ?", []any{uid}, "octet_length(value) + ifnull(length(vector), 0)"},
		{"deleted_documents", "hash", "uid = ?", []any{uid}, "0"},
	}
	versions, err := embeddingVersions(w.c)
	if err != nil {
		return err
	}
	for _, v := range versions {
		parts = append(parts, part{"unembedded", "fact_key", "version = ? AND fact_key BETWEEN ? AND ?", append([]any{v}, keys...), "0"})
	}
	if err := w.all(parts); err != nil {
		return err
	}
	return w.sessions(uid)
}

func (w *sweeping) sessions(uid int64) error {
	for !w.isFull() {
		var sid int64
		ok, err := w.c.first(`SELECT sid FROM sessions WHERE uid = ? ORDER BY sid LIMIT 1`, func(r row) error {
			sid = r.int(0)
			return nil
		}, uid)
		if err != nil || !ok {
			return err
		}
		if err := w.transcript(sid); err != nil || w.isFull() {
			return err
		}
		if err := w.one(`DELETE FROM sessions WHERE sid = ?`, sid); err != nil {
			return err
		}
	}
	return nil
}

// session deletes what hung on the session's row.
func (w *sweeping) session(uid, sid int64) error {
	err := w.all([]part{
		{"summary_revisions", "period, revision", "uid = ? AND kind = 1 AND sid = ?", []any{uid, sid}, "octet_length(text)"},
		{"nodes", "key", "sid = ?", []any{sid}, "octet_length(text)"},
		{"slots", "key", "sid = ?", []any{sid}, "ifnull(octet_length(answer), 0)"},
		{"hidden_messages", "key", "uid = ? AND key BETWEEN ? AND ?", []any{uid, place(sid, 0), place(sid, maxNo)}, "0"},
	})
	if err != nil {
		return err
	}
	return w.transcript(sid)
}

// transcript deletes the messages and turns of a session.
func (w *sweeping) transcript(sid int64) error {
	keys := []any{place(sid, 0), place(sid, maxNo)}
	return w.all([]part{
		{"originals", "key", "key BETWEEN ? AND ?", keys, "octet_length(data)"},
		{
			"messages", "key", "key BETWEEN ? AND ?", keys,
			"ifnull(octet_length(text), 0) + ifnull(octet_length(parts), 0) + ifnull(octet_length(metadata), 0)",
		},
		{"turns", "key", "key BETWEEN ? AND ?", keys, "ifnull(octet_length(result), 0) + ifnull(octet_length(state_patch), 0)"},
		{"message_ids", "id_hash", "sid = ?", []any{sid}, "0"},
		{"tool_calls", "call_hash", "sid = ?", []any{sid}, "0"},
		{"session_metadata", "sid", "sid = ?", []any{sid}, "octet_length(metadata)"},
		{"session_state", "sid", "sid = ?", []any{sid}, "octet_length(state)"},
	})
}

func (w *sweeping) all(parts []part) error {
	for _, p := range parts {
		if w.isFull() {
			return nil
		}
		if err := w.some(p); err != nil {
			return err
		}
	}
	return nil
}

// some deletes rows of a part until all are gone or the piece is full.
func (w *sweeping) some(p part) error {
	n := int64(0)
	err := w.c.query(`SELECT `+p.sizes+` FROM `+p.table+` WHERE `+p.where+` ORDER BY `+p.key+` LIMIT ?+0`, func(r row) error {
		n++
		if w.bytes -= r.int(0); w.bytes <= 0 {
			return errStop
		}
		return nil
	}, append(p.args[:len(p.args):len(p.args)], w.rows)...)
	if err != nil || n == 0 {
		return err
	}
	return w.one(`DELETE FROM `+p.table+` WHERE `+p.where+` AND (`+p.key+`) IN (SELECT `+p.key+` FROM `+p.table+
		` WHERE `+p.where+` ORDER BY `+p.key+` LIMIT ?+0)`, append(append(p.args[:len(p.args):len(p.args)], p.args...), n)...)
}

// one does a statement that deletes.
func (w *sweeping) one(query string, args ...any) error {
	n, _, err := w.c.exec(query, args...)
	w.deleted += n
	w.rows -= n
	return err
}

// remade empties again what was made of the messages before they were erased, and stored after.
func (w *sweeping) remade(e storedErasure) error {
	var at found
	ok, err := w.c.first(`SELECT s.uid, s.sid, u.scope_key, `+sessionHashKey+`, s.session_key FROM sessions s JOIN users u ON u.uid = s.uid
		WHERE s.sid = ?`, func(r row) error {
		at = found{
			uid: r.int(0), sid: r.int(1), scope: memory.ScopeKey(r.text(2)), hashKey: memory.HashKey(r.text(3)), key: memory.SessionKey(r.text(4)),
		}
		return nil
	}, e.sid)
	if err != nil || !ok { // gone as a whole
		return err
	}
	t := &taking{c: w.c, at: at, seqs: e.Seqs}
	err = t.emptyMade(writeplan.Made{Late: true})
	w.deleted = t.deleted
	return err
}
