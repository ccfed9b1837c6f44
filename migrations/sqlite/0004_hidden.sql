-- What stands in no context: messages before a session's context start, and messages that were hidden one by one. Nothing
-- else about them changes, so that either can be taken back.

ALTER TABLE sessions ADD COLUMN context_start INTEGER NOT NULL DEFAULT 0; -- a seq; 0 for none
CREATE INDEX sessions_started ON sessions (uid) WHERE context_start > 0;

CREATE TABLE hidden_messages (key INTEGER PRIMARY KEY, uid INTEGER NOT NULL REFERENCES users) STRICT;
CREATE INDEX hidden_messages_user ON hidden_messages (uid, key);
