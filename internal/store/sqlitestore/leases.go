package sqlitestore

import (
	"context"
	"time"

	"github.com/stratamem/strata/internal/store"
)

// Lease implements store.Leases.
func (s *shared) Lease(ctx context.Context, l store.Lease) (held bool, err error) {
	err = s.write(ctx, "lease", func(c *conn) error {
		if l.Until.IsZero() {
			return c.run(`DELETE FROM leases WHERE name = ? AND owner = ?`, l.Name, l.Owner)
		}
		n, _, err := c.exec(`INSERT INTO leases (name, owner, until) VALUES (?, ?, ?) ON CONFLICT (name)
			DO UPDATE SET owner = excluded.owner, until = excluded.until WHERE owner = excluded.owner OR until <= ? OR until > ?`,
			l.Name, l.Owner, micros(l.Until), micros(l.Now), micros(l.Now.Add(store.LongestLease)))
		held = n == 1
		return err
	})
	return held && err == nil, err
}

// Now implements store.Clock: one process has the file, so its machine's clock is the only one.
func (s *shared) Now() time.Time { return time.Now() }
