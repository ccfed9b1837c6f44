package sqlitestore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

const erasureSelect = `SELECT id, kind, tenant, user_hash, scope_key, session_key, seqs, last_seq, state, receipt, passes, not_before,
	attempts, reason, create_time, update_time, done_time, uid, sid, request FROM erasures`

// storedErasure is an erasure with where its target is or was.
type storedErasure struct {
	memory.Erasure
	uid, sid int64 // sid is 0 for a user
	// sessionHash is set while an erasure of a session begins: see store.ErasedSessionHash.
	sessionHash []byte
}

func scanErasure(r row) (e storedErasure, err error) {
	e = storedErasure{uid: r.int(17), sid: r.int(18), Erasure: memory.Erasure{
		ID: r.text(0), Kind: memory.ErasureKind(r.int(1)), Tenant: r.text(2), Scope: memory.ScopeKey(r.text(4)),
		Session: memory.SessionKey(r.text(5)), LastSeq: r.int(7), State: memory.ErasureState(r.int(8)), Passes: int(r.int(10)),
		NotBefore: r.time(11), Attempts: int(r.int(12)), Reason: r.text(13), CreateTime: fromMicros(r.int(14)),
		UpdateTime: fromMicros(r.int(15)), DoneTime: r.time(16),
	}}
	copy(e.UserHash[:], r.blob(3))
	copy(e.Request[:], r.blob(19))
	if b := r.json(6); b != nil {
		what := any(&e.Seqs)
		if e.Kind == memory.EraseSummary {
			what = &e.Summary
		}
		if err := json.Unmarshal(b, what); err != nil {
			return e, fmt.Errorf("decode what erasure %s is about: %w", e.ID, err)
		}
	}
	if b := r.json(9); b != nil {
		if err := json.Unmarshal(b, &e.Receipt); err != nil {
			return e, fmt.Errorf("decode the receipt of erasure %s: %w", e.ID, err)
		}
	}
	return e, nil
}

func findErasure(c *conn, id string) (e storedErasure, ok bool, err error) {
	ok, err = c.first(erasureSelect+` WHERE id = ?`, func(r row) (err error) {
		e, err = scanErasure(r)
		return err
	}, id)
	return e, ok, err
}

// BeginErasure implements store.Erasures.
func (s *erasureStore) BeginErasure(ctx context.Context, p store.ErasureStart) (memory.Erasure, error) {
	var begun storedErasure
	err := s.write(ctx, "begin an erasure", func(c *conn) (err error) {
		var ok bool
		if begun, ok, err = findErasure(c, p.ID); ok || err != nil {
			return err
		}
		if begun, err = takeTarget(c, p); err != nil {
			return err
		}
		if err := s.record(c, p.Turn); err != nil {
			return err
		}
		return insertErasure(c, begun)
	})
	if err != nil {
		return memory.Erasure{}, err
	}
	return begun.Erasure, nil
}

// record stores the turn that replaces erased messages, if there is one.
func (s *erasureStore) record(c *conn, turn *store.AppendParams) error {
	if turn == nil {
		return nil
	}
	_, err := (&turnWriter{c: c, p: *turn, keys: s.keys, now: micros(turn.Time)}).run()
	return err
}

// takeTarget takes the target out of sight.
func takeTarget(c *conn, p store.ErasureStart) (e storedErasure, err error) {
	e.Erasure = memory.Erasure{
		ID: p.ID, Kind: p.Kind, Tenant: p.User.Tenant, Request: p.Request, UserHash: p.UserHash, State: memory.ErasureSweeping,
		NotBefore: p.Time, CreateTime: p.Time, UpdateTime: p.Time,
	}
	var n int64
	switch p.Kind {
	case memory.EraseUser:
		n, err = takeUser(c, p, &e)
	case memory.EraseSession:
		n, err = takeSession(c, p, &e)
	case memory.EraseMessages:
		n, err = takeMessages(c, p, &e)
	case memory.EraseSummary:
		n, err = takeSummary(c, p, &e)
	default:
		err = fmt.Errorf("no such erasure: %d", p.Kind)
	}
	if n > 0 {
		e.Receipt = []memory.StoreReceipt{{Store: memory.PrimaryStore, Found: n, Deleted: n, PurgedBy: memory.PurgedWithSweep}}
	}
	return e, err
}

// takeUser ends the life. All that hangs on its row is found through it alone.
func takeUser(c *conn, p store.ErasureStart, e *storedErasure) (int64, error) {
	at, err := findUser(c, p.User)
	if err != nil {
		return 0, err
	}
	e.uid, e.Scope = at.uid, at.scope
	return 1, c.run(`DELETE FROM users WHERE uid = ?`, at.uid)
}

