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

// CountMessages implements store.Usage.
func (s *usageStore) CountMessages(ctx context.Context, tenant, userID string) (n int64, err error) {
	query, args := `SELECT sum(s.last_seq) FROM users u JOIN sessions s ON s.uid = u.uid WHERE u.tenant = ?`, []any{tenant}
	if userID != "" {
		query, args = query+` AND u.user_id = ?`, append(args, userID)
	}
	err = s.read(ctx, "count messages", func(c *conn) error {
		_, err := c.first(query, func(r row) error {
			n = r.int(0)
			return nil
		}, args...)
		return err
	})
	return n, err
}
