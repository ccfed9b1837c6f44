package sqlitestore

import (
	"context"

	"github.com/stratamem/strata/internal/memory"
)

// hide hides a message from contexts, or takes that back; nil leaves it as it is.
func hide(c *conn, uid, key int64, hidden *bool) error {
	if hidden == nil {
		return nil
	}
	if err := c.run(`UPDATE messages SET hidden = ? WHERE key = ?`, asInt(*hidden), key); err != nil {
		return err
	}
	if *hidden {
		return c.run(`INSERT INTO hidden_messages (uid, key) VALUES (?, ?) ON CONFLICT DO NOTHING`, uid, key)
	}
	return c.run(`DELETE FROM hidden_messages WHERE uid = ? AND key = ?`, uid, key)
}

// Hidden implements store.Transcript.
func (s *transcript) Hidden(ctx context.Context, user memory.UserRef) (memory.Hidden, error) {
	var hidden memory.Hidden
	err := s.read(ctx, "read what is hidden", func(c *conn) error {
		at, err := findUser(c, user)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		hidden, err = readHidden(c, at.uid)
		return err
	})
	return hidden, err
}

func readHidden(c *conn, uid int64) (memory.Hidden, error) {
	var out memory.Hidden
	err := c.query(`SELECT session_key, context_start FROM sessions WHERE uid = ? AND context_start > 0`, func(r row) error {
		if out.Starts == nil {
			out.Starts = map[memory.SessionKey]int64{}
		}
		out.Starts[memory.SessionKey(r.text(0))] = r.int(1)
		return nil
	}, uid)
	if err != nil {
		return out, err
	}
	err = c.query(`SELECT s.session_key, h.key FROM hidden_messages h CROSS JOIN sessions s ON s.sid = h.key >> 32
		WHERE h.uid = ? ORDER BY h.key`, func(r row) error {
		if out.Messages == nil {
			out.Messages = map[memory.SessionKey][]int64{}
		}
		key := memory.SessionKey(r.text(0))
		out.Messages[key] = append(out.Messages[key], r.int(1)&maxNo)
		return nil
	}, uid)
	return out, err
}
