package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// slotSelect reads what scanSlot needs, in its order.
const slotSelect = `SELECT j.key, j.uid, j.sid, u.scope_key, s.session_key, j.kind, j.level, j.from_no, j.generation,
	u.tenant, u.user_id, s.session_id, j.to_no, j.state, j.answer, j.attempts, j.not_before, j.reason, j.owner,
	j.lease_until, j.calls, j.input_tokens, j.output_tokens, j.create_time, j.update_time, j.failing_since
	FROM slots j JOIN users u ON u.uid = j.uid LEFT JOIN sessions s ON s.sid = j.sid`

// storedSlot is a slot with where it is.
type storedSlot struct {
	memory.Slot
	key, uid, sid int64 // sid is 0 for weeks and months
}

func scanSlot(r row) storedSlot {
	return storedSlot{key: r.int(0), uid: r.int(1), sid: r.int(2), Slot: memory.Slot{
		SlotKey: memory.SlotKey{
			Scope: memory.ScopeKey(r.text(3)), Session: memory.SessionKey(r.text(4)), Kind: memory.SlotKind(r.int(5)),
			Level: int(r.int(6)), From: r.int(7), Generation: int(r.int(8)),
		},
		User: memory.UserRef{Tenant: r.text(9), UserID: r.text(10)}, SessionID: r.text(11), To: r.int(12),
		State: memory.SlotState(r.int(13)), Answer: r.blob(14), Attempts: int(r.int(15)), NotBefore: r.time(16),
		Reason: r.text(17), Owner: r.text(18), LeaseUntil: r.time(19),
		Usage:      memory.ModelUsage{Calls: int(r.int(20)), InputTokens: r.int(21), OutputTokens: r.int(22)},
		CreateTime: fromMicros(r.int(23)), UpdateTime: fromMicros(r.int(24)), FailingSince: r.time(25),
	}}
}

// findSlot reads a slot of the user with the row number given.
func findSlot(c *conn, uid int64, ref store.SlotRef) (slot storedSlot, err error) {
	ok, err := c.first(slotSelect+` WHERE j.uid = ? AND j.id = ?`, func(r row) error {
		slot = scanSlot(r)
		return nil
	}, uid, ref.ID)
	if err == nil && !ok {
		err = store.SlotNotFound(ref.User, ref.ID)
	}
	return slot, err
}

// OpenSlot implements store.Journal.
func (s *journal) OpenSlot(ctx context.Context, p store.SlotOpening) (memory.Slot, error) {
	var slot memory.Slot
	err := s.write(ctx, "open slot", func(c *conn) (err error) {
		slot, err = openSlot(c, p)
		return err
	})
	if err != nil {
		return memory.Slot{}, err
	}
	return slot, nil
}

func openSlot(c *conn, p store.SlotOpening) (memory.Slot, error) {
	at, err := findLife(c, p.User, p.Scope)
	if err != nil {
		return memory.Slot{}, err
	}
	ref := store.SlotRef{User: p.User, ID: p.ID()}
	slot, err := findSlot(c, at.uid, ref)
	if memory.ReasonOf(err) != memory.ReasonSlotNotFound {
		return slot.Slot, err
	}
	if at.sid, err = moveCursor(c, at.uid, p); err != nil {
		return memory.Slot{}, err
	}
	if err := insertSlot(c, at, newSlot{p.SlotKey, p.User, p.To, p.Owner, p.Until, p.Time}); err != nil {
		return memory.Slot{}, err
	}
	slot, err = findSlot(c, at.uid, ref)
	return slot.Slot, err
}

