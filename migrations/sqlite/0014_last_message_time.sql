-- When a session was last spoken in: sessions are listed by it, those without messages last. Before, an imported one stood
-- where it was imported.

ALTER TABLE sessions ADD COLUMN last_message_time INTEGER NOT NULL DEFAULT 0; -- µs since 1970; 0 without messages

UPDATE sessions SET last_message_time = coalesce((SELECT max(min(m.create_time, m.record_time + 60000000)) FROM messages m
  WHERE m.key BETWEEN (sessions.sid << 32) AND (sessions.sid << 32 | 4294967295)), 0) WHERE last_seq > 0;

DROP INDEX sessions_latest;
CREATE INDEX sessions_latest ON sessions (uid, last_message_time DESC, session_id);
