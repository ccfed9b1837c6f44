package sqlitestore

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/stratamem/strata/internal/language/secretscan"
	"github.com/stratamem/strata/internal/memory"
)

// masksVersion is the schema from which on messages record where they contain secrets.
const masksVersion = 12

// masksAtOnce is how many messages are read together.
const masksAtOnce = 500

// noteSecrets records the places of secrets in messages that were stored before such places were recorded. Doing it once
// costs less than looking at every read, and finds the same. It runs within the migration's transaction, and starts again
// where that was interrupted.
func noteSecrets(c *conn, log *slog.Logger) error {
	type stored struct {
		key   int64
		parts []memory.Part
	}
	last, noted := int64(-1<<63), 0
	for {
		var some []stored
		err := c.query(`SELECT key, text, parts FROM messages WHERE key > ? ORDER BY key LIMIT ?+0`, func(r row) error {
			m := stored{key: r.int(0), parts: []memory.Part{memory.TextPart(r.text(1))}}
			if parts := r.text(2); parts != "" {
				m.parts = nil
				if err := json.Unmarshal([]byte(parts), &m.parts); err != nil {
					return fmt.Errorf("decode parts of a message: %w", err)
				}
			}
			some = append(some, m)
			return nil
		}, last, masksAtOnce)
		if err != nil {
			return err
		}
		if len(some) == 0 {
			break
		}
		for _, m := range some {
			last = m.key
			marked := secretscan.Mark([][]memory.Part{m.parts})[0]
			if !secretscan.AnyIn(marked) {
				continue
			}
			text, parts, err := encodeParts(marked)
			if err != nil {
				return err
			}
			if err := c.run(`UPDATE messages SET text = ?, parts = ? WHERE key = ?`, text, parts, m.key); err != nil {
				return err
			}
			noted++
		}
	}
	if noted > 0 {
		log.Warn("stored messages say keys, passwords or the like: what is made of them from now on has masks in their place, what was "+
			"made before has not; strata reindex makes the indexes anew", "messages", noted)
	}
	return nil
}
