-- What the view of messages' vectors has still to be told of each user's segments.

INSERT INTO views (view, build) VALUES (4, 1);

ALTER TABLE users ADD COLUMN last_segment_no INTEGER NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN turns_at INTEGER;
ALTER TABLE users ADD COLUMN turns_build INTEGER NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN turns_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN turns_no INTEGER NOT NULL DEFAULT 0;
UPDATE users SET last_segment_no = coalesce((SELECT max(no) FROM segments s WHERE s.uid = users.uid), 0);
UPDATE users SET turns_at = update_time WHERE last_segment_no > 0;
CREATE INDEX users_turns_feed ON users (turns_at, uid) WHERE turns_at IS NOT NULL;
CREATE INDEX users_with_segments ON users (uid) WHERE last_segment_no > 0;