// takeSession ends the incarnation.
func takeSession(c *conn, p store.ErasureStart, e *storedErasure) (int64, error) {
	t, err := findTaken(c, p, e)
	if err != nil {
		return 0, err
	}
	user, err := findUser(c, p.User)
	if err != nil {
		return 0, err
	}
	hash := store.ErasedSessionHash(user.hashKey, p.SessionID)
	e.sessionHash = hash[:]
	t.gone = memory.Hidden{Starts: map[memory.SessionKey]int64{t.at.key: maxNo}}
	t.seqs = []memory.SeqRange{{From: 1, To: maxNo}}
	for _, step := range []func() error{t.summaries, t.periodJobs, t.quarantine, t.schedule} {
		if err := step(); err != nil {
			return 0, err
		}
	}
	if err := c.run(`DELETE FROM sessions WHERE sid = ?`, t.at.sid); err != nil {
		return 0, err
	}
	t.deleted++
	return t.deleted, refreshPending(c, t.at.uid, 1)
}

// takeMessages leaves the messages as places without content.
func takeMessages(c *conn, p store.ErasureStart, e *storedErasure) (int64, error) {
	t, err := findTaken(c, p, e)
	if err != nil {
		return 0, err
	}
	if p.IfLastSeq != nil && *p.IfLastSeq != e.LastSeq {
		return 0, store.LastSeqMismatch(p.User.Session(p.SessionID), *p.IfLastSeq, e.LastSeq)
	}
	asked := within(p.Seqs, e.LastSeq)
	if e.Seqs, err = t.undeleted(asked); err != nil {
		return 0, err
	}
	if p.IfLastSeq != nil && !slices.Equal(memory.Union(asked, nil), e.Seqs) {
		return 0, store.Contention("a message was erased meanwhile")
	}
	t.seqs, t.gone = e.Seqs, goneOf(t.at.key, e.Seqs)
	if err := t.messages(p.IDs); err != nil || t.deleted == 0 {
		return 0, err
	}
	for _, step := range []func() error{
		t.summaries, t.sessionJobs, t.periodJobs, t.receipts, t.quarantine, t.schedule,
	} {
		if err := step(); err != nil {
			return 0, err
		}
	}
	return t.deleted, lookAtSession(c, t.at.sid, micros(p.Time))
}

// undeleted are the messages of the ranges that are not erased yet.
func (t *taking) undeleted(ranges []memory.SeqRange) (left []memory.SeqRange, err error) {
	for _, r := range ranges {
		err := t.c.query(`SELECT key - ? FROM messages WHERE key BETWEEN ? AND ? AND deleted = 0 ORDER BY key`, func(r row) error {
			left = memory.WithSeq(left, r.int(0))
			return nil
		}, place(t.at.sid, 0), place(t.at.sid, r.From), place(t.at.sid, r.To))
		if err != nil {
			return nil, err
		}
	}
	return left, nil
}

func findTaken(c *conn, p store.ErasureStart, e *storedErasure) (*taking, error) {
	at, err := findSession(c, p.User.Session(p.SessionID))
	if err != nil {
		return nil, err
	}
	e.uid, e.sid, e.Scope, e.Session = at.uid, at.sid, at.scope, at.key
	e.LastSeq, err = c.number(`SELECT last_seq FROM sessions WHERE sid = ?`, at.sid)
	return &taking{c: c, at: at, now: p.Time}, err
}

// within is what of the ranges a session of so many messages holds.
func within(seqs []memory.SeqRange, last int64) (out []memory.SeqRange) {
	for _, r := range seqs {
		if r.From, r.To = max(r.From, 1), min(r.To, last); r.From <= r.To {
			out = append(out, r)
		}
	}
	return out
}

// goneOf names the messages as what is hidden is named.
func goneOf(key memory.SessionKey, seqs []memory.SeqRange) memory.Hidden {
	var all []int64
	for _, r := range seqs {
		for seq := r.From; seq <= r.To; seq++ {
			all = append(all, seq)
		}
	}
	return memory.Hidden{Messages: map[memory.SessionKey][]int64{key: all}}
}

