package sqlitestore

import (
	"context"
)

// fenceSecret names the row that FenceSecret keeps.
const fenceSecret = "fence"

// FenceSecret implements store.Secrets.
func (s *shared) FenceSecret(ctx context.Context, minted []byte) (secret []byte, err error) {
	read := func(c *conn) error {
		secret = nil
		_, err := c.first(`SELECT value FROM secrets WHERE name = ?`, func(r row) error {
			secret = r.blob(0)
			return nil
		}, fenceSecret)
		return err
	}
	if err = s.read(ctx, "read the secret of fences", read); err != nil || secret != nil || minted == nil {
		return secret, err
	}
	err = s.write(ctx, "store the secret of fences", func(c *conn) error {
		if err := c.run(`INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING`, fenceSecret, minted); err != nil {
			return err
		}
		return read(c)
	})
	return secret, err
}