// moveCursor finds the session of the slot, 0 for a week or month, and moves its cursor behind the slot's range.
func moveCursor(c *conn, uid int64, p store.SlotOpening) (sid int64, err error) {
	if p.Session == "" {
		return 0, nil
	}
	var lastSeq int64
	ok, err := c.first(`SELECT sid, last_seq FROM sessions WHERE uid = ? AND session_key = ?`, func(r row) error {
		sid, lastSeq = r.int(0), r.int(1)
		return nil
	}, uid, string(p.Session))
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, incarnationNotFound(p.User)
	}
	column := cursorOf(p.Kind)
	if column == "" || p.Generation != 1 {
		return sid, nil
	}
	if p.To < p.From || p.To > lastSeq {
		return 0, fmt.Errorf("slot from %d to %d does not lie in a session of %d messages", p.From, p.To, lastSeq)
	}
	moved, _, err := c.exec(`UPDATE sessions SET `+column+` = ? WHERE sid = ? AND `+column+` = ?`, p.To, sid, p.From-1)
	if err == nil && moved == 0 {
		err = store.Contention("another range was fixed first")
	}
	return sid, err
}

// cursorOf names the column that holds where the next slot of the kind begins; "" when its place follows from others.
func cursorOf(k memory.SlotKind) string {
	switch k {
	case memory.SlotExtract:
		return "extract_cursor"
	case memory.SlotLeaf:
		return "leaf_cursor"
	}
	return ""
}

// newSlot is a slot to insert as open.
type newSlot struct {
	memory.SlotKey
	user  memory.UserRef
	to    int64
	owner string
	until time.Time
	time  time.Time
}

func insertSlot(c *conn, at found, n newSlot) error {
	key, err := nextKey(c, "slots", at.uid)
	if err != nil {
		return err
	}
	var sid any
	if at.sid != 0 {
		sid = at.sid
	}
	return c.run(`INSERT INTO slots (key, uid, tenant, sid, id, kind, level, from_no, to_no, generation, state, attempts,
		calls, input_tokens, output_tokens, create_time, update_time, owner, lease_until)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?, ?, ?, ?)`,
		key, at.uid, n.user.Tenant, sid, n.ID(), int(n.Kind), n.Level, n.From, n.to, n.Generation, int(memory.SlotOpen),
		micros(n.time), micros(n.time), orNull(n.owner), orNever(n.until))
}

// moveSlot stores what move makes of the slot, and returns what is stored. move must bear being called again.
func (s *journal) moveSlot(ctx context.Context, what string, ref store.SlotRef, move func(memory.Slot) (memory.Slot, error)) (memory.Slot, error) {
	var slot memory.Slot
	err := s.write(ctx, what, func(c *conn) error {
		was, err := findSlotOf(c, ref)
		if err != nil {
			return err
		}
		slot, err = moveStored(c, was, move)
		return err
	})
	if err != nil {
		return memory.Slot{}, err
	}
	return slot, nil
}

func findSlotOf(c *conn, ref store.SlotRef) (storedSlot, error) {
	at, err := findUser(c, ref.User)
	if err != nil {
		return storedSlot{}, err
	}
	return findSlot(c, at.uid, ref)
}

func moveStored(c *conn, was storedSlot, move func(memory.Slot) (memory.Slot, error)) (memory.Slot, error) {
	moved, err := move(was.Slot)
	if errors.Is(err, store.ErrSlotAsIs) {
		return was.Slot, nil
	}
	if err != nil {
		return memory.Slot{}, err
	}
	var answer any
	if moved.Answer != nil {
		answer = moved.Answer
	}
	err = c.run(`UPDATE slots SET state = ?, answer = ?, attempts = ?, not_before = ?, reason = ?, owner = ?, lease_until = ?,
		calls = ?, input_tokens = ?, output_tokens = ?, update_time = ?, failing_since = ? WHERE key = ?`,
		int(moved.State), answer, moved.Attempts, orNever(moved.NotBefore), orNull(moved.Reason), orNull(moved.Owner),
		orNever(moved.LeaseUntil), moved.Usage.Calls, moved.Usage.InputTokens, moved.Usage.OutputTokens,
		micros(moved.UpdateTime), orNever(moved.FailingSince), was.key)
	if err != nil {
		return memory.Slot{}, err
	}
	now, err := findSlot(c, was.uid, store.SlotRef{User: was.User, ID: was.ID()})
	return now.Slot, err
}

// ClaimSlot implements store.Journal.
func (s *journal) ClaimSlot(ctx context.Context, p store.SlotClaim) (memory.Slot, error) {
	return s.moveSlot(ctx, "claim slot", p.SlotRef, p.Move)
}

