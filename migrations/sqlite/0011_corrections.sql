-- What a summary was not made of since it was hidden, how often it was asked to be written anew, and what persons wrote in
-- its place.

ALTER TABLE nodes ADD COLUMN passed TEXT; -- JSON
ALTER TABLE nodes ADD COLUMN rebuild INTEGER NOT NULL DEFAULT 0;

CREATE TABLE summary_revisions (
  uid            INTEGER NOT NULL,
  kind           INTEGER NOT NULL,
  sid            INTEGER NOT NULL, -- 0 for a week or month
  period         TEXT NOT NULL, -- empty for a session
  revision       INTEGER NOT NULL,
  cause          INTEGER NOT NULL,
  text           TEXT NOT NULL,
  o200k          INTEGER NOT NULL,
  cl100k         INTEGER NOT NULL,
  spans          TEXT, -- JSON
  from_time      INTEGER,
  to_time        INTEGER,
  rebuilds       INTEGER NOT NULL,
  create_time    INTEGER NOT NULL,
  request_hash   BLOB,
  request_digest BLOB,
  PRIMARY KEY (uid, kind, sid, period, revision)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX summary_requests ON summary_revisions (uid, kind, sid, period, request_hash) WHERE request_hash IS NOT NULL;

-- Summaries that tell of what is hidden are written anew.
UPDATE sessions SET look_at = update_time WHERE last_seq > 0 AND context_start > 0;
UPDATE sessions SET look_at = update_time WHERE last_seq > 0 AND sid IN (SELECT key >> 32 FROM hidden_messages);
