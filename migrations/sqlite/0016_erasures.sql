-- What persons had erased. The row of a user or session that is erased goes at once, so that nothing finds the rows below it
-- any more; a sweep deletes those by uid and sid, which are never given again. An erased message keeps its row, without content.

CREATE TABLE erasures (
  id          TEXT PRIMARY KEY,
  kind        INTEGER NOT NULL,
  tenant      TEXT NOT NULL,
  request     BLOB NOT NULL, -- keyed hash of what was asked for
  user_hash   BLOB NOT NULL,
  scope_key   TEXT NOT NULL,
  session_key TEXT, -- NULL for a user
  uid         INTEGER NOT NULL,
  sid         INTEGER NOT NULL, -- 0 for a user
  seqs        TEXT, -- JSON; of messages
  last_seq    INTEGER NOT NULL,
  state       INTEGER NOT NULL,
  receipt     TEXT, -- JSON
  passes      INTEGER NOT NULL DEFAULT 0,
  not_before  INTEGER,
  attempts    INTEGER NOT NULL DEFAULT 0,
  reason      TEXT,
  create_time INTEGER NOT NULL,
  update_time INTEGER NOT NULL,
  done_time   INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX erasures_latest ON erasures (tenant, create_time DESC, id);
CREATE INDEX erasures_user ON erasures (tenant, user_hash, create_time DESC, id);
CREATE INDEX erasures_pending ON erasures (create_time, id) WHERE state = 1;

ALTER TABLE messages ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tool_calls ADD COLUMN n INTEGER NOT NULL DEFAULT 1; -- messages that make the call; one for all that were stored before
CREATE INDEX slots_periods_live ON slots (uid, kind, from_no) WHERE sid IS NULL AND state <= 3;

-- A user's and a session's row goes before those that refer to it. The clauses cannot be altered, but taken out of the schema:
-- https://www.sqlite.org/lang_altertable.html#otheralter
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(sql, ' REFERENCES users', ''), ' REFERENCES sessions', '') WHERE type = 'table';
PRAGMA writable_schema = RESET;
