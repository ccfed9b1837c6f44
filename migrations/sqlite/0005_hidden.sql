-- What stands in no context: messages before a session's context start, and messages that were hidden one by one. Nothing
-- else about them changes, so that either can be taken back.

ALTER TABLE sessions ADD COLUMN context_start INTEGER NOT NULL DEFAULT 0; -- a seq; 0 for none
CREATE INDEX sessions_started ON sessions (uid) WHERE context_start > 0;

ALTER TABLE messages ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0;
CREATE TABLE hidden_messages (uid INTEGER NOT NULL, key INTEGER NOT NULL, PRIMARY KEY (uid, key)) STRICT, WITHOUT ROWID; -- by user
