-- messages_version counts what changed of a session's stored messages, new ones aside: messages in memory hold as long as it is the one
-- that they were read at. Triggers count, so that no statement can forget to.

ALTER TABLE sessions ADD COLUMN messages_version INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER message_changed AFTER UPDATE ON messages
BEGIN
  UPDATE sessions SET messages_version = messages_version + 1 WHERE sid = NEW.key >> 32;
END;

CREATE TRIGGER message_removed AFTER DELETE ON messages
BEGIN
  UPDATE sessions SET messages_version = messages_version + 1 WHERE sid = OLD.key >> 32;
END;
