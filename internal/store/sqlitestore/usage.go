package sqlitestore

import (
	"context"

	"github.com/stratamem/strata/internal/store"
)

// AddUsage implements store.Usage.
func (s *usageStore) AddUsage(ctx context.Context, tenant string, u store.UsageDay) error {
	return s.write(ctx, "add what a tenant used", func(c *conn) error {
		return c.run(`INSERT INTO tenant_usage (tenant, day, tokens, cost) VALUES (?, ?, ?, ?)
			ON CONFLICT (tenant, day) DO UPDATE SET tokens = tokens + excluded.tokens, cost = cost + excluded.cost`,
			tenant, u.Day, u.Tokens, u.Cost)
	})
}

// UsageDays implements store.Usage.
func (s *usageStore) UsageDays(ctx context.Context, tenant string, from, to int64) (days []store.UsageDay, err error) {
	err = s.read(ctx, "read what a tenant used", func(c *conn) error {
		days = nil
		return c.query(`SELECT day, tokens, cost FROM tenant_usage WHERE tenant = ? AND day BETWEEN ? AND ? ORDER BY day`, func(r row) error {
			days = append(days, store.UsageDay{Day: r.int(0), Tokens: r.int(1), Cost: r.int(2)})
			return nil
		}, tenant, from, to)
	})
	return days, err
}

// CountMessages implements store.Usage. The places of erased messages are among those of hidden ones.
func (s *usageStore) CountMessages(ctx context.Context, tenant, userID string) (n int64, err error) {
	of, args := ` WHERE u.tenant = ?`, []any{tenant}
	if userID != "" {
		of, args = of+` AND u.user_id = ?`, append(args, userID)
	}
	err = s.read(ctx, "count messages", func(c *conn) error {
		places, err := c.number(`SELECT sum(s.last_seq) FROM users u JOIN sessions s ON s.uid = u.uid`+of, args...)
		if err != nil {
			return err
		}
		erased, err := c.number(`SELECT count(*) FROM users u CROSS JOIN hidden_messages h ON h.uid = u.uid CROSS JOIN messages m ON m.key = h.key
			CROSS JOIN sessions s ON s.sid = h.key >> 32`+of+` AND m.deleted = 1`, args...)
		n = places - erased
		return err
	})
	return n, err
}
