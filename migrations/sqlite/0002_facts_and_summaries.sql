-- What grows out of the transcript: facts with their history and vectors, summaries, and the journal of the work that
-- makes them. A key is uid << 32 | number, so that a user's rows lie together. A time that is not set is NULL.

ALTER TABLE users ADD COLUMN update_time INTEGER NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN timezone TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN language TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN extract INTEGER NOT NULL DEFAULT 1;
ALTER TABLE users ADD COLUMN revision INTEGER NOT NULL DEFAULT 1; -- of timezone, language and extract
ALTER TABLE users ADD COLUMN fact_revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN last_vector_no INTEGER NOT NULL DEFAULT 0; -- the highest ever given
ALTER TABLE users ADD COLUMN periods_at INTEGER; -- when to look at the weekly and monthly summaries

UPDATE users SET update_time = create_time;
CREATE INDEX users_periods ON users (periods_at, uid) WHERE periods_at IS NOT NULL;

ALTER TABLE sessions ADD COLUMN extract INTEGER NOT NULL DEFAULT 1; -- its changes count in revision too
ALTER TABLE sessions ADD COLUMN look_at INTEGER; -- when to look for work
ALTER TABLE sessions ADD COLUMN extract_cursor INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN leaf_cursor INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN covered_seq INTEGER NOT NULL DEFAULT 0; -- the last message that a summary covers
ALTER TABLE sessions ADD COLUMN covered_time INTEGER; -- its create_time

-- What was recorded before there was background work is work too.
UPDATE sessions SET look_at = update_time WHERE last_seq > 0;
CREATE INDEX sessions_look_at ON sessions (look_at, sid) WHERE look_at IS NOT NULL;
CREATE INDEX sessions_covered ON sessions (uid, covered_time DESC, session_id) WHERE covered_time IS NOT NULL;

CREATE TABLE slots (
  key           INTEGER PRIMARY KEY,
  uid           INTEGER NOT NULL REFERENCES users,
  tenant        TEXT NOT NULL,
  sid           INTEGER REFERENCES sessions, -- NULL for weeks and months
  id            TEXT NOT NULL,
  kind          INTEGER NOT NULL,
  level         INTEGER NOT NULL,
  from_no       INTEGER NOT NULL,
  to_no         INTEGER NOT NULL,
  generation    INTEGER NOT NULL,
  state         INTEGER NOT NULL,
  attempts      INTEGER NOT NULL,
  calls         INTEGER NOT NULL,
  input_tokens  INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  create_time   INTEGER NOT NULL,
  update_time   INTEGER NOT NULL,
  not_before    INTEGER,
  lease_until   INTEGER,
  owner         TEXT,
  reason        TEXT,
  answer        BLOB
) STRICT;

CREATE UNIQUE INDEX slots_id ON slots (uid, id);
CREATE INDEX slots_user ON slots (uid, create_time DESC, id);
CREATE INDEX slots_session ON slots (sid, create_time DESC, id) WHERE sid IS NOT NULL;
CREATE INDEX slots_tenant ON slots (tenant, create_time DESC, id);
-- Those that are not final: few, however many there were.
CREATE INDEX slots_tenant_live ON slots (tenant, create_time DESC, id) WHERE state <= 3;
CREATE INDEX slots_session_live ON slots (sid, kind, level, from_no) WHERE state <= 3;
CREATE INDEX slots_live ON slots (kind, state, create_time) WHERE state <= 3;

CREATE TABLE facts (
  key            INTEGER PRIMARY KEY,
  uid            INTEGER NOT NULL REFERENCES users,
  id             TEXT NOT NULL,
  revision       INTEGER NOT NULL,
  change         INTEGER NOT NULL, -- the user's fact_revision of the last write
  category       INTEGER NOT NULL,
  significance   INTEGER NOT NULL,
  confidence     REAL NOT NULL,
  pinned         INTEGER NOT NULL,
  origin         INTEGER NOT NULL,
  protected      INTEGER NOT NULL,
  create_time    INTEGER NOT NULL,
  update_time    INTEGER NOT NULL,
  valid_from     INTEGER,
  valid_to       INTEGER, -- NULL while it holds
  last_used_time INTEGER,
  text           TEXT NOT NULL,
  subject        TEXT,
  attribute      TEXT,
  superseded_by  TEXT,
  language       TEXT,
  model          TEXT,
  tags           TEXT, -- JSON
  evidence       TEXT  -- JSON
) STRICT;

CREATE UNIQUE INDEX facts_id ON facts (uid, id);
CREATE INDEX facts_change ON facts (uid, change, id);
CREATE INDEX facts_latest ON facts (uid, update_time DESC, id);