// AnswerSlot implements store.Journal.
func (s *journal) AnswerSlot(ctx context.Context, p store.SlotAnswer) (memory.Slot, error) {
	return s.moveSlot(ctx, "answer slot", p.SlotRef, p.Move)
}

// FailSlot implements store.Journal.
func (s *journal) FailSlot(ctx context.Context, p store.SlotFailure) (memory.Slot, error) {
	return s.moveSlot(ctx, "fail slot", p.SlotRef, p.Move)
}

// FinishSlot implements store.Journal.
func (s *journal) FinishSlot(ctx context.Context, p store.SlotFinish) (memory.Slot, error) {
	return s.moveSlot(ctx, "finish slot", p.SlotRef, p.Move)
}

// applied makes the slot final in the write that stores its effect.
func applied(c *conn, slot storedSlot, usage memory.ModelUsage, now time.Time) error {
	_, err := moveStored(c, slot, func(slot memory.Slot) (memory.Slot, error) {
		return store.FinishedSlot(slot, memory.SlotApplied, usage, now), nil
	})
	return err
}

// SplitSlot implements store.Journal.
func (s *journal) SplitSlot(ctx context.Context, p store.SlotSplit) (halves [2]memory.Slot, err error) {
	err = s.write(ctx, "split slot", func(c *conn) error {
		slot, err := findSlotOf(c, p.SlotRef)
		if err != nil {
			return err
		}
		if err := split(c, slot, p); err != nil {
			return err
		}
		halves, err = readHalves(c, slot)
		return err
	})
	if err != nil {
		return [2]memory.Slot{}, err
	}
	return halves, nil
}

func split(c *conn, slot storedSlot, p store.SlotSplit) error {
	if slot.State == memory.SlotSplit {
		return nil
	}
	if slot.State.IsFinal() {
		return store.Contention("the job is " + slot.State.String())
	}
	if p.At < slot.From || p.At >= slot.To {
		return fmt.Errorf("slot from %d to %d cannot be split after %d", slot.From, slot.To, p.At)
	}
	_, err := moveStored(c, slot, func(slot memory.Slot) (memory.Slot, error) {
		return store.FinishedSlot(slot, memory.SlotSplit, memory.ModelUsage{}, p.Time), nil
	})
	if err != nil {
		return err
	}
	for _, r := range []memory.SeqRange{{From: slot.From, To: p.At}, {From: p.At + 1, To: slot.To}} {
		half := newSlot{SlotKey: half(slot.SlotKey, r.From), user: slot.User, to: r.To, time: p.Time}
		if err := insertSlot(c, found{uid: slot.uid, sid: slot.sid}, half); err != nil {
			return err
		}
	}
	return nil
}

// half is the key of the slot that takes over from a place on.
func half(k memory.SlotKey, from int64) memory.SlotKey {
	k.From = from
	k.Generation++
	return k
}

// readHalves finds the slots that a split slot was replaced by: where the first one ends, the second one begins.
func readHalves(c *conn, slot storedSlot) (halves [2]memory.Slot, err error) {
	from := slot.From
	for i := range halves {
		h, err := findSlot(c, slot.uid, store.SlotRef{User: slot.User, ID: half(slot.SlotKey, from).ID()})
		if err != nil {
			return halves, err
		}
		halves[i] = h.Slot
		from = h.To + 1
	}
	return halves, nil
}

// RetrySlot implements store.Journal.
func (s *journal) RetrySlot(ctx context.Context, p store.SlotRetry) (memory.Slot, error) {
	var slot memory.Slot
	err := s.write(ctx, "retry slot", func(c *conn) error {
		was, err := findSlotOf(c, p.SlotRef)
		if err != nil {
			return err
		}
		if slot, err = moveStored(c, was, p.Move); err != nil {
			return err
		}
		if was.sid == 0 {
			return lookAtPeriods(c, was.uid, micros(p.Time))
		}
		return lookAtSession(c, was.sid, micros(p.Time))
	})
	if err != nil {
		return memory.Slot{}, err
	}
	return slot, nil
}

