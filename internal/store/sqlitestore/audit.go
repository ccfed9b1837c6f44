package sqlitestore

import (
	"context"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

const auditColumns = `time, id, tenant, principal, role, call, outcome, reason, user, session, request, target, thing, items, dry_run,
	address, user_agent, left_out`

// AddAuditEntries implements store.Audit.
func (s *auditStore) AddAuditEntries(ctx context.Context, entries []store.AuditEntry) error {
	return s.write(ctx, "add to the audit", func(c *conn) error {
		for _, e := range entries {
			err := c.run(`INSERT INTO audit (`+auditColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT DO NOTHING`,
				micros(e.Time), e.ID, e.Tenant, orNull(e.Principal), orNull(e.Role), e.Call, e.Outcome, orNull(e.Reason),
				hashOrNull(e.User), hashOrNull(e.Session), hashOrNull(e.Request), orNull(e.Target), orNull(e.Thing), e.Items,
				asInt(e.DryRun), orNull(e.Address), orNull(e.UserAgent), e.LeftOut)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// hashOrNull stores a hash of nothing as NULL.
func hashOrNull(h memory.KeyedHash) any {
	if h == (memory.KeyedHash{}) {
		return nil
	}
	return h[:]
}

func auditEntryOf(r row) store.AuditEntry {
	e := store.AuditEntry{
		Time: orZero(r.int(0)), ID: r.text(1), Tenant: r.text(2), Principal: r.text(3), Role: r.text(4), Call: r.text(5),
		Outcome: r.text(6), Reason: r.text(7), Target: r.text(11), Thing: r.text(12), Items: r.int(13), DryRun: r.int(14) != 0,
		Address: r.text(15), UserAgent: r.text(16), LeftOut: r.int(17),
	}
	copy(e.User[:], r.blob(8))
	copy(e.Session[:], r.blob(9))
	copy(e.Request[:], r.blob(10))
	return e
}

// ListAuditEntries implements store.Audit.
func (s *auditStore) ListAuditEntries(ctx context.Context, q store.AuditQuery) (all []store.AuditEntry, err error) {
	query, args := auditQuery(q)
	err = s.read(ctx, "list the audit", func(c *conn) error {
		all = nil
		return c.query(query, func(r row) error {
			all = append(all, auditEntryOf(r))
			return nil
		}, args...)
	})
	return all, err
}

func auditQuery(q store.AuditQuery) (query string, args []any) {
	query = `SELECT ` + auditColumns + ` FROM audit WHERE `
	if q.User == (memory.KeyedHash{}) {
		query, args = query+`tenant = ?`, append(args, q.Tenant)
	} else {
		query, args = query+`user = ? AND +tenant = ?`, append(args, q.User[:], q.Tenant)
	}
	where := func(condition string, values ...any) { query, args = query+` AND `+condition, append(args, values...) }
	for _, f := range []struct{ column, value string }{{"principal", q.Principal}, {"call", q.Call}, {"outcome", q.Outcome}} {
		if f.value != "" {
			where(f.column+` = ?`, f.value)
		}
	}
	if q.Session != (memory.KeyedHash{}) {
		where(`session = ?`, q.Session[:])
	}
	if q.Request != (memory.KeyedHash{}) {
		where(`request = ?`, q.Request[:])
	}
	if !q.From.IsZero() {
		where(`time >= ?`, micros(q.From))
	}
	if !q.Until.IsZero() {
		where(`time < ?`, micros(q.Until))
	}
	if q.Before != nil {
		where(`(time, id) < (?, ?)`, micros(q.Before.Time), q.Before.ID)
	}
	return query + ` ORDER BY time DESC, id DESC LIMIT ?+0`, append(args, q.Limit)
}

// ExportAuditEntries implements store.Audit.
func (s *auditStore) ExportAuditEntries(ctx context.Context, after store.AuditCursor, limit int) (all []store.AuditEntry, err error) {
	err = s.read(ctx, "export the audit", func(c *conn) error {
		all = nil
		return c.query(`SELECT `+auditColumns+` FROM audit WHERE (time, id) > (?, ?) ORDER BY time, id LIMIT ?+0`, func(r row) error {
			all = append(all, auditEntryOf(r))
			return nil
		}, orNone(after.Time), after.ID, limit)
	})
	return all, err
}

// ExpireAuditEntries implements store.Audit.
func (s *auditStore) ExpireAuditEntries(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.write(ctx, "delete what is too old in the audit", func(c *conn) error {
		deleted, _, err := c.exec(`DELETE FROM audit WHERE (time, id) IN (
			SELECT time, id FROM audit WHERE time < ? ORDER BY time, id LIMIT ?+0)`, micros(before), limit)
		n = int(deleted)
		return err
	})
	return n, err
}