func insertErasure(c *conn, e storedErasure) error {
	seqs, err := encodeList(e.Seqs) // or which summary
	if e.Kind == memory.EraseSummary {
		var b []byte
		b, err = json.Marshal(e.Summary)
		seqs = string(b)
	}
	if err != nil {
		return err
	}
	receipt, err := encodeList(e.Receipt)
	if err != nil {
		return err
	}
	return c.run(`INSERT INTO erasures (id, kind, tenant, request, user_hash, scope_key, session_key, uid, sid, seqs, last_seq, state,
		receipt, not_before, create_time, update_time, session_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, int(e.Kind), e.Tenant, e.Request[:], e.UserHash[:], string(e.Scope), orNull(e.Session), e.uid, e.sid, seqs, e.LastSeq, int(e.State),
		receipt, orNever(e.NotBefore), micros(e.CreateTime), micros(e.UpdateTime), orNullBlob(e.sessionHash))
}

// PendingErasures implements store.Erasures.
func (s *erasureStore) PendingErasures(ctx context.Context, before time.Time, limit int) ([]memory.Erasure, error) {
	return s.list(ctx, "find pending erasures", ` WHERE state = 1 AND (not_before IS NULL OR not_before <= ?)
		ORDER BY create_time, id LIMIT ?+0`, micros(before), limit)
}

// ListErasures implements store.Erasures.
func (s *erasureStore) ListErasures(ctx context.Context, q store.ErasureQuery) ([]memory.Erasure, error) {
	var w clauses
	w.and("tenant = ?", q.Tenant)
	if q.UserHash != nil {
		w.and("user_hash = ?", q.UserHash[:])
	}
	if q.Session != "" {
		w.and("session_key = ?", string(q.Session))
	}
	if len(q.States) > 0 {
		w.in("state", numbers(q.States))
	}
	if q.After != nil {
		t := micros(q.After.CreateTime)
		w.and("create_time <= ? AND (create_time < ? OR id > ?)", t, t, q.After.ID)
	}
	return s.list(ctx, "list erasures", w.where()+` ORDER BY create_time DESC, id LIMIT ?+0`, append(w.args, q.Limit)...)
}

func (s *erasureStore) list(ctx context.Context, what, where string, args ...any) (all []memory.Erasure, err error) {
	err = s.read(ctx, what, func(c *conn) error {
		return c.query(erasureSelect+where, func(r row) error {
			e, err := scanErasure(r)
			all = append(all, e.Erasure)
			return err
		}, args...)
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Erasure implements store.Erasures.
func (s *erasureStore) Erasure(ctx context.Context, tenant, id string) (memory.Erasure, error) {
	e, err := s.stored(ctx, id)
	if err == nil && e.Tenant != tenant {
		err = store.ErasureNotFound(id)
	}
	if err != nil {
		return memory.Erasure{}, err
	}
	return e.Erasure, nil
}

func (s *erasureStore) stored(ctx context.Context, id string) (e storedErasure, err error) {
	err = s.read(ctx, "read an erasure", func(c *conn) error {
		var ok bool
		if e, ok, err = findErasure(c, id); err == nil && !ok {
			err = store.ErasureNotFound(id)
		}
		return err
	})
	return e, err
}

// UpdateErasure implements store.Erasures.
func (s *erasureStore) UpdateErasure(ctx context.Context, e memory.Erasure) error {
	receipt, err := encodeList(e.Receipt)
	if err != nil {
		return err
	}
	return s.write(ctx, "update an erasure", func(c *conn) error {
		was, ok, err := findErasure(c, e.ID)
		if err == nil && (!ok || was.Tenant != e.Tenant) {
			err = store.ErasureNotFound(e.ID)
		}
		if err != nil || was.IsDone() {
			return err
		}
		return c.run(`UPDATE erasures SET state = ?, receipt = ?, passes = ?, not_before = ?, attempts = ?, reason = ?, update_time = ?,
			done_time = ? WHERE id = ?`, int(e.State), receipt, e.Passes, orNever(e.NotBefore), e.Attempts, orNull(e.Reason),
			micros(e.UpdateTime), orNever(e.DoneTime), e.ID)
	})
}

// UserOfScope implements store.Erasures.
func (s *erasureStore) UserOfScope(ctx context.Context, scope memory.ScopeKey) (user memory.UserRef, err error) {
	err = s.read(ctx, "find a life", func(c *conn) error {
		ok, err := c.first(`SELECT u.tenant, u.user_id FROM users u WHERE u.scope_key = ? AND `+notImporting, func(r row) error {
			user = memory.UserRef{Tenant: r.text(0), UserID: r.text(1)}
			return nil
		}, string(scope))
		if err == nil && !ok {
			err = store.LifeNotFound(memory.ReasonUserNotFound)
		}
		return err
	})
	return user, err
}

// SessionOfKey implements store.Erasures.
func (s *erasureStore) SessionOfKey(ctx context.Context, user memory.UserRef, key memory.SessionKey) (ref memory.SessionRef, err error) {
	err = s.read(ctx, "find an incarnation", func(c *conn) error {
		at, err := findUser(c, user)
		if err != nil {
			return err
		}
		ok, err := c.first(`SELECT session_id FROM sessions WHERE uid = ? AND session_key = ?`, func(r row) error {
			ref = user.Session(r.text(0))
			return nil
		}, at.uid, string(key))
		if err == nil && !ok {
			err = store.LifeNotFound(memory.ReasonSessionNotFound)
		}
		return err
	})
	return ref, err
}