// ParkedSlots implements store.Journal.
func (s *journal) ParkedSlots(ctx context.Context, q store.ParkedQuery) ([]memory.Slot, error) {
	var slots []memory.Slot
	err := s.read(ctx, "find parked slots", func(c *conn) error {
		return c.query(slotSelect+` WHERE j.state = 3 AND j.reason = ? AND (j.not_before <= ? OR j.not_before > ?)
			ORDER BY j.not_before, j.key LIMIT ?+0`,
			func(r row) error {
				slot := scanSlot(r).Slot
				slot.Answer = nil
				slots = append(slots, slot)
				return nil
			}, q.Reason, micros(q.Before), micros(q.Before.Add(store.LongestParked)), q.Limit)
	})
	return slots, err
}

// Slot implements store.Journal.
func (s *journal) Slot(ctx context.Context, ref store.SlotRef) (memory.Slot, error) {
	var slot storedSlot
	err := s.read(ctx, "read slot", func(c *conn) (err error) {
		slot, err = findSlotOf(c, ref)
		return err
	})
	if err != nil {
		return memory.Slot{}, err
	}
	return slot.Slot, nil
}

// ListSlots implements store.Journal.
func (s *journal) ListSlots(ctx context.Context, q store.SlotQuery) ([]memory.Slot, error) {
	var slots []memory.Slot
	err := s.read(ctx, "list slots", func(c *conn) error {
		w, err := slotsWhere(c, q)
		if err != nil {
			return err
		}
		return c.query(slotSelect+w.where()+` ORDER BY j.create_time DESC, j.id LIMIT ?+0`, func(r row) error {
			slots = append(slots, scanSlot(r).Slot)
			return nil
		}, append(w.args, q.Limit)...)
	})
	return slots, err
}

func slotsWhere(c *conn, q store.SlotQuery) (w clauses, err error) {
	if w, err = slotsOwner(c, q); err != nil {
		return w, err
	}
	if len(q.Kinds) > 0 {
		w.in("j.kind", numbers(q.Kinds))
	}
	if len(q.States) > 0 {
		w.in("j.state", numbers(q.States))
		if live(q.States) {
			w.and("j.state <= 3")
		}
	}
	if q.After != nil {
		t := micros(q.After.CreateTime)
		w.and("j.create_time <= ? AND (j.create_time < ? OR j.id > ?)", t, t, q.After.ID)
	}
	return w, nil
}

func slotsOwner(c *conn, q store.SlotQuery) (w clauses, err error) {
	switch {
	case q.UserID == "":
		w.and("j.tenant = ?", q.Tenant)
	case q.SessionID == "":
		at, err := findUser(c, memory.UserRef{Tenant: q.Tenant, UserID: q.UserID})
		if err != nil {
			return w, err
		}
		w.and("j.uid = ?", at.uid)
	default:
		at, err := findSession(c, memory.UserRef{Tenant: q.Tenant, UserID: q.UserID}.Session(q.SessionID))
		if err != nil {
			return w, err
		}
		w.and("j.sid = ?", at.sid)
	}
	return w, nil
}

// live reports that no final slot is asked for, so that the index of the others serves.
func live(states []memory.SlotState) bool {
	for _, s := range states {
		if s.IsFinal() {
			return false
		}
	}
	return true
}

// clauses are conditions that are joined by AND.
type clauses struct {
	sql  []string
	args []any
}

func (w *clauses) and(sql string, args ...any) {
	w.sql, w.args = append(w.sql, sql), append(w.args, args...)
}

// in asks for a column's value to be one of a JSON array, so that one statement serves any number.
func (w *clauses) in(column, array string) {
	w.and(column+" IN (SELECT value FROM json_each(?))", array)
}

func (w *clauses) where() string { return " WHERE " + strings.Join(w.sql, " AND ") }

// numbers is a JSON array.
func numbers[T ~int](values []T) string {
	b := []byte{'['}
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Append(b, int(v))
	}
	return string(append(b, ']'))
}
