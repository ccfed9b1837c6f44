-- Users, sessions, turns and messages, and each user's lexical index.
--
-- Times are microseconds since 1970 in UTC. A turn's key is sid << 32 | turn_no and a message's key is
-- sid << 32 | seq, so that what is read together lies together, however much other users store.

CREATE TABLE users (
  uid           INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant        TEXT NOT NULL,
  user_id       TEXT NOT NULL,
  scope_key     TEXT NOT NULL UNIQUE,
  create_time   INTEGER NOT NULL,
  pending_since INTEGER, -- record_time of the oldest turn that is pending for the lexicon
  UNIQUE (tenant, user_id)
) STRICT;

CREATE INDEX users_pending ON users (pending_since, uid) WHERE pending_since IS NOT NULL;

CREATE TABLE sessions (
  sid              INTEGER PRIMARY KEY AUTOINCREMENT,
  uid              INTEGER NOT NULL REFERENCES users,
  session_id       TEXT NOT NULL,
  session_key      TEXT NOT NULL,
  title            TEXT NOT NULL DEFAULT '',
  profile          TEXT NOT NULL DEFAULT '',
  state_revision   INTEGER NOT NULL DEFAULT 0,
  last_turn_no     INTEGER NOT NULL DEFAULT 0,
  last_seq         INTEGER NOT NULL DEFAULT 0,
  steps_since_user INTEGER NOT NULL DEFAULT 0,
  create_time      INTEGER NOT NULL,
  update_time      INTEGER NOT NULL,
  revision         INTEGER NOT NULL DEFAULT 1, -- of title, metadata and profile
  UNIQUE (uid, session_id),
  UNIQUE (uid, session_key) -- random: by user, so that a user's keys lie together
) STRICT;

CREATE INDEX sessions_latest ON sessions (uid, update_time DESC, session_id);

-- The large parts of a head, apart from it so that a turn rewrites neither. Absent means empty.
CREATE TABLE session_metadata (sid INTEGER PRIMARY KEY REFERENCES sessions, metadata TEXT NOT NULL) STRICT;
CREATE TABLE session_state (sid INTEGER PRIMARY KEY REFERENCES sessions, state TEXT NOT NULL) STRICT;

CREATE TABLE turns (
  key            INTEGER PRIMARY KEY,
  sid            INTEGER NOT NULL REFERENCES sessions,
  uid            INTEGER NOT NULL REFERENCES users,
  first_seq      INTEGER NOT NULL,
  n              INTEGER NOT NULL, -- messages stored
  recallable     INTEGER NOT NULL, -- of them
  record_time    INTEGER NOT NULL, -- never before that of the session's turn before
  pending        INTEGER NOT NULL, -- bits: 1 lexicon
  request_hash   BLOB,             -- keyed hash of the request id
  request_digest BLOB,             -- keyed hash of the request's body
  result         TEXT,             -- what the request was answered, as JSON
  state_patch    TEXT
) STRICT;

CREATE UNIQUE INDEX turns_request ON turns (sid, request_hash) WHERE request_hash IS NOT NULL;
CREATE INDEX turns_pending_lexicon ON turns (uid, record_time, key, recallable, pending) WHERE (pending & 1) != 0;

CREATE TABLE messages (
  key         INTEGER PRIMARY KEY,
  turn_no     INTEGER NOT NULL,
  id          TEXT NOT NULL,
  role        INTEGER NOT NULL,
  origin      INTEGER NOT NULL,
  extract     INTEGER NOT NULL,
  pinned      INTEGER NOT NULL,
  create_time INTEGER NOT NULL,
  record_time INTEGER NOT NULL,
  o200k       INTEGER NOT NULL,
  cl100k      INTEGER NOT NULL,
  name        TEXT,
  text        TEXT, -- the words of a message of one text part
  parts       TEXT, -- every other message's parts as JSON
  tags        TEXT, -- JSON
  metadata    TEXT  -- JSON
) STRICT;

-- Provider items verbatim, apart so that ordinary reads never touch them.
CREATE TABLE originals (key INTEGER PRIMARY KEY REFERENCES messages, format TEXT NOT NULL, data BLOB NOT NULL) STRICT;

-- Which message ids a session knows, as keyed hashes: they outlive a deleted message.
CREATE TABLE message_ids (
  sid       INTEGER NOT NULL,
  id_hash   BLOB NOT NULL,
  seq       INTEGER NOT NULL,
  body_hash BLOB NOT NULL,
  PRIMARY KEY (sid, id_hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE tool_calls (
  sid       INTEGER NOT NULL,
  call_hash BLOB NOT NULL,
  PRIMARY KEY (sid, call_hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE segments (
  no        INTEGER PRIMARY KEY AUTOINCREMENT,
  uid       INTEGER NOT NULL REFERENCES users,
  analyzer  TEXT NOT NULL,
  messages  INTEGER NOT NULL,
  bytes     INTEGER NOT NULL,
  replaces  TEXT, -- JSON
  data_hash BLOB NOT NULL,
  data      BLOB NOT NULL
) STRICT;

-- All but the data, so that to list segments touches none of its pages.
CREATE INDEX segments_user ON segments (uid, no, messages, bytes, replaces, analyzer);

-- One row that a check of the store rewrites to learn whether it can be written to.
CREATE TABLE probe (id INTEGER PRIMARY KEY CHECK (id = 1), n INTEGER NOT NULL) STRICT;
INSERT INTO probe (id, n) VALUES (1, 0);
