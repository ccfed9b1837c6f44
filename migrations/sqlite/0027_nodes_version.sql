-- nodes_version counts what changed of a user's stored summaries, new ones aside: summaries in memory hold as long as it is the one that
-- they were read at. Triggers count, so that no statement can forget to: summaries also hold the key and the id of their session.

ALTER TABLE users ADD COLUMN nodes_version INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER node_changed AFTER UPDATE ON nodes
BEGIN
  UPDATE users SET nodes_version = nodes_version + 1 WHERE uid IN (OLD.uid, NEW.uid);
END;

CREATE TRIGGER node_removed AFTER DELETE ON nodes
BEGIN
  UPDATE users SET nodes_version = nodes_version + 1 WHERE uid = OLD.uid;
END;

CREATE TRIGGER session_renamed AFTER UPDATE OF session_id, session_key ON sessions
BEGIN
  UPDATE users SET nodes_version = nodes_version + 1 WHERE uid IN (OLD.uid, NEW.uid);
END;