-- Which facts have evidence in a session.
CREATE TABLE fact_sessions (
  uid        INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  fact_key   INTEGER NOT NULL REFERENCES facts,
  PRIMARY KEY (uid, session_id, fact_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX fact_sessions_fact ON fact_sessions (fact_key);

-- A fact as it was after each change.
CREATE TABLE fact_revisions (
  key            INTEGER NOT NULL REFERENCES facts,
  revision       INTEGER NOT NULL,
  cause          INTEGER NOT NULL,
  slot_id        TEXT,
  change         INTEGER NOT NULL,
  category       INTEGER NOT NULL,
  significance   INTEGER NOT NULL,
  confidence     REAL NOT NULL,
  pinned         INTEGER NOT NULL,
  origin         INTEGER NOT NULL,
  protected      INTEGER NOT NULL,
  create_time    INTEGER NOT NULL,
  update_time    INTEGER NOT NULL,
  valid_from     INTEGER,
  valid_to       INTEGER,
  last_used_time INTEGER,
  text           TEXT NOT NULL,
  subject        TEXT,
  attribute      TEXT,
  superseded_by  TEXT,
  language       TEXT,
  model          TEXT,
  tags           TEXT,
  evidence       TEXT,
  PRIMARY KEY (key, revision)
) STRICT, WITHOUT ROWID;

-- What is left of a fact that a person deleted.
CREATE TABLE forgotten_facts (
  uid      INTEGER NOT NULL REFERENCES users,
  change   INTEGER NOT NULL,
  fact_id  TEXT NOT NULL,
  key_hash BLOB NOT NULL, -- keyed; one row for each wording the fact had
  PRIMARY KEY (uid, change, fact_id, key_hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE quarantine (
  key        INTEGER PRIMARY KEY,
  uid        INTEGER NOT NULL REFERENCES users,
  id         TEXT NOT NULL,
  time       INTEGER NOT NULL,
  session_id TEXT,
  slot_id    TEXT,
  reason     TEXT NOT NULL,
  model      TEXT,
  operation  TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX quarantine_latest ON quarantine (uid, time DESC, id);
CREATE TABLE quarantine_counts (reason TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE embeddings (
  version     INTEGER PRIMARY KEY AUTOINCREMENT,
  model       TEXT NOT NULL,
  dimension   INTEGER NOT NULL,
  metric      TEXT NOT NULL,
  active      INTEGER NOT NULL,
  dropping    INTEGER NOT NULL DEFAULT 0, -- some of its vectors may be gone already
  create_time INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX embeddings_active ON embeddings (active) WHERE active = 1;

-- Vectors are little-endian float32. The number in the key is never given again: readers ask for those above the last.
CREATE TABLE fact_vectors (
  key      INTEGER PRIMARY KEY,
  version  INTEGER NOT NULL REFERENCES embeddings,
  fact_key INTEGER NOT NULL,
  fact_id  TEXT NOT NULL, -- so that reading vectors reads no facts
  vector   BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX fact_vectors_fact ON fact_vectors (version, fact_key);

-- The facts whose text has no vector of the version.
CREATE TABLE unembedded (
  version  INTEGER NOT NULL,
  fact_key INTEGER NOT NULL,
  PRIMARY KEY (version, fact_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE nodes (
  key          INTEGER PRIMARY KEY,
  uid          INTEGER NOT NULL REFERENCES users,
  sid          INTEGER REFERENCES sessions, -- NULL for weeks and months
  id           TEXT NOT NULL,
  kind         INTEGER NOT NULL,
  level        INTEGER NOT NULL,
  from_no      INTEGER NOT NULL,
  to_no        INTEGER NOT NULL,
  generation   INTEGER NOT NULL,
  cumulative   INTEGER NOT NULL,
  appended     INTEGER NOT NULL,
  o200k        INTEGER NOT NULL,
  cl100k       INTEGER NOT NULL,
  create_time  INTEGER NOT NULL,
  from_time    INTEGER,
  to_time      INTEGER,
  period       TEXT,
  period_start INTEGER,
  period_end   INTEGER,
  previous     TEXT,
  language     TEXT,
  model        TEXT,
  children     TEXT, -- JSON
  text         TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX nodes_id ON nodes (uid, id);
-- By the first message that a node stands for, the node that stands for most first.
CREATE INDEX nodes_session ON nodes (sid, iif(cumulative, 1, from_no), to_no DESC, level DESC, generation DESC) WHERE sid IS NOT NULL;
CREATE INDEX nodes_leaves ON nodes (uid, to_time, id) WHERE kind = 1 AND level = 0;
CREATE INDEX nodes_periods ON nodes (uid, kind, period DESC, generation DESC) WHERE kind > 1;
